package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// LedgerLines is how many entries are shown at a time, newestLines how many a study's page begins
// with, mostReportLedger how many a report has.
const LedgerLines, newestLines, mostReportLedger = 25, 4, 1500

// LedgerShown is how many entries the page shows of those before one, the last entry being Snap's.
func (v Facts) LedgerShown(before int64) int {
	if v.Paper {
		return mostReportLedger
	}
	if v.Parts && before > v.Snap.Version {
		return newestLines
	}
	return LedgerLines
}

// Ledger is what happened last, in plain words, newest first.
func (v Facts) Ledger() (templates.Ledger, error) {
	entries, err := v.entries()
	list := templates.Ledger{Entries: entries, Paper: v.Paper}
	switch {
	case v.Earlier > 0 && v.Paper:
		list.Note = fmt.Sprintf("The newest %d of %d entries; the export has all of them.", len(entries), v.Snap.Version)
	case v.Earlier > 0:
		list.Older = v.link("ledger", url.Values{"before": {strconv.Itoa(v.Earlier + 1)}})
	}
	return list, err
}

// entries are the entries at hand in words, newest first.
func (v Facts) entries() (list []templates.LedgerEntry, err error) {
	for _, event := range slices.Backward(v.Entries) {
		entry, err := v.entryOf(event)
		if err != nil {
			return nil, err
		}
		list = append(list, entry)
	}
	return list, nil
}

// entryOf puts one event into words.
func (v Facts) entryOf(event ledger.Event) (templates.LedgerEntry, error) {
	entry := templates.LedgerEntry{Seq: event.Seq, At: v.clocked(event.At), By: event.By, Hash: event.Hash}
	var err error
	entry.Text, entry.Reason, err = eventWords(v.Snap.Definition, event)
	if event.Kind == ledger.Fitted {
		entry.By = "The model" // nobody asked for it: it was due
	}
	return entry, err
}

// eventWords say what an event did, and why.
func eventWords(d design.Definition, event ledger.Event) (text, reason string, err error) {
	switch event.Kind {
	case ledger.Created:
		return "made the study", "", nil
	case ledger.Edited:
		data, err := eventData[ledger.EditedData](event)
		return editedWords(data), "", err
	case ledger.Reconfigured:
		data, err := eventData[ledger.ReconfiguredData](event)
		return "changed " + changesWords(data.Definition, data.Changes), data.Reason, err
	case ledger.Chosen:
		data, err := eventData[ledger.ChosenData](event)
		return chosenWords(data), data.Note, err
	case ledger.Told:
		data, err := eventData[ledger.ToldData](event)
		return toldWords(d, data) + sureWords(data.Confirmed), data.Note, err
	case ledger.Corrected:
		data, err := eventData[ledger.CorrectedData](event)
		return correctedWords(d, data) + sureWords(data.Confirmed), data.Reason, err
	case ledger.Confirmed:
		data, err := eventData[ledger.ConfirmedData](event)
		return fmt.Sprintf("said that what was doubted of trial %d is right", data.Number), "", err
	case ledger.Fitted:
		return "was fitted to the readings", "", nil
	}
	data, err := eventData[ledger.ClosedData](event)
	verbs := map[ledger.Kind]string{ledger.Failed: "said that trial %d failed because of its settings", ledger.Abandoned: "gave up trial %d", ledger.Excluded: "excluded trial %d", ledger.Included: "included trial %d again"}
	if data.Cause == ledger.ByChance {
		verbs[ledger.Failed] = "said that trial %d failed by chance"
	}
	return fmt.Sprintf(verbs[event.Kind], data.Number), data.Reason, err
}

func sureWords(confirmed bool) string {
	return words.Either(confirmed, ", and said that it is right as it is", "")
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
		parts = append(parts, fmt.Sprintf("%s from %s to %s", name, plainJSON(change.Before), words.With(plainJSON(change.After), unit)))
	}
	return strings.Join(parts, ", ")
}

// listedPath is the place of something in a list of a definition: the list, the item's name and
// what of it.
var listedPath = regexp.MustCompile(`^(constraints|parameters)\[(.*)\]\.(\w+)$`)

// partNames say what of a listed thing was changed, as people name it.
var partNames = map[string]string{"threshold": "limit of", "low": "lowest", "high": "highest", "unit": "unit of", "step": "step of", "scale": "scale of", "choices": "choices of"}

// changeName is what was changed as people name it, with the unit of its values.
func changeName(d design.Definition, path string) (name, unit string) {
	found := listedPath.FindStringSubmatch(path)
	if found == nil {
		return strings.ReplaceAll(strings.ReplaceAll(path, ".", " "), "_", " "), ""
	}
	part := cmp.Or(partNames[found[3]], found[3]+" of")
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

func toldWords(d design.Definition, data ledger.ToldData) string {
	var parts []string
	for _, metric := range inOrder(d, data.Metrics) {
		parts = append(parts, metric+" "+words.Quantity(data.Metrics[metric].Value, UnitOf(d, metric)))
	}
	text := fmt.Sprintf("saved %s of trial %d", strings.Join(parts, ", "), data.Number)
	if len(parts) == 0 {
		text = fmt.Sprintf("added to trial %d", data.Number)
	}
	if data.Parameters != nil {
		text += " with the settings really used: " + settingsLine(d, data.Parameters)
	}
	return text
}

func correctedWords(d design.Definition, data ledger.CorrectedData) string {
	var parts []string
	for _, metric := range inOrder(d, data.Metrics) {
		value := data.Metrics[metric]
		switch {
		case value.After == nil && value.Before != nil:
			parts = append(parts, fmt.Sprintf("took back %s of trial %d (it was %s)", metric, data.Number, words.Number(value.Before.Value)))
		case value.Before != nil:
			parts = append(parts, fmt.Sprintf("corrected %s of trial %d from %s to %s", metric, data.Number, words.Number(value.Before.Value), words.Number(value.After.Value)))
		}
	}
	if data.Parameters != nil {
		parts = append(parts, fmt.Sprintf("corrected the settings of trial %d to %s", data.Number, settingsLine(d, data.Parameters.After)))
	}
	return strings.Join(parts, " and ")
}
