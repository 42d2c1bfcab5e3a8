package policy

import "slices"

func filled(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = -v[i]
	}
	return out
}

// positive is [a]⁺ = max(a, 0).
func positive(a float64) float64 { return max(a, 0) }

func clip(v, low, high float64) float64 { return min(max(v, low), high) }

// excess is Σ_j [c_j]⁺.
func excess(costs []float64) float64 {
	sum := 0.0
	for _, c := range costs {
		sum += positive(c)
	}
	return sum
}

func count(marked []bool) int {
	n := 0
	for _, m := range marked {
		if m {
			n++
		}
	}
	return n
}
