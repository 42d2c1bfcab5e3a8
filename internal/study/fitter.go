package study

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

// fitTime bounds a fit in the background.
const fitTime = 2 * time.Minute

// fitter makes fits in the background, one at a time and at most one for each study, beside the replays that requests wait for.
type fitter struct {
	patience time.Duration // how long a request waits for a fit before it goes on with the model as it was
	log      *slog.Logger
	turn     chan struct{}

	mu      sync.Mutex
	running map[string]*fitting
	ctx     context.Context
	cancel  context.CancelFunc
	all     sync.WaitGroup
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

func newFitter(patience time.Duration, log *slog.Logger) *fitter {
	f := &fitter{patience: patience, log: log, turn: make(chan struct{}, 1), running: map[string]*fitting{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *fitter) stop() {
	f.mu.Lock()
	f.cancel()
	f.mu.Unlock()
	f.all.Wait()
}

// within starts the fit that is due, or joins the one that runs, and returns it if it is ready within patience. Later, the
// background writes it.
func (f *fitter) within(ctx context.Context, s *Service, snap *ledger.Snapshot, state *optimizer.State) *ledger.FittedData {
	f.mu.Lock()
	if f.ctx.Err() != nil {
		f.mu.Unlock()
		return nil
	}
	job := f.running[snap.ID]
	if job == nil {
		job = &fitting{base: snap, done: make(chan struct{})}
		f.running[snap.ID] = job
		f.all.Add(1)
		go f.run(s, job, state)
	}
	job.waiting++
	f.mu.Unlock()

	timer := time.NewTimer(f.patienceOf(ctx))
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
func (f *fitter) patienceOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(f.patience, time.Until(deadline)/2)
	}
	return f.patience
}

func (f *fitter) run(s *Service, job *fitting, state *optimizer.State) {
	defer f.all.Done()
	ctx, cancel := context.WithTimeout(f.ctx, fitTime)
	defer cancel()
	result, err := f.make(ctx, job.base, state)
	if err != nil && f.ctx.Err() == nil {
		f.log.Warn("a fit failed; the model stays as it was", "study", job.base.ID, "error", err)
	}
	f.mu.Lock()
	job.result = result
	nobody := job.waiting == 0
	delete(f.running, job.base.ID)
	close(job.done)
	f.mu.Unlock()
	if result == nil || !nobody {
		return
	}
	if err := f.write(ctx, s, job); err != nil && f.ctx.Err() == nil && !errors.Is(err, ErrConflict) {
		f.log.Warn("a fit could not be kept; the next decision makes it again", "study", job.base.ID, "error", err)
	}
}

func (f *fitter) make(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*ledger.FittedData, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fit, err := state.FitNow(ctx)
	if err != nil {
		return nil, err
	}
	return fittedData(snap, fit), nil
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
			Centre: m.Centre, Scale: m.Scale, Lengthscales: m.Lengthscales, Lambda: m.Lambda, Variance: m.Variance,
			Warp: ledger.WarpOf(m.Warp), Inflation: m.Inflation, Freedom: m.Freedom, Count: m.Count,
			NoiseBySetting: ledger.NoisesOf(m.Settings), WrongReadings: ledger.NoisesOf(m.Wrong),
		}
	}
	return data
}
