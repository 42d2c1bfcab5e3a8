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

// A reading that looks like a typing mistake is doubted, but never refused.

// Expected is the prediction of a reading, its noise included, in the metric's unit when it was
// made.
type Expected struct {
	Mean, SD float64
	Unit     string
}

// Doubt says why a value of a metric looks wrong, with everything it is judged by. Several reasons
// may apply at once.
type Doubt struct {
	value         float64
	metric        design.MetricInfo
	expected      *Expected // nil if no model has learnt the metric
	known, limits Range     // ranges of the other readings and of the metric's limits
	extremeUnit   string    // in which the highest or lowest of the other readings was told

	Implausible bool  // outside the metric's plausible range
	NoShare     bool  // a percentage that is not between 0 and 100, unlike all before
	Unexpected  bool  // more than oddSD standard deviations from the prediction
	OverLimit   bool  // a first reading more than a thousand times larger than the limit
	Grave       bool  // doubted even if no person typed the value
	Meant       *Slip // the likely mistake, if there is one
}

// Slip is a common mistake in typing a number: the number that was probably meant, and the power of
// ten between the two, 0 if only the sign differs.
type Slip struct {
	Meant float64
	Power int // typed = meant · 10^Power
}

const (
	// A value more than oddSD standard deviations of a reading from its prediction is odd; one
	// within fitSD is as expected.
	oddSD, fitSD = 4, 2
	// graveSD is the distance in standard deviations from which at most one reading in a hundred
	// lies whatever the distribution (Bienaymé–Chebyshev: 1/k²). Such values are doubted even if a
	// program told them: programs make no typing mistakes, and a young model is often off by more
	// than oddSD.
	graveSD = 10
	// fewestToJudge is how many values must be known before the model or their range can make a new
	// one look odd.
	fewestToJudge = 4
	// fewestForPowers is how many values must be known before a new one can be off by a power of
	// ten.
	fewestForPowers = 2
	// farOutside is the factor above the largest reading, or below the smallest, from which a value
	// may be off by a power of ten.
	farOutside = 3
	mostPowers = 3
)

// fewReadingSteps has, by the number of known values and for the time before there is a model, the
// distance beyond them, in units of their spread, from which a value is odd, and from which it is
// odd if a slip leads there from among the others. If all were drawn from the same normal
// distribution, 1 in 100 would lie that far and 1 in 10 (TestFirstReadingsAreSeldomDoubted draws
// them). Two values may belong to one setting and tell nothing about others, so without a slip they
// do not suffice.
var fewReadingSteps = map[int]struct{ odd, slip float64 }{2: {math.Inf(1), 4.97}, 3: {5.52, 1.27}}

// Likely reports whether a value of a metric is as predicted, or like the other readings if there
// is no prediction. This is stricter than not being doubted.
func (snap *Snapshot) Likely(t *Trial, metric string, value float64) bool {
	if expected := snap.Predicted(t, metric); expected != nil {
		return expected.fits(value)
	}
	return snap.Range(metric, t.Number).closeTo(value)
}

// judge returns the doubt about a value of a metric, nil if there is none. expected is nil if no
// model has learnt the metric; known is the range of other readings.
func judge(value float64, m design.MetricInfo, expected *Expected, known Range) *Doubt {
	doubt := &Doubt{value: value, metric: m, expected: expected, known: known, limits: limitsOf(m), extremeUnit: m.Unit}
	doubt.Implausible, doubt.NoShare = !doubt.plausible(value), doubt.isNoShare()
	var odd, grave bool
	switch {
	case expected != nil:
		odd, grave = doubt.judgeByPrediction()
	case known.Count >= fewestToJudge:
		grave = known.largest() > 0 && known.farFrom(value) // readings that are all 0 have no size
		odd = grave || known.offByPower(value, doubt.fits)
	default:
		odd, grave = doubt.judgeByFew()
	}
	impossible := doubt.Implausible || doubt.NoShare
	if !odd && !impossible {
		return nil
	}
	doubt.Grave, doubt.Meant = grave || impossible, doubt.likelySlip()
	return doubt
}

// plausible reports whether x is in the range that people called plausible, true if they gave none.
func (doubt *Doubt) plausible(x float64) bool {
	p := doubt.metric.Plausible
	return len(p) != 2 || p[0] <= x && x <= p[1]
}

