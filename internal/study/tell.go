package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// NumberedTelling is a telling with the number of its trial.
type NumberedTelling struct {
	Number int `json:"number"`
	ledger.Telling
}

// Tell stores results of one trial.
func (s *Service) Tell(ctx context.Context, cmd Command, id string, number int, told ledger.Telling) (*ledger.Snapshot, error) {
	if err := checkObservedAt(told, s.now()).Err(); err != nil {
		return nil, err
	}
	told = withMetrics(told)
	return s.tell(ctx, cmd, id, []NumberedTelling{{number, told}}, func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := ruleTell(now, number, told)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtTelling(now, now.Trial(number), told) })
	})
}

// TellMany stores results of several trials: all of them or none.
func (s *Service) TellMany(ctx context.Context, cmd Command, id string, told []NumberedTelling) (*ledger.Snapshot, error) {
	var faults design.Faults
	for i, telling := range told {
		faults = append(faults, checkObservedAt(telling.Telling, s.now()).Within(fmt.Sprintf("trials[%d]", i))...)
		told[i].Telling = withMetrics(telling.Telling)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return s.tell(ctx, cmd, id, told, func(now *ledger.Snapshot) (ruling, error) { return ruleTellMany(now, told) })
}

// withMetrics returns the telling as ledgers record it: metrics are an empty object rather than
// null where there are none, as with a note alone.
func withMetrics(t ledger.Telling) ledger.Telling {
	if t.Metrics == nil {
		t.Metrics = map[string]ledger.Reading{}
	}
	return t
}

// clockSkew is how far another server's clock may be ahead of this one's.
const clockSkew = 24 * time.Hour

// checkObservedAt returns a fault if the time of observation lies in the future: nothing could
// correct it later.
func checkObservedAt(told ledger.Telling, now time.Time) (faults design.Faults) {
	if at := told.ObservedAt; at != nil && at.After(now.Add(clockSkew)) {
		faults.Add("observed_at", at.Format(time.RFC3339), "is more than a day ahead of the server's clock")
	}
	return faults
}

func (s *Service) tell(ctx context.Context, cmd Command, id string, told []NumberedTelling, rule func(now *ledger.Snapshot) (ruling, error)) (*ledger.Snapshot, error) {
	possible := func(base *ledger.Snapshot) bool {
		return len(told) <= mostTellings && !slices.ContainsFunc(told, func(t NumberedTelling) bool {
			return !knowsNames(base, t.Metrics, t.Parameters) || len(checkNote(t.Note)) > 0
		})
	}
	return s.change(ctx, cmd, id, possible, rule)
}

func ruleTell(snap *ledger.Snapshot, number int, told ledger.Telling) (ruling, error) {
	trial, err := mayTellOf(snap, number)
	if err != nil {
		return ruling{}, err
	}
	data, faults, refused := checkTelling(snap, trial, told, nil)
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(ledger.Told, number, data), refused
}

// ruleTellMany accepts results of several trials in order, all of them or none.
func ruleTellMany(snap *ledger.Snapshot, told []NumberedTelling) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	switch n := len(told); {
	case n == 0:
		return ruling{}, design.NewInvalid("trials", "give at least one trial", nil)
	case n > mostTellings:
		return ruling{}, design.NewInvalid("trials", fmt.Sprintf("results of %d trials are told; at most %d are possible in one request", n, mostTellings), n)
	}
	var ruled ruling
	var faults design.Faults
	var refused error
	var those []string                  // trials for which it is refused
	before := map[int]map[string]bool{} // metrics told earlier in the same request
	for i, telling := range told {
		if faults.Full() {
			break
		}
		at := fmt.Sprintf("trials[%d]", i)
		trial := snap.Trial(telling.Number)
		if trial == nil {
			faults.Add(at+".number", telling.Number, "%s", noSuchTrial(snap, telling.Number))
			continue
		}
		data, wrong, err := checkTelling(snap, trial, telling.Telling, before[trial.Number])
		faults = append(faults, wrong.Within(at)...)
		if before[trial.Number] == nil {
			before[trial.Number] = map[string]bool{}
		}
		for name := range telling.Metrics {
			before[trial.Number][name] = true
		}
		if refused = cmp.Or(refused, err); err != nil {
			those = append(those, strconv.Itoa(trial.Number))
		}
		data.Unasked = true // all that is told at once is judged together
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: data})
		ruled.numbers = append(ruled.numbers, trial.Number) // repeated if the trial is, as in the answer
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	if len(those) > 1 {
		refused = conflict("%s Of the %d trials told of, these are refused for such a reason: %s.", refused, len(told), design.Shorten(strings.Join(those, ", ")))
	}
	return ruled, refused
}

