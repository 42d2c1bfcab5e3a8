package optimizer

import (
	"context"
	"math"
	"testing"
	"time"

	"headroom/internal/optimizer/checkpoint"
)

// TestLookingBackIsThePosteriorThere: at the points of all rounds, those whose readings wait, came late or were taken out among them, to the bit.
func TestLookingBackIsThePosteriorThere(t *testing.T) {
	t.Parallel()
	for algorithm, settings := range map[string]string{"rpol-ucb": `{}`, "ckb-sw-ucb": `{"window": 20}`} {
		cfg := plain(t, 2, 1, func(c *Config) { c.Algorithm = algorithm }, settings)
		h := played(cfg, 60, 1)
		for i := range h.Rounds {
			r := &h.Rounds[i]
			switch i % 7 {
			case 2:
				r.Readings[0].Told = false
			case 4:
				r.Excluded = true
			case 5:
				r.Readings[1].Revealed += 9
			}
		}
		s := mustReplay(t, cfg, h)
		found, err := s.inSample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var at []Place
		for n := range h.Rounds {
			at = append(at, s.placeOf(n+1))
		}
		want, err := s.shown.estimate(t.Context(), at, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range want {
			for i := range at {
				if found[k].Mean[i] != want[k].Mean[i] || found[k].SD[i] != want[k].SD[i] {
					t.Errorf("%s, target %d, round %d: %v ± %v looking back, %v ± %v there", algorithm, k, i+1, found[k].Mean[i], found[k].SD[i], want[k].Mean[i], want[k].SD[i])
				}
			}
		}
	}
}

// TestCalibrationsGiveWay: comparing thousands of places with each other is divided into slices as all work is.
func TestCalibrationsGiveWay(t *testing.T) {
	t.Parallel()
	const n = 4000
	h := &History{Rounds: make([]Round, n)}
	for i := range h.Rounds {
		_, u := math.Modf(0.618 * float64(i))
		h.Rounds[i] = Round{Point: []float64{u, u}, Arm: -1}
	}
	reached := 0
	ctx := checkpoint.With(t.Context(), func(context.Context) error { reached++; return nil })
	begun := time.Now()
	if _, err := (&task{history: h}).playedBefore(ctx); err != nil {
		t.Fatal(err)
	}
	if reached == 0 {
		t.Errorf("%d places are compared for %v without a checkpoint", n, time.Since(begun))
	}
}
