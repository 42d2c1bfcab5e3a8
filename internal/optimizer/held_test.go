package optimizer

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestHeldSettingsStay: whatever the algorithm and the space, only the other settings are chosen, from the
// first design on, and while many trials wait.
func TestHeldSettingsStay(t *testing.T) {
	t.Parallel()
	for _, name := range algorithms() {
		for _, g := range grounds() {
			if len(g.space.Dims) < 2 {
				continue
			}
			cfg := toyConfig(t, name, g, 1)
			if samples(cfg) && (g.name == "mixed" || name != "ckb-ts") {
				continue // takes long, and one such algorithm on one continuous ground shows it
			}
			t.Run(fmt.Sprintf("%s/%s", name, g.name), func(t *testing.T) {
				t.Parallel()
				h, _ := play(t, cfg, enough(cfg))
				waiting := *h
				for _, r := range slices.Concat(h.Rounds, h.Rounds, h.Rounds)[:10] {
					r.Readings = make([]Reading, len(cfg.Metrics))
					waiting.Rounds = append(slices.Clip(waiting.Rounds), r)
				}
				for i, then := range []*History{{}, h, &waiting} {
					for k := range g.space.Dims {
						if g.space.Arms != nil || k == i%len(g.space.Dims) { // elsewhere in turn
							suggestedHolding(t, cfg, then, k, g.safe.U[k])
						}
					}
				}
			})
		}
	}
}

func suggestedHolding(t *testing.T, cfg *Config, h *History, k int, u float64) {
	t.Helper()
	held := *cfg
	held.Space = cfg.Space.Holding(map[int]float64{k: u})
	d, err := mustReplay(t, &held, h).Suggest(background, toyKnown())
	free := mustReplay(t, cfg, h)
	_, _ = free.Suggest(background, toyKnown()) // what it looked at is not looked at where something is held
	again, failed := sure(free.Holding(background, &held)).Suggest(background, toyKnown())
	if !reflect.DeepEqual(d, again) || (err == nil) != (failed == nil) {
		t.Errorf("replayed %+v, %v is suggested, going on from a state %+v, %v", d, err, again, failed)
	}
	if errors.Is(err, ErrNoneAllowed) {
		t.Errorf("after %d rounds nothing is allowed with %d held at %g", len(h.Rounds), k, u)
	} else if err != nil {
		t.Error(err)
	} else if _, ok := cfg.Space.settle(d.Place.U); !ok || d.Place.U[k] != u {
		t.Errorf("after %d rounds, with %d held at %g, %v is suggested", len(h.Rounds), k, u, d.Place)
	}
	if d.RunnerUp != nil && d.RunnerUp.Place.U[k] != u {
		t.Errorf("with %d held at %g, %v comes next", k, u, d.RunnerUp.Place)
	}
}

// TestAHeldSuggestionIsTheMaximum of those with what is held, and no better than what is best of all.
func TestAHeldSuggestionIsTheMaximum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		cfg := plain(t, 2, 1, func(c *Config) { c.Algorithm, c.Seed = "log-cei", seed }, `{"initial_design": 4}`)
		h := played(cfg, 12, seed)
		u := float64(seed+1) / 8
		held := *cfg
		held.Space = cfg.Space.Holding(map[int]float64{1: u})
		d := sure(mustReplay(t, &held, h).Suggest(background, Known{}))
		free := sure(mustReplay(t, cfg, h).Suggest(background, Known{}))
		var line []Place
		for i := range 2001 {
			line = append(line, Place{U: []float64{float64(i) / 2000, u}, Arm: -1})
		}
		if varied := deciding(mustReplay(t, &held, h)).set(background, line, nil).Free; !slices.Equal(varied, []bool{true, false}) {
			t.Errorf("an algorithm that varies parameters is told to vary %v", varied)
		}
		most := math.Inf(-1)
		for _, value := range sure(mustReplay(t, cfg, h).Acquisition(background, line, Known{})).Values {
			most = math.Max(most, value)
		}
		if d.Place.U[1] != u || d.Acquisition < most-1e-6 || d.Acquisition > free.Acquisition+1e-9 {
			t.Errorf("seed %d: at %v %g is found, of %g along the line and %g anywhere", seed, d.Place.U, d.Acquisition, most, free.Acquisition)
		}
	}
}

// TestHeldSettingsStayWhereAllIsTried: the best of all is read again rather than what breaks a limit, but
// not where other settings are held.
func TestHeldSettingsStayWhereAllIsTried(t *testing.T) {
	t.Parallel()
	cfg, h := found(t)
	for k := range cfg.Space.Dims {
		cfg.Space.Dims[k].Levels = 3
	}
	cfg.Space.Settle = func(u []float64) bool {
		for k := range u {
			u[k] = math.Round(2*min(max(u[k], 0), 1)) / 2
		}
		return true
	}
	h.Rounds = h.Rounds[:9]
	for n := range h.Rounds {
		i, j := n/3, n%3
		h.Rounds[n].Point = []float64{float64(i) / 2, float64(j) / 2}
		h.Rounds[n].Readings[0].Value, h.Rounds[n].Readings[1].Value = float64(i)-math.Abs(float64(j)-1), float64(i)-0.5
	}
	if free := sure(mustReplay(t, cfg, h).Suggest(background, Known{})); free.Place.U[0] == 0.5 {
		t.Fatalf("%v breaks the limit, and is asked for (%s)", free.Place.U, free.Reason)
	}
	cfg.Space = cfg.Space.Holding(map[int]float64{0: 0.5})
	if d := sure(mustReplay(t, cfg, h).Suggest(background, Known{})); d.Place.U[0] != 0.5 {
		t.Errorf("with .5 held, %v is suggested (%s)", d.Place.U, d.Reason)
	}
}
