package optimizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/warp"
)

// scattered draws a history with late, missing, excluded and closed rounds and a fit.
func scattered(rt *rapid.T, cfg *Config, n int) *History {
	h := played(cfg, n, rapid.Uint64().Draw(rt, "seed"))
	for i := range h.Rounds {
		r := &h.Rounds[i]
		for m := range r.Readings {
			switch rapid.IntRange(0, 5).Draw(rt, "fate") {
			case 0:
				r.Readings[m].Told = false
			case 1:
				r.Readings[m].Revealed = rapid.IntRange(i+1, n).Draw(rt, "revealed")
			}
		}
		r.Excluded = rapid.IntRange(0, 9).Draw(rt, "excluded") == 0
		if rapid.IntRange(0, 9).Draw(rt, "closed") == 0 {
			r.Closed = []Spell{{From: i + 2, To: 0, Cause: Cause(rapid.IntRange(0, 2).Draw(rt, "cause"))}}
		}
	}
	if n > 4 {
		h.Fits = []Fit{{From: n / 2, Metrics: make([]FittedMetric, len(cfg.Metrics))}}
		h.Fits[0].Metrics[0] = FittedMetric{Set: true, Centre: 0.3, Scale: 2, Lengthscales: []float64{0.4, 0.2}, Lambda: 0.05, Count: n / 2}
		if rapid.Bool().Draw(rt, "whole fit") {
			m := &h.Fits[0].Metrics[0]
			m.Variance, m.Inflation, m.Freedom, m.Warp = 1.7, 1.3, 8, warp.Warp{Power: 0.6, Centre: -0.1, Scale: 1.2}
			m.Settings, m.Wrong = []NoiseAt{{1, 0.2}, {2, 0.004}}, []NoiseAt{{3, 5}}
		}
	}
	return h
}

func adaptive(c *Config) {
	c.Standardize, c.Fit = true, true
	for i := range c.Metrics {
		c.Metrics[i].FreeLengthscales, c.Metrics[i].FreeNoise, c.Metrics[i].FreeVariance = true, true, true
	}
}

// sameState compares everything a state says, to the last bit.
func sameState(t rapid.TB, a, b *State) {
	t.Helper()
	at := []Place{{U: []float64{0.3, 0.7}, Arm: -1}, {U: []float64{0.9, 0.1}, Arm: -1}}
	equal := func(what string, x, y []float64) {
		t.Helper()
		if !slices.EqualFunc(x, y, func(p, q float64) bool { return math.Float64bits(p) == math.Float64bits(q) }) {
			t.Fatalf("%s: %v and %v", what, x, y)
		}
	}
	equal("multipliers", a.Multipliers(), b.Multipliers())
	for i := range a.Models() {
		equal("model", []float64{widthOf(a.Models()[i]), a.Models()[i].InformationGain}, []float64{widthOf(b.Models()[i]), b.Models()[i].InformationGain})
		equal("mean", a.beliefs(at)[i].Mean, b.beliefs(at)[i].Mean)
		equal("sd", a.beliefs(at)[i].SD, b.beliefs(at)[i].SD)
		equal("band", a.beliefs(at)[i].Upper95, b.beliefs(at)[i].Upper95)
	}
	equal("acquisition", sure(a.Acquisition(background, at, Known{})).Values, sure(b.Acquisition(background, at, Known{})).Values)
	for t1, x := range sure(a.Trace(background)) {
		y := sure(b.Trace(background))[t1]
		equal("trace", x.Beta, y.Beta)
		for i := range x.Ahead {
			if one, other := x.Ahead[i], y.Ahead[i]; one != nil && other != nil {
				equal("ahead", []float64{one.Mean, one.SD}, []float64{other.Mean, other.SD})
			} else if one != other {
				t.Errorf("ahead of round %d: %v and %v", t1+1, one, other)
			}
		}
	}
}

