package kernel

import "math"

// The mixed kernel is for points of numbers and of choices, a category being as many coordinates of 0 and 1 as it has choices:
//
//	k(x, x′) = σ² m(w) Π_{c: x_c ≠ x′_c} (1 + m(1/ℓ_c))/2,   m(w) = (1 + √5 w + 5w²/3) e^{−√5 w},
//
// w being the distance in the numbers alone, each divided by its lengthscale, and c the coordinates of the choices. Half of each factor is what all choices
// have in common: however little a choice tells of another one, what the numbers and the other categories do is learned from both. Under a kernel of one
// distance, such as matern52, points whose categories all differ tell nothing of each other. It is a product of kernels that are each a constant and a
// kernel of one coordinate (Durrande, Ginsbourger, Roustant, Carraro: ANOVA Kernels and RKHS of Zero Mean Functions for Model-based Sensitivity Analysis, 2013),
// for the choices only.

// choice is a coordinate of a category under the mixed kernel.
type choice struct {
	coordinate int
	factor     float64 // (1 + m)/2
	slope      float64 // ∂ ln factor/∂ ln ℓ
}

// WithChoices returns the kernel for points of which these coordinates, 0 or 1, are a category's. Only mixed tells them from numbers.
func (f *Function) WithChoices(choices []bool) *Function {
	if f.form != mixed {
		return f
	}
	g := *f
	g.inverse, g.choices = make([]float64, len(f.inverse)), nil
	for c, inverse := range f.inverse {
		if choices[c] {
			g.choices = append(g.choices, newChoice(c, inverse))
		} else {
			g.inverse[c] = inverse
		}
	}
	return &g
}

// newChoice works out the factor of a coordinate, with t = 5/ℓ², s = √t: m = (1 + s + t/3) e^{−s} and −∂m/∂ ln (1/ℓ) = (t/3) (1 + s) e^{−s}.
func newChoice(coordinate int, inverse float64) choice {
	t := min(float64(5*float64(inverse*inverse)), farthest)
	s := math.Sqrt(t)
	decay := exp(-s)
	m := math.FMA(t, 1./3, 1+s) * decay
	return choice{coordinate, 0.5 * (1 + m), t / 3 * (1 + s) * decay / (1 + m)}
}

// choose multiplies dst[i] by the factors of the choices in which x and y_i differ, the vectors y_i lying one after another in ys.
func (f *Function) choose(dst, x, ys []float64) {
	p := len(x)
	for i := range dst {
		y := ys[i*p : (i+1)*p]
		for _, c := range f.choices {
			if x[c.coordinate] != y[c.coordinate] {
				dst[i] *= c.factor
			}
		}
	}
}

// Choices tells, by coordinate, which are a category's, and ∂ ln k/∂ ln ℓ there for two points that differ in it; both are nil where none is.
func (f *Function) Choices() (is []bool, slopes []float64) {
	if f.choices == nil {
		return nil, nil
	}
	is, slopes = make([]bool, len(f.inverse)), make([]float64, len(f.inverse))
	for _, c := range f.choices {
		is[c.coordinate], slopes[c.coordinate] = true, c.slope
	}
	return is, slopes
}
