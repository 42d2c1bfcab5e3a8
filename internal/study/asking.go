package study

import (
	"context"
	"slices"
	"sync"
	"time"

	"headroom/internal/scheduler"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// Asks of one study that wait at the same time are answered together: the study is read once, after
// all of them came, and decided on from that, one trial after another, as one ask for so many
// would. What is known of the readings and of the trials that wait is worked out once. Each ask is
// written by itself, with its own author, idempotency key and answer, as soon as it is decided, so that
// one that is refused is refused alone.

// asking is one caller's ask.
type asking struct {
	ctx     context.Context // the caller's
	cmd     Command
	ask     Ask
	done    chan struct{} // closed when what follows is known
	after   *ledger.Snapshot
	numbers []int
	err     error
}

func (a *asking) answer(after *ledger.Snapshot, numbers []int, err error) {
	a.after, a.numbers, a.err = after, numbers, err
	close(a.done)
}

func (a *asking) answered() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// askings are the asks that wait, by study. A study that is listed has a job that answers them.
type askings struct {
	mutex   sync.Mutex
	waiting map[string][]*asking
}

// join puts an ask in the queue of its study, and tells whether it is to begin the job.
func (q *askings) join(id string, a *asking) (first bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting == nil {
		q.waiting = map[string][]*asking{}
	}
	_, served := q.waiting[id]
	q.waiting[id] = append(q.waiting[id], a)
	return !served
}

// take returns all that wait; if nobody does, the study's job ends.
func (q *askings) take(id string) []*asking {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	all := q.waiting[id]
	if len(all) == 0 {
		delete(q.waiting, id)
		return nil
	}
	q.waiting[id] = nil
	return all
}

// back puts those first in the queue who were taken from it.
func (q *askings) back(id string, left []*asking) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.waiting[id] = append(slices.Clip(left), q.waiting[id]...)
}

// answeringTime bounds the answering of those who wait together; every single one gives up at its
// own time.
const answeringTime = 10 * time.Minute

// askTogether asks together with whoever else waits.
func (s *Service) askTogether(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	mine := &asking{ctx: ctx, cmd: cmd, ask: ask, done: make(chan struct{})}
	if s.asks.join(id, mine) {
		s.serve(id)
	}
	select {
	case <-mine.done:
		return mine.after, mine.numbers, mine.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// serve answers, behind the requests, all who wait, and again those who came meanwhile.
func (s *Service) serve(id string) {
	all := s.asks.take(id)
	if all == nil {
		return
	}
	unanswered := func(err error) {
		for _, a := range all {
			if !a.answered() {
				a.answer(nil, nil, err)
			}
		}
	}
	answer := func(ctx context.Context) error {
		left, err := s.answerEach(scheduler.With(ctx, scheduler.Choosing), id, all)
		s.asks.back(id, left)
		all = all[:len(all)-len(left)]
		unanswered(err)
		return nil
	}
	ended := func(err error) {
		unanswered(err) // it panicked
		s.serve(id)
	}
	if !s.Derived.Jobs.Go("asks", id, answeringTime, answer, ended) { // the server stops, and waits for its requests only
		ended(supervisor.Recovered(all[0].ctx, answer))
	}
}

// succession are the decisions made one after another from one snapshot.
type succession struct {
	snap    *ledger.Snapshot
	chooser *chooser
	count   int // trials chosen so far
}

// atOnce is how long the lock is held for those who ask together, once the first of them has been
// answered, for whom all is worked out that the others share: then other servers, and people with
// trials of their own, have their turn.
const atOnce = 2 * time.Second

// answerEach decides for each in turn, for as long as atOnce, and returns those who are left to
// another time. Its error is why others got no answer.
func (s *Service) answerEach(ctx context.Context, id string, all []*asking) (left []*asking, err error) {
	err = s.store.Choosing(ctx, id, func(ctx context.Context) error {
		snap, err := s.latest(ctx, id)
		if err != nil {
			return err
		}
		made := succession{snap: snap}
		var first time.Time // when the first was answered
		for i, a := range all {
			if i > 0 && s.options.Now().Sub(first) > atOnce {
				left = all[i:]
				return nil
			}
			if err := s.answerNext(ctx, &made, a); err != nil {
				return err
			}
			if i == 0 {
				first = s.options.Now()
			}
		}
		return nil
	})
	return left, err
}

// answerNext decides and writes for one of them, within the time of its caller. An error is one
// that ends it for all.
func (s *Service) answerNext(ctx context.Context, made *succession, a *asking) error {
	own, cancel := context.WithCancel(scheduler.With(a.ctx, scheduler.Choosing))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	before := made.clone()
	prepared, refused := s.ruleNext(own, a.cmd, made, a.ask)
	after, numbers, err := (*ledger.Snapshot)(nil), []int(nil), own.Err()
	if err == nil {
		after, numbers, err = s.writeChoice(own, a.cmd, made.snap, before.count, prepared, refused)
	}
	if err != nil {
		*made = before
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	a.answer(after, numbers, err)
	return nil
}

// clone is what to go back to when a decision is not written.
func (m *succession) clone() succession {
	kept := *m
	if m.chooser != nil {
		c := *m.chooser
		kept.chooser = &c
	}
	return kept
}
