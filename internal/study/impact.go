package study

import (
	"context"
	"errors"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Impact is what a correction would change, before it is made.
type Impact struct {
	Trial          ledger.Trial               `json:"trial"`       // as it would be
	Multipliers    map[string][2]float64      `json:"multipliers"` // before, after
	Violation      map[string][2]ViolationOut `json:"violation"`
	Recommendation [2]*Recommendation         `json:"recommendation"`
	DecisionsAfter int                        `json:"decisions_after"` // decisions that had seen the old value
	NextBefore     *design.Settings           `json:"next_before"`     // what the next ask would suggest
	NextAfter      *design.Settings           `json:"next_after"`
}

// PreviewCorrection works out what a correction would change and stores nothing.
func (s *Service) PreviewCorrection(ctx context.Context, id string, c Correction) (Impact, error) {
	before, err := s.latest(ctx, id)
	if err != nil {
		return Impact{}, err
	}
	ruled, err := ruleCorrect(before, c)
	if err != nil {
		return Impact{}, err
	}
	appended, err := s.append(Command{}, id, before, ruled)
	if err != nil {
		return Impact{}, err
	}
	after := appended.After
	stateBefore, err := s.state(ctx, before)
	if err != nil {
		return Impact{}, err
	}
	stateAfter, err := s.state(ctx, after)
	if err != nil {
		return Impact{}, err
	}
	was, err := s.readout(ctx, before, stateBefore)
	if err != nil {
		return Impact{}, err
	}
	would, err := s.readout(ctx, after, stateAfter)
	if err != nil {
		return Impact{}, err
	}
	impact := Impact{
		Trial: *after.Trial(c.Number), Multipliers: map[string][2]float64{}, Violation: map[string][2]ViolationOut{},
		Recommendation: [2]*Recommendation{was.Recommendation, would.Recommendation}, DecisionsAfter: decisionsAfter(before, c),
	}
	for name, q := range was.Multipliers {
		impact.Multipliers[name] = [2]float64{q, would.Multipliers[name]}
	}
	for name, v := range was.Violation {
		impact.Violation[name] = [2]ViolationOut{v, would.Violation[name]}
	}
	if impact.NextBefore, err = s.nextChoice(ctx, before, stateBefore); err != nil {
		return Impact{}, err
	}
	impact.NextAfter, err = s.nextChoice(ctx, after, stateAfter)
	return impact, err
}

// decisionsAfter counts the decisions that had seen what is to be corrected.
func decisionsAfter(snap *ledger.Snapshot, c Correction) int {
	trial := snap.Trial(c.Number)
	first := int64(0) // the earliest event that is corrected
	note := func(seq int64) {
		if first == 0 || seq < first {
			first = seq
		}
	}
	for name := range c.Metrics {
		note(trial.Metrics[name].ToldSeq)
	}
	if c.Parameters != nil {
		note(trial.ChosenSeq)
	}
	count := 0
	for i := range snap.Trials {
		if t := snap.Trials[i]; t.Decision != nil && t.Number > c.Number && t.Seen >= first {
			count++
		}
	}
	return count
}

// nextChoice is what the algorithm would choose now, with the model as it is; nil when it may choose nothing, or when the choice needs a context
// that only the next ask brings.
func (s *Service) nextChoice(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*design.Settings, error) {
	known, faults := snap.Compiled().Known(design.Brought{}, "body")
	if len(faults) > 0 {
		return nil, nil
	}
	var d optimizer.Decision
	err := s.compute(ctx, snap.ID, func(ctx context.Context) (err error) {
		d, err = state.Suggest(ctx, known)
		return err
	})
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return nil, nil
	}
	if err != nil {
		return nil, notComputable(ctx, err)
	}
	settings := snap.Compiled().Settings(d.Place)
	return &settings, nil
}
