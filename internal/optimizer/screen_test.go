package optimizer

import (
	"math"
	"slices"
	"testing"

	"headroom/internal/optimizer/search"
)

// TestScreeningKeepsTheBest compares screening by bounds with scoring every place.
func TestScreeningKeepsTheBest(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"log-cei", "rpol-ucb", "config"} {
		cfg := plain(t, 3, 1, func(cfg *Config) { cfg.Algorithm = algorithm }, `{}`)
		state := sure(Replay(background, cfg, played(cfg, 260, 11)))
		if algorithm == "log-cei" && state.next.incumbent == nil {
			t.Fatal("no round is an incumbent")
		}
		at := state.startingPlaces()
		scores, _, err := state.climbing(Known{}).scoreAll(background, at)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := state.climbing(Known{}).screen(background, at)
		if err != nil {
			t.Fatal(err)
		}
		want := leaders(at, scores, 1)[0].score
		if got := list[0].score; math.Abs(got.Value-want.Value) > 1e-9*math.Max(1, math.Abs(want.Value)) || got.Allowed != want.Allowed {
			t.Errorf("%s: screening finds %+v, the best is %+v", algorithm, got, want)
		}
		if algorithm != "log-cei" {
			continue
		}
		all := &screening{climbing: state.climbing(Known{}), at: at, scores: map[int]search.Score{}}
		if err := all.screenMeans(background); err != nil {
			t.Fatal(err)
		}
		if left := sure(all.prune(background, indices(len(at)), 64)); len(left) > 2*len(at)/3 {
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
			at, s := state.startingPlaces(), state.climbing(Known{})
			scores, _, err := s.scoreAll(background, at)
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := s.screen(background, at)
			if err != nil {
				t.Fatal(err)
			}
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
	if _, err := mustReplay(t, cfg, h).Suggest(background, Known{}); err != nil {
		t.Fatal(err)
	}
}
