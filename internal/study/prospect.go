package study

import (
	"context"
	"sync"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Prospect is the best the study could still come to, as far as the model knows: the settings with the highest expected objective (lowest, if it
// is to be made small) among all that may be chosen and are within every limit with a probability of at least 0.9.
type Prospect struct {
	Parameters design.Settings
	Believed
}

// prospectAt keeps the prospect of one version once it has been worked out.
type prospectAt struct {
	turn  sync.Mutex
	known bool
	found *Prospect
}

// ProspectOf works out the prospect of snap; nil where no settings are probable enough, or where limits need values that come with a decision.
func (s *Service) ProspectOf(ctx context.Context, snap *ledger.Snapshot) (*Prospect, error) {
	kept := &s.cache.replayOf(snap).prospect
	kept.turn.Lock()
	defer kept.turn.Unlock()
	if kept.known {
		return kept.found, nil
	}
	found, err := s.prospect(ctx, snap)
	if err == nil {
		kept.found, kept.known = found, true
	}
	return found, err
}

func (s *Service) prospect(ctx context.Context, snap *ledger.Snapshot) (*Prospect, error) {
	c := snap.Compiled()
	known, faults := c.Known(design.Brought{}, "body")
	if len(faults) > 0 {
		return nil, nil
	}
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	var out *Prospect
	err = s.compute(ctx, snap.ID, func(ctx context.Context) error {
		place, found, err := state.Prospect(ctx, known)
		if err != nil || !found {
			return err
		}
		settings := c.Settings(place)
		values, faults := c.KnownAt(settings, place, design.Brought{}, "body")
		if err := faults.Err(); err != nil {
			return err
		}
		var rows [][]float64
		if costs := snap.Definition.KnownInOrder(values); costs != nil {
			rows = [][]float64{costs}
		}
		there, err := believedAt(ctx, snap, state, place, rows)
		out = &Prospect{settings, there}
		return err
	})
	return out, err
}
