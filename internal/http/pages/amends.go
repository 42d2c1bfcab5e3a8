package pages

import (
	"context"
	"slices"

	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// mostAmends is how many corrected or excluded trials the table shows, the newest.
const mostAmends = 100

// amends are what was changed afterwards, side by side with what was there first: corrections, and trials taken out or in again.
func (s *Site) amends(ctx context.Context, v visit) (templates.Amends, error) {
	var amends templates.Amends
	var numbers []int
	for _, t := range v.snap.Trials {
		if t.Excluded || t.SettingsChanged || corrected(t) {
			numbers = append(numbers, t.Number)
		}
	}
	amends.Before = max(0, len(numbers)-mostAmends)
	for _, number := range slices.Backward(numbers[amends.Before:]) {
		events, _, err := s.Studies.EventsOf(ctx, v.snap, number, ledgerLines)
		if err != nil {
			return amends, err
		}
		for _, event := range slices.Backward(events) {
			lines, err := v.amendsOf(event)
			if err != nil {
				return amends, err
			}
			amends.Lines = append(amends.Lines, lines...)
		}
	}
	return amends, nil
}

func corrected(t *ledger.Trial) bool {
	for _, m := range t.Metrics {
		if m.Corrected {
			return true
		}
	}
	return false
}

// amendsOf are the lines that one event makes in the table.
func (v visit) amendsOf(event ledger.Event) ([]templates.Amend, error) {
	line := templates.Amend{At: stamp(event.At, v.now), By: event.By}
	line.At.Ago = clock(event.At, v.now)
	switch event.Kind {
	case ledger.Corrected:
		data, err := eventData[ledger.CorrectedData](event)
		if err != nil {
			return nil, err
		}
		line.Number, line.URL, line.Reason = data.Number, trialURL(v.snap.ID, data.Number), data.Reason
		return v.correctionLines(data, line), nil
	case ledger.Excluded, ledger.Included:
		data, err := eventData[ledger.ClosedData](event)
		line.Number, line.URL, line.Reason = data.Number, trialURL(v.snap.ID, data.Number), data.Reason
		line.What, line.Before, line.After = "the trial", "counted", "taken out"
		if event.Kind == ledger.Included {
			line.Before, line.After = line.After, line.Before
		}
		return []templates.Amend{line}, err
	}
	return nil, nil
}

func (v visit) correctionLines(data ledger.CorrectedData, line templates.Amend) []templates.Amend {
	var lines []templates.Amend
	for _, metric := range inOrder(v.snap.Definition, data.Metrics) {
		value, one := data.Metrics[metric], line
		one.What = metric
		one.Before, one.After = v.readingWords(metric, value.Before), v.readingWords(metric, value.After)
		lines = append(lines, one)
	}
	if data.Parameters != nil {
		line.What = "settings"
		line.Before, line.After = settingsLine(v.snap.Definition, data.Parameters.Before), settingsLine(v.snap.Definition, data.Parameters.After)
		lines = append(lines, line)
	}
	return lines
}

func (v visit) readingWords(metric string, reading *ledger.Reading) string {
	if reading == nil {
		return "no value"
	}
	return quantity(reading.Value, unitOf(v.snap.Definition, metric))
}
