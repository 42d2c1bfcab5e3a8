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
	known := map[float64]bands{} // by degrees of freedom
	for i := range out {
		for n, r := range s.history.Rounds {
			regime := s.regimeAt(n + 1)
			unscaled := s.cfg.Standardize && regime.models[i].count == 0
			if r.Excluded || !r.Readings[i].Told || trace[n].Ahead == nil || unscaled {
				continue
			}
			freedom := regime.models[i].freedom
			central, found := known[freedom]
			if !found {
				central = bandsOf(freedom)
				known[freedom] = central
			}
			out[i].add(n+1, trace[n].residuals[i], central, s.readAmong(trace[n].before, n+1, i))
		}
		for _, c := range []*Coverage{&out[i].Coverage, &out[i].New, &out[i].Repeated} {
			c.divide()
		}
	}
	return out, nil
}

func (c *Calibration) add(round int, residual float64, central bands, repeated bool) {
	c.Residuals = append(c.Residuals, residual)
	c.ResidualRounds = append(c.ResidualRounds, round)
	c.Coverage.add(residual, central)
	if repeated {
		c.Repeated.add(residual, central)
	} else {
		c.New.add(residual, central)
	}
}

// bands are the half widths, in standard deviations, of the central bands of residuals that hold
// half of them, 80 % and 95 %.
type bands [3]float64

func bandsOf(freedom float64) bands {
	return bands{half(0.5, freedom), half(0.8, freedom), half(0.95, freedom)}
}

// add counts one residual, in which of the central bands it lies.
func (c *Coverage) add(residual float64, central bands) {
	c.Count++
	for i, count := range []*float64{&c.Coverage50, &c.Coverage80, &c.Coverage95} {
		if math.Abs(residual) <= central[i] {
			*count++
		}
	}
}

func (c *Coverage) divide() {
	if c.Count == 0 {
		return
	}
	n := float64(c.Count)
	c.Coverage50, c.Coverage80, c.Coverage95 = c.Coverage50/n, c.Coverage80/n, c.Coverage95/n
}