// checkTelling returns the event's data, the faults of the telling itself, and the reason why the
// study's present state does not allow it. before has the metrics of the trial that were told
// earlier in the same request.
func checkTelling(snap *ledger.Snapshot, trial *ledger.Trial, t ledger.Telling, before map[string]bool) (ledger.ToldData, design.Faults, error) {
	if t.ObservedAt != nil {
		t.ObservedAt = new(t.ObservedAt.UTC())
	}
	data := ledger.ToldData{Number: trial.Number, Telling: t}
	faults := checkNote(t.Note)
	if len(t.Metrics) == 0 && t.Parameters == nil && t.Note == "" {
		faults.Add("metrics", nil, "give at least one metric")
	}
	wrong, refused := eachMetric(t.Metrics, func(name string, reading ledger.Reading) (design.Faults, error) {
		return checkMetric(snap, trial, name, reading, before[name])
	})
	faults = append(faults, wrong...)
	if t.Parameters != nil {
		data.Parameters, data.Candidate, data.KnownValues, wrong = placeUsed(snap, trial, t.Parameters)
		faults = append(faults, wrong...)
	}
	return data, faults, refused
}

// eachMetric checks the metrics of a request in the order of their names, and returns the faults and
// the first refusal.
func eachMetric[V any](metrics map[string]V, check func(name string, value V) (design.Faults, error)) (faults design.Faults, refused error) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		wrong, err := check(name, metrics[name])
		refused = cmp.Or(refused, err)
		if faults = append(faults, wrong...); faults.Full() {
			break
		}
	}
	return faults, refused
}

func checkMetric(snap *ledger.Snapshot, trial *ledger.Trial, name string, reading ledger.Reading, again bool) (design.Faults, error) {
	faults := checkMetricName(snap, name)
	faults = append(faults, checkReading(name, reading)...)
	if len(faults) > 0 {
		return faults, nil
	}
	if err := mustBeTold(snap, name); err != nil {
		return nil, err
	}
	if again {
		faults.Add("metrics."+name, reading.Value, "%s is given twice for trial %d", name, trial.Number)
		return faults, nil
	}
	if _, told := trial.Metrics[name]; told {
		return nil, conflict("%s of trial %d has been told already. To change it, use the trial's corrections (…/trials/%[2]d/corrections).", name, trial.Number)
	}
	return nil, nil
}

// Limits on the length of texts and requests.
const (
	longestNote   = 10000 // characters
	longestReason = 1000
	// mostTellings is how many trials one request can tell results of: as many as a table has rows.
	mostTellings = maxRows
)

func mayTell(snap *ledger.Snapshot) error {
	if snap.State == ledger.Archived {
		return conflict("The study is archived; nothing can be told or corrected. Set its state to open, paused or finished first.")
	}
	return nil
}

// mayTellOf returns the trial of that number if it may be told about or corrected.
func mayTellOf(snap *ledger.Snapshot, number int) (*ledger.Trial, error) {
	if err := mayTell(snap); err != nil {
		return nil, err
	}
	return TrialOf(snap, number)
}

// TrialOf returns the trial of that number, or ErrNotFound.
func TrialOf(snap *ledger.Snapshot, number int) (*ledger.Trial, error) {
	trial := snap.Trial(number)
	if trial == nil {
		return nil, &refusal{noSuchTrial(snap, number), ErrNotFound}
	}
	return trial, nil
}

// knowsNames reports whether the study has all these metrics and parameters. They never change
// their names.
func knowsNames[V any](snap *ledger.Snapshot, metrics map[string]V, parameters design.Settings) bool {
	for name := range metrics {
		if _, there := snap.Compiled().Metric(name); !there {
			return false
		}
	}
	return snap.Compiled().HasParameters(parameters)
}

func mustBeTold(snap *ledger.Snapshot, name string) error {
	if m, _ := snap.Compiled().Metric(name); m.Known {
		return conflict("%s is worked out from the settings when a trial is chosen; it cannot be told.", name)
	}
	return nil
}

func checkMetricName(snap *ledger.Snapshot, name string) design.Faults {
	if _, there := snap.Compiled().Metric(name); there {
		return nil
	}
	return design.Faults{{Field: "metrics." + design.Shorten(name), Message: design.UnknownName("metric", name, snap.Definition.MetricNames())}}
}

func checkReading(metric string, r ledger.Reading) (faults design.Faults) {
	at := "metrics." + design.Shorten(metric)
	if !design.Computable(r.Value) {
		faults.Add(at, nil, design.NotComputable)
	}
	if r.StdDev != nil && !(*r.StdDev > 0 && *r.StdDev <= design.Largest) {
		faults.Add(at+".stddev", *r.StdDev, "must be above 0 and at most 1e100; leave it out if you do not know it")
	}
	return faults
}

func checkNote(note string) (faults design.Faults) {
	if n := utf8.RuneCountInString(note); n > longestNote {
		faults.Add("note", nil, "must have at most %d characters, and has %d", longestNote, n)
	}
	if wrong := design.CheckText(note); wrong != "" {
		faults.Add("note", nil, "%s", wrong)
	}
	return faults
}

func checkReason(reason string) (faults design.Faults) {
	n := utf8.RuneCountInString(reason)
	switch {
	case strings.TrimSpace(reason) == "":
		faults.Add("reason", nil, "give a reason; the ledger keeps it")
	case n > longestReason:
		faults.Add("reason", nil, "must have at most %d characters, and has %d", longestReason, n)
	case design.CheckText(reason) != "":
		faults.Add("reason", nil, "%s", design.CheckText(reason))
	}
	return faults
}

