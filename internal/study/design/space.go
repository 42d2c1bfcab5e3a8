package design

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
)

// The rounding that is tolerated when a point is checked against limits, relative to the numbers
// that the limit compares. People's points get more tolerance than computed ones, so that a
// suggestion written down in rounded decimals is still allowed.
const (
	searchSlack = 1e-12
	personSlack = 1e-9
)

const (
	maxParameters = 50
	maxContext    = 50
	maxMetrics    = 20
)

// row has the physical values of a point, followed by the context's numbers.
type row [maxParameters + maxContext]float64

// axis converts between the physical values of one parameter and the unit interval. The physical
// value of a choice is its index.
type axis struct {
	Parameter
	low, high   float64
	log         bool
	step        float64 // distance between neighbouring values, 0 for a continuous parameter
	levels      int     // number of values, 0 for a continuous parameter
	decimals    int     // of its values (significant digits on a log scale)
	of          []int   // for a remainder: the parameters it depends on
	unavailable map[Value]bool
}

func newAxis(p Parameter, index map[string]int, gone []Value) *axis {
	a := &axis{Parameter: p, of: lists.Map(p.Of, func(name string) int { return index[name] })}
	if p.Type == Categorical {
		a.levels = len(p.Choices)
	} else {
		a.low, a.high, a.log = *p.Low, *p.High, p.Logarithmic()
		a.setStep()
	}
	if len(gone) > 0 {
		a.unavailable = map[Value]bool{}
		for _, v := range gone {
			a.unavailable[v] = true
		}
	}
	return a
}

func (a *axis) setStep() {
	size := math.Max(math.Abs(a.low), math.Abs(a.high))
	switch {
	case a.Type == Integer:
		a.step = 1
	case a.Step != nil:
		a.step = *a.Step
		a.decimals = stepDecimals(a.Parameter)
	case a.log:
		a.decimals = max(12, min(10+magnitude(a.high/(a.high-a.low)), 15))
	default:
		// Ten digits across the range, as far as floating point has them.
		a.decimals = min(15-magnitude(size), max(0, 10-magnitude(a.high-a.low)))
	}
	if a.step > 0 {
		a.levels = int(math.Floor((a.high-a.low)/a.step+1e-9)) + 1
	}
}

// magnitude returns the number of digits before the decimal point, negative for small numbers.
func magnitude(x float64) int { return int(math.Ceil(math.Log10(x))) }

// snap returns the nearest physical value that can be set.
func (a *axis) snap(x float64) float64 {
	if a.step > 0 {
		k := math.Round((x - a.low) / a.step)
		return math.Min(a.low+a.step*math.Max(0, math.Min(k, float64(a.levels-1))), a.high)
	}
	return math.Max(a.low, math.Min(x, a.high))
}

// toDecimals rounds x to the decimals that people write.
func (a *axis) toDecimals(x float64) float64 {
	format, digits := byte('f'), a.decimals
	switch {
	case a.log && a.step == 0:
		format, digits = 'e', a.decimals-1
	case digits < 0:
		return Rounded(x, digits)
	}
	cleaned, _ := strconv.ParseFloat(strconv.FormatFloat(x, format, digits, 64), 64)
	return cleaned + 0
}

// physical maps u ∈ [0,1] to the physical value.
func (a *axis) physical(u float64) float64 {
	switch {
	case a.Type == Categorical:
		return math.Max(0, math.Min(math.Floor(u*float64(a.levels)), float64(a.levels-1)))
	case a.log:
		return a.low * math.Pow(a.high/a.low, u)
	default:
		return a.low + u*(a.high-a.low)
	}
}

// unit is the inverse of physical.
func (a *axis) unit(x float64) float64 {
	switch {
	case a.Type == Categorical:
		k := float64(a.levels)
		return x/k + 1/(2*k)
	case a.log:
		return math.Log(x/a.low) / math.Log(a.high/a.low)
	default:
		return (x - a.low) / (a.high - a.low)
	}
}

// dim returns the parameter as the kernel and the search see it.
func (a *axis) dim(rawInputs bool) optimizer.Dim {
	d := optimizer.Dim{Kind: optimizer.Linear, Low: 0, High: 1, Levels: a.levels, Derived: a.Type == Remainder}
	switch {
	case a.Type == Categorical:
		d.Kind, d.Choices, d.Levels = optimizer.Categorical, a.levels, 0
	case rawInputs:
		d.Low, d.High = a.low, a.high
		if a.log {
			d.Kind = optimizer.Logarithmic
		}
	}
	return d
}

