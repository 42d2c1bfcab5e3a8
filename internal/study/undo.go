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
		return written{now, before, first, last, cmd.By, u.Reason}.ruleAll(numbers)
	}, err
}

// written is what the events from first to last wrote, and before is the study before them. It is
// taken back by somebody for a reason.
type written struct {
	now, before *ledger.Snapshot
	first, last int64
	by, reason  string
}

func (w written) wrote(seq int64) bool { return w.first <= seq && seq <= w.last }

// ruleAll takes it back of all these trials.
func (w written) ruleAll(numbers []int) (all ruling, undone Undone, err error) {
	if err := mayTell(w.now); err != nil {
		return ruling{}, Undone{}, err
	}
	undone = Undone{[]int{}, []int{}, []int{}, []int{}}
	for _, number := range numbers {
		ruled, err := w.rule(number)
		if err != nil {
			return ruling{}, Undone{}, conflict("Trial %d cannot be as it was before: %s", number, err)
		}
		if len(ruled.drafts) > 0 {
			all.drafts, all.numbers = append(all.drafts, ruled.drafts...), append(all.numbers, number)
		}
		if becomes := w.becomes(number, ruled, &undone); becomes != nil {
			*becomes = append(*becomes, number)
		}
		if seqs := w.now.EventsOf(number); seqs[len(seqs)-1] > w.last {
			undone.Since = append(undone.Since, number)
		}
	}
	switch {
	case len(all.drafts) > 0:
		return all, undone, nil
	case len(undone.Ended) > 0:
		return all, undone, conflict("All that still stands of event %d and those written with it is that trials were not run, and only their results take that back: save them.", w.first)
	}
	return all, undone, conflict("There is nothing to take back: nothing that was saved of trials with event %d still stands.", w.first)
}

// becomes returns to which list of undone the ruling on a trial brings it, nil for none.
func (w written) becomes(number int, ruled ruling, undone *Undone) *[]int {
	n, was := len(ruled.drafts), w.before.Trial(number)
	ends := slices.ContainsFunc(ruled.drafts, func(d ledger.Draft) bool { return d.Kind != ledger.Corrected })
	switch {
	case w.wrote(w.now.EndedBy(number)) && !ends:
		return &undone.Ended
	case n == 0:
		return nil
	case ruled.drafts[n-1].Kind == ledger.Abandoned && (was == nil || was.Status != ledger.StatusAbandoned):
		return &undone.NotRun
	}
	return &undone.Back
}

// rule makes a trial what it was before, as far as those events changed it and nothing did since: its
// readings, its settings, and how it ended. If it began with them, it counts as not run, unless
// something was told of it since. A note stays.
func (w written) rule(number int) (ruled ruling, err error) {
	back, again, toldSince, err := w.values(number)
	if err != nil {
		return ruling{}, err
	}
	ruled.numbers = []int{number}
	add := func(part ruling, wrong error) {
		ruled.drafts, err = append(ruled.drafts, part.drafts...), cmp.Or(err, wrong)
	}
	if len(back.Metrics) > 0 || back.Parameters != nil {
		add(ruleCorrect(w.now, back))
	}
	ended := w.now.EndedBy(number)
	if ended > w.last { // what was said since
		return ruled, err
	}
	for _, telling := range again {
		add(ruleTell(w.now, number, telling))
	}
	open := ended == 0 || len(again) > 0
	if !toldSince && (open || w.wrote(ended)) {
		add(w.ending(number, open), nil)
	}
	return ruled, err
}

// values returns what is corrected of a trial and what is told again, and whether anything was told
// of it since that it had no value of before.
func (w written) values(number int) (back Correction, again []ledger.Telling, toldSince bool, err error) {
	trial, was := w.now.Trial(number), w.before.Trial(number)
	if was == nil {
		was = &ledger.Trial{}
	}
	wrote := func(name string) bool { return w.wrote(w.now.Since(number, name)) }
	back = Correction{Number: number, Metrics: map[string]*ledger.Reading{}, Parameters: trial.Parameters.Clone(), Reason: w.reason}
	var earlier []string // names of the values that are put back
	for _, name := range w.now.Definition.MetricNames() {
		is, there := trial.Metrics[name]
		m, had := was.Metrics[name]
		switch reading := (ledger.Reading{Value: m.Value, StdDev: m.StdDev}); {
		case is.Known || m.Known || is.Reads(reading) && there == had:
		case !wrote(name):
			toldSince = toldSince || !had
		case there && had:
			back.Metrics[name], earlier = &reading, append(earlier, name)
		case there:
			back.Metrics[name] = nil
		default:
			if earlier = append(earlier, name); len(again) == 0 || again[len(again)-1].ObservedAt != m.ObservedAt {
				again = append(again, ledger.Telling{Metrics: map[string]ledger.Reading{}, ObservedAt: m.ObservedAt, Note: w.reason})
			}
			again[len(again)-1].Metrics[name] = reading
		}
	}
	for name, value := range was.Parameters {
		if back.Parameters[name] != value && wrote(name) {
			back.Parameters[name], earlier = value, append(earlier, name)
		}
	}
	if maps.Equal(back.Parameters, trial.Parameters) {
		back.Parameters = nil
	}
	for _, name := range earlier {
		if then := w.now.InUnitsOf(w.before.Since(number, name)).Unit(name); then != w.now.Definition.Unit(name) {
			return back, nil, false, conflict("the unit of %s has changed since, and numbers are not converted", name)
		}
	}
	return back, again, toldSince, nil
}

// ending returns the event by which a trial ends as it had ended before. A trial that began with
// those events, or failed by them, was not run. open tells whether it is open otherwise.
func (w written) ending(number int, open bool) ruling {
	trial, begun := w.now.Trial(number), w.before.Trial(number) == nil
	if !begun {
		if kind, data, said := w.before.Ending(number); kind != "" {
			if !open && ledger.Status(kind) == trial.Status && data.Cause == trial.Cause {
				return ruling{}
			}
			data.Reason = quoted(said, w.by, data.Reason)
			return ruleOf(kind, number, data)
		}
	}
	if begun && open || !open && trial.Status == ledger.StatusFailed {
		return ruleOf(ledger.Abandoned, number, ledger.ClosedData{Number: number, Reason: w.reason})
	}
	return ruling{}
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
	seqs := snap.EventsOf(number)
	events, err := s.EventsAt(ctx, snap.ID, seqs[len(seqs)-1:])
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
	ruled, err := written{snap, last.before, last.event.Seq, last.event.Seq, last.event.By, undoReason}.rule(number)
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
