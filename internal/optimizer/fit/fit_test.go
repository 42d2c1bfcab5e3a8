package fit_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
)

// drawn is n readings drawn from a Gaussian process with matern52, the lengthscales given and noise
// variance lambda.
func drawn(seed uint64, n int, lengthscales []float64, lambda float64) fit.Problem {
	random := rand.New(rand.NewPCG(seed, 1))
	p := fit.Problem{Kernel: "matern52", FreeLengthscales: true, FreeNoise: true}
	for c := range lengthscales {
		p.Dims = append(p.Dims, c)
		p.Median = append(p.Median, 0.3)
	}
	for range n {
		x := make([]float64, len(lengthscales))
		for c := range x {
			x[c] = random.Float64()
		}
		p.Inputs = append(p.Inputs, x)
	}
	lower := dense(p, lengthscales, lambda, 1, 1)
	z, y := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		z.SetVec(i, random.NormFloat64())
	}
	var L mat.TriDense
	lower.LTo(&L)
	y.MulVec(&L, z)
	p.Y = y.RawVector().Data
	return p
}

// scaled tells whether a factor of the noise told is fitted, and allTold whether it is in the place of
// λ.
func scaled(p fit.Problem) bool {
	told := 0
	for _, sd := range p.NoiseSD {
		if sd > 0 {
			told++
		}
	}
	return p.FreeNoise && 2*told > len(p.Y)
}

func allTold(p fit.Problem) bool { return scaled(p) && !slices.Contains(p.NoiseSD, 0) }

// dense is gonum's factor of the kernel matrix with noise variance lambda, or told times the one told.
func dense(p fit.Problem, lengthscales []float64, lambda, variance, told float64) *mat.Cholesky {
	each := make([]float64, len(p.Dims))
	for c, g := range p.Dims {
		each[c] = lengthscales[g]
	}
	k, err := kernel.New(p.Kernel, each, variance)
	if err != nil {
		panic(err)
	}
	A := mat.NewSymDense(len(p.Inputs), nil)
	for i, x := range p.Inputs {
		for j := range i + 1 {
			A.SetSym(i, j, k.At(x, p.Inputs[j]))
		}
		noise := lambda
		if p.NoiseSD != nil && p.NoiseSD[i] > 0 {
			noise = max(p.NoiseSD[i]*p.NoiseSD[i], fit.LeastNoise)
			if scaled(p) {
				noise = max(told*noise, fit.LeastNoise)
			}
		}
		A.SetSym(i, i, A.At(i, i)+noise)
	}
	var c mat.Cholesky
	if !c.Factorize(A) {
		panic("not positive definite")
	}
	return &c
}

// logPosterior is what MAP maximises, written out with gonum.
func logPosterior(p fit.Problem, lengthscales []float64, lambda, variance, told float64) float64 {
	c, y := dense(p, lengthscales, lambda, variance, told), mat.NewVecDense(len(p.Y), p.Y)
	var alpha mat.VecDense
	if err := c.SolveVecTo(&alpha, y); err != nil {
		panic(err)
	}
	value := -0.5*mat.Dot(y, &alpha) - 0.5*c.LogDet() - 0.5*float64(len(p.Y))*math.Log(2*math.Pi)
	if p.FreeLengthscales {
		for g, l := range lengthscales {
			value -= 0.5 * math.Pow(math.Log(l/p.Median[g]), 2)
		}
	}
	if scaled(p) {
		value -= 2.5 * math.Log1p(math.Pow(math.Log(told)/1.12, 2)/4)
	}
	if p.FreeNoise && !allTold(p) {
		value -= 0.5 * math.Pow(math.Log(lambda/0.05)/1.5, 2)
	}
	if p.FreeVariance {
		value += math.Log(variance) - variance
	}
	return value
}

func mustFit(t rapid.TB, p fit.Problem) fit.Result {
	t.Helper()
	result, _ := counted(t, p)
	return result
}

// counted is a fit, with how often it evaluated the posterior.
func counted(t rapid.TB, p fit.Problem) (result fit.Result, evaluations int) {
	t.Helper()
	result = must.Get(fit.MAP(counting(context.Background(), &evaluations), p))(t)
	return result, evaluations
}

// counting counts evaluations of the posterior, each of which begins with a checkpoint.
func counting(ctx context.Context, evaluations *int) context.Context {
	return checkpoint.With(ctx, func(context.Context) error {
		*evaluations++
		return nil
	})
}

