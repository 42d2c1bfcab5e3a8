package study

import "math"

// A tabular CUSUM (Page 1954; Montgomery, Introduction to Statistical Quality Control): S⁺ = max(0, S⁺ + z − k), S⁻ = max(0, S⁻ − z − k), a drift being
// signalled beyond h. With k = ½ a shift of one standard deviation shows soonest, after about 10 readings; with h = 5 a process that stands passes
// the limit about once in 465 readings, where its residuals are standard normal.
const (
	CUSUMSlack      = 0.5
	CUSUMLimit      = 5
	CUSUMFalseAlarm = 465 // readings of a process that stands, on average, until the limit is passed
)

// mostResidual keeps one wrong reading from passing for a drift: none counts for more.
const mostResidual = 4

// Drift is what a metric's one-step-ahead residuals, in standard deviations of a reading, say of a change with time.
type Drift struct {
	Numbers   []int // of the trials
	Residuals []float64
	Up, Down  []float64 // the CUSUM on either side
	Since     int       // trial at which the limit was passed for good, 0 for none
	Rising    bool      // readings come out higher than predicted
}

// DriftOf follows the CUSUM along residuals. A limit that the sum has come back from is no drift: the model has caught up.
func DriftOf(residuals []Residual) Drift {
	var d Drift
	up, down := 0.0, 0.0
	for _, r := range residuals {
		z := math.Max(-mostResidual, math.Min(mostResidual, r.Z))
		up, down = math.Max(0, up+z-CUSUMSlack), math.Max(0, down-z-CUSUMSlack)
		d.Numbers, d.Residuals = append(d.Numbers, r.Number), append(d.Residuals, r.Z)
		d.Up, d.Down = append(d.Up, up), append(d.Down, down)
		beyond := up > CUSUMLimit || down > CUSUMLimit
		switch {
		case beyond && d.Since == 0:
			d.Since, d.Rising = r.Number, up > CUSUMLimit
		case !beyond:
			d.Since = 0
		}
	}
	return d
}
