package probit

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/kernel"
)

func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// chance is P(yes) where h has this mean and variance.
func chance(mean, variance float64) float64 { return normal(mean / math.Sqrt(1+variance)) }

func fitted(t testing.TB, lengthscale, variance, m float64, inputs [][]float64, yes []bool) (*Model, *kernel.Function) {
	t.Helper()
	k := must.Get(kernel.New("matern52", []float64{lengthscale}, variance))(t)
	model := must.Get(Fit(context.Background(), k, inputs, yes, m))(t)
	return model, k
}

func (model *Model) at(t testing.TB, x ...float64) (means, variances []float64) {
	t.Helper()
	X := kernel.NewInputs(1)
	for _, v := range x {
		X.Append([]float64{v})
	}
	means, variances = must.Get2(model.Predict(context.Background(), X))(t)
	return means, variances
}

// TestOneOutcome compares with the exact posterior of one outcome: its evidence is Φ(y m/√(1 +
// σ²)), its predictions follow by integrating over h.
func TestOneOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		variance, m, yes := rapid.Float64Range(0.1, 4).Draw(rt, "variance"), rapid.Float64Range(-2, 2).Draw(rt, "m"), rapid.Bool().Draw(rt, "yes")
		correlated := rapid.Float64Range(0, 2).Draw(rt, "x")
		model, k := fitted(t, 1, variance, m, [][]float64{{0}}, []bool{yes})
		row := make([]float64, 1)
		k.Row(row, []float64{correlated}, kernel.InputsOf([][]float64{{0}}))
		sd, evidence, both := math.Sqrt(variance), 0.0, 0.0
		const step = 0.01
		for z := -9.0; z <= 9; z += step {
			weight := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * step * normal(signed(m+sd*z, yes))
			evidence += weight
			both += weight * chance(m+row[0]/variance*sd*z, variance-row[0]*row[0]/variance)
		}
		if exact := normal(signed(m, yes) / math.Sqrt(1+variance)); math.Abs(evidence-exact) > 1e-6 {
			rt.Fatalf("integrated %g, exact %g", evidence, exact)
		}
		if got := math.Exp(model.Evidence()); math.Abs(got-evidence) > 0.1*evidence {
			rt.Errorf("evidence %g, want %g", got, evidence)
		}
		means, variances := model.at(t, correlated)
		if got, want := chance(means[0], variances[0]), both/evidence; math.Abs(got-want) > 0.06 {
			rt.Errorf("chance %g, want %g", got, want)
		}
	})
}

// TestTheModeIsOne checks the condition that the mode meets, ĥ − m = K ∇ Σ ln Φ(y ĥ), for outcomes
// that agree and that contradict each other.
func TestTheModeIsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(rt, "n")
		var x []float64
		var inputs [][]float64
		var yes []bool
		for i := range n {
			x = append(x, float64(rapid.IntRange(0, 20).Draw(rt, "x"))/20)
			inputs, yes = append(inputs, x[i:]), append(yes, rapid.Bool().Draw(rt, "yes"))
			inputs[i] = inputs[i][:1]
		}
		m := rapid.Float64Range(-8, 8).Draw(rt, "m")
		model, k := fitted(t, rapid.Float64Range(0.05, 3).Draw(rt, "lengthscale"), rapid.Float64Range(0.1, 64).Draw(rt, "variance"), m, inputs, yes)
		means, _ := model.at(t, x...)
		slopes, row := make([]float64, n), make([]float64, n)
		for i, h := range means {
			u := signed(h, yes[i])
			slopes[i] = signed(math.Exp(-u*u/2)/math.Sqrt(2*math.Pi)/normal(u), yes[i])
		}
		for i := range x {
			want := m
			k.Row(row, inputs[i], kernel.InputsOf(inputs))
			for j := range row {
				want += row[j] * slopes[j]
			}
			if math.Abs(means[i]-want) > 1e-4*(1+math.Abs(want)) {
				rt.Fatalf("h = %g at point %d of %d, want %g", means[i], i+1, n, want)
			}
		}
	})
}

// TestOutcomesTeach: the chance rises where it worked, falls where it failed, less far away;
// exchanging yes and no mirrors it.
func TestOutcomesTeach(t *testing.T) {
	t.Parallel()
	inputs, yes := [][]float64{{0.2}, {0.8}}, []bool{true, false}
	model, _ := fitted(t, 0.2, 4, 0.5, inputs, yes)
	mirrored, _ := fitted(t, 0.2, 4, -0.5, inputs, []bool{false, true})
	prior := chance(0.5, 4)
	means, variances := model.at(t, 0.2, 0.3, 0.7, 0.8, 50)
	others, _ := mirrored.at(t, 0.2, 0.3, 0.7, 0.8, 50)
	var p []float64
	for i, mean := range means {
		p = append(p, chance(mean, variances[i]))
		if math.Abs(mean+others[i]) > 1e-12 {
			t.Errorf("%d: %g mirrors %g", i, others[i], mean)
		}
	}
	if !(p[0] > p[1] && p[1] > prior && prior > p[2] && p[2] > p[3]) || math.Abs(p[4]-prior) > 1e-9 {
		t.Errorf("chances %v, far away %g", p, prior)
	}
}

// TestGradients compares with differences.
func TestGradients(t *testing.T) {
	t.Parallel()
	model, _ := fitted(t, 0.3, 4, 1, [][]float64{{0.1}, {0.3}, {0.35}, {0.9}}, []bool{true, true, false, false})
	const step = 1e-5
	for _, x := range []float64{0, 0.2, 0.33, 0.6, 1} {
		means, variances := must.Get2(model.Gradients(context.Background(), kernel.InputsOf([][]float64{{x}})))(t)
		m, v := model.at(t, x-step, x+step)
		for what, pair := range map[string][2]float64{"mean": {means[0][0], (m[1] - m[0]) / (2 * step)}, "variance": {variances[0][0], (v[1] - v[0]) / (2 * step)}} {
			if math.Abs(pair[0]-pair[1]) > 1e-5*(1+math.Abs(pair[1])) {
				t.Errorf("%s at %g: slope %g, by differences %g", what, x, pair[0], pair[1])
			}
		}
	}
}
