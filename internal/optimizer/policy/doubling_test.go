package policy

import (
	"math"
	"testing"
)

// TestDoubling: phases of 1, 2, 4, … rounds, each with its own T in V = G√T/ρ.
func TestDoubling(t *testing.T) {
	t.Parallel()
	const settings = `"constraint_bound": 3, "multiplier_cap": 2, "slack": 0`
	afresh := made(t, "ckb-ucb", `{"horizon": "doubling", `+settings+`}`, studyOf(1))
	reuse := made(t, "ckb-ucb", `{"horizon": "doubling_reuse", `+settings+`}`, studyOf(1))
	for _, c := range []struct {
		round, horizon, first int
		last                  bool
	}{
		{1, 1, 1, true}, {2, 2, 2, false}, {3, 2, 2, true}, {4, 4, 4, false}, {6, 4, 4, false}, {7, 4, 4, true},
		{8, 8, 8, false}, {1000, 512, 512, false}, {1023, 512, 512, true},
	} {
		phi := 0.25 + 0.5/(3*math.Sqrt(float64(c.horizon))/2)
		if c.last {
			phi = 0
		}
		for _, a := range []Policy{afresh, reuse} {
			equal(t, "multiplier", a.Step([]float64{0.25}, &Revealed{Round: c.round, Own: []float64{0.5}}), []float64{phi})
			if got := a.Traits().Horizon(c.round); got != c.horizon {
				t.Errorf("T of round %d is %d, want %d", c.round, got, c.horizon)
			}
		}
		if got := afresh.Traits().Earliest(c.round); got != c.first {
			t.Errorf("decision %d sees rounds from %d on, want %d", c.round, got, c.first)
		}
		if got := reuse.Traits().Earliest(c.round); got != 1 {
			t.Errorf("where readings are reused, decision %d sees rounds from %d on", c.round, got)
		}
	}
	window := made(t, "ckb-sw-ucb", `{"horizon": "doubling", "window": 2}`, studyOf(1)).Traits()
	if window.First(5) != 4 || window.First(7) != 5 {
		t.Errorf("with a window of 2, decisions 5 and 7 see rounds from %d and %d on", window.First(5), window.First(7))
	}
	excluded := &Revealed{Round: 3, Excluded: true}
	equal(t, "a phase that ends with an excluded round", afresh.Step([]float64{0.25}, excluded), []float64{0})
	queue := made(t, "ckb-lyapunov", `{"horizon": "doubling", "beta": 0, "constraint_bound": 4, "multiplier_cap": 2}`, studyOf(1))
	s := line(0, []float64{1}, []float64{0}, []float64{0.5}, []float64{0})
	s.Round, s.Multipliers = 16, []float64{3}
	equal(t, "estimates", queue.Estimates(s, 0), made(t, "ckb-lyapunov", `{"beta": 0}`, studyOf(1)).Estimates(s, 0))
	equal(t, "price", sure(queue.Score(s)).Value, []float64{1 - 3/(4*4/2.0)*0.5})
	equal(t, "slope along the cost", queue.Traits().Slopes(s).Costs[0].Mean, []float64{-3 / (4 * 4 / 2.0)})
}

// TestDoubledBoundAddsUp: the bound over phases is the sum of what the algorithm with each phase's
// T has for its rounds.
func TestDoubledBoundAddsUp(t *testing.T) {
	t.Parallel()
	const settings = theory + `, "constraint_bound": 3, "multiplier_cap": 2`
	var steps []RoundSummary
	for i := range 6 {
		steps = append(steps, RoundSummary{Suggested: i != 3, Beta: []float64{2, 3}, SD: []float64{0.5, 1 / float64(i+1)}, Scale: []float64{1, 10}, Multipliers: []float64{1}})
	}
	doubled := made(t, "ckb-ucb", `{"horizon": "doubling", `+settings+`}`, studyOf(1)).Traits()
	before, want := 0.0, []float64{}
	regretBefore, regret := 0.0, []float64{}
	for _, phase := range []struct{ horizon, first, next int }{{1, 1, 2}, {2, 2, 4}, {4, 4, 7}} {
		study := studyOf(1)
		study.Horizon = phase.horizon
		own := made(t, "ckb-ucb", "{"+settings+"}", study).Traits()
		for _, bound := range own.Bound(0, steps[phase.first-1:phase.next-1]) {
			want = append(want, before+bound)
		}
		for _, bound := range own.RegretBound(steps[phase.first-1 : phase.next-1]) {
			regret = append(regret, regretBefore+bound)
		}
		before, regretBefore = want[len(want)-1], regret[len(regret)-1]
	}
	equal(t, "bound", doubled.Bound(0, steps), want)
	equal(t, "bound on regret", doubled.RegretBound(steps), regret)
}

// TestDoublingNeedsNoHorizon: the theorem that asks for T is content with phases, and λ is held
// against the T in force.
func TestDoublingNeedsNoHorizon(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		horizon string
		rounds  int
		lambda  float64
		broken  int
	}{
		{"planned", 60, 1.04, 1}, {"doubling", 60, 1.04, 0}, {"doubling_reuse", 50, 1.04, 0},
		{"doubling", 70, 2, 1}, {"doubling", 63, 1.0625, 0}, {"doubling_reuse", 63, 1.0625, 1},
	} {
		d, _ := Find("ckb-ucb")
		c := ideal(t, d, `"horizon": "`+test.horizon+`"`)
		c.Rounds, c.Lambda = test.rounds, filled(2, test.lambda)
		if got := broken(d, c); len(got) != test.broken {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
