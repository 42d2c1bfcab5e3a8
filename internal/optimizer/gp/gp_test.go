package gp_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// scene is a random regression problem: n points, some of them repeated, with their own noise
// variances, and readings.
type scene struct {
	kernel  *kernel.Function
	points  [][]float64
	lambdas []float64
	y       []float64
}

func drawScene(t *rapid.T, least float64) scene {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(0, 40).Draw(t, "n")
	name := rapid.SampledFrom(kernel.Names).Draw(t, "kernel")
	k := must.Get(kernel.New(name, []float64{0.3, 0.6}, 1.5))(t)
	s := scene{kernel: k}
	for i := range n {
		x := []float64{random.Float64(), random.Float64()}
		if i > 0 && random.IntN(4) == 0 {
			x = s.points[random.IntN(i)]
		}
		s.points = append(s.points, x)
		s.lambdas = append(s.lambdas, least*math.Pow(10, 2*random.Float64()))
		s.y = append(s.y, random.NormFloat64())
	}
	return s
}

// tester is a test, a benchmark or a property under test.
type tester interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

func predictMany(t tester, d *gp.Data, X *kernel.Inputs, zs [][]float64) ([][]float64, []float64) {
	t.Helper()
	means, variances := must.Get2(d.PredictMany(t.Context(), X, zs))(t)
	return means, variances
}

func meanMany(t tester, d *gp.Data, X *kernel.Inputs, zs [][]float64) [][]float64 {
	t.Helper()
	means := must.Get(d.MeanMany(t.Context(), X, weightsOf(t, d, zs)))(t)
	return means
}

func weightsOf(t tester, d *gp.Data, zs [][]float64) [][]float64 {
	t.Helper()
	weights := must.Get(d.Weights(t.Context(), zs))(t)
	return weights
}

func covarianceOf(t tester, d *gp.Data, X *kernel.Inputs) [][]float64 {
	t.Helper()
	covariance := must.Get(d.Covariance(t.Context(), X))(t)
	return covariance
}

func (s scene) data(t tester) *gp.Data {
	t.Helper()
	d := gp.NewData(s.kernel)
	must.Do(t, d.AppendAll(t.Context(), s.points, s.lambdas, nil))
	return d
}

// places are 150 points, among them those of the scene.
func (s scene) places() *kernel.Inputs {
	random := rand.New(rand.NewPCG(5, 6))
	X := kernel.NewInputs(2)
	for _, x := range s.points {
		X.Append(x)
	}
	for X.Len() < 150 {
		X.Append([]float64{1.4*random.Float64() - 0.2, random.Float64()})
	}
	return X
}

func near(t rapid.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Fatalf("%s[%d] = %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}

func TestPredictManyIsPredict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d, X := s.data(t), s.places()
		z := d.Whiten(nil, s.y)
		short := z[:rapid.IntRange(0, len(z)).Draw(t, "told")] // the others are pending
		means, variances := predictMany(t, d, X, [][]float64{z, short})
		alone := meanMany(t, d, X, [][]float64{z, short})
		for i := range X.Len() {
			mean, variance := d.Predict(X.Row(i), z, short)
			if mean[0] != means[0][i] || mean[1] != means[1][i] || variance != variances[i] {
				t.Fatalf("point %d: %v, %v alone, %v %v, %v among many", i, mean, variance, means[0][i], means[1][i], variances[i])
			}
		}
		near(t, "mean from weights", alone[0], means[0], 1e-9)
		// Pending points leave the mean alone.
		want, _ := predictMany(t, d.Prefix(len(short)), X, [][]float64{short})
		near(t, "mean with pending points", means[1], want[0], 0)
		near(t, "mean from weights with pending points", alone[1], want[0], 1e-9)
	})
}

// TestOwnMeansArePredictMany, with all readings and with some missing at the end, to rounding.
func TestOwnMeansArePredictMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d := s.data(t)
		z := d.Whiten(nil, s.y)
		zs := [][]float64{z, z[:rapid.IntRange(0, d.Len()).Draw(t, "told")]}
		means, _ := predictMany(t, d, d.Inputs(), zs)
		ownMeans := must.Get(d.OwnMeans(t.Context(), zs, weightsOf(t, d, zs)))(t)
		near(t, "means at its own points", ownMeans[0], means[0], 1e-9)
		near(t, "means without the last readings", ownMeans[1], means[1], 1e-9)
	})
}

