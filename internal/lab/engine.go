package lab

import (
	"context"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
)

// engine decides as a study does: by the state of the history so far, fitting when a fit is due.
type engine struct {
	world   *rounds
	metrics []string
	state   *optimizer.State
	history optimizer.History
	fits    []optimizer.Fit
}

func newEngine(cfg *optimizer.Config, w *rounds) (*engine, error) {
	state, err := optimizer.Replay(context.Background(), cfg, &optimizer.History{})
	return &engine{world: w, state: state, metrics: lists.Map(cfg.Metrics, func(m optimizer.Metric) string { return m.Name })}, err
}

func (e *engine) choose(ctx context.Context, _ int) ([]move, error) {
	if e.state.FitDue() {
		fit, err := e.state.FitNow(ctx)
		if err != nil {
			return nil, err
		}
		e.fits = append(e.fits, fit)
		if err := e.extend(ctx); err != nil {
			return nil, err
		}
	}
	known := e.world.known()
	d, err := e.state.Suggest(ctx, known)
	if err != nil {
		return nil, err
	}
	round := optimizer.Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]optimizer.Reading, len(e.metrics))}
	for j := range known.Arms {
		round.Costs = append(round.Costs, known.Arms[j][d.Place.Arm])
	}
	if known.At != nil {
		for j := range e.world.in.Limits {
			round.Costs = append(round.Costs, known.At(j, d.Place.U))
		}
	}
	e.history.Rounds = append(e.history.Rounds, round)
	return []move{{d.Place, d.Multipliers}}, nil
}

// learn notes readings as told, leaving histories that states have been made of as they are.
func (e *engine) learn(ctx context.Context, told []outcome) error {
	now, copied := len(e.history.Rounds), false
	for _, o := range told {
		if o.Number != now && !copied {
			e.history.Rounds, copied = slices.Clone(e.history.Rounds), true
		}
		r := &e.history.Rounds[o.Number-1]
		r.Readings = slices.Clone(r.Readings)
		for i, name := range e.metrics {
			if reading, is := o.Metrics[name]; is {
				r.Readings[i] = optimizer.Reading{Value: reading.Value, Told: true, Revealed: now}
			}
		}
	}
	return e.extend(ctx)
}

func (e *engine) extend(ctx context.Context) error {
	h := e.history
	h.Fits = e.fits
	state, err := e.state.Extend(ctx, &h)
	if err == nil {
		e.state = state
	}
	return err
}
