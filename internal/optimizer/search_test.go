package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/search"
)

// TestGamesOfManyWaitingFollowEveryEdit asks for trial after trial while many wait, with edits of
// the past in between: states that carry on what was known of the waiting trials and of the listed
// places must decide as those replayed from nothing do, to the last bit.
func TestGamesOfManyWaitingFollowEveryEdit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"log-cei", "rpol-ucb", "ckb-rand", "penalty-noisy"} {
		for _, g := range grounds() {
			t.Run(fmt.Sprint(algorithm, " ", g.name), func(t *testing.T) {
				t.Parallel()
				for life := range uint64(2) {
					liveCrowded(t, toyConfig(t, algorithm, g, 1), rand.New(rand.NewPCG(life, 1)))
				}
			})
		}
	}
}

func liveCrowded(t *testing.T, cfg *Config, random *rand.Rand) {
	t.Helper()
	h := &History{}
	for n := range 12 + manyPending {
		h.Rounds = append(h.Rounds, asked(cfg, n+1, random))
		if n >= 12 {
			h.Rounds[n].Readings = make([]Reading, len(cfg.Metrics))
		}
	}
	state := mustReplay(t, cfg, h)
	for range 12 {
		what := "ask"
		if random.IntN(3) == 0 {
			h, what = edited(random, cfg, h)
		} else {
			d := sure(state.Suggest(background, toyKnown()))
			next := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]Reading, len(cfg.Metrics)),
				Costs: make([]float64, len(cfg.Costs))}
			h = &History{Rounds: append(slices.Clip(h.Rounds), next), Fits: h.Fits}
		}
		state = sure(state.Extend(background, h))
		whole := mustReplay(t, cfg, h)
		got, want := sure(state.Suggest(background, toyKnown())), sure(whole.Suggest(background, toyKnown()))
		if diff := cmp.Diff(want, got, exactly); diff != "" {
			t.Fatalf("the decision after %s:\n%s", what, diff)
		}
		compare(t, what, sameBits, state, whole)
	}
}

