package optimizer

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
)

// lathe is a study of six settings, each read often: the cost is quiet at the second setting, close
// to its limit, and at the fourth, beyond it, and noisy elsewhere.
func lathe(t *testing.T, rounds int) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 1, 1, func(c *Config) {
		adaptive(c)
		c.Algorithm = "log-cei"
		for i := range 6 {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i) / 5})
		}
		c.Costs[0].Threshold = 0.2
	}, `{}`)
	random := rand.New(rand.NewPCG(5, 6))
	h := &History{}
	for n := range rounds {
		arm := n % 6
		cost := 0.5 + 0.9*random.NormFloat64()
		switch arm {
		case 1:
			cost = 0.05 + 0.03*random.NormFloat64()
		case 3:
			cost = 0.7 + 0.03*random.NormFloat64()
		}
		h.Rounds = append(h.Rounds, Round{Point: cfg.Space.Arms[arm], Arm: arm, Suggested: true, Readings: []Reading{
			{Told: true, Value: float64(arm), Revealed: n + 1}, {Told: true, Value: cost, Revealed: n + 1}}})
	}
	return cfg, h
}

// fitted is the state after the fit that is due.
func fitted(t *testing.T, cfg *Config, h *History) (*State, *History) {
	t.Helper()
	fit := must.Get(mustReplay(t, cfg, h).FitNow(t.Context()))(t)
	whole := &History{Rounds: h.Rounds, Fits: append(h.Fits, fit)}
	return mustReplay(t, cfg, whole), whole
}

func TestNoiseIsFittedBySetting(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	state, whole := fitted(t, cfg, h)
	m := whole.Fits[0].Metrics[1]
	if len(m.Settings) != 6 || m.Settings[1].Round != 2 {
		t.Fatalf("noise is fitted at %v, want all six settings by their first rounds", m.Settings)
	}
	for i, at := range m.Settings {
		if i != 1 && i != 3 && at.Lambda < 3*m.Settings[1].Lambda {
			t.Errorf("setting %d has noise variance %g, the quiet one %g", i+1, at.Lambda, m.Settings[1].Lambda)
		}
	}
	if len(whole.Fits[0].Metrics[0].Settings) != 0 {
		t.Errorf("a metric without noise has noise by setting: %v", whole.Fits[0].Metrics[0].Settings)
	}
	// The quiet setting is known to be within its limit, which the noise of all together could not
	// say.
	at := cfg.Space.places()
	if chances := state.feasibility(at...); !(chances[1] > 0.9) || sure(state.Recommendation(background)) == 0 {
		t.Errorf("chances %v, recommendation %d", chances, sure(state.Recommendation(background)))
	}
	whole.Fits[0].Metrics[1].Settings, whole.Fits[0].Metrics[1].Lambda = nil, 0.7 // that of all readings
	if chances := mustReplay(t, cfg, whole).feasibility(at...); chances[1] > 0.9 {
		t.Errorf("without noise by setting the chances are %v: this test shows nothing", chances)
	}
}

// TestReadingsToldLaterHaveTheirSettingsNoise tells one more reading at the quiet setting after the
// fit.
func TestReadingsToldLaterHaveTheirSettingsNoise(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	_, whole := fitted(t, cfg, h)
	for arm := range 2 {
		longer := &History{Fits: whole.Fits, Rounds: append(append([]Round(nil), whole.Rounds...), Round{Point: cfg.Space.Arms[arm], Arm: arm,
			Readings: []Reading{{Told: true, Value: float64(arm), Revealed: 61}, {Told: true, Value: 0.1, Revealed: 61}}})}
		s := mustReplay(t, cfg, longer)
		e := s.regimeAt(62)
		order := e.groups[e.groupOf[1]].order
		fit := whole.Fits[0].Metrics[1]
		if got, want := order[60].lambda, fit.Settings[arm].Lambda*fit.Inflation; got != want {
			t.Errorf("a later reading at setting %d has λ %g, want %g", arm+1, got, want)
		}
		extended := must.Get(mustReplay(t, cfg, whole).Extend(background, longer))(t)
		if a, b := extended.beliefs(cfg.Space.places())[1], s.beliefs(cfg.Space.places())[1]; a.Mean[0] != b.Mean[0] || a.SD[1] != b.SD[1] {
			t.Errorf("extended %v ± %v, replayed %v ± %v", a.Mean, a.SD, b.Mean, b.SD)
		}
	}
}

