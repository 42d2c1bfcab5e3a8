package study

import (
	"context"
	"errors"
	"fmt"

	"headroom/internal/optimizer"
)

// mostCompared is how many algorithms one comparison can name.
const mostCompared = 20

// Compare asks each of the algorithms what it would choose next on the history of snap.
func (s *Service) Compare(ctx context.Context, snap *Snapshot, with []Algorithm) ([]Choice, error) {
	if len(with) == 0 || len(with) > mostCompared {
		return nil, fault("body.algorithms", fmt.Sprintf("1 to %d algorithms are needed", mostCompared), len(with))
	}
	known, faults := snap.compiled.known(nil, nil, "body")
	if len(faults) > 0 {
		return nil, fault("body.algorithms", "a study whose constraints need a context or sampled values at each decision cannot be compared", nil)
	}
	others := make([]*compiled, len(with))
	for i, algorithm := range with {
		var err error
		if others[i], err = snap.compileWith(algorithm); err != nil {
			return nil, relocate(err, "body.algorithm", indexed("body.algorithms", i))
		}
	}
	choices := make([]Choice, len(with))
	for i, c := range others {
		var err error
		if choices[i], err = s.choiceOf(ctx, snap, c, known); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// compileWith is the study under another algorithm.
func (snap *Snapshot) compileWith(algorithm Algorithm) (*compiled, error) {
	d := snap.Definition
	if algorithm.Horizon == 0 {
		algorithm.Horizon = d.Algorithm.Horizon
	}
	d.Algorithm = algorithm
	checked, err := d.Check()
	if err != nil {
		return nil, err
	}
	return compile(checked)
}

func (s *Service) choiceOf(ctx context.Context, snap *Snapshot, c *compiled, known optimizer.Known) (Choice, error) {
	release, err := s.computing(ctx)
	if err != nil {
		return Choice{}, err
	}
	defer release()
	state, err := optimizer.Replay(ctx, c.Config, snap.history(c))
	if err != nil {
		return Choice{}, fmt.Errorf("%s: %w", c.Def.Algorithm.Name, err)
	}
	d, err := state.Suggest(ctx, known)
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return Choice{Name: c.Def.Algorithm.Name, Because: "It allows none of the settings."}, nil
	}
	if err != nil {
		return Choice{}, err
	}
	settings := c.settings(d.Place)
	kept, faults := c.knownAt(settings, d.Place, nil, nil, "body")
	if err := invalid(faults); err != nil {
		return Choice{}, err
	}
	feasible, _ := snap.Feasibility()
	point := chosenPoint{settings, d.Place, decisionRecord(c, state, d), kept}
	return Choice{Name: c.Def.Algorithm.Name, Parameters: settings,
		Because: explain(c.Def, state.Round(), point, chosenBy{withinLimits: feasible > 0})}, nil
}

// relocate moves the faults of err from one place in the request to another.
func relocate(err error, from, to string) error {
	var faulty *Invalid
	if !errors.As(err, &faulty) {
		return err
	}
	moved := &Invalid{}
	for _, f := range faulty.Faults {
		if len(f.Location) >= len(from) && f.Location[:len(from)] == from {
			f.Location = to + f.Location[len(from):]
		}
		moved.Faults = append(moved.Faults, f)
	}
	return moved
}
