package pages

import (
	"context"
	"slices"

	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// mostAmends is how many corrections and exclusions the table shows, the newest.
const mostAmends = 100

// amends are what was changed afterwards, newest first, side by side with what was there: corrections, and trials taken out or in again.
func (s *Site) amends(ctx context.Context, v visit) (templates.Amends, error) {
	var amends templates.Amends
	for _, turn := range slices.Backward(v.snap.Turns) {
		if turn.Kind != ledger.Corrected && turn.Kind != ledger.Excluded && turn.Kind != ledger.Included {
			continue
		}
		if len(amends.Lines) >= mostAmends {
			amends.Before++
			continue
		}
		events, err := s.Studies.Events(ctx, v.snap.ID, turn.Seq-1, 1)
		if err != nil {
			return amends, err
		}
		lines, err := v.amendsOf(events[0])
		if err != nil {
			return amends, err
		}
		amends.Lines = append(amends.Lines, lines...)
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
