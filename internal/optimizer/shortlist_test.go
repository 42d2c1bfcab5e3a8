package optimizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManyWaitingFollowEveryEdit asks for trial after trial while many wait, with edits of the past
// in between: states that carry on what was known of the waiting trials and of the listed places
// must decide as those replayed from nothing do, to the last bit.
func TestManyWaitingFollowEveryEdit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"log-cei", "rpol-ucb", "ckb-rand", "penalty-noisy"} {
		for _, g := range grounds() {
			t.Run(fmt.Sprint(algorithm, " ", g.name), func(t *testing.T) {
				t.Parallel()
				for life := range uint64(2) {
					liveCrowded(t, toyConfig(t, algorithm, g, 1), rand.New(rand.NewPCG(life, 1)))
				}
			})
		}
	}
}

func liveCrowded(t *testing.T, cfg *Config, random *rand.Rand) {
	t.Helper()
	h := &History{}
	for n := range 12 + manyWaiting {
		h.Rounds = append(h.Rounds, asked(cfg, n+1, random))
		if n >= 12 {
			h.Rounds[n].Readings = make([]Reading, len(cfg.Metrics))
		}
	}
	state := mustReplay(t, cfg, h)
	for range 12 {
		what := "ask"
		if random.IntN(3) == 0 {
			h, what = edited(random, cfg, h)
		} else {
			d := sure(state.Suggest(background, toyKnown()))
			next := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]Reading, len(cfg.Metrics)),
				Costs: make([]float64, len(cfg.Costs))}
			h = &History{Rounds: append(slices.Clip(h.Rounds), next), Fits: h.Fits}
		}
		state = sure(state.Extend(background, h))
		whole := mustReplay(t, cfg, h)
		got, want := sure(state.Suggest(background, toyKnown())), sure(whole.Suggest(background, toyKnown()))
		if diff := cmp.Diff(want, got, exactly); diff != "" {
			t.Fatalf("the decision after %s:\n%s", what, diff)
		}
		compare(t, what, sameBits, state, whole)
	}
}

// TestShortlistChangesWithTheReadings: while nothing is read, decisions share one list; as readings
// come in, other places are listed.
func TestShortlistChangesWithTheReadings(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{}`)
	waiting := func(told, more int) *History {
		h := played(cfg, told+more, 1)
		for i := range more {
			h.Rounds[told+i].Readings = make([]Reading, len(cfg.Metrics))
		}
		return h
	}
	if s := mustReplay(t, cfg, waiting(relisted, manyWaiting)); s.decision.shortlist != nil {
		t.Errorf("%d waiting trials are many", manyWaiting)
	}
	s := mustReplay(t, cfg, waiting(relisted, manyWaiting+1))
	next := sure(s.Extend(background, waiting(relisted, manyWaiting+2)))
	if s.decision.shortlist == nil || next.decision.shortlist != s.decision.shortlist {
		t.Error("the next decision looks at another list")
	}
	later := sure(next.Extend(background, waiting(2*relisted, manyWaiting+1)))
	again := 0
	for _, p := range later.decision.shortlist.places {
		if slices.ContainsFunc(s.decision.shortlist.places, func(q Place) bool { return slices.Equal(p.U, q.U) }) {
			again++
		}
	}
	if again > listed/10 { // corners may be
		t.Errorf("%d of %d places are listed again", again, len(later.decision.shortlist.places))
	}
}