// TestShortlistChangesWithTheReadings: while nothing is read, decisions share one list; as readings
// come in, other places are listed.
func TestShortlistChangesWithTheReadings(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{}`)
	waiting := func(told, more int) *History {
		h := played(cfg, told+more, 1)
		for i := range more {
			h.Rounds[told+i].Readings = make([]Reading, len(cfg.Metrics))
		}
		return h
	}
	if s := mustReplay(t, cfg, waiting(shortlistReadings, manyPending)); s.decision.shortlist != nil {
		t.Errorf("%d waiting trials are many", manyPending)
	}
	s := mustReplay(t, cfg, waiting(shortlistReadings, manyPending+1))
	next := sure(s.Extend(background, waiting(shortlistReadings, manyPending+2)))
	if s.decision.shortlist == nil || next.decision.shortlist != s.decision.shortlist {
		t.Error("the next decision looks at another list")
	}
	later := sure(next.Extend(background, waiting(2*shortlistReadings, manyPending+1)))
	again := 0
	for _, p := range later.decision.shortlist.places {
		if slices.ContainsFunc(s.decision.shortlist.places, func(q Place) bool { return slices.Equal(p.U, q.U) }) {
			again++
		}
	}
	if again > shortlistSpread/10 { // corners may be
		t.Errorf("%d of %d places are listed again", again, len(later.decision.shortlist.places))
	}
}

// TestScreeningKeepsTheBest compares screening by bounds with scoring every place.
func TestScreeningKeepsTheBest(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"log-cei", "rpol-ucb", "config"} {
		cfg := plain(t, 3, 1, func(cfg *Config) { cfg.Algorithm = algorithm }, `{}`)
		state := sure(Replay(background, cfg, played(cfg, 260, 11)))
		if algorithm == "log-cei" && deciding(state).incumbent == nil {
			t.Fatal("no round is an incumbent")
		}
		at := deciding(state).startingPlaces()
		scores, _ := must.Get2(deciding(state).climbing(Known{}).scoreAll(background, at))(t)
		list, _ := must.Get2(deciding(state).climbing(Known{}).screen(background, at))(t)
		want := leaders(at, scores, 1)[0].score
		if got := list[0].score; math.Abs(got.Value-want.Value) > 1e-9*math.Max(1, math.Abs(want.Value)) || got.Allowed != want.Allowed {
			t.Errorf("%s: screening finds %+v, the best is %+v", algorithm, got, want)
		}
		if algorithm != "log-cei" {
			continue
		}
		all := &screening{climbing: deciding(state).climbing(Known{}), at: at, scores: map[int]search.Score{}}
		must.Do(t, all.screenMeans(background))
		if left := sure(all.prune(background, lists.Below(len(at)), 64)); len(left) > 2*len(at)/3 {
			t.Errorf("%s: %d of %d places are left after the first bound", algorithm, len(left), len(at))
		}
	}
}

// TestScreeningKeepsAllLeaders compares the starts of a search with those that scores of all places
// give, while no place is ruled out by fewer rows.
func TestScreeningKeepsAllLeaders(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{`{}`, `{"most_risk": 0.1}`, `{"caution": 4}`} {
		for _, rounds := range []int{8, 40, 150} {
			state := mustReplay(t, plain(t, 3, 2, func(c *Config) { c.Algorithm = "log-cei" }, settings), played(plain(t, 3, 2, nil, `{}`), rounds, 5))
			at, s := deciding(state).startingPlaces(), deciding(state).climbing(Known{})
			scores, _ := must.Get2(s.scoreAll(background, at))(t)
			list, _ := must.Get2(s.screen(background, at))(t)
			for n, want := range leaders(at, scores, mostAscents) {
				if len(list) <= n || list[n].score != want.score || !slices.Equal(list[n].u, want.u) {
					t.Errorf("%s, %d rounds: start %d of %d is not %+v", settings, rounds, n, len(list), want)
				}
			}
		}
	}
}

// TestScreeningLeavesSomething: along one parameter, where many readings tell nearly all, the
// default's bound falls short of scores, and used to leave no place at all.
func TestScreeningLeavesSomething(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 2, func(c *Config) {
		c.Algorithm, c.Standardize, c.Fit = "log-cei", true, true
		for i := range c.Metrics {
			m := &c.Metrics[i]
			m.FreeLengthscales, m.FreeNoise, m.FreeVariance = true, true, true
		}
	}, `{}`)
	h := played(cfg, 210, 1)
	h.Fits = []Fit{sure(mustReplay(t, cfg, h).FitNow(background))}
	must.Get(mustReplay(t, cfg, h).Suggest(background, Known{}))(t)
}

// TestTheEdgeOfRiskIsFollowed: along the edge of what is left of the risk no place near the suggested
// one is worth more, as a walk of many small steps finds it; and a state that was extended follows it
// as one from nothing does.
func TestTheEdgeOfRiskIsFollowed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(16) {
		cfg := plain(t, 3, 2, func(c *Config) { c.Algorithm = "log-cei" }, `{"most_risk": 0.1}`)
		h := played(cfg, 20, seed)
		state := mustReplay(t, cfg, h)
		d := sure(state.Suggest(background, Known{}))
		before := mustReplay(t, cfg, &History{Rounds: h.Rounds[:19]})
		if diff := cmp.Diff(d, sure(sure(before.Extend(background, h)).Suggest(background, Known{})), exactly); diff != "" {
			t.Errorf("%d: the decision of a state that was extended:\n%s", seed, diff)
		}
		s, random := deciding(state).climbing(Known{}), rand.New(rand.NewPCG(seed, 1))
		score := func(places []Place) []search.Score {
			scores, _, err := s.scoreAll(background, places)
			return sure(scores, err)
		}
		at, top := d.Place, score([]Place{d.Place})[0]
		chosen := top.Value
		for step := 0.1; step > 1e-6; step *= 0.8 {
			for range 4 {
				near := lists.Map(lists.Below(64), func(int) Place {
					return Place{U: lists.Map(at.U, func(u float64) float64 { return min(1, max(0, u+step*random.NormFloat64())) }), Arm: -1}
				})
				for i, other := range score(near) {
					if other.Allowed && other.Value > top.Value {
						at, top = near[i], other
					}
				}
			}
		}
		if top.Value > chosen+1e-3 {
			t.Errorf("%d: the logarithm of what %v promises is %g, and that of %v %g more", seed, d.Place.U, chosen, at.U, top.Value-chosen)
		}
	}
}
