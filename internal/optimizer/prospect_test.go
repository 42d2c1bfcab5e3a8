package optimizer

import (
	"math"
	"testing"
)

// hill is a study of two parameters: the reward rises to a peak at (0.7, 0.4), the cost from left to right, its limit running through x = 0.55.
func hill(t *testing.T, change func(*Config)) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 1, change, `{}`)
	cfg.Costs[0].Threshold = 0.55
	h := &History{}
	for i := range 5 {
		for j := range 5 {
			x, y := float64(i)/4, float64(j)/4
			h.Rounds = append(h.Rounds, Round{Point: []float64{x, y}, Arm: -1, Suggested: true, Readings: []Reading{
				{Told: true, Value: 1 - 4*(x-0.7)*(x-0.7) - 2*(y-0.4)*(y-0.4), Revealed: len(h.Rounds) + 1},
				{Told: true, Value: x, Revealed: len(h.Rounds) + 1}}})
		}
	}
	return cfg, h
}

// TestProspectIsTheBestProbablyFeasiblePlace holds it against a grid of the whole space.
func TestProspectIsTheBestProbablyFeasiblePlace(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	state := mustReplay(t, cfg, h)
	found, ok, err := state.Prospect(background, Known{})
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	at := append(grid(cfg, 101), found)
	beliefs, chances, err := state.Believe(background, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := len(at) - 1
	if chances[last] < safeEnough {
		t.Errorf("%v has a chance of %g", found.U, chances[last])
	}
	if math.Abs(found.U[0]-0.7) < 0.05 {
		t.Errorf("%v is the peak, which is beyond the limit", found.U)
	}
	for i := range last {
		if chances[i] >= safeEnough && beliefs[0].Mean[i] > beliefs[0].Mean[last]+1e-4 {
			t.Fatalf("%v promises %g, %v only %g", at[i].U, beliefs[0].Mean[i], found.U, beliefs[0].Mean[last])
		}
	}
}

// TestProspectAmongCandidates is exactly the best of those that may be chosen, and there is none where no candidate is probably within the limit.
func TestProspectAmongCandidates(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 60)
	cfg.Costs[0].Threshold = 0.65 // two settings of three are probably beyond it
	state, _ := fitted(t, cfg, h)
	found, ok, err := state.Prospect(background, Known{})
	beliefs, chances, wrong := state.Believe(background, cfg.Space.places(), nil)
	if err != nil || wrong != nil || !ok {
		t.Fatalf("%v %v %v", ok, err, wrong)
	}
	best := -1
	for i, chance := range chances {
		if chance >= safeEnough && (best < 0 || beliefs[0].Mean[i] > beliefs[0].Mean[best]) {
			best = i
		}
	}
	if found.Arm != best {
		t.Errorf("candidate %d of chance %g, want %d", found.Arm, chances[found.Arm], best)
	}
	cfg.Costs[0].Threshold = -9
	state, _ = fitted(t, cfg, h)
	if found, ok, err := state.Prospect(background, Known{}); ok || err != nil {
		t.Errorf("%+v %v, though nothing is within the limit", found, err)
	}
}

// TestReadingsScatterMoreThanTheFunction: a reading has the function's uncertainty and its own noise, in the metric's units.
func TestReadingsScatterMoreThanTheFunction(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	state := mustReplay(t, cfg, h)
	belief := sure(state.Posterior(background, []Place{{U: []float64{0.33, 0.6}, Arm: -1}}))[0]
	model := state.Models()[0]
	want := math.Sqrt(belief.SD[0]*belief.SD[0] + model.Lambda*model.Scale*model.Scale)
	if math.Abs(belief.ReadingSD[0]-want) > 1e-12 || !(belief.ReadingSD[0] > belief.SD[0]) {
		t.Errorf("a reading scatters by %g, the function by %g; want %g", belief.ReadingSD[0], belief.SD[0], want)
	}
}
