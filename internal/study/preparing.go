package study

import (
	"context"
	"errors"
	"sync"
	"time"

	"headroom/internal/study/ledger"
	"headroom/internal/turns"
)

// Work behind requests that nobody has asked for during leaseTime is given up; prepareTime bounds all of it.
const (
	leaseTime   = 20 * time.Second
	prepareTime = 30 * time.Minute
)

// preparations are what is made of studies behind the requests that show it, because it takes longer than a request should. Those of one study are made
// one after another, since each goes on from what the one before it worked out.
type preparations struct {
	mutex sync.Mutex
	by    map[preparing]*preparation
	lines turns.Queues
}

// preparing says of which version of a study what is made.
type preparing struct {
	id      string
	version int64
	hash    string
	what    string
}

// preparation is one of them on its way.
type preparation struct {
	since time.Time
	lease *time.Timer // ends the work when nobody asks for it any more
	done  chan struct{}
	left  bool  // it was ended so, once done
	err   error // why it could not be made, once done
}

// Prepare tells whether StateOf answers for snap from what is at hand; see Behind. That there can be no model is an answer too.
func (s *Service) Prepare(ctx context.Context, snap *ledger.Snapshot) (ready bool, since time.Time, err error) {
	return s.Behind(ctx, snap, "model", func(ctx context.Context) error {
		if _, err := s.StateOf(ctx, snap); !errors.Is(err, ErrConflict) {
			return err
		}
		return nil
	})
}

// Behind tells whether work, which goes by the name what, has been done on snap, so that the cache has what it asked for, having waited for that until
// ctx ends at the longest. Where it has not, it goes on behind the request for as long as Behind is called for it every now and then: whoever shows what
// comes of it comes back, and one who goes away takes nothing from the others. Since is when it began. The error is that of work, never that ctx has ended.
func (s *Service) Behind(ctx context.Context, snap *ledger.Snapshot, what string, work func(ctx context.Context) error) (ready bool, since time.Time, err error) {
	if s.cache.replayOf(snap).made.has(what) {
		return true, time.Time{}, nil
	}
	p := s.preparationOf(snap, what, work)
	select {
	case <-p.done:
		return p.err == nil && !p.left, p.since, p.err
	case <-ctx.Done():
		return false, p.since, nil
	}
}

// preparationOf is the work that is under way under that name, else begun now.
func (s *Service) preparationOf(snap *ledger.Snapshot, what string, work func(ctx context.Context) error) *preparation {
	key, all := preparing{snap.ID, snap.Version, snap.Hash, what}, &s.preparations
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if p := all.by[key]; p != nil && p.lease.Reset(leaseTime) {
		return p
	}
	wanted, leave := context.WithCancel(context.Background())
	p := &preparation{since: s.now(), done: make(chan struct{}), lease: time.AfterFunc(leaseTime, leave)}
	context.AfterFunc(wanted, s.cache.hold(snap)) // until some time after it is done, for whoever fetches what came of it
	ended := func(err error) {
		p.err, p.left = err, wanted.Err() != nil
		all.forget(key, p)
		close(p.done)
	}
	whileWanted := func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(wanted, end)()
		if err := s.inLine(ctx, snap, what, work); wanted.Err() == nil {
			return err
		}
		return nil
	}
	if all.by == nil {
		all.by = map[preparing]*preparation{}
	}
	all.by[key] = p
	if !s.jobs.Go("preparation", snap.ID, prepareTime, whileWanted, ended) {
		go ended(ErrUnavailable) // which takes the lock
	}
	return p
}

// inLine does work when it is the study's turn, and notes that it has been done.
func (s *Service) inLine(ctx context.Context, snap *ledger.Snapshot, what string, work func(ctx context.Context) error) error {
	leave, err := s.preparations.lines.Enter(ctx, snap.ID)
	if err != nil {
		return err
	}
	defer leave()
	if err := work(ctx); err != nil {
		return err
	}
	s.cache.replayOf(snap).made.add(what)
	return nil
}

func (p *preparations) forget(key preparing, one *preparation) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.by[key] == one {
		delete(p.by, key)
	}
}

// mostMade is how much is remembered of one version of a study: not less than the charts that are kept of it.
const mostMade = 2 * mostPosteriors

// made names what has been made of one version of a study.
type made struct {
	mutex sync.Mutex
	names map[string]bool
}

func (m *made) has(what string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.names[what]
}

func (m *made) add(what string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.names == nil || len(m.names) >= mostMade {
		m.names = map[string]bool{}
	}
	m.names[what] = true
}
