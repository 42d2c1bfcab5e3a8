package kernel_test

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/kernel"
)

// recipe is a space of numbers and categories: which category each coordinate belongs to, −1 for a
// number, and the lengthscale of each.
type recipe struct {
	categories   []int
	lengthscales []float64
}

func drawRecipe(t *rapid.T) (r recipe) {
	for k, size := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 5).Draw(t, "choices of each parameter") { // 0 for a number
		length, category := rapid.Float64Range(0.05, 5).Draw(t, "lengthscale"), k
		if size == 0 {
			size, category = 1, -1
		}
		for range size {
			r.categories, r.lengthscales = append(r.categories, category), append(r.lengthscales, length)
		}
	}
	return r
}

func (r recipe) point(t *rapid.T) []float64 {
	x := make([]float64, len(r.categories))
	for c := 0; c < len(x); c++ {
		if r.categories[c] < 0 {
			x[c] = rapid.Float64Range(-2, 2).Draw(t, "number")
			continue
		}
		last := c
		for last+1 < len(x) && r.categories[last+1] == r.categories[c] {
			last++
		}
		x[rapid.IntRange(c, last).Draw(t, "choice")] = 1
		c = last
	}
	return x
}

func (r recipe) anova(t rapid.TB, variance, a float64) *kernel.Function {
	k, err := kernel.New("anova", r.lengthscales, variance)
	if err == nil {
		k, err = k.WithCategories(r.categories).WithInteraction(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// factors are the k_c between two points: the numbers', where there are some, and those of the two
// coordinates in which two choices can differ.
func (r recipe) factors(x, y []float64) (factors []float64) {
	matern := func(w float64) float64 {
		return (1 + math.Sqrt(5)*w + 5*w*w/3) * math.Exp(-math.Sqrt(5)*w)
	}
	square, numbers := 0.0, false
	for c, category := range r.categories {
		w := math.Abs(x[c]-y[c]) / r.lengthscales[c]
		switch first := c == 0 || category != r.categories[c-1]; {
		case category < 0:
			square, numbers = square+w*w, true
		case first:
			alike := 1.0
			for d := c; d < len(x) && r.categories[d] == category; d++ {
				if x[d] != y[d] {
					alike = matern(1 / r.lengthscales[c])
				}
			}
			factors = append(factors, alike, alike)
		}
	}
	if numbers {
		factors = append(factors, matern(math.Sqrt(square)))
	}
	return factors
}

// formula is the anova kernel multiplied out: the sum over the sets of factors but the empty one, a
// set of j weighing aʲ(1 − a)^{C−j}.
func (r recipe) formula(x, y []float64, variance, a float64) float64 {
	factors := r.factors(x, y)
	sum, weights := 0.0, 0.0
	for set := 1; set < 1<<len(factors); set++ {
		product, weight := 1.0, 1.0
		for c, k := range factors {
			if set>>c&1 == 1 {
				product *= k
				weight *= a
			} else {
				weight *= 1 - a
			}
		}
		sum += weight * product
		weights += weight
	}
	return variance * sum / weights
}

func TestAnovaIsTheSumOverSetsOfFactors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecipe(t)
		a := rapid.Float64Range(0.007, 0.993).Draw(t, "interaction")
		k := r.anova(t, 1.7, a)
		x, X := r.point(t), kernel.NewInputs(len(r.categories))
		for range rapid.IntRange(1, 9).Draw(t, "n") {
			X.Append(r.point(t))
		}
		row := make([]float64, X.Len())
		k.Row(row, x, X)
		for i, got := range row {
			if want := r.formula(x, X.Row(i), 1.7, a); !(math.Abs(got-want) <= 1e-12) || k.At(X.Row(i), x) != got {
				t.Fatalf("k(%v, %v) = %.17g, want %.17g; the other way round %.17g", x, X.Row(i), got, want, k.At(X.Row(i), x))
			}
		}
		if k.Diagonal(x) != k.At(x, x) || math.Abs(k.Diagonal(x)-1.7) > 1e-12 {
			t.Fatalf("Diagonal gives %.17g, At(x, x) %.17g, want 1.7", k.Diagonal(x), k.At(x, x))
		}
	})
}