// TestManyPointsNeedLittleBesideTheirFactor: what thousands of points take in memory is their
// factor, not twice as much.
func TestManyPointsNeedLittleBesideTheirFactor(t *testing.T) {
	const n = 2000
	k := must.Get(kernel.New("matern52", []float64{0.3, 0.3}, 1))(t)
	xs, lambdas := make([][]float64, n), make([]float64, n)
	for i := range xs {
		xs[i], lambdas[i] = []float64{math.Mod(float64(i)*0.7548, 1), math.Mod(float64(i)*0.5698, 1)}, 0.1
	}
	inUse := func() int64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return int64(now.HeapAlloc)
	}
	d, before, most := gp.NewData(k), inUse(), int64(0)
	watched := checkpoint.With(t.Context(), func(context.Context) error {
		most = max(most, inUse()-before)
		return nil
	})
	must.Do(t, d.AppendAll(watched, xs, lambdas, nil))
	if factor := int64(4 * n * n); most > factor*3/2 || most < factor/2 {
		t.Errorf("up to %d bytes were in use for a factor of %d", most, factor)
	}
}

// TestInclineIsPredictManyWithItsGradients compares with PredictMany to the bit, and gradients with
// finite differences.
func TestInclineIsPredictManyWithItsGradients(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		d, X := s.data(t), s.places()
		if d.Len() == 0 || !d.Kernel().Stationary() || X.Len() == 0 {
			return
		}
		zs := [][]float64{d.Whiten(nil, s.y), d.Solve(X.Row(0))}
		inclined, gradients := gp.NewPredictions(2, X.Len(), d.Len()), gp.NewGradients(X.Len())
		must.Do(t, d.PredictInto(t.Context(), inclined, X, zs))
		must.Do(t, d.GradientsInto(t.Context(), gradients, X, inclined, weightsOf(t, d, zs)))
		means, variances := predictMany(t, d, X, zs)
		if !slices.Equal(inclined.Means[0], means[0]) || !slices.Equal(inclined.Means[1], means[1]) || !slices.Equal(inclined.Variances, variances) {
			t.Fatal("the posterior is not that of PredictMany")
		}
		for i := range X.Len() {
			if slices.ContainsFunc(s.points, func(x []float64) bool { return math.Hypot(x[0]-X.Row(i)[0], x[1]-X.Row(i)[1]) < 0.01 }) {
				continue // matern12 has kinks at the data
			}
			for c := range 2 {
				const step = 1e-5
				around := kernel.NewInputs(2)
				for _, by := range []float64{step, -step} {
					x := slices.Clone(X.Row(i))
					x[c] += by
					around.Append(x)
				}
				m, v := predictMany(t, d, around, zs)
				got := []float64{gradients.Means[i][0][c], gradients.Means[i][1][c], gradients.Variances[i][c]}
				want := []float64{(m[0][0] - m[0][1]) / (2 * step), (m[1][0] - m[1][1]) / (2 * step), (v[0] - v[1]) / (2 * step)}
				for k := range got {
					if math.Abs(got[k]-want[k]) > 1e-3*(1+math.Abs(want[k])) {
						t.Fatalf("gradient %d by coordinate %d is %g, by differences %g", k, c, got[k], want[k])
					}
				}
			}
		}
	})
}

func TestVariancesNeverRiseAndAreNeverNegative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, rapid.SampledFrom([]float64{1.5e-10, 1e-4, 1}).Draw(t, "λ"))
		d, X := s.data(t), s.places()
		_, before := predictMany(t, d.Prefix(0), X, nil)
		for n := 1; n <= d.Len(); n++ {
			_, after := predictMany(t, d.Prefix(n), X, nil)
			for i := range after {
				if !(after[i] >= 0 && after[i] <= before[i]) {
					t.Fatalf("point %d has variance %g after %d points, %g before", i, after[i], n, before[i])
				}
			}
			if ahead := d.AheadVariance(n - 1); !(ahead >= 0 && ahead <= s.kernel.Diagonal(s.points[n-1])) {
				t.Fatalf("point %d is predicted with variance %g", n, ahead)
			}
			before = after
		}
	})
}

func TestAppendingGivesTheBitsOfFromNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		whole, grown := s.data(t), gp.NewData(s.kernel)
		var z []float64
		for i, x := range s.points {
			must.Do(t, grown.Append(x, s.lambdas[i]))
			z = grown.Whiten(z, s.y[:i+1])
		}
		near(t, "z", z, whole.Whiten(nil, s.y), 0)
		for i := range s.points {
			near(t, "row of L", grown.Factor().Row(i), whole.Factor().Row(i), 0)
			if grown.Gain(i+1) != whole.Gain(i+1) || whole.Prefix(i+1).Gain(i+1) != whole.Gain(i+1) {
				t.Fatalf("gain of %d: %v grown, %v whole", i+1, grown.Gain(i+1), whole.Gain(i+1))
			}
		}
	})
}

func TestAheadIsThePosteriorOfThePrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		d := s.data(t)
		z := d.Whiten(nil, s.y)
		told := rapid.IntRange(0, len(z)).Draw(t, "told")
		for i, x := range s.points {
			mean, variance := d.Prefix(i).Predict(x, z[:i], z[:min(i, told)])
			near(t, "ahead", []float64{d.AheadMean(i, z), d.AheadMean(i, z[:told]), d.AheadVariance(i)}, append(mean, variance), 0)
		}
	})
}

func TestBranchesOfAPrefixGoTheirOwnWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		m := rapid.IntRange(0, len(s.points)).Draw(t, "m")
		turned := scene{s.kernel, slices.Clone(s.points), slices.Clone(s.lambdas), s.y}
		slices.Reverse(turned.points[m:])
		slices.Reverse(turned.lambdas[m:])
		trunk := gp.NewData(s.kernel)
		for i, x := range s.points {
			must.Do(t, trunk.Append(x, s.lambdas[i]))
		}
		branch := trunk.Prefix(m)
		for i := m; i < len(s.points); i++ {
			must.Do(t, branch.Append(turned.points[i], turned.lambdas[i]))
		}
		for _, c := range []struct {
			got  *gp.Data
			want scene
		}{{trunk, s}, {branch, turned}} {
			whole := c.want.data(t)
			for i, x := range c.want.points {
				near(t, "point", c.got.Inputs().Row(i), x, 0)
				near(t, "noise, gain", []float64{c.got.Noise(i), c.got.Gain(i + 1)}, []float64{c.want.lambdas[i], whole.Gain(i + 1)}, 0)
				near(t, "row of L", c.got.Factor().Row(i), whole.Factor().Row(i), 0)
			}
		}
	})
}

// TestVariancesWithoutNoise looks where rounding alone decides the sign: at points whose readings
// have next to no noise.
func TestVariancesWithoutNoise(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		k := must.Get(kernel.New("matern12", []float64{0.7}, 1.3))(t)
		d, X := gp.NewData(k), kernel.NewInputs(1)
		for range 6 {
			X.Append([]float64{random.Float64()})
		}
		arms := must.Get(gp.NewArms(t.Context(), k, X, 1))(t)
		for i := range X.Len() {
			must.Do(t, d.Append(X.Row(i), 1e-17))
			must.Do(t, arms.Update(t.Context(), i, nil, 1e-17))
		}
		_, variances := predictMany(t, d, X, nil)
		covariance := covarianceOf(t, d, X)
		for i := range X.Len() {
			for what, v := range map[string]float64{"predicted": variances[i], "joint": covariance[i][i], "of the arm": arms.Variances()[i]} {
				if !(v >= 0 && v < 1e-12) {
					t.Fatalf("seed %d: the variance %s at point %d is %g", seed, what, i, v)
				}
			}
		}
	}
}

func TestDropFirstForgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		d := s.data(t)
		kept, drop := d.Prefix(d.Len()), rapid.IntRange(0, d.Len()).Draw(t, "drop")
		for range drop {
			d.DropFirst()
		}
		rest := scene{s.kernel, s.points[drop:], s.lambdas[drop:], s.y[drop:]}
		want, X := rest.data(t), s.places()
		gotMean, gotVariance := predictMany(t, d, X, [][]float64{d.Whiten(nil, rest.y)})
		wantMean, wantVariance := predictMany(t, want, X, [][]float64{want.Whiten(nil, rest.y)})
		near(t, "mean", gotMean[0], wantMean[0], 1e-9)
		near(t, "variance", gotVariance, wantVariance, 1e-9)
		near(t, "gain", []float64{d.Gain(d.Len())}, []float64{want.Gain(want.Len())}, 1e-9)
		near(t, "the prefix taken before", kept.Whiten(nil, s.y), s.data(t).Whiten(nil, s.y), 0)
	})
}

func TestPendingPointsShrinkOnlyTheVariance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d, X := s.data(t), s.places()
		told := rapid.IntRange(0, d.Len()).Draw(t, "told")
		z := d.Whiten(nil, s.y[:told])
		means, variances := predictMany(t, d, X, [][]float64{z})
		toldMeans, toldVariances := predictMany(t, d.Prefix(told), X, [][]float64{z})
		near(t, "mean", means[0], toldMeans[0], 0)
		for i := range variances {
			if variances[i] > toldVariances[i] {
				t.Fatalf("pending points raise the variance at %d from %g to %g", i, toldVariances[i], variances[i])
			}
		}
	})
}

func TestCovarianceIsJoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		d, X := s.data(t), s.places()
		covariance := covarianceOf(t, d, X)
		_, variances := predictMany(t, d, X, nil)
		// Conditioning on one more point moves variances by its covariance: σ²_c − cov(c, i)²/(σ²_i
		// + λ).
		i := rapid.IntRange(0, X.Len()-1).Draw(t, "i")
		const lambda = 0.1
		more := d.Prefix(d.Len())
		must.Do(t, more.Append(X.Row(i), lambda))
		_, after := predictMany(t, more, X, nil)
		for c := range X.Len() {
			if covariance[c][c] != variances[c] {
				t.Fatalf("entry (%d, %d) is %v with variance %v", c, c, covariance[c][c], variances[c])
			}
			shared := covariance[max(c, i)][min(c, i)]
			want := variances[c] - shared*shared/(covariance[i][i]+lambda)
			near(t, "variance after one more", after[c:c+1], []float64{want}, 1e-10)
		}
	})
}

func TestArmsAreThePosteriorOverArms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-2)
		X := s.places().Prefix(30)
		d := gp.NewData(s.kernel)
		arms := must.Get(gp.NewArms(t.Context(), s.kernel, X, 2))(t)
		// More readings than are taken off the matrix at once.
		s.points = slices.Repeat(s.points, 4)
		s.lambdas, s.y = slices.Repeat(s.lambdas, 4), slices.Repeat(s.y, 4)
		var y []float64
		for i := range s.points {
			arm := rapid.IntRange(0, X.Len()-1).Draw(t, "arm")
			must.Do(t, d.Append(X.Row(arm), s.lambdas[i]))
			before := arms.Clone()
			must.Do(t, arms.Update(t.Context(), arm, []float64{s.y[i], -2 * s.y[i]}, s.lambdas[i]))
			if before.Gain() >= arms.Gain() {
				t.Fatalf("gain %g, then %g", before.Gain(), arms.Gain())
			}
			near(t, "gain so far", []float64{before.Gain()}, []float64{d.Gain(i)}, 1e-9)
			for a := range X.Len() {
				if v := arms.Variances()[a]; !(v >= 0 && v <= before.Variances()[a]) {
					t.Fatalf("arm %d has variance %g, before %g", a, v, before.Variances()[a])
				}
			}
			y = append(y, s.y[i])
		}
		z := d.Whiten(nil, y)
		means, _ := predictMany(t, d, X, [][]float64{z})
		near(t, "mean", arms.Means()[0], means[0], 1e-9)
		for a, m := range arms.Means()[1] {
			near(t, "other mean", []float64{m}, []float64{-2 * means[0][a]}, 1e-9)
		}
		covariance := must.Get(arms.Covariance(t.Context()))(t)
		for a, row := range covarianceOf(t, d, X) {
			near(t, "covariance", covariance[a][:a+1], row[:a+1], 1e-9)
			near(t, "covariances", arms.Covariances(a)[:a+1], row[:a+1], 1e-9)
		}
		near(t, "gain", []float64{arms.Gain()}, []float64{d.Gain(d.Len())}, 1e-9)
	})
}

