package study

import (
	"context"

	"headroom/internal/derived"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Gain is the best value of the objective within the limits as a random variable, in its unit: what
// the study could come to as far as the model and the people who called values plausible know.
type Gain struct {
	Best BestRange `json:"best"`
	// Feasible is the chance that some settings are within every limit; Best and ChanceLeft are
	// told for when there are.
	Feasible float64 `json:"feasible"`
	// ChanceLeft are the chances, that of the study's target first, that more than a share is left
	// to gain beyond the value that the model expects at the recommended settings; none where
	// nothing is recommended.
	ChanceLeft []ChanceLeft `json:"chance_left"`
}

// StopStatement is the chance that more than Within of the recommended value is left, held against
// the risk that the study's owner takes.
type StopStatement struct {
	design.Stop
	Chance  float64 `json:"chance"`
	AtMost  float64 `json:"at_most"`
	Reached bool    `json:"reached"` // AtMost is at most Risk
}

// Stop is what it would risk to stop now; nil where nothing is recommended.
func (g *Gain) Stop(target design.Stop) *StopStatement {
	if g == nil || len(g.ChanceLeft) == 0 {
		return nil
	}
	left := g.ChanceLeft[0]
	return &StopStatement{Stop: target, Chance: left.Chance, AtMost: left.AtMost, Reached: left.AtMost <= target.Risk}
}

// BestRange holds the best value with the probability Level.
type BestRange struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// ChanceLeft is the chance that more than MoreThan times Of, in the objective's unit, is left to
// gain; AtMost is what it is with a confidence of 95 %, so many functions having been drawn.
type ChanceLeft struct {
	MoreThan float64 `json:"more_than"`
	Of       float64 `json:"of"`
	Chance   float64 `json:"chance"`
	AtMost   float64 `json:"at_most"`
}

// GainOf works out what could be gained from snap on; nil before the model stands, where no draw
// has settings within every limit, and where limits need values that come with a decision.
func (s *Models) GainOf(ctx context.Context, snap *ledger.Snapshot) (*Gain, error) {
	return derived.Get(ctx, s.Derived, snap, gainOf, func(ctx context.Context) (*Gain, error) { return s.gain(ctx, snap) })
}

func (s *Models) gain(ctx context.Context, snap *ledger.Snapshot) (*Gain, error) {
	c := snap.Compiled()
	known, faults := c.Known(design.Brought{})
	if len(faults) > 0 {
		return nil, nil
	}
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	return compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (*Gain, error) {
		found, ok, err := state.Gain(ctx, known, snap.Definition.Stop.Within)
		if err != nil || !ok {
			return nil, err
		}
		kept := keepPlausible(snap)
		out := &Gain{Best: BestRange{kept(found.Low), kept(found.High), found.Level}, Feasible: found.Feasible, ChanceLeft: []ChanceLeft{}}
		for _, left := range found.Left {
			out.ChanceLeft = append(out.ChanceLeft, ChanceLeft{left.MoreThan, found.Unit, left.Chance, left.AtMost})
		}
		return out, nil
	})
}

// keepPlausible moves a value of the objective to the nearest that was called plausible. Where a
// reading lies beyond what was, that says little, and values stay.
func keepPlausible(snap *ledger.Snapshot) func(value float64) float64 {
	o := snap.Definition.Objective
	read := snap.Range(o.Metric, 0)
	if len(o.Plausible) < 2 || read.Count > 0 && (read.Low < o.Plausible[0] || read.High > o.Plausible[1]) {
		return func(value float64) float64 { return value }
	}
	return func(value float64) float64 { return min(max(value, o.Plausible[0]), o.Plausible[1]) }
}
