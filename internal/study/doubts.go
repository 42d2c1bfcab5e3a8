package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Doubt is a value that whoever enters it should look at again, where it stands in a request, and
// why in words. A doubt refuses nothing: forms ask it back, programs are not asked.
type Doubt struct {
	Field string `json:"location"` // as of faults
	Value string `json:"value"`
	Text  string `json:"text"`
}

// Doubted names the doubts: a confirmation carries it, so that it confirms these values and no
// others.
func Doubted(doubts []Doubt) string {
	if len(doubts) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, d := range doubts {
		fmt.Fprintf(sum, "%s\x00%s\x00", d.Field, d.Value)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Doubtful is returned, as an error, when values are to be looked at again before they are stored.
type Doubtful struct{ Doubts []Doubt }

func (d *Doubtful) Error() string { return d.Doubts[0].Text }

// askBack refuses doubts that whoever sends the command was not sure of, and tells whether they
// were of any. Programs are not asked: what is doubted of what they tell stands at the trial.
func askBack(cmd Command, judge func() []Doubt) (confirmed bool, err error) {
	if cmd.Sure == nil {
		return false, nil
	}
	doubts := judge()
	if len(doubts) == 0 || *cmd.Sure == Doubted(doubts) {
		return len(doubts) > 0, nil
	}
	return false, &Doubtful{doubts}
}

// confirmedBy notes with what is told that whoever tells it was asked about what is doubted, and
// was sure.
func (r ruling) confirmedBy(cmd Command, judge func() []Doubt) (ruling, error) {
	confirmed, err := askBack(cmd, judge)
	for i, draft := range r.drafts {
		switch data := draft.Data.(type) {
		case ledger.ToldData:
			data.Confirmed = confirmed
			r.drafts[i].Data = data
		case ledger.CorrectedData:
			data.Confirmed = confirmed
			r.drafts[i].Data = data
		}
	}
	return r, err
}

// DoubtTelling judges results of a trial, by what its decision expected of them, and the settings
// it was run at.
func DoubtTelling(snap *ledger.Snapshot, trial *ledger.Trial, told ledger.Telling) []Doubt {
	run := trial
	if told.Parameters != nil {
		run = elsewhere(trial)
	}
	doubts := snap.DoubtReadings(trial.Number, told.Metrics, func(metric string) *ledger.Expected { return snap.Foretold(run, metric) })
	return asked(append(doubts, ledger.DoubtSettings(snap.Definition, trial.Parameters, told.Parameters)...))
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

// DoubtOwn judges a person's own point by the decision that would be recorded with it, nil if none
// is known.
func DoubtOwn(snap *ledger.Snapshot, own OwnTrial, forecast *ledger.Decision) []Doubt {
	doubts := asked(snap.DoubtReadings(0, own.Metrics, func(metric string) *ledger.Expected { return snap.ForetoldBy(forecast, metric) }))
	if number := lastWith(snap, own.Parameters); number > 0 {
		doubts = append(doubts, Doubt{"parameters", describe(snap.Definition, own.Parameters), replicateText(number)})
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
			if doubt := snap.DoubtReading(metric, values[i], nil, known.With(others)); doubt != nil && len(doubts) < mostDoubts {
				doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d].%s", lines[i], metric), exactly(values[i]), doubt.Why})
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
		for _, doubt := range ledger.DoubtSettings(snap.Definition, row.Parameters, row.Used) {
			if len(doubts) < mostDoubts {
				doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d].%s", row.Line, doubt.Parameter), exactly(doubt.Value), doubt.Why})
			}
		}
		if number := with[describe(snap.Definition, row.Parameters)]; number > 0 && len(doubts) < mostDoubts {
			doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d]", row.Line), describe(snap.Definition, row.Parameters), replicateText(number)})
		}
	}
	return doubts
}

// doubtBeyond asks whether a row was really run with settings that may not be chosen.
func doubtBeyond(snap *ledger.Snapshot, row importRow, fault design.Fault) Doubt {
	what, of := strings.CutPrefix(fault.Field, fmt.Sprintf("lines[%d].", row.Line))
	if !of {
		settings := describe(snap.Definition, row.Parameters)
		return Doubt{fault.Field, settings, fmt.Sprintf("%s %s. Was it really run so?", settings, fault.Message)}
	}
	return Doubt{fault.Field, fmt.Sprint(fault.Value), fmt.Sprintf("%s: %s. Was it really run so?", design.Capitalised(what), fault.Message)}
}

// mostDoubts is how many are told of at once.
const mostDoubts = 100

// elsewhere is a trial whose decision says nothing about where it was run.
func elsewhere(t *ledger.Trial) *ledger.Trial {
	run := *t
	run.SettingsChanged = true
	return &run
}

// asked are doubts about what a request tells.
func asked(doubts []ledger.Doubted) []Doubt {
	var list []Doubt
	for _, d := range doubts {
		at := "metrics." + d.Metric
		if d.Parameter != "" {
			at = "parameters." + d.Parameter
		}
		list = append(list, Doubt{at, exactly(d.Value), d.Why})
	}
	return list
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

// exactly is the value that a confirmation is for.
func exactly(x float64) string { return design.NumberValue(x).String() }

func describe(d design.Definition, settings design.Settings) string {
	var values []string
	for _, p := range d.Parameters {
		values = append(values, fmt.Sprintf("%s=%s", p.Name, strconv.Quote(settings[p.Name].String())))
	}
	return strings.Join(values, ", ")
}
