package policy

import (
	"encoding/json"
	"math"
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

// statesNorm tells whether the width states B.
func (b Beta) statesNorm() bool { return b.Schedule == "theory" || b.Schedule == "srinivas" }

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
