package optimizer

import "testing"

// TestFirstDesignKeepsKnownLimits: a limit whose formula is known is kept from the first suggestion
// on, as long as some place keeps it.
func TestFirstDesignKeepsKnownLimits(t *testing.T) {
	t.Parallel()
	for _, g := range grounds() {
		for _, algorithm := range []string{"log-cei", "rpol-ucb"} {
			cfg := toyConfig(t, algorithm, g, 0)
			cfg.Costs = []Cost{{Name: "limit", Metric: -1, Sign: 1, Knowledge: Given}}
			cfg.Settings = resolved(t, cfg, map[string]any{"initial_design": 6})
			limit := Known{At: func(_ int, u []float64) float64 { return u[0] - 0.35 }}
			state := mustReplay(t, cfg, &History{})
			seen := map[string]bool{}
			for range 6 {
				d := sure(state.Suggest(background, limit))
				if !d.FirstDesign || d.Place.U[0] > 0.35 {
					t.Errorf("%s on %s: round %d of the design is at %v, beyond the limit", algorithm, g.name, d.Round, d.Place.U)
				}
				seen[string(bitsOf(d.Place.U))] = true
				state = sure(state.Extend(background, told(cfg, state.history, d)))
			}
			if len(seen) < 6 {
				t.Errorf("%s on %s: the design has %d places for 6 rounds", algorithm, g.name, len(seen))
			}
			nowhere := Known{At: func(int, []float64) float64 { return 1 }}
			if d, err := mustReplay(t, cfg, &History{}).Suggest(background, nowhere); err != nil || !d.FirstDesign {
				t.Errorf("%s on %s: with a limit that nothing keeps, the design is %+v, %v", algorithm, g.name, d, err)
			}
		}
	}
}
