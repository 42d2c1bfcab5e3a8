package pages

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"headroom/internal/figure"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// thin is the space between a number and its unit.
const thin = "\u202f"

// number is a value as pages show it.
func number(x float64) string {
	if power := powerOf(x); power != 0 {
		return powered(design.FormatNumber(design.Scaled(x, -power)), power)
	}
	return design.Typeset(design.FormatNumber(x))
}

// Numbers of this size and larger, and smaller ones than that, are written with a power of ten.
const largeNumber, smallNumber = 1e7, 1e-4

// powerOf is the power of ten that a number is written with, 0 for none.
func powerOf(x float64) int {
	if size := math.Abs(x); x == 0 || !design.Finite(x) || size >= smallNumber && size < largeNumber {
		return 0
	}
	return design.ExponentOf(x)
}

// powered is digits times a power of ten.
func powered(digits string, power int) string {
	return design.Typeset(digits) + thin + "×" + thin + "10" + figure.Raised(power)
}

// rough is a value to three digits, for figures that are only estimates.
func rough(x float64) string { return toDigits(x, 3) }

// brief is a value to two digits, for differences of estimates.
func brief(x float64) string { return toDigits(x, 2) }

func toDigits(x float64, digits int) string {
	return number(design.Rounded(x, digits-1-design.ExponentOf(x)))
}

// alike writes numbers with the decimals that a standard deviation of sd leaves meaning in.
func alike(sd float64) func(float64) string {
	return func(x float64) string {
		if powerOf(x) != 0 || !(sd > 0) {
			return number(x)
		}
		text, _ := design.FormatValue(x, sd)
		return design.Typeset(text)
	}
}

// column writes the numbers of a column with equally many decimals: as many as the one that needs most.
func column(values []float64) func(float64) string {
	decimals := 0
	for _, x := range values {
		if powerOf(x) == 0 {
			_, fraction, _ := strings.Cut(design.FormatNumber(x), ".")
			decimals = max(decimals, len(fraction))
		}
	}
	return func(x float64) string {
		if powerOf(x) != 0 {
			return number(x)
		}
		return design.Typeset(design.FormatFixed(x, decimals))
	}
}

// quantity is a value with its unit.
func quantity(x float64, unit string) string { return design.WithUnit(number(x), unit, thin) }

// uncertain is a value with its standard deviation and unit.
func uncertain(mean, sd float64, unit string) string {
	power := powerOf(max(math.Abs(mean), sd))
	if power == 0 {
		value, deviation := design.FormatValue(mean, sd)
		return design.WithUnit(design.Typeset(value)+" ± "+design.Typeset(deviation), unit, thin)
	}
	value, deviation := design.FormatValue(design.Scaled(mean, -power), design.Scaled(sd, -power))
	return design.WithUnit("("+design.Typeset(value)+" ± "+powered(deviation+")", power), unit, thin)
}

// percent is a probability.
func percent(probability float64) string {
	return strings.ReplaceAll(design.FormatPercent(probability), " %", thin+"%")
}

// count is a number of things, in the plural where that is right.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return design.Typeset(strconv.Itoa(n)) + " " + many
}

// unitOf is a metric's unit.
func unitOf(d design.Definition, metric string) string { return metricOf(d, metric).Unit }

func metricOf(d design.Definition, metric string) design.MetricInfo {
	for _, m := range d.Metrics() {
		if m.Name == metric {
			return m
		}
	}
	return design.MetricInfo{}
}

// axisName is a name with its unit, as axes carry it.
func axisName(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// limitText says what a constraint asks.
func limitText(c design.Constraint) string {
	return opSign(c.Op) + " " + quantity(c.Threshold, c.Unit)
}

func opSign(op string) string {
	if op == ">=" {
		return "≥"
	}
	return "≤"
}

// constraintTitle names a constraint with what it asks.
func constraintTitle(c design.Constraint) string {
	if c.Name != c.Metric {
		return c.Name + ": " + c.Metric + " " + limitText(c)
	}
	return c.Metric + " " + limitText(c)
}

// broken tells whether a value is outside the limit.
func broken(c design.Constraint, value float64) bool { return c.Excess(value) > 0 }

// told lists the metrics that people tell, in the order of the study.
func told(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return !m.Known })
}

// modelled lists the metrics that have a model.
func modelled(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return m.Modelled })
}