// value returns the physical value x as a setting, numbers by rounded.
func (a *axis) value(x float64) Value {
	if a.Type != Categorical {
		x = a.rounded(x)
	}
	return a.setting(x)
}

// setting returns the physical value x as a setting, unrounded.
func (a *axis) setting(x float64) Value {
	if a.Type == Categorical {
		return TextValue(a.Choices[int(x)])
	}
	return NumberValue(x)
}

// rounded returns x by toDecimals, within the bounds.
func (a *axis) rounded(x float64) float64 { return math.Max(a.low, math.Min(a.toDecimals(x), a.high)) }

// Spread returns values that the parameter can be set to, evenly spaced on its scale: all of them
// if there are at most most.
func (p Parameter) Spread(most int) []Value {
	if p.Type == Categorical {
		return lists.Map(p.Choices, TextValue)
	}
	a := newAxis(p, nil, nil)
	if a.levels > 0 && a.levels <= most {
		return lists.Of(a.levels, func(k int) Value { return a.value(a.low + float64(k)*a.step) })
	}
	values := lists.Of(most-1, func(i int) Value { return a.value(a.snap(a.physical(float64(i) / float64(most-1)))) })
	return slices.Compact(append(values, a.value(a.snap(a.high)))) // neighbouring values may coincide on a logarithmic scale
}

// space is the set of settings that can be tried, in physical values, one number per parameter.
type space struct {
	axes   []*axis
	index  map[string]int // by parameter name
	limits []comparison
	probes [][]float64 // allowed points spread over the space, or the candidates
	steps  []float64   // of the recurrence that fills the space
	rows   *sync.Pool
}

func newSpace(parameters []Parameter, gone map[string][]Value) *space {
	s := &space{index: map[string]int{}, steps: recurrenceSteps(len(parameters)), rows: &sync.Pool{New: func() any { return new(row) }}}
	for i, p := range parameters {
		s.index[p.Name] = i
	}
	s.axes = lists.Map(parameters, func(p Parameter) *axis { return newAxis(p, s.index, gone[p.Name]) })
	return s
}

// recurrenceSteps returns the powers φ^{−i−1} of the recurrence in d dimensions.
func recurrenceSteps(d int) []float64 {
	phi := 2.0
	for range 40 {
		phi = math.Pow(1+phi, 1/float64(d+1))
	}
	return lists.Of(d, func(i int) float64 { return math.Pow(phi, -float64(i+1)) })
}

func namesOf(axes []*axis) []string {
	return lists.Map(axes, func(a *axis) string { return a.Name })
}

// variables returns the variables of expressions: the parameters' numbers, then the context's.
func (s *space) variables(context []string) variables {
	v := variables{index: map[string]int{}, choices: map[string]bool{}}
	for i, a := range s.axes {
		if a.Type == Categorical {
			v.choices[a.Name] = true
		} else {
			v.index[a.Name] = i
		}
	}
	for i, name := range context {
		v.index[name] = len(s.axes) + i
	}
	return v
}

// remainders sets each remainder to what the other parameters leave.
func (s *space) remainders(x []float64) {
	for i, a := range s.axes {
		if a.Type == Remainder {
			x[i] = *a.Total
			for _, j := range a.of {
				x[i] -= x[j]
			}
		}
	}
}

// inBounds reports whether the remainders are within their bounds, up to rounding.
func (s *space) inBounds(x []float64) bool {
	for i, a := range s.axes {
		if a.Type != Remainder {
			continue
		}
		if forgiven := searchSlack * a.size(); x[i] < a.low-forgiven || x[i] > a.high+forgiven {
			return false
		}
	}
	return true
}

// size returns the largest magnitude of the numbers that a remainder is computed from.
func (a *axis) size() float64 {
	return math.Max(math.Abs(*a.Total), math.Max(math.Abs(a.low), math.Abs(a.high)))
}

// broken returns the index of the first limit that does not hold at x, or −1.
func (s *space) broken(x []float64, slack float64) int {
	for i, limit := range s.limits {
		if !limit.holds(x, slack*limit.scale) {
			return i
		}
	}
	return -1
}

func (s *space) available(x []float64) bool {
	for i, a := range s.axes {
		if a.unavailable != nil && a.unavailable[a.setting(x[i])] {
			return false
		}
	}
	return true
}

