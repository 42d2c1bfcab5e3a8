package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// ledgerLines is how many entries are shown at a time, newestLines how many a study's page begins with.
const ledgerLines, newestLines = 25, 4

// ledgerQuery keeps before which entry to begin.
func (v visit) ledgerQuery() url.Values {
	kept := url.Values{}
	if before := v.query.Get("before"); !pointless(before, v.snap.Version) {
		kept.Set("before", before)
	}
	return kept
}

// ledger is what happened last, in plain words, newest first.
func (s *Site) ledger(ctx context.Context, v visit) (templates.Ledger, error) {
	q := request.QueryOf(v.ledgerQuery())
	before := q.Whole("before", 1, v.snap.Version, v.snap.Version+1)
	if err := q.Err(); err != nil {
		return templates.Ledger{}, err
	}
	lines := int64(ledgerLines)
	if v.parts && before > v.snap.Version {
		lines = newestLines
	}
	after := max(0, before-1-lines)
	events, err := s.Studies.Events(ctx, v.snap.ID, after, int(before-1-after))
	if err != nil {
		return templates.Ledger{}, err
	}
	ledger := templates.Ledger{Study: v.head}
	for _, event := range slices.Backward(events) {
		entry, err := v.entryOf(event)
		if err != nil {
			return ledger, err
		}
		ledger.Entries = append(ledger.Entries, entry)
	}
	if after > 0 {
		ledger.Older = v.link("ledger", url.Values{"before": {fmt.Sprint(after + 1)}})
	}
	return ledger, nil
}

// eventsOf are the last entries about one trial, newest first, and how many were before them.
func (s *Site) eventsOf(ctx context.Context, v visit, number int) (entries []templates.LedgerEntry, before int, err error) {
	events, before, err := s.Studies.EventsOf(ctx, v.snap, number, ledgerLines)
	if err != nil {
		return nil, 0, err
	}
	for _, event := range slices.Backward(events) {
		entry, err := v.entryOf(event)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, entry)
	}
	return entries, before, nil
}

// entryOf puts one event into words.
func (v visit) entryOf(event ledger.Event) (templates.LedgerEntry, error) {
	entry := templates.LedgerEntry{Seq: event.Seq, At: stamp(event.At, v.now), By: event.By, Hash: event.Hash}
	entry.At.Ago = clock(event.At, v.now)
	var err error
	entry.Text, entry.Number, entry.Reason, err = v.words(event)
	if event.Kind == ledger.Fitted {
		entry.By = "The model" // nobody asked for it: it was due
	}
	return entry, err
}

// clock is the time of day, with the date when it was another day.
func clock(at, now time.Time) string {
	if at.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return at.UTC().Format("15:04") + " UTC"
	}
	return at.UTC().Format("2 Jan 15:04")
}

// words say what an event did, which trial it concerns, and why.
func (v visit) words(event ledger.Event) (text string, number int, reason string, err error) {
	switch event.Kind {
	case ledger.Created:
		return "made the study", 0, "", nil
	case ledger.Edited:
		data, err := eventData[ledger.EditedData](event)
		return editedWords(data), 0, "", err
	case ledger.Reconfigured:
		data, err := eventData[ledger.ReconfiguredData](event)
		return "changed " + changesWords(data.Definition, data.Changes), 0, data.Reason, err
	case ledger.Chosen:
		data, err := eventData[ledger.ChosenData](event)
		return chosenWords(data), data.Number, data.Note, err
	case ledger.Told:
		data, err := eventData[ledger.ToldData](event)
		return v.toldWords(data) + sureWords(data.Confirmed), data.Number, data.Note, err
	case ledger.Corrected:
		data, err := eventData[ledger.CorrectedData](event)
		return v.correctedWords(data) + sureWords(data.Confirmed), data.Number, data.Reason, err
	case ledger.Confirmed:
		data, err := eventData[ledger.ConfirmedData](event)
		return fmt.Sprintf("said that what was doubted of trial %d is right", data.Number), data.Number, "", err
	case ledger.Fitted:
		return "was fitted to the readings", 0, "", nil
	}
	data, err := eventData[ledger.ClosedData](event)
	verbs := map[ledger.Kind]string{ledger.Failed: "said that trial %d failed because of its settings", ledger.Abandoned: "gave up trial %d", ledger.Excluded: "excluded trial %d", ledger.Included: "included trial %d again"}
	if data.Cause == ledger.ByChance {
		verbs[ledger.Failed] = "said that trial %d failed by chance"
	}
	return fmt.Sprintf(verbs[event.Kind], data.Number), data.Number, data.Reason, err
}