func TestTheResultIsAMode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lengthscales := rapid.SliceOfN(rapid.Float64Range(0.1, 2), 1, 3).Draw(t, "lengthscales")
		p := drawn(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 25).Draw(t, "n"), lengthscales, rapid.Float64Range(1e-3, 0.5).Draw(t, "λ"))
		p.Kernel = rapid.SampledFrom(kernel.Names).Draw(t, "kernel")
		p.Variance = rapid.SampledFrom([]float64{0, 1, 1.7}).Draw(t, "variance")
		if rapid.Bool().Draw(t, "told") {
			p.NoiseSD = make([]float64, len(p.Y))
			for i := range rapid.IntRange(1, len(p.Y)).Draw(t, "so many told") {
				p.NoiseSD[i] = 0.3
			}
		}
		if rapid.Bool().Draw(t, "all told") {
			p.NoiseSD = rapid.SliceOfN(rapid.Float64Range(0.05, 1), len(p.Y), len(p.Y)).Draw(t, "deviations")
		}
		p.FreeVariance = rapid.Bool().Draw(t, "free variance")
		got := mustFit(t, p)
		at := logPosterior(p, got.Lengthscales, got.Lambda, got.Variance, got.Told)
		if !(math.Abs(at-got.LogPosterior) <= 1e-8*(1+math.Abs(at))) {
			t.Fatalf("log posterior %.12g, by gonum %.12g", got.LogPosterior, at)
		}
		// No step of 10 % either way is better.
		for g := range lengthscales {
			for _, by := range []float64{0.9, 1.1} {
				other := slices.Clone(got.Lengthscales)
				other[g] *= by
				if other[g] < p.Median[g]/50 || other[g] > p.Median[g]*50 {
					continue
				}
				if better := logPosterior(p, other, got.Lambda, got.Variance, got.Told); better > at+1e-6 {
					t.Fatalf("lengthscales %v have %g, fitted %v %g", other, better, got.Lengthscales, at)
				}
			}
		}
		for _, by := range []float64{0.9, 1.1} {
			if lambda := got.Lambda * by; !allTold(p) && lambda >= fit.LeastNoise && lambda <= 10 { // the ends of the search
				if better := logPosterior(p, got.Lengthscales, lambda, got.Variance, got.Told); better > at+1e-6 {
					t.Fatalf("λ %g has %g, fitted %g %g", lambda, better, got.Lambda, at)
				}
			}
			if told := got.Told * by; scaled(p) && told >= 0.01 && told <= 100 {
				if better := logPosterior(p, got.Lengthscales, got.Lambda, got.Variance, told); better > at+1e-6 {
					t.Fatalf("a factor of what was told of %g has %g, fitted %g %g", told, better, got.Told, at)
				}
			}
		}
		for _, by := range []float64{0.9, 1.1} {
			if !p.FreeVariance || got.Variance*by < 0.01 || got.Variance*by > 100 {
				continue
			}
			if better := logPosterior(p, got.Lengthscales, got.Lambda, got.Variance*by, got.Told); better > at+1e-6 {
				t.Fatalf("σ² %g has %g, fitted %g %g", got.Variance*by, better, got.Variance, at)
			}
		}
	})
}

func TestRecoversWhatTheReadingsWereDrawnFrom(t *testing.T) {
	t.Parallel()
	got := mustFit(t, drawn(1, 300, []float64{0.2, 1}, 0.05))
	for i, want := range []float64{0.2, 1} {
		if r := got.Lengthscales[i] / want; r < 0.7 || r > 1.4 {
			t.Errorf("lengthscale %d is %.3g, want about %g", i, got.Lengthscales[i], want)
		}
	}
	if r := got.Lambda / 0.05; r < 0.7 || r > 1.4 {
		t.Errorf("λ is %.3g, want about 0.05", got.Lambda)
	}
}

func TestRecoversTheVariance(t *testing.T) {
	t.Parallel()
	p := drawn(1, 300, []float64{0.2, 1}, 0.05)
	for i := range p.Y {
		p.Y[i] *= 2
	}
	p.FreeVariance = true
	if got := mustFit(t, p); got.Variance < 2.5 || got.Variance > 6 || got.Lambda < 0.13 || got.Lambda > 0.3 {
		t.Errorf("σ² is %.3g and λ %.3g, want about 4 and 0.2", got.Variance, got.Lambda)
	}
}

func TestAnIrrelevantParameterGetsALongLengthscale(t *testing.T) {
	t.Parallel()
	p := drawn(2, 80, []float64{0.25, 50}, 0.01)
	if got := mustFit(t, p); !(got.Lengthscales[1] > 1 && got.Lengthscales[0] < 0.5) {
		t.Errorf("lengthscales %.3g; the second parameter does nothing", got.Lengthscales)
	}
}

