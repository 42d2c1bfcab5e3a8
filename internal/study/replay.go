package study

import (
	"context"

	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

// replay is the optimizer's state of one snapshot. Whoever holds the turn may work it out; others wait for it.
type replay struct {
	turn       chan struct{}
	state      *optimizer.State
	err        error
	posteriors posteriors
}

func newReplay() *replay { return &replay{turn: make(chan struct{}, 1)} }

// state returns what the algorithm makes of snap, worked out at most once for each version in the cache and, where possible, from
// the state of another version of the study.
func (s *Service) state(ctx context.Context, snap *ledger.Snapshot) (*optimizer.State, error) {
	r := s.cache.replayOf(snap)
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.state != nil || r.err != nil {
		return r.state, r.err
	}
	release, err := s.computing(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	history := snap.History(snap.Compiled())
	if prior := s.cache.toExtend(snap); prior != nil {
		r.state, r.err = prior.Extend(ctx, history)
	} else {
		r.state, r.err = optimizer.Replay(ctx, snap.Compiled().Config, history)
	}
	if r.err != nil && ctx.Err() != nil { // whoever waits next begins again
		r.err = nil
		return nil, ctx.Err()
	}
	if r.err != nil {
		r.err = notComputable(ctx, r.err)
		return nil, r.err
	}
	s.cache.replayed(snap, r.state)
	return r.state, nil
}

// computing waits until one of the processors is free for numerical work.
func (s *Service) computing(ctx context.Context) (release func(), err error) {
	select {
	case s.processors <- struct{}{}:
		return func() { <-s.processors }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
