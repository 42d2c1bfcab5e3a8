package ledger

import (
	"math"

	"headroom/internal/optimizer/warp"
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
		grave = known.farFrom(value)
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
	for _, fit := range snap.Fits {
		if m, there := fit.Metrics[metric]; there && fit.From <= number && m.Count >= fewestToJudge {
			return true
		}
	}
	return false
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
	if m.Warp != nil {
		slope = warp.Warp(*m.Warp).Slope((mean - m.Centre) / m.Scale)
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
	if d == nil || !snap.learnt(metric, len(snap.Trials)+1) {
		return nil
	}
	return d.Expects(metric)
}
