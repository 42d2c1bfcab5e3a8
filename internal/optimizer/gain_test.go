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
