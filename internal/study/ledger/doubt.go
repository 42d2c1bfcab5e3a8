package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// A reading is doubted, never refused, when it looks like a slip of whoever typed it. This file
// holds the rule for one value; which values are judged, and the words, are the service's.

// Expected is the prediction of a reading, its noise included, in the metric's unit.
type Expected struct{ Mean, SD float64 }

// Doubt is why a value looks wrong. Several may hold at once.
type Doubt struct {
	Implausible []float64 // the range that people gave for the metric, when the value lies outside
	Expected    *Expected // the prediction, when the value lies more than mostSD standard deviations beside it
	Above       bool      // the value lies above Extreme, the highest so far, else below the lowest
	Extreme     *float64  // when the value lies beyond all readings so far
	Share       bool      // the value is in per cent and no share of a hundred, as all before were
	Limit       *float64  // the limit that a first reading is incomparably larger than
	Grave       bool      // no matter whether a person typed the value
	Meant       *Slip     // what would fit, if a likely slip leads from there to the value
	Aside       bool      // Meant is among the other readings, but would itself lie more than mostSD beside the prediction
}

// Slip is a common mistake with a number: what was probably meant, and the power of ten between the
// two, 0 when only the sign is another.
type Slip struct {
	Meant float64
	Power int // typed = meant · 10^Power
}

const (
	// mostSD is how many standard deviations of a reading a value may lie beside its prediction;
	// within easySD it is not looked at again.
	mostSD, easySD = 4, 2
	// outOfReach is how many standard deviations beside its prediction at most one reading in a
	// hundred lies, whatever their distribution is like (the inequality of Bienaymé and Chebyshev:
	// 1/k²). Programs make no slips, and a young model is often surprised by more than mostSD.
	outOfReach = 10
	// fewestToJudge is how many values must be known before the model, or their range, can make a
	// new one look odd.
	fewestToJudge = 4
	// fewestForPowers is how many values must be known before a new one can be another power of
	// ten.
	fewestForPowers = 2
	// farOutside is how many times as large as the largest, or as small as the smallest reading, a
	// value is when a power of ten comes to mind.
	farOutside = 3
	mostPowers = 3
)

// firstSteps are for so many values known, all before there is a model, how many times their spread
// a further one may lie beyond them: so far, were all drawn alike from a normal distribution, 1 in
// 100 lies, and 1 in 10, which is odd enough where a slip leads there from among the others
// (TestFirstReadingsAreSeldomDoubted draws them). Two values may be of one setting and say nothing
// of the others, so they do not suffice without a slip.
var firstSteps = map[int]struct{ odd, slip float64 }{2: {math.Inf(1), 4.97}, 3: {5.52, 1.27}}

// Likely tells whether a value of a metric is like its other readings, or as expected: more than
// that it would not be doubted.
func (snap *Snapshot) Likely(t *Trial, metric string, value float64) bool {
	if expected := snap.Foretold(t, metric); expected != nil {
		return expected.fits(value)
	}
	return snap.Range(metric, t.Number).around(value)
}

// suspect is a value of a metric with what it is judged by.
type suspect struct {
	value         float64
	metric        design.MetricInfo
	expected      *Expected // nil where no model has learnt the metric
	known, limits Range     // what other readings, and the metric's limits, range over
}

// judge doubts a value of a metric; nil when it looks as it should. known is what other readings
// range over, expected nil where no model has learnt the metric.
func judge(value float64, m design.MetricInfo, expected *Expected, known Range) *Doubt {
	s := suspect{value, m, expected, known, limitsOf(m)}
	doubt := &Doubt{Share: s.noShare()}
	if !s.plausible(value) {
		doubt.Implausible = m.Plausible
	}
	var odd, grave bool
	switch {
	case expected != nil:
		odd, grave = s.besideExpected(doubt)
	case known.Count >= fewestToJudge:
		grave = known.most() > 0 && known.farFrom(value) // of what was always 0 nobody knows the size
		odd = grave || known.otherPower(value, s.fits)
	default:
		odd, grave = s.besideFew(doubt)
	}
	impossible := doubt.Implausible != nil || doubt.Share
	if !odd && !impossible {
		return nil
	}
	doubt.Grave = grave || impossible
	if known.beyond(value) {
		doubt.Above = value > known.High
		doubt.Extreme = &known.Low
		if doubt.Above {
			doubt.Extreme = &known.High
		}
	}
	doubt.Meant = s.meant(doubt.Share)
	doubt.Aside = doubt.Meant != nil && expected != nil && expected.distance(doubt.Meant.Meant) > mostSD
	return doubt
}

