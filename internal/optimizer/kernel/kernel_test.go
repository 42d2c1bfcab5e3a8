package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/kernel"
)

// formula is the textbook form of each kernel with math.Exp.
func formula(name string, x, y, lengthscales []float64, variance float64) float64 {
	w2, inner := 0.0, 0.0
	for c := range x {
		w2 += math.Pow((x[c]-y[c])/lengthscales[c], 2)
		inner += x[c] * y[c] / (lengthscales[c] * lengthscales[c])
	}
	w := math.Sqrt(w2)
	switch name {
	case "se":
		return variance * math.Exp(-w2/2)
	case "matern12":
		return variance * math.Exp(-w)
	case "matern32":
		return variance * (1 + math.Sqrt(3)*w) * math.Exp(-math.Sqrt(3)*w)
	case "matern52", "mixed", "anova":
		return variance * (1 + math.Sqrt(5)*w + 5*w2/3) * math.Exp(-math.Sqrt(5)*w)
	default:
		return variance * inner
	}
}

// TestOnlyPlacesThatThereArePass: as many coordinates as the kernel takes, each finite.
func TestOnlyPlacesThatThereArePass(t *testing.T) {
	t.Parallel()
	f := must.Get(kernel.New("se", []float64{1, 1}, 1))(t)
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{[]float64{0, 1}, ""}, {[]float64{0}, "it has 1 coordinates; the kernel takes 2"},
		{[]float64{0, math.NaN()}, "coordinate 2 is NaN; it must be finite"}, {[]float64{math.Inf(-1), 0}, "coordinate 1 is -Inf; it must be finite"},
	} {
		if err := f.Check(c.x); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: %v, want %q", c.x, err, c.want)
		}
	}
}

func TestRowAndAtFollowTheFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(kernel.Names).Draw(t, "name")
		p, n := rapid.IntRange(1, 5).Draw(t, "p"), rapid.IntRange(0, 23).Draw(t, "n")
		number := rapid.Float64Range(-5, 5)
		lengthscales := rapid.SliceOfN(rapid.Float64Range(0.05, 5), p, p).Draw(t, "lengthscales")
		variance := rapid.Float64Range(0.1, 4).Draw(t, "variance")
		k := must.Get(kernel.New(name, lengthscales, variance))(t)
		x := rapid.SliceOfN(number, p, p).Draw(t, "x")
		X := kernel.NewInputs(p)
		for range n {
			X.Append(rapid.SliceOfN(number, p, p).Draw(t, "y"))
		}
		row := make([]float64, n)
		k.Row(row, x, X)
		for i, got := range row {
			want := formula(name, x, X.Row(i), lengthscales, variance)
			scale := variance
			if name == "linear" {
				scale = math.Sqrt(k.Diagonal(x)*k.Diagonal(X.Row(i))) + variance
			}
			if !(math.Abs(got-want) <= 1e-13*scale) {
				t.Fatalf("k(%v, %v) = %.17g, want %.17g", x, X.Row(i), got, want)
			}
			if at := k.At(x, X.Row(i)); at != got {
				t.Fatalf("At gives %.17g, Row %.17g", at, got)
			}
			if back := k.At(X.Row(i), x); back != got {
				t.Fatalf("k(y, x) = %.17g, k(x, y) = %.17g", back, got)
			}
		}
		if diagonal := k.Diagonal(x); diagonal != k.At(x, x) {
			t.Fatalf("Diagonal gives %g, At(x, x) %g", diagonal, k.At(x, x))
		}
	})
}

