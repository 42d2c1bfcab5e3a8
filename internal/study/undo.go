package study

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"headroom/internal/study/ledger"
)

// Undoing asks to take back all that was written in one request, of which Event is one event.
type Undoing struct {
	Event  int64  `json:"event"`
	Reason string `json:"reason"`
}

// UndoMany takes back what was written in one request, such as a table, all of it that still stands.
// It is an event for each thing that becomes another, and can itself be taken back like this.
func (s *Service) UndoMany(ctx context.Context, cmd Command, id string, undoing Undoing) (*ledger.Snapshot, []int, error) {
	base, rule, err := s.undoing(ctx, cmd, id, undoing)
	if err != nil {
		return nil, nil, err
	}
	return s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) {
		ruled, _, err := rule(now)
		return ruled, err
	})
}

// PreviewUndoing returns what UndoMany would change, and stores nothing.
func (s *Service) PreviewUndoing(ctx context.Context, cmd Command, id string, undoing Undoing) (Impact, error) {
	_, rule, err := s.undoing(ctx, cmd, id, undoing)
	if err != nil {
		return Impact{}, err
	}
	var undone Undone
	before, after, impact, err := s.preview(ctx, cmd, id, func(now *ledger.Snapshot) (ruled ruling, err error) {
		ruled, undone, err = rule(now)
		return ruled, err
	})
	if err != nil {
		return Impact{}, err
	}
	impact.Undone = &undone
	for _, r := range after.Revisions[len(before.Revisions):] { // each is later than every decision, so those of one contain those of another
		if r.Kind == ledger.Corrected {
			impact.DecisionsAfter = max(impact.DecisionsAfter, after.DecisionsFrom(r))
		}
	}
	return impact, nil
}

// undoing returns some version of the study, and the rule for what is to be taken back.
func (s *Service) undoing(ctx context.Context, cmd Command, id string, u Undoing) (*ledger.Snapshot, func(now *ledger.Snapshot) (ruling, Undone, error), error) {
	base, err := s.latest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	faults := checkReason(u.Reason)
	if u.Event < 2 || u.Event > base.Version {
		faults.Add("event", u.Event, "must be the number of an event after the first; the study has %d", base.Version)
	}
	if err := faults.Err(); err != nil {
		return nil, nil, err
	}
	first, last, numbers := base.Together(u.Event)
	before, err := s.Snapshot(ctx, id, first-1)
	return base, func(now *ledger.Snapshot) (ruling, Undone, error) {
		return ruleUndoing(now, before, numbers, first, last, cmd.By, u.Reason)
	}, err
}

func ruleUndoing(now, before *ledger.Snapshot, numbers []int, first, last int64, by, reason string) (all ruling, undone Undone, err error) {
	if err := mayTell(now); err != nil {
		return ruling{}, Undone{}, err
	}
	undone = Undone{[]int{}, []int{}, []int{}, []int{}}
	for _, number := range numbers {
		ruled, err := ruleBack(now, before, number, first, last, by, reason)
		if err != nil {
			return ruling{}, Undone{}, conflict("Trial %d cannot be as it was before: %s", number, err)
		}
		n, was := len(ruled.drafts), before.Trial(number)
		switch ended := now.EndedBy(number); {
		case ended >= first && ended <= last && !slices.ContainsFunc(ruled.drafts, func(d ledger.Draft) bool { return d.Kind != ledger.Corrected }):
			undone.Ended = append(undone.Ended, number)
		case n > 0 && ruled.drafts[n-1].Kind == ledger.Abandoned && (was == nil || was.Status != ledger.StatusAbandoned):
			undone.NotRun = append(undone.NotRun, number)
		case n > 0:
			undone.Back = append(undone.Back, number)
		}
		if seqs := now.EventsOf(number); seqs[len(seqs)-1] > last {
			undone.Since = append(undone.Since, number)
		}
		all.drafts = append(all.drafts, ruled.drafts...)
		if n > 0 {
			all.numbers = append(all.numbers, number)
		}
	}
	switch {
	case len(all.drafts) > 0:
		return all, undone, nil
	case len(undone.Ended) > 0:
		return all, undone, conflict("All that still stands of event %d and those written with it is that trials were not run, and only their results take that back: save them.", first)
	}
	return all, undone, conflict("There is nothing to take back: nothing that was saved of trials with event %d still stands.", first)
}

// UndoTime is for how long a person can undo their telling with one press. Later, a correction with
// a reason is needed.
const UndoTime = time.Minute

const undoReason = "undone right after saving"

// Undo takes back the caller's own last telling of a trial, by an event like a correction's: the
// readings are removed as if never told, and the previous settings and ending without results are
// restored. A note stays.
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
		return ruleUndo(now, number, last, cmd.Author, s.now())
	})
	return after, err
}

// telling is a Told event that is the last event about its trial, and the study before it.
type telling struct {
	event  ledger.Event
	before *ledger.Snapshot
}

