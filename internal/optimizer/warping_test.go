package optimizer

import (
	"math"
	"testing"

	"headroom/internal/optimizer/warp"
)

// TestASumIsNotWarped: costs of two dear choices among cheap ones look least like a normal sample
// as they are, and yet add up as they are.
func TestASumIsNotWarped(t *testing.T) {
	t.Parallel()
	prices := [2][]float64{{0.02, 0.05, 0.04, 0.9, 0.03, 0.7}, {0.01, 0.05, 0.03, 0.2}}
	price := func(a, b int) float64 { return prices[0][a] + prices[1][b] }
	sum, product := fittedCosts(t, "anova", price), fittedCosts(t, "mixed", price)
	if sum.Warp.Power != 1 || !(sum.Interaction < 0.05) {
		t.Errorf("a sum is warped by the power %g, with interaction %.3g", sum.Warp.Power, sum.Interaction)
	}
	var z []float64
	for _, r := range twentyRounds(price) {
		z = append(z, (r.Readings[0].Value-product.Centre)/product.Scale)
	}
	if want := warp.Fit(z, -product.Centre/product.Scale); product.Warp != want || want.Power == 1 || product.Interaction != 0 {
		t.Errorf("under a kernel without interaction (%g) the warp is %+v; most like a normal sample are the readings with %+v", product.Interaction, product.Warp, want)
	}
}

// TestWhatMultipliesIsALogarithm: factors that multiply add up as logarithms, under any kernel.
func TestWhatMultipliesIsALogarithm(t *testing.T) {
	t.Parallel()
	factors := [2][]float64{{1, 2, 4, 30, 3, 12}, {1, 3, 10, 5}}
	price := func(a, b int) float64 { return factors[0][a] * factors[1][b] }
	for _, kernel := range []string{"anova", "mixed"} {
		if f := fittedCosts(t, kernel, price); !f.Warp.Logarithmic() {
			t.Errorf("under the kernel %s a product is warped by %+v", kernel, f.Warp)
		}
	}
	// Below zero there is no logarithm, and a square root is the farthest that chance is told from.
	below := func(a, b int) float64 { return price(a, b) - 2 }
	if f := fittedCosts(t, "anova", below); !(f.Warp.Power < 0.5) || f.Warp.Logarithmic() {
		t.Errorf("a product less 2 is warped by %+v", f.Warp)
	}
	if f := fittedCosts(t, "mixed", below); f.Warp.Power != 0.5 {
		t.Errorf("under a kernel without interaction a product less 2 is warped by %+v", f.Warp)
	}
}

// TestToldNoiseOfALogarithm: a deviation told that is small beside its reading is one of the logarithm,
// too; one that is half of it is not, and the readings are left as told.
func TestToldNoiseOfALogarithm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sd   float64
		want bool
	}{{0.05, true}, {0.5, false}} {
		cfg := plain(t, 1, 0, adaptive, `{}`)
		cfg.Metrics[0].Warp = true
		h := played(cfg, 12, 3)
		for i := range h.Rounds {
			h.Rounds[i].Readings[0].Value = math.Pow(10, 4*h.Rounds[i].Point[0])
			h.Rounds[i].Readings[0].SD = c.sd
		}
		f, err := mustReplay(t, cfg, h).FitNow(background)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Metrics[0].Warp.Logarithmic(); got != c.want {
			t.Errorf("readings from 1 to 10,000, each ± %g: logarithmic is %v", c.sd, got)
		}
	}
}

// TestEqualReadingsAreNotWarped: there is no warping to choose.
func TestEqualReadingsAreNotWarped(t *testing.T) {
	t.Parallel()
	if f := fittedCosts(t, "anova", func(int, int) float64 { return 7 }); f.Warp != warp.Identity || f.Interaction == 0 {
		t.Errorf("fitted %+v", f)
	}
}

// fittedCosts is the fit of twenty costs of two categories.
func fittedCosts(t *testing.T, kernel string, price func(a, b int) float64) FittedMetric {
	t.Helper()
	cfg := &Config{Objective: Objective{Sign: 1}, Algorithm: "log-cei", Horizon: 40, Standardize: true, Fit: true,
		Space: Space{Dims: []Dim{{Kind: Categorical, Choices: 6}, {Kind: Categorical, Choices: 4}}},
		Metrics: []Metric{{Name: "cost", Lambda: 1, FreeLengthscales: true, FreeNoise: true, FreeVariance: true, Warp: true,
			Kernel: Kernel{Name: kernel, Variance: 1, Lengthscales: []float64{1, 1}}}}}
	cfg.Settings, _ = described(cfg.Algorithm).Resolve(nil, cfg.Context())
	f, err := mustReplay(t, cfg, &History{Rounds: twentyRounds(price)}).FitNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f.Metrics[0]
}

// twentyRounds read the cost of twenty pairs of choices.
func twentyRounds(price func(a, b int) float64) (rounds []Round) {
	for i := range 20 {
		a, b := (5*i+i/6)%6, (3*i+i/4)%4
		rounds = append(rounds, Round{Point: []float64{(float64(a) + 0.5) / 6, (float64(b) + 0.5) / 4}, Arm: -1,
			Readings: []Reading{{Told: true, Value: price(a, b), Revealed: i + 1}}})
	}
	return rounds
}
