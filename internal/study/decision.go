package study

import (
	"context"
	"errors"
	"fmt"

	"headroom/internal/optimizer"
)

// chooser makes decisions one after another on a history that grows in memory: each sees the earlier ones as pending.
type chooser struct {
	compiled *compiled
	history  *optimizer.History
	state    *optimizer.State
	seen     int64
	fit      *FittedData // made just now, to be written before the decisions
	told     bool        // whether any trial is known to be within every limit
}

// chosenPoint is a decision with what the ledger keeps of it.
type chosenPoint struct {
	settings Settings
	place    optimizer.Place
	decision Decision
	known    map[string]float64
}

// chooser starts from snap, after the fit that is due, if it is ready in time.
func (s *Service) chooser(ctx context.Context, snap *Snapshot) (*chooser, error) {
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	feasible, _ := snap.Feasibility()
	c := &chooser{compiled: snap.compiled, history: snap.replay.history, state: state, seen: snap.Version, told: feasible > 0}
	if !state.FitDue() {
		return c, nil
	}
	if fit := s.fits.within(ctx, s, snap, state); fit != nil {
		fit.From = state.Round()
		c.fit = fit
		c.history = &optimizer.History{Rounds: c.history.Rounds, Fits: fitsFor(c.compiled, append(snap.Fits[:len(snap.Fits):len(snap.Fits)], *fit))}
		return c, c.extend(ctx, s)
	}
	return c, nil
}

func (c *chooser) extend(ctx context.Context, s *Service) error {
	release, err := s.computing(ctx)
	if err != nil {
		return err
	}
	defer release()
	c.state, err = c.state.Extend(ctx, c.history)
	return err
}

// suggest lets the algorithm make the next decision.
func (c *chooser) suggest(ctx context.Context, s *Service, known optimizer.Known, values knownInputs) (chosenPoint, error) {
	release, err := s.computing(ctx)
	if err != nil {
		return chosenPoint{}, err
	}
	d, err := c.state.Suggest(ctx, known)
	release()
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return chosenPoint{}, conflict("No setting may be chosen now: %s allows none of them. Raise a limit, make settings available again, or change the algorithm.", c.compiled.Def.Algorithm.Name)
	}
	if err != nil {
		return chosenPoint{}, err
	}
	return c.keep(c.compiled.settings(d.Place), d, values)
}

// own records what the algorithm makes of a person's choice.
func (c *chooser) own(ctx context.Context, settings Settings, place optimizer.Place, known optimizer.Known, values knownInputs) (chosenPoint, error) {
	d, err := c.state.Own(ctx, place, known)
	if err != nil {
		return chosenPoint{}, err
	}
	return c.keep(settings, d, values)
}

func (c *chooser) keep(settings Settings, d optimizer.Decision, values knownInputs) (chosenPoint, error) {
	known, faults := c.compiled.knownAt(settings, d.Place, values.context, values.values, "body")
	if err := invalid(faults); err != nil {
		return chosenPoint{}, err
	}
	kept := decisionRecord(c.compiled, c.state, d)
	kept.Seen = c.seen
	// Settings are written in clean decimals; later decisions must see the point that the ledger gives back, to the last bit.
	return chosenPoint{settings, c.compiled.locate(settings, d.Place.Arm), kept, known}, nil
}

// took adds the choice to the history, so that the next decision sees it as pending.
func (c *chooser) took(ctx context.Context, s *Service, p chosenPoint, suggested bool) error {
	draw := optimizer.Draw{Seed: p.decision.RandomSeed, Z: p.decision.Draws}
	c.history = withChoice(c.history, p.place, suggested, givenCosts(c.compiled.Def, p.known), draw, len(c.compiled.MetricNames))
	return c.extend(ctx, s)
}

// event is the ledger's account of the choice.
func (p chosenPoint) event(number int, origin Origin, values knownInputs) ChosenData {
	return ChosenData{
		Number: number, Origin: origin, Parameters: p.settings, Candidate: candidateOf(p.place), Decision: &p.decision,
		Seen: p.decision.Seen, Engine: p.decision.Engine,
		Context: values.context, ConstraintValues: values.values, KnownValues: p.known,
	}
}

// knownInputs are what a caller brings for constraints of known form.
type knownInputs struct {
	context map[string]float64
	values  map[string][]float64
}

func candidateOf(place optimizer.Place) *int {
	if place.Arm < 0 {
		return nil
	}
	arm := place.Arm
	return &arm
}

// decisionRecord keys the numbers of a decision by metric and constraint.
func decisionRecord(c *compiled, state *optimizer.State, d optimizer.Decision) Decision {
	kept := Decision{
		Engine: optimizer.Engine, Algorithm: c.Def.Algorithm.Name,
		Beta: keyed(c.MetricNames, d.Beta), Multipliers: keyed(c.ConstraintNames, d.Multipliers),
		Mean: keyed(c.MetricNames, d.Mean), SD: keyed(c.MetricNames, d.SD), Estimates: estimates(c, d.Estimates),
		RandomSeed: d.Draw.Seed, Draws: d.Draw.Z, Model: map[string]MetricModel{},
		FeasibilityProbability: d.FeasibilityProbability, Reason: string(d.Reason),
	}
	if d.HasScore && finite(d.Acquisition) {
		kept.Acquisition = &d.Acquisition
	}
	if r := d.RunnerUp; r != nil && finite(r.Acquisition) {
		kept.RunnerUp = &RunnerUp{Parameters: c.settings(r.Place), Acquisition: r.Acquisition}
	}
	for k, m := range state.Models() {
		kept.Model[c.MetricNames[k]] = MetricModel{
			Kernel: m.Kernel.Name, Lengthscales: m.Kernel.Lengthscales, Variance: m.Kernel.Variance,
			Lambda: m.Lambda, Centre: m.Centre, Scale: m.Scale,
		}
	}
	return kept
}

// keyed is values by name; empty where the algorithm has none.
func keyed(names []string, values []float64) map[string]float64 {
	by := make(map[string]float64, len(values))
	for i, v := range values {
		if i < len(names) && finite(v) {
			by[names[i]] = v
		}
	}
	return by
}

// estimates are the reward's, under the objective's metric, and each constraint's under its name.
func estimates(c *compiled, values []float64) map[string]float64 {
	by := map[string]float64{}
	for i, v := range values {
		switch name := c.Def.Objective.Metric; {
		case !finite(v):
		case i == 0:
			by[name] = v
		case c.ConstraintNames[i-1] == name: // a limit on the objective itself
			by[fmt.Sprintf("%s (limit)", name)] = v
		default:
			by[c.ConstraintNames[i-1]] = v
		}
	}
	return by
}
