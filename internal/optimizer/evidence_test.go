package optimizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// throng is a history of so many rounds on candidates, most readings told in their own round, some
// late, some never.
func throng(cfg *Config, n int, random *rand.Rand) *History {
	h := &History{}
	for t := 1; t <= n; t++ {
		r := asked(cfg, t, random)
		for m := range r.Readings {
			if value := random.NormFloat64(); random.IntN(40) > 0 {
				r.Readings[m] = Reading{Told: true, Value: value, Revealed: min(n, t+random.IntN(12)/9*random.IntN(20))}
			}
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// few are the first candidates of the toy's grid.
func few(arms int) ground {
	g := grounds()[0]
	g.space.Arms = g.space.Arms[:arms]
	return g
}

// byRowsInstead is the same study, with the same places but without a list of candidates, so that
// it is regressed by rows.
func byRowsInstead(cfg *Config, h *History) (*Config, *History) {
	plain := *cfg
	plain.Space.Arms = nil
	plain.SafeSeeds = []Place{{U: cfg.SafeSeeds[0].U, Arm: -1}}
	rows := &History{Rounds: slices.Clone(h.Rounds), Fits: h.Fits}
	for i := range rows.Rounds {
		rows.Rounds[i].Arm = -1
	}
	return &plain, rows
}

// crowds are the algorithms that can be regressed over all candidates together.
func crowds(t *testing.T) (names []string) {
	for _, a := range policy.Descriptions() {
		if s := mustReplay(t, toyConfig(t, a.Name, grounds()[0], 1), &History{}); s.traits.First == nil && !s.traits.ActsOnOwnData() {
			names = append(names, a.Name)
		}
	}
	return names
}

// TestGamesOfManyReadingsAreRegressedAsRows compares the posterior over all candidates with that by
// the rows of a factor, through all that a state says.
func TestGamesOfManyReadingsAreRegressedAsRows(t *testing.T) {
	t.Parallel()
	for i, algorithm := range crowds(t) {
		for _, pending := range []string{"variance", "ignore"} {
			if pending == "ignore" && i%3 != 0 {
				continue // what waits is left out in one place for all algorithms
			}
			t.Run(algorithm+" "+pending, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(3, 0))
				cfg := toyConfig(t, algorithm, few(7), 1)
				settings := toySettings(algorithm)
				if settings == nil {
					settings = map[string]any{}
				}
				settings["pending"] = pending
				if algorithm == "log-cei" {
					settings["caution"] = 0.5 // among candidates it weighs as much as 1 elsewhere
				}
				cfg.Settings = resolved(t, cfg, settings)
				h := throng(cfg, 540, random)
				h.Fits = []Fit{{From: 300, Metrics: make([]FittedMetric, len(cfg.Metrics))}}
				for i := range h.Fits[0].Metrics {
					h.Fits[0].Metrics[i] = FittedMetric{Set: true, Scale: 1, Lengthscales: []float64{0.5, 0.3}, Lambda: 0.03, Count: 200}
				}
				cfg.Fit = true
				s := mustReplay(t, cfg, h)
				if _, crowd := s.next.sources[0].Posterior.(*posterior.Candidates); !crowd || s.regimes[0].groups[0].Data == nil {
					t.Fatal("540 readings of 7 candidates are regressed by rows, or 300 are not")
				}
				plain, rows := byRowsInstead(cfg, h)
				if algorithm == "log-cei" {
					settings["caution"] = 1
					plain.Settings = resolved(t, plain, settings)
				}
				want := mustReplay(t, plain, rows)
				check := func(what string, got, want any) {
					t.Helper()
					if diff := difference(want, got, within8); diff != "" {
						t.Errorf("%s:\n%s", what, diff)
					}
				}
				check("path", s.pastMultipliers.items, want.pastMultipliers.items)
				check("models", s.Models(), want.Models())
				check("trace", sure(s.Trace(background)), sure(want.Trace(background)))
				check("violations", sure(s.Violations(background)), sure(want.Violations(background)))
				places, same := s.arms.places, []Place{}
				for _, p := range places {
					same = append(same, Place{U: p.U, Arm: -1})
				}
				check("posterior", s.beliefs(places), want.beliefs(same))
				check("posterior between the candidates", s.beliefs([]Place{{U: []float64{0.33, 0.1}, Arm: -1}}),
					want.beliefs([]Place{{U: []float64{0.33, 0.1}, Arm: -1}}))
				check("acquisition", sure(s.Acquisition(background, places, toyKnown())), sure(want.Acquisition(background, same, toyKnown())))
				input := sure(deciding(s).inputAt(background, places, toyKnown().at(places), s.draw(s.Round())))
				other := sure(deciding(want).inputAt(background, same, toyKnown().at(same), want.draw(want.Round())))
				if input.Set == nil {
					return
				}
				among := []int{2, 5}
				check("covariances", sure(input.Set.Covariances(0, among))(3), sure(other.Set.Covariances(0, among))(3))
				check("earlier", sure(input.Set.Earlier(530)).Reward, sure(other.Set.Earlier(530)).Reward)
			})
		}
	}
}

// TestGamesOfManyReadingsFollowEveryEdit is TestGamesFollowEveryEdit where readings are many: they
// are regressed over all candidates, or come to be.
func TestGamesOfManyReadingsFollowEveryEdit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"rpol-ucb", "ckb-ucb", "ckb-rand", "log-cei", "scgp-ucb"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			for life := range uint64(2) {
				random := rand.New(rand.NewPCG(life, 1))
				cfg := toyConfig(t, algorithm, few(5), 1)
				h := throng(cfg, 515+random.IntN(40), random)
				state := mustReplay(t, cfg, h)
				for range 6 {
					next, what := edited(random, cfg, h)
					if what != "back" {
						h = next
					}
					state = sure(state.Extend(background, next))
					compare(t, what, within9, state, mustReplay(t, cfg, next))
				}
			}
		})
	}
}

// TestFirstScaleOfACrowd takes in the costs of many rounds when their metric gets its first scale.
func TestFirstScaleOfACrowd(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"ckb-ucb", "rpol-ucb"} {
		cfg := toyConfig(t, algorithm, few(5), 1)
		cfg.Standardize = true
		h := throng(cfg, 560, rand.New(rand.NewPCG(5, 0)))
		h.Fits = []Fit{{From: 555, Metrics: []FittedMetric{{Set: true, Centre: 0.1, Scale: 2, Count: 500}, {Set: true, Centre: -0.1, Scale: 3, Count: 500}}}}
		s := mustReplay(t, cfg, h)
		plain, rows := byRowsInstead(cfg, h)
		if diff := difference(mustReplay(t, plain, rows).pastMultipliers.items, s.pastMultipliers.items, within8); diff != "" {
			t.Errorf("%s: %s", algorithm, diff)
		}
	}
}

// within8 allows for what a thousand readings of the same places lose between two orders of
// summation.
func within8(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-8*max(1, math.Abs(a))
}
