// Package study is the service: the rules by which a command becomes events, and what can be read
// of a study. Package design says what a study is, package ledger what happened in it, package
// optimizer computes, package db keeps what is decided here.
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

	"golang.org/x/sync/semaphore"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// Service is what the program does with studies: every write goes through it, every page and answer
// reads from it. All methods are safe for concurrent use. Writes return *Invalid for faulty input,
// what wraps one of the errors below, and *AlreadyDone.
type Service struct {
	*Models
	store   Store
	now     func() time.Time
	largest int64            // see LargestLedger
	imports scheduler.Queues // of all studies that are being imported
	writing scheduler.Queues
	asks    derived.Together[*asking]
	unkept  sync.Map // *Verified by study, of what the database did not keep
}

// Progress is how a verification or a simulated laboratory stands that goes on behind requests.
type Progress = derived.Progress

// Options of a Service; the zero value is useful.
type Options struct {
	CacheBytes int64        // for snapshots and replayed states; by default 1 GiB, and at most half of a limit given to the program's memory
	Replays    int          // concurrent replays; default GOMAXPROCS
	Log        *slog.Logger // for what goes wrong in the background; default slog.Default()
	// Shelf keeps rows of models, so that a server that starts need not work them out; nil for none.
	Shelf Shelf
}

// importsAtOnce is how many studies are imported at once: each is folded in memory, and holds a
// connection as long as its file takes to come.
const importsAtOnce = 2

// LargestLedger bounds a ledger, in bytes of its events: one that large gets no new trials, and one
// that is an eighth larger nothing at all. It can be read and exported as any other.
const LargestLedger = 256 << 20

// NewService returns a service on store. Call Stop when done with it.
func NewService(store Store, options Options) *Service {
	options.CacheBytes = cmp.Or(options.CacheBytes, atMostHalf(1<<30))
	options.Replays = cmp.Or(options.Replays, runtime.GOMAXPROCS(0))
	options.Log = cmp.Or(options.Log, slog.Default())
	work := derived.New[*ledger.Snapshot](options.CacheBytes, options.Replays, stateOf, options.Log)
	bytes := atMostHalf(optimizer.MostRoom)
	return &Service{
		Models: &Models{Derived: work, log: options.Log, room: room{bytes, semaphore.NewWeighted(bytes)}, shelf: options.Shelf},
		store:  store, now: time.Now, largest: LargestLedger, imports: scheduler.Queues{Places: importsAtOnce},
	}
}

// Stop ends the work in the background and waits for it.
func (s *Service) Stop() { s.Derived.Jobs.Stop() }

// Snapshot returns the study after event at, or now when at is 0. at > version is *Invalid at
// location "at".
func (s *Service) Snapshot(ctx context.Context, id string, at int64) (*ledger.Snapshot, error) {
	if at < 0 {
		return nil, design.NewInvalid("at", "an event's number, 1 or more", at)
	}
	now, err := s.latest(ctx, id)
	if err != nil || at == 0 || at == now.Version {
		return now, err
	}
	if at > now.Version {
		return nil, design.NewInvalid("at", "the study has "+design.Count(int(now.Version), "event", "events")+" so far", at)
	}
	base, found := s.Derived.UpTo(id, at)
	if found && base.Version == at {
		return base, nil
	}
	events, err := s.store.Events(ctx, id, versionOf(base), int(at-versionOf(base)))
	if err != nil {
		return nil, err
	}
	past, err := fold(id, base, events, now)
	if err != nil {
		return nil, err
	}
	if past.Version != at {
		return nil, endsEarly(id, past.Version, at)
	}
	return s.Derived.Put(past), nil
}

// versionOf is 0 for a study without events.
func versionOf(snap *ledger.Snapshot) int64 {
	if snap == nil {
		return 0
	}
	return snap.Version
}

// latest returns the study as it is now. Reading a whole ledger is shared by all who wait for it.
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