// plausible tells whether x lies in the range that people gave for the metric, if they did.
func (s *suspect) plausible(x float64) bool {
	p := s.metric.Plausible
	return len(p) != 2 || p[0] <= x && x <= p[1]
}

// noShare tells whether the value is in per cent and no share of a hundred, as all before were.
func (s *suspect) noShare() bool {
	return s.metric.Unit == "%" && len(s.metric.Plausible) == 0 && s.known.within(share) && s.limits.within(share) &&
		share.beyondBy(s.value) > s.known.slack(s.limits)
}

// fits tells whether x would be as expected or, where nothing is, like the readings.
func (s *suspect) fits(x float64) bool {
	if s.expected != nil {
		return s.expected.fits(x)
	}
	return s.known.or(s.limits).around(x)
}

// besideExpected judges the value by its prediction.
func (s *suspect) besideExpected(doubt *Doubt) (odd, grave bool) {
	distance := s.expected.distance(s.value)
	if distance > mostSD {
		doubt.Expected = s.expected
	}
	odd = distance > mostSD || distance > easySD && s.known.otherPower(s.value, s.fits)
	grave = distance > outOfReach || distance > mostSD && s.known.Count >= fewestToJudge && s.known.farFrom(s.value)
	return odd, grave
}

// besideFew judges it by the first few readings, or by the limits before there are any.
func (s *suspect) besideFew(doubt *Doubt) (odd, grave bool) {
	few := s.known.or(s.limits)
	most, steps := firstSteps[min(few.Count, fewestToJudge-1)], few.stepsTo(s.value)
	if largest := s.limits.most(); s.known.Count == 0 && s.limits.Count > 0 && math.Abs(s.value) > math.Pow10(mostPowers)*largest {
		doubt.Limit = &largest
	}
	grave = doubt.Limit != nil || steps > most.odd
	odd = grave || steps > most.slip && slipOf(s.value, s.fits) != nil || few.High == few.Low && s.known.otherPower(s.value, s.fits)
	return odd, grave
}

// meant is the first slip that leads from something plausible to the value: from what is expected,
// from among the readings, from near them, or from a share of a hundred.
func (s *suspect) meant(noShare bool) *Slip {
	for _, from := range []struct {
		tried bool
		fits  func(float64) bool
	}{
		{s.expected != nil, s.fits},
		{s.known.beyond(s.value), s.known.holds},
		{!s.known.around(s.value), s.fits},
		{noShare && s.known.Count == 0, share.holds},
	} {
		if !from.tried {
			continue
		}
		if slip := slipOf(s.value, func(x float64) bool { return from.fits(x) && s.plausible(x) }); slip != nil {
			return slip
		}
	}
	return nil
}

// share is what per cent of a whole can be.
var share = Range{Count: 2, Low: 0, High: 100}

// limitsOf is what the limits of a metric range over, but for those at 0, which say nothing of its
// size.
func limitsOf(m design.MetricInfo) Range {
	r := RangeOf()
	for _, c := range m.Constraints {
		if c.Threshold != 0 {
			r = r.With(RangeOf(c.Threshold))
		}
	}
	return r
}

// exchanged tells whether x and y, told of two metrics whose other readings range over those, look
// as if each were the other's: neither is of the sign and size of its own, and each of the other's.
func exchanged(x, y float64, ofX, ofY Range) bool {
	return !ofX.near(x) && !ofY.near(y) && ofX.near(y) && ofY.near(x)
}

func (e *Expected) distance(x float64) float64 { return math.Abs(x-e.Mean) / e.SD }
func (e *Expected) fits(x float64) bool        { return e.distance(x) <= easySD }

// slipOf is the least slip that leads to x from a value that fits, nil if none does.
func slipOf(x float64, fits func(float64) bool) *Slip {
	if x == 0 {
		return nil
	}
	if fits(-x) {
		return &Slip{Meant: -x}
	}
	for power := 1; power <= mostPowers; power++ {
		factor := math.Pow10(power)
		if fits(x / factor) {
			return &Slip{x / factor, power}
		}
		if fits(x * factor) {
			return &Slip{x * factor, -power}
		}
	}
	return nil
}

// Foretold is what the decision of a trial expected of a metric's reading; nil without one, when
// the trial was run at other settings, or when the model had not learnt the metric by then.
func (snap *Snapshot) Foretold(t *Trial, metric string) *Expected {
	if t.SettingsChanged || t.Decision == nil || !snap.learnt(metric, t.Number) {
		return nil
	}
	return t.Decision.Expects(metric)
}

