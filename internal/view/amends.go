package view

import (
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// MostAmends is how many corrections and exclusions a board has, the newest.
const MostAmends = 100

// amends are what was changed afterwards, newest first, side by side with what was there: corrections, and trials taken out or in again.
func (v Facts) amends() (templates.Amends, error) {
	amends := templates.Amends{Before: v.Board.Unseen}
	for _, event := range v.Board.Amended {
		lines, err := v.teller().amendsOf(event)
		if err != nil {
			return amends, err
		}
		amends.Lines = append(amends.Lines, lines...)
	}
	return amends, nil
}

// Amends tells whether a turn of a study takes back or changes what was there.
func Amends(turn ledger.Turn) bool {
	return turn.Kind == ledger.Corrected || turn.Kind == ledger.Excluded || turn.Kind == ledger.Included
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
func (v teller) amendsOf(event ledger.Event) ([]templates.Amend, error) {
	line := templates.Amend{At: clocked(event.At, v.now), By: event.By}
	switch event.Kind {
	case ledger.Corrected:
		data, err := eventData[ledger.CorrectedData](event)
		if err != nil {
			return nil, err
		}
		line.Number, line.URL, line.Reason = data.Number, TrialURL(v.id, data.Number), data.Reason
		return v.correctionLines(data, line), nil
	case ledger.Excluded, ledger.Included:
		data, err := eventData[ledger.ClosedData](event)
		line.Number, line.URL, line.Reason = data.Number, TrialURL(v.id, data.Number), data.Reason
		line.What, line.Before, line.After = "the trial", "counted", "taken out"
		if event.Kind == ledger.Included {
			line.Before, line.After = line.After, line.Before
		}
		return []templates.Amend{line}, err
	}
	return nil, nil
}

func (v teller) correctionLines(data ledger.CorrectedData, line templates.Amend) []templates.Amend {
	var lines []templates.Amend
	for _, metric := range inOrder(v.d, data.Metrics) {
		value, one := data.Metrics[metric], line
		one.What = metric
		one.Before, one.After = v.readingWords(metric, value.Before), v.readingWords(metric, value.After)
		lines = append(lines, one)
	}
	if data.Parameters != nil {
		line.What = "settings"
		line.Before, line.After = settingsLine(v.d, data.Parameters.Before), settingsLine(v.d, data.Parameters.After)
		lines = append(lines, line)
	}
	return lines
}

func (v teller) readingWords(metric string, reading *ledger.Reading) string {
	if reading == nil {
		return "no value"
	}
	return words.Quantity(reading.Value, UnitOf(v.d, metric))
}
