package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/study/design"
)

// Doubted is something told of a trial that looks like a slip, with what was expected instead and
// why in words.
type Doubted struct {
	Metric    string    `json:"metric,omitempty"`
	Parameter string    `json:"parameter,omitempty"` // where it is a setting used
	Value     float64   `json:"value"`
	Expected  []float64 `json:"expected"` // the lowest and the highest that would not surprise
	Why       string    `json:"why"`
	grave     bool      // see Doubt
}

// Doubted tells whether the trial's reading of a metric is in doubt.
func (t *Trial) Doubted(metric string) bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubted) bool { return d.Metric == metric })
}

// DoubtReading doubts one reading, by what other readings range over and what was expected of it,
// nil where no model has learnt the metric.
func (snap *Snapshot) DoubtReading(metric string, value float64, expected *Expected, known Range) *Doubted {
	for _, m := range snap.Definition.Metrics() {
		if m.Name != metric {
			continue
		}
		if doubt := judge(value, m, expected, known); doubt != nil {
			return &Doubted{Metric: metric, Value: value, Expected: doubt.range95(known.or(limitsOf(m))), Why: doubt.words(m, value), grave: doubt.Grave}
		}
	}
	return nil
}

// DoubtReadings doubts what is told of trial number, 0 for one that has not begun: each reading,
// and whether two of them were exchanged.
func (snap *Snapshot) DoubtReadings(number int, told map[string]Reading, expected func(metric string) *Expected) []Doubted {
	var doubts []Doubted
	for _, m := range snap.Definition.Metrics() {
		reading, there := told[m.Name]
		if !there {
			continue
		}
		if other, of := snap.exchangedWith(number, m, told, expected); other != "" {
			doubts = append(doubts, Doubted{Metric: m.Name, Value: reading.Value, Expected: []float64{of.Low, of.High},
				Why: fmt.Sprintf("%s %s? Exchanged with %s, both would look like the other readings.", design.Capitalised(m.Name), amount(reading.Value, m.Unit), other)})
		} else if doubt := snap.DoubtReading(m.Name, reading.Value, expected(m.Name), snap.Range(m.Name, number)); doubt != nil {
			doubts = append(doubts, *doubt)
		}
	}
	return doubts
}

// exchangedWith is the metric that a reading seems to be of, when the one told of that seems to be
// of this, which ranges over of. Where a model expects readings, it must expect neither.
func (snap *Snapshot) exchangedWith(number int, m design.MetricInfo, told map[string]Reading, expected func(metric string) *Expected) (other string, of Range) {
	of = snap.Range(m.Name, number).or(limitsOf(m))
	unexpected := func(metric string) bool {
		e := expected(metric)
		return e == nil || e.distance(told[metric].Value) > mostSD
	}
	for _, o := range snap.Definition.Metrics() {
		if reading, there := told[o.Name]; there && o.Name != m.Name && unexpected(m.Name) && unexpected(o.Name) &&
			exchanged(told[m.Name].Value, reading.Value, of, snap.Range(o.Name, number).or(limitsOf(o))) {
			return o.Name, of
		}
	}
	return "", of
}

// DoubtSettings doubts settings used instead of those chosen: what lies beyond the bounds may have
// happened, and may be a slip.
func DoubtSettings(d design.Definition, chosen, used design.Settings) []Doubted {
	var doubts []Doubted
	for _, p := range d.Parameters {
		value, there := used[p.Name]
		if !there || value.IsText || value == chosen[p.Name] {
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
			doubt := Doubted{Parameter: p.Name, Value: value.Number, Expected: []float64{chosen[p.Name].Number, chosen[p.Name].Number}, Why: design.Capitalised(p.Name) + " " + say(value.Number) + "? " + strings.Join(text, " ")}
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

const normal95 = 1.96

// range95 is where a reading would have been expected.
func (doubt *Doubt) range95(known Range) []float64 {
	switch e := doubt.Expected; {
	case e != nil:
		return []float64{e.Mean - normal95*e.SD, e.Mean + normal95*e.SD}
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
	text := []string{design.Capitalised(m.Name) + " " + amount(value, m.Unit) + "?"}
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
		text = append(text, fmt.Sprintf("Here a reading between %s and %s is expected (95 %%, noise included).", roundedTo(between[0], e.SD), design.WithUnit(roundedTo(between[1], e.SD), m.Unit, thinSpace)))
	}
	if doubt.Meant != nil {
		text = append(text, slipText(*doubt.Meant, m.Unit))
	}
	return strings.Join(text, " ")
}

func slipText(slip Slip, unit string) string {
	would := amount(slip.Meant, unit) + " would fit: "
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
	return design.WithUnit(design.Typeset(design.FormatNumber(x)), unit, thinSpace)
}

func roundedTo(x, sd float64) string {
	number, _ := design.FormatValue(x, sd)
	return design.Typeset(number)
}
