package study

import (
	"context"
	"sync"
	"time"

	"headroom/internal/optimizer"
)

const (
	// patience is how long a request waits for a fit before it goes on with the model as it was.
	patience = 300 * time.Millisecond
	// fitTime bounds a fit in the background.
	fitTime = 2 * time.Minute
)

// fitter makes fits in the background, at most one for each study at a time.
type fitter struct {
	mu      sync.Mutex
	running map[string]*fitting
	ctx     context.Context
	cancel  context.CancelFunc
	all     sync.WaitGroup
}

// fitting is one fit under way.
type fitting struct {
	base *Snapshot
	done chan struct{}
	// Under fitter.mu: what came of it, and how many requests wait for it. Who waits when it is done writes it to the ledger;
	// if nobody does, the fitting itself does.
	result  *FittedData
	waiting int
}

func newFitter() *fitter {
	f := &fitter{running: map[string]*fitting{}}
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
func (f *fitter) within(ctx context.Context, s *Service, snap *Snapshot, state *optimizer.State) *FittedData {
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

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-job.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	job.waiting--
	if job.result == nil || !job.appliesTo(snap) {
		return nil
	}
	result := *job.result
	return &result
}

// appliesTo tells whether the fit may still be used: the data it was made from stand, and no other fit came between.
func (job *fitting) appliesTo(snap *Snapshot) bool {
	return snap.defined == job.base.defined && snap.rewritten == job.base.rewritten && snap.fitted == job.base.fitted
}

func (f *fitter) run(s *Service, job *fitting, state *optimizer.State) {
	defer f.all.Done()
	ctx, cancel := context.WithTimeout(f.ctx, fitTime)
	defer cancel()
	result := makeFit(ctx, s, job.base, state)
	f.mu.Lock()
	job.result = result
	nobody := job.waiting == 0
	delete(f.running, job.base.ID)
	close(job.done)
	f.mu.Unlock()
	if result != nil && nobody {
		f.write(ctx, s, job)
	}
}

func makeFit(ctx context.Context, s *Service, snap *Snapshot, state *optimizer.State) *FittedData {
	release, err := s.computing(ctx)
	if err != nil {
		return nil
	}
	defer release()
	fit, err := state.FitNow(ctx)
	if err != nil {
		return nil
	}
	return fittedData(snap, fit)
}

// write appends the fit to the ledger, before the next decision. It is dropped when it no longer applies: the next decision makes a new one.
func (f *fitter) write(ctx context.Context, s *Service, job *fitting) {
	_ = s.store.Choosing(ctx, job.base.ID, func(ctx context.Context) error {
		snap, err := s.latest(ctx, job.base.ID)
		if err != nil {
			return err
		}
		_, _, err = s.write(ctx, Command{By: optimizerName}, snap, func(now *Snapshot) (ruling, error) {
			if !job.appliesTo(now) {
				return ruling{}, conflict("The fit no longer applies.")
			}
			data := *job.result
			data.From = len(now.Trials) + 1
			return ruling{drafts: []draft{{Fitted, data}}}, nil
		})
		return err
	})
}

// optimizerName is how the ledger names fits that nobody waited for.
const optimizerName = "optimizer"

// fittedData keys a fit by metric.
func fittedData(snap *Snapshot, fit optimizer.Fit) *FittedData {
	c := snap.compiled
	data := &FittedData{From: fit.From, Seen: snap.Version, Engine: optimizer.Engine, Metrics: map[string]FittedMetric{}}
	for k, m := range fit.Metrics {
		if !m.Set {
			continue
		}
		data.Metrics[c.MetricNames[k]] = FittedMetric{
			Kernel: c.Config.Metrics[k].Kernel.Name, Inputs: c.Def.Model.Inputs, Outputs: c.Def.Model.Outputs,
			Centre: m.Centre, Scale: m.Scale, Lengthscales: m.Lengthscales, Lambda: m.Lambda, Count: m.Count,
		}
	}
	return data
}