// Since returns the study as it is, or as it was after event seen or later: a version that is at
// hand will do, for whoever names an event has heard of it. Those who hear of it together read it
// once. seen 0 asks the store.
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
	return s.latest(ctx, id) // the others began before the event
}

// load reads a whole ledger, once for all who wait for it.
func (s *Service) load(ctx context.Context, id string) (*ledger.Snapshot, error) {
	return derived.Get(ctx, s.Derived, &ledger.Snapshot{ID: id}, ledgerOf, func(ctx context.Context) (*ledger.Snapshot, error) {
		events, err := s.store.Events(ctx, id, 0, 0)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return nil, fmt.Errorf("study %s: %w", design.Shorten(id), ErrNotFound)
		}
		return s.foldNews(id, nil, events)
	})
}

// foldNews adds events to base, nil before the first of them, and keeps the result.
func (s *Service) foldNews(id string, base *ledger.Snapshot, news []ledger.Event) (*ledger.Snapshot, error) {
	snap, err := fold(id, base, news, nil)
	if err != nil {
		return nil, err
	}
	return s.Derived.Put(snap), nil
}

// fold is ledger.Fold of events that are stored. Whoever wrote them could: what cannot be read was
// written by a newer program, as while servers are upgraded one after another, or, where the hashes do
// not hold, damaged since.
func fold(id string, base *ledger.Snapshot, stored []ledger.Event, like *ledger.Snapshot) (*ledger.Snapshot, error) {
	snap, err := ledger.Fold(id, base, stored, like)
	if err == nil {
		return snap, nil
	}
	var last ledger.Event
	if base != nil {
		last = ledger.Event{Seq: base.Version, At: base.UpdatedAt, Hash: base.Hash}
	}
	if why := ledger.CheckContinues(last, stored); why != nil {
		return nil, &Damaged{id, why}
	}
	return nil, fmt.Errorf("study %s: %w (%w)", id, &Later{"The study's ledger has an entry of a newer program, which this server cannot read. The log names it."}, err)
}

// endsEarly is of a ledger whose last events are gone.
func endsEarly(id string, last, wanted int64) error {
	return &Damaged{id, fmt.Errorf("the ledger ends at event %d instead of %d", last, wanted)}
}

// recent returns some version of the study, if possible without asking the store: a write brings it
// up to date.
func (s *Service) recent(ctx context.Context, id string) (*ledger.Snapshot, error) {
	if snap, found := s.Derived.UpTo(id, 0); found {
		return snap, nil
	}
	return s.load(ctx, id)
}

// Summaries lists a page of studies, and the mark behind which the next page goes on, nil at the
// end.
func (s *Service) Summaries(ctx context.Context, list Listing) (page []ledger.Summary, next *Mark, err error) {
	limit := list.Limit
	if limit > 0 {
		list.Limit++ // one more, to know whether there is a next page
	}
	page, err = s.store.Summaries(ctx, list)
	if err != nil || limit == 0 || len(page) <= limit {
		return page, nil, err
	}
	last := page[limit-1]
	return page[:limit], &Mark{last.UpdatedAt, last.ID}, nil
}

// Events returns the ledger after event after, at most limit entries (0 = all).
func (s *Service) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	return s.store.Events(ctx, id, after, limit)
}

// EventsOf returns the last events about trial number of snap, at most limit, in order, and how
// many were before them.
func (s *Service) EventsOf(ctx context.Context, snap *ledger.Snapshot, number, limit int) (events []ledger.Event, before int, err error) {
	seqs := snap.EventsOf(number)
	before = max(0, len(seqs)-limit)
	for seqs = seqs[before:]; len(seqs) > 0; {
		run := 1 // of events that follow each other
		for run < len(seqs) && seqs[run] == seqs[0]+int64(run) {
			run++
		}
		read, err := s.store.Events(ctx, snap.ID, seqs[0]-1, run)
		if err != nil {
			return nil, 0, err
		}
		events, seqs = append(events, read...), seqs[run:]
	}
	return events, before, nil
}