// TestAWrongReadingIsSetAside tells one reading ten times too large.
func TestAWrongReadingIsSetAside(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	for i := range h.Rounds { // even noise
		if arm := h.Rounds[i].Arm; arm != 1 {
			h.Rounds[i].Readings[1].Value = 0.5 + 0.03*h.Rounds[i].Readings[1].Value
		}
	}
	at := cfg.Space.places()
	right, _ := fitted(t, cfg, h)
	want := right.beliefs(at)[1]
	h.Rounds[8].Readings[1].Value *= 10
	state, whole := fitted(t, cfg, h)
	got := state.beliefs(at)[1]
	if wrong := whole.Fits[0].Metrics[1].Wrong; len(wrong) != 1 || wrong[0].Round != 9 {
		t.Fatalf("wrong readings %v, want round 9", wrong)
	}
	for i := range at {
		if math.Abs(got.Mean[i]-want.Mean[i]) > 0.1 || got.SD[i] > 0.2 {
			t.Errorf("setting %d: %.3f ± %.3f with the wrong reading, %.3f ± %.3f without", i+1, got.Mean[i], got.SD[i], want.Mean[i], want.SD[i])
		}
	}
}

// TestUnevenNoiseIsNotNarrowed predicts readings far better than a first fit expects.
func TestUnevenNoiseIsNotNarrowed(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	timid := FittedMetric{Set: true, Centre: 0, Scale: 1, Lengthscales: []float64{0.4}, Lambda: 100, Variance: 1, Count: 9}
	h.Fits = []Fit{{From: 10, Metrics: []FittedMetric{timid, timid}}}
	_, whole := fitted(t, cfg, h)
	even, uneven := whole.Fits[1].Metrics[0], whole.Fits[1].Metrics[1]
	if even.Inflation >= 1 || uneven.Settings == nil || uneven.Inflation != 1 {
		t.Errorf("inflation %g where noise is even and %g where it differs, want less than 1 and 1", even.Inflation, uneven.Inflation)
	}
}

// TestUndecided has noisy settings that are worth more than the quiet one even with their chance to
// break the limit: one is recommended, with how many readings would tell.
func TestUndecided(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	shift := []float64{-2, 0, 0, 0, -0.5, 0}
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].Value += shift[h.Rounds[i].Arm]
	}
	state, _ := fitted(t, cfg, h)
	recommended, open := sure(state.Recommendation(background)), sure(state.Undecided(background))
	if recommended == 0 || h.Rounds[recommended-1].Arm != 4 || open.Round != recommended {
		t.Fatalf("round %d is recommended and %+v undecided, want the fifth setting for both", recommended, open)
	}
	if open.Chance < likelier || open.Chance >= safeEnough || open.Readings < 1 {
		t.Fatalf("%+v", open)
	}
	e := sure(state.inSample(background))[1]
	after := func(round, n int) float64 { // so many readings equal to the mean do tell, and one less does not
		m := state.shown.regime.models[1]
		variance := 1 / (1/(e.SD[round-1]*e.SD[round-1]) + float64(n)/m.noise.atPlace(state.placeOf(round), m.lambda))
		return chanceBelow(e.Mean[round-1], math.Sqrt(variance), m.freedom)
	}
	if after(open.Round, open.Readings) < safeEnough || after(open.Round, open.Readings-1) >= safeEnough {
		t.Errorf("after %d more readings the chance is %g, after one less %g", open.Readings, after(open.Round, open.Readings), after(open.Round, open.Readings-1))
	}
	// Worth is weighed: no round of at least an even chance has more of it.
	worth := func(round int) float64 {
		return after(round, 0) * (state.expectedReward(sure(state.inSample(background))[0].Mean[round-1], 0) - state.expectedReward(sure(state.inSample(background))[0].Mean[0], 0))
	}
	for round := 1; round <= 6; round++ {
		if after(round, 0) >= likelier && worth(round) > worth(recommended)+1e-9 {
			t.Errorf("round %d is worth %g, the recommended one %g", round, worth(round), worth(recommended))
		}
	}
}

// TestNothingLikelyIsRecommended: what is more likely to break a limit than to keep it is no
// answer, and the most promising of it is undecided; nor is anything while a limit's metric was
// never read.
func TestNothingLikelyIsRecommended(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	cfg.Costs[0].Threshold = -0.3
	state, _ := fitted(t, cfg, h)
	if round := sure(state.Recommendation(background)); round != 0 {
		t.Errorf("round %d is recommended", round)
	}
	for i := range h.Rounds {
		h.Rounds[i].Readings[1] = Reading{}
	}
	cfg.Costs[0].Threshold = 100
	state = mustReplay(t, cfg, h)
	if round, open := sure(state.Recommendation(background)), sure(state.Undecided(background)); round != 0 || open.Round != 0 {
		t.Errorf("round %d is recommended and %+v undecided though the limit was never looked at", round, open)
	}
}