func TestPureNoiseIsNoise(t *testing.T) {
	t.Parallel()
	p := drawn(3, 60, []float64{1}, 1)
	random := rand.New(rand.NewPCG(3, 3))
	for i := range p.Y {
		p.Y[i] = random.NormFloat64()
	}
	if got := mustFit(t, p); got.Lambda < 0.5 || got.Lambda > 1.5 {
		t.Errorf("λ = %.3g of readings that are noise of variance 1", got.Lambda)
	}
}

func TestNoiseStopsAtItsFloor(t *testing.T) {
	t.Parallel()
	p := drawn(4, 200, []float64{1}, 1e-4)
	for i, x := range p.Inputs {
		p.Y[i] = math.Sin(2 * x[0])
	}
	got, evaluations := counted(t, p)
	if got.Lambda != fit.LeastNoise {
		t.Errorf("λ = %g of readings without noise, want the floor %g", got.Lambda, fit.LeastNoise)
	}
	if evaluations > 60 {
		t.Errorf("%d evaluations; a search at the floor should not go on pushing against it", evaluations)
	}
}

func TestToldNoise(t *testing.T) {
	t.Parallel()
	p := drawn(5, 40, []float64{0.3}, 0.2)
	p.NoiseSD = slices.Repeat([]float64{math.Sqrt(0.2)}, 40)
	told := mustFit(t, p)
	if !(math.Abs(told.Lambda/0.05-1) < 1e-2) {
		t.Errorf("λ = %g when every reading told its own noise, want the prior median 0.05", told.Lambda)
	}
	if r := told.Lengthscales[0] / 0.3; r < 0.5 || r > 2 {
		t.Errorf("lengthscale %g, want about 0.3", told.Lengthscales[0])
	}
	if r := told.Told; r < 0.6 || r > 1.6 {
		t.Errorf("what was told is true, and its factor %g", r)
	}
	for _, times := range []float64{1. / 100, 1. / 30, 1. / 3, 3, 30} {
		for _, untold := range []int{0, 1, 10} {
			p.NoiseSD = slices.Concat(make([]float64, untold), slices.Repeat([]float64{times * math.Sqrt(0.2)}, 40-untold))
			wrong := mustFit(t, p)
			if r := wrong.Told * times * times / told.Told; r < 0.6 || r > 1.6 {
				t.Errorf("standard deviations told %g times theirs, but for %d readings: factor %g, of the true ones %g", times, untold, wrong.Told, told.Told)
			}
		}
	}
	known := p
	known.Known = slices.Repeat([]bool{true}, 40)
	if r := mustFit(t, known); r.Told != 0 {
		t.Errorf("noise that is known and not told has a factor %g", r.Told)
	}
	known.Known = append([]bool{true}, make([]bool, 39)...)
	known.NoiseSD = append([]float64{1e-4}, slices.Repeat([]float64{3 * math.Sqrt(0.2)}, 39)...)
	if r := mustFit(t, known).Told * 9 / told.Told; r < 0.6 || r > 1.6 {
		t.Errorf("beside a reading whose noise is known and small, the factor of deviations told threefold is %g times what it is", r)
	}
	exact := p
	exact.NoiseSD = append([]float64{1e-9}, slices.Repeat([]float64{3 * math.Sqrt(0.2)}, 39)...)
	if r := mustFit(t, exact).Told * 9 / told.Told; r < 0.6 || r > 1.6 {
		t.Errorf("beside a reading that is told to be exact, the factor of deviations told threefold is %g times what it is", r)
	}
	// Told noise below the floor counts as the floor. The readings are smooth but for noise of
	// about that size.
	random := rand.New(rand.NewPCG(5, 5))
	for i, x := range p.Inputs {
		p.Y[i] = math.Sin(5*x[0]) + math.Sqrt(fit.LeastNoise)*random.NormFloat64()
	}
	p.NoiseSD = slices.Repeat([]float64{1e-12}, 40)
	tiny := mustFit(t, p)
	p.NoiseSD = slices.Repeat([]float64{math.Sqrt(fit.LeastNoise)}, 40)
	floor := mustFit(t, p)
	if tiny.Lengthscales[0] != floor.Lengthscales[0] || tiny.Lengthscales[0] == told.Lengthscales[0] {
		t.Errorf("lengthscales %g with tiny noise, %g with noise at the floor, %g before", tiny.Lengthscales[0], floor.Lengthscales[0], told.Lengthscales[0])
	}
}

