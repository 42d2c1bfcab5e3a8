package optimizer

import (
	"slices"
	"testing"
)

// TestABatchSpreads: of many trials asked for at once none repeats another, nearly. Before what waits could be what others are compared with, most did.
func TestABatchSpreads(t *testing.T) {
	t.Parallel()
	repeated := func(cfg *Config, h *History) (count int) {
		state := mustReplay(t, cfg, h)
		var places [][]float64
		for range 20 {
			d := sure(state.Suggest(background, Known{}))
			for _, u := range places {
				if !differ(u, d.Place.U, 1e-3) {
					count++
					break
				}
			}
			places = append(places, d.Place.U)
			next := &History{Rounds: append(state.history.Rounds[:len(state.history.Rounds):len(state.history.Rounds)], Round{
				Point: d.Place.U, Arm: -1, Suggested: true, Readings: make([]Reading, len(cfg.Metrics)), Costs: make([]float64, len(cfg.Costs)), Draw: d.Draw}), Fits: h.Fits}
			state = sure(state.Extend(background, next))
		}
		return count
	}
	now, before := 0, 0
	for _, rounds := range []int{0, 6, 12, 40} {
		s := hills(t, max(rounds, 6), false)
		s.history.Rounds = s.history.Rounds[:rounds]
		cfg := *s.cfg
		cfg.Metrics, cfg.Settings = slices.Clone(cfg.Metrics), resolved(t, &cfg, map[string]any{"initial_design": 5})
		for i := range cfg.Metrics {
			cfg.Metrics[i].Lambda = 1e-4 // a second reading would say the same
		}
		now += repeated(&cfg, s.history)
		before += repeated(cfg.As("3"), s.history)
	}
	t.Logf("repeated: %d now, %d before", now, before)
	if now > 0 {
		t.Errorf("%d of 80 suggestions repeat one of their batch", now)
	}
	if before < 10 {
		t.Errorf("engine 3 repeated %d, so this shows nothing", before)
	}
}
