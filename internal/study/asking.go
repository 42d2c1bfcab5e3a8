package study

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"headroom/internal/scheduler"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// Asks of one study that wait at the same time are answered together: the study is read once, after
// all of them came, and decided on from that, one trial after another, as one ask for so many
// would. What is known of the readings and of the trials that wait is worked out once. Each ask is
// written by itself, with its own author, idempotency key and answer, as soon as it is decided, and
// while the next is; one that is refused is refused alone.

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
		if errors.Is(refused, supervisor.ErrPanicked) {
			return refused
		}
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
// decided for, for whom all is worked out that the others share: then other servers, and people with
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
		one := s.decide(ctx, all[0], succession{snap: snap})
		until := s.options.Now().Add(atOnce)
		for left = all[1:]; one != nil; {
			var next *asking
			if len(left) > 0 && !s.options.Now().After(until) {
				next, left = left[0], left[1:]
			}
			if one, err = s.writeWhileNext(ctx, one, next); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return left, nil
}

// decided is an ask with what was decided for it.
type decided struct {
	*asking
	before, after succession // that it was decided from, and that the next one is
	ruled         ruling
	refused       error
}

// within is the caller's context, which ends with ctx as well.
func (a *asking) within(ctx context.Context) (own context.Context, end func()) {
	own, cancel := context.WithCancel(scheduler.With(a.ctx, scheduler.Choosing))
	stop := context.AfterFunc(ctx, cancel)
	return own, func() { stop(); cancel() }
}

// decide decides for one of them, within the time of its caller.
func (s *Service) decide(ctx context.Context, a *asking, before succession) *decided {
	ctx, end := a.within(ctx)
	defer end()
	d := &decided{asking: a, before: before, after: before.clone()}
	if d.ruled, d.refused = s.ruleNext(ctx, a.cmd, &d.after, a.ask); d.refused != nil {
		d.after = before
	}
	return d
}

// writeWhileNext writes what was decided for one of them, and decides for the next meanwhile, if
// there is one: as if it were written, and once more if it is not. An error is one that ends it for
// all.
func (s *Service) writeWhileNext(ctx context.Context, one *decided, next *asking) (following *decided, err error) {
	var writing sync.WaitGroup
	defer writing.Wait() // also where deciding panics
	written := false
	writing.Go(func() {
		err = supervisor.Recovered(ctx, func(ctx context.Context) (err error) {
			written, err = s.writeDecided(ctx, one)
			return err
		})
	})
	if next != nil {
		following = s.decide(ctx, next, one.after)
	}
	writing.Wait()
	if err == nil && next != nil && !written && one.refused == nil {
		following = s.decide(ctx, next, one.before)
	}
	return following, err
}

// writeDecided writes what was decided for one of them, and tells its caller, within whose time. An
// error is one that ends it for all.
func (s *Service) writeDecided(ctx context.Context, d *decided) (written bool, err error) {
	own, end := d.within(ctx)
	defer end()
	after, numbers, err := (*ledger.Snapshot)(nil), []int(nil), own.Err()
	if err == nil {
		after, numbers, err = s.writeChoice(own, d.cmd, d.before.snap, d.before.count, d.ruled, d.refused)
	}
	if err != nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	d.answer(after, numbers, err)
	return err == nil, nil
}