// learnt tells whether a model fitted to readings of the metric was in force at decision number.
func (snap *Snapshot) learnt(metric string, number int) bool {
	return slices.ContainsFunc(snap.Fits, func(fit FittedData) bool {
		m, there := fit.Metrics[metric]
		return there && fit.From <= number && m.Count >= fewestToJudge
	})
}

// WithFit is the study as it is once that fit is in its ledger.
func (snap *Snapshot) WithFit(fit FittedData) *Snapshot {
	with := *snap
	with.Fits = append(slices.Clip(with.Fits), fit)
	return &with
}

// Expects is the reading that a decision expects, to first order where readings are warped:
//
//	sd² = sd_latent² + λ·(scale / w′(z))², z = (mean − centre)/scale.
//
// It is nil where the decision knows nothing of the metric.
func (d *Decision) Expects(metric string) *Expected {
	mean, there := d.Mean[metric]
	m, modelled := d.Model[metric]
	if !there || !modelled || m.Scale <= 0 {
		return nil
	}
	slope := 1.0
	if !m.Warp.IsZero() {
		slope = m.Warp.Slope((mean - m.Centre) / m.Scale)
	}
	sd := math.Hypot(d.SD[metric], math.Sqrt(m.Lambda)*m.Scale/slope)
	if !(sd > 0) || math.IsInf(sd, 0) {
		return nil
	}
	return &Expected{mean, sd}
}

// ForetoldBy is Foretold for a trial that has not begun, by the decision that would be recorded
// with it.
func (snap *Snapshot) ForetoldBy(d *Decision, metric string) *Expected {
	return snap.Foretold(&Trial{Number: len(snap.Trials) + 1, Decision: d}, metric)
}

// Doubted is something told of a trial that looks like a slip, with what was expected instead and
// why in words.
type Doubted struct {
	Metric    string    `json:"metric,omitempty"`
	Parameter string    `json:"parameter,omitempty"` // where it is a setting used
	Value     float64   `json:"value"`
	Expected  []float64 `json:"expected"` // the lowest and the highest that would not surprise
	Why       string    `json:"why"`
	grave     bool      // see Doubt
	slip      float64   // what was expected, where a likely slip leads from there to the value, else 0
}

// Doubted tells whether the trial's reading of a metric is in doubt.
func (t *Trial) Doubted(metric string) bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubted) bool { return d.Metric == metric })
}

// doubtReading doubts one reading, by what other readings range over and what was expected of it,
// nil where no model has learnt the metric.
func (snap *Snapshot) doubtReading(m design.MetricInfo, value float64, expected *Expected, known Range) *Doubted {
	doubt := judge(value, m, expected, known)
	if doubt == nil {
		return nil
	}
	doubted := &Doubted{Metric: m.Name, Value: value, Expected: doubt.range95(known.or(limitsOf(m))), Why: doubt.words(m, value), grave: doubt.Grave}
	if expected != nil && doubt.Meant != nil && !doubt.Aside && snap.alikeInSize(m.Name) {
		doubted.slip = expected.Mean
	}
	return doubted
}

// DoubtReadings doubts what is told of trial number, 0 for one that has not begun: each reading,
// and whether two of them were exchanged.
func (snap *Snapshot) DoubtReadings(number int, told map[string]Reading, expected func(metric string) *Expected) []Doubted {
	return snap.doubtReadings(told, expected, func(metric string) Range { return snap.Range(metric, number) })
}

// doubtReadings is DoubtReadings by what other readings of a metric range over.
func (snap *Snapshot) doubtReadings(told map[string]Reading, expected func(metric string) *Expected, known func(metric string) Range) []Doubted {
	var doubts []Doubted
	for _, m := range snap.Definition.Metrics() {
		reading, there := told[m.Name]
		if !there {
			continue
		}
		doubt := snap.doubtReading(m, reading.Value, expected(m.Name), known(m.Name))
		if other, of := snap.exchangedWith(m, told, expected, known); other != "" {
			doubt = &Doubted{Metric: m.Name, Value: reading.Value, Expected: []float64{of.Low, of.High}, grave: doubt != nil && doubt.grave,
				Why: fmt.Sprintf("%s %s? Exchanged with %s, both would look like the other readings.", design.OpeningName(m.Name), amount(reading.Value, m.Unit), design.Name(other))}
		}
		if doubt != nil {
			doubts = append(doubts, *doubt)
		}
	}
	return doubts
}

