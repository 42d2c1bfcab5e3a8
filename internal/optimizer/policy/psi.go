package policy

import "math"

// largestPsi keeps one reading far beyond a limit from overflowing the regression.
const largestPsi = 1e12

// Psi is the penalty function of penalty-noiseless: ψ(x) = 1 for x ≤ 0, else e^{ax} or (ax+1)ⁿ, up
// to 10¹².
type Psi struct {
	Form  string  `json:"form"`
	Rate  float64 `json:"rate"`            // a > 0
	Power float64 `json:"power,omitempty"` // n > 1
}

// At returns ψ(x).
func (p Psi) At(x float64) float64 {
	switch {
	case x <= 0:
		return 1
	case p.Form == "polynomial":
		return math.Min(math.Pow(p.Rate*x+1, p.Power), largestPsi)
	}
	return math.Min(math.Exp(p.Rate*x), largestPsi)
}

// Inverse returns the x ≥ 0 at which e^{ax} or (ax+1)ⁿ is y ≥ 1.
func (p Psi) Inverse(y float64) float64 {
	if p.Form == "polynomial" {
		return (math.Pow(y, 1/p.Power) - 1) / p.Rate
	}
	return math.Log(y) / p.Rate
}
