package study

import (
	"context"
	"errors"
	"sync"
	"time"

	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
	"headroom/internal/turns"
)

// fitTime bounds a fit in the background.
const fitTime = 2 * time.Minute

// firstPatience is how long a request waits for the first fit of all: without any, a model knows neither the scale of the readings nor how fast they
// change, and after an import of a thousand rows would choose blindly.
const firstPatience = 20 * time.Second

// fitter makes fits in the background, at most one for each study at a time.
type fitter struct {
	patience time.Duration // how long a request waits for a fit before it goes on with the model as it was
	jobs     *supervisor.Supervisor

	mu      sync.Mutex
	running map[string]*fitting
}

// fitting is one fit under way.
type fitting struct {
	base *ledger.Snapshot
	done chan struct{}
	// Under fitter.mu: what came of it, and how many requests wait for it. Who waits when it is done writes it to the ledger;
	// if nobody does, the fitting itself does.
	result  *ledger.FittedData
	waiting int
}

func newFitter(patience time.Duration, jobs *supervisor.Supervisor) *fitter {
	return &fitter{patience: patience, jobs: jobs, running: map[string]*fitting{}}
}

// within starts the fit that is due, or joins the one that runs, and returns it if it is ready within patience. Later, the
// background writes it.
func (f *fitter) within(ctx context.Context, s *Service, snap *ledger.Snapshot, state *optimizer.State) *ledger.FittedData {
	job := f.join(s, snap, state)
	if job == nil {
		return nil
	}

	timer := time.NewTimer(f.patienceOf(ctx, snap))
	defer timer.Stop()
	select {
	case <-job.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	job.waiting--
	if job.result == nil || !snap.FitStands(job.base) {
		return nil
	}
	result := *job.result
	return &result
}

// patienceOf leaves a request at least half of the time it has left.
func (f *fitter) patienceOf(ctx context.Context, snap *ledger.Snapshot) time.Duration {
	patience := f.patience
	if len(snap.Fits) == 0 {
		patience = max(patience, firstPatience)
	}
	if deadline, ok := ctx.Deadline(); ok {
		return min(patience, time.Until(deadline)/2)
	}
	return patience
}

// join starts a fit, or waits for the one that runs; nil when the service stops.
func (f *fitter) join(s *Service, snap *ledger.Snapshot, state *optimizer.State) *fitting {
	f.mu.Lock()
	defer f.mu.Unlock()
	job := f.running[snap.ID]
	if job == nil {
		job = &fitting{base: snap, done: make(chan struct{})}
		fit := func(ctx context.Context) error { return f.run(ctx, s, job, state) }
		ended := func(error) { f.leave(job, nil) } // whatever became of it, nobody waits on
		if !f.jobs.Go("fit", snap.ID, fitTime, fit, ended) {
			return nil
		}
		f.running[snap.ID] = job
	}
	job.waiting++
	return job
}

// run makes a fit, and writes it if nobody waits for it.
func (f *fitter) run(ctx context.Context, s *Service, job *fitting, state *optimizer.State) error {
	var fit optimizer.Fit
	err := s.compute(withUrgency(ctx, turns.Choosing), job.base.ID, func(ctx context.Context) (err error) {
		fit, err = state.FitNow(ctx)
		return err
	})
	if err != nil {
		return err
	}
	fitted := fittedData(job.base, fit)
	if err := checkFit(job.base, *fitted); err != nil {
		return err
	}
	if waitedFor := f.leave(job, fitted); waitedFor {
		return nil
	}
	err = f.write(ctx, s, job)
	if errors.Is(err, ErrConflict) {
		return nil // it no longer applies: the next decision makes a new one
	}
	return err
}

// leave tells those who wait what came of a fit, the first time it is called, and whether there are any.
func (f *fitter) leave(job *fitting, result *ledger.FittedData) (waitedFor bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[job.base.ID] == job {
		delete(f.running, job.base.ID)
		job.result = result
		close(job.done)
	}
	return job.waiting > 0
}

// write appends the fit to the ledger, before the next decision. It is dropped when it no longer applies: the next decision makes a new one.
func (f *fitter) write(ctx context.Context, s *Service, job *fitting) error {
	return s.store.Choosing(ctx, job.base.ID, func(ctx context.Context) error {
		snap, err := s.latest(ctx, job.base.ID)
		if err != nil {
			return err
		}
		_, _, err = s.write(ctx, Command{By: optimizerName}, snap, func(now *ledger.Snapshot) (ruling, error) {
			if !now.FitStands(job.base) {
				return ruling{}, conflict("The fit no longer applies.")
			}
			data := *job.result
			data.From = len(now.Trials) + 1
			return ruling{drafts: []ledger.Draft{{Kind: ledger.Fitted, Data: data}}}, nil
		})
		return err
	})
}

// optimizerName is how the ledger names fits that nobody waited for.
const optimizerName = "optimizer"

// fittedData keys a fit by metric.
func fittedData(snap *ledger.Snapshot, fit optimizer.Fit) *ledger.FittedData {
	c := snap.Compiled()
	data := &ledger.FittedData{From: fit.From, Seen: snap.Version, Engine: optimizer.Engine, Metrics: map[string]ledger.FittedMetric{}}
	for k, m := range fit.Metrics {
		if !m.Set {
			continue
		}
		data.Metrics[c.MetricNames[k]] = ledger.FittedMetric{
			Kernel: c.Config.Metrics[k].Kernel.Name, Inputs: c.Def.Model.Inputs, Outputs: c.Def.Model.Outputs,
			Centre: m.Centre, Scale: m.Scale, Lengthscales: m.Lengthscales, Lambda: m.Lambda, Variance: m.Variance, Interaction: m.Interaction,
			Warp: ledger.WarpOf(m.Warp), Inflation: m.Inflation, Freedom: m.Freedom, Count: m.Count,
			NoiseBySetting: ledger.NoisesOf(m.Settings), WrongReadings: ledger.NoisesOf(m.Wrong),
		}
	}
	return data
}
