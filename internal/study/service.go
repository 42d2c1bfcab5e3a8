// Package study turns commands into ledger events and answers every read of a study. Package design
// defines a study, package ledger records what happened in it, package optimizer does the numerical
// work, and package db stores the events.
package study

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// Service carries out every write and every read of studies. Its methods are safe for concurrent
// use. Writes return *Invalid for faulty input, an error that wraps one of those in store.go, or
// *AlreadyDone.
type Service struct {
	*Models
	store   Store
	now     func() time.Time
	largest int64            // see LargestLedger
	imports scheduler.Queues // for imports of studies
	writing scheduler.Queues
	asks    derived.Together[*waitingAsk]
	unkept  sync.Map // *Verified by study id, outcomes that the database did not store
	// verifyMemory is apart from that of decisions, none of which may wait for a verification.
	verifyMemory modelMemory
}

// Progress is the state of a verification or of a simulated laboratory that runs in the background.
type Progress = derived.Progress

// Options configure a Service. The zero value is useful.
type Options struct {
	CacheBytes int64        // for snapshots and replayed states; by default 1 GiB, or half of the program's memory limit if that is less
	Replays    int          // concurrent replays; default GOMAXPROCS
	Log        *slog.Logger // for failures in the background; default slog.Default()
	// RowStore stores rows of models, so that a server that starts need not compute them; nil for
	// none.
	RowStore RowStore
}

// importsAtOnce is how many studies are imported at the same time. Each is folded in memory and
// holds a database connection until its file has arrived.
const importsAtOnce = 2

// LargestLedger limits the bytes of a ledger's events. A ledger of that size gets no new trials;
// one an eighth larger takes no event at all. Both can still be read and exported.
const LargestLedger = 256 << 20

// NewService returns a service that keeps its studies in store. Call Stop when done with it.
func NewService(store Store, options Options) *Service {
	options.CacheBytes = cmp.Or(options.CacheBytes, atMostHalf(1<<30))
	options.Replays = cmp.Or(options.Replays, runtime.GOMAXPROCS(0))
	options.Log = cmp.Or(options.Log, slog.Default())
	work := derived.New[*ledger.Snapshot](options.CacheBytes, options.Replays, stateOf, options.Log)
	return &Service{
		Models: &Models{Derived: work, log: options.Log, memory: newModelMemory(), rows: options.RowStore},
		store:  store, verifyMemory: newModelMemory(), now: time.Now, largest: LargestLedger, imports: scheduler.Queues{Places: importsAtOnce},
	}
}

// Stop cancels the work in the background and waits for it to end.
func (s *Service) Stop() { s.Derived.Jobs.Stop() }

// Snapshot returns the study as it was after event at, or the present one when at is 0. If there is
// no such event, the error is *Invalid at location "at".
func (s *Service) Snapshot(ctx context.Context, id string, at int64) (*ledger.Snapshot, error) {
	now, err := s.latest(ctx, id)
	if err != nil || at == 0 || at == now.Version {
		return now, err
	}
	if at > now.Version {
		return nil, design.NewInvalid("at", "the study has only "+design.Count(int(now.Version), "event", "events")+" so far", at)
	}
	base, found := s.Derived.UpTo(id, at)
	if found && base.Version == at {
		return base, nil
	}
	events, err := s.store.Events(ctx, id, base.End().Seq, int(at-base.End().Seq))
	if err != nil {
		return nil, err
	}
	past, err := fold(id, base, events, now)
	if err != nil {
		return nil, err
	}
	if past.Version != at {
		return nil, missingEvents(id, past.Version, at)
	}
	return s.Derived.Put(past), nil
}

// latest returns the present study. Callers that need the whole ledger read it once, together.
func (s *Service) latest(ctx context.Context, id string) (*ledger.Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	news, err := s.store.Events(ctx, id, base.Version, 0)
	if err != nil {
		return nil, err
	}
	return s.foldNews(id, base, news)
}

// Since returns the study at event seen or later. A caller that names an event has heard of it, so
// a cached version will do; otherwise all callers waiting at the time share one read. With seen 0
// the store is always asked.
func (s *Service) Since(ctx context.Context, id string, seen int64) (*ledger.Snapshot, error) {
	if seen <= 0 {
		return s.latest(ctx, id)
	}
	if snap, found := s.Derived.UpTo(id, 0); found && snap.Version >= seen {
		return snap, nil
	}
	snap, err := derived.Get(ctx, s.Derived, &ledger.Snapshot{ID: id}, latestOf, func(ctx context.Context) (*ledger.Snapshot, error) { return s.latest(ctx, id) })
	if err != nil || snap.Version >= seen {
		return snap, err
	}
	return s.latest(ctx, id) // the shared read began before the event
}

// load reads a whole ledger, once for all callers that wait for it.
func (s *Service) load(ctx context.Context, id string) (*ledger.Snapshot, error) {
	return derived.Get(ctx, s.Derived, &ledger.Snapshot{ID: id}, ledgerOf, func(ctx context.Context) (*ledger.Snapshot, error) {
		events, err := s.store.Events(ctx, id, 0, 0)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return nil, NoStudy(id)
		}
		return s.foldNews(id, nil, events)
	})
}