// TestADoubtfulIncumbentIsReadAgain: of settings whose readings vary, the one that is worth most
// with its chance is compared with, and reading it again is worth something while it is in doubt.
func TestADoubtfulIncumbentIsReadAgain(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	state, _ := fitted(t, cfg, h)
	c := deciding(state).incumbent
	if c == nil || c.place.Arm == 3 || !(c.repeatValue > 0) {
		t.Fatalf("the incumbent is %+v, want a setting that may be within its limit and is worth another look", c)
	}
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].Value = -3 + 0.01*h.Rounds[i].Readings[1].Value
	}
	state, _ = fitted(t, cfg, h)
	if certain := deciding(state).incumbent; certain.place.Arm != 5 || !(certain.repeatValue < c.repeatValue/10) {
		t.Errorf("where all are within their limit the incumbent is setting %d, and another look worth %g after %g", certain.place.Arm+1, certain.repeatValue, c.repeatValue)
	}
}

// TestWhatWaitsAgainCountsAsRead: settings that were read and are being read again are one place, whose
// means differ by rounding alone. That decided whether another reading is worth anything.
func TestWhatWaitsAgainCountsAsRead(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) { c.Algorithm, c.Space.Arms = "log-cei", candidates(30, 2) }, `{}`)
	compared := 0
	for seed := range uint64(20) {
		var again [2]float64
		for i, factor := range []float64{1, 1 + 0x1p-50} {
			h := amongArms(cfg, played(cfg, 10, seed))
			for n := range h.Rounds {
				h.Rounds[n].Readings[0].Value *= factor
			}
			best := deciding(mustReplay(t, cfg, h)).incumbent.place
			h.Rounds = append(h.Rounds, Round{Point: best.U, Arm: best.Arm, Suggested: true, Readings: make([]Reading, 2)})
			if c := deciding(mustReplay(t, cfg, h)).incumbent; samePlace(c.place, best) {
				again[i] = c.repeatValue
				compared++
			}
		}
		if math.Abs(again[0]-again[1]) > 1e-12 {
			t.Errorf("seed %d: by the last bit of the readings another is worth %g or %g", seed, again[0], again[1])
		}
	}
	if compared < 30 {
		t.Errorf("the settings that wait were compared with in %d of 40 games", compared)
	}
}

// TestToldNoiseIsTheNoiseOfTheNextReading: where every reading comes with its standard deviation,
// the next one is expected to have it too, times the fitted factor, whatever residuals say of the
// rest of the model.
func TestToldNoiseIsTheNoiseOfTheNextReading(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 40)
	for i := range h.Rounds {
		for k := range h.Rounds[i].Readings {
			h.Rounds[i].Readings[k].SD = 0.2
		}
	}
	cfg.Metrics[0].Warp, cfg.Metrics[1].Warp = false, false
	timid := FittedMetric{Set: true, Centre: 0, Scale: 1, Lengthscales: []float64{0.4}, Lambda: 100, Variance: 9, Count: 9}
	h.Fits = []Fit{{From: 10, Metrics: []FittedMetric{timid, timid}}}
	state, whole := fitted(t, cfg, h)
	if whole.Fits[1].Metrics[0].Inflation == 1 {
		t.Error("residuals change nothing here, so this shows nothing")
	}
	for k, m := range state.Models() {
		f := whole.Fits[1].Metrics[k]
		if math.Abs(m.Told*m.Told-f.Told) > 1e-12 {
			t.Errorf("metric %d: what was told is said to count %g times, by the fit it is √%g", k, m.Told, f.Told)
		}
		if sd := math.Sqrt(m.Lambda) * m.Scale; f.Told == 0 || math.Abs(sd-0.2*math.Sqrt(f.Told)) > 1e-9 {
			t.Errorf("metric %d: readings are expected to vary by %g, told were 0.2 (factor %g, inflation %g)", k, sd, f.Told, f.Inflation)
		}
	}
	h.Rounds[7].Readings[0].SD = 0 // one that did not tell is what the noise is fitted from
	state, one := fitted(t, cfg, h)
	if m := state.Models()[0]; math.Abs(math.Sqrt(m.Lambda)*m.Scale-0.2) < 1e-9 {
		t.Error("what was told stands for a reading that did not tell")
	}
	if all, but := whole.Fits[1].Metrics[0].Told, one.Fits[1].Metrics[0].Told; !(math.Abs(math.Log(but/all)) < 0.1) {
		t.Errorf("what was told counts %g times where one reading of 40 told nothing, %g times where all told", but, all)
	}
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].SD = 1e-9
	}
	state, tiny := fitted(t, cfg, h)
	if lambda, told := state.Models()[1].Lambda, tiny.Fits[1].Metrics[1].Told; !(told > 1000) || math.Abs(lambda-told*fit.LeastNoise) > 1e-12*lambda {
		t.Errorf("readings told to be exact are expected to vary by λ = %g, and by %g times the least in the fit", lambda, told)
	}
}