func TestOnePointInClosedForm(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.New("se", []float64{0.5}, 2))(t)
	d := gp.NewData(k)
	must.Do(t, d.Append([]float64{0.3}, 0.25))
	c := 2 * math.Exp(-0.5*math.Pow(0.4/0.5, 2))
	means, variance := d.Predict([]float64{0.7}, d.Whiten(nil, []float64{1.5}))
	near(t, "mean", means, []float64{c * 1.5 / 2.25}, 1e-14)
	near(t, "variance", []float64{variance}, []float64{2 - c*c/2.25}, 1e-14)
	near(t, "gain", []float64{d.Gain(1)}, []float64{0.5 * math.Log(1+2/0.25)}, 1e-14)
}

func TestRepeatedPointsWithTinyNoise(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.New("matern52", []float64{0.5}, 1))(t)
	d := gp.NewData(k)
	var y []float64
	for i := range 300 {
		must.Do(t, d.Append([]float64{float64(i % 3)}, 1e-10))
		y = append(y, float64(i%3)+1e-6*float64(i/3-50))
	}
	means, variance := d.Predict([]float64{1}, d.Whiten(nil, y))
	near(t, "mean", means, []float64{1 - 0.5e-6}, 1e-8)
	near(t, "variance", []float64{variance}, []float64{1e-12}, 1e-12)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.NewCovariance([][]float64{{1, 1}, {1, 1}}, 1))(t)
	d := gp.NewData(k)
	must.Do(t, d.Append([]float64{0}, 1e-3))
	for _, c := range []struct {
		x      []float64
		lambda float64
		says   string
	}{
		{[]float64{2}, 1, "point 2: there is no arm 2"},
		{[]float64{0.5}, 1, "point 2: there is no arm 0.5"},
		{[]float64{0, 1}, 1, "point 2: it has 2 coordinates"},
		{[]float64{math.NaN()}, 1, "point 2: coordinate 1 is NaN"},
		{[]float64{1}, 0, "point 2: its noise variance is 0"},
		{[]float64{1}, math.Inf(1), "point 2: its noise variance is +Inf"},
	} {
		if err := d.Append(c.x, c.lambda); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Append(%v, %g): error %v, want one that says %q", c.x, c.lambda, err, c.says)
		}
	}
	// Arms 0 and 1 are the same: without noise worth the name the matrix is singular.
	if err := d.AppendAll(t.Context(), [][]float64{{0}, {1}, {0}}, []float64{1e-20, 1e-20, 1e-20}, nil); err == nil || !strings.Contains(err.Error(), "larger noise variance") {
		t.Errorf("a singular matrix: error %v", err)
	}
	if d.Len() != 1 || d.Factor().Len() != 1 {
		t.Errorf("%d points and %d rows after refusals, want 1", d.Len(), d.Factor().Len())
	}
	arms := must.Get(gp.NewArms(t.Context(), k, kernel.InputsOf([][]float64{{0}, {1}}), 1))(t)
	for _, err := range []error{arms.Update(t.Context(), 2, nil, 1), arms.Update(t.Context(), 0, []float64{1, 2}, 1), arms.Update(t.Context(), 0, nil, 0)} {
		if err == nil {
			t.Error("an impossible reading of an arm was taken")
		}
	}
	if arms.Gain() != 0 {
		t.Errorf("gain %g after refusals", arms.Gain())
	}
}
