package optimizer

import (
	"fmt"
	"slices"
	"testing"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// ended is the history after decision d ended without results, which the next decision knows.
func ended(cfg *Config, h *History, d Decision, cause Cause) *History {
	n := len(h.Rounds) + 1
	r := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Costs: make([]float64, len(cfg.Costs)), Draw: d.Draw,
		Readings: make([]Reading, len(cfg.Metrics)), Closed: []Spell{{From: n + 1, Cause: cause}}}
	for j := range r.Costs {
		r.Costs[j] = givenValue(j, d.Place.U)
	}
	return &History{Rounds: append(slices.Clip(h.Rounds), r)}
}

// TestWhatFailedIsNotAskedAgain lets trials end without results one after another: no algorithm
// asks for the same settings again.
func TestWhatFailedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for i, a := range policy.Descriptions() {
		for place, g := range []ground{grounds()[0], grounds()[2], grounds()[3]} {
			for begun := range 2 { // with nothing read, and after some readings
				if (i+place+begun)%2 == 0 { // in turn
					continue
				}
				t.Run(fmt.Sprint(a.Name, "/", g.name, "/", begun), func(t *testing.T) {
					t.Parallel()
					cfg := toyConfig(t, a.Name, g, 1)
					for _, u := range search.Halton(12, len(g.space.Dims), 3) {
						if seed, ok := g.space.settle(u); ok && g.space.Arms == nil {
							cfg.SafeSeeds = append(cfg.SafeSeeds, Place{U: seed, Arm: -1})
						}
					}
					if g.space.Arms != nil {
						cfg.SafeSeeds = g.space.places()[:12]
					}
					h, _ := play(t, cfg, 3*begun)
					state := mustReplay(t, cfg, h)
					for n := range 5 {
						d := sure(state.Suggest(background, toyKnown()))
						if state.isSpent(d.Place) {
							t.Fatalf("the %dth is asked for beside what failed: %v", n+1, d.Place.U)
						}
						for _, r := range state.history.Rounds[3*begun:] {
							if !differ(r.Point, d.Place.U, 0.02) {
								t.Fatalf("the %dth is %v, which ended at %v", n+1, d.Place.U, r.Point)
							}
						}
						h = ended(cfg, h, d, []Cause{BySettings, ByChance, Abandoned}[n%3])
						state = sure(state.Extend(background, h))
					}
				})
			}
		}
	}
}

// TestWhatEndedByChanceComesBack: bad luck and lack of time say nothing of the settings, so that
// they are asked for again once something was read; what failed because of its settings is not.
func TestWhatEndedByChanceComesBack(t *testing.T) {
	t.Parallel()
	for _, g := range []ground{grounds()[0], grounds()[2]} {
		for cause, back := range map[Cause]bool{Abandoned: true, ByChance: true, BySettings: false} {
			cfg := toyConfig(t, "log-cei", g, 1)
			h, _ := play(t, cfg, 12)
			best := sure(mustReplay(t, cfg, h).Suggest(background, toyKnown()))
			h = ended(cfg, h, best, cause)
			other := sure(mustReplay(t, cfg, h).Suggest(background, toyKnown()))
			h = told(cfg, h, other)
			if got := !mustReplay(t, cfg, h).isSpent(best.Place); got != back {
				t.Errorf("%s, cause %d: asked for again %v, want %v", g.name, cause, got, back)
			}
			h.Rounds[12].Closed[0].To = len(h.Rounds) + 1
			if mustReplay(t, cfg, h).isSpent(best.Place) {
				t.Errorf("%s, cause %d: it was opened again", g.name, cause)
			}
		}
	}
}

// TestNothingButFailures: settings that failed are asked again where no others are left.
func TestNothingButFailures(t *testing.T) {
	t.Parallel()
	few := ground{"few arms", Space{Dims: []Dim{{High: 1}}, Arms: [][]float64{{0}, {0.5}, {1}}}, Place{U: []float64{0}, Arm: 0}}
	steps := ground{"few steps", Space{Dims: []Dim{{High: 1, Levels: 3}}, Settle: func(u []float64) bool { u[0] = []float64{0, 0.5, 1}[min(int(3*u[0]), 2)]; return true }}, Place{U: []float64{0}, Arm: -1}}
	for _, a := range policy.Descriptions() {
		for _, g := range []ground{few, steps} {
			cfg := toyConfig(t, a.Name, g, 1)
			h, state := &History{}, mustReplay(t, cfg, &History{})
			for range 5 {
				d, err := state.Suggest(background, toyKnown())
				if err != nil {
					t.Fatalf("%s, %s: %v", a.Name, g.name, err)
				}
				h = ended(cfg, h, d, BySettings)
				state = sure(state.Extend(background, h))
			}
		}
	}
}
