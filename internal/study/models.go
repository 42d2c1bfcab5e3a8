package study

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

// Models are what algorithms and their models make of studies: what is believed, and what a rule
// may rule that needs to know it. They read no ledger and write none.
type Models struct {
	// Derived is what has been worked out, for who shows more of it than is said here.
	Derived *derived.Store[*ledger.Snapshot]
	log     *slog.Logger
	room    room
	shelved shelved
}

func newModels(options Options) *Models {
	work := derived.New[*ledger.Snapshot](options.CacheBytes, options.Replays, stateOf, options.Log)
	return &Models{Derived: work, log: options.Log, room: newRoom(), shelved: shelved{shelf: options.Shelf}}
}

// Names of what is derived from a snapshot.
type derivation int

const (
	stateOf derivation = iota // replayed
	readoutOf
	modelOf // that the two are there
	fitOf
	gainOf
	verificationOf
	ledgerOf // and latestOf: the study itself, read from nothing and from what is kept
	latestOf
)

// Kind groups them in the server's figures.
func (d derivation) Kind() string {
	return [...]string{"states", "readouts", "models", "fits", "gains", "verifications", "ledgers", "ledgers"}[d]
}

type (
	priceAt string            // of the limit of that name
	chartOf [sha256.Size]byte // at those places
)

func (priceAt) Kind() string { return "prices" }
func (chartOf) Kind() string { return "charts" }

// compute runs numerical work about a study in its turn.
func compute[T any](ctx context.Context, in *derived.Store[*ledger.Snapshot], id string, work func(ctx context.Context) (T, error)) (made T, err error) {
	err = in.Compute(ctx, id, func(ctx context.Context) (err error) {
		made, err = work(ctx)
		return err
	})
	return made, err
}

// replayed is what came of a replay: a state, or why there can be none.
type replayed struct {
	state *optimizer.State
	err   error
}

// state returns what the algorithm makes of snap, worked out at most once for each version that is
// kept and, where possible, from the state of another version of the study.
func (s *Models) state(ctx context.Context, snap *ledger.Snapshot) (*optimizer.State, error) {
	made, err := derived.Lasting(ctx, s.Derived, snap, stateOf, func(ctx context.Context) (made replayed, err error) {
		with := optimizer.Resources{Room: s.room.bytes}
		if s.toExtend(snap) == nil {
			leave, err := s.room.enter(ctx, snap)
			if err != nil {
				return made, err
			}
			defer leave()
			with.Kept = s.kept(ctx, snap)
		}
		made.state, err = compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (*optimizer.State, error) {
			history := snap.History(snap.Compiled())
			if prior := s.toExtend(snap); prior != nil {
				return prior.Extend(ctx, history)
			}
			return optimizer.ReplayWithin(ctx, snap.Compiled().Config, history, with)
		})
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		s.refuse(ctx, snap.ID, with.Kept.Wrong())
		made.err = notComputable(ctx, err)
		s.keepLater(snap)
		return made, nil
	})
	if err != nil {
		return nil, err
	}
	return made.state, made.err
}

// toExtend returns the latest state of the study, if it was made under the same definition, or nil.
func (s *Models) toExtend(snap *ledger.Snapshot) *optimizer.State {
	if from, prior, found := derived.Newest[replayed](s.Derived, snap.ID); found && from.Compiled() == snap.Compiled() {
		return prior.state
	}
	return nil
}

// Prepare tells whether StateOf answers for snap from what is at hand, having waited for that until
// ctx ends, and since when it is being worked out; see derived.Store.Behind. That there can be no
// model is an answer too.
func (s *Models) Prepare(ctx context.Context, snap *ledger.Snapshot) (ready bool, since time.Time, err error) {
	return s.Derived.Behind(ctx, snap, modelOf, func(ctx context.Context) error {
		if _, err := s.StateOf(ctx, snap); !errors.Is(err, ErrConflict) {
			return err
		}
		return nil
	})
}