// tableMetrics are all metrics that a trial can have a value of: those told, then those worked out when it is chosen.
func tableMetrics(d design.Definition) []string {
	return append(told(d), metricNames(d, func(m design.MetricInfo) bool { return m.Known })...)
}

func metricNames(d design.Definition, keep func(design.MetricInfo) bool) []string {
	var names []string
	for _, m := range d.Metrics() {
		if keep(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// stamp is a moment as people read it.
func stamp(at, now time.Time) templates.Stamp {
	return templates.Stamp{Ago: ago(at, now), Exact: at.UTC().Format("2 January 2006, 15:04:05 UTC"), ISO: at.UTC().Format(time.RFC3339)}
}

// ago says how far a moment is from now; page.js keeps it true while the page stands.
func ago(at, now time.Time) string {
	away := now.Sub(at)
	if away < 0 {
		return "in " + span(-away)
	}
	if away < 45*time.Second {
		return "just now"
	}
	return span(away) + " ago"
}

func span(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + thin + "d"
	case d >= time.Hour:
		return strconv.Itoa(int(d.Hours())) + thin + "h"
	}
	return strconv.Itoa(max(1, int(d.Minutes()))) + thin + "min"
}

// markOf is the shape that says how a trial stands.
func (v visit) markOf(t *ledger.Trial) string {
	switch {
	case t.Waiting() && (t.Feasible == nil || !v.limited()):
		return string(templates.Waiting)
	case !v.limited() && t.Status != ledger.StatusCompleted:
		return string(templates.Unknown)
	}
	return string(styleOf(t))
}

// limited tells whether there are limits at all: without them, every trial is within all of them, which says nothing.
func (v visit) limited() bool { return len(v.snap.Definition.Constraints) > 0 }

// stateWords say how a trial stands.
func (v visit) stateWords(t *ledger.Trial) string {
	var words string
	switch {
	case t.Cause == ledger.ByChance:
		words = "failed by chance"
	case t.Status == ledger.StatusFailed:
		words = "failed"
	case t.Status == ledger.StatusAbandoned:
		words = "not run"
	case t.Status == ledger.StatusSuggested:
		words = "waiting"
	case t.Status == ledger.StatusPartial && (t.Feasible == nil || !v.limited()):
		words = "waiting for the rest"
	case !v.limited():
		words = "measured"
	case t.Feasible == nil:
		words = "not known"
	case *t.Feasible:
		words = "within limits"
	default:
		words = "limit broken"
	}
	if t.Excluded {
		return words + ", excluded"
	}
	if len(t.Doubts) > 0 {
		words += ", in doubt"
	}
	return words
}

// originWords say who chose a trial.
func originWords(o ledger.Origin) string {
	switch o {
	case ledger.Suggested:
		return "suggested"
	case ledger.Manual:
		return "a person’s choice"
	}
	return string(o)
}

// settingsOf are a trial's settings in the order of the study.
func settingsOf(d design.Definition, values design.Settings) []templates.Setting {
	settings := make([]templates.Setting, 0, len(d.Parameters))
	for _, p := range d.Parameters {
		if v, there := values[p.Name]; there {
			settings = append(settings, templates.Setting{Name: p.Name, Value: settingText(p, v), Unit: p.Unit})
		}
	}
	return settings
}

// mostZeros is beyond what power of ten settings are written with it: there would be more zeros than a float64 has digits.
const mostZeros = 15

func settingText(p design.Parameter, v design.Value) string {
	if v.IsText {
		return v.Text
	}
	if size := design.ExponentOf(v.Number); size > mostZeros || size < -mostZeros {
		return number(v.Number)
	}
	return design.Typeset(design.FormatSetting(p, v))
}

// settingsLine is settings in one line.
func settingsLine(d design.Definition, values design.Settings) string {
	return settingsInWords(settingsOf(d, values))
}

func settingsInWords(settings []templates.Setting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = s.Name + " " + design.WithUnit(s.Value, s.Unit, thin)
	}
	return strings.Join(words, ", ")
}

func trialURL(id string, n int) string { return fmt.Sprintf("/studies/%s/trials/%d", id, n) }

// capitalised begins a sentence, unless its first word has capitals of its own, like pH.
func capitalised(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if word == "" || strings.ToLower(word) != word {
		return name
	}
	letter, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(letter)) + name[size:]
}