func (s *Service) lastTelling(ctx context.Context, snap *ledger.Snapshot, number int) (*telling, error) {
	if _, err := TrialOf(snap, number); err != nil {
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
	last.before, err = s.Snapshot(ctx, snap.ID, last.event.Seq-1)
	return last, err
}

// ruleUndo takes back last, which is nil if the last event about the trial was no telling.
func ruleUndo(snap *ledger.Snapshot, number int, last *telling, author string, now time.Time) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	seqs := snap.EventsOf(number)
	switch {
	case last == nil || seqs[len(seqs)-1] != last.event.Seq:
		return ruling{}, conflict("The last event of trial %d did not save results, so there is nothing to undo. Correct the trial instead.", number)
	case last.event.Author == "" || author == "":
		return ruling{}, conflict("The last results of trial %d came with the study from elsewhere, so nobody can undo them. Correct them instead.", number)
	case last.event.Author != author:
		return ruling{}, conflict("%s saved the last results of trial %d, and nobody else can undo that. Correct them instead.", last.event.By, number)
	case undoLeft(last.event.At, now) < 0:
		return ruling{}, conflict("The results of trial %d were saved more than a minute ago, or by a server whose clock was ahead. Correct them instead.", number)
	}
	ruled, err := ruleBack(snap, last.before, number, last.event.Seq, last.event.Seq, last.event.By, undoReason)
	if err == nil && len(ruled.drafts) == 0 {
		err = conflict("Trial %d got only a note last, and notes stay.", number)
	}
	return ruled, err
}

// quoted returns a reason as quoted by mouth, with the name of the person who gave it if that is
// another.
func quoted(by, mouth, reason string) string {
	if by == mouth {
		return reason
	}
	said := []rune(by + " said: " + reason)
	return string(said[:min(len(said), longestReason)])
}

// undoLeft returns for how long a telling can still be undone. A telling that lies in the future by
// more than UndoTime cannot be.
func undoLeft(told, now time.Time) time.Duration {
	return UndoTime - now.Sub(told).Abs()
}

// Undoable returns which metrics the author could take back now by undoing the last telling of a
// trial, and for how long.
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
		metrics, left = append(metrics, name), undoLeft(m.ToldAt, now)
	}
	if left <= 0 {
		return nil, 0
	}
	return metrics, left
}

// ruleBack makes a trial what it was before the events from first to last, as far as they changed it
// and nothing did since: its readings, its settings, and how it ended. If it began with them, it
// counts as not run, unless something was told of it since. by is who says so. A note stays.
func ruleBack(now, before *ledger.Snapshot, number int, first, last int64, by, reason string) (ruled ruling, err error) {
	trial, was, begun := now.Trial(number), before.Trial(number), false
	if was == nil {
		was, begun = &ledger.Trial{}, true
	}
	theirs := func(seq int64) bool { return first <= seq && seq <= last }
	back := Correction{Number: number, Metrics: map[string]*ledger.Reading{}, Parameters: trial.Parameters.Clone(), Reason: reason}
	var again []ledger.Telling
	var earlier []string // names of the values that are put back
	toldSince := false
	for _, name := range now.Definition.MetricNames() {
		is, there := trial.Metrics[name]
		m, had := was.Metrics[name]
		switch reading := (ledger.Reading{Value: m.Value, StdDev: m.StdDev}); {
		case is.Known || m.Known || is.Reads(reading) && there == had:
		case !theirs(now.Since(number, name)):
			toldSince = toldSince || !had
		case there && had:
			back.Metrics[name], earlier = &reading, append(earlier, name)
		case there:
			back.Metrics[name] = nil
		default:
			if earlier = append(earlier, name); len(again) == 0 || again[len(again)-1].ObservedAt != m.ObservedAt {
				again = append(again, ledger.Telling{Metrics: map[string]ledger.Reading{}, ObservedAt: m.ObservedAt, Note: reason})
			}
			again[len(again)-1].Metrics[name] = reading
		}
	}
	for name, value := range was.Parameters {
		if back.Parameters[name] != value && theirs(now.Since(number, name)) {
			back.Parameters[name], earlier = value, append(earlier, name)
		}
	}
	for _, name := range earlier {
		if then := now.InUnitsOf(before.Since(number, name)).Unit(name); then != now.Definition.Unit(name) {
			return ruling{}, conflict("the unit of %s has changed since, and numbers are not converted", name)
		}
	}
	add := func(part ruling, wrong error) {
		ruled.drafts, err = append(ruled.drafts, part.drafts...), cmp.Or(err, wrong)
	}
	if maps.Equal(back.Parameters, trial.Parameters) {
		back.Parameters = nil
	}
	if len(back.Metrics) > 0 || back.Parameters != nil {
		add(ruleCorrect(now, back))
	}
	ended := now.EndedBy(number)
	if ended > last { // what was said since
		again = nil
	}
	for _, telling := range again {
		add(ruleTell(now, number, telling))
	}
	if toldSince || ended > 0 && !theirs(ended) && len(again) == 0 {
		return ruled, err
	}
	ends := func(kind ledger.Kind, data ledger.ClosedData) { add(ruleOf(kind, number, data), nil) }
	open := ended == 0 || len(again) > 0
	if !begun {
		if kind, data, said := before.Ending(number); kind != "" {
			if open || ledger.Status(kind) != trial.Status || data.Cause != trial.Cause {
				data.Reason = quoted(said, by, data.Reason)
				ends(kind, data)
			}
			return ruled, err
		}
	}
	if begun && open || !open && trial.Status == ledger.StatusFailed {
		ends(ledger.Abandoned, ledger.ClosedData{Number: number, Reason: reason})
	}
	return ruled, err
}