// TestExtendEqualsReplay checks that a cached state never differs from replay from nothing,
// whatever was rewritten.
func TestExtendEqualsReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		algorithm := rapid.SampledFrom([]string{"rpol-ucb", "ckb-ucb"}).Draw(rt, "algorithm")
		cfg := plain(t, 2, 2, func(c *Config) { adaptive(c); c.Algorithm = algorithm }, `{}`)
		n := rapid.IntRange(1, 30).Draw(rt, "rounds")
		before, after := scattered(rt, cfg, n), scattered(rt, cfg, n+rapid.IntRange(0, 5).Draw(rt, "more"))
		if rapid.Bool().Draw(rt, "kept") { // the usual case: the past stays
			copy(after.Rounds, before.Rounds[:n])
			after.Fits = before.Fits
		}
		extended := must.Get(mustReplay(t, cfg, before).Extend(background, after))(rt)
		sameState(rt, extended, mustReplay(t, cfg, after))
	})
}

// TestPosteriorIgnoresTheOrderOfArrival checks that late readings end in the same posterior as
// punctual ones.
func TestPosteriorIgnoresTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		cfg := plain(t, 2, 1, nil, `{}`)
		h := played(cfg, 12, rapid.Uint64().Draw(rt, "seed"))
		late := &History{Rounds: slices.Clone(h.Rounds)}
		for i := range late.Rounds {
			late.Rounds[i].Readings = slices.Clone(late.Rounds[i].Readings)
			for m := range late.Rounds[i].Readings {
				late.Rounds[i].Readings[m].Revealed = rapid.IntRange(i+1, 12).Draw(rt, "revealed")
			}
		}
		at := grid(cfg, 5)
		a, b := mustReplay(t, cfg, h).beliefs(at), mustReplay(t, cfg, late).beliefs(at)
		for i := range a {
			for p := range at {
				if math.Abs(a[i].Mean[p]-b[i].Mean[p]) > 1e-9 || math.Abs(a[i].SD[p]-b[i].SD[p]) > 1e-9 {
					rt.Fatalf("mean %v ± %v, arrived late %v ± %v", a[i].Mean[p], a[i].SD[p], b[i].Mean[p], b[i].SD[p])
				}
			}
		}
	})
}