func TestWhatIsFixedStays(t *testing.T) {
	t.Parallel()
	p := drawn(6, 30, []float64{0.4, 0.4}, 0.1)
	p.Start = fit.Hyperparameters{Lengthscales: []float64{0.123, 4.56}, Lambda: 1.0 / 3}
	p.FreeLengthscales = false
	got := mustFit(t, p)
	if !slices.Equal(got.Lengthscales, p.Start.Lengthscales) || got.Lambda == p.Start.Lambda {
		t.Errorf("lengthscales fixed at %v came back as %v with λ %g", p.Start.Lengthscales, got.Lengthscales, got.Lambda)
	}
	p.FreeLengthscales, p.FreeNoise = true, false
	got = mustFit(t, p)
	if got.Lambda != p.Start.Lambda || got.Lengthscales[0] == 0.123 {
		t.Errorf("λ fixed at %v came back as %v with lengthscales %v", p.Start.Lambda, got.Lambda, got.Lengthscales)
	}
	p.FreeLengthscales = false
	got, evaluations := counted(t, p)
	if got.Lambda != p.Start.Lambda || !slices.Equal(got.Lengthscales, p.Start.Lengthscales) || got.Variance != 1 || evaluations != 1 {
		t.Errorf("nothing to fit gave %+v", got)
	}
	p.Variance, p.FreeVariance = 3, true
	got = mustFit(t, p)
	if got.Lambda != p.Start.Lambda || !slices.Equal(got.Lengthscales, p.Start.Lengthscales) || got.Variance == 3 {
		t.Errorf("only the variance to fit gave %+v", got)
	}
}

func TestSameProblemSameBits(t *testing.T) {
	t.Parallel()
	p := drawn(7, 60, []float64{0.3, 0.3}, 0.05)
	a, b := mustFit(t, p), mustFit(t, p)
	if !slices.Equal(a.Lengthscales, b.Lengthscales) || a.Lambda != b.Lambda || a.LogPosterior != b.LogPosterior {
		t.Errorf("%+v, then %+v", a, b)
	}
}

func TestAWarmStartIsUsed(t *testing.T) {
	t.Parallel()
	p := drawn(8, 60, []float64{0.3, 0.3}, 0.05)
	cold, fromNothing := counted(t, p)
	p.Start = fit.Hyperparameters{Lengthscales: cold.Lengthscales, Lambda: cold.Lambda, Variance: cold.Variance}
	warm, fromThere := counted(t, p)
	if fromThere != fromNothing+1 || warm.LogPosterior < cold.LogPosterior {
		t.Errorf("from the mode itself %+v, from nothing %+v", warm, cold)
	}
}

// patience is a context that ends after a number of looks at it.
type patience struct {
	context.Context
	left *atomic.Int64
}

func (p patience) Err() error {
	if p.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestTheContextEndsTheFit: it is made whole or not at all.
func TestTheContextEndsTheFit(t *testing.T) {
	t.Parallel()
	p := drawn(9, 40, []float64{0.3, 0.3}, 0.05)
	full := mustFit(t, p)
	finished := 0
	for looks := range 200 {
		var left atomic.Int64
		left.Store(int64(looks))
		got, err := fit.MAP(patience{context.Background(), &left}, p)
		switch {
		case err == nil:
			finished++
			if got.LogPosterior != full.LogPosterior {
				t.Fatalf("after %d looks %+v, in full %+v", looks, got, full)
			}
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("after %d looks: %v", looks, err)
		case finished > 0:
			t.Fatalf("after %d looks the fit is lost: %v", looks, err)
		}
	}
	if finished == 0 || finished == 200 {
		t.Errorf("%d of 200 fits were finished", finished)
	}
}

func TestManyReadings(t *testing.T) {
	t.Parallel()
	p := drawn(10, 650, []float64{0.2}, 0.05)
	got := mustFit(t, p)
	if r := got.Lengthscales[0] / 0.2; r < 0.5 || r > 2 {
		t.Errorf("lengthscale %.3g, want about 0.2", got.Lengthscales[0])
	}
	// A wild latest reading must be seen.
	p.Y[649] += 30
	if other := mustFit(t, p); other.LogPosterior > got.LogPosterior-10 {
		t.Errorf("log posterior %g with a wild latest reading, %g without", other.LogPosterior, got.LogPosterior)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(p *fit.Problem){
		"reading 3 is not finite": func(p *fit.Problem) { p.Y[2] = math.NaN() },
		"deviation 1 is -1":       func(p *fit.Problem) { p.NoiseSD = []float64{-1, 0, 0} },
	} {
		p := drawn(11, 3, []float64{0.3}, 0.1)
		spoil(&p)
		if _, err := fit.MAP(context.Background(), p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}
