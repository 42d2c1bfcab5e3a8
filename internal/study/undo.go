package study

import (
	"context"
	"maps"
	"time"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// UndoTime is for how long whoever told a result may take it back with one press. Later, a
// correction says why.
const UndoTime = time.Minute

const undoReason = "undone right after saving"

// Undo takes back the caller's own last telling of a trial, by an event like a correction's: the
// readings are gone as if never told, and the settings are again those before. A note stays.
func (s *Service) Undo(ctx context.Context, cmd Command, id string, number int) (*ledger.Snapshot, error) {
	base, err := s.latest(ctx, id)
	if err != nil {
		return nil, err
	}
	last, err := s.lastTelling(ctx, base, number)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) {
		return ruleUndo(now, number, last, cmd.Author, s.options.Now())
	})
	return after, err
}

// telling is the last event about a trial, if it is one of results.
type telling struct {
	event  ledger.Event
	data   ledger.ToldData
	before design.Settings // that the trial had before it
}

func (s *Service) lastTelling(ctx context.Context, snap *ledger.Snapshot, number int) (*telling, error) {
	if _, err := trialOf(snap, number); err != nil {
		return nil, err
	}
	events, _, err := s.EventsOf(ctx, snap, number, 1)
	if err != nil {
		return nil, err
	}
	last := &telling{event: events[0]}
	if last.event.Kind != ledger.Told {
		return nil, nil
	}
	if err := last.event.Decode(&last.data); err != nil {
		return nil, err
	}
	if last.data.Parameters != nil {
		before, err := s.Snapshot(ctx, snap.ID, last.event.Seq-1)
		if err != nil {
			return nil, err
		}
		last.before = before.Trial(number).Parameters
	}
	return last, nil
}

// ruleUndo takes back the telling, nil when the last event about the trial was none.
func ruleUndo(snap *ledger.Snapshot, number int, last *telling, author string, now time.Time) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	seqs := snap.EventsOf(number)
	switch {
	case last == nil || seqs[len(seqs)-1] != last.event.Seq:
		return ruling{}, conflict("What happened last to trial %d was not a saving of results, so there is nothing to undo. Correct it instead.", number)
	case last.event.Author != author || author == "":
		return ruling{}, conflict("%s saved the last results of trial %d; whoever saved them can undo that. Correct them instead.", last.event.By, number)
	case now.Sub(last.event.At) > UndoTime:
		return ruling{}, conflict("The results of trial %d were saved more than a minute ago. Correct them instead.", number)
	}
	back := Correction{Number: number, Metrics: map[string]*ledger.Reading{}, Reason: undoReason}
	for name := range last.data.Metrics {
		back.Metrics[name] = nil
	}
	if before := last.before; before != nil && !maps.Equal(before, snap.Trial(number).Parameters) {
		back.Parameters = before
	}
	if len(back.Metrics) == 0 && back.Parameters == nil {
		return ruling{}, conflict("Only a note was saved last with trial %d; notes stay.", number)
	}
	return ruleCorrect(snap, back)
}

// Undoable tells whether an author could undo the last telling of a trial now, and for how long.
func Undoable(snap *ledger.Snapshot, t *ledger.Trial, author string, now time.Time) (metrics []string, left time.Duration) {
	if snap.State == ledger.Archived {
		return nil, 0
	}
	seqs := snap.EventsOf(t.Number)
	for _, name := range snap.Definition.MetricNames() {
		m, told := t.Metrics[name]
		if !told || m.Known || m.Corrected || m.Author != author || author == "" || m.ToldSeq != seqs[len(seqs)-1] {
			continue
		}
		metrics, left = append(metrics, name), UndoTime-now.Sub(m.ToldAt)
	}
	if left <= 0 {
		return nil, 0
	}
	return metrics, left
}