// exchangedWith is the metric that a reading seems to be of, when the one told of that seems to be
// of this, which ranges over of. Where a model expects readings, it must expect neither.
func (snap *Snapshot) exchangedWith(m design.MetricInfo, told map[string]Reading, expected func(metric string) *Expected, known func(metric string) Range) (other string, of Range) {
	of = known(m.Name).or(limitsOf(m))
	unexpected := func(metric string) bool {
		e := expected(metric)
		return e == nil || e.distance(told[metric].Value) > mostSD
	}
	for _, o := range snap.Definition.Metrics() {
		if reading, there := told[o.Name]; there && o.Name != m.Name && unexpected(m.Name) && unexpected(o.Name) &&
			exchanged(told[m.Name].Value, reading.Value, of, known(o.Name).or(limitsOf(o))) {
			return o.Name, of
		}
	}
	return "", of
}

// Row is what a row of a table tells of a trial: what was read, and the settings chosen and used.
type Row struct {
	Metrics      map[string]Reading
	Chosen, Used design.Settings
}

// DoubtRows doubts rows of a table, each by the readings that there are and by those of all other rows,
// wherever they stand in it.
func (snap *Snapshot) DoubtRows(rows []Row) [][]Doubted {
	known := map[string][]Range{}
	for _, m := range snap.Definition.Metrics() {
		before, others := snap.Range(m.Name, 0), rangesWithout(lists.Map(rows, func(row Row) Range { return row.ranges(m.Name) }))
		known[m.Name] = lists.Map(others, before.With)
	}
	unforetold := func(string) *Expected { return nil } // no decision chose them
	doubts := make([][]Doubted, len(rows))
	for i, row := range rows {
		chosen := row.Chosen
		if chosen.Equal(row.Used) { // which says nothing for what lies beyond the bounds
			chosen = nil
		}
		readings := snap.doubtReadings(row.Metrics, unforetold, func(metric string) Range { return known[metric][i] })
		doubts[i] = append(readings, DoubtSettings(snap.Definition, chosen, nil, row.Used)...)
	}
	return doubts
}

func (row Row) ranges(metric string) Range {
	if reading, there := row.Metrics[metric]; there {
		return RangeOf(reading.Value)
	}
	return RangeOf()
}

// DoubtSettings doubts settings used instead of those chosen, but for values that are kept of the
// trial already, of which somebody has been asked before: what lies beyond the bounds may have
// happened, and may be a slip.
func DoubtSettings(d design.Definition, chosen, kept, used design.Settings) []Doubted {
	var doubts []Doubted
	for _, p := range d.Parameters {
		value, there := used[p.Name]
		is := func(settings design.Settings) bool {
			other, there := settings[p.Name]
			return there && other == value
		}
		if !there || value.IsText || is(chosen) || is(kept) {
			continue
		}
		say := func(x float64) string {
			return design.WithUnit(design.Typeset(design.NumberValue(x).String()), p.Unit, thinSpace)
		}
		var text []string
		if p.Low != nil && value.Number < *p.Low {
			text = append(text, fmt.Sprintf("That is below the lowest that may be chosen, %s: was it really used?", say(*p.Low)))
		}
		if p.High != nil && value.Number > *p.High {
			text = append(text, fmt.Sprintf("That is above the highest that may be chosen, %s: was it really used?", say(*p.High)))
		}
		if isPowerOf(value.Number, chosen[p.Name].Number) {
			text = append(text, fmt.Sprintf("%s was chosen: was the decimal point or the sign meant elsewhere?", say(chosen[p.Name].Number)))
		}
		if len(text) > 0 {
			doubt := Doubted{Parameter: p.Name, Value: value.Number, Expected: []float64{chosen[p.Name].Number, chosen[p.Name].Number}, Why: design.OpeningName(p.Name) + " " + say(value.Number) + "? " + strings.Join(text, " ")}
			if p.Low != nil && p.High != nil {
				doubt.Expected = []float64{*p.Low, *p.High}
			}
			doubts = append(doubts, doubt)
		}
	}
	return doubts
}

// isPowerOf tells whether used is chosen with another sign or a power of ten beside it.
func isPowerOf(used, chosen float64) bool {
	if used == 0 || chosen == 0 || used == chosen {
		return false
	}
	power := math.Log10(math.Abs(used / chosen))
	return math.Abs(power-math.Round(power)) < 1e-9 && math.Abs(power) < 4 && (math.Round(power) != 0 || used == -chosen)
}

