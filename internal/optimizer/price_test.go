package optimizer

import (
	"math"
	"slices"
	"testing"
)

// bestOnGrid is the best reward of a study with one limit, moved to a threshold, among places with
// a chance of 0.9 to keep it.
func bestOnGrid(t *testing.T, state *State, at []Place, threshold float64) (best float64) {
	t.Helper()
	best = math.Inf(-1)
	c, beliefs := state.cfg.Costs[0], state.beliefs(at)
	for i := range at {
		if chanceBelow(c.Sign*(beliefs[1].Mean[i]-threshold), beliefs[1].SD[i], 0) >= safeEnough {
			best = max(best, state.cfg.Objective.Sign*beliefs[0].Mean[i])
		}
	}
	return best
}

// checkPrice holds a curve against a grid: nowhere below it, and rising as the limit is loosened.
func checkPrice(t *testing.T, state *State, at []Place, p Price) {
	t.Helper()
	if len(p.Steps) != 2*priceSteps+1 || p.Steps[priceSteps].Threshold != state.cfg.Costs[0].Threshold {
		t.Fatalf("steps %+v", p.Steps)
	}
	last := math.Inf(-1)
	for _, i := range p.order(state.cfg.Costs[0]) {
		step, reward := p.Steps[i], math.Inf(-1)
		if step.Found {
			reward = state.cfg.Objective.Sign * step.Best
		}
		if reward < last {
			t.Errorf("loosened to %g the best falls from %g to %g", step.Threshold, last, reward)
		}
		last = reward
		if want := bestOnGrid(t, state, at, step.Threshold); reward < want-1e-4 {
			t.Errorf("at %g the best is %g, on the grid %g", step.Threshold, reward, want)
		}
		if step.Found {
			belief := state.beliefs([]Place{step.Place})
			if math.Abs(belief[0].Mean[0]-step.Best)+math.Abs(belief[0].SD[0]-step.SD) > 1e-9 || bestOnGrid(t, state, []Place{step.Place}, step.Threshold+1e-12*state.cfg.Costs[0].Sign) < reward-1e-9 {
				t.Errorf("%v is not worth %g ± %g within %g", step.Place.U, step.Best, step.SD, step.Threshold)
			}
		}
	}
}

// TestPriceOfALimit follows the side of a hill, under a ceiling and above a floor, upwards and
// downwards: the slope is the finite difference, and says which way the limit gives.
func TestPriceOfALimit(t *testing.T) {
	t.Parallel()
	for _, sign := range []float64{1, -1} {
		for _, wanted := range []float64{1, -1} {
			cfg, h := hill(t, func(cfg *Config) { cfg.Metrics[0].Lambda, cfg.Metrics[1].Lambda = 1e-5, 1e-5 })
			cfg.Costs[0].Sign, cfg.Objective.Sign = sign, wanted
			for i := range h.Rounds {
				readings := h.Rounds[i].Readings
				readings[0].Value *= wanted
				if sign < 0 {
					readings[1].Value = 1.1 - readings[1].Value
				}
			}
			state := mustReplay(t, cfg, h)
			p := sure(state.Price(background, 0, Known{}))
			checkPrice(t, state, grid(cfg, 101), p)
			low, high := p.Steps[priceSteps-1], p.Steps[priceSteps+1]
			if want := (high.Best - low.Best) / (high.Threshold - low.Threshold); p.Slope != want || !p.HasSlope {
				t.Errorf("the slope is %g, between the steps %g", p.Slope, want)
			}
			places := grid(cfg, 101)
			want := wanted * (bestOnGrid(t, state, places, high.Threshold) - bestOnGrid(t, state, places, low.Threshold)) / (high.Threshold - low.Threshold)
			if math.Abs(p.Slope-want) > 0.05*math.Abs(want) || p.Slope*sign*wanted < 1 {
				t.Errorf("the slope is %g, on the grid %g", p.Slope, want)
			}
		}
	}
}

// TestPriceInAnyUnit: the best within a threshold is at the same place, however small the numbers of the
// objective are in its unit.
func TestPriceInAnyUnit(t *testing.T) {
	t.Parallel()
	price := func(unit float64) Price {
		cfg, h := hill(t, func(cfg *Config) { cfg.Standardize = true })
		scaled := FittedMetric{Set: true, Scale: 1, Count: len(h.Rounds)}
		h.Fits = []Fit{{From: 1, Metrics: []FittedMetric{scaled, scaled}}}
		h.Fits[0].Metrics[0].Scale = unit
		for i := range h.Rounds {
			h.Rounds[i].Readings[0].Value *= unit
		}
		return sure(mustReplay(t, cfg, h).Price(background, 0, Known{}))
	}
	const small = 0x1p-50
	got, want := price(small), price(1)
	for i, step := range want.Steps {
		if got.Steps[i].Found != step.Found || math.Abs(got.Steps[i].Best/small-step.Best) > 1e-6 {
			t.Errorf("within %g the best is %g units, %g in a larger one", step.Threshold, got.Steps[i].Best/small, step.Best)
		}
	}
}

