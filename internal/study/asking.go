package study

import (
	"cmp"
	"context"
	"errors"
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
	ctx  context.Context // the caller's
	cmd  Command
	ask  Ask
	came chan answer // holds one; the first is read
}

type answer struct {
	after   *ledger.Snapshot
	numbers []int
	err     error
}

func (a *asking) answer(after *ledger.Snapshot, numbers []int, err error) {
	select {
	case a.came <- answer{after, numbers, err}:
	default: // it has its answer
	}
}

// answeringTime bounds the answering of those who wait together; every single one gives up at its
// own time.
const answeringTime = 10 * time.Minute

// askTogether asks together with whoever else waits.
func (s *Service) askTogether(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	mine := &asking{ctx, cmd, ask, make(chan answer, 1)}
	s.asks.Join(id, mine, func(all []*asking) []*asking { return s.answerAll(id, all) })
	select {
	case got := <-mine.came:
		return got.after, got.numbers, got.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// answerAll answers all who wait, behind the requests, and returns those who are left to another
// time.
func (s *Service) answerAll(id string, all []*asking) (left []*asking) {
	var refused error
	answer := func(ctx context.Context) error {
		left, refused = s.answerEach(scheduler.With(ctx, scheduler.Choosing), id, all)
		return nil
	}
	err := s.Derived.Jobs.Do(context.Background(), "asks", id, answeringTime, answer)
	if errors.Is(err, supervisor.ErrStopping) { // the server waits for its requests only
		err = supervisor.Recovered(all[0].ctx, answer)
	}
	for _, a := range all[:len(all)-len(left)] {
		a.answer(nil, nil, cmp.Or(err, refused))
	}
	return left
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
