package optimizer

import (
	"context"
	"math"
	"sync"
	"testing"
)

// TestCalibrationCountsRepeatedSettingsApart plays one point again and again between others.
func TestCalibrationCountsRepeatedSettingsApart(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 0, nil, `{}`)
	h := played(cfg, 9, 4)
	for _, round := range []int{3, 5, 8} {
		h.Rounds[round-1].Point = h.Rounds[0].Point
	}
	h.Rounds[4].Excluded = true            // not counted at all
	h.Rounds[0].Readings[0].Told = false   // round 3 is then the first reading there, and for round 2 nothing is predicted
	h.Rounds[6].Readings[0].InDoubt = true // a slip of the pen says nothing of what was predicted
	c := sure(mustReplay(t, cfg, h).Calibrations(background))[0]
	if c.Count != 5 || c.New.Count != 4 || c.Repeated.Count != 1 || len(c.Innovations) != 5 {
		t.Errorf("%d readings, %d new, %d repeated; want 5, 4 and 1", c.Count, c.New.Count, c.Repeated.Count)
	}
	for _, share := range []func(Coverage) float64{
		func(c Coverage) float64 { return c.Coverage50 }, func(c Coverage) float64 { return c.Coverage80 }, func(c Coverage) float64 { return c.Coverage95 },
	} {
		if whole := share(c.Coverage) * 5; math.Abs(whole-share(c.New)*4-share(c.Repeated)) > 1e-9 {
			t.Errorf("%g readings inside, apart %g and %g", whole, share(c.New)*4, share(c.Repeated))
		}
	}
}

// TestInnovationsOfTrialsPredictedTogether: told in a batch, or late, the innovation of each
// reading is what it were if its trial had been chosen when it came.
func TestInnovationsOfTrialsPredictedTogether(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{}`)
	innovations := func(came ...int) map[float64]float64 { // by what was read, round 6 and so on being revealed then
		h := played(cfg, 9, 4)
		for i, revealed := range came {
			for k := range h.Rounds[5+i].Readings {
				h.Rounds[5+i].Readings[k].Revealed = revealed
			}
		}
		by := map[float64]float64{}
		for k, c := range sure(mustReplay(t, cfg, h).Calibrations(background)) {
			for _, one := range c.Innovations {
				by[h.Rounds[one.Round-1].Readings[k].Value] = one.Z
			}
		}
		return by
	}
	one := innovations(6, 7, 8, 9)
	for value, want := range innovations(9, 9, 9, 9) {
		if math.Abs(one[value]-want) > 1e-9 {
			t.Errorf("in a batch %g deviates by %g, one by one by %g", value, want, one[value])
		}
	}
	late := innovations(8, 7, 8, 9) // the second of them first, then the first and the third
	if len(late) != 16 {            // the first of each metric was not predicted
		t.Errorf("%d readings, want 16", len(late))
	}
	h := played(cfg, 9, 4)
	h.Rounds[5], h.Rounds[6] = h.Rounds[6], h.Rounds[5]
	for i := range h.Rounds {
		for k := range h.Rounds[i].Readings {
			h.Rounds[i].Readings[k].Revealed = i + 1
		}
	}
	for k, c := range sure(mustReplay(t, cfg, h).Calibrations(background)) {
		for _, one := range c.Innovations {
			if value := h.Rounds[one.Round-1].Readings[k].Value; math.Abs(late[value]-one.Z) > 1e-9 {
				t.Errorf("late, %g deviates by %g, and by %g in the order they came", value, late[value], one.Z)
			}
		}
	}
}

// TestAReadingStillToComeDoesNotMakeASettingKnown tells the first reading at a point only after the
// second was chosen.
func TestAReadingStillToComeDoesNotMakeASettingKnown(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 0, nil, `{}`)
	h := played(cfg, 4, 4)
	h.Rounds[2].Point = h.Rounds[1].Point
	h.Rounds[1].Readings[0].Revealed = 3
	if c := sure(mustReplay(t, cfg, h).Calibrations(background))[0]; c.New.Count != 3 {
		t.Errorf("%d new settings, want 3", c.New.Count)
	}
}

func TestBandsOfFewDegreesOfFreedom(t *testing.T) {
	t.Parallel()
	// Quantiles of Student's t as printed in tables.
	for _, c := range []struct{ share, freedom, want float64 }{
		{0.95, 0, 1.959964}, {0.8, 0, 1.281552}, {0.95, 8, 2.306004}, {0.5, 8, 0.706387}, {0.9, 1, 6.313752},
	} {
		if got := halfWidth(c.share, c.freedom); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("half(%g, %g) = %.7g, want %.7g", c.share, c.freedom, got, c.want)
		}
		if got := chanceBelow(-2*c.want, 2, c.freedom); math.Abs(got-(1+c.share)/2) > 1e-6 {
			t.Errorf("below at the %g quantile with %g degrees: %.7g", c.share, c.freedom, got)
		}
	}
	for _, c := range []struct{ t, freedom, want float64 }{
		{2.306004, 8, 1.959964}, {-6.313752, 1, -1.644854}, {-3, 0, -3}, {0, 8, 0}, {1e200, 5, 37.0471},
	} {
		if got := normalDeviate(c.t, c.freedom); !(math.Abs(got-c.want) < 1e-4) {
			t.Errorf("deviate(%g, %g) = %.7g, want %.7g", c.t, c.freedom, got, c.want)
		}
	}
	if chanceBelow(0, 0, 8) != 1 || chanceBelow(1e-9, 0, 8) != 0 {
		t.Error("without uncertainty a limit holds or does not")
	}
}

// TestWhoeverLeavesATraceLeavesItToOthers: callers that give up look at nothing that others go on with.
// The race detector watches.
func TestWhoeverLeavesATraceLeavesItToOthers(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 0, nil, `{}`)
	state := mustReplay(t, cfg, played(cfg, 60, 4))
	left, leave := context.WithCancel(t.Context())
	leave()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if rounds, err := state.Trace(left); err != nil && rounds != nil {
					t.Errorf("%d rounds for whoever has left", len(rounds))
					return
				}
			}
		})
	}
	if rounds, err := state.Trace(t.Context()); len(rounds) != 60 || err != nil {
		t.Errorf("%d rounds of 60: %v", len(rounds), err)
	}
	all.Wait()
}
