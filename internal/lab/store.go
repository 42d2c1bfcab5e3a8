package lab

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// ledgers is a study.Store in memory, for one program that plays and forgets. Retry keys are not kept: nobody calls it over a network.
type ledgers struct {
	mutex sync.Mutex
	of    map[string]*book
}

type book struct {
	choosing sync.Mutex
	events   []ledger.Event
	after    *ledger.Snapshot
}

func newLedgers() *ledgers { return &ledgers{of: map[string]*book{}} }

func (s *ledgers) find(id string) (*book, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if l, ok := s.of[id]; ok {
		return l, nil
	}
	return nil, study.ErrNotFound
}

func (s *ledgers) Create(_ context.Context, id string, _ study.Command, parts iter.Seq2[study.Append, error]) error {
	made := &book{}
	for part, err := range parts {
		if err != nil {
			return err
		}
		made.events, made.after = append(made.events, part.Events...), part.After
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.of[id] = made
	return nil
}

func (s *ledgers) Write(_ context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	l, err := s.find(id)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if cmd.IfMatch != 0 && cmd.IfMatch != int64(len(l.events)) {
		return study.ErrStale
	}
	added, err := decide(l.events[known.Version:])
	if err != nil {
		return err
	}
	l.events, l.after = append(l.events, added.Events...), added.After
	return nil
}

func (s *ledgers) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	l, err := s.find(id)
	if err != nil {
		return err
	}
	l.choosing.Lock()
	defer l.choosing.Unlock()
	return choose(ctx)
}

func (s *ledgers) Events(_ context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	l, err := s.find(id)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	events := l.events[min(after, int64(len(l.events))):]
	if limit > 0 {
		events = events[:min(limit, len(events))]
	}
	return slices.Clone(events), nil
}

func (s *ledgers) Version(_ context.Context, id string) (int64, error) {
	l, err := s.find(id)
	if err != nil {
		return 0, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return int64(len(l.events)), nil
}

func (s *ledgers) Summaries(_ context.Context, wanted study.Listing) ([]ledger.Summary, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var list []ledger.Summary
	for id, l := range s.of {
		one := l.after.Summary()
		if (wanted.Only == nil || slices.Contains(wanted.Only, id)) && (wanted.States == nil || slices.Contains(wanted.States, one.State)) &&
			(wanted.After == nil || newerFirst(ledger.Summary{UpdatedAt: wanted.After.UpdatedAt, ID: wanted.After.ID}, one) < 0) {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, newerFirst)
	if wanted.Limit > 0 {
		list = list[:min(wanted.Limit, len(list))]
	}
	return list, nil
}

// newerFirst orders studies by their last change, and where that is the same by name, backwards.
func newerFirst(a, b ledger.Summary) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
}