// settle rounds a unit coordinate to a value that can be set.
func (a *axis) settle(u float64) (settled, x float64) {
	u = math.Max(0, math.Min(u, 1))
	x = a.physical(u)
	if a.step > 0 {
		x = a.snap(x)
		u = a.unit(x)
		if a.unavailable != nil {
			x = a.rounded(x) // as unavailable values are written
		}
	} else if a.Type == Categorical {
		u = a.unit(x)
	}
	return u, x
}

// settle implements optimizer.Space.Settle.
func (s *space) settle(u []float64) bool {
	r := s.rows.Get().(*row)
	defer s.rows.Put(r)
	x := r[:len(s.axes)]
	for i, a := range s.axes {
		u[i], x[i] = a.settle(u[i])
	}
	s.remainders(x)
	inBounds := s.inBounds(x)
	for i, a := range s.axes {
		if a.Type == Remainder {
			x[i] = a.snap(x[i])
			u[i] = a.unit(x[i])
		}
	}
	return inBounds && s.available(x) && s.broken(x, searchSlack) < 0
}

// physicals returns the physical values at unit coordinates, rounded as settings have them.
func (s *space) physicals(u []float64) []float64 {
	x := make([]float64, len(s.axes))
	for i, a := range s.axes {
		if a.Type == Categorical {
			x[i] = a.physical(u[i])
		} else {
			x[i] = a.rounded(a.snap(a.physical(u[i]))) // snap keeps steps that decimals cannot, such as 1e90
		}
	}
	s.remainders(x)
	for i, a := range s.axes {
		if a.Type == Remainder {
			x[i] = a.rounded(x[i])
		}
	}
	return x
}

func (s *space) units(x []float64) []float64 {
	return lists.Of(len(x), func(i int) float64 { return s.axes[i].unit(x[i]) })
}

// settings returns physical values as settings, without rounding.
func (s *space) settings(x []float64) Settings {
	out := make(Settings, len(x))
	for i, a := range s.axes {
		out[a.Name] = a.setting(x[i])
	}
	return out
}

// lookup returns the physical values of settings that were accepted once.
func (s *space) lookup(settings Settings) []float64 {
	x := make([]float64, len(s.axes))
	for i, a := range s.axes {
		v := settings[a.Name]
		x[i] = v.Number
		if a.Type == Categorical {
			x[i] = float64(max(0, slices.Index(a.Choices, v.Text)))
		}
	}
	return x
}

