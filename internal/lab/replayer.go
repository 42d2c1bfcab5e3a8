package lab

import (
	"context"

	"headroom/internal/optimizer"
)

// replayer decides as a study does: by the state of the history so far, fitting when a fit is due.
type replayer struct {
	state   *optimizer.State
	history optimizer.History
	fits    []optimizer.Fit
}

func newReplayer(cfg *optimizer.Config) (player, error) {
	state, err := optimizer.Replay(context.Background(), cfg, &optimizer.History{})
	return &replayer{state: state}, err
}

func (r *replayer) choose(ctx context.Context, known optimizer.Known) (choice, error) {
	if r.state.FitDue() {
		fit, err := r.state.FitNow(ctx)
		if err != nil {
			return choice{}, err
		}
		r.fits = append(r.fits, fit)
		if err := r.extend(ctx); err != nil {
			return choice{}, err
		}
	}
	d, err := r.state.Suggest(ctx, known)
	return choice{d.Place, d.Multipliers, d.Draw}, err
}

func (r *replayer) learn(ctx context.Context, h *optimizer.History) error {
	r.history = *h
	return r.extend(ctx)
}

func (r *replayer) extend(ctx context.Context) error {
	h := r.history
	h.Fits = r.fits
	state, err := r.state.Extend(ctx, &h)
	if err != nil {
		return err
	}
	r.state = state
	return nil
}
