package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// LedgerLines is how many entries are shown at a time, newestLines how many a study's page shows at
// first, mostReportLedger how many a report has.
const LedgerLines, newestLines, mostReportLedger = 25, 4, 1500

// mostApart is how many trials of one request are told apart: of more there is a line for all of them.
const mostApart = 5

// LedgerShown returns the numbers of the entries that are shown of those before the given one, in
// order, and how many are before them.
func (v Facts) LedgerShown(before int64) (shown []int64, earlier int64) {
	most := LedgerLines
	switch {
	case v.Paper:
		most = mostReportLedger
	case v.Parts && before > v.Snap.Version:
		most = newestLines
	}
	for earlier = before - 1; earlier > 0 && len(shown) < most; earlier-- {
		shown = append(shown, earlier)
		if !v.Paper { // where each stands for itself
			earlier -= standsFor(v.Snap, earlier)
		}
	}
	slices.Reverse(shown)
	return shown, earlier
}

// standsFor is for how many entries before it one stands: the last of those written together about
// many trials, such as the rows of a table, for all of them.
func standsFor(snap *ledger.Snapshot, seq int64) int64 {
	first, last, numbers := snap.Together(seq)
	return words.Either(seq == last && len(numbers) > mostApart, last-first, 0)
}

// Ledger is the ledger in plain words, newest first.
func (v Facts) Ledger() templates.Ledger {
	list := templates.Ledger{Entries: v.entries(), Paper: v.Paper}
	for i, entry := range list.Entries {
		if others := standsFor(v.Snap, entry.Seq); others > 0 && !v.Paper {
			list.Entries[i].Others, list.Entries[i].OthersIn = int(others), v.link("ledger", url.Values{"before": {strconv.FormatInt(entry.Seq, 10)}})
		}
	}
	switch {
	case v.Earlier > 0 && v.Paper:
		list.Note = fmt.Sprintf("The newest %d of %d entries; the export has all of them.", len(list.Entries), v.Snap.Version)
	case v.Earlier > 0:
		list.Older = v.link("ledger", url.Values{"before": {strconv.Itoa(v.Earlier + 1)}})
	}
	return list
}

// entries puts the entries at hand into words, newest first. The newest at hand of those written
// together, such as the rows of a table, says what has become of all their trials, and leads whoever
// may to taking them back.
func (v Facts) entries() (list []templates.LedgerEntry) {
	takesBack := v.Head.Operates && v.Snap.State != ledger.Archived && v.At == 0
	for i, event := range slices.Backward(v.Entries) {
		entry := v.entryOf(event)
		if !v.Paper {
			_, last, numbers := v.Snap.Together(event.Seq)
			newest := i+1 == len(v.Entries) || v.Entries[i+1].Seq > last
			if newest && len(numbers) > mostApart {
				entry.Outcome = outcomeOf(v.Snap, numbers)
			}
			if newest && len(numbers) > 1 && takesBack {
				entry.Together, entry.TakeBack = len(numbers), v.Head.URL("/undo?event="+strconv.FormatInt(event.Seq, 10))
			}
		}
		list = append(list, entry)
	}
	return list
}