// TestAReadingAgainVariesAsWhatWasToldThere: of one setting every reading told a tenth of what the others
// did. What all told on average is the noise of a setting never tried, not of these.
func TestAReadingAgainVariesAsWhatWasToldThere(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 40)
	cfg.Metrics[1].Warp = false
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].SD = 0.2
		if h.Rounds[i].Arm == h.Rounds[0].Arm {
			h.Rounds[i].Readings[1].SD = 0.02
		}
	}
	state, _ := fitted(t, cfg, h)
	beliefs, _ := must.Get2(state.Believe(t.Context(), []Place{state.placeOf(1), state.placeOf(2)}, nil))(t)
	for i, told := range []float64{0.02, 0.2} {
		b := beliefs[1]
		noise := math.Sqrt(b.ReadingSD[i]*b.ReadingSD[i] - b.SD[i]*b.SD[i])
		if told *= state.Models()[1].Told; math.Abs(noise/told-1) > 1e-6 {
			t.Errorf("setting %d: a reading there varies by %g, told were %g", i+1, noise, told)
		}
	}
}

// TestTheFactorOfToldNoiseHolds: a fit that found the variances told too small by a factor 4 stands
// for standard deviations told twice as large, to the bit.
func TestTheFactorOfToldNoiseHolds(t *testing.T) {
	t.Parallel()
	var beliefs [2][]Belief
	for i, factor := range []float64{4, 0} {
		cfg, h := lathe(t, 30)
		for n := range h.Rounds {
			for k := range h.Rounds[n].Readings {
				h.Rounds[n].Readings[k].SD = 0.1 * float64(1+i)
			}
		}
		of := FittedMetric{Set: true, Scale: 1, Lengthscales: []float64{0.4}, Lambda: 0.1, Told: factor, Variance: 2, Count: 30}
		h.Fits = []Fit{{From: 31, Metrics: []FittedMetric{of, of}}}
		state := mustReplay(t, cfg, h)
		beliefs[i] = state.beliefs([]Place{state.placeOf(3), state.placeOf(9)})
	}
	if !reflect.DeepEqual(beliefs[0], beliefs[1]) {
		t.Errorf("a factor 4 and twice the deviation differ:\n%v\n%v", beliefs[0], beliefs[1])
	}
}

// TestAReadingInDoubtHasLittleSay: what looks like a slip is left out of fits, and of what else could
// have been fitted, and of what is believed it changes hardly anything, however large it is.
func TestAReadingInDoubtHasLittleSay(t *testing.T) {
	t.Parallel()
	const slipped = 20
	told := func(reading Reading) (*State, FittedMetric, []metricModel, float64) {
		cfg, h := lathe(t, 30)
		h.Rounds[slipped-1].Readings[0] = reading
		state, whole := fitted(t, cfg, h)
		beliefs := state.beliefs([]Place{state.placeOf(slipped)})
		src := &state.shown.sources[state.shown.sourceOf[0]]
		around := sure(state.sampledModels(0, src, sure(src.Rows(t.Context()))))
		return state, whole.Fits[0].Metrics[0], around, beliefs[0].Mean[0]
	}
	_, without, others, believed := told(Reading{})
	for _, value := range []float64{9, 1e4, -1e90} {
		state, fit, around, mean := told(Reading{Told: true, Value: value, Revealed: slipped, InDoubt: true, Expected: 1})
		if !reflect.DeepEqual(fit, without) || math.Abs(mean-believed) > 0.01 {
			t.Errorf("%g in doubt: %g is believed where it was %g, fit %+v instead of %+v", value, mean, believed, fit, without)
		}
		if len(around) == 0 || !reflect.DeepEqual(around, others) {
			t.Errorf("%g in doubt: %d models are drawn around the fit, %d without it, or others", value, len(around), len(others))
		}
		if state.FitDue() {
			t.Errorf("%g in doubt makes another fit due", value)
		}
	}
}

