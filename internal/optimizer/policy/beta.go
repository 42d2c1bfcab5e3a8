package policy

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Beta is how a confidence width β_t is set for one metric.
//
//	constant: Value;  sqrt_log: Value·√ln(1+t);  theory: the algorithm's own formula with B, R and p;
//	srinivas: √(2B² + 300 γ_t ln³((m+1)t/p)), m the number of constraints.
//
// The last is the width of Srinivas, Krause, Kakade and Seeger (2010), Theorems 3 and 6, whose β_t
// is its square, over m+1 functions: it holds for a norm of at most B and noise of at most √λ in
// size.
type Beta struct {
	Schedule string
	Value    float64
	B        float64 // bound on the function's norm
	R        float64 // the noise is R-sub-Gaussian
	P        float64 // failure probability
}

// MarshalJSON writes what belongs to the schedule, all of it.
func (b Beta) MarshalJSON() ([]byte, error) {
	switch b.Schedule {
	case "theory":
		return json.Marshal(map[string]any{"schedule": b.Schedule, "B": b.B, "R": b.R, "p": b.P})
	case "srinivas":
		return json.Marshal(map[string]any{"schedule": b.Schedule, "B": b.B, "p": b.P})
	}
	return json.Marshal(map[string]any{"schedule": b.Schedule, "value": b.Value})
}

func (r *resolver) parseBeta(s Setting, path string, raw json.RawMessage) (Beta, bool) {
	var number float64
	if json.Unmarshal(raw, &number) == nil {
		return Beta{Schedule: "constant", Value: number},
			r.sensible(path, number) && r.want(number >= 0, path, "a width of at least 0 is needed")
	}
	b := Beta{P: 0.1}
	word, given, ok := r.object(path, raw, "schedule", map[string]*float64{"value": &b.Value, "B": &b.B, "R": &b.R, "p": &b.P})
	if !ok {
		return b, false
	}
	b.Schedule = word
	if !slices.Contains(s.Choices, word) {
		r.fault(path+".schedule", "must be one of %s", strings.Join(s.Choices, ", "))
		return b, false
	}
	switch word {
	case "constant", "sqrt_log":
		return b, r.want(given["value"] && b.Value >= 0, path+".value", "a width of at least 0 is needed") &&
			r.want(!given["B"] && !given["R"] && !given["p"], path, "B, R and p belong to the theory schedule")
	}
	bound := r.want(given["B"] && b.B >= 0, path+".B", "a bound on the function's norm is needed, at least 0")
	noise := word == "srinivas" && r.want(!given["R"], path+".R", "belongs to the theory schedule: this one is for noise of at most √λ") ||
		word == "theory" && r.want(given["R"] && b.R >= 0, path+".R", "the noise scale is needed, at least 0")
	return b, bound && noise &&
		r.want(b.P > 0 && b.P < 1, path+".p", "must be between 0 and 1") &&
		r.want(!given["value"], path+".value", "belongs to the constant and sqrt_log schedules")
}

// statesNorm tells whether the width states B.
func (b Beta) statesNorm() bool { return b.Schedule == "theory" || b.Schedule == "srinivas" }

func (r *resolver) want(ok bool, path, message string) bool {
	if !ok {
		r.fault(path, "%s", message)
	}
	return ok
}

// widths are the schedules of an algorithm's targets.
type widths struct {
	of      []Beta  // per target
	learned []bool  // per target: it has a posterior, so its width matters
	union   float64 // m + 1
}

func newWidths(c Context, s Settings) widths {
	w := widths{union: float64(len(c.Constraints) + 1)}
	for _, metric := range append([]string{c.Metrics[0]}, c.CostMetrics...) {
		w.of = append(w.of, s.BetaFor(metric))
		w.learned = append(w.learned, slices.Contains(c.Metrics, metric))
	}
	return w
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

// Beta is β_t = B + R√(2(γ_t + 1 + ln((m+1)/p))) where it follows the theory.
func (w widths) Beta(in Width) []float64 {
	return w.each(in, func(_ int, b Beta, gain, _ float64) float64 { return b.width(b.R, gain, w.union) })
}

// norm is B, and of a schedule that states none the width in its place.
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