// isNoShare reports whether the value is in per cent but not between 0 and 100, unlike all before
// it.
func (doubt *Doubt) isNoShare() bool {
	return doubt.metric.Unit == "%" && len(doubt.metric.Plausible) == 0 && doubt.known.within(share) && doubt.limits.within(share) &&
		share.beyondBy(doubt.value) > doubt.known.slack(doubt.limits)
}

// fits reports whether x would be as predicted or, without a prediction, like the readings.
func (doubt *Doubt) fits(x float64) bool {
	if doubt.expected != nil {
		return doubt.expected.fits(x)
	}
	return doubt.known.orLimits(doubt.limits).closeTo(x)
}

func (doubt *Doubt) judgeByPrediction() (odd, grave bool) {
	distance, known := doubt.expected.distance(doubt.value), doubt.known
	doubt.Unexpected = distance > oddSD
	odd = doubt.Unexpected || distance > fitSD && known.offByPower(doubt.value, doubt.fits)
	grave = distance > graveSD || doubt.Unexpected && known.Count >= fewestToJudge && known.farFrom(doubt.value)
	return odd, grave
}

// judgeByFew judges the value by the first few readings, or by the limits before there are any.
func (doubt *Doubt) judgeByFew() (odd, grave bool) {
	few := doubt.known.orLimits(doubt.limits)
	most, steps := fewReadingSteps[min(few.Count, fewestToJudge-1)], few.stepsTo(doubt.value)
	doubt.OverLimit = doubt.known.Count == 0 && doubt.limits.Count > 0 && math.Abs(doubt.value) > math.Pow10(mostPowers)*doubt.limits.largest()
	grave = doubt.OverLimit || steps > most.odd
	odd = grave || steps > most.slip && slipOf(doubt.value, doubt.fits) != nil || few.High == few.Low && doubt.known.offByPower(doubt.value, doubt.fits)
	return odd, grave
}

// likelySlip returns the first slip that leads from something plausible to the value: from the
// prediction, from among the readings, from near them, or from a share of a hundred.
func (doubt *Doubt) likelySlip() *Slip {
	for _, from := range []struct {
		tried bool
		fits  func(float64) bool
	}{
		{doubt.expected != nil, doubt.fits},
		{doubt.known.excludes(doubt.value), doubt.known.contains},
		{!doubt.known.closeTo(doubt.value), doubt.fits},
		{doubt.NoShare && doubt.known.Count == 0, share.contains},
	} {
		if !from.tried {
			continue
		}
		if slip := slipOf(doubt.value, func(x float64) bool { return from.fits(x) && doubt.plausible(x) }); slip != nil {
			return slip
		}
	}
	return nil
}

// share is the range of a percentage of a whole.
var share = Range{Count: 2, Low: 0, High: 100}

// limitsOf returns the range of a metric's limits. Limits at 0 say nothing about its size and are
// left out.
func limitsOf(m design.MetricInfo) Range {
	r := RangeOf()
	for _, c := range m.Constraints {
		if c.Threshold != 0 {
			r = r.With(RangeOf(c.Threshold))
		}
	}
	return r
}

// exchanged reports whether x and y look like readings of each other's metric: each has the sign
// and size of the other's readings and not of its own.
func exchanged(x, y float64, ofX, ofY Range) bool {
	return !ofX.sizeLike(x) && !ofY.sizeLike(y) && ofX.sizeLike(y) && ofY.sizeLike(x)
}

func (e *Expected) distance(x float64) float64 { return math.Abs(x-e.Mean) / e.SD }
func (e *Expected) fits(x float64) bool        { return e.distance(x) <= fitSD }

// slipOf returns the smallest slip that leads to x from a value that fits, nil if there is none.
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

// Predicted returns the prediction that a trial's decision made for a metric's reading. It is nil
// without a decision, if the trial was run at other settings, or if no model had learnt the metric
// by then.
func (snap *Snapshot) Predicted(t *Trial, metric string) *Expected {
	if t.SettingsChanged || t.Decision == nil || !snap.hasModelOf(metric, t.Number) {
		return nil
	}
	expected := t.Decision.PredictedReading(metric)
	if expected != nil {
		expected.Unit = snap.InUnitsOf(t.Decision.Seen).Unit(metric)
	}
	return expected
}

// hasModelOf reports whether a model fitted to readings of the metric was in force at decision
// number.
func (snap *Snapshot) hasModelOf(metric string, number int) bool {
	return slices.ContainsFunc(snap.Fits, func(fit FittedData) bool {
		m, there := fit.Metrics[metric]
		return there && fit.From <= number && m.Count >= fewestToJudge
	})
}