// TestDoubtIsANoise: a reading in doubt is one with its distance from what was expected as a further
// noise.
func TestDoubtIsANoise(t *testing.T) {
	t.Parallel()
	var beliefs [2][]Belief
	for i, reading := range []Reading{{Told: true, Value: 6, Revealed: 9, InDoubt: true, Expected: 3}, {Told: true, Value: 6, Revealed: 9, SD: math.Sqrt(0.1*4 + 9)}} {
		cfg, h := lathe(t, 30)
		h.Rounds[8].Readings[0] = reading
		of := FittedMetric{Set: true, Centre: 1, Scale: 2, Lengthscales: []float64{0.4}, Lambda: 0.1, Variance: 2, Count: 30}
		h.Fits = []Fit{{From: 31, Metrics: []FittedMetric{of, of}}}
		state := mustReplay(t, cfg, h)
		beliefs[i] = state.beliefs([]Place{state.placeOf(9), state.placeOf(10)})
	}
	for at := range 2 {
		if got, want := beliefs[0][0].Mean[at], beliefs[1][0].Mean[at]; math.Abs(got-want) > 1e-9 {
			t.Errorf("place %d: %g in doubt, %g with the noise told", at, got, want)
		}
	}
}

// TestAReadingInDoubtIsNotTheBestOne: neither is it what improvements are expected over, nor what a
// trust region lies around. Neither is one at a place that may be chosen no more.
func TestAReadingInDoubtIsNotTheBestOne(t *testing.T) {
	t.Parallel()
	const slipped = 20
	var improvements [4]float64
	large := Reading{Told: true, Value: 300, Revealed: slipped}
	for i, reading := range []Reading{{}, {Told: true, Value: 300, Revealed: slipped, InDoubt: true, Expected: 3}, large, large} {
		for _, algorithm := range []string{"cei", "scbo"} {
			cfg, h := lathe(t, 30)
			cfg.Algorithm, h.Rounds[slipped-1].Readings[0], h.Rounds[slipped-1].Readings[1].Value = algorithm, reading, -1
			h.Rounds[slipped-1].Gone = i == 3
			state, _ := fitted(t, cfg, h)
			if algorithm == "cei" {
				improvements[i] = slices.Max(sure(state.Acquisition(background, state.arms.places, Known{})).Values)
			} else if complete := deciding(state).past()[slipped-1].Complete; complete != (i == 2) {
				t.Errorf("%d: reading %+v may be the best: %t", i, reading, complete)
			}
		}
	}
	if !(improvements[1] > improvements[0]/2) || improvements[2] > improvements[0]/2 || !(improvements[3] > improvements[2]) {
		t.Errorf("without the reading, where it is in doubt, where it counts and where its place is gone there are improvements of %g", improvements)
	}
}

// TestNoiseToldCountsInEveryRegression: of algorithms that regress other points or responses than the
// readings that arrived, too. A doubt is a noise.
func TestNoiseToldCountsInEveryRegression(t *testing.T) {
	t.Parallel()
	for algorithm, settings := range map[string]map[string]any{"rpol-ucb": nil, "rpol-censored-ucb": toySettings("rpol-censored-ucb"), "penalty-noisy": nil, "penalty-noiseless": nil} {
		var values [3][]float64
		for i, reading := range []Reading{{Told: true, Value: 6, Revealed: 9}, {Told: true, Value: 6, Revealed: 9, InDoubt: true, Expected: 3},
			{Told: true, Value: 6, Revealed: 9, SD: math.Sqrt(0.1*4 + 9)}} {
			cfg, h := lathe(t, 30)
			cfg.Algorithm = algorithm
			cfg.Settings = resolved(t, cfg, settings)
			h.Rounds[8].Readings[0] = reading
			of := FittedMetric{Set: true, Centre: 1, Scale: 2, Lengthscales: []float64{0.4}, Lambda: 0.1, Variance: 2, Count: 30}
			h.Fits = []Fit{{From: 9, Metrics: []FittedMetric{of, of}}}
			state := mustReplay(t, cfg, h)
			values[i] = sure(deciding(state).estimate(background, state.arms.places, nil))[0].Mean
		}
		for arm := range values[0] {
			if math.Abs(values[1][arm]-values[2][arm]) > 1e-9 || arm == 2 && math.Abs(values[0][arm]-values[1][arm]) < 1e-3 {
				t.Errorf("%s, candidate %d: %g, in doubt %g, with as much noise told %g", algorithm, arm, values[0][arm], values[1][arm], values[2][arm])
			}
		}
	}
}

