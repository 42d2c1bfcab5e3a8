package optimizer

import (
	"math"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
)

// TestLookingBackIsThePosteriorThere: at the points of all rounds, those whose readings wait, came
// late or were taken out among them, but for rounding, from nothing and from what states before
// looked back at.
func TestLookingBackIsThePosteriorThere(t *testing.T) {
	t.Parallel()
	for algorithm, settings := range map[string]string{"rpol-ucb": `{}`, "ckb-sw-ucb": `{"window": 20}`} {
		cfg := plain(t, 2, 2, func(c *Config) { c.Algorithm, c.Costs[1].Metric, c.Costs[1].Knowledge = algorithm, -1, Given }, settings)
		h := played(cfg, 60, 1)
		for i := range h.Rounds {
			r := &h.Rounds[i]
			r.Costs = []float64{0, float64(i % 3)}
			switch i % 7 {
			case 2:
				r.Readings[0].Told = false
			case 4:
				r.Excluded = true
			case 5:
				r.Readings[1].Revealed += 9
			}
		}
		s := mustReplay(t, cfg, seenAt(h, 30))
		for _, n := range []int{31, 32, 35, 60} {
			sure(s.inSample(t.Context()))
			s = sure(s.Extend(t.Context(), seenAt(h, n)))
		}
		for how, s := range map[string]*State{"from nothing": mustReplay(t, cfg, h), "from before": s} {
			compareLookingBack(t, algorithm+" "+how, s)
		}
	}
}

// TestTheRecommendedKeepsKnownLimits, whatever is expected beyond them.
func TestTheRecommendedKeepsKnownLimits(t *testing.T) {
	t.Parallel()
	cfg, h := knownHill(t)
	n := sure(mustReplay(t, cfg, h).Recommendation(background))
	if at := h.Rounds[max(n, 1)-1].Point; n == 0 || at[0] != 0.5 || at[1] != 0.5 {
		t.Errorf("recommended is round %d, at %v; x may be at most 0.55", n, at)
	}
}

// TestOneBandOf95PerCent: an algorithm without a band of its own has that of 95 %, to the bit.
func TestOneBandOf95PerCent(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) { c.Algorithm = "cei" }, `{}`)
	b := mustReplay(t, cfg, played(cfg, 5, 1)).beliefs([]Place{{U: []float64{0.3}, Arm: -1}})[0]
	if width := (b.Mean[0] - b.Lower[0]) / b.SD[0]; math.Abs(width-1.96) > 1e-9 || b.Lower[0] != b.Lower95[0] || b.Upper[0] != b.Upper95[0] {
		t.Errorf("from %v to %v, %v deviations, and from %v to %v", b.Lower[0], b.Upper[0], width, b.Lower95[0], b.Upper95[0])
	}
}

// compareLookingBack holds what a state says in looking back against what it predicts at the same
// places.
func compareLookingBack(t *testing.T, what string, s *State) {
	t.Helper()
	var at []Place
	var rounds []int
	for n := range s.history.Rounds {
		at, rounds = append(at, s.placeOf(n+1)), append(rounds, n+1)
	}
	known := func(j, i int) float64 { return s.history.Rounds[i].Costs[j] }
	found := must.Get(s.inSampleOf(t.Context(), rounds, known))(t)
	want := must.Get(s.shown.estimate(t.Context(), at, known))(t)
	for k := range want {
		for i := range at {
			if math.Abs(found[k].Mean[i]-want[k].Mean[i]) > 1e-11 || math.Abs(found[k].SD[i]-want[k].SD[i]) > 1e-11 {
				t.Errorf("%s, target %d, round %d: %v ± %v looking back, %v ± %v there", what, k, i+1, found[k].Mean[i], found[k].SD[i], want[k].Mean[i], want[k].SD[i])
			}
		}
	}
}

// TestReplicatesAreExpectedTheSame to the bit, whether all of their readings came or some, so that
// the first of them stands for all: looking back and when a decision compares what was played.
func TestReplicatesAreExpectedTheSame(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 2, func(c *Config) { c.Algorithm = "log-cei" }, `{}`)
	h := played(cfg, 60, 1)
	for i := range h.Rounds {
		if i%5 > 2 {
			h.Rounds[i].Point = h.Rounds[i%5].Point
		}
		h.Rounds[i].Readings[1].Told = i%3 != 1
	}
	s := mustReplay(t, cfg, h)
	_, rounds := s.next.eligible()
	for what, estimates := range map[string][]policy.Estimate{"looking back": sure(s.inSample(t.Context())), "comparing": sure(s.next.meansOf(t.Context(), rounds))} {
		for i, round := range rounds {
			first := slices.Index(rounds, s.firstRounds()[round-1])
			for k := range s.targets {
				e := estimates[k]
				if is, want := e.Mean[i], e.Mean[first]; is != want || e.SD != nil && e.SD[i] != e.SD[first] {
					t.Errorf("%s, target %d: %v in round %d, %v in round %d at the same place, or deviations differ", what, k, is, round, want, rounds[first])
				}
			}
		}
	}
}