// TestPendingTrialsAreNotRepeated asks several times in a row without telling anything.
func TestPendingTrialsAreNotRepeated(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{"beta": 2}`)
	h := played(cfg, 10, 3)
	var asked [][]float64
	for range 5 {
		d := must.Get(mustReplay(t, cfg, h).Suggest(background, Known{}))(t)
		for _, u := range asked {
			if !distinct(u, d.Place.U) {
				t.Fatalf("%v was asked for already: %v", d.Place.U, asked)
			}
		}
		asked = append(asked, d.Place.U)
		h = &History{Rounds: append(h.Rounds, Round{Point: d.Place.U, Arm: -1, Suggested: true, Readings: make([]Reading, 2)})}
	}
}

// TestOddHistories plays histories that break careless arithmetic, with everything fitted as by
// default.
func TestOddHistories(t *testing.T) {
	t.Parallel()
	odd := map[string]func(i int, random *rand.Rand) (u []float64, value float64){
		"all equal": func(i int, r *rand.Rand) ([]float64, float64) { return []float64{r.Float64(), r.Float64()}, 3 },
		"one point": func(i int, r *rand.Rand) ([]float64, float64) { return []float64{0.5, 0.5}, r.Float64() },
		"huge": func(i int, r *rand.Rand) ([]float64, float64) {
			return []float64{r.Float64(), r.Float64()}, 1e9 * r.NormFloat64()
		},
		"tiny": func(i int, r *rand.Rand) ([]float64, float64) {
			return []float64{r.Float64(), r.Float64()}, 1e-9 * r.NormFloat64()
		},
		"far from zero": func(i int, r *rand.Rand) ([]float64, float64) {
			return []float64{r.Float64(), r.Float64()}, 1e9 + r.NormFloat64()
		},
		"never feasible": func(i int, r *rand.Rand) ([]float64, float64) {
			return []float64{r.Float64(), r.Float64()}, 5 + r.Float64()
		},
		"one far outlier": func(i int, r *rand.Rand) ([]float64, float64) {
			return []float64{r.Float64(), r.Float64()}, math.Pow(1e6, float64(i/7))
		},
	}
	for name, next := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := plain(t, 2, 1, adaptive, `{}`)
			random := rand.New(rand.NewPCG(1, 2))
			h := &History{}
			for i := range 9 {
				s := mustReplay(t, cfg, h)
				h = withFit(t, s, h)
				d := must.Get(mustReplay(t, cfg, h).Suggest(background, Known{}))(t)
				finite(t, d.Place.U...)
				finite(t, d.Mean...)
				finite(t, d.SD...)
				finite(t, d.Estimates...)
				finite(t, d.FeasibilityProbability)
				u, value := next(i, random)
				told := Reading{Told: true, Value: value, Revealed: i + 1}
				h.Rounds = append(h.Rounds, Round{Point: u, Arm: -1, Readings: []Reading{told, told}})
			}
		})
	}
}

// withFit adds a fit where one is due.
func withFit(t *testing.T, s *State, h *History) *History {
	t.Helper()
	if !s.FitDue() {
		return h
	}
	fit := must.Get(s.FitNow(background))(t)
	return &History{Rounds: h.Rounds, Fits: append(h.Fits, fit)}
}

func finite(t *testing.T, values ...float64) {
	t.Helper()
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("not finite: %v", values)
		}
	}
}

// TestCalibrationStartsWithTheScale plays readings far from 0: predictions count from the first fit
// on.
func TestCalibrationStartsWithTheScale(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 0, func(c *Config) { c.Standardize, c.Fit = true, true }, `{}`)
	h := played(cfg, 10, 4)
	for i := range h.Rounds {
		h.Rounds[i].Readings[0].Value += 80
	}
	h.Fits = []Fit{{From: 5, Metrics: []FittedMetric{{Set: true, Centre: 80, Scale: 0.5, Count: 4, Freedom: 5}}}}
	s := mustReplay(t, cfg, h)
	c, trace := sure(s.Calibrations(background))[0], sure(s.Trace(background))
	if c.Count != 6 || c.Innovations[0].Round != 5 {
		t.Errorf("counts %d predictions from round %v on, want 6 from round 5 on", c.Count, c.Innovations)
	}
	for _, one := range c.Innovations {
		r := trace[one.Round-1].residuals[0]
		if math.Abs(r) > 10 {
			t.Errorf("a residual of %v standard deviations: the prediction was in other units", r)
		}
		if one.Z != normalDeviate(r, 5) {
			t.Errorf("the residual %v is the deviate %v, want that of five degrees of freedom, %v", r, one.Z, normalDeviate(r, 5))
		}
	}
}

// TestRegimesShareTheirRows: where fits change the scale of a metric and not its regression, one
// factor holds the rows of all, from nothing too.
func TestRegimesShareTheirRows(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) { c.Standardize = true }, `{}`)
	h := played(cfg, 40, 1)
	for _, from := range []int{10, 20, 30} {
		scale := FittedMetric{Set: true, Scale: float64(from), Count: from - 1, Lambda: cfg.Metrics[0].Lambda, Lengthscales: cfg.Metrics[0].Kernel.Lengthscales}
		h.Fits = append(h.Fits, Fit{From: from, Metrics: []FittedMetric{scale, scale}})
	}
	s := mustReplay(t, cfg, h)
	if len(s.regimes) != 4 {
		t.Fatalf("%d regimes", len(s.regimes))
	}
	rows := s.regimes[3].groups[0].Data.Factor()
	for i, regime := range s.regimes {
		of := regime.groups[0].Data.Factor()
		if len(regime.groups) != 1 || &of.Row(of.Len() - 1)[0] != &rows.Row(of.Len() - 1)[0] {
			t.Errorf("regime %d has %d regressions with rows of their own", i, len(regime.groups))
		}
	}
}
