package optimizer

import (
	"context"
	"math"
)

// Calibrations returns one per metric. With standardised outputs, rounds decided before the metric
// had a centre and a scale are left out: nothing was predicted in its units. The error is that of
// ctx.
func (s *account) Calibrations(ctx context.Context) ([]Calibration, error) {
	out := make([]Calibration, len(s.cfg.Metrics))
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	before, err := s.playedBefore(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out {
		for n, r := range s.history.Rounds {
			regime := s.regimeAt(n + 1)
			unscaled := s.cfg.Standardize && regime.models[i].count == 0
			if r.Excluded || !r.Readings[i].Told || trace[n].Ahead == nil || unscaled {
				continue
			}
			out[i].add(n+1, trace[n].residuals[i], regime.models[i].freedom, s.readAmong(before[n], n+1, i))
		}
		for _, c := range []*Coverage{&out[i].Coverage, &out[i].New, &out[i].Repeated} {
			c.divide()
		}
	}
	return out, nil
}

func (c *Calibration) add(round int, residual, freedom float64, repeated bool) {
	c.Residuals = append(c.Residuals, residual)
	c.ResidualRounds = append(c.ResidualRounds, round)
	c.Coverage.add(residual, freedom)
	if repeated {
		c.Repeated.add(residual, freedom)
	} else {
		c.New.add(residual, freedom)
	}
}

// add counts one residual, in which of the central bands of its distribution it lies.
func (c *Coverage) add(residual, freedom float64) {
	inside := func(share float64) float64 {
		if math.Abs(residual) <= half(share, freedom) {
			return 1
		}
		return 0
	}
	c.Count++
	c.Coverage50 += inside(0.5)
	c.Coverage80 += inside(0.8)
	c.Coverage95 += inside(0.95)
}

func (c *Coverage) divide() {
	if c.Count == 0 {
		return
	}
	n := float64(c.Count)
	c.Coverage50, c.Coverage80, c.Coverage95 = c.Coverage50/n, c.Coverage80/n, c.Coverage95/n
}
