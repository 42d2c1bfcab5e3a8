package lab

import (
	"context"
	"iter"
	"slices"
	"sync"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// book is a study.Store of one study in memory, for a game that is played and forgotten. Idempotency keys
// are not kept, since nobody calls it over a network, and a list of studies is that study, whatever
// is wanted.
type book struct {
	choosing, mutex sync.Mutex // the latter is for what follows
	id              string
	events          []ledger.Event
	after           *ledger.Snapshot
	verified        *study.Verified
}

func (b *book) Create(_ context.Context, id string, _ study.Command, parts iter.Seq2[study.Append, error]) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for part, err := range parts {
		if err != nil {
			return err
		}
		b.id, b.events, b.after = id, append(b.events, part.Events...), part.After
	}
	return nil
}

// with looks into the book of the study.
func (b *book) with(id string, do func() error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if id != b.id {
		return study.ErrNotFound
	}
	return do()
}

func (b *book) Write(_ context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	return b.with(id, func() error {
		if cmd.IfMatch != 0 && cmd.IfMatch != int64(len(b.events)) {
			return study.ErrStale
		}
		added, err := decide(b.events[known.Version:])
		if err == nil {
			b.events, b.after = append(b.events, added.Events...), added.After
		}
		return err
	})
}

func (b *book) Choosing(ctx context.Context, _ string, choose func(ctx context.Context) error) error {
	b.choosing.Lock()
	defer b.choosing.Unlock()
	return choose(ctx)
}

func (b *book) Events(_ context.Context, id string, after int64, limit int) (events []ledger.Event, err error) {
	err = b.with(id, func() error {
		events = slices.Clone(b.events[min(after, int64(len(b.events))):])
		if limit > 0 {
			events = events[:min(limit, len(events))]
		}
		return nil
	})
	return events, err
}

func (b *book) KeepVerified(_ context.Context, id string, outcome study.Verified) error {
	return b.with(id, func() error {
		if b.verified == nil || b.verified.Version <= outcome.Version {
			b.verified = &outcome
		}
		return nil
	})
}

func (b *book) Verified(_ context.Context, id string) (outcome *study.Verified, err error) {
	err = b.with(id, func() error { outcome = b.verified; return nil })
	return outcome, err
}

func (b *book) Summaries(context.Context, study.Listing) ([]ledger.Summary, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return []ledger.Summary{b.after.Summary()}, nil
}
