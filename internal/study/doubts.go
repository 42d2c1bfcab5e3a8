package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Doubt is a value that whoever enters it should look at again, where it stands in a request, and why in words. A doubt refuses nothing: forms ask
// it back, programs are not asked.
type Doubt struct {
	Location string `json:"location"` // as of faults
	Value    string `json:"value"`
	Text     string `json:"text"`
}

// Doubted names the doubts: a confirmation carries it, so that it confirms these values and no others.
func Doubted(doubts []Doubt) string {
	if len(doubts) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, d := range doubts {
		fmt.Fprintf(sum, "%s\x00%s\x00", d.Location, d.Value)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Doubtful is returned, as an error, when values are to be looked at again before they are stored.
type Doubtful struct{ Doubts []Doubt }

func (d *Doubtful) Error() string { return d.Doubts[0].Text }

// askBack refuses doubts that whoever sends the command was not sure of. Programs are not asked, and judging takes a look at every trial.
func askBack(cmd Command, judge func() []Doubt) error {
	if cmd.Sure == nil {
		return nil
	}
	doubts := judge()
	if len(doubts) == 0 || *cmd.Sure == Doubted(doubts) {
		return nil
	}
	return &Doubtful{doubts}
}

// DoubtTelling judges results of a trial, by what its decision expected of them, and the settings it was run at.
func DoubtTelling(snap *ledger.Snapshot, trial *ledger.Trial, told ledger.Telling) []Doubt {
	run := trial
	if told.Parameters != nil {
		run = elsewhere(trial)
	}
	doubts := doubtReadings(snap, trial.Number, told.Metrics, func(metric string) *ledger.Expected { return snap.Foretold(run, metric) })
	return append(doubts, doubtSettings(snap, trial.Parameters, told.Parameters)...)
}

// DoubtCorrection judges what a correction puts in place of what was told.
func DoubtCorrection(snap *ledger.Snapshot, trial *ledger.Trial, c Correction) []Doubt {
	readings := map[string]ledger.Reading{}
	for name, after := range c.Metrics {
		if after != nil {
			readings[name] = *after
		}
	}
	return DoubtTelling(snap, trial, ledger.Telling{Metrics: readings, Parameters: c.Parameters})
}

// DoubtOwn judges a person's own point by the decision that would be recorded with it, nil if none is known.
func DoubtOwn(snap *ledger.Snapshot, own OwnTrial, forecast *ledger.Decision) []Doubt {
	doubts := doubtReadings(snap, 0, own.Metrics, func(metric string) *ledger.Expected { return snap.ForetoldBy(forecast, metric) })
	if number := lastWith(snap, own.Parameters); number > 0 {
		doubts = append(doubts, Doubt{"body.parameters", describe(snap.Definition, own.Parameters), replicateText(number)})
	}
	return doubts
}

// doubtRows judges the rows of a table by the readings there are and by each other.
func doubtRows(snap *ledger.Snapshot, rows []importRow) []Doubt {
	var doubts []Doubt
	for _, metric := range snap.Definition.MetricNames() {
		var values []float64
		var lines []int
		for _, row := range rows {
			if reading, there := row.Metrics[metric]; there {
				values, lines = append(values, reading.Value), append(lines, row.Line)
			}
		}
		known := snap.Range(metric, 0)
		for i, others := range ledger.RangesWithout(values) {
			if doubt := snap.Judge(metric, values[i], nil, known.With(others)); doubt != nil && len(doubts) < mostDoubts {
				doubts = append(doubts, Doubt{fmt.Sprintf("body.lines[%d].%s", lines[i], metric), exactly(values[i]), doubtText(snap.Definition, metric, values[i], doubt)})
			}
		}
	}
	for _, row := range rows {
		for _, fault := range row.beyond {
			if len(doubts) < mostDoubts {
				doubts = append(doubts, doubtBeyond(snap, row, fault))
			}
		}
	}
	with := map[string]int{}
	for _, t := range snap.Trials {
		with[describe(snap.Definition, t.Parameters)] = t.Number
	}
	for _, row := range rows {
		for _, doubt := range doubtSettings(snap, row.Parameters, row.Used) {
			if len(doubts) < mostDoubts {
				doubt.Location = fmt.Sprintf("body.lines[%d].%s", row.Line, strings.TrimPrefix(doubt.Location, "body.parameters."))
				doubts = append(doubts, doubt)
			}
		}
		if number := with[describe(snap.Definition, row.Parameters)]; number > 0 && len(doubts) < mostDoubts {
			doubts = append(doubts, Doubt{fmt.Sprintf("body.lines[%d]", row.Line), describe(snap.Definition, row.Parameters), replicateText(number)})
		}
	}
	return doubts
}

// doubtBeyond asks whether a row was really run with settings that may not be chosen.
func doubtBeyond(snap *ledger.Snapshot, row importRow, fault design.Fault) Doubt {
	what, of := strings.CutPrefix(fault.Location, fmt.Sprintf("body.lines[%d].", row.Line))
	if !of {
		settings := describe(snap.Definition, row.Parameters)
		return Doubt{fault.Location, settings, fmt.Sprintf("%s %s. Was it really run so?", settings, fault.Message)}
	}
	return Doubt{fault.Location, fmt.Sprint(fault.Value), fmt.Sprintf("%s: %s. Was it really run so?", capitalised(what), fault.Message)}
}

// mostDoubts is how many are told of at once.
const mostDoubts = 100

// elsewhere is a trial whose decision says nothing about where it was run.
func elsewhere(t *ledger.Trial) *ledger.Trial {
	run := *t
	run.SettingsChanged = true
	return &run
}

func doubtReadings(snap *ledger.Snapshot, number int, readings map[string]ledger.Reading, expected func(metric string) *ledger.Expected) []Doubt {
	var doubts []Doubt
	for _, metric := range snap.Definition.MetricNames() {
		reading, there := readings[metric]
		if !there {
			continue
		}
		if doubt := snap.Judge(metric, reading.Value, expected(metric), snap.Range(metric, number)); doubt != nil {
			doubts = append(doubts, Doubt{"body.metrics." + metric, exactly(reading.Value), doubtText(snap.Definition, metric, reading.Value, doubt)})
		}
	}
	return doubts
}

// doubtText says why a value is doubted and what may have been meant: "Yield 712 %? The highest so far is 75 %. 71.2 % would fit: was the decimal
// point meant elsewhere?"
func doubtText(d design.Definition, metric string, value float64, doubt *ledger.Doubt) string {
	unit := ""
	for _, m := range d.Metrics() {
		if m.Name == metric {
			unit = m.Unit
		}
	}
	text := []string{capitalised(metric) + " " + amount(value, unit) + "?"}
	if p := doubt.Implausible; p != nil {
		text = append(text, fmt.Sprintf("Plausible is %s to %s.", amount(p[0], ""), amount(p[1], unit)))
	}
	if doubt.Extreme != nil {
		extreme := "lowest"
		if doubt.Above {
			extreme = "highest"
		}
		text = append(text, fmt.Sprintf("The %s so far is %s.", extreme, amount(*doubt.Extreme, unit)))
	}
	if e := doubt.Expected; e != nil {
		low, high := e.Mean-normal95*e.SD, e.Mean+normal95*e.SD
		text = append(text, fmt.Sprintf("Here a reading between %s and %s is expected (95 %%, noise included).", roundedTo(low, e.SD), design.WithUnit(roundedTo(high, e.SD), unit, thinSpace)))
	}
	if doubt.Meant != nil {
		text = append(text, slipText(*doubt.Meant, unit))
	}
	return strings.Join(text, " ")
}

const normal95 = 1.96

func slipText(slip ledger.Slip, unit string) string {
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

// doubtSettings judges settings used instead of those chosen: what lies beyond the bounds may have happened, and may be a slip.
func doubtSettings(snap *ledger.Snapshot, chosen, used design.Settings) []Doubt {
	var doubts []Doubt
	for _, p := range snap.Definition.Parameters {
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
			doubts = append(doubts, Doubt{"body.parameters." + p.Name, exactly(value.Number), capitalised(p.Name) + " " + say(value.Number) + "? " + strings.Join(text, " ")})
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

// lastWith is the last trial run at exactly these settings, 0 if none was.
func lastWith(snap *ledger.Snapshot, settings design.Settings) int {
	for i := len(snap.Trials) - 1; i >= 0; i-- {
		if len(settings) > 0 && maps.Equal(snap.Trials[i].Parameters, settings) {
			return i + 1
		}
	}
	return 0
}

func replicateText(number int) string {
	return fmt.Sprintf("The same settings as trial %d: a replicate on purpose?", number)
}

const thinSpace = "\u202f"

func amount(x float64, unit string) string {
	return design.WithUnit(design.Typeset(design.FormatNumber(x)), unit, thinSpace)
}

func roundedTo(x, sd float64) string {
	number, _ := design.FormatValue(x, sd)
	return design.Typeset(number)
}

// exactly is the value that a confirmation is for.
func exactly(x float64) string { return design.NumberValue(x).String() }

func describe(d design.Definition, settings design.Settings) string {
	var values []string
	for _, p := range d.Parameters {
		values = append(values, fmt.Sprintf("%s=%s", p.Name, strconv.Quote(settings[p.Name].String())))
	}
	return strings.Join(values, ", ")
}

// capitalised begins a name with a capital letter, unless it has one, as in pH.
func capitalised(name string) string {
	if strings.ToLower(name) != name {
		return name
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
