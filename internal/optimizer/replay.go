package optimizer

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
)

// Resources are what a replay has to work with. None of them changes a bit of what comes of it.
type Resources struct {
	Kept *gp.Kept // rows of earlier states, so that they are not worked out again; nil for none
	Room int64    // bytes that the model may take; 0 for MostRoom
}

// MostRoom is how many bytes a model may take at most: 2 GiB, which one kernel fills with some
// 23,000 readings.
const MostRoom = 2 << 30

// MostListed is how many candidates a study lists at most for the posterior over all of them, which
// takes the place of rows where readings are many.
const MostListed = 2896 // its square is posterior.MostKept

func (r Resources) room() int64 {
	if r.Room <= 0 {
		return MostRoom
	}
	return min(r.Room, MostRoom)
}

// KeptFrom is from how many readings on a regression is worth keeping: reading its rows, which are
// n², takes as long at 1500 as working them out, which is n³, and at 2000 three quarters of that; see
// docs/benchmarks.md.
const KeptFrom = 2048

// Pieces are what can be kept of the state's regressions from so many readings on, so that a later
// one need not work it out again.
func (s *State) Pieces(from int) iter.Seq2[gp.Key, gp.Piece] {
	return func(yield func(gp.Key, gp.Piece) bool) {
		for _, regime := range s.regimes {
			for _, g := range slices.Concat(regime.groups, regime.own) {
				if g.Data == nil || g.Data.Len() < from {
					continue
				}
				for key, piece := range g.Data.Pieces(Engine) {
					if !yield(key, piece) {
						return
					}
				}
			}
		}
	}
}

// NewKept are the pieces of earlier states, to go on from.
func NewKept(pieces map[gp.Key]gp.Piece) *gp.Kept { return gp.NewKept(Engine, pieces) }

// State is what an algorithm makes of a history: immutable, safe for concurrent use. It holds what
// is believed, what is decided of it, and the account of the rounds.
type State struct {
	*account
	*decision
	*shown
}

// Replay plays history h into the algorithm of cfg and returns the state after it. cfg and h must
// be valid (package design checks what people typed); a Config that cannot be computed with, such
// as a kernel matrix that is not positive definite with its λ, is an error. So is that of ctx,
// which ends the work early. Long work reaches checkpoints (checkpoint.With).
func Replay(ctx context.Context, cfg *Config, h *History) (*State, error) {
	return ReplayWithin(ctx, cfg, h, Resources{})
}

// ReplayWithin is Replay with what there is to work with.
func ReplayWithin(ctx context.Context, cfg *Config, h *History, with Resources) (*State, error) {
	return replay(ctx, cfg, h, nil, with)
}

// Extend is Replay(cfg, h), reusing what prior worked out where h agrees with prior's history. The
// result is the same to the last bit, except that sliding windows may differ by 1e-9.
func (prior *State) Extend(ctx context.Context, h *History) (*State, error) {
	return replay(ctx, prior.cfg, h, prior, Resources{Room: prior.room})
}

// Holding is Replay(cfg, h) of prior's history, to the last bit, cfg being prior's but for what Space holds.
func (prior *State) Holding(ctx context.Context, cfg *Config) (*State, error) {
	return replay(ctx, cfg, prior.history, prior, Resources{Room: prior.room})
}

func replay(ctx context.Context, cfg *Config, h *History, prior *State, with Resources) (*State, error) {
	described, ok := policy.Find(cfg.Algorithm)
	if !ok {
		return nil, fmt.Errorf("there is no algorithm %q", cfg.Algorithm)
	}
	p := described.Build(cfg.Context(), cfg.Settings)
	given := &task{cfg: cfg, history: h, policy: p, traits: p.Traits(), settings: cfg.Settings, targets: targets(cfg), room: with.room()}
	e := &evidence{task: given, kept: with.Kept}
	var before *decision // in the same space
	if prior == nil {
		prior = &State{}
		given.spreadPoints = sync.OnceValue(cfg.spreadPoints)
		if cfg.Space.Arms != nil {
			given.arms = cfg.Space.newPlaceList(cfg.Space.places())
		}
	} else {
		given.arms, e.prior = prior.arms, prior.evidence
		if given.spreadPoints, before = prior.spreadPoints, prior.decision; cfg != prior.cfg {
			given.spreadPoints, before = sync.OnceValue(cfg.spreadPoints), nil
		}
	}
	if err := e.regressAll(ctx); err != nil {
		return nil, err
	}
	a := &account{evidence: e, trace: tracing{slid: windows{}, toldTogether: make([]toldTogether, len(e.targets))}}
	if err := a.replayMultipliers(ctx, prior.account); err != nil {
		return nil, err
	}
	var err error
	if e.next, err = e.acting(ctx, a.Round(), a.multipliers, nil); err != nil {
		return nil, err
	}
	a.shown = &shown{}
	if a.shown.view, err = e.observed(ctx, a.Round(), nil); err != nil {
		return nil, err
	}
	d, err := e.decide(ctx, a.shown, before)
	if err != nil {
		return nil, err
	}
	a.reuseTrace(prior.account)
	e.releasePrior()
	return &State{a, d, a.shown}, nil
}