// WithFit returns the study as if that fit were in its ledger.
func (snap *Snapshot) WithFit(fit FittedData) *Snapshot {
	with := *snap
	with.Fits = append(slices.Clip(with.Fits), fit)
	return &with
}

// PredictedReading returns the decision's prediction of a reading, to first order if readings are
// warped:
//
//	sd² = sd_latent² + λ·(scale / w′(z))², z = (mean − centre)/scale.
//
// It is nil if the decision knows nothing of the metric.
func (d *Decision) PredictedReading(metric string) *Expected {
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
	return &Expected{Mean: mean, SD: sd}
}

// PredictedBy is Predicted for a trial that has not begun, given the decision that would be recorded
// with it.
func (snap *Snapshot) PredictedBy(d *Decision, metric string) *Expected {
	return snap.Predicted(&Trial{Number: len(snap.Trials) + 1, Decision: d}, metric)
}

// Doubted is a value told of a trial that looks like a mistake, with the range expected and the
// reason in words.
type Doubted struct {
	Metric    string    `json:"metric,omitempty"`
	Parameter string    `json:"parameter,omitempty"` // set for a setting instead of a metric
	Value     float64   `json:"value"`
	Expected  []float64 `json:"expected"` // the lowest and the highest expected value
	Why       string    `json:"why"`
	grave     bool      // see Doubt
	slip      float64   // the prediction if a likely mistake explains the value, else 0
}

// Doubted reports whether the trial's reading of a metric is in doubt.
func (t *Trial) Doubted(metric string) bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubted) bool { return d.Metric == metric })
}

// doubtReading returns the doubt about one reading, nil if there is none. expected is nil if no
// model has learnt the metric.
func (snap *Snapshot) doubtReading(m design.MetricInfo, value float64, expected *Expected, known Range) *Doubted {
	doubt := judge(value, m, expected, known)
	if doubt == nil {
		return nil
	}
	if known.excludes(value) {
		doubt.extremeUnit = snap.unitOf(m, doubt.extreme())
	}
	doubted := &Doubted{Metric: m.Name, Value: value, Expected: doubt.range95(), Why: doubt.words(), grave: doubt.Grave}
	// Decisions of studies with a simulated lab have always counted every reading in full.
	if expected != nil && doubt.Meant != nil && !doubt.aside() && snap.alikeInSize(m.Name) && snap.Definition.SimulatedLab == "" {
		doubted.slip = expected.Mean
	}
	return doubted
}

// unitOf returns the unit in which a reading of that value was told, the present one if there is no
// such reading.
func (snap *Snapshot) unitOf(m design.MetricInfo, value float64) string {
	if snap.UnitsChanged() {
		for _, t := range snap.Trials {
			if reading, told := t.Metrics[m.Name]; told && !t.Excluded && reading.Value == value {
				return snap.UnitTold(t.Number, m.Name)
			}
		}
	}
	return m.Unit
}

// DoubtReadings returns the doubts about readings of a trial, 0 for one that has not begun: about
// each of them, and whether two were exchanged.
func (snap *Snapshot) DoubtReadings(number int, told map[string]Reading, expected func(metric string) *Expected) []Doubted {
	return snap.doubtReadings(snap.Definition.Metrics(), told, expected, func(metric string) Range { return snap.Range(metric, number) })
}

// doubtReadings is DoubtReadings with the metrics, which older readings have in other units than the
// present ones, and the ranges of other readings given.
func (snap *Snapshot) doubtReadings(metrics []design.MetricInfo, told map[string]Reading, expected func(metric string) *Expected, known func(metric string) Range) []Doubted {
	var doubts []Doubted
	for _, m := range metrics {
		reading, there := told[m.Name]
		if !there {
			continue
		}
		doubt := snap.doubtReading(m, reading.Value, expected(m.Name), known(m.Name))
		if other, of := exchangedWith(m, metrics, told, expected, known); other != "" {
			doubt = &Doubted{Metric: m.Name, Value: reading.Value, Expected: []float64{of.Low, of.High}, grave: doubt != nil && doubt.grave,
				Why: fmt.Sprintf("%s %s? Exchanged with %s, both would look like the other readings.", design.OpeningName(m.Name), withUnit(reading.Value, m.Unit), design.Name(other))}
		}
		if doubt != nil {
			doubts = append(doubts, *doubt)
		}
	}
	return doubts
}