// EventsWithin is Events of at most limit entries, or of fewer, but one, where they are large: they are
// read in growing parts until there are enough, since many may ask at once.
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

// eventsUpTo returns the next events of the ledger up to the snapshot, some hundreds at most.
func (s *Service) eventsUpTo(ctx context.Context, snap *ledger.Snapshot, after int64) ([]ledger.Event, error) {
	const most = 500
	events, err := s.EventsWithin(ctx, snap.ID, after, int(min(most, snap.Version-after)))
	if err == nil && len(events) == 0 {
		err = endsEarly(snap.ID, after, snap.Version)
	}
	return events, err
}

// begin lets work go on behind requests as the study's task.
func (s *Service) begin(task derived.Task, id string, wanted int64, work func(ctx context.Context) error) error {
	err := s.Derived.Begin(task, id, wanted, work)
	if errors.Is(err, supervisor.ErrStopping) {
		return &Later{"The server is stopping."}
	}
	return err
}

// write lets decide rule on the study as it is, of which base is some version, and appends what it
// ruled. Writers of one study take turns, so that each knows what the one before it wrote.
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

// change lets rule rule on the study as it is, and writes what it ruled. What could be of the study
// at no time, as sensible tells of some version of it, is refused before the study is locked: it
// may be as large as a request. What could be is small.
func (s *Service) change(ctx context.Context, cmd Command, id string, sensible func(base *ledger.Snapshot) bool, rule func(now *ledger.Snapshot) (ruling, error)) (*ledger.Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	if !sensible(base) {
		_, err := rule(base)
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, rule)
	return after, err
}

// always is sensible what is small, whatever it says.
func always(*ledger.Snapshot) bool { return true }

// append turns a ruling on the study now (nil before its first event) into what the store writes.
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
	if err := s.roomFor(after, ruled.drafts); err != nil {
		return Append{}, err
	}
	return appendTo(after, events, ruled.numbers), nil
}

// roomFor refuses what makes a ledger too large. Results of trials that are waiting still find room
// in one that gets no new trials.
func (s *Service) roomFor(after *ledger.Snapshot, drafts []ledger.Draft) error {
	most := s.largest
	if !slices.ContainsFunc(drafts, func(d ledger.Draft) bool { return d.Kind == ledger.Chosen }) {
		most += most / 8
	}
	if after.Bytes <= most || len(drafts) == 0 {
		return nil
	}
	return conflict("The study's ledger would have %d bytes, and new trials are possible up to %d. It can be read and exported; go on in a copy of the study.", after.Bytes, s.largest)
}

// appendTo is what the store writes of events that lead to the study after them.
func appendTo(after *ledger.Snapshot, events []ledger.Event, numbers []int) Append {
	return Append{Events: events, After: after, Done: &Done{Study: after.ID, Version: after.Version, Trials: numbers}}
}

// choose makes decisions of a study one after another: prepare works on the study as it is while no
// other decision is being made, then its ruling is written. What prepare refuses is still offered
// to the store, which knows whether the request was carried out before.
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

// writeChoice writes what was prepared for a study as it was, after so many further trials of the
// same holder of the lock.
func (s *Service) writeChoice(ctx context.Context, cmd Command, snap *ledger.Snapshot, further int, prepared ruling, refused error) (*ledger.Snapshot, []int, error) {
	return s.write(ctx, cmd, snap, func(now *ledger.Snapshot) (ruling, error) {
		if refused != nil {
			return ruling{}, refused
		}
		if len(now.Trials) != len(snap.Trials)+further {
			return ruling{}, &Later{"Another server chose a trial of this study meanwhile."}
		}
		if !now.SameDefinition(snap) { // as only who has the lock changes it
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

// newID makes an unguessable name for a study that is safe in a URL.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

func ruleOf(kind ledger.Kind, number int, data any) ruling {
	return ruling{drafts: []ledger.Draft{{Kind: kind, Data: data}}, numbers: []int{number}}
}

// ruling is what a rule makes of a command: what to add to the ledger, and the trials concerned, in
// the order to answer them.
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
