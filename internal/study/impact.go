package study

import (
	"context"
	"errors"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Impact is what a correction, or a change of limits, bounds or settings, would change, before it
// is made. Pairs are before and after.
type Impact struct {
	Trial          *ledger.Trial              `json:"trial,omitempty"`   // that would be corrected, as it would be
	Changes        []design.Change            `json:"changes,omitempty"` // of the definition
	Trials         [2]Standing                `json:"trials"`
	Turned         []TurnedTrial              `json:"turned"` // those of which it would be otherwise whether they are within every limit
	Multipliers    map[string][2]float64      `json:"multipliers"`
	Violation      map[string][2]ViolationOut `json:"violation"`
	Recommendation [2]*Recommendation         `json:"recommendation"`
	DecisionsAfter int                        `json:"decisions_after"` // decisions that had seen the old value, of a correction
	NextBefore     *design.Settings           `json:"next_before"`     // what the next ask would suggest, with the model as it is fitted now
	NextAfter      *design.Settings           `json:"next_after"`
	Refitted       bool                       `json:"refitted"`           // the next ask would fit the model again, and may suggest something else
	Withheld       string                     `json:"withheld,omitempty"` // why nothing can be said of the model
}

// Standing counts trials by whether they are within every limit.
type Standing struct {
	Within  int `json:"within"`
	Broken  int `json:"broken"`
	Unknown int `json:"unknown"` // not every limit's metric was read
}

// TurnedTrial is a trial before and after; null where not every limit's metric was read.
type TurnedTrial struct {
	Number int   `json:"number"`
	Before *bool `json:"before"`
	After  *bool `json:"after"`
}

// PreviewCorrection works out what a correction would change and stores nothing.
func (s *Service) PreviewCorrection(ctx context.Context, id string, c Correction) (Impact, error) {
	before, after, impact, err := s.preview(ctx, id, func(now *ledger.Snapshot) (ruling, error) { return ruleCorrect(now, c) })
	if err != nil {
		return Impact{}, err
	}
	impact.Trial, impact.DecisionsAfter = after.Trial(c.Number), decisionsAfter(before, c)
	return impact, nil
}

// PreviewReconfiguration works out what a change of the definition would change and stores nothing.
func (s *Service) PreviewReconfiguration(ctx context.Context, id string, change design.Reconfiguration) (Impact, error) {
	before, after, impact, err := s.preview(ctx, id, func(now *ledger.Snapshot) (ruling, error) { return ruleReconfigure(now, change) })
	if err != nil {
		return Impact{}, err
	}
	impact.Changes, err = design.Differences(before.Definition, after.Definition)
	return impact, err
}

func (s *Service) preview(ctx context.Context, id string, rule func(now *ledger.Snapshot) (ruling, error)) (before, after *ledger.Snapshot, impact Impact, err error) {
	if before, err = s.latest(ctx, id); err != nil {
		return nil, nil, Impact{}, err
	}
	ruled, err := rule(before)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	appended, err := s.append(Command{}, id, before, ruled)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	after = appended.After
	was, next, why, err := s.outlook(ctx, before)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	would, nextThen, whyThen, err := s.outlook(ctx, after)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	impact = Impact{
		Trials: [2]Standing{standing(before), standing(after)}, Turned: turned(before, after),
		Multipliers: map[string][2]float64{}, Violation: map[string][2]ViolationOut{},
		Recommendation: [2]*Recommendation{was.Recommendation, would.Recommendation}, NextBefore: next, NextAfter: nextThen, Refitted: would.FitPending, Withheld: whyThen,
	}
	if whyThen == "" {
		impact.Withheld = why
	}
	for name, q := range was.Multipliers {
		impact.Multipliers[name] = [2]float64{q, would.Multipliers[name]}
	}
	for name, v := range was.Violation {
		impact.Violation[name] = [2]ViolationOut{v, would.Violation[name]}
	}
	return before, after, impact, nil
}

// outlook is what the model makes of the study, and what would be suggested next; without them why,
// where the model cannot be computed.
func (s *Models) outlook(ctx context.Context, snap *ledger.Snapshot) (readout Readout, next *design.Settings, why string, err error) {
	state, err := s.state(ctx, snap)
	if err == nil {
		readout, err = s.readout(ctx, snap, state)
	}
	if err == nil {
		next, err = s.nextChoice(ctx, snap, state)
	}
	if errors.Is(err, ErrConflict) {
		return readout, nil, err.Error(), nil
	}
	return readout, next, "", err
}

func standing(snap *ledger.Snapshot) Standing {
	within, known := snap.Feasibility()
	return Standing{Within: within, Broken: known - within, Unknown: len(snap.Trials) - known}
}

func turned(before, after *ledger.Snapshot) []TurnedTrial {
	list := []TurnedTrial{}
	for i, t := range before.Trials {
		was, would := t.Feasible, after.Trials[i].Feasible
		if (was == nil) != (would == nil) || was != nil && *was != *would {
			list = append(list, TurnedTrial{t.Number, was, would})
		}
	}
	return list
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

// nextChoice is what the algorithm would choose now, with the model as it is; nil when it may
// choose nothing, or when the choice needs a context that only the next ask brings.
func (s *Models) nextChoice(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*design.Settings, error) {
	known, faults := snap.Compiled().Known(design.Brought{})
	if len(faults) > 0 {
		return nil, nil
	}
	d, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (optimizer.Decision, error) { return state.Suggest(ctx, known) })
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return nil, nil
	}
	if err != nil {
		return nil, notComputable(ctx, err)
	}
	return new(snap.Compiled().Settings(d.Place)), nil
}
