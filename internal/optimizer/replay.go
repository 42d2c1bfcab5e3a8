package optimizer

import (
	"context"
	"iter"
	"slices"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
)

// Resources are what a replay may use. They do not change its result.
type Resources struct {
	Kept *gp.Kept // stored rows of earlier states, which need not be computed again; nil for none
	Room int64    // bytes that the model may take; 0 for MostRoom
}

// MostRoom is the largest number of bytes of a model: 2 GiB, which some 23,000 readings with one
// kernel fill.
const MostRoom = 2 << 30

// MostListed is the largest number of candidates for which the posterior over all of them replaces
// the rows of a factor where readings are many.
const MostListed = 2896 // its square is posterior.MostKept

func (r Resources) room() int64 {
	if r.Room <= 0 {
		return MostRoom
	}
	return min(r.Room, MostRoom)
}

// KeptFrom is the number of readings from which a regression is worth storing. At 1500 reading its
// n² rows takes as long as computing them, which is O(n³), and at 2000 three quarters of that; see
// docs/benchmarks.md.
const KeptFrom = 2048

// Pieces lists the parts of the state's regressions with at least from readings that can be stored,
// so that a later state need not compute them again.
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

// NewKept makes a Kept of stored pieces.
func NewKept(pieces map[gp.Key]gp.Piece) *gp.Kept { return gp.NewKept(Engine, pieces) }

// State is the result of replaying a history: the posterior, the next decision and the account of
// the rounds. It is immutable and safe for concurrent use.
type State struct {
	*account
	*decision
	*shown
}

// Replay plays history h with the algorithm of cfg and returns the state after it. cfg and h must
// be valid (package design checks what people typed). The error is that of ctx, which ends the work
// early, or says what of cfg cannot be computed with, such as a kernel matrix that is not positive
// definite with its λ. Long work reaches checkpoints (checkpoint.With).
func Replay(ctx context.Context, cfg *Config, h *History) (*State, error) {
	return ReplayWithin(ctx, cfg, h, Resources{})
}

// ReplayWithin is Replay with given resources.
func ReplayWithin(ctx context.Context, cfg *Config, h *History, with Resources) (*State, error) {
	return replay(ctx, cfg, h, nil, with)
}

// Extend returns Replay(cfg, h), reusing what prior computed as far as h agrees with prior's
// history. The result is the same to the last bit, except that sliding windows may differ by 1e-9.
func (prior *State) Extend(ctx context.Context, h *History) (*State, error) {
	return replay(ctx, prior.cfg, h, prior, Resources{Room: prior.room})
}

// Holding returns Replay(cfg, h) of prior's history, to the last bit. cfg may differ from prior's
// in what Space holds, and in nothing else.
func (prior *State) Holding(ctx context.Context, cfg *Config) (*State, error) {
	return replay(ctx, cfg, prior.history, prior, Resources{Room: prior.room})
}

func replay(ctx context.Context, cfg *Config, h *History, prior *State, with Resources) (*State, error) {
	described, _ := policy.Find(cfg.Algorithm) // whoever made cfg found it
	p := described.Build(cfg.Context(), cfg.Settings)
	given := &task{cfg: cfg, history: h, policy: p, traits: p.Traits(), settings: cfg.Settings, targets: targets(cfg), room: with.room()}
	given.readingsVary = sync.OnceValue(func() bool { return h.readingsVary(cfg) })
	given.firstRounds = sync.OnceValue(h.firstRounds)
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
	shown, err := a.shown.remembered(ctx)
	return &State{a, d, shown}, err
}
