package policy

import (
	"math"
	"slices"
)

// widths are the schedules of an algorithm's targets. It takes the upper estimate of the reward and
// the lower ones of the costs, unless it says otherwise.
type widths struct {
	plain
	of      []Beta  // per target
	learned []bool  // per target: it has a posterior, so its width matters
	union   float64 // m + 1
}

func newWidths(c Context, s Settings) widths {
	w := widths{union: float64(len(c.Constraints) + 1)}
	for _, metric := range c.targets() {
		w.of = append(w.of, s.BetaFor(metric))
		w.learned = append(w.learned, slices.Contains(c.Metrics, metric))
	}
	return w
}

// objectiveWidth is that of the objective alone, for an algorithm that regresses one response with
// the objective's model.
func objectiveWidth(c Context, s Settings) widths {
	w := newWidths(c, s)
	w.of = w.of[:1]
	return w
}

// values are a setting per target, 0 where nothing is learned.
func (w widths) values(c Context, s Settings, setting string) []float64 {
	values := s.each(setting, c.targets())
	for k := range values {
		if !w.learned[k] {
			values[k] = 0
		}
	}
	return values
}

// each returns β_t per target; theory gives the paper's formula for target k from its B, R, p, γ_t
// and λ.
func (w widths) each(in Width, theory func(k int, b Beta, gain, lambda float64) float64) []float64 {
	beta := make([]float64, len(w.of))
	for k, b := range w.of {
		switch b.Schedule {
		case "constant":
			beta[k] = b.Value
		case "sqrt_log":
			beta[k] = b.Value * math.Sqrt(math.Log(1+float64(in.Round)))
		case "srinivas":
			beta[k] = math.Sqrt(2*b.B*b.B + 300*in.Gain[k]*math.Pow(math.Log(w.union*float64(in.Round)/b.P), 3))
		default:
			beta[k] = theory(k, b, in.Gain[k], in.Lambda[k])
		}
	}
	return beta
}

// improved has the theory β_t = B + R·noise·√(2(γ_t + 1 + ln(union/p))).
func (w widths) improved(in Width, noise, union float64) []float64 {
	return w.each(in, func(_ int, b Beta, gain, _ float64) float64 { return b.width(b.R*noise, gain, union) })
}

// Beta is β_t = B + R√(2(γ_t + 1 + ln((m+1)/p))) where it follows the theory.
func (w widths) Beta(in Width) []float64 { return w.improved(in, 1, w.union) }

func (widths) Estimates(s *Input, i int) []float64 { return s.at(i, outwards(s.Beta)) }

// upperScores is the acquisition μ + βσ of the reward.
func upperScores(s *Input) Scores {
	return Scores{Value: upper(s.Reward, s.Beta[0]), Reason: Optimistic}
}

// upperSlopes are those of upperScores.
func upperSlopes(s *Input) Slopes { return bands{width: s.Beta[:1]}.slopes(s) }
