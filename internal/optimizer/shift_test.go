package optimizer

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"headroom/internal/optimizer/factor"
)

// TestShiftIsABayesFactor: the factor of a moment is the ratio of the densities of the readings, with a
// shift of normal size at it and with none.
func TestShiftIsABayesFactor(t *testing.T) {
	t.Parallel()
	const n, variance = 22, 1.7
	rows, plain, y := make([][]float64, n), mat.NewSymDense(n, nil), make([]float64, n)
	for i := range n {
		y[i] = math.Sin(float64(i)) + 0.05*float64(i)
		for j := range i + 1 {
			k := math.Exp(-math.Abs(float64(i-j)) / 3)
			if i == j {
				k += 0.1
			}
			rows[i] = append(rows[i], k)
			plain.SetSym(i, j, k)
		}
	}
	L := sure(factor.New(rows))
	moments, after := afterMoments(n)
	sum, best, where := 0.0, 0.0, 0
	for i, moment := range moments {
		shifted := mat.NewSymDense(n, nil)
		shifted.CopySym(plain)
		for a := moment; a < n; a++ {
			for b := moment; b <= a; b++ {
				shifted.SetSym(a, b, plain.At(a, b)+variance)
			}
		}
		density := func(k *mat.SymDense) float64 {
			normal, _ := distmv.NewNormal(make([]float64, n), k, nil)
			return normal.LogProb(y)
		}
		times := math.Exp(density(shifted) - density(plain))
		if sum += times; times > best {
			best, where = times, i
		}
	}
	for _, u := range after {
		L.SolveLower(u, u)
	}
	z := make([]float64, n)
	L.SolveLower(z, y)
	at, _, times := likeliestShift(after, z, variance)
	if want := sum / float64(len(moments)); at != where || math.Abs(times-want) > 1e-9*want {
		t.Errorf("the factor is %g at moment %d, the densities say %g at %d", times, at, want, where)
	}
	if first, last := moments[0], moments[len(moments)-1]; first != 3 || last != n-3 {
		t.Errorf("moments from %d to %d", first, last)
	}
}

// TestShiftIsFound: readings that lie higher or lower from a round on show it there, in the metric's own
// direction, and those that do not show none; with a window, of those in it.
func TestShiftIsFound(t *testing.T) {
	t.Parallel()
	whole := plain(t, 2, 1, func(c *Config) { c.Objective.Sign = -1 }, `{}`)
	window := plain(t, 2, 1, func(c *Config) { c.Algorithm = "rpol-sw-ucb" }, `{"window": 30}`)
	for _, c := range []struct {
		cfg          *Config
		rounds, from int
	}{{whole, 40, 26}, {window, 60, 46}} {
		for metric := range c.cfg.Metrics {
			for _, by := range []float64{0, 2, -2} {
				h := played(c.cfg, c.rounds, 1)
				for i := c.from - 1; i < c.rounds; i++ {
					h.Rounds[i].Readings[metric].Value += by
				}
				for m, shown := range sure(mustReplay(t, c.cfg, h).Calibrations(background)) {
					moved, found := m == metric && by != 0, shown.Shift
					if shows := found.Factor > ShiftLimit; shows != moved || moved && (found.Since < c.from-1 || found.Since > c.from+1 || found.Rising != (by > 0)) {
						t.Errorf("metric %d, when metric %d moved by %g from round %d on, shows %+v", m, metric, by, c.from, found)
					}
				}
			}
		}
	}
	for _, c := range sure(mustReplay(t, whole, played(whole, fewestOfShift-1, 1)).Calibrations(background)) {
		if c.Shift != nil {
			t.Errorf("too few readings show %+v", c.Shift)
		}
	}
}

// TestOneSlipIsNoShift: one reading that is far out, wherever it stands, is none, however far.
func TestOneSlipIsNoShift(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(*Config) {}, `{}`)
	for _, at := range []int{20, 36, 38, 40} {
		for _, by := range []float64{-5, 50, 5e6} {
			h := played(cfg, 40, 1)
			h.Rounds[at-1].Readings[0].Value += by
			if shift := sure(mustReplay(t, cfg, h).Calibrations(background))[0].Shift; shift.Factor > ShiftLimit {
				t.Errorf("reading %d, %g too high, shows %+v", at, by, shift)
			}
		}
	}
}

// TestShiftOfAMetricOfTwoLimits: where outputs are raw a metric is regressed towards the threshold of its
// first limit, and a shift is looked for there, too.
func TestShiftOfAMetricOfTwoLimits(t *testing.T) {
	t.Parallel()
	var shifts [2]*LevelShift
	for i := range shifts {
		cfg := plain(t, 2, 1, func(cfg *Config) {
			if i == 1 {
				cfg.Costs = append(cfg.Costs, Cost{Name: "least", Metric: 1, Sign: -1, Threshold: -3})
			}
		}, `{}`)
		shifts[i] = sure(mustReplay(t, cfg, played(cfg, 30, 4)).Calibrations(background))[1].Shift
	}
	if *shifts[0] != *shifts[1] {
		t.Errorf("%+v of one limit, %+v with a second", *shifts[0], *shifts[1])
	}
}
