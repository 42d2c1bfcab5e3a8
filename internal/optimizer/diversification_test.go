package optimizer

import (
	"slices"
	"testing"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// found is a study whose best place, on the edge of its limit, is known but for a thousandth:
// settings u ≤ ½ of the first parameter keep the limit, and the reward rises to there.
func found(t *testing.T) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 1, func(c *Config) {
		c.Algorithm, c.Fit = "log-cei", true
		for i := range c.Metrics {
			c.Metrics[i].Lambda, c.Metrics[i].FreeNoise = 1e-8, true // readings do not vary
			c.Metrics[i].Kernel.Lengthscales = []float64{2, 2}
		}
	}, `{}`)
	points := append(search.Halton(30, 2, 1), []float64{0.5, 0.6})
	for _, d := range []float64{-0.03, -0.01, -0.001, 0.001, 0.01, 0.03} {
		points = append(points, []float64{0.5 + d, 0.6}, []float64{0.499, 0.6 + d})
	}
	h := &History{}
	for i, u := range points {
		reward, cost := u[0]-2*(u[1]-0.6)*(u[1]-0.6), u[0]-0.5
		h.Rounds = append(h.Rounds, Round{Point: u, Arm: -1, Suggested: true, Readings: []Reading{{Told: true, Value: reward, Revealed: i + 1}, {Told: true, Value: cost, Revealed: i + 1}}, Costs: make([]float64, 1)})
	}
	return cfg, h
}

// batch asks for trials one after another without telling results.
func batch(t *testing.T, cfg *Config, h *History, count int) (decisions []Decision) {
	t.Helper()
	state := mustReplay(t, cfg, h)
	for range count {
		d := sure(state.Suggest(background, Known{}))
		decisions = append(decisions, d)
		rounds := slices.Clone(state.history.Rounds)
		state = sure(state.Extend(background, &History{Fits: h.Fits, Rounds: append(rounds, Round{Point: d.Place.U, Arm: -1, Suggested: true,
			Readings: make([]Reading, len(cfg.Metrics)), Costs: make([]float64, len(cfg.Costs)), Draw: d.Draw})}))
	}
	return decisions
}

// TestABatchAtAFoundPeakIsHeldApart: where little is left to gain, no trial of a batch lies beside
// another, and none but the first is risked beyond a limit.
func TestABatchAtAFoundPeakIsHeldApart(t *testing.T) {
	t.Parallel()
	cfg, h := found(t)
	beside := func(list []Decision) (count int) {
		for i, d := range list {
			if slices.ContainsFunc(list[:i], func(o Decision) bool { return !differ(o.Place.U, d.Place.U, leastDistance) }) {
				count++
			}
		}
		return count
	}
	for _, size := range []int{8, 2 * manyWaiting} {
		list := batch(t, cfg, h, size)
		if n := beside(list); n > 0 {
			t.Errorf("%d of a batch of %d lie beside another", n, size)
		}
		for _, d := range list {
			if slices.ContainsFunc(h.Rounds, func(r Round) bool { return !differ(r.Point, d.Place.U, 1e-6) }) {
				t.Errorf("%v was tried before", d.Place.U)
			}
		}
		if list[0].Reason != policy.Improve {
			t.Errorf("the first is chosen for %s", list[0].Reason)
		}
		for _, d := range list[1:] {
			if d.Reason != policy.Apart || !(d.FeasibilityProbability > 0.85) || d.RunnerUp == nil || d.RunnerUp.Acquisition > d.Acquisition || !distinct(d.RunnerUp.Place.U, d.Place.U) {
				t.Errorf("%v is chosen for %s with a chance of %.2f and the runner-up %v", d.Place.U, d.Reason, d.FeasibilityProbability, d.RunnerUp)
			}
		}
	}
}
