// Package supervisor runs background jobs. Each job recovers from panics, has a time limit, ends
// when the program does, and is counted.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"
)

// Supervisor runs jobs. Its methods are safe for concurrent use.
type Supervisor struct {
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	all   sync.WaitGroup
	kinds map[string]Counts
}

// Counts counts the jobs of one kind.
type Counts struct {
	Running                          int
	Done, Failed, TimedOut, Panicked int
	Took                             time.Duration // all jobs that have ended, added up
}

// ErrStopping is the error for a job that is not started because the program is stopping.
var ErrStopping = errors.New("the program is stopping")

// ErrPanicked is wrapped by the error of a job that panicked.
var ErrPanicked = errors.New("the job panicked")

// New returns a supervisor that logs failures to log.
func New(log *slog.Logger) *Supervisor {
	s := &Supervisor{log: log, kinds: map[string]Counts{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Go runs job in the background with a context that ends with ctx, after limit, or when the
// supervisor stops, and passes the job's error to ended. After Stop it runs nothing and returns
// ErrStopping. kind groups jobs in the counts; subject says in the log what the job was about.
func (s *Supervisor) Go(ctx context.Context, kind, subject string, limit time.Duration, job func(ctx context.Context) error, ended func(error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return ErrStopping
	}
	counts := s.kinds[kind]
	counts.Running++
	s.kinds[kind] = counts
	s.all.Go(func() {
		wanted, leave := context.WithCancel(ctx)
		defer leave()
		defer context.AfterFunc(s.ctx, leave)()
		within, cancel := context.WithTimeout(wanted, limit)
		defer cancel()
		start := time.Now()
		err := Recovered(within, job)
		s.end(kind, subject, err, time.Since(start), wanted.Err() == nil)
		ended(err)
	})
	return nil
}

// Do is Go for a caller who waits for the job and gets its error.
func (s *Supervisor) Do(ctx context.Context, kind, subject string, limit time.Duration, job func(ctx context.Context) error) error {
	ended := make(chan error, 1)
	if err := s.Go(ctx, kind, subject, limit, job, func(err error) { ended <- err }); err != nil {
		return err
	}
	return <-ended
}

// Recovered runs job and turns a panic into an error with the stack that wraps ErrPanicked.
func Recovered(ctx context.Context, job func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanicked, p, debug.Stack())
		}
	}()
	return job(ctx)
}

func (s *Supervisor) end(kind, subject string, err error, took time.Duration, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.kinds[kind]
	defer func() { s.kinds[kind] = counts }()
	counts.Running--
	counts.Took += took
	switch {
	case errors.Is(err, ErrPanicked):
		counts.Panicked++
		s.log.Error("a job panicked", "job", kind, "subject", subject, "error", err)
	case err == nil || !wanted:
		counts.Done++
	case errors.Is(err, context.DeadlineExceeded):
		counts.TimedOut++
		s.log.Warn("a job took too long and was ended", "job", kind, "subject", subject, "seconds", took.Seconds())
	default:
		counts.Failed++
		s.log.Warn("a job failed", "job", kind, "subject", subject, "error", err)
	}
}

// Stop cancels the running jobs and waits for them. No job starts afterwards.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.all.Wait()
}

// Counts returns the counts by kind of job.
func (s *Supervisor) Counts() map[string]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.kinds)
}
