package optimizer

import (
	"math"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/warp"
)

// bent is a study whose cost a is fitted with a warp, after ten rounds.
func bent(t *testing.T, sign, margin float64, w warp.Warp) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 1, adaptive, `{}`)
	cfg.Costs[0].Sign, cfg.Costs[0].Threshold, cfg.Costs[0].Margin = sign, 0.3, margin
	for i := range cfg.Metrics {
		cfg.Metrics[i].Warp = true
	}
	h := played(cfg, 10, 6)
	h.Fits = []Fit{{From: 6, Metrics: []FittedMetric{{}, {Set: true, Centre: 0.1, Scale: 0.8, Lengthscales: []float64{0.4, 0.6},
		Lambda: 0.02, Variance: 1.4, Warp: w, Inflation: 1.2, Freedom: 5, Count: 5}}}}
	return cfg, h
}

// TestTheLimitMovesWithTheWarp compares the modelled limit, and what is shown, with the same study
// told in warped units and not warped.
func TestTheLimitMovesWithTheWarp(t *testing.T) {
	t.Parallel()
	w := warp.Warp{Power: 0.6, Centre: -0.2, Scale: 1.3}
	for _, sign := range []float64{1, -1} {
		cfg, h := bent(t, sign, 0.07, w)
		warped := mustReplay(t, cfg, h)

		straight := *cfg
		straight.Costs = []Cost{cfg.Costs[0]}
		in := func(v float64) float64 { return w.To((v - 0.1) / 0.8) }
		straight.Costs[0].Threshold = in(0.3)
		straight.Costs[0].Margin = sign * (in(0.3) - in(0.3-sign*0.07*0.8))
		told := *h
		told.Rounds = append([]Round(nil), h.Rounds...)
		for i := range told.Rounds {
			told.Rounds[i].Readings = append([]Reading(nil), told.Rounds[i].Readings...)
			told.Rounds[i].Readings[1].Value = in(told.Rounds[i].Readings[1].Value)
		}
		fitted := h.Fits[0].Metrics[1]
		fitted.Centre, fitted.Scale, fitted.Warp = 0, 1, warp.Warp{}
		told.Fits = []Fit{{From: 6, Metrics: []FittedMetric{{}, fitted}}}
		unbent := mustReplay(t, &straight, &told)

		at := []Place{{U: []float64{0.2, 0.9}, Arm: -1}, {U: []float64{0.6, 0.4}, Arm: -1}}
		a, b := warped.beliefs(at)[1], unbent.beliefs(at)[1]
		chances, others := warped.feasibility(at...), unbent.feasibility(at...)
		scores, plainScores := sure(warped.Acquisition(background, at, Known{})), sure(unbent.Acquisition(background, at, Known{}))
		for i := range at {
			near(t, 0, "chance", chances[i], others[i])
			near(t, 0, "score", scores.Values[i], plainScores.Values[i])
			near(t, 0, "lower 95 %", in(a.Lower95[i]), b.Lower95[i])
			near(t, 0, "upper 95 %", in(a.Upper95[i]), b.Upper95[i])
			m, sd := w.Moments(b.Mean[i], b.SD[i])
			near(t, 0, "mean", a.Mean[i], 0.1+0.8*m)
			near(t, 0, "sd", a.SD[i], 0.8*sd)
		}
	}
}

// TestALimitOverDecades: readings from 1 to 100,000 and a limit of 30. In their own unit nothing
// lies between 3 and 300; by their ratios the model tells which settings keep the limit.
func TestALimitOverDecades(t *testing.T) {
	t.Parallel()
	for _, margin := range []float64{0, 0.05} {
		cfg := plain(t, 1, 1, adaptive, `{}`)
		cfg.Costs[0].Sign, cfg.Costs[0].Threshold, cfg.Costs[0].Margin = 1, 30, margin
		cfg.Fit, cfg.Standardize = true, true
		for i := range cfg.Metrics {
			m := &cfg.Metrics[i]
			m.Warp, m.FreeLengthscales, m.FreeNoise, m.FreeVariance = true, true, true, true
		}
		h := played(cfg, 12, 12)
		for i := range h.Rounds {
			u := (float64(i) + 0.5) / 12
			h.Rounds[i].Point = []float64{u}
			h.Rounds[i].Readings[0].Value = u
			h.Rounds[i].Readings[1].Value = math.Pow(10, 5*u)
		}
		s := mustReplay(t, cfg, h)
		f := must.Get(s.FitNow(background))(t)
		if !f.Metrics[1].Warp.Logarithmic() {
			t.Fatalf("the limit's readings are fitted with %+v", f.Metrics[1].Warp)
		}
		h.Fits = append(h.Fits, f)
		s = mustReplay(t, cfg, h)
		at := []Place{{U: []float64{0.15}, Arm: -1}, {U: []float64{0.45}, Arm: -1}}
		chances := s.feasibility(at...)
		if !(chances[0] > 0.9 && chances[1] < 0.1) {
			t.Errorf("margin %g: where 6 is read the chance to keep the limit of 30 is %.3g, where 180 is read %.3g", margin, chances[0], chances[1])
		}
		b := s.beliefs([]Place{{U: []float64{1}, Arm: -1}, {U: []float64{0}, Arm: -1}})[1]
		if finite(t, b.Mean[0], b.SD[0], b.Upper95[0]); !(b.Lower95[1] > -1 && b.Mean[0] > 1e4 && b.Mean[0] < 1e6) {
			t.Errorf("expected are %v to %v, from %v", b.Mean[1], b.Mean[0], b.Lower95[1])
		}
	}
}