// TestLooseningNeverCosts: on rough ground, where a climb may end on a lesser hill, no looser limit
// has a lesser best.
func TestLooseningNeverCosts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		cfg := plain(t, 3, 2, nil, `{}`)
		state := mustReplay(t, cfg, played(cfg, 40, seed))
		for j := range cfg.Costs {
			p, last := sure(state.Price(background, j, Known{})), math.Inf(-1)
			for _, step := range p.Steps {
				if step.Found && step.Best < last || !step.Found && !math.IsInf(last, -1) {
					t.Errorf("seed %d: limit %d at %g has a best of %g after %g", seed, j, step.Threshold, step.Best, last)
				}
				if step.Found {
					last = step.Best
				}
			}
		}
	}
}

// TestPriceAmongCandidates is the best candidate's within each threshold, exactly, and nothing
// where no candidate is.
func TestPriceAmongCandidates(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	for _, r := range h.Rounds {
		cfg.Space.Arms = append(cfg.Space.Arms, r.Point)
	}
	cfg.Space.Available = slices.Repeat([]bool{true}, len(cfg.Space.Arms))
	cfg.Space.Available[2] = false // the best of the left side
	for i := range h.Rounds {
		h.Rounds[i].Arm = i
	}
	cfg.Costs[0].Threshold = 0.2
	state := mustReplay(t, cfg, h)
	left := slices.DeleteFunc(cfg.Space.places(), func(p Place) bool { return p.Arm == 2 })
	p := sure(state.Price(background, 0, Known{}))
	checkPrice(t, state, left, p)
	for _, step := range p.Steps {
		if want := bestOnGrid(t, state, left, step.Threshold); step.Found != !math.IsInf(want, -1) || step.Found && math.Abs(step.Best-want) > 1e-9 {
			t.Errorf("at %g %+v, want %g", step.Threshold, step, want)
		}
	}
	if p.Steps[0].Found || !p.Steps[2*priceSteps].Found {
		t.Errorf("from nothing to something: %+v", p.Steps)
	}
}

// TestPriceOfWhatIsKnown moves a limit whose value is known at every place.
func TestPriceOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	cfg, h := knownHill(t)
	state := mustReplay(t, cfg, h)
	p := sure(state.Price(background, 0, Known{At: func(_ int, u []float64) float64 { return u[0] }}))
	for i, step := range p.Steps {
		if !step.Found || step.Place.U[0] > step.Threshold || i > 0 && step.Best < p.Steps[i-1].Best {
			t.Errorf("at %g %+v", step.Threshold, step)
		}
		if want := min(step.Threshold, 0.7); math.Abs(step.Place.U[0]-want) > 0.02 {
			t.Errorf("at %g the best is at %v, want x = %g", step.Threshold, step.Place.U, want)
		}
	}
}

// TestNoPrice: of readings that do not differ there is no scale to move a limit by, and where
// nothing keeps the limit no slope.
func TestNoPrice(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	cfg.Costs[0].Threshold = -40
	p := sure(mustReplay(t, cfg, h).Price(background, 0, Known{}))
	if p.HasSlope || p.Steps[priceSteps].Found {
		t.Errorf("%+v", p)
	}
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].Value = 3
	}
	if p := sure(mustReplay(t, cfg, h).Price(background, 0, Known{})); len(p.Steps) > 0 || p.HasSlope {
		t.Errorf("%+v", p)
	}
	if p := sure(mustReplay(t, cfg, &History{}).Price(background, 0, Known{})); len(p.Steps) > 0 {
		t.Errorf("%+v", p)
	}
}

// TestThresholdsAreRound: the steps of a curve are 1, 2 or 5 times a power of ten, whatever the
// metric's unit.
func TestThresholdsAreRound(t *testing.T) {
	t.Parallel()
	for _, unit := range []float64{1e-6, 1, 3, 1e9} {
		cfg, h := hill(t, nil)
		cfg.Costs[0].Threshold = 0.55 * unit
		for i := range h.Rounds {
			h.Rounds[i].Readings[1].Value *= unit
		}
		list := mustReplay(t, cfg, h).pricedThresholds(0)
		step := list[1] - list[0]
		digits := step / math.Pow(10, math.Floor(math.Log10(step)+1e-6))
		if !slices.ContainsFunc([]float64{1, 2, 5}, func(d float64) bool { return math.Abs(digits-d) < 1e-3 }) || step > 0.1*unit || step < 0.03*unit {
			t.Errorf("in units of %g the steps are %g", unit, step)
		}
	}
}

// TestThresholdsHaveTheSignOfTheReadings where these all have that of the threshold.
func TestThresholdsHaveTheSignOfTheReadings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ threshold, sign, offset, least float64 }{
		"far above it":       {0.02, 1, 0, 0.001},
		"below 0":            {-0.02, 1, -1, math.Inf(-1)},
		"on both sides of 0": {0.02, 1, -0.5, math.Inf(-1)},
		"at least":           {0.02, -1, 0, 0.001},
	} {
		cfg, h := hill(t, nil)
		cfg.Costs[0].Threshold, cfg.Costs[0].Sign = c.threshold, c.sign
		for i := range h.Rounds {
			h.Rounds[i].Readings[1].Value += c.offset
		}
		list := mustReplay(t, cfg, h).pricedThresholds(0)
		if len(list) != 2*priceSteps+1 || list[0] < c.least || c.offset == -1 && list[2*priceSteps] >= 0 || c.offset == -0.5 && list[0] > -0.1 {
			t.Errorf("%s: %v", name, list)
		}
	}
}
