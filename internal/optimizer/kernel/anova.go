package kernel

import "math"

// The anova kernel is a product of one factor a coordinate,
//
//	k(x, x′) = σ² Π_c (1 + m(w_c))/2,   w_c = |x_c − x′_c|/ℓ_c,   m(w) = (1 + √5 w + 5w²/3) e^{−√5 w},
//
// the sum of a constant, an effect of each coordinate, of each pair, each three and so on, all of the same prior variance (Stitson, Gammerman, Vapnik,
// Vovk, Watkins, Weston: Support Vector Regression with ANOVA Decomposition Kernels, 1999; Durrande, Ginsbourger, Roustant, Carraro: ANOVA Kernels and RKHS of
// Zero Mean Functions, 2013). Points that are far apart in one coordinate still share what the others tell, unlike under a kernel of their distance.

// anovaFactor is (1 + m)/2 for the square t = 5w² of s = √5 w.
func anovaFactor(t float64) float64 {
	s := math.Sqrt(t)
	m := math.FMA(t, 1./3, 1+s) * exp(-s)
	return 0.5 * (1 + m)
}

// stepped are the factors of coordinates that differ by 1, as those of choices do.
func stepped(inverse []float64) []float64 {
	factors := make([]float64, len(inverse))
	for c, i := range inverse {
		factors[c] = anovaFactor(min(float64(5*float64(i*i)), farthest))
	}
	return factors
}

// anovas writes k(x, y_i) to dst[i], the vectors y_i lying one after another in ys.
func (f *Function) anovas(dst, x, ys []float64) {
	p := len(x)
	for i := range dst {
		product := f.variance
		for c, v := range ys[i*p : (i+1)*p] {
			if d := x[c] - v; d != 0 {
				product *= f.anovaAt(c, d)
			}
		}
		dst[i] = product
	}
}

// anovaAt is the factor of coordinate c for points that differ there by d.
func (f *Function) anovaAt(c int, d float64) float64 {
	if d == 1 || d == -1 {
		return f.stepped[c]
	}
	w := float64(d * f.inverse[c])
	return anovaFactor(min(float64(5*float64(w*w)), farthest))
}

// AnovaSlopes adds weight · ∂k(x, y)/∂ln ℓ_c to dst[c] for every coordinate of an anova kernel, where k = k(x, y):
//
//	∂k/∂ln ℓ_c = k · (5/3) w² (1 + s) e^{−s} / (1 + m(w)),   s = √5 w.
func (f *Function) AnovaSlopes(dst []float64, weight, k float64, x, y []float64) {
	for c, v := range y {
		d := x[c] - v
		if d == 0 {
			continue
		}
		w := float64(d * f.inverse[c])
		t := min(float64(5*float64(w*w)), farthest)
		s := math.Sqrt(t)
		slope := t / 3 * (1 + s) * exp(-s)
		dst[c] += weight * k * slope / (2 * f.anovaAt(c, d))
	}
}

// Anova tells whether k is an anova kernel.
func (f *Function) Anova() bool { return f.form == anova }
