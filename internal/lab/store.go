package lab

import (
	"context"
	"iter"
	"slices"
	"sync"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// book is a study.Store of one study in memory, for a game that is played and forgotten: whatever
// study is asked for, it is that one. Nobody calls it over a network, so idempotency keys are not
// kept and no version is expected, and nobody verifies it.
type book struct {
	choosing, mutex sync.Mutex // the latter is for what follows
	events          []ledger.Event
	after           *ledger.Snapshot
}

func (b *book) Create(_ context.Context, _ string, _ study.Command, parts iter.Seq2[study.Append, error]) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for part, err := range parts {
		if err != nil {
			return err
		}
		b.events, b.after = append(b.events, part.Events...), part.After
	}
	return nil
}

func (b *book) Write(_ context.Context, _ string, _ study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	added, err := decide(b.events[known.Version:])
	if err == nil {
		b.events, b.after = append(b.events, added.Events...), added.After
	}
	return err
}

func (b *book) Choosing(ctx context.Context, _ string, choose func(ctx context.Context) error) error {
	b.choosing.Lock()
	defer b.choosing.Unlock()
	return choose(ctx)
}

func (b *book) Events(_ context.Context, _ string, after int64, limit int) ([]ledger.Event, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	events := slices.Clone(b.events[min(after, int64(len(b.events))):])
	if limit > 0 {
		events = events[:min(limit, len(events))]
	}
	return events, nil
}

func (b *book) Summaries(context.Context, study.Listing) ([]ledger.Summary, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return []ledger.Summary{b.after.Summary()}, nil
}

func (b *book) KeepVerified(context.Context, string, study.Verified) error { return nil }
func (b *book) Verified(context.Context, string) (*study.Verified, error)  { return nil, nil }