// outcomeOf says what has become of trials, and which of them is the best.
func outcomeOf(snap *ledger.Snapshot, numbers []int) string {
	d, counts, states := snap.Definition, map[string]int{}, []string(nil)
	only := ledger.Snapshot{Definition: d, Trials: lists.Map(numbers, snap.Trial)}
	for _, t := range only.Trials {
		state := stateWords(d, t)
		if counts[state]++; counts[state] == 1 {
			states = append(states, state)
		}
	}
	slices.SortStableFunc(states, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	said := lists.Map(states, func(state string) string { return fmt.Sprintf("%d %s", counts[state], state) })
	text := fmt.Sprintf("All %d trials by now: %s", len(numbers), strings.Join(said, ", "))
	if best := only.Best(); best != nil {
		text += fmt.Sprintf("; the best of them %s at trial %d", Measured(snap, best, d.Objective.Metric, best.Metrics[d.Objective.Metric]), best.Number)
	}
	return text + "."
}

// Undo is the page that takes back what was written together with an event.
func (v Facts) Undo(event ledger.Event) templates.UndoPage {
	first, last, numbers := v.Snap.Together(event.Seq)
	return templates.UndoPage{Study: v.Head, Event: event.Seq, By: event.By, At: v.stamp(event.At),
		Entries: words.Either(first == last, fmt.Sprintf("entry %d", first), fmt.Sprintf("entries %d to %d", first, last)), Trials: words.Either(len(numbers) == 0, "no trial", TrialsInWords(numbers))}
}

func (v Facts) entryOf(event ledger.Event) templates.LedgerEntry {
	entry := templates.LedgerEntry{Seq: event.Seq, At: v.clockStamp(event.At), By: event.By, Hash: event.Hash}
	entry.Text, entry.Reason = eventWords(v.Snap, event)
	if event.Kind == ledger.Fitted {
		entry.By = "The model" // nobody asked for it: it was due
	}
	return entry
}

func eventWords(snap *ledger.Snapshot, event ledger.Event) (text, reason string) {
	switch event.Kind {
	case ledger.Created:
		return "made the study", ""
	case ledger.Edited:
		return editedWords(read[ledger.EditedData](event.Data)), ""
	case ledger.Reconfigured:
		data := read[ledger.ReconfiguredData](event.Data)
		return changesWords(data.Definition, data.Changes, "changed ", "said that "), data.Reason
	case ledger.Chosen:
		data := read[ledger.ChosenData](event.Data)
		return chosenWords(data), data.Note
	case ledger.Told:
		data := read[ledger.ToldData](event.Data)
		return toldWords(snap, event.Seq, data) + sureWords(data.Confirmed), data.Note
	case ledger.Corrected:
		data := read[ledger.CorrectedData](event.Data)
		return correctedWords(snap.UnitsReplaced(event.Seq), *snap.InUnitsOf(event.Seq), data) + sureWords(data.Confirmed), data.Reason
	case ledger.Confirmed:
		return fmt.Sprintf("confirmed what was doubted of trial %d", read[ledger.ConfirmedData](event.Data).Number), ""
	case ledger.Fitted:
		return "was fitted to the readings", ""
	}
	data := read[ledger.ClosedData](event.Data)
	verbs := map[ledger.Kind]string{ledger.Failed: "said that trial %d failed because of its settings", ledger.Abandoned: "gave up trial %d", ledger.Excluded: "excluded trial %d", ledger.Included: "included trial %d again"}
	if data.Cause == ledger.ByChance {
		verbs[ledger.Failed] = "said that trial %d failed by chance"
	}
	return fmt.Sprintf(verbs[event.Kind], data.Number), data.Reason
}

func sureWords(confirmed bool) string {
	return words.Either(confirmed, ", and said that it is right as it is", "")
}

// read decodes data that the snapshot was folded from, and so is known to be valid.
func read[T any](part json.RawMessage) (data T) {
	if err := json.Unmarshal(part, &data); err != nil {
		panic("view: " + err.Error())
	}
	return data
}

func editedWords(data ledger.EditedData) string {
	var parts []string
	if data.Name != nil {
		parts = append(parts, fmt.Sprintf("renamed the study to “%s”", *data.Name))
	}
	if data.Description != nil {
		parts = append(parts, "rewrote the description")
	}
	if data.State != nil {
		parts = append(parts, fmt.Sprintf("set the study to %s", *data.State))
	}
	return strings.Join(parts, " and ")
}

// changesWords says what was changed from what to what, after the verb changed, and which values
// have run out or are available again, after the verb said; both verbs may be "".
func changesWords(d design.Definition, changes []design.Change, changed, said string) string {
	if slices.ContainsFunc(changes, func(c design.Change) bool { return c.Path == "algorithm.name" }) { // settings of only one of the two are left out
		changes = slices.DeleteFunc(slices.Clone(changes), func(c design.Change) bool {
			return strings.HasPrefix(c.Path, "algorithm.settings.") && (string(c.Before) == "null" || string(c.After) == "null")
		})
	}
	var parts, clauses []string
	for _, change := range changes {
		if stock := stockWords(change); stock != nil {
			clauses = append(clauses, stock...)
			continue
		}
		name, unit := changeName(d, change)
		before, after := changedFromTo(change)
		unitOf := change.Path[:strings.LastIndex(change.Path, ".")+1] + "unit"
		if i := slices.IndexFunc(changes, func(c design.Change) bool { return c.Path == unitOf }); unit != "" && i >= 0 && string(change.Before) != "null" {
			before = words.With(before, read[string](changes[i].Before))
		}
		after = words.With(after, words.Either(string(change.After) == "null", "", unit))
		parts = append(parts, fmt.Sprintf("%s from %s to %s", name, before, after)+toldIn(change))
	}
	var text []string
	if len(parts) > 0 {
		text = append(text, changed+strings.Join(words.Few(parts, 4), ", "))
	}
	if len(clauses) > 0 {
		text = append(text, said+design.Listed(clauses, "and"))
	}
	return strings.Join(text, ", and ")
}

// changedFromTo writes the value before and after a change.
func changedFromTo(change design.Change) (before, after string) {
	before, after = plainJSON(change.Before), plainJSON(change.After)
	switch field := change.Field(); {
	case strings.HasPrefix(change.Path, "stop."): // in per cent, as forms and pages have it
		return words.InPercent(read[float64](change.Before)), words.With(words.InPercent(read[float64](change.After)), "%")
	case field == "plausible":
		return strings.ReplaceAll(before, ", ", " – "), strings.ReplaceAll(after, ", ", " – ")
	case field == "op":
		return words.Sign(before), words.Sign(after)
	}
	return before, after
}

// toldIn says, of a change of unit, in which unit earlier numbers were told. It is "" for other
// changes.
func toldIn(change design.Change) string {
	if change.Field() != "unit" {
		return ""
	}
	are := words.Either(string(change.Before) == "null", "have no unit", "are in "+plainJSON(change.Before))
	return " (numbers told before " + are + ", and are not converted)"
}

// stockWords says, of a change of availability, which values of each parameter have run out and
// which are available again. It is nil for other changes.
func stockWords(change design.Change) (clauses []string) {
	name, of, one := strings.Cut(change.Path, ".")
	if name != "unavailable" {
		return nil
	}
	gone := func(part json.RawMessage) map[string][]design.Value {
		if one {
			return map[string][]design.Value{of: read[[]design.Value](part)}
		}
		return read[map[string][]design.Value](part)
	}
	before, after := gone(change.Before), gone(change.After)
	say := func(name string, of, without []design.Value, what string) {
		named := lists.Pick(of, func(v design.Value) (string, bool) { return v.String(), !slices.Contains(without, v) })
		if len(named) > 0 {
			clauses = append(clauses, name+" "+design.Listed(named, "and")+words.Either(len(named) == 1, " is ", " are ")+what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		say(name, after[name], before[name], "unavailable")
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		say(name, before[name], after[name], "available again")
	}
	return clauses
}

// partNames are the words for the fields of list items.
var partNames = map[string]string{"threshold": "limit of", "low": "lowest", "high": "highest", "unit": "unit of", "step": "step of", "scale": "scale of", "choices": "choices of", "of": "what shares the total of",
	"op": "sign of", "plausible": "what is plausible of"}

// changeName is the name of what was changed, with the unit of its values.
func changeName(d design.Definition, change design.Change) (name, unit string) {
	list, item, field := change.Item()
	if list == "" {
		return pathWords.Replace(change.Path), ""
	}
	if i, err := strconv.Atoi(item); err == nil && list == "recorded_metrics" && i < len(d.RecordedMetrics) { // these are listed by index
		item = d.RecordedMetrics[i].Metric
	}
	for _, c := range d.Constraints {
		if list == "constraints" && c.Name == item && field == "threshold" {
			unit = c.Unit
		}
	}
	for _, p := range d.Parameters {
		if list == "parameters" && p.Name == item && (field == "low" || field == "high" || field == "step") {
			unit = p.Unit
		}
	}
	return cmp.Or(partNames[field], field+" of") + " " + item, unit
}

var pathWords = strings.NewReplacer("objective.plausible", "what is plausible of the objective", "input_constraints", "rules for the settings", "algorithm.name", "algorithm", "algorithm.settings.", "", ".", " ", "_", " ")

// plainJSON puts a changed value into words. Invalid JSON counts as nothing.
func plainJSON(raw json.RawMessage) string {
	var value any
	_ = json.Unmarshal(raw, &value)
	return words.Shorten(plain(value, ": ", design.WriteExactly), 60)
}

// plain puts decoded JSON into words, with between between names and values, and numbers written by
// number.
func plain(value any, between string, number func(float64) string) string {
	var parts []string
	switch v := value.(type) {
	case nil:
	case float64:
		return number(v)
	case []any:
		parts = lists.Map(v, func(item any) string { return plain(item, between, number) })
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+between+plain(v[name], between, number))
		}
	default:
		return fmt.Sprint(v)
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func chosenWords(data ledger.ChosenData) string {
	switch {
	case data.ReplicateOf > 0:
		return fmt.Sprintf("asked for trial %d, the same settings as trial %d", data.Number, data.ReplicateOf)
	case data.Origin == ledger.Manual:
		return fmt.Sprintf("chose the settings of trial %d", data.Number)
	case data.Origin == ledger.Imported:
		return fmt.Sprintf("imported trial %d", data.Number)
	}
	return fmt.Sprintf("asked for trial %d", data.Number) + Holding(data.Held)
}

// Holding says which settings were given when a trial was asked for, "" if none were.
func Holding(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", with " + design.Listed(lists.Map(names, design.Name), "and") + " held"
}

func toldWords(snap *ledger.Snapshot, seq int64, data ledger.ToldData) string {
	d := *snap.InUnitsOf(seq)
	parts := lists.Map(inOrder(d, data.Metrics), func(metric string) string {
		return design.Name(metric) + " " + words.With(toldReading(data.Metrics[metric], design.WriteNumber), d.Unit(metric))
	})
	text := words.Either(len(parts) == 0, fmt.Sprintf("added to trial %d", data.Number), fmt.Sprintf("saved %s of trial %d", strings.Join(parts, ", "), data.Number))
	if data.Parameters != nil {
		unit := func(name string) string { return snap.InUnitsOf(min(seq, snap.Since(data.Number, name))).Unit(name) } // of an earlier event if this one did not change it
		text += " with the settings really used: " + settingsWords(withUnits(settingsOf(d, data.Parameters), unit))
	}
	return text
}

// toldReading is a reading as it was told, with its standard deviation if it has one.
func toldReading(r ledger.Reading, write func(float64) string) string {
	if r.StdDev == nil {
		return write(r.Value)
	}
	return write(r.Value) + words.Thin + "±" + words.Thin + write(*r.StdDev)
}

// correctedReading writes a reading before and after, each in its unit, with enough digits to tell
// them apart.
func correctedReading(value ledger.CorrectedValue, was, is string) (before, after string) {
	in := func(reading *ledger.Reading, unit string, write func(float64) string) string {
		if reading == nil {
			return "no value"
		}
		return words.With(toldReading(*reading, write), unit)
	}
	before, after = in(value.Before, was, design.WriteNumber), in(value.After, is, design.WriteNumber)
	if before == after {
		return in(value.Before, was, design.WriteExactly), in(value.After, is, design.WriteExactly)
	}
	return before, after
}

// correctedSettings writes a trial's settings before and after. Those that stay keep their unit.
func correctedSettings(was func(name string) string, d design.Definition, data ledger.CorrectedSettings) (before, after string) {
	is := func(name string) string {
		return words.Either(data.Before[name] == data.After[name], was(name), d.Unit(name))
	}
	return settingsWords(withUnits(settingsOf(d, data.Before), was)), settingsWords(withUnits(settingsOf(d, data.After), is))
}

func correctedWords(was func(name string) string, d design.Definition, data ledger.CorrectedData) string {
	var parts []string
	for _, metric := range inOrder(d, data.Metrics) {
		value := data.Metrics[metric]
		before, after := correctedReading(value, was(metric), d.Unit(metric))
		switch {
		case value.After == nil && value.Before != nil:
			parts = append(parts, fmt.Sprintf("took back %s of trial %d (it was %s)", design.Name(metric), data.Number, before))
		case value.Before != nil:
			parts = append(parts, fmt.Sprintf("corrected %s of trial %d from %s to %s", design.Name(metric), data.Number, before, after))
		}
	}
	if data.Parameters != nil {
		_, after := correctedSettings(was, d, *data.Parameters)
		parts = append(parts, fmt.Sprintf("corrected the settings of trial %d to %s", data.Number, after))
	}
	return strings.Join(parts, " and ")
}

// CorrectionConsequences says what a correction would change.
func CorrectionConsequences(snap *ledger.Snapshot, impact study.Impact) *templates.Consequences {
	out, rest := consequences(snap, impact)
	out.Summary = fmt.Sprintf("Trial %d would be: %s.", impact.Trial.Number, stateWords(snap.Definition, impact.Trial)) + madeFrom("the old value", impact) + rest
	return out
}

// madeFrom says how many decisions were made from what would be another.
func madeFrom(what string, impact study.Impact) string {
	if impact.DecisionsAfter == 0 {
		return " No decision was made from " + what + "."
	}
	keeps := words.Either(impact.DecisionsAfter == 1, "it keeps what it", "they keep what they")
	return fmt.Sprintf(" %s made from %s; %s recorded.", design.Count(impact.DecisionsAfter, "decision was", "decisions were"), what, keeps)
}

// UndoConsequences says what would change if what was written in one request were taken back.
func UndoConsequences(snap *ledger.Snapshot, impact study.Impact) *templates.Consequences {
	out, rest := consequences(snap, impact)
	var said []string
	for _, part := range []struct {
		numbers   []int
		one, many string
	}{
		{impact.Undone.NotRun, "%s would count as not run.", "%s would count as not run."},
		{impact.Undone.Back, "%s would be as it was before.", "%s would be as they were before."},
		{impact.Undone.Ended, "%s stays as not run until a result of it is saved.", "%s stay as not run until results of them are saved."},
		{impact.Undone.Since, "%s has later entries, and what they say stays.", "%s have later entries, and what they say stays."},
	} {
		if len(part.numbers) > 0 {
			said = append(said, design.Capitalised(fmt.Sprintf(words.Either(len(part.numbers) == 1, part.one, part.many), TrialsInWords(part.numbers))))
		}
	}
	out.Summary = strings.Join(said, " ") + madeFrom("what would be taken back", impact) + rest
	return out
}

// consequences lists what a change would change; rest says why nothing can be said of the model, or
// that nothing compared here would change.
func consequences(snap *ledger.Snapshot, impact study.Impact) (out *templates.Consequences, rest string) {
	d, after, out := snap.Definition, impact.After, &templates.Consequences{}
	add := func(name, before, after string) {
		if before != after {
			out.Changes = append(out.Changes, templates.BeforeAfter{Name: name, Before: before, After: after})
		}
	}
	was, would := impact.Trials[0], impact.Trials[1]
	of := func(n int, all study.Standing) string { return fmt.Sprintf("%d of %d", n, all.Within+all.Broken) } // as at the top of the page
	add("Trials within every limit", of(was.Within, was), of(would.Within, would))
	add("Trials that break a limit", of(was.Broken, was), of(would.Broken, would))
	add("Recommended", recommendedWords(d.Objective, impact.Recommendation[0]), recommendedWords(after.Objective, impact.Recommendation[1]))
	for j, c := range after.Constraints {
		violation := impact.Violation[c.Name]
		add("Violation of "+c.Name, words.RoughlyApart(violation[0].Hard, d.Constraints[j].Unit), words.RoughlyApart(violation[1].Hard, c.Unit))
		if price, there := impact.Multipliers[c.Name]; there {
			add("Multiplier of "+c.Name, words.Rough(price[0]), words.Rough(price[1]))
		}
	}
	add("Next suggestion", nextText(d, impact.NextBefore), nextText(after, impact.NextAfter))
	switch {
	case impact.Withheld != "":
		rest = " Nothing can be said of the rest: " + impact.Withheld
	case len(out.Changes) == 0:
		rest = " How the limits stand" + words.Either(snap.State.Over(), " and what is recommended", ", what is recommended and what is suggested next") + " would not change."
	}
	return out, rest
}

func recommendedWords(o design.Objective, r *study.Recommendation) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("trial %d, expected %s %s %s", r.Number, o.Metric, words.Uncertain(r.Mean[o.Metric], r.SD[o.Metric], o.Unit), withoutNoise)
}

func nextText(d design.Definition, next *design.Settings) string {
	if next == nil {
		return "none"
	}
	return settingsLine(d, *next)
}

// ChangeConsequences says what a change of limits, bounds or settings would change.
func ChangeConsequences(snap *ledger.Snapshot, impact study.Impact) *templates.Consequences {
	out, rest := consequences(snap, impact)
	slices.SortStableFunc(impact.Changes, func(a, b design.Change) int { // limits and bounds first
		return cmp.Compare(strings.Count(b.Path, "["), strings.Count(a.Path, "["))
	})
	said := []string{design.Capitalised(changesWords(impact.After, impact.Changes, "", "")) + "."}
	say := func(turned []study.TurnedTrial, sentence string, is func(feasible *bool) bool) {
		numbers := lists.Pick(turned, func(t study.TurnedTrial) (int, bool) { return t.Number, is(t.After) })
		if len(numbers) > 0 {
			said = append(said, design.Capitalised(fmt.Sprintf(sentence, TrialsInWords(numbers))))
		}
	}
	breaks := func(feasible *bool) bool { return feasible != nil && !*feasible }
	keeps := func(feasible *bool) bool { return feasible != nil && *feasible }
	unknown := func(feasible *bool) bool { return feasible == nil }
	say(impact.Turned, "%s would break a limit.", breaks)
	say(impact.Turned, "%s would be within every limit.", keeps)
	say(impact.Turned, "For %s it would not be known whether a limit is broken.", unknown)
	say(impact.ByFormula, "the settings of %s would break a limit by its new formula.", breaks)
	say(impact.ByFormula, "the settings of %s would break no limit by its new formula.", keeps)
	say(impact.ByFormula, "whether the settings of %s would break a limit by its new formula is not known.", unknown)
	if len(impact.ByFormula) > 0 {
		said = append(said, "Trials keep the values that they were chosen with.")
	} else if len(impact.Turned) == 0 && len(snap.Trials) > 0 && len(impact.After.Constraints) > 0 {
		said = append(said, "No trial would change sides of a limit.")
	}
	out.Summary = strings.Join(said, " ") + rest
	return out
}

// ForecastOf says what a decision expects: readings, with their noise, and the values known
// beforehand, which are given by the limit's name.
func ForecastOf(snap *ledger.Snapshot, decision *ledger.Decision, beforehand map[string]float64) *templates.Forecast {
	d, shown := snap.Definition, &templates.Forecast{}
	if decision == nil {
		return shown
	}
	known := 0
	for _, metric := range Modelled(d) {
		line := templates.ForecastLine{Name: metric, Reading: "no model yet", Limit: limitsText(d, metric)}
		if expected := snap.PredictedBy(decision, metric); expected != nil {
			line.Reading = words.Uncertain(expected.Mean, expected.SD, d.Unit(metric))
			known++
		}
		shown.Metrics = append(shown.Metrics, line)
	}
	if chance := decision.FeasibilityProbability; len(d.Constraints) > 0 && known == len(shown.Metrics) && chance != nil {
		shown.Chance = words.Percent(*chance)
	}
	for _, metric := range computedMetrics(d) {
		if value, there := beforehand[d.Metric(metric).Constraints[0].Name]; there {
			shown.Metrics = append(shown.Metrics, templates.ForecastLine{Name: metric, Reading: words.Quantity(value, d.Unit(metric)) + ", known beforehand", Limit: limitsText(d, metric)})
		}
	}
	return shown
}

// TrialsInWords names trials, only the first few if there are many.
func TrialsInWords(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("trial %d", numbers[0])
	}
	names := lists.Map(numbers, strconv.Itoa)
	return "trials " + design.Listed(words.Few(names, words.Either(len(names) > 5, 4, 5)), "and")
}