func (s *space) describe(x []float64) string {
	const shown = 4
	parts := lists.Of(min(len(s.axes), shown), func(i int) string { return s.axes[i].Name + " = " + s.axes[i].value(x[i]).String() })
	if len(s.axes) > shown {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// strictness says how strictly settings are checked.
type strictness struct {
	round  bool // to steps
	beyond bool // used values may lie beyond the bounds as far as models make sense of them
	// unlimited allows values arbitrarily far beyond the bounds, as long as they are computable.
	// Values equal to those in kept are also allowed: they were accepted once, perhaps while the
	// bounds were wider.
	unlimited bool
	kept      Settings
}

// read converts settings to physical values and reports every setting that is missing, unknown, of
// the wrong kind or out of range. Each remainder is set to what the others leave, or to the nearest
// bound if rounding led beyond it. x is valid only if ok.
func (s *space) read(settings Settings, location string, how strictness, f *Faults) (x []float64, ok bool) {
	before, known := len(*f), 0
	x = make([]float64, len(s.axes))
	for i, a := range s.axes {
		v, given := settings[a.Name]
		switch {
		case given:
			known++
			x[i] = a.read(v, location+"."+a.Name, how, f)
		case a.Type != Remainder:
			f.Add(location+"."+a.Name, nil, "is missing; give %s", a.wanted())
		}
	}
	if known < len(settings) {
		addUnknown(f, location, "parameter", settings, namesOf(s.axes))
	}
	if len(*f) > before {
		return x, false
	}
	s.readRemainders(x, settings, location, how, f)
	return x, len(*f) == before
}

func (s *space) readRemainders(x []float64, settings Settings, location string, how strictness, f *Faults) {
	given := slices.Clone(x)
	s.remainders(x)
	for i, a := range s.axes {
		if a.Type != Remainder {
			continue
		}
		at := location + "." + a.Name
		value := a.toDecimals(x[i])
		left := formatNumber(value)
		forgiven := s.remainderTolerance(a, x, how)
		switch _, told := settings[a.Name]; {
		case told && math.Abs(given[i]-x[i]) > forgiven:
			f.Add(at, given[i], "must be %s, what the others leave of %s; it may be left out", left, formatNumber(*a.Total))
		case how.beyond && (x[i] < a.low-forgiven || x[i] > a.high+forgiven):
			left := x[i]
			x[i] = a.toDecimals(left)
			for _, written := range []Settings{settings, how.kept} { // perhaps rounded for other bounds
				if v, there := written[a.Name]; there && math.Abs(v.Number-left) <= forgiven {
					x[i] = v.Number
				}
			}
			a.checkReach(x[i], at, how, f)
		case x[i] < a.low-forgiven:
			f.Add(at, value, "the others leave %s of %s, below the lowest, %s", left, formatNumber(*a.Total), formatNumber(a.low))
		case x[i] > a.high+forgiven:
			f.Add(at, value, "the others leave %s of %s, above the highest, %s", left, formatNumber(*a.Total), formatNumber(a.high))
		default:
			x[i] = a.rounded(x[i])
		}
	}
}

// remainderTolerance returns how far a remainder that people tell may be from what the others
// leave, and that from its bounds: each part may have been copied from a page, which rounds it, and
// a step may round it again.
func (s *space) remainderTolerance(a *axis, x []float64, how strictness) float64 {
	all := a.displayError(a.high) + 1e-6*a.size()
	for _, j := range a.of {
		part := s.axes[j]
		if all += part.displayError(x[j]); how.round {
			all += part.step / 2
		}
	}
	return all
}

// displayError returns the largest difference between a value and the number that FormatSetting
// writes.
func (p Parameter) displayError(x float64) float64 {
	decimals, _ := settingDecimals(p, x)
	return math.Pow10(-decimals) / 2
}

func (a *axis) wanted() string {
	switch a.Type {
	case Categorical:
		return "one of " + listed(lists.Map(a.Choices, strconv.Quote))
	case Integer:
		return fmt.Sprintf("a whole number from %s to %s", formatNumber(a.low), formatNumber(a.high))
	}
	return fmt.Sprintf("a number from %s to %s", formatNumber(a.low), formatNumber(a.high))
}

func (a *axis) read(v Value, location string, how strictness, f *Faults) float64 {
	if a.Type == Categorical {
		i := slices.Index(a.Choices, v.Text)
		if !v.IsText || i < 0 {
			f.Add(location, v, "must be %s", a.wanted())
			return 0
		}
		return float64(i)
	}
	switch x := v.Number; {
	case v.IsText, !Finite(x), a.Type == Integer && x != math.Trunc(x):
		f.Add(location, v, "must be %s", a.wanted())
	case how.beyond && (x < a.low || x > a.high) && a.Type != Remainder:
		a.checkReach(x, location, how, f)
	case x < a.low && a.Type != Remainder:
		f.Add(location, v, "%s is below the lowest, %s", formatNumber(x), formatNumber(a.low))
	case x > a.high && a.Type != Remainder:
		f.Add(location, v, "%s is above the highest, %s", formatNumber(x), formatNumber(a.high))
	case how.round && a.step > 0:
		return a.rounded(a.snap(x))
	}
	return v.Number + 0
}

// furthest is how many times its range a used value may lie beyond it, unless the bounds may have
// been wider. Farther away no model knows anything, and a typing mistake is likelier.
const furthest = 10

func (a *axis) checkReach(x float64, location string, how strictness, f *Faults) {
	kept, there := how.kept[a.Name]
	switch u := a.unit(x); {
	case a.log && x <= 0:
		f.Add(location, NumberValue(x), "%s cannot be on a logarithmic scale; it takes numbers above 0", formatNumber(x))
	case there && kept.Number == x || how.unlimited && Computable(x) && Computable(u):
	case !(u >= -furthest && u <= 1+furthest):
		f.Add(location, NumberValue(x), "%s lies more than %d times the range beyond %s to %s; if it was really used, widen the bounds first", formatNumber(x), furthest, formatNumber(a.low), formatNumber(a.high))
	}
}

// Wanted says in a message what values a parameter takes, "" if there is no such parameter.
func (c *Compiled) Wanted(parameter string) string {
	i, known := c.space.index[parameter]
	if !known {
		return ""
	}
	return c.space.axes[i].wanted()
}

const (
	probePoints   = 400    // spread over the space to try expressions at
	searchPoints  = 20_000 // tried before a space counts as empty
	cornersUpTo   = 8      // parameters; with more, only corners near the two extreme ones
	maxProbesKept = 200
)

// sample evaluates the limits at points all over the space, or at all candidates: it measures the
// size of the numbers that each limit compares, and collects allowed points at which expressions
// are tried.
func (s *space) sample(arms [][]float64) {
	points := s.points(arms)
	for i := range s.limits {
		limit := &s.limits[i]
		for _, x := range points {
			if left, right, defined := limit.sides(x); defined {
				limit.scale = max(limit.scale, math.Abs(left), math.Abs(right))
			}
		}
	}
	for _, x := range points {
		if arms != nil || s.inBounds(x) {
			s.addProbe(x)
		}
	}
	if arms != nil {
		return
	}
	for k := range probePoints {
		s.addFilledProbe(k)
	}
	for k := probePoints; len(s.probes) == 0 && k < searchPoints; k++ {
		if x := s.nearestSettable(s.recurrence(k)); s.inBounds(x) {
			s.addProbe(x)
		}
		s.addFilledProbe(k)
	}
}

// oppositeLimits returns two limits that hold together only where both sides are equal: the margin
// of one is the violation of the other.
func (s *space) oppositeLimits() (one, other *comparison) {
	points := s.points(nil)
	for i, limit := range s.limits {
		for _, before := range s.limits[:i] {
			if !slices.ContainsFunc(points, func(x []float64) bool {
				left, right, _ := limit.sides(x)
				left2, right2, _ := before.sides(x)
				return !(math.Abs(left-right+left2-right2) <= personSlack*(limit.scale+before.scale))
			}) {
				return &before, &limit
			}
		}
	}
	return nil, nil
}

// points returns all candidates or, if there are none, corners and points between them.
func (s *space) points(arms [][]float64) [][]float64 {
	if arms != nil {
		return arms
	}
	return s.spread(probePoints)
}

// addFilledProbe keeps point k of the recurrence, moved by fill, if every remainder is within its
// bounds.
func (s *space) addFilledProbe(k int) {
	if !s.hasMixture() {
		return
	}
	u := s.recurrence(k)
	s.fill(u)
	if x := s.nearestSettable(u); s.inBounds(x) {
		s.addProbe(x)
	}
}

// addProbe adds x to the probes if no limit forbids it.
func (s *space) addProbe(x []float64) {
	if len(s.probes) < maxProbesKept && s.broken(x, personSlack) < 0 {
		s.probes = append(s.probes, x)
	}
}

// spread returns the physical values of corners, the centre and n points between.
func (s *space) spread(n int) [][]float64 {
	var points [][]float64
	d := len(s.axes)
	u := make([]float64, d)
	add := func() { points = append(points, s.nearestSettable(u)) }
	if d <= cornersUpTo {
		for corner := range 1 << d {
			for i := range u {
				u[i] = float64(corner >> i & 1)
			}
			add()
		}
	} else {
		for _, from := range []float64{0, 1} {
			for flipped := -1; flipped < d; flipped++ {
				for i := range u {
					u[i] = from
				}
				if flipped >= 0 {
					u[flipped] = 1 - from
				}
				add()
			}
		}
	}
	for i := range u {
		u[i] = 0.5
	}
	add()
	for k := range n {
		points = append(points, s.nearestSettable(s.recurrence(k)))
	}
	return points
}

// nearestSettable returns the physical values nearest to u that can be set.
func (s *space) nearestSettable(u []float64) []float64 {
	x := make([]float64, len(u))
	for i, a := range s.axes {
		x[i] = a.physical(u[i])
		if a.step > 0 {
			x[i] = a.snap(x[i])
		}
	}
	s.remainders(x)
	return x
}

// recurrence returns point k of an additive recurrence that fills the space evenly in any
// dimension,
//
//	u_i = frac(½ + (k+1) φ^{−i−1}),   φ^{d+1} = φ + 1,
//
// after Roberts, "The unreasonable effectiveness of quasirandom sequences" (2018).
func (s *space) recurrence(k int) []float64 {
	u := make([]float64, len(s.axes))
	for i := range u {
		_, u[i] = math.Modf(0.5 + float64(k+1)*s.steps[i])
	}
	return u
}