// TestWorthOverDecades: where a cost to be made small reaches over decades, from 2000 to 6000 is as much
// as from 6000 to 18,000, and not a hundredth of what the worst reading lies away.
func TestWorthOverDecades(t *testing.T) {
	t.Parallel()
	differ := 0
	for seed := range uint64(40) {
		cfg := plain(t, 2, 1, adaptive, `{}`)
		cfg.Objective.Sign, cfg.Metrics[0].Warp = -1, true
		h := played(cfg, 12, 100+seed)
		for i := range h.Rounds {
			value := &h.Rounds[i].Readings[0].Value
			*value = math.Exp(3 * *value)
		}
		w := warp.Warp{Scale: 1.5, Origin: -0.1999, Unit: 1e-4} // ln(1000 value) of values centred at 2 and scaled by 10
		h.Fits = []Fit{{From: 13, Metrics: []FittedMetric{{Set: true, Centre: 2, Scale: 10, Lengthscales: []float64{0.4, 0.6}, Lambda: 0.02, Variance: 1, Warp: w, Count: 12},
			{Set: true, Scale: 1, Lengthscales: []float64{0.4, 0.6}, Lambda: 0.05, Variance: 1, Count: 12}}}}
		s := mustReplay(t, cfg, h)
		var at []Place
		for _, r := range h.Rounds {
			at = append(at, Place{U: r.Point, Arm: -1})
		}
		believed := s.beliefs(at)[0].Mean
		chances := s.feasibility(at...)
		best := func(reward func(cost float64) float64) int {
			most, round, worst := math.Inf(-1), 0, slices.Max(believed)
			for i, cost := range believed {
				within := h.Rounds[i].Readings[1].Value <= cfg.Costs[0].Threshold
				if worth := chances[i] * (reward(cost) - reward(worst)); within && chances[i] >= 0.5 && worth > most {
					most, round = worth, i+1
				}
			}
			return round
		}
		want := best(func(cost float64) float64 { return -math.Log(cost) })
		if want != best(func(cost float64) float64 { return -cost }) {
			differ++
		}
		if got := sure(s.Recommendation(background)); got != want {
			t.Errorf("seed %d: trial %d is recommended, worth most is %d", seed, got, want)
		}
	}
	if differ == 0 {
		t.Error("no study tells ratios from differences")
	}
}

// TestExpectedExcessOfAWarpedCost compares the model's estimate of the violation with the mean over
// the band's own distribution.
func TestExpectedExcessOfAWarpedCost(t *testing.T) {
	t.Parallel()
	for _, power := range []float64{1.4, 1} {
		for _, sign := range []float64{1, -1} {
			expectedExcessOf(t, warp.Warp{Power: power, Centre: 0.1, Scale: 1.1}, sign)
		}
	}
}

func expectedExcessOf(t *testing.T, w warp.Warp, sign float64) {
	cfg, _ := bent(t, sign, 0.05, w)
	tr := cfg.transform(target{cost: 0, metric: 1, sign: sign}, metricModel{centre: 0.1, scale: 0.8, warp: w}, 0)
	// The target has mean 0.2 and sd 0.5; its value is metric(target − shift).
	const steps = 20_000
	want := 0.0
	for i := range steps {
		u := 0.2 + 0.5*math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/steps-1)
		want += max(sign*(tr.toMetric(u-tr.shift)-0.3), 0) / steps
	}
	for _, far := range []float64{-9, 9} {
		if got := tr.excess(far, 0, 0.3); far < 0 && got != 0 || far > 0 && math.Abs(got-sign*(tr.toMetric(far+tr.margin-tr.shift)-0.3)) > 1e-12 {
			t.Errorf("sign %g, power %g: a target that is surely %g exceeds the limit by %g", sign, w.Power, far, got)
		}
	}
	if got := tr.excess(0.2-tr.margin, 0.5, 0.3); math.Abs(got-want) > 2e-4 {
		t.Errorf("sign %g, power %g: expected excess %g, by summation %g", sign, w.Power, got, want)
	}
}

// TestACorrectionBeyondTheFittedReadings moves a reading far out of what the warp was fitted to.
func TestACorrectionBeyondTheFittedReadings(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{1e100, -1e100, 1e6} {
		for _, power := range []float64{0.25, 0.5, 1.75} {
			cfg, h := bent(t, 1, 0, warp.Warp{Power: power, Scale: 1})
			h.Rounds[2].Readings[1].Value = value
			s := mustReplay(t, cfg, h)
			b := s.beliefs([]Place{{U: []float64{0.2, 0.9}, Arm: -1}, {U: []float64{0.9, 0.2}, Arm: -1}})[1]
			finite(t, slices.Concat(b.Mean, b.SD, b.Lower95, b.Upper95)...)
		}
	}
}

// TestFitsWidenByTheirOwnErrors tells readings that leave the predicted bands, and ones that stay
// well within.
func TestFitsWidenByTheirOwnErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		squares   []float64
		low, high float64
	}{
		{nil, 1, 1},
		{[]float64{0, 0, 0, 0, 0}, 0.49, 0.51},
		{make([]float64, 100), 0.25, 0.25},
		{[]float64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, 1.8, 3.5},
		{[]float64{1e6}, 1, 2.4}, // one wrong reading
		{[]float64{1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9}, 4, 4},
	} {
		if got := inflationOf(c.squares); !(got >= c.low && got <= c.high) {
			t.Errorf("residuals² %v: inflation %g, want %g to %g", c.squares, got, c.low, c.high)
		}
	}
}
