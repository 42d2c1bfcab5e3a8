package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
)

// TestDrawsEnd asks for draws of functions that the data determine, up to the rounding that a prior
// ten orders larger leaves.
func TestDrawsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, algorithm := range []string{"ckb-ts", "scbo"} {
		cfg := plain(t, 1, 1, func(c *Config) {
			c.Algorithm = algorithm
			for i := range c.Metrics {
				c.Metrics[i].Kernel = Kernel{Name: "linear", Lengthscales: []float64{0.3}, Variance: 100}
				c.Metrics[i].Lambda = 1e-4
			}
		}, `{}`)
		s := mustReplay(t, cfg, played(cfg, 150, 1))
		d, err := s.Suggest(ctx, Known{})
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		for k, z := range d.Draw.Z {
			// (draw − μ)/σ is a normal number times the width; what rounding adds to σ must not
			// carry it away.
			if !(z > -50 && z < 50) {
				t.Errorf("%s: the draw of function %d lies %g deviations from its mean", algorithm, k, z)
			}
		}
	}
}

// work is everything that can be asked of a state, from nothing.
func work(ctx context.Context, cfg *Config, h *History) error {
	s, err := Replay(ctx, cfg, h)
	if err != nil {
		return err
	}
	if s, err = s.Extend(ctx, h); err != nil {
		return err
	}
	if _, err := s.Suggest(ctx, toyKnown()); err != nil {
		return err
	}
	place := Place{h.Rounds[0].Point, h.Rounds[0].Arm}
	if _, err := s.Own(ctx, place, toyKnown()); err != nil {
		return err
	}
	if _, err := s.Acquisition(ctx, []Place{place}, toyKnown()); err != nil {
		return err
	}
	if _, _, err := s.Believe(ctx, []Place{place}, nil); err != nil {
		return err
	}
	if _, err := s.Calibrations(ctx); err != nil {
		return err
	}
	if _, err := s.Recommendation(ctx); err != nil {
		return err
	}
	_, err = s.Violations(ctx)
	return err
}

// TestWorkEnds stops everything that any algorithm does at one checkpoint after another.
func TestWorkEnds(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for _, a := range policy.Descriptions() {
		for _, g := range grounds()[:2] {
			t.Run(a.Name+" on "+g.name, func(t *testing.T) {
				t.Parallel()
				cfg := toyConfig(t, a.Name, g, 1)
				h, _ := play(t, cfg, enough(cfg))
				for at := 1; ; at *= 5 {
					calls := 0
					err := work(checkpoint.With(t.Context(), func(context.Context) error {
						if calls++; calls >= at {
							return stop
						}
						return nil
					}), cfg, h)
					if calls < at {
						if err != nil || calls < 15 {
							t.Errorf("%d checkpoints, ended with %v", calls, err)
						}
						return
					}
					if !errors.Is(err, stop) {
						t.Fatalf("stopped at checkpoint %d, it ended with %v", at, err)
					}
				}
			})
		}
	}
}

// TestReadingsGoOn ends looking back at one checkpoint after another, each call going on where the
// one before ended.
func TestReadingsGoOn(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for _, algorithm := range []string{"rpol-ucb", "rpol-sw-ucb", "rpol-censored-ucb", "penalty-noisy", "ckb-ucb"} {
		cfg := toyConfig(t, algorithm, grounds()[2], 1)
		h, _ := play(t, cfg, 12)
		whole, s := mustReplay(t, cfg, h), mustReplay(t, cfg, h)
		once := func() context.Context {
			calls := 0
			return checkpoint.With(t.Context(), func(context.Context) error {
				if calls++; calls > 1 {
					return stop
				}
				return nil
			})
		}
		tries := 0
		trace, err := s.Trace(once())
		for ; errors.Is(err, stop); tries++ {
			trace, err = s.Trace(once())
		}
		if tries < 4 {
			t.Errorf("%s: the trace of 12 rounds was stopped %d times", algorithm, tries)
		}
		if diff := cmp.Diff(sure(whole.Trace(background)), trace, exactly, unexported); diff != "" {
			t.Errorf("%s: %s", algorithm, diff)
		}
		if diff := cmp.Diff(sure(whole.Violations(background)), sure(s.Violations(background)), exactly); diff != "" {
			t.Errorf("%s: %s", algorithm, diff)
		}
	}
}

// exactly compares numbers to the last bit, and lists of them at once: asked number by number,
// under the race detector, comparing costs more than all that is compared.
var exactly = cmp.Options{
	cmp.Comparer(sameBits),
	cmp.Comparer(func(a, b []float64) bool { return slices.EqualFunc(a, b, sameBits) }),
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