// exchangedWith returns the metric with which the reading seems to have been exchanged, "" if none,
// and the range of m's own readings. A reading that the model expects was not exchanged.
func exchangedWith(m design.MetricInfo, metrics []design.MetricInfo, told map[string]Reading, expected func(metric string) *Expected, known func(metric string) Range) (other string, of Range) {
	of = known(m.Name).orLimits(limitsOf(m))
	unexpected := func(metric string) bool {
		e := expected(metric)
		return e == nil || e.distance(told[metric].Value) > oddSD
	}
	for _, o := range metrics {
		if reading, there := told[o.Name]; there && o.Name != m.Name && unexpected(m.Name) && unexpected(o.Name) &&
			exchanged(told[m.Name].Value, reading.Value, of, known(o.Name).orLimits(limitsOf(o))) {
			return o.Name, of
		}
	}
	return "", of
}

// Row is what a row of a table tells of a trial: readings, and the settings chosen and used.
type Row struct {
	Metrics      map[string]Reading
	Chosen, Used design.Settings
}

// DoubtRows returns the doubts about each row of a table, judged by the study's readings and those
// of all other rows, above and below.
func (snap *Snapshot) DoubtRows(rows []Row) [][]Doubted {
	known := map[string][]Range{}
	for _, m := range snap.Definition.Metrics() {
		before, others := snap.Range(m.Name, 0), rangesWithout(lists.Map(rows, func(row Row) Range { return row.ranges(m.Name) }))
		known[m.Name] = lists.Map(others, before.With)
	}
	unforetold := func(string) *Expected { return nil } // no decision chose them
	doubts := make([][]Doubted, len(rows))
	for i, row := range rows {
		readings := snap.doubtReadings(snap.Definition.Metrics(), row.Metrics, unforetold, func(metric string) Range { return known[metric][i] })
		doubts[i] = append(readings, row.doubtSettings(&snap.Definition, &snap.Definition)...)
	}
	return doubts
}

func (row Row) ranges(metric string) Range {
	if reading, there := row.Metrics[metric]; there {
		return RangeOf(reading.Value)
	}
	return RangeOf()
}

// doubtSettings is DoubtSettings for the row of a table. Settings that were not chosen apart from
// those used do not justify values beyond the bounds.
func (row Row) doubtSettings(d, then *design.Definition) []Doubted {
	chosen := row.Chosen
	if chosen.Equal(row.Used) {
		chosen = nil
	}
	return doubtSettings(d, then, chosen, nil, row.Used)
}

// DoubtSettings returns the doubts about settings that were used in a trial instead of the chosen
// ones: what lies beyond the bounds may have happened, or may be a typing mistake. Values kept of
// the trial already were asked about before and are left out.
func (snap *Snapshot) DoubtSettings(number int, kept, used design.Settings) []Doubted {
	return doubtSettings(&snap.Definition, snap.InUnitsOf(snap.Trial(number).ChosenSeq), snap.Chosen(number), kept, used)
}

