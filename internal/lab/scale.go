package lab

import (
	"fmt"
	"math"
)

// Scale measures values against the best feasible one.
//
//	Ratio:    r / best            where a larger reward r is never negative
//	Inverse:  best / r            where r is never positive (a cost that is minimised)
//	Range:    (r − worst) / (best − worst)  else; worst is the worst feasible value known
type Scale struct {
	Kind        ScaleKind
	Best, Worst float64 // rewards: larger is better
	Any         bool    // whether any setting is feasible
}

// ScaleKind names how a share of the best is measured.
type ScaleKind string

const (
	Ratio   ScaleKind = "ratio"
	Inverse ScaleKind = "inverse ratio"
	Range   ScaleKind = "range"
)

// scaleOf takes the rewards at all settings known, and the best feasible one if it is known beforehand (else NaN).
func (p *Problem) scaleOf(truths []Values, best float64) Scale {
	s := Scale{Best: math.Inf(-1), Worst: math.Inf(1)}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range truths {
		r := p.reward(v)
		low, high = math.Min(low, r), math.Max(high, r)
		if p.feasible(v) {
			s.Any = true
			s.Best, s.Worst = math.Max(s.Best, r), math.Min(s.Worst, r)
		}
	}
	if !s.Any {
		s.Worst = low
	}
	if !math.IsNaN(best) {
		s.Any, s.Best = true, best
		low, high = math.Min(low, best), math.Max(high, best)
	}
	switch {
	case low >= 0 && s.Best > 0:
		s.Kind = Ratio
	case high <= 0 && s.Best < 0:
		s.Kind = Inverse
	default:
		s.Kind = Range
	}
	return s
}

// Share is how much of the best feasible value a feasible reward is, from 0 to 1.
func (s Scale) Share(reward float64) float64 {
	var share float64
	switch s.Kind {
	case Ratio:
		share = reward / s.Best
	case Inverse:
		share = s.Best / reward
	default:
		if s.Best == s.Worst {
			return 1
		}
		share = (reward - s.Worst) / (s.Best - s.Worst)
	}
	return math.Max(0, math.Min(1, share))
}

// String says how a share is measured.
func (s Scale) String() string {
	switch {
	case !s.Any:
		return "Nothing is feasible."
	case s.Kind == Range:
		return fmt.Sprintf("Share is (value − worst)/(best − worst): best feasible reward %.6g, worst %.6g.", s.Best, s.Worst)
	}
	return fmt.Sprintf("Share is the %s to the best feasible reward %.6g.", s.Kind, s.Best)
}
