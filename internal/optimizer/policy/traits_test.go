package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// describe spells traits in words.
func describe(d Description, t Traits) string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{
		{t.NeedsPast, "back"}, {t.NeedsSet, "all"}, {t.RisesWithUncertainty, "rises"}, {t.MovesByEstimate, "estimate"}, {d.Theorem != nil && d.Theorem.Short == "", "guaranteed"},
		{t.First != nil, "forgets"}, {d.ForDrift, "drift"}, {t.Draws != nil, "numbers"}, {t.Drawn != nil, "functions"}, {t.AvoidsKnown, "new"}, {t.Incumbent != nil || d.Compares, "compares"}, {t.Incumbent != nil != d.Compares, "only half"}, {(t.MovesByEstimate || d.NeedsSafeSeeds) != (d.Beware != ""), "breaks limits unsaid"}, {t.Upper != nil, "bounds scores"}, {t.Propose != nil, "proposes"}, {t.IgnoresEstimates, "blind"}, {(t.Functions != nil) != (t.Drawn != nil), "half drawn"}, {t.Considers != nil, "considers"},
		{t.Censoring != nil, "censored"}, {t.Response != nil, "penalised"}, {t.Ceiling != nil, "capped"}, {t.Bound != nil, "bounded"}, {(t.RegretBound != nil) != (t.Bound != nil), "one of two bounds"},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// withTheory are an algorithm's widths from theory, settings that none can do without that has them,
// and some of its own.
func withTheory(d Description, own ...string) string {
	var parts []string
	for _, s := range d.Settings {
		if set := map[string]string{"beta": theory, "delay_window": `"delay_window": 2`, "window": `"window": 3`, "restart_every": `"restart_every": 3`,
			"reuse": `"reuse": false`, "safe_seeds": `"safe_seeds": [{}]`}[s.Name]; set != "" {
			parts = append(parts, set)
		}
	}
	return "{" + strings.Join(append(parts, own...), ", ") + "}"
}

// ordinary makes an algorithm with them.
func ordinary(t *testing.T, d Description) Policy {
	t.Helper()
	study := studyOf(1)
	if d.NeedsGivenConstraint {
		study = knownBefore(study)
	}
	return made(t, d.Name, withTheory(d), study)
}

func TestTraits(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"log-cei":           "new compares bounds scores",
		"rpol-ucb":          "rises guaranteed bounded",
		"rpol-censored-ucb": "rises censored bounded",
		"rpol-sw-ucb":       "rises guaranteed forgets drift bounded",
		"ckb-ucb":           "rises estimate guaranteed capped bounded",
		"ckb-ts":            "all estimate functions capped bounded",
		"ckb-rand":          "estimate numbers bounds scores capped bounded",
		"ckb":               "all estimate functions capped bounded",
		"ckb-lyapunov":      "rises estimate guaranteed bounded",
		"ckb-restart-ucb":   "rises estimate forgets drift capped bounded",
		"ckb-sw-ucb":        "rises estimate forgets drift capped bounded",
		"scgp-ucb":          "rises bounded",
		"penalty-noiseless": "rises guaranteed forgets penalised capped bounded",
		"penalty-noisy":     "rises guaranteed forgets penalised bounded",
		"igp-ucb":           "rises",
		"config":            "rises",
		"epbo":              "rises",
		"cei":               "back",
		"scbo":              "back all functions new proposes considers",
		"safeopt":           "all",
		"stageopt":          "all",
		"sgp-ucb":           "all",
		"random":            "all proposes blind",
		"halton":            "back all proposes blind",
	}
	for _, d := range Descriptions() {
		if expected, listed := want[d.Name]; !listed {
			continue // an algorithm that says its traits in a test of its own
		} else if got := describe(d, ordinary(t, d).Traits()); got != expected {
			t.Errorf("%s is %q, want %q", d.Name, got, expected)
		}
		delete(want, d.Name)
	}
	for name := range want {
		t.Errorf("%s is not listed", name)
	}
}

