package ledger

import "math"

// Range is what readings of a metric range over; Low and High mean something when there are any.
type Range struct {
	Count     int
	Low, High float64
}

// RangeOf is what values range over.
func RangeOf(values ...float64) Range {
	r := Range{Low: math.Inf(1), High: math.Inf(-1)}
	for _, x := range values {
		r.Count++
		r.Low, r.High = min(r.Low, x), max(r.High, x)
	}
	return r
}

// With is what both range over together.
func (r Range) With(other Range) Range {
	return Range{r.Count + other.Count, min(r.Low, other.Low), max(r.High, other.High)}
}

// RangesWithout are, for each value, what the others range over.
func RangesWithout(values []float64) []Range {
	before, after := make([]Range, len(values)+1), RangeOf()
	before[0] = RangeOf()
	for i, x := range values {
		before[i+1] = before[i].With(RangeOf(x))
	}
	without := make([]Range, len(values))
	for i := len(values) - 1; i >= 0; i-- {
		without[i] = before[i].With(after)
		after = after.With(RangeOf(values[i]))
	}
	return without
}

// Range is what the readings of a metric range over, in all included trials but one (0: in all).
func (snap *Snapshot) Range(metric string, except int) Range {
	if t := snap.Trial(except); snap.ranges != nil && (t == nil || t.Excluded || !t.has(metric)) {
		if r, there := snap.ranges[metric]; there {
			return r
		}
		return RangeOf()
	}
	var known []float64
	for i := range snap.Trials {
		if m, told := snap.Trials[i].Metrics[metric]; told && !snap.Trials[i].Excluded && i != except-1 {
			known = append(known, m.Value)
		}
	}
	return RangeOf(known...)
}

// or takes in the limits where the readings alone say nothing of how far apart they lie.
func (r Range) or(limits Range) Range {
	if r.Count < 2 && limits.Count > 0 {
		return r.With(limits)
	}
	return r
}

// beyondBy is how far beyond the values x lies, 0 among them.
func (r Range) beyondBy(x float64) float64 { return max(x-r.High, r.Low-x, 0) }

// slack is how far beyond an end that cannot be passed noise may well carry a reading: half of how
// far apart the readings lie, or half of their limit where they are too few to tell.
func (r Range) slack(limits Range) float64 {
	switch {
	case r.Count > 1:
		return r.spread() / 2
	case limits.Count > 0:
		return limits.most() / 2
	}
	return 0
}

// spread is how far apart the values lie, 0 for none.
func (r Range) spread() float64 { return max(r.High-r.Low, 0) }

func (r Range) most() float64 { return math.Max(math.Abs(r.Low), math.Abs(r.High)) }
func (r Range) within(other Range) bool {
	return r.Count == 0 || other.holds(r.Low) && other.holds(r.High)
}

// near tells whether x has a sign that they have, and is neither several times as large as all of
// them nor as small.
func (r Range) near(x float64) bool {
	if r.Count == 0 || x < 0 && r.Low >= 0 || x > 0 && r.High <= 0 {
		return false
	}
	least := math.Min(math.Abs(r.Low), math.Abs(r.High))
	if r.Low <= 0 && r.High >= 0 {
		least = 0
	}
	return math.Abs(x) <= farOutside*r.most() && math.Abs(x) >= least/farOutside
}

// stepsTo is how far beyond the values x lies, in units of how far they lie apart: of themselves
// or, where all have one sign, of their logarithms, whichever is less. It is 0 for x among them,
// and where they do not lie apart.
func (r Range) stepsTo(x float64) float64 {
	if !r.beyond(x) || r.High == r.Low {
		return 0
	}
	steps := r.beyondBy(x) / r.spread()
	if r.Low*r.High > 0 && x*r.Low > 0 {
		low, high, at := math.Log(math.Abs(r.Low)), math.Log(math.Abs(r.High)), math.Log(math.Abs(x))
		if low > high {
			low, high = high, low
		}
		steps = min(steps, max(at-high, low-at)/(high-low))
	}
	return steps
}

func (r Range) beyond(x float64) bool { return r.Count > 0 && (x < r.Low || x > r.High) }
func (r Range) holds(x float64) bool  { return r.Low <= x && x <= r.High }

// around tells whether x lies within the readings, or about as near to them as they are to each
// other, and has no sign that none of them has.
func (r Range) around(x float64) bool {
	if r.Count == 0 || x < 0 && r.Low >= 0 || x > 0 && r.High <= 0 {
		return false
	}
	room := (r.High - r.Low) / 2
	if room == 0 {
		room = math.Abs(r.High) / 4
	}
	return r.Low-room <= x && x <= r.High+room
}

// farFrom tells whether x lies further outside the readings than twice their spread; where all are
// equal, than their size.
func (r Range) farFrom(x float64) bool {
	room := 2 * (r.High - r.Low)
	if room == 0 {
		room = math.Abs(r.High)
	}
	return x > r.High+room || x < r.Low-room
}

// otherPower tells whether x is of another size, or sign, than all readings, and a slip leads to it
// from among them.
func (r Range) otherPower(x float64, fits func(float64) bool) bool {
	if r.Count < fewestForPowers || r.Low <= 0 && r.High >= 0 {
		return false
	}
	least, most, size := math.Min(math.Abs(r.Low), math.Abs(r.High)), r.most(), math.Abs(x)
	otherSign := x != 0 && (x < 0) != (r.High < 0) && r.Count >= fewestToJudge
	return (otherSign || size > farOutside*most || size < least/farOutside) && slipOf(x, fits) != nil
}