// TestWhatWasExpectedIsWithoutTheDoubt: a reading in doubt was expected as any other would have been, whatever
// came out; that it is modelled with its surprise as a noise is of later.
func TestWhatWasExpectedIsWithoutTheDoubt(t *testing.T) {
	t.Parallel()
	var ahead [2]Predicted
	for i, reading := range []Reading{{Told: true, Value: 300, Revealed: 20, InDoubt: true, Expected: 3}, {Told: true, Value: 3, Revealed: 20}} {
		cfg, h := lathe(t, 30)
		h.Rounds[19].Readings[0] = reading
		of := FittedMetric{Set: true, Centre: 1, Scale: 2, Lengthscales: []float64{0.4}, Lambda: 0.1, Variance: 2, Count: 10, Warp: warp.Warp{Power: 0.6, Centre: 0.1, Scale: 1.1}}
		h.Fits = []Fit{{From: 11, Metrics: []FittedMetric{of, of}}}
		cfg.Metrics[0].Warp = true
		ahead[i] = *sure(mustReplay(t, cfg, h).Trace(t.Context()))[19].Ahead[0]
	}
	if ahead[0] != ahead[1] {
		t.Errorf("%+v in doubt, %+v without", ahead[0], ahead[1])
	}
}

// TestDoubtsSayNothingOfNoise: that readings in doubt came out as a noise as large as their surprise lets
// them is no reason to believe in narrower bands, nor that one of them is another than a reading of the
// same settings to believe that readings vary.
func TestDoubtsSayNothingOfNoise(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 30)
	of := FittedMetric{Set: true, Centre: 1, Scale: 2, Lengthscales: []float64{0.4}, Lambda: 0.1, Variance: 2, Count: 10}
	h.Fits = []Fit{{From: 11, Metrics: []FittedMetric{of, of}}}
	for i := range h.Rounds[10:] {
		h.Rounds[10+i].Readings[0] = Reading{Told: true, Value: 300, Revealed: 11 + i, InDoubt: true, Expected: 3}
	}
	if c := sure(mustReplay(t, cfg, h).inflation(t.Context(), 0)); c != 1 {
		t.Errorf("the inflation is %g where nothing but doubts speaks for one", c)
	}
	for i := range h.Rounds {
		for k := range h.Rounds[i].Readings {
			h.Rounds[i].Readings[k] = Reading{Told: true, Value: h.Rounds[i].Point[0], Revealed: i + 1}
		}
	}
	h.Rounds[20].Readings[0] = Reading{Told: true, Value: 300, Revealed: 21, InDoubt: true, Expected: 3}
	if h.readingsVary(cfg) {
		t.Error("readings vary by one in doubt")
	}
	h.Rounds[20].Readings[0].InDoubt = false
	if !h.readingsVary(cfg) {
		t.Error("readings do not vary where one that nobody doubts is another")
	}
}

// TestInflationIsNotDecidedByWhereNoiseWasTold: two fits that differ in inflation alone choose
// alike then, and what they say differs in width; where nothing was told the decision knows of it,
// too.
func TestInflationIsNotDecidedByWhereNoiseWasTold(t *testing.T) {
	t.Parallel()
	for _, told := range []float64{1, 0} {
		var decisions, others [2]Decision
		for i, inflation := range []float64{1, 0.25} {
			cfg, h := lathe(t, 30)
			for n := range h.Rounds {
				for k := range h.Rounds[n].Readings {
					h.Rounds[n].Readings[k].SD = 2 * told
				}
			}
			of := FittedMetric{Set: true, Scale: 1, Lengthscales: []float64{0.4}, Lambda: 0.1, Told: told, Variance: 2, Inflation: inflation, Freedom: 5, Count: 30}
			h.Fits = []Fit{{From: 31, Metrics: []FittedMetric{of, of}}}
			state := mustReplay(t, cfg, h)
			decisions[i] = sure(state.Suggest(background, Known{}))
			others[i] = sure(state.Own(background, state.placeOf(5), Known{}))
		}
		as, by := decisions[0], decisions[1]
		if same := slices.Equal(as.Estimates, by.Estimates) && as.Acquisition == by.Acquisition && as.Place.Arm == by.Place.Arm; same != (told == 1) {
			t.Errorf("told %t: the decisions\n%+v\n%+v", told == 1, as, by)
		}
		if as.Place.Arm != by.Place.Arm {
			continue
		}
		for k := range as.SD {
			if math.Abs(by.SD[k]/as.SD[k]-0.5) > 1e-9 {
				t.Errorf("told %t: metric %d has deviation %g in place of %g, want half", told == 1, k, by.SD[k], as.SD[k])
			}
		}
		if gains := []float64{others[0].ExpectedImprovement, others[1].ExpectedImprovement}; told == 1 && (as.FeasibilityProbability == by.FeasibilityProbability || !(gains[1] < gains[0])) {
			t.Errorf("a quarter of the variance says chances of %g and %g and gains of %g elsewhere", as.FeasibilityProbability, by.FeasibilityProbability, gains)
		}
	}
}

