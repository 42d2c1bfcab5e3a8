package probit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
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
// σ²)), the mean and variance of h follow by integrating over it.
func TestOneOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		variance, m, yes := rapid.Float64Range(0.1, 4).Draw(rt, "variance"), rapid.Float64Range(-2, 2).Draw(rt, "m"), rapid.Bool().Draw(rt, "yes")
		correlated := rapid.Float64Range(0, 2).Draw(rt, "x")
		model, k := fitted(t, 1, variance, m, [][]float64{{0}}, []bool{yes})
		row := make([]float64, 1)
		k.Row(row, []float64{correlated}, kernel.InputsOf([][]float64{{0}}))
		sd, evidence, sum, squares := math.Sqrt(variance), 0.0, 0.0, 0.0
		const step = 0.01
		for z := -9.0; z <= 9; z += step {
			weight := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * step * normal(signed(m+sd*z, yes))
			evidence += weight
			at := m + row[0]/variance*sd*z
			sum += weight * at
			squares += weight * (at*at + variance - row[0]*row[0]/variance)
		}
		if exact := normal(signed(m, yes) / math.Sqrt(1+variance)); math.Abs(evidence-exact) > 1e-6 {
			rt.Fatalf("integrated %g, exact %g", evidence, exact)
		}
		if got := math.Exp(model.Evidence()); math.Abs(got-evidence) > 1e-5*evidence {
			rt.Errorf("evidence %g, want %g", got, evidence)
		}
		means, variances := model.at(t, correlated)
		mean := sum / evidence
		if want := squares/evidence - mean*mean; math.Abs(means[0]-mean) > 1e-4 || math.Abs(variances[0]-want) > 1e-4 {
			rt.Errorf("mean %g, variance %g, want %g and %g", means[0], variances[0], mean, want)
		}
	})
}

// TestTwoOutcomes compares with the exact evidence, mean and variance of two outcomes, by integrating
// over h at both, also where h is as large as where trials begin to fail.
func TestTwoOutcomes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		variance := math.Exp(rapid.Float64Range(0, math.Log(256)).Draw(rt, "ln variance"))
		m, yes := math.Sqrt(variance)*rapid.Float64Range(-1, 1).Draw(rt, "m"), []bool{rapid.Bool().Draw(rt, "yes"), rapid.Bool().Draw(rt, "yes")}
		inputs := [][]float64{{0}, {rapid.Float64Range(0.1, 2).Draw(rt, "x")}, {rapid.Float64Range(0, 2).Draw(rt, "at")}}
		model, k := fitted(t, 1, variance, m, inputs[:2], yes)
		var rows [3][3]float64
		for i := range rows {
			k.Row(rows[i][:], inputs[i], kernel.InputsOf(inputs))
		}
		sd := math.Sqrt(variance) // h = m + L z
		along := rows[0][1] / sd
		across := math.Sqrt(variance - along*along)
		a := rows[2][0] / sd
		b := (rows[2][1] - a*along) / across
		evidence, sum, squares := 0.0, 0.0, 0.0
		const step = 0.06
		for z := -6.0; z <= 6; z += step {
			first := normal(signed(m+sd*z, yes[0])) * math.Exp(-z*z/2)
			for w := -6.0; w <= 6; w += step {
				weight := first * math.Exp(-w*w/2) / (2 * math.Pi) * step * step * normal(signed(m+along*z+across*w, yes[1]))
				evidence += weight
				at := m + a*z + b*w
				sum += weight * at
				squares += weight * (at*at + variance - a*a - b*b)
			}
		}
		if got := math.Exp(model.Evidence()); math.Abs(got-evidence) > 0.1*evidence {
			rt.Errorf("evidence %g, want %g", got, evidence)
		}
		means, variances := model.at(t, inputs[2][0])
		mean := sum / evidence
		if want := squares/evidence - mean*mean; math.Abs(means[0]-mean) > 0.15*math.Sqrt(want) || math.Abs(variances[0]-want) > 0.35*want {
			rt.Errorf("mean %g, variance %g, want %g and %g", means[0], variances[0], mean, want)
		}
	})
}

// TestSweepsSettle: where all trials failed, near each other for a kernel that is so smooth, sweeps
// come to the same end as far slower ones, and do not go to and fro until none is left.
func TestSweepsSettle(t *testing.T) {
	t.Parallel()
	ctx, random := context.Background(), rand.New(rand.NewPCG(1, 3))
	inputs := lists.Of(60, func(int) []float64 { return []float64{random.Float64(), random.Float64()} })
	k, X, prior := must.Get(kernel.New("matern52", []float64{2, 2}, 16))(t), kernel.InputsOf(inputs), -7.3
	model := must.Get(Fit(ctx, k, inputs, make([]bool, len(inputs)), prior))(t)
	means, _ := must.Get2(model.Predict(ctx, X))(t)

	slow, all := &Model{mean: prior}, slices.Repeat([]site{{precision: leastPrecision}}, len(inputs))
	var settledMeans []float64
	for range 400 {
		must.Do(t, slow.regress(ctx, k, inputs, all))
		at, variances := must.Get2(slow.Predict(ctx, X))(t)
		for i, s := range all {
			next, _ := s.next(at[i], variances[i], false)
			all[i].precision += 0.1 * (next.precision - s.precision)
			all[i].pull += 0.1 * (next.pull - s.pull)
		}
		settledMeans = at
	}
	for i, mean := range means {
		if math.Abs(mean-settledMeans[i]) > 1e-3 {
			t.Errorf("the mean at outcome %d is %g, slowly %g", i, mean, settledMeans[i])
		}
	}
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
