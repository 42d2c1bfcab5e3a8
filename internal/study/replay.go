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
	fit        fitAt
	prices     pricesAt
	gain       gainAt
	reading    chan struct{} // held by whoever works out the readout
	readout    *Readout
	made       made
}

func newReplay() *replay {
	return &replay{turn: make(chan struct{}, 1), reading: make(chan struct{}, 1)}
}

// state returns what the algorithm makes of snap, worked out at most once for each version in the cache and, where possible, from
// the state of another version of the study.
func (s *Service) state(ctx context.Context, snap *ledger.Snapshot) (*optimizer.State, error) {
	return s.replayed(ctx, snap, s.cache.replayOf(snap))
}

// replayed is state where r is the snapshot's place in the cache.
func (s *Service) replayed(ctx context.Context, snap *ledger.Snapshot, r *replay) (*optimizer.State, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.state != nil || r.err != nil {
		return r.state, r.err
	}
	r.err = s.compute(ctx, snap.ID, func(ctx context.Context) (err error) {
		history := snap.History(snap.Compiled())
		if prior := s.cache.toExtend(snap); prior != nil {
			r.state, err = prior.Extend(ctx, history)
		} else {
			r.state, err = optimizer.Replay(ctx, snap.Compiled().Config, history)
		}
		return err
	})
	if r.err != nil && ctx.Err() != nil { // whoever waits next begins again
		r.state, r.err = nil, nil
		return nil, ctx.Err()
	}
	if r.err != nil {
		r.err = notComputable(ctx, r.err)
		return nil, r.err
	}
	s.cache.replayed(snap, r.state)
	return r.state, nil
}
