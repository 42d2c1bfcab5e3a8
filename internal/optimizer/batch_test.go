package optimizer

import (
	"slices"
	"testing"

	"headroom/internal/optimizer/search"
)

// TestABatchSpreads: of many trials asked for at once none repeats another, nearly.
func TestABatchSpreads(t *testing.T) {
	t.Parallel()
	repeated := func(cfg *Config, h *History) (count int) {
		list := batch(t, cfg, h, 20)
		for i, d := range list {
			if slices.ContainsFunc(list[:i], func(o Decision) bool { return search.Within(1e-3, o.Place.U, d.Place.U) }) {
				count++
			}
		}
		return count
	}
	now := 0
	for _, rounds := range []int{0, 6, 12, 40} {
		s := hills(t, max(rounds, 6), false)
		s.history.Rounds = s.history.Rounds[:rounds]
		cfg := *s.cfg
		cfg.Metrics, cfg.Settings = slices.Clone(cfg.Metrics), resolved(t, &cfg, map[string]any{"initial_design": 5})
		for i := range cfg.Metrics {
			cfg.Metrics[i].Lambda = 1e-4 // a second reading would say the same
		}
		now += repeated(&cfg, s.history)
		if cfg.Algorithm = "cei"; rounds == 0 {
			now += repeated(&cfg, s.history)
		}
	}
	if now > 0 {
		t.Errorf("%d of 100 suggestions repeat one of their batch", now)
	}
}

// TestWhatWasPlayedHasAScore: a search that climbs may come back to a place of a continuous space,
// so verification must find it allowed; one that looks at a list passes it over.
func TestWhatWasPlayedHasAScore(t *testing.T) {
	t.Parallel()
	s := hills(t, 12, false)
	played := []Place{{U: s.history.Rounds[0].Point, Arm: -1}, {U: []float64{0.111, 0.222, 0.333}, Arm: -1}}
	if allowed := sure(s.Acquisition(background, played, Known{})).Allowed; !allowed[0] || !allowed[1] {
		t.Errorf("while the search climbs, %v are allowed", allowed)
	}
	h := &History{Rounds: slices.Clone(s.history.Rounds)}
	for i := range manyPending + 1 {
		h.Rounds = append(h.Rounds, Round{Point: []float64{0.1 * float64(i), 0.5, 0.5}, Arm: -1, Suggested: true,
			Readings: make([]Reading, len(s.cfg.Metrics)), Costs: make([]float64, len(s.cfg.Costs))})
	}
	if allowed := sure(mustReplay(t, s.cfg, h).Acquisition(background, played, Known{})).Allowed; allowed[0] || !allowed[1] {
		t.Errorf("while it looks at a list, %v are allowed", allowed)
	}
}