// range95 is where a reading would have been expected.
func (doubt *Doubt) range95(known Range) []float64 {
	switch e := doubt.Expected; {
	case e != nil:
		return []float64{e.Mean - optimizer.Normal95*e.SD, e.Mean + optimizer.Normal95*e.SD}
	case doubt.Implausible != nil:
		return doubt.Implausible
	case doubt.Share:
		return []float64{share.Low, share.High}
	case doubt.Limit != nil:
		most := math.Pow10(mostPowers) * math.Abs(*doubt.Limit)
		return []float64{-most, most}
	}
	return []float64{known.Low, known.High}
}

// words say why a value is doubted and what may have been meant: "Yield 712 %? The highest so far
// is 75 %. 71.2 % would fit: was the decimal point meant elsewhere?"
func (doubt *Doubt) words(m design.MetricInfo, value float64) string {
	text := []string{design.OpeningName(m.Name) + " " + amount(value, m.Unit) + "?"}
	if p := doubt.Implausible; p != nil {
		text = append(text, fmt.Sprintf("Plausible is %s to %s.", amount(p[0], ""), amount(p[1], m.Unit)))
	}
	if doubt.Share {
		text = append(text, "A share of a whole is 0 to "+amount(share.High, m.Unit)+".")
	}
	if doubt.Limit != nil {
		text = append(text, fmt.Sprintf("That is more than a thousand times its limit, %s.", amount(*doubt.Limit, m.Unit)))
	}
	if doubt.Extreme != nil {
		extreme := "lowest"
		if doubt.Above {
			extreme = "highest"
		}
		text = append(text, fmt.Sprintf("The %s so far is %s.", extreme, amount(*doubt.Extreme, m.Unit)))
	}
	if e := doubt.Expected; e != nil {
		between := doubt.range95(Range{})
		text = append(text, fmt.Sprintf("Here a reading between %s and %s is expected (95 %%, noise included).", design.WriteBeside(between[0], e.SD), design.WithUnit(design.WriteBeside(between[1], e.SD), m.Unit, thinSpace)))
	}
	if doubt.Meant != nil {
		text = append(text, doubt.slipText(m.Unit))
	}
	return strings.Join(text, " ")
}

func (doubt *Doubt) slipText(unit string) string {
	slip, would := doubt.Meant, " would fit: "
	if doubt.Aside {
		would = " would be among the other readings, though not as expected here: "
	}
	would = amount(slip.Meant, unit) + would
	switch {
	case slip.Power == 0:
		return would + "was the sign typed wrongly?"
	case slip.Power == -2 && unit == "%":
		return would + "was a fraction typed instead of per cent?"
	case slip.Power == 3 || slip.Power == -3:
		return would + "was another unit or the decimal point meant?"
	}
	return would + "was the decimal point meant?"
}

const thinSpace = "\u202f"

func amount(x float64, unit string) string {
	return design.WithUnit(design.WriteNumber(x), unit, thinSpace)
}

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

// rangesWithout are, for each of several ranges, what the others range over together.
func rangesWithout(ranges []Range) []Range {
	before, after := make([]Range, len(ranges)+1), RangeOf()
	before[0] = RangeOf()
	for i, r := range ranges {
		before[i+1] = before[i].With(r)
	}
	without := make([]Range, len(ranges))
	for i := len(ranges) - 1; i >= 0; i-- {
		without[i] = before[i].With(after)
		after = after.With(ranges[i])
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
	return RangeOf(snap.readings(metric, except)...)
}

// readings are those of a metric in all included trials but one (0: in all).
func (snap *Snapshot) readings(metric string, except int) []float64 {
	return lists.Pick(snap.Trials, func(t *Trial) (float64, bool) {
		m, told := t.Metrics[metric]
		return m.Value, told && !t.Excluded && t.Number != except
	})
}

// alikeInSize tells whether the middle half of the readings of a metric lies within a power of ten: where
// they differ by more themselves, another power of ten is no sign of a slip.
func (snap *Snapshot) alikeInSize(metric string) bool {
	sizes := lists.Map(snap.readings(metric, 0), math.Abs)
	slices.Sort(sizes)
	n := len(sizes)
	return n > 0 && sizes[3*n/4] <= 10*sizes[n/4]
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

func (r Range) spread() float64 { return max(r.High-r.Low, 0) }
func (r Range) most() float64   { return math.Max(math.Abs(r.Low), math.Abs(r.High)) }
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
	room := cmp.Or((r.High-r.Low)/2, math.Abs(r.High)/4)
	return r.Low-room <= x && x <= r.High+room
}

// farFrom tells whether x lies further outside the readings than twice their spread; where all are
// equal, than their size.
func (r Range) farFrom(x float64) bool {
	room := cmp.Or(2*(r.High-r.Low), math.Abs(r.High))
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
