package study

import (
	"context"
	"errors"
	"fmt"

	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// mostCompared is how many algorithms one comparison can name.
const mostCompared = 20

// Compare asks each of the algorithms what it would choose next on the history of snap.
func (s *Models) Compare(ctx context.Context, snap *ledger.Snapshot, with []design.Algorithm) ([]Choice, error) {
	if len(with) == 0 || len(with) > mostCompared {
		return nil, design.NewInvalid("algorithms", fmt.Sprintf("1 to %d algorithms are needed", mostCompared), len(with))
	}
	var brought design.Brought
	if lab, err := labOf(snap); err == nil {
		brought = broughtBy(lab, snap)
	}
	known, faults := snap.Compiled().Known(brought)
	if len(faults) > 0 {
		return nil, design.NewInvalid("algorithms", "a study whose constraints need a context or sampled values at each decision cannot be compared", nil)
	}
	others := make([]*design.Compiled, len(with))
	for i, algorithm := range with {
		var err error
		if others[i], err = compileWith(snap.Definition, algorithm); err != nil {
			return nil, relocate(err, "algorithm", fmt.Sprintf("algorithms[%d]", i))
		}
	}
	choices := make([]Choice, len(with))
	for i, c := range others {
		var err error
		if choices[i], err = s.choiceOf(ctx, snap, c, known, brought); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// compileWith makes a study ready to compute with under another algorithm.
func compileWith(d design.Definition, algorithm design.Algorithm) (*design.Compiled, error) {
	if algorithm.Horizon == 0 {
		algorithm.Horizon = d.Algorithm.Horizon
	}
	d.Algorithm = algorithm
	checked, err := d.Check()
	if err != nil {
		return nil, err
	}
	return design.Compile(checked)
}

func (s *Models) choiceOf(ctx context.Context, snap *ledger.Snapshot, c *design.Compiled, known optimizer.Known, brought design.Brought) (Choice, error) {
	var state *optimizer.State
	var d optimizer.Decision
	err := s.Derived.Compute(scheduler.With(ctx, scheduler.Checking), snap.ID, func(ctx context.Context) (err error) {
		if state, err = optimizer.Replay(ctx, c.Config, snap.History(c)); err == nil {
			d, err = state.Suggest(ctx, known)
		}
		return err
	})
	if err != nil {
		return noChoice(ctx, c, err)
	}
	settings := c.Settings(d.Place)
	kept, faults := c.KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return Choice{}, err
	}
	feasible, _ := snap.Feasibility()
	point := chosenPoint{settings, d.Place, decisionRecord(c, state, d), kept}
	return Choice{Name: c.Def.Algorithm.Name, Parameters: &settings,
		Because: explain(c.Def, state.Round(), point, chosenBy{withinLimits: feasible > 0, unread: unread(snap)})}, nil
}

// noChoice is what an algorithm chooses that cannot choose.
func noChoice(ctx context.Context, c *design.Compiled, err error) (Choice, error) {
	because := "It allows none of the settings."
	switch {
	case ctx.Err() != nil:
		return Choice{}, ctx.Err()
	case !errors.Is(err, optimizer.ErrNoneAllowed):
		because = fmt.Sprintf("Its model cannot be computed: %v.", err)
	}
	return Choice{Name: c.Def.Algorithm.Name, Because: because}, nil
}

// relocate moves the faults of err from one place in the request to another.
func relocate(err error, from, to string) error {
	var faulty *design.Invalid
	if !errors.As(err, &faulty) {
		return err
	}
	moved := &design.Invalid{}
	for _, f := range faulty.Faults {
		if len(f.Field) >= len(from) && f.Field[:len(from)] == from {
			f.Field = to + f.Field[len(from):]
		}
		moved.Faults = append(moved.Faults, f)
	}
	return moved
}
