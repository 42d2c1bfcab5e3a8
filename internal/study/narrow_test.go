package study

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
)

// recipe has n parts that add up to 1, or n that add up to no more than 1.
func recipe(n int, remainder bool) design.Definition {
	d := design.Definition{Name: "Recipe", Objective: design.Objective{Metric: "strength", Direction: "maximize"},
		Constraints: []design.Constraint{{Metric: "cost", Op: "<=", Threshold: 0.5}}, Seed: 7}
	var of []string
	for i := range n - 1 {
		of = append(of, fmt.Sprintf("x%d", i+1))
		d.Parameters = append(d.Parameters, design.Parameter{Name: of[i], Type: design.Real, Low: new(0.0), High: new(1.0)})
	}
	if remainder {
		d.Parameters = append(d.Parameters, design.Parameter{Name: "rest", Type: design.Remainder, Total: new(1.0), Of: of})
	} else {
		d.InputConstraints = []string{strings.Join(of, " + ") + " <= 1"}
	}
	return d
}

// TestGamesWhereNextToNothingIsAllowed: of twelve parts, what adds up to 1 is less than one
// point of the cube in ten million. Every algorithm asks for mixtures that were not asked for
// before.
func TestGamesWhereNextToNothingIsAllowed(t *testing.T) {
	t.Parallel()
	for i, a := range policy.Descriptions() {
		if a.NeedsGivenConstraint {
			continue
		}
		for n, remainder := range []bool{true, false} {
			if a.Name != "log-cei" && n == i%2 { // the default asks for both kinds, the others for one in turn
				continue
			}
			t.Run(fmt.Sprint(a.Name, " remainder ", remainder), func(t *testing.T) {
				t.Parallel()
				d := recipe(12, remainder)
				d.Algorithm = design.Algorithm{Name: a.Name, Horizon: 20, Settings: neededSettings(a)}
				if a.NeedsSafeSeeds {
					seed := design.Settings{}
					for i := range 11 {
						seed[fmt.Sprintf("x%d", i+1)] = design.NumberValue(0.05)
					}
					seeds := must.Get(json.Marshal([]design.Settings{seed}))(t)
					d.Algorithm.Settings["safe_seeds"] = seeds
					d.Algorithm.Settings["initial_design"] = rawJSON(`14`) // else they stay with their seed
				}
				b := newBench(t, d)
				seen := map[string]bool{}
				for range 6 {
					b.ask(1)
					trial := b.snap.Trials[len(b.snap.Trials)-1]
					seen[fmt.Sprint(trial.Parameters)] = true
					x, y := trial.Parameters["x1"].Number, trial.Parameters["x2"].Number
					b.tell(trial.Number, map[string]float64{"strength": x + 2*y - x*x, "cost": x + y})
				}
				if len(seen) < 5 {
					t.Errorf("%d different mixtures in 6 trials", len(seen))
				}
				if a.Name != "log-cei" { // that the others verify is TestGamesExplainAndVerify
					return
				}
				v, err := verifyEvents(t.Context(), b.events)
				if text, _ := json.Marshal(v); err != nil || !v.OK || v.Checked != 6 {
					t.Errorf("%v %s", err, text)
				}
			})
		}
	}
}

// TestGamesFindTheBestRecipe: the default finds one that is nearly as good as can be, which is half
// x2 and half x1 or the rest.
func TestGamesFindTheBestRecipe(t *testing.T) {
	t.Parallel()
	for _, remainder := range []bool{true, false} {
		b := newBench(t, recipe(8, remainder))
		best := 0.0
		for range 25 {
			b.ask(1)
			trial := b.snap.Trials[len(b.snap.Trials)-1]
			x, y, z := trial.Parameters["x1"].Number, trial.Parameters["x2"].Number, trial.Parameters["x3"].Number
			strength, cost := x+2*y-x*x+z, y+z/10
			b.tell(trial.Number, map[string]float64{"strength": strength, "cost": cost})
			if cost <= 0.5 {
				best = max(best, strength)
			}
		}
		// x2 = 0.45, x3 = 0.5, x1 = 0.05: the best of all comes to 1.4475.
		if best < 1.4 {
			t.Errorf("remainder %v: %.4f at best of 1.45", remainder, best)
		}
	}
}
