package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