// foldNews folds events into base, which is nil before the first event, and caches the result.
func (s *Service) foldNews(id string, base *ledger.Snapshot, news []ledger.Event) (*ledger.Snapshot, error) {
	snap, err := fold(id, base, news, nil)
	if err != nil {
		return nil, err
	}
	return s.Derived.Put(snap), nil
}

// fold is ledger.Fold for events that are stored. These were valid when they were written, so one
// that cannot be read was written by a newer program (while servers are upgraded one by one) or, if
// the hashes do not match, damaged since.
func fold(id string, base *ledger.Snapshot, stored []ledger.Event, like *ledger.Snapshot) (*ledger.Snapshot, error) {
	snap, err := ledger.Fold(id, base, stored, like)
	if err == nil {
		return snap, nil
	}
	if why := ledger.CheckContinues(base.End(), stored); why != nil {
		return nil, &Damaged{id, why}
	}
	return nil, fmt.Errorf("study %s: %w (%w)", id, &Later{"The study's ledger has an event of a newer program, which this server cannot read until it is updated. The log names the event."}, err)
}

// missingEvents is the error for a ledger whose last events are missing.
func missingEvents(id string, last, wanted int64) error {
	return &Damaged{id, fmt.Errorf("the ledger ends at event %d instead of %d", last, wanted)}
}

// recent returns any version of the study, a cached one if there is one. Writes bring it up to
// date.
func (s *Service) recent(ctx context.Context, id string) (*ledger.Snapshot, error) {
	if snap, found := s.Derived.UpTo(id, 0); found {
		return snap, nil
	}
	return s.load(ctx, id)
}

// Summaries returns one page of studies and the mark at which the next page starts, nil at the end.
func (s *Service) Summaries(ctx context.Context, list Listing) (page []ledger.Summary, next *Mark, err error) {
	limit := list.Limit
	if limit > 0 {
		list.Limit++ // one more tells whether there is a next page
	}
	page, err = s.store.Summaries(ctx, list)
	if err != nil || limit == 0 || len(page) <= limit {
		return page, nil, err
	}
	last := page[limit-1]
	return page[:limit], &Mark{last.UpdatedAt, last.ID}, nil
}

// Events returns at most limit events after event number after; limit 0 means all.
func (s *Service) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	return s.store.Events(ctx, id, after, limit)
}

// EventsAt returns the events of the given numbers, which must rise.
func (s *Service) EventsAt(ctx context.Context, id string, seqs []int64) (events []ledger.Event, err error) {
	const atOnce = 500
	for len(seqs) > 0 {
		run := 1 // length of a run of consecutive events
		for run < min(len(seqs), atOnce) && seqs[run] == seqs[0]+int64(run) {
			run++
		}
		read, err := s.store.Events(ctx, id, seqs[0]-1, run)
		if err != nil {
			return nil, err
		}
		events, seqs = append(events, read...), seqs[run:]
	}
	return events, nil
}

// EventsWithin returns at most limit events, fewer (but at least one) if they are large. Many
// callers may ask at once, so it reads in growing batches and stops at 2 MiB.
func (s *Service) EventsWithin(ctx context.Context, id string, after int64, limit int) (events []ledger.Event, err error) {
	const enough = 2 << 20
	for part, bytes := 8, 0; len(events) < limit && bytes < enough; part *= 2 {
		most := min(part, limit-len(events))
		read, err := s.store.Events(ctx, id, after+int64(len(events)), most)
		if events = append(events, read...); err != nil || len(read) < most {
			return events, err
		}
		for _, e := range read {
			bytes += len(e.Data)
		}
	}
	return events, nil
}

// eventsUpTo returns the next events after number after, none later than the snapshot and at most
// 500.
func (s *Service) eventsUpTo(ctx context.Context, snap *ledger.Snapshot, after int64) ([]ledger.Event, error) {
	const most = 500
	events, err := s.EventsWithin(ctx, snap.ID, after, int(min(most, snap.Version-after)))
	if err == nil && len(events) == 0 {
		err = missingEvents(snap.ID, after, snap.Version)
	}
	return events, err
}

// begin starts work in the background as the study's task.
func (s *Service) begin(task derived.Task, id string, wanted int64, work func(ctx context.Context) error) error {
	err := s.Derived.Begin(task, id, wanted, work)
	if errors.Is(err, supervisor.ErrStopping) {
		return &Later{"The server is stopping."}
	}
	return err
}

// write applies decide to the present study, of which base is any version, and appends the ruling.
// Writers of one study take turns, so that each starts from what the previous one wrote.
func (s *Service) write(ctx context.Context, cmd Command, base *ledger.Snapshot, decide func(now *ledger.Snapshot) (ruling, error)) (*ledger.Snapshot, []int, error) {
	leave, err := s.writing.Enter(ctx, base.ID)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if newer, found := s.Derived.UpTo(base.ID, 0); found && newer.Version > base.Version {
		base = newer
	}
	var after *ledger.Snapshot
	var numbers []int
	err = s.store.Write(ctx, base.ID, cmd, Known{base.Version, base.Hash}, func(news []ledger.Event) (Append, error) {
		now, err := fold(base.ID, base, news, nil)
		if err != nil {
			return Append{}, err
		}
		ruled, err := decide(now)
		if err != nil {
			return Append{}, err
		}
		appended, err := s.append(cmd, base.ID, now, ruled)
		after, numbers = appended.After, ruled.numbers
		return appended, err
	})
	if err != nil {
		return nil, nil, err
	}
	return s.Derived.Put(after), numbers, nil
}

