package kernel

import (
	"fmt"
	"math"
)

// Anova is the name of the only kernel that has an interaction.
const Anova = "anova"

// MedianInteraction is the interaction of a kernel that New made, and the prior median of fits. It
// leans to sums, as what laboratories read does.
const MedianInteraction = 0.25

// WithInteraction returns an anova kernel with another interaction, 0 < a < 1; the error says when
// it is none. Other kernels have no interaction and return themselves.
func (f *Function) WithInteraction(a float64) (*Function, error) {
	if f.form != anova {
		return f, nil
	}
	if !(a > 0 && a < 1) {
		return nil, fmt.Errorf("the interaction is %g; it must be a number between 0 and 1", a)
	}
	g := *f
	g.interaction = a
	g.prepare()
	return &g, nil
}

// prepare works out what follows from an anova kernel's interaction and categories.
func (f *Function) prepare() {
	a, rest := f.interaction, 1-f.interaction
	factors := 2 * len(f.categories)
	for _, inverse := range f.inverse {
		if inverse > 0 {
			factors++
			break
		}
	}
	f.constant, f.slope = 1, float64(factors)
	for i := range factors {
		f.constant *= rest
		if i > 0 {
			f.slope *= rest
		}
	}
	f.scale = f.variance / (1 - f.constant)
	categories := make([]Category, len(f.categories))
	for i, c := range f.categories {
		one := math.FMA(-a, 1-c.alike, 1)
		c.factor, c.Slope, c.rise = float64(one*one), 2*(a*c.stretch/one), 2*((c.alike-1)/one)
		categories[i] = c
	}
	f.categories = categories
}

// together turns the correlations of the numbers between x and X_i into k(x, X_i), in place.
func (f *Function) together(dst, x []float64, X *Inputs) {
	for i, m := range dst {
		dst[i] = math.FMA(-f.interaction, 1-m, 1)
	}
	f.choose(dst, x, X)
	for i, product := range dst {
		dst[i] = float64((product - f.constant) * f.scale)
	}
}

// Constant is what k lacks of being proportional to a product: k + Constant changes with the
// lengthscale of a category as Category.Slope says.
func (f *Function) Constant() float64 {
	if f.form != anova {
		return 0
	}
	return float64(f.constant * f.scale)
}

// RowAndSlopes writes k(x, X_i) to row[i], to the same bits as Row, and ∂k/∂a to slopes[i], for an
// anova kernel. With P the product, L = ∂ ln P/∂a, s = σ²/(1 − (1 − a)^C) and D = C (1 − a)^{C−1},
//
//	∂k/∂a = s (P L + D) − k D/(1 − (1 − a)^C).
func (f *Function) RowAndSlopes(row, slopes, x []float64, X *Inputs) {
	if f.form != anova {
		panic("kernel: slopes in the interaction of a kernel without one")
	}
	row, slopes = row[:X.Len()], slopes[:X.Len()]
	if len(row) == 0 {
		return
	}
	f.distances(row, x, X)
	shape(matern52, row, 1)
	for i, m := range row {
		row[i] = math.FMA(-f.interaction, 1-m, 1)
		slopes[i] = (m - 1) / row[i]
	}
	for _, c := range f.categories {
		for i, is := range X.Column(c.Chosen(x)) {
			if is != 1 {
				row[i] *= c.factor
				slopes[i] += c.rise
			}
		}
	}
	for i, product := range row {
		row[i] = float64((product - f.constant) * f.scale)
		slopes[i] = f.scale * (product*slopes[i] + f.slope - (product-f.constant)*f.slope/(1-f.constant))
	}
}
