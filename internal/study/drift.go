package study

import (
	"cmp"
	"math"
	"slices"
)

// A tabular CUSUM (Page 1954; Montgomery, Introduction to Statistical Quality Control): S⁺ = max(0,
// S⁺ + z − k), S⁻ = max(0, S⁻ − z − k), a drift being signalled beyond h. With k = ½ a shift of one
// standard deviation shows soonest, after about 12 readings. No residual counts for more than 2:
// the predictions of a young model are often far out once or twice, which is no drift, and so it
// takes four readings on one side at least. A process that stands, with standard normal residuals,
// passes h = 5 about once in 850 readings.
const (
	CUSUMSlack      = 0.5
	CUSUMLimit      = 5
	CUSUMMost       = 2   // no residual counts for more
	CUSUMFalseAlarm = 850 // readings of a process that stands, on average, until the limit is passed
)

// Drift is what a metric's one-step-ahead residuals, in standard deviations of a reading, say of a
// change with time.
type Drift struct {
	Numbers   []int // of the trials
	Residuals []float64
	Up, Down  []float64 // the CUSUM on either side
	Since     int       // trial from which the sum that is beyond the limit has grown, 0 where neither is
	Rising    bool      // readings come out higher than predicted
	Past      []Spell   // times that a sum was beyond the limit and came back from it, in the order they ended
}

// Spell is a time during which readings came out on one side again and again, until the model had
// caught up.
type Spell struct {
	From, Until int // the trial from which the sum grew, and the last with which it was beyond the limit
	Rising      bool
}

// DriftOf follows the CUSUM along residuals. A limit that the sum has come back from is no drift:
// the model has caught up.
func DriftOf(residuals []Residual) Drift {
	var d Drift
	var up, down sum
	for _, r := range residuals {
		z := math.Max(-CUSUMMost, math.Min(CUSUMMost, r.Z))
		up.add(r.Number, z)
		down.add(r.Number, -z)
		d.Numbers, d.Residuals = append(d.Numbers, r.Number), append(d.Residuals, r.Z)
		d.Up, d.Down = append(d.Up, up.value), append(d.Down, down.value)
	}
	switch {
	case up.value > CUSUMLimit:
		d.Since, d.Rising = up.from, true
	case down.value > CUSUMLimit:
		d.Since = down.from
	}
	d.Past = append(spells(d.Numbers, d.Up, true), spells(d.Numbers, d.Down, false)...)
	slices.SortFunc(d.Past, func(a, b Spell) int { return cmp.Compare(a.Until, b.Until) })
	return d
}

// spells are the times that a sum has passed the limit and come back from it. From when it leaves 0
// until it is there again it counts as one.
func spells(numbers []int, sums []float64, rising bool) []Spell {
	var list []Spell
	var from, until int
	end := func() {
		if until > 0 {
			list = append(list, Spell{From: from, Until: until, Rising: rising})
		}
		from, until = 0, 0
	}
	for i, s := range sums {
		switch {
		case s == 0:
			end()
		case from == 0:
			from = numbers[i]
		}
		if s > CUSUMLimit {
			until = numbers[i]
		}
	}
	if n := len(sums); n > 0 && sums[n-1] <= CUSUMLimit {
		end()
	}
	return list
}

// sum is one side of a CUSUM, and the trial from which it has grown: where the change is most
// likely to have come.
type sum struct {
	value float64
	from  int
}

func (s *sum) add(number int, z float64) {
	if s.value == 0 {
		s.from = number
	}
	s.value = math.Max(0, s.value+z-CUSUMSlack)
}