// doubtSettings is DoubtSettings under definition d for settings chosen in the units of another.
func doubtSettings(d, then *design.Definition, chosen, kept, used design.Settings) []Doubted {
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
			return design.WithUnit(design.Typeset(design.NumberValue(x).String()), p.Unit, design.Thin)
		}
		var text []string
		if p.Low != nil && value.Number < *p.Low {
			text = append(text, fmt.Sprintf("That is below the lowest that may be chosen, %s: was it really used?", say(*p.Low)))
		}
		if p.High != nil && value.Number > *p.High {
			text = append(text, fmt.Sprintf("That is above the highest that may be chosen, %s: was it really used?", say(*p.High)))
		}
		if then.Unit(p.Name) == p.Unit && isPowerOf(value.Number, chosen[p.Name].Number) {
			text = append(text, fmt.Sprintf("%s was chosen: was the decimal point or the sign mistyped?", say(chosen[p.Name].Number)))
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

// isPowerOf reports whether used differs from chosen by its sign or a power of ten, or both.
func isPowerOf(used, chosen float64) bool {
	if used == 0 || chosen == 0 || used == chosen {
		return false
	}
	power := math.Log10(math.Abs(used / chosen))
	return math.Abs(power-math.Round(power)) < 1e-9 && math.Abs(power) < 4 && (math.Round(power) != 0 || used == -chosen)
}

func (doubt *Doubt) range95() []float64 {
	switch e := doubt.expected; {
	case doubt.Unexpected:
		return []float64{e.Mean - optimizer.Normal95*e.SD, e.Mean + optimizer.Normal95*e.SD}
	case doubt.Implausible:
		return doubt.metric.Plausible
	case doubt.NoShare:
		return []float64{share.Low, share.High}
	case doubt.OverLimit:
		most := math.Pow10(mostPowers) * doubt.limits.largest()
		return []float64{-most, most}
	}
	known := doubt.known.orLimits(doubt.limits)
	return []float64{known.Low, known.High}
}

// words says why a value is doubted and what may have been meant: "Yield 712 %? The highest so far
// is 75 %. 71.2 % would fit: was the decimal point meant elsewhere?"
func (doubt *Doubt) words() string {
	m, known := doubt.metric, doubt.known
	text := []string{design.OpeningName(m.Name) + " " + withUnit(doubt.value, m.Unit) + "?"}
	if doubt.Implausible {
		text = append(text, fmt.Sprintf("Plausible is %s to %s.", withUnit(m.Plausible[0], ""), withUnit(m.Plausible[1], m.Unit)))
	}
	if doubt.NoShare {
		text = append(text, "A share of a whole is 0 to "+withUnit(share.High, m.Unit)+".")
	}
	if doubt.OverLimit {
		text = append(text, fmt.Sprintf("That is more than a thousand times its limit, %s.", withUnit(doubt.limits.largest(), m.Unit)))
	}
	if known.excludes(doubt.value) {
		which := "lowest"
		if doubt.value > known.High {
			which = "highest"
		}
		text = append(text, fmt.Sprintf("The %s so far is %s.", which, withUnit(doubt.extreme(), doubt.extremeUnit)))
	}
	if e := doubt.expected; doubt.Unexpected {
		between := doubt.range95()
		text = append(text, fmt.Sprintf("Here a reading between %s and %s is expected (95\u202f%%, noise included).", design.WriteBeside(between[0], e.SD), design.WithUnit(design.WriteBeside(between[1], e.SD), e.Unit, design.Thin)))
	}
	if doubt.Meant != nil && doubt.inOneUnit() {
		text = append(text, doubt.slipText())
	}
	return strings.Join(text, " ")
}

// extreme is the highest of the other readings for a value above them all, else the lowest.
func (doubt *Doubt) extreme() float64 {
	if doubt.value > doubt.known.High {
		return doubt.known.High
	}
	return doubt.known.Low
}

// inOneUnit reports whether what the words compare the value with is in its unit. Across units, a
// power of ten is no sign of a mistake.
func (doubt *Doubt) inOneUnit() bool {
	unit := doubt.metric.Unit
	return (!doubt.known.excludes(doubt.value) || doubt.extremeUnit == unit) && (!doubt.Unexpected || doubt.expected.Unit == unit)
}

// aside reports whether the meant value is among the other readings but more than oddSD from the
// prediction.
func (doubt *Doubt) aside() bool {
	return doubt.expected != nil && doubt.expected.distance(doubt.Meant.Meant) > oddSD
}

func (doubt *Doubt) slipText() string {
	slip, unit, would := doubt.Meant, doubt.metric.Unit, " would fit: "
	if doubt.aside() {
		would = " would be among the other readings, though not as expected here: "
	}
	would = withUnit(slip.Meant, unit) + would
	switch {
	case slip.Power == 0:
		return would + "was the sign typed wrongly?"
	case slip.Power == -2 && unit == "%":
		return would + "was a fraction typed instead of per cent?"
	case slip.Power == 3 || slip.Power == -3:
		return would + "was another unit used, or the decimal point mistyped?"
	}
	return would + "was the decimal point mistyped?"
}

func withUnit(x float64, unit string) string {
	return design.WithUnit(design.WriteNumber(x), unit, design.Thin)
}

// Range is the number and range of a metric's readings; without any, Low and High mean nothing.
type Range struct {
	Count     int
	Low, High float64
}

// RangeOf returns the range of the values.
func RangeOf(values ...float64) Range {
	r := Range{Low: math.Inf(1), High: math.Inf(-1)}
	for _, x := range values {
		r.Count++
		r.Low, r.High = min(r.Low, x), max(r.High, x)
	}
	return r
}

// With returns the range of both together.
func (r Range) With(other Range) Range {
	return Range{r.Count + other.Count, min(r.Low, other.Low), max(r.High, other.High)}
}

// rangesWithout returns, for each of several ranges, the range of all others together.
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

// Range returns the range of a metric's readings in all included trials but one (0: in all).
func (snap *Snapshot) Range(metric string, except int) Range {
	if r, there := snap.ranges[metric]; there {
		switch t := snap.Trial(except); {
		case t == nil || t.Excluded || !t.has(metric):
			return r
		case r.Low < t.Metrics[metric].Value && t.Metrics[metric].Value < r.High:
			return Range{r.Count - 1, r.Low, r.High}
		}
	}
	return RangeOf(snap.readings(metric, except)...)
}

// readings returns a metric's readings in all included trials but one (0: in all).
func (snap *Snapshot) readings(metric string, except int) []float64 {
	return lists.Pick(snap.Trials, func(t *Trial) (float64, bool) {
		m, told := t.Metrics[metric]
		return m.Value, told && !t.Excluded && t.Number != except
	})
}

// alikeInSize reports whether the middle half of a metric's readings lies within a power of ten. If
// readings differ by more, another power of ten is no sign of a mistake.
func (snap *Snapshot) alikeInSize(metric string) bool {
	sizes := lists.Map(snap.readings(metric, 0), math.Abs)
	slices.Sort(sizes)
	n := len(sizes)
	return n > 0 && sizes[3*n/4] <= 10*sizes[n/4]
}

// orLimits includes the limits if the readings alone are too few to have a spread.
func (r Range) orLimits(limits Range) Range {
	if r.Count < 2 && limits.Count > 0 {
		return r.With(limits)
	}
	return r
}

// beyondBy returns the distance of x from the range, 0 within it.
func (r Range) beyondBy(x float64) float64 { return max(x-r.High, r.Low-x, 0) }

// slack returns how far noise may well carry a reading beyond a natural bound: half the spread of
// the readings, or half of their limit if they are too few to have one.
func (r Range) slack(limits Range) float64 {
	switch {
	case r.Count > 1:
		return r.spread() / 2
	case limits.Count > 0:
		return limits.largest() / 2
	}
	return 0
}

func (r Range) spread() float64  { return max(r.High-r.Low, 0) }
func (r Range) largest() float64 { return math.Max(math.Abs(r.Low), math.Abs(r.High)) }
func (r Range) within(other Range) bool {
	return r.Count == 0 || other.contains(r.Low) && other.contains(r.High)
}

// sizeLike reports whether x has a sign that readings have, and is neither farOutside times larger
// than all of them nor as much smaller.
func (r Range) sizeLike(x float64) bool {
	if r.Count == 0 || x < 0 && r.Low >= 0 || x > 0 && r.High <= 0 {
		return false
	}
	least := math.Min(math.Abs(r.Low), math.Abs(r.High))
	if r.Low <= 0 && r.High >= 0 {
		least = 0
	}
	return math.Abs(x) <= farOutside*r.largest() && math.Abs(x) >= least/farOutside
}

// stepsTo returns the distance of x from the range in units of its width: of the values or, if all
// have one sign, of their logarithms, whichever is less. It is 0 within the range, and if that has
// no width.
func (r Range) stepsTo(x float64) float64 {
	if !r.excludes(x) || r.High == r.Low {
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

func (r Range) excludes(x float64) bool { return r.Count > 0 && (x < r.Low || x > r.High) }
func (r Range) contains(x float64) bool { return r.Low <= x && x <= r.High }

// closeTo reports whether x lies within the readings or as near to them as half their spread,
// without a sign that none of them has.
func (r Range) closeTo(x float64) bool {
	if r.Count == 0 || x < 0 && r.Low >= 0 || x > 0 && r.High <= 0 {
		return false
	}
	room := cmp.Or((r.High-r.Low)/2, math.Abs(r.High)/4)
	return r.Low-room <= x && x <= r.High+room
}

// farFrom reports whether x lies outside the readings by more than twice their spread or, if all
// are equal, by more than their size.
func (r Range) farFrom(x float64) bool {
	room := cmp.Or(2*(r.High-r.Low), math.Abs(r.High))
	return x > r.High+room || x < r.Low-room
}

// offByPower reports whether x differs from all readings in size or sign, and a slip leads to it
// from among them.
func (r Range) offByPower(x float64, fits func(float64) bool) bool {
	if r.Count < fewestForPowers || r.Low <= 0 && r.High >= 0 {
		return false
	}
	least, most, size := math.Min(math.Abs(r.Low), math.Abs(r.High)), r.largest(), math.Abs(x)
	otherSign := x != 0 && (x < 0) != (r.High < 0) && r.Count >= fewestToJudge
	return (otherSign || size > farOutside*most || size < least/farOutside) && slipOf(x, fits) != nil
}