func noSuchTrial(snap *ledger.Snapshot, number int) string {
	return fmt.Sprintf("There is no trial %d; the study has %d.", number, len(snap.Trials))
}

// placeUsed places settings that were used instead of the chosen ones, and computes the known
// values there by the formulas in force when the trial was chosen. If they are the chosen settings,
// the candidate and the values recorded with the choice are returned.
func placeUsed(snap *ledger.Snapshot, trial *ledger.Trial, settings design.Settings) (
	placed design.Settings, candidate *int, known map[string]float64, faults design.Faults,
) {
	chosen, kept := snap.Chosen(trial.Number), trial.Parameters
	if settings.Equal(chosen) {
		kept = chosen
	}
	placed, place, faults := snap.Compiled().PlaceTold(settings, kept, "parameters")
	if len(faults) > 0 {
		return nil, nil, nil, faults
	}
	if placed.Equal(chosen) {
		return placed, snap.ChosenCandidate(trial.Number), snap.KnownAsChosen(trial.Number), nil
	}
	known, faults = snap.CompiledThen(trial.Number).KnownAt(placed, place, trial.Brought())
	// The other faults say that an expression has no value there.
	if lacks := len(faults) > 0 && faults[0].Field != ""; lacks && trial.Origin == ledger.Imported {
		faults = design.Faults{{Field: "parameters", Message: fmt.Sprintf("cannot be changed: the trial was imported without %s, which a limit depends on; exclude it, and import its row with the right settings", brought(faults[0].Field))}}
	}
	return placed, candidateOf(place), known, faults
}

// brought returns the name, after the first dot of a fault's path, of the value that a caller
// should have brought, "" if there is none.
func brought(path string) string {
	_, name, _ := strings.Cut(path, ".")
	return name
}

// Doubt is a value that the person who enters it should check: where it is in the request and why
// it is doubted. A doubt does not refuse anything: forms ask the person, programs are not asked.
type Doubt struct {
	Field string `json:"location"` // as in faults
	Value string `json:"value"`
	Text  string `json:"text"`
}

// Doubted returns a hash of the doubts. A confirmation carries it, so that it holds for exactly
// these values.
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

// Doubtful is the error that asks a person to check values before they are stored.
type Doubtful struct{ Doubts []Doubt }

func (d *Doubtful) Error() string { return d.Doubts[0].Text }

// confirm returns *Doubtful if there are doubts that the sender has not confirmed, and reports
// whether there were confirmed ones. Programs are not asked: doubts about what they tell are shown
// with the trial.
func confirm(cmd Command, judge func() []Doubt) (confirmed bool, err error) {
	if cmd.Sure == nil {
		return false, nil
	}
	doubts := judge()
	if len(doubts) == 0 || *cmd.Sure == Doubted(doubts) {
		return len(doubts) > 0, nil
	}
	return false, &Doubtful{doubts}
}

// confirmedBy marks the ruling's readings as confirmed if the sender was asked about doubts and
// confirmed them.
func (r ruling) confirmedBy(cmd Command, judge func() []Doubt) (ruling, error) {
	confirmed, err := confirm(cmd, judge)
	r.mark(confirmed)
	return r, err
}

func (r ruling) mark(confirmed bool) {
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
}

// DoubtTelling returns the doubts about a trial's results, given the predictions of its decision,
// and about the settings that it was run at.
func DoubtTelling(snap *ledger.Snapshot, trial *ledger.Trial, told ledger.Telling) []Doubt {
	run, chosen := *trial, snap.Chosen(trial.Number)
	if told.Parameters != nil { // the decision's prediction is for the chosen settings only
		run.SettingsChanged = !told.Parameters.Equal(chosen)
	}
	doubts := snap.DoubtReadings(trial.Number, told.Metrics, func(metric string) *ledger.Expected { return snap.Predicted(&run, metric) })
	return Asked(append(doubts, snap.DoubtSettings(trial.Number, trial.Parameters, told.Parameters)...))
}

// Asked converts the ledger's doubts to those of a request.
func Asked(doubts []ledger.Doubted) []Doubt {
	var list []Doubt
	for _, d := range doubts {
		at := "metrics." + d.Metric
		if d.Parameter != "" {
			at = "parameters." + d.Parameter
		}
		list = append(list, Doubt{at, exactText(d.Value), d.Why})
	}
	return list
}

func doubtReplicateText(number int) string {
	return fmt.Sprintf("The same settings as trial %d: a replicate on purpose?", number)
}

// exactText returns the number's shortest exact text, which a confirmation refers to.
func exactText(x float64) string { return design.NumberValue(x).String() }

func settingsText(d design.Definition, settings design.Settings) string {
	return strings.Join(lists.Map(d.ParameterNames(), func(name string) string { return fmt.Sprintf("%s=%q", name, settings[name].String()) }), ", ")
}