// TestAnovaBetweenItsEnds: near 0 it is the mean of the factors' kernels, near 1 their product, and
// half way the mixed kernel's product over the choices, up to the constant.
func TestAnovaBetweenItsEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecipe(t)
		x, y := r.point(t), r.point(t)
		factors := r.factors(x, y)
		mean, product, half := 0.0, 1.0, 1.0
		for _, k := range factors {
			mean += k / float64(len(factors))
			product *= k
			half *= (1 + k) / 2
		}
		if got := r.anova(t, 1, 1e-7).At(x, y); !(math.Abs(got-mean) <= 1e-5) {
			t.Fatalf("%g at interaction 1e-7, the mean of the factors is %g", got, mean)
		}
		if got := r.anova(t, 1, 1-1e-9).At(x, y); !(math.Abs(got-product) <= 1e-7) {
			t.Fatalf("%g at interaction 1−1e-9, the product of the factors is %g", got, product)
		}
		constant := math.Pow(0.5, float64(len(factors)))
		if got := r.anova(t, 1, 0.5).At(x, y)*(1-constant) + constant; !(math.Abs(got-half) <= 1e-13) {
			t.Fatalf("%g at interaction ½, constant added; the product of (1 + k)/2 is %g", got, half)
		}
		for c, category := range r.categories { // with the same numbers mixed has just that product
			if category < 0 {
				y[c] = x[c]
			}
		}
		mixed := must.Get(kernel.New("mixed", r.lengthscales, 1))(t)
		want := mixed.WithCategories(r.categories).At(x, y)
		if got := r.anova(t, 1, 0.5).At(x, y)*(1-constant) + constant; !(math.Abs(got-want) <= 1e-13) {
			t.Fatalf("%g at interaction ½, constant added; mixed is %g", got, want)
		}
	})
}

func TestAnovaIsPositiveSemidefinite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecipe(t)
		k := r.anova(t, 1, rapid.Float64Range(0.007, 0.993).Draw(t, "interaction"))
		n := rapid.IntRange(1, 12).Draw(t, "n")
		var points [][]float64
		for range n {
			points = append(points, r.point(t))
		}
		K := mat.NewSymDense(n, nil)
		for i, x := range points {
			for j := range i + 1 {
				K.SetSym(i, j, k.At(x, points[j]))
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(K, false) {
			t.Fatal("no eigenvalues")
		}
		if least := eigen.Values(nil)[0]; least < -1e-12*float64(n) {
			t.Fatalf("eigenvalue %g", least)
		}
	})
}

func TestAnovaSlopesAreTheDerivatives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecipe(t)
		a := rapid.Float64Range(0.02, 0.98).Draw(t, "interaction")
		x, y := r.point(t), r.point(t)
		const step = 1e-6
		row, slope := make([]float64, 1), make([]float64, 1)
		r.anova(t, 1.4, a).RowAndSlopes(row, slope, x, kernel.InputsOf([][]float64{y}))
		if at := r.anova(t, 1.4, a).At(x, y); row[0] != at {
			t.Fatalf("beside its slope k is %.17g, At gives %.17g", row[0], at)
		}
		if want := (r.formula(x, y, 1.4, a+step) - r.formula(x, y, 1.4, a-step)) / (2 * step); !(math.Abs(slope[0]-want) <= 1e-6) {
			t.Fatalf("∂k/∂a = %g, finite difference %g", slope[0], want)
		}
		k := r.anova(t, 1.4, a)
		gradients, X := [][]float64{make([]float64, len(x))}, kernel.InputsOf([][]float64{y})
		k.Gradients(gradients, x, X, [][]float64{{1}})
		for c, category := range r.categories {
			if category >= 0 {
				continue
			}
			at := func(v float64) float64 {
				moved := append([]float64{}, x...)
				moved[c] = v
				return r.formula(moved, y, 1.4, a)
			}
			if want := (at(x[c]+step) - at(x[c]-step)) / (2 * step); !(math.Abs(gradients[0][c]-want) <= 1e-5) {
				t.Fatalf("∂k/∂x_%d = %g, finite difference %g", c, gradients[0][c], want)
			}
		}
	})
}

func TestAnovaRefusesInteractions(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.New("anova", []float64{1}, 1))(t)
	for _, a := range []float64{0, 1, -0.5, 2, math.NaN(), math.Inf(1)} {
		if _, err := k.WithInteraction(a); err == nil || !strings.Contains(err.Error(), "between 0 and 1") {
			t.Errorf("interaction %g: error %v", a, err)
		}
	}
	plain := must.Get(kernel.New("matern52", []float64{1}, 1))(t)
	if same, err := plain.WithInteraction(0); same != plain || err != nil {
		t.Errorf("a kernel without an interaction gives %v, %v", same, err)
	}
}