// A policy that says its score rises with uncertainty is screened by upper bounds of the deviation,
// so it must never fall.
func TestScoresRiseWithUncertainty(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	for _, d := range Descriptions() {
		p := ordinary(t, d)
		if !p.Traits().RisesWithUncertainty {
			continue
		}
		for range 2000 {
			s := line(1, []float64{3 * random.NormFloat64()}, []float64{random.Float64()}, []float64{2 * random.NormFloat64()}, []float64{random.Float64()})
			s.Multipliers[0] = 3 * random.Float64()
			less := sure(p.Score(s))
			if random.IntN(2) == 0 {
				s.Reward.SD[0] += random.Float64()
			} else if !d.NeedsGivenConstraint {
				s.Costs[0].SD[0] += random.Float64()
			}
			more := sure(p.Score(s))
			switch {
			case allowed(less) && !allowed(more):
				t.Fatalf("%s forbids a place for its uncertainty: %+v", d.Name, s)
			case allowed(less) == allowed(more) && valueOf(more) < valueOf(less)-1e-12:
				t.Fatalf("the score of %s falls from %g to %g: %+v", d.Name, valueOf(less), valueOf(more), s)
			}
		}
	}
}

func allowed(s Scores) bool { return s.Allowed == nil || s.Allowed[0] }

func valueOf(s Scores) float64 {
	if allowed(s) {
		return s.Value[0]
	}
	return s.Fallback[0]
}

// someIncumbent draws what the places of the input are compared with, of correlations that a posterior
// could have.
func someIncumbent(random *rand.Rand, s *Input) *Incumbent {
	r := &Incumbent{Least: -3}
	for k, e := range append([]Estimate{s.Reward}, s.Costs...) {
		r.Mean, r.SD = append(r.Mean, random.NormFloat64()), append(r.SD, random.Float64())
		together, noise := make([]float64, len(e.SD)), make([]float64, len(e.SD))
		for i, sd := range e.SD {
			together[i], noise[i] = 0.99*random.Float64()*sd*r.SD[k], random.ExpFloat64()
		}
		r.Covariance, r.Noise = append(r.Covariance, together), append(r.Noise, noise)
	}
	r.Mean[0] = max(r.Mean[0], r.Least)
	r.Itself = make([]bool, len(s.Reward.Mean))
	return r
}

// shrink makes the deviations of the input smaller: with a rival that of the reward alone, as far
// as the covariance lets it.
func shrink(random *rand.Rand, s *Input) {
	for k, e := range append([]Estimate{s.Reward}, s.Costs...) {
		if k > 0 && s.Incumbent != nil {
			continue
		}
		for i := range e.SD {
			least := 0.0
			if s.Incumbent != nil {
				least = s.Incumbent.Covariance[k][i] / s.Incumbent.SD[k]
			}
			e.SD[i] = least + random.Float64()*(e.SD[i]-least)
		}
	}
}

// TestUpperScores holds that what an algorithm says its score is at most is never exceeded by the
// score with smaller deviations, nor what it says of that without taking long by either.
func TestUpperScores(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 0))
	for _, of := range [][2]string{{"log-cei", `{}`}, {"log-cei", `{"caution": 4}`}, {"log-cei", `{"most_risk": 0.2}`}, {"ckb-rand", `{}`}} {
		a, settings := made(t, of[0], of[1], studyOf(1)), of[1]
		for range 5000 {
			s := line(0, []float64{0}, []float64{1}, []float64{2 * random.NormFloat64()}, []float64{random.Float64()})
			s.Incumbent = someIncumbent(random, s)
			if random.IntN(4) == 0 || of[0] == "ckb-rand" {
				s.Incumbent = nil
			}
			s.Draw.Z = []float64{2 * random.NormFloat64(), 2 * random.NormFloat64()}
			upper := a.Traits().Upper(s)
			if a.Traits().QuickUpper != nil {
				above, score := a.Traits().QuickUpper(s), sure(a.Score(s))
				if allowed(above) != allowed(upper) || valueOf(above) < valueOf(upper) || allowed(score) && valueOf(above) < valueOf(score) {
					t.Fatalf("%s: %g is said to be above %g and %g: %+v, rival %+v", settings, valueOf(above), valueOf(upper), valueOf(score), s, s.Incumbent)
				}
			}
			shrink(random, s)
			score := sure(a.Score(s))
			if allowed(score) && !allowed(upper) || allowed(score) == allowed(upper) && valueOf(score) > valueOf(upper)+1e-12*max(1, -valueOf(upper)) {
				t.Fatalf("%s: a score of %g is bounded by %g: %+v, rival %+v", settings, valueOf(score), valueOf(upper), s, s.Incumbent)
			}
		}
	}
}