func sureWords(confirmed bool) string {
	if confirmed {
		return ", and said that it is right as it is"
	}
	return ""
}

func eventData[T any](event ledger.Event) (T, error) {
	var data T
	err := json.Unmarshal(event.Data, &data)
	return data, err
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

func changesWords(d design.Definition, changes []design.Change) string {
	if slices.ContainsFunc(changes, func(c design.Change) bool { return c.Path == "algorithm.name" }) { // settings that only one of the two has go without saying
		changes = slices.DeleteFunc(slices.Clone(changes), func(c design.Change) bool {
			return strings.HasPrefix(c.Path, "algorithm.settings.") && (string(c.Before) == "null" || string(c.After) == "null")
		})
	}
	var parts []string
	for i, change := range changes {
		if i == 4 {
			parts = append(parts, fmt.Sprintf("%d more", len(changes)-i))
			break
		}
		name, unit := changeName(d, change.Path)
		parts = append(parts, fmt.Sprintf("%s from %s to %s", name, plainJSON(change.Before), design.WithUnit(plainJSON(change.After), unit, thin)))
	}
	return strings.Join(parts, ", ")
}

// listedPath is the place of something in a list of a definition: the list, the item's name and what of it.
var listedPath = regexp.MustCompile(`^(constraints|parameters)\[(.*)\]\.(\w+)$`)

// partNames say what of a listed thing was changed, as people name it.
var partNames = map[string]string{"threshold": "limit of", "low": "lowest", "high": "highest", "unit": "unit of", "step": "step of", "scale": "scale of", "choices": "choices of"}

// changeName is what was changed as people name it, with the unit of its values.
func changeName(d design.Definition, path string) (name, unit string) {
	found := listedPath.FindStringSubmatch(path)
	if found == nil {
		return strings.ReplaceAll(strings.ReplaceAll(path, ".", " "), "_", " "), ""
	}
	part := partNames[found[3]]
	if part == "" {
		part = found[3] + " of"
	}
	for _, c := range d.Constraints {
		if found[1] == "constraints" && c.Name == found[2] && found[3] == "threshold" {
			unit = c.Unit
		}
	}
	for _, p := range d.Parameters {
		if found[1] == "parameters" && p.Name == found[2] && (found[3] == "low" || found[3] == "high" || found[3] == "step") {
			unit = p.Unit
		}
	}
	return part + " " + found[2], unit
}

// plainJSON is a changed value as text.
func plainJSON(raw json.RawMessage) string {
	text := string(raw)
	if text == "" || text == "null" {
		return "nothing"
	}
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Trim(text, `"`)
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
	return fmt.Sprintf("asked for trial %d", data.Number)
}

func (v visit) toldWords(data ledger.ToldData) string {
	var parts []string
	for _, metric := range inOrder(v.snap.Definition, data.Metrics) {
		parts = append(parts, metric+" "+quantity(data.Metrics[metric].Value, unitOf(v.snap.Definition, metric)))
	}
	text := fmt.Sprintf("saved %s of trial %d", strings.Join(parts, ", "), data.Number)
	if len(parts) == 0 {
		text = fmt.Sprintf("added to trial %d", data.Number)
	}
	if data.Parameters != nil {
		text += " with the settings really used: " + settingsLine(v.snap.Definition, data.Parameters)
	}
	return text
}

func (v visit) correctedWords(data ledger.CorrectedData) string {
	var parts []string
	for _, metric := range inOrder(v.snap.Definition, data.Metrics) {
		value := data.Metrics[metric]
		switch {
		case value.After == nil && value.Before != nil:
			parts = append(parts, fmt.Sprintf("took back %s of trial %d (it was %s)", metric, data.Number, number(value.Before.Value)))
		case value.Before != nil:
			parts = append(parts, fmt.Sprintf("corrected %s of trial %d from %s to %s", metric, data.Number, number(value.Before.Value), number(value.After.Value)))
		}
	}
	if data.Parameters != nil {
		parts = append(parts, fmt.Sprintf("corrected the settings of trial %d to %s", data.Number, settingsLine(v.snap.Definition, data.Parameters.After)))
	}
	return strings.Join(parts, " and ")
}

// inOrder lists the metrics of m in the order of the study.
func inOrder[T any](d design.Definition, m map[string]T) []string {
	var names []string
	for _, metric := range tableMetrics(d) {
		if _, there := m[metric]; there {
			names = append(names, metric)
		}
	}
	return names
}