// change applies rule to the present study and writes the ruling. A command that is valid in no
// version of the study, as possible tells from any of them, may be as large as a request; it is
// refused before the study is locked. A nil possible accepts every command.
func (s *Service) change(ctx context.Context, cmd Command, id string, possible func(base *ledger.Snapshot) bool, rule func(now *ledger.Snapshot) (ruling, error)) (*ledger.Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	if possible != nil && !possible(base) {
		_, err := rule(base)
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, rule)
	return after, err
}

// append turns a ruling on the study (nil before its first event) into what the store writes.
func (s *Service) append(cmd Command, id string, now *ledger.Snapshot, ruled ruling) (Append, error) {
	events, err := ledger.Next(now, s.now(), cmd.By, ruled.drafts...)
	if err != nil {
		return Append{}, err
	}
	for i := range events {
		events[i].Author = cmd.Author
	}
	after, err := ledger.Fold(id, now, events, nil)
	if err != nil {
		return Append{}, fmt.Errorf("study %s: %w", id, err)
	}
	if err := s.checkSize(after, ruled.drafts); err != nil {
		return Append{}, err
	}
	return appendTo(after, events, ruled.numbers), nil
}

// checkSize refuses events that make the ledger too large. Results of waiting trials still fit into
// a ledger that gets no new trials.
func (s *Service) checkSize(after *ledger.Snapshot, drafts []ledger.Draft) error {
	most := s.largest
	if !slices.ContainsFunc(drafts, func(d ledger.Draft) bool { return d.Kind == ledger.Chosen }) {
		most += most / 8
	}
	if after.Bytes <= most || len(drafts) == 0 {
		return nil
	}
	return conflict("The study's ledger would have %d bytes, and new trials are possible up to %d. It can be read and exported; go on in a copy of the study.", after.Bytes, s.largest)
}

// appendTo returns what the store writes for events that lead to the study after them.
func appendTo(after *ledger.Snapshot, events []ledger.Event, numbers []int) Append {
	return Append{Events: events, After: after, Done: &Done{Study: after.ID, Version: after.Version, Trials: numbers}}
}

// choose makes decisions of a study one at a time: prepare works on the present study while no
// other decision is being made, then its ruling is written. A refusal by prepare still reaches the
// store, which knows whether the same request was carried out before.
func (s *Service) choose(ctx context.Context, cmd Command, id string, prepare func(ctx context.Context, snap *ledger.Snapshot) (ruling, error)) (after *ledger.Snapshot, numbers []int, err error) {
	ctx = scheduler.With(ctx, scheduler.Choosing)
	err = s.store.Choosing(ctx, id, func(ctx context.Context) error {
		snap, err := s.latest(ctx, id)
		if err != nil {
			return err
		}
		prepared, refused := prepare(ctx, snap)
		if refused != nil && ctx.Err() != nil {
			return refused
		}
		after, numbers, err = s.writeChoice(ctx, cmd, snap, 0, prepared, refused)
		return err
	})
	return after, numbers, err
}

// writeChoice writes a ruling that was prepared for snap, after the holder of the choosing lock has
// added further trials to it.
func (s *Service) writeChoice(ctx context.Context, cmd Command, snap *ledger.Snapshot, further int, prepared ruling, refused error) (*ledger.Snapshot, []int, error) {
	return s.write(ctx, cmd, snap, func(now *ledger.Snapshot) (ruling, error) {
		if refused != nil {
			return ruling{}, refused
		}
		if len(now.Trials) != len(snap.Trials)+further {
			return ruling{}, &Later{"Another server chose a trial of this study meanwhile."}
		}
		if !now.SameDefinition(snap) { // only a holder of the choosing lock changes it
			return ruling{}, &Later{"The study was reconfigured on another server meanwhile."}
		}
		return prepared, mayChoose(now)
	})
}

func mayChoose(snap *ledger.Snapshot) error {
	if snap.State == ledger.Open {
		return nil
	}
	return conflict("The study is %s; new trials are possible only while it is open. Set its state to open first.", snap.State)
}

// newID returns an unguessable study id that is safe in a URL.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

func ruleOf(kind ledger.Kind, number int, data any) ruling {
	return ruling{drafts: []ledger.Draft{{Kind: kind, Data: data}}, numbers: []int{number}}
}

// ruling is what a rule makes of a command: the events to append, and the numbers of the trials
// concerned in the order in which to answer them.
type ruling struct {
	drafts  []ledger.Draft
	numbers []int
}

func candidateOf(place optimizer.Place) *int {
	if place.Arm < 0 {
		return nil
	}
	return new(place.Arm)
}
