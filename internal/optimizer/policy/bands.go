package policy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
)

// norm is B, or the width for a schedule that has no B.
func (b Beta) norm(width float64) float64 {
	if !b.statesNorm() {
		return width
	}
	return b.B
}

// width is B + R√(2(γ + 1 + ln(union/p))) for a noise scale R.
func (b Beta) width(noise, gain, union float64) float64 {
	return b.B + noise*math.Sqrt(2*(gain+1+math.Log(union/b.P)))
}

// widths are the schedules of an algorithm's targets. It uses the upper estimate of the reward and
// the lower ones of the costs, unless it says otherwise.
type widths struct {
	plain
	of      []Beta  // per target
	learned []bool  // per target: it has a posterior, and so a width
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

// objectiveWidth is the width of the objective alone, for an algorithm that regresses one response
// with the objective's model.
func objectiveWidth(c Context, s Settings) widths {
	w := newWidths(c, s)
	w.of = w.of[:1]
	return w
}

// values are a setting per target, 0 where the target is not learned.
func (w widths) values(c Context, s Settings, setting string) []float64 {
	values := s.each(setting, c.targets())
	for k := range values {
		if !w.learned[k] {
			values[k] = 0
		}
	}
	return values
}

// each returns β_t per target; theory is the paper's formula for target k from its B, R, p, γ_t and
// λ.
func (w widths) each(in WidthInput, theory func(k int, b Beta, gain, lambda float64) float64) []float64 {
	beta := make([]float64, len(w.of))
	for k, b := range w.of {
		switch b.Schedule {
		case "constant", "": // "" where a given cost has no width
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

// improved is each with the theory β_t = B + R·noise·√(2(γ_t + 1 + ln(union/p))).
func (w widths) improved(in WidthInput, noise, union float64) []float64 {
	return w.each(in, func(_ int, b Beta, gain, _ float64) float64 { return b.width(b.R*noise, gain, union) })
}

// Beta is β_t = B + R√(2(γ_t + 1 + ln((m+1)/p))) where it follows the theory.
func (w widths) Beta(in WidthInput) []float64 { return w.improved(in, 1, w.union) }

func (widths) Estimates(s *Input, i int) []float64 { return s.at(i, outwards(s.Beta)) }

// upperScores is the acquisition μ + βσ of the reward.
func upperScores(s *Input) Scores {
	return Scores{Value: upper(s.Reward, s.Beta[0]), Reason: Optimistic}
}

// upperSlopes are the slopes of upperScores.
func upperSlopes(s *Input) Slopes { return bands{width: s.Beta[:1]}.slopes(s) }

// bands score a place by edges of its bands, e₀ = μ₀ + w₀σ₀ of the reward and e_j = μ_j − w_jσ_j of
// each cost, every one cut to an interval, with a price on the costs':
//
//	c₀(e₀) − Σ_j p_j c_j(e_j),   c(e) = min(max(e, low), high).
type bands struct {
	width  []float64  // w per target
	prices []float64  // p per cost; none where costs do not count
	cuts   []interval // of the first targets; none of the others is cut
}

// interval is what an edge is cut to.
type interval struct{ low, high float64 }

var (
	uncut        = interval{math.Inf(-1), math.Inf(1)}
	positivePart = interval{0, math.Inf(1)} // [e]⁺
)

func (c interval) of(e float64) float64 { return clip(e, c.low, c.high) }

// plusMinus cuts to ±bound.
func plusMinus(bound float64) interval { return interval{-bound, bound} }

// rectified cuts m costs to their positive parts.
func rectified(m int) []interval {
	return append([]interval{uncut}, slices.Repeat([]interval{positivePart}, m)...)
}

func (b bands) cut(target int) interval {
	if target < len(b.cuts) {
		return b.cuts[target]
	}
	return uncut
}

// upper is μ + βσ, lower is μ − βσ.
func upper(e Estimate, beta float64) []float64 {
	return floats.AddScaledTo(make([]float64, len(e.Mean)), e.Mean, beta, e.SD)
}

func lower(e Estimate, beta float64) []float64 { return upper(e, -beta) }

// outwards are w of the upper edge of the reward and the lower edges of the costs.
func outwards(widths []float64) []float64 {
	return append(slices.Clone(widths[:1]), negated(widths[1:])...)
}

// edges are e at all places, of every target that has a width.
func (b bands) edges(s *Input) [][]float64 {
	targets, edges := s.targets(), make([][]float64, len(b.width))
	for k, width := range outwards(b.width) {
		edges[k] = upper(targets[k], width)
	}
	return edges
}

// price is the score, given the edges.
func (b bands) price(edges [][]float64) []float64 {
	value := lists.Map(edges[0], b.cut(0).of)
	for j, price := range b.prices {
		cut := b.cut(1 + j)
		for i, e := range edges[1+j] {
			value[i] -= price * cut.of(e)
		}
	}
	return value
}

func (b bands) scores(s *Input) Scores { return Scores{Value: b.price(b.edges(s)), Reason: TradeOff} }

// truncated are the scores, given the edges; ties are broken by the scores without cuts.
func (b bands) truncated(edges [][]float64) Scores {
	return Scores{Value: b.price(edges), Untruncated: bands{prices: b.prices}.price(edges), Reason: TradeOff}
}

// slopes are the slopes of the score.
func (b bands) slopes(s *Input) Slopes {
	n := len(s.Reward.Mean)
	out := Slopes{Reward: Estimate{filled(n, 1), filled(n, b.width[0])}, Costs: make([]Estimate, len(s.Costs))}
	if cut := b.cut(0); cut != uncut {
		out.Kinks = cut.kinks(0, s.Reward, b.width[0], 1)
	}
	for j, g := range s.Costs {
		out.Costs[j] = noEstimates(n)
		if j >= len(b.prices) {
			continue
		}
		price, width, cut := b.prices[j], b.width[1+j], b.cut(1+j)
		if cut == positivePart {
			out.Kinks = append(out.Kinks, Kink{1 + j, price, lower(g, width), 1, -width})
			continue
		}
		out.Costs[j] = Estimate{filled(n, -price), filled(n, price*width)}
		if cut != uncut {
			out.Kinks = append(out.Kinks, cut.kinks(1+j, g, -width, -price)...)
		}
	}
	return out
}

// kinks are those of weight·c(e) − weight·e, e = μ + wσ:
//
//	c(e) = e − [e − high]⁺ + [low − e]⁺.
func (c interval) kinks(target int, of Estimate, width, weight float64) []Kink {
	above, below := upper(of, width), make([]float64, len(of.Mean))
	for i, e := range above {
		above[i], below[i] = e-c.high, c.low-e
	}
	return []Kink{{target, weight, above, 1, width}, {target, -weight, below, -1, -width}}
}

// at are the edges at place i, cut.
func (b bands) at(s *Input, i int) []float64 { return b.cutAll(s.at(i, outwards(b.width))) }

func (b bands) cutAll(edges []float64) []float64 {
	for k := range edges {
		edges[k] = b.cut(k).of(edges[k])
	}
	return edges
}