// TestMixedFollowsTheFormula: numbers by their distance, each category that differs by a factor of
// its own.
func TestMixedFollowsTheFormula(t *testing.T) {
	t.Parallel()
	m := func(w float64) float64 { return (1 + math.Sqrt(5)*w + 5*w*w/3) * math.Exp(-math.Sqrt(5)*w) }
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 5).Draw(t, "choices of each parameter") // 0 for a number
		n := rapid.IntRange(1, 9).Draw(t, "n")
		var categories []int
		var lengthscales []float64
		for k, size := range sizes {
			length := rapid.Float64Range(0.05, 5).Draw(t, "lengthscale")
			if size == 0 {
				categories, lengthscales = append(categories, -1), append(lengthscales, length)
			}
			for range size {
				categories, lengthscales = append(categories, k), append(lengthscales, length)
			}
		}
		point := func() (x []float64) {
			for _, size := range sizes {
				if size == 0 {
					x = append(x, rapid.Float64Range(-2, 2).Draw(t, "number"))
					continue
				}
				choices := make([]float64, size)
				choices[rapid.IntRange(0, size-1).Draw(t, "choice")] = 1
				x = append(x, choices...)
			}
			return x
		}
		k := must.Get(kernel.New("mixed", lengthscales, 1.7))(t)
		k = k.WithCategories(categories)
		x, X := point(), kernel.NewInputs(len(categories))
		for range n {
			X.Append(point())
		}
		row := make([]float64, n)
		k.Row(row, x, X)
		for i, got := range row {
			y, square, want := X.Row(i), 0.0, 1.7
			for c := range x {
				switch w := math.Abs(x[c]-y[c]) / lengthscales[c]; {
				case categories[c] >= 0 && w > 0:
					want *= (1 + m(w)) / 2
				default:
					square += w * w
				}
			}
			want *= m(math.Sqrt(square))
			if !(math.Abs(got-want) <= 1e-13) || k.At(y, x) != got {
				t.Fatalf("k(%v, %v) = %.17g, want %.17g; the other way round %.17g", x, y, got, want, k.At(y, x))
			}
		}
		if k.Diagonal(x) != k.At(x, x) {
			t.Fatalf("Diagonal gives %g, At(x, x) %g", k.Diagonal(x), k.At(x, x))
		}
	})
}