// TestInflationDoesNotFeedItself: what residuals ask for is the same whatever inflation they were said
// with, where noise was told or given, as where it is fitted.
func TestInflationDoesNotFeedItself(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		told  float64
		given bool
	}{
		{"told", 0.5, false},
		{"given", 0, true},
		{"fitted", 0, false},
	} {
		var found [2]float64
		for i, inflation := range []float64{1, 0.25} {
			cfg, h := lathe(t, 40)
			cfg.Metrics[1].FreeNoise, cfg.Metrics[1].Lambda = !test.given, 0.25
			for n := range h.Rounds {
				h.Rounds[n].Readings[1].SD = test.told
			}
			of := FittedMetric{Set: true, Scale: 1, Lengthscales: []float64{0.4}, Lambda: 0.25, Variance: 0.5, Inflation: inflation, Freedom: 5, Count: 6}
			if test.told > 0 {
				of.Told = 1
			}
			h.Fits = []Fit{{From: 7, Metrics: []FittedMetric{of, of}}}
			found[i] = sure(mustReplay(t, cfg, h).inflation(t.Context(), 1))
		}
		if found[0] == 1 || math.Abs(found[1]/found[0]-1) > 0.2 {
			t.Errorf("%s: residuals ask for an inflation of %g, and where they were said with a quarter of the variance for %g", test.name, found[0], found[1])
		}
	}
}

// TestReadingsHaveTheirOwnScale: however close they are for their size, but for those that differ by
// their last bit, as equal ones do that were computed in two ways.
func TestReadingsHaveTheirOwnScale(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ at, apart, scale float64 }{
		{0, 1, 0.5}, {1e12, 1e-3, 5e-4}, {-1e12, 1e-3, 5e-4}, {1e5, 1e-9, 5e-10}, {1e5, 0, 1}, {0.3, 5e-17, 1}, {0, 0, 1},
	} {
		cfg, h := lathe(t, 1000)
		for n := range h.Rounds {
			h.Rounds[n].Readings[0].Value = test.at + test.apart*float64(n%2)
		}
		state := mustReplay(t, cfg, h)
		centre, scale := state.centreAndScale(0, state.told(0))
		if math.Abs(scale/test.scale-1) > 0.1 || math.Abs(centre-test.at-test.apart/2) > 0.3*test.apart+lastBit*math.Abs(test.at) {
			t.Errorf("%g apart around %g: centre %g + %g, scale %g", test.apart, test.at, test.at, centre-test.at, scale)
		}
	}
}

// TestNothingIsRecommendedBeforeThereIsAScale: readings in units of which nothing is known yet say
// nothing of a setting.
func TestNothingIsRecommendedBeforeThereIsAScale(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 12)
	state := mustReplay(t, cfg, h)
	if round, open := sure(state.Recommendation(background)), sure(state.Undecided(background)); round != 0 || open.Round != 0 {
		t.Errorf("round %d is recommended and %+v undecided before there is a scale", round, open)
	}
}

