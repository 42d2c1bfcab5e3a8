package kernel

import (
	"fmt"
	"math"
)

// The mixed kernel is for points of numbers and categories. A category has a coordinate for each
// choice, 1 for the chosen one and 0 for the others, and one lengthscale:
//
//	k(x, x′) = σ² m(w) Π ((1 + m(1/ℓ_c))/2)²,   m(w) = (1 + √5 w + 5w²/3) e^{−√5 w},
//
// where w is the distance in the numbers alone, each divided by its lengthscale. The product is
// over the categories c in which x and x′ differ, with a factor (1 + m)/2 for each of the two
// coordinates that differ. Half of each factor is what all choices have in common: the effects of
// the numbers and of other categories are learned from all choices, however different they are.
// With a kernel of one distance, such as matern52, points whose categories all differ would tell
// nothing of each other. It is a product of kernels that are each a constant plus a kernel of one
// coordinate (Durrande, Ginsbourger, Roustant, Carraro: ANOVA Kernels and RKHS of Zero Mean
// Functions for Model-based Sensitivity Analysis, 2013), for the choices only.

// The anova kernel lies between a sum over the parameters and their product:
//
//	k(x, x′) = σ² (Π_c (1 − a + a k_c) − (1 − a)^C) / (1 − (1 − a)^C),
//
// with C factors: one for all numbers together, k_c = m(w), and two for each category, one for each
// of the coordinates in which two choices differ, with k_c = 1 if the choices are equal and
// m(1/ℓ_c) otherwise; m and w are those of the mixed kernel. Multiplied out it is a sum over the
// subsets of factors, a subset of j having weight aʲ(1 − a)^{C−j}, without the empty one, a
// constant: standardised readings have no mean to explain. So the interaction a, within (0, 1), is
// the share of the variance due to several parameters together: k is the product at a = 1, and near
// 0 it becomes σ² (Σ_c k_c)/C, with which the effect of a parameter does not depend on the others.
// (Duvenaud, Nickisch, Rasmussen: Additive Gaussian Processes, 2011; ANOVA kernels as above.)

// Anova is the name of the only kernel with an interaction.
const Anova = "anova"

// MedianInteraction is the interaction of a kernel made by New, and the prior median of fits. It is
// closer to a sum, like most laboratory readings.
const MedianInteraction = 0.25

// WithInteraction returns an anova kernel with interaction a; the error says when a is not within
// (0, 1). Other kernels return themselves.
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

// prepare computes what depends on an anova kernel's interaction and categories.
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

// Constant is what k + Constant needs to be proportional to a product, 0 but for anova: its
// logarithm has the derivative Category.Slope by a category's logarithmic lengthscale.
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
