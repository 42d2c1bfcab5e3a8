package kernel

import "math"

// The mixed kernel is for points of numbers and of categories, a category being as many coordinates
// as it has choices, 1 for the one chosen and 0 for the others, which share a lengthscale:
//
//	k(x, x′) = σ² m(w) Π ((1 + m(1/ℓ_c))/2)²,   m(w) = (1 + √5 w + 5w²/3) e^{−√5 w},
//
// w being the distance in the numbers alone, each divided by its lengthscale, and the product over
// the categories c in which x and x′ differ, (1 + m)/2 being the factor of each of the two
// coordinates that tell it. Half of each factor is what all choices have in common: however little
// a choice tells of another one, what the numbers and the other categories do is learned from both.
// Under a kernel of one distance, such as matern52, points whose categories all differ tell nothing
// of each other. It is a product of kernels that are each a constant and a kernel of one coordinate
// (Durrande, Ginsbourger, Roustant, Carraro: ANOVA Kernels and RKHS of Zero Mean Functions for
// Model-based Sensitivity Analysis, 2013), for the choices only.

// Category is a category's coordinates under the mixed and the anova kernel.
type Category struct {
	Coordinates []int
	// Slope is ∂ ln k/∂ ln ℓ of two points that differ in the category, of anova that of k +
	// Constant.
	Slope          float64
	factor         float64 // of the product for two points that differ in it
	alike, stretch float64 // m(1/ℓ) and ∂m/∂ ln ℓ
	rise           float64 // ∂ ln factor/∂a of anova
}

// WithCategories returns the kernel for points whose coordinate c belongs to category
// categories[c], −1 for a number. Only mixed and anova tell them from numbers.
func (f *Function) WithCategories(categories []int) *Function {
	if f.form != mixed && f.form != anova {
		return f
	}
	g := *f
	g.inverse, g.categories = make([]float64, len(f.inverse)), nil
	index := map[int]int{}
	for c, inverse := range f.inverse {
		name := categories[c]
		if name < 0 {
			g.inverse[c] = inverse
			continue
		}
		i, known := index[name]
		if !known {
			i = len(g.categories)
			index[name] = i
			g.categories = append(g.categories, newCategory(inverse))
		}
		g.categories[i].Coordinates = append(g.categories[i].Coordinates, c)
	}
	if g.form == anova {
		g.prepare()
	}
	return &g
}

// newCategory works out the factor for a lengthscale, with t = 5/ℓ², s = √t: m = (1 + s + t/3)
// e^{−s} and ∂m/∂ ln ℓ = (t/3) (1 + s) e^{−s}.
func newCategory(inverse float64) Category {
	t := min(float64(5*float64(inverse*inverse)), farthest)
	s := math.Sqrt(t)
	decay := exp(-s)
	m := math.FMA(t, 1./3, 1+s) * decay
	half := 0.5 * (1 + m)
	stretch := t / 3 * (1 + s) * decay
	return Category{Slope: 2 * (stretch / (1 + m)), factor: half * half, alike: m, stretch: stretch}
}

// Chosen is the coordinate of the choice that x has.
func (c Category) Chosen(x []float64) int {
	for _, coordinate := range c.Coordinates {
		if x[coordinate] == 1 {
			return coordinate
		}
	}
	return c.Coordinates[0]
}

// Categories lists the categories of a mixed or an anova kernel.
func (f *Function) Categories() []Category { return f.categories }

// choose multiplies dst[i] by the factors of the categories in which x and X_i differ.
func (f *Function) choose(dst, x []float64, X *Inputs) {
	for _, c := range f.categories {
		chosen := X.column(c.Chosen(x))[:len(dst)]
		for i, is := range chosen {
			if is != 1 {
				dst[i] *= c.factor
			}
		}
	}
}