// TestExactReadingsBeyondALimitAreNoAnswer: the model smooths over a reading just beyond the limit;
// while nothing says that a second one would differ, it is taken at its word.
func TestExactReadingsBeyondALimitAreNoAnswer(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) {
		adaptive(c)
		c.Algorithm = "log-cei"
	}, `{}`)
	h := &History{}
	for i, cost := range []float64{-0.3, -0.3, 0.05, -0.3, -0.3, -0.3} {
		h.Rounds = append(h.Rounds, Round{Point: []float64{0.3 + 0.02*float64(i)}, Arm: -1, Suggested: true, Readings: []Reading{
			{Told: true, Value: 1 - 0.3*math.Abs(float64(i-2)), Revealed: i + 1}, {Told: true, Value: cost, Revealed: i + 1}}})
	}
	smooth := FittedMetric{Set: true, Centre: 0, Scale: 1, Lengthscales: []float64{2}, Lambda: 0.1, Variance: 1, Count: 6}
	rough := smooth
	rough.Lengthscales = []float64{0.01}
	h.Fits = []Fit{{From: 7, Metrics: []FittedMetric{rough, smooth}}}
	state := mustReplay(t, cfg, h)
	if chance := state.feasibility(state.placeOf(3))[0]; chance < likelier {
		t.Fatalf("the chance of the third is %g, so this shows nothing", chance)
	}
	if round := sure(state.Recommendation(background)); round == 3 || round == 0 {
		t.Errorf("round %d is recommended", round)
	}
	again := h.Rounds[0]
	again.Readings = []Reading{{Told: true, Value: 0.5, Revealed: 7}, {Told: true, Value: -0.1, Revealed: 7}}
	h.Rounds = append(h.Rounds, again)
	if round := sure(mustReplay(t, cfg, h).Recommendation(background)); round != 3 {
		t.Errorf("round %d is recommended where readings vary, want the third, which the model has within the limit", round)
	}
}

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

// TestAReadingBeyondALogarithmIsFitted: one that is not positive, or much less than all others, has
// no place among their logarithms, and a fit comes before the next decision.
func TestAReadingBeyondALogarithmIsFitted(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 0, adaptive, `{}`)
	cfg.Metrics[0].Warp = true
	h := played(cfg, 24, 3)
	for i := range h.Rounds {
		h.Rounds[i].Readings[0].Value = math.Pow(10, 4*h.Rounds[i].Point[0])
	}
	h = withFit(t, mustReplay(t, cfg, h), h)
	for value, beyond := range map[float64]bool{-0.001: true, 1e-6: true, 0.9: false, 20_000: false} {
		next := h.Rounds[0]
		next.Point, next.Readings = []float64{0.5}, []Reading{{Told: true, Value: value, Revealed: 24}}
		told := mustReplay(t, cfg, &History{Rounds: append(slices.Clip(h.Rounds), next), Fits: h.Fits})
		if told.FitDue() != beyond {
			t.Errorf("after a reading of %g a fit is due: %t", value, told.FitDue())
		}
		if beyond {
			fitted := withFit(t, told, &History{Rounds: told.history.Rounds, Fits: h.Fits})
			if s := mustReplay(t, cfg, fitted); s.FitDue() || s.Models()[0].Warp.Logarithmic() != (value > 0) {
				t.Errorf("after a reading of %g it is fitted as %+v, and due again %t", value, s.Models()[0].Warp, s.FitDue())
			}
		}
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
		f := must.Get(mustReplay(t, cfg, h).FitNow(background))(t)
		if got := f.Metrics[0].Warp.Logarithmic(); got != c.want {
			t.Errorf("readings from 1 to 10,000, each ± %g: logarithmic is %v", c.sd, got)
		}
	}
}

// TestEqualReadingsAreNotWarped: there is no warping to choose.
func TestEqualReadingsAreNotWarped(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{7, 0.1, 1e9 / 3} { // of which sums round
		if f := fittedCosts(t, "anova", func(int, int) float64 { return value }); f.Warp != warp.Identity || f.Interaction == 0 {
			t.Errorf("of %g fitted %+v", value, f)
		}
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
	f := must.Get(mustReplay(t, cfg, &History{Rounds: twentyRounds(price)}).FitNow(t.Context()))(t)
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

// TestWhatImprovesIsTheObjective: beside a trial that broke its limit, as far as the objective and
// its deviations can, not by what keeping the limit is worth.
func TestWhatImprovesIsTheObjective(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) { c.Algorithm = "log-cei" }, `{"initial_design": 1}`)
	h := played(cfg, 6, 4)
	for i := range h.Rounds {
		h.Rounds[i].Point[0] /= 4
		h.Rounds[i].Readings[0].Value, h.Rounds[i].Readings[1].Value = 5*h.Rounds[i].Point[0], 3
	}
	state := mustReplay(t, cfg, h)
	d := sure(state.Own(background, Place{U: []float64{1}, Arm: -1}, Known{}))
	there := state.beliefs([]Place{d.Place, state.placeOf(d.Incumbent)})[0]
	if most := policy.ExpectedImprovement(there.Mean[0]-there.Mean[1], there.SD[0]+there.SD[1]); !(d.ExpectedImprovement <= most) {
		t.Errorf("%g is expected over trial %d, and at most %g can be", d.ExpectedImprovement, d.Incumbent, most)
	}
}