func TestSlopesAreTheDerivative(t *testing.T) {
	t.Parallel()
	x, X := []float64{0.2, 0.7}, kernel.InputsOf([][]float64{{0.5, 0.1}, {0.21, 0.69}, {0.2, 0.7}, {3, -2}, {0.2, 0.1}})
	for _, name := range kernel.Names[:6] {
		at := func(l0 float64) *kernel.Function {
			k := must.Get(kernel.New(name, []float64{l0, 0.6}, 1.4))(t)
			return k
		}
		slopes := make([]float64, X.Len())
		at(0.3).Slopes(slopes, x, X)
		for i, slope := range slopes {
			const step = 1e-5
			y := X.Row(i)
			want := (at(0.3*math.Exp(step)).At(x, y) - at(0.3*math.Exp(-step)).At(x, y)) / (2 * step)
			got := slope * math.Pow((x[0]-y[0])/0.3, 2)
			if !(math.Abs(got-want) <= 1e-8) {
				t.Errorf("%s: slope towards %v is %g, finite difference %g", name, y, got, want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		lengthscales []float64
		variance     float64
		says         string
	}{
		{"rbf", []float64{1}, 1, `"rbf"`},
		{"se", nil, 1, "needs a lengthscale"},
		{"se", []float64{1, 0}, 1, "lengthscale 2 is 0"},
		{"se", []float64{math.NaN()}, 1, "lengthscale 1 is NaN"},
		{"se", []float64{math.Inf(1)}, 1, "lengthscale 1 is +Inf"},
		{"se", []float64{1e-320}, 1, "lengthscale 1 is"},
		{"se", []float64{1}, -1, "variance is -1"},
		{"se", []float64{1}, math.NaN(), "variance is NaN"},
	} {
		if _, err := kernel.New(c.name, c.lengthscales, c.variance); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("New(%q, %v, %g): error %v, want one that says %q", c.name, c.lengthscales, c.variance, err, c.says)
		}
	}
}

func TestCovariance(t *testing.T) {
	t.Parallel()
	k, err := kernel.NewCovariance([][]float64{{2, 1, 2}, {1, 3, 1}, {2, 1, 2}}, 0.5) // arms 0 and 2 are the same
	if err != nil {
		t.Fatal(err)
	}
	X, row := kernel.InputsOf([][]float64{{0}, {1}, {2}}), make([]float64, 3)
	k.Row(row, []float64{1}, X)
	if row[0] != 0.5 || row[1] != 1.5 || row[2] != 0.5 || k.Diagonal([]float64{2}) != 1 {
		t.Errorf("row %v, diagonal %v", row, k.Diagonal([]float64{2}))
	}
	for _, c := range []struct {
		matrix [][]float64
		says   string
	}{
		{nil, "empty"},
		{[][]float64{{1, 0}, {0}}, "row 2 of the covariance matrix has 1 entries; it needs 2"},
		{[][]float64{{1, 0.5}, {0.4, 1}}, "entries (2, 1) and (1, 2)"},
		{[][]float64{{1, 0}, {math.Inf(1), 1}}, "entry (2, 1)"},
		{[][]float64{{1, 0}, {0, -1}}, "entry (2, 2)"},
		{[][]float64{{0, 0}, {0, 0}}, "diagonal"},
		{[][]float64{{1, 0, 0}, {0, 1, 2}, {0, 2, 1}}, "row 3 contradicts"},
	} {
		if _, err := kernel.NewCovariance(c.matrix, 1); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("NewCovariance(%v): error %v, want one that says %q", c.matrix, err, c.says)
		}
	}
}

func TestFarPointsAreUncorrelated(t *testing.T) {
	t.Parallel()
	for _, name := range kernel.Names[:6] {
		k := must.Get(kernel.New(name, []float64{1e-200}, 1))(t)
		row := make([]float64, 5)
		k.Row(row, []float64{0}, kernel.InputsOf([][]float64{{1}, {1e200}, {-1e300}, {math.MaxFloat64}, {-1}}))
		for i, v := range row {
			if v != 0 {
				t.Errorf("%s: value %d is %v, want 0", name, i, v)
			}
		}
	}
}

func BenchmarkRow(b *testing.B) {
	for _, name := range kernel.Names[:6] {
		for _, p := range []int{2, 10} {
			b.Run(fmt.Sprintf("%s/p=%d", name, p), func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				lengthscales, x := make([]float64, p), make([]float64, p)
				X := kernel.NewInputs(p)
				for range 1001 {
					for c := range x {
						x[c], lengthscales[c] = random.Float64(), 0.3
					}
					X.Append(x)
				}
				k := must.Get(kernel.New(name, lengthscales, 1))(b)
				row := make([]float64, 1001)
				for b.Loop() {
					k.Row(row, x, X)
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/1001, "ns/value")
			})
		}
	}
}

// TestInputsShareAndGrow grows inputs, prefixes and parts of them at will: each sees its own
// vectors only, by rows and by distances.
func TestInputsShareAndGrow(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.New("se", []float64{0.3, 0.7}, 1))(t)
	rapid.Check(t, func(t *rapid.T) {
		type list struct {
			X    *kernel.Inputs
			want [][]float64
		}
		lists, next := []list{{X: kernel.NewInputs(2)}}, 0.0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at := rapid.IntRange(0, len(lists)-1).Draw(t, "list")
			l := &lists[at]
			if rapid.Bool().Draw(t, "append") {
				next++
				x := []float64{next / 40, -next / 20}
				l.X.Append(x)
				l.want = append(l.want[:len(l.want):len(l.want)], x)
				continue
			}
			from := rapid.IntRange(0, len(l.want)).Draw(t, "from")
			to := rapid.IntRange(from, len(l.want)).Draw(t, "to")
			lists = append(lists, list{l.X.Slice(from, to), l.want[from:to]})
		}
		x := []float64{0.1, -0.4}
		for _, l := range lists {
			if l.X.Len() != len(l.want) {
				t.Fatalf("%d vectors, want %d", l.X.Len(), len(l.want))
			}
			row := make([]float64, len(l.want))
			k.Row(row, x, l.X)
			for i, y := range l.want {
				if want := k.At(x, y); row[i] != want || l.X.Row(i)[1] != y[1] {
					t.Fatalf("vector %d is %v, want %v: covariance %v, want %v", i, l.X.Row(i), y, row[i], want)
				}
			}
		}
	})
}
