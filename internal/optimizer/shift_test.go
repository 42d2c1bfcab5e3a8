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
// direction, and those that do not show none.
func TestShiftIsFound(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) { c.Objective.Sign = -1 }, `{}`)
	for metric := range cfg.Metrics {
		for _, by := range []float64{0, 2, -2} {
			h := played(cfg, 40, 1)
			for i := range h.Rounds[25:] {
				h.Rounds[25+i].Readings[metric].Value += by
			}
			for m, c := range sure(mustReplay(t, cfg, h).Calibrations(background)) {
				moved := m == metric && by != 0
				if shows := c.Shift.Factor > ShiftLimit; shows != moved || moved && (c.Shift.Round < 25 || c.Shift.Round > 27 || c.Shift.Rising != (by > 0)) {
					t.Errorf("metric %d, when metric %d moved by %g from round 26 on, shows %+v", m, metric, by, c.Shift)
				}
			}
		}
	}
	for _, c := range sure(mustReplay(t, cfg, played(cfg, fewestOfShift-1, 1)).Calibrations(background)) {
		if c.Shift != nil {
			t.Errorf("too few readings show %+v", c.Shift)
		}
	}
}
