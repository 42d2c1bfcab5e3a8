package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headroom/internal/must"
	"headroom/internal/supervisor"
)

func TestJobsEndInTheirOwnWays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := supervisor.New(slog.New(slog.NewTextHandler(&log, nil)))
		wrong := errors.New("no luck")
		jobs := map[string]func(ctx context.Context) error{
			"fine":   func(context.Context) error { return nil },
			"failed": func(context.Context) error { return wrong },
			"panics": func(context.Context) error { panic("out of range") },
			"slow":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		}
		ended := map[string]error{}
		for kind, job := range jobs {
			must.Do(t, s.Go(t.Context(), kind, "study x", time.Second, job, func(err error) { ended[kind] = err }))
			synctest.Wait()
		}
		if f := s.Counts()["slow"]; f.Running != 1 {
			t.Errorf("under way: %+v", f)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := map[string]supervisor.Counts{"fine": {Done: 1}, "failed": {Failed: 1}, "panics": {Panicked: 1}, "slow": {TimedOut: 1, Took: time.Second}}
		for kind, f := range s.Counts() {
			if f != want[kind] {
				t.Errorf("%s: %+v, want %+v", kind, f, want[kind])
			}
		}
		if ended["fine"] != nil || !errors.Is(ended["failed"], wrong) || !errors.Is(ended["panics"], supervisor.ErrPanicked) || !errors.Is(ended["slow"], context.DeadlineExceeded) {
			t.Errorf("told %v", ended)
		}
		for _, said := range []string{"no luck", "out of range", "took too long", "study x"} {
			if !strings.Contains(log.String(), said) {
				t.Errorf("the log does not say %q: %s", said, &log)
			}
		}
	})
}

func TestStopEndsJobsAndBeginsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := supervisor.New(slog.New(slog.DiscardHandler))
		var ended error
		must.Do(t, s.Go(t.Context(), "fit", "", time.Hour, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, func(err error) { ended = err }))
		s.Stop()
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("Stop came back with the job's end %v", ended)
		}
		if err := s.Go(t.Context(), "fit", "", time.Hour, func(context.Context) error { return nil }, nil); !errors.Is(err, supervisor.ErrStopping) {
			t.Errorf("a job began after the stop: %v", err)
		}
		if f := s.Counts()["fit"]; f.Failed != 0 || f.Running != 0 {
			t.Errorf("a job that was ended by the stop counts as %+v", f)
		}
	})
}

// What is done for a caller ends with the caller, who has not failed by leaving, and is refused
// once the program stops.
func TestWorkForACallerEndsWithThem(t *testing.T) {
	t.Parallel()
	s := supervisor.New(slog.New(slog.DiscardHandler))
	ctx, leave := context.WithCancel(t.Context())
	err := s.Do(ctx, "part", "x", time.Minute, func(ctx context.Context) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	})
	if f := s.Counts()["part"]; !errors.Is(err, context.Canceled) || f.Done != 1 || f.Failed != 0 || f.Running != 0 {
		t.Errorf("left: %v, %+v", err, f)
	}
	err = s.Do(ctx, "part", "x", time.Minute, func(context.Context) error { panic("over a stone") })
	if f := s.Counts()["part"]; !errors.Is(err, supervisor.ErrPanicked) || f.Done != 1 || f.Panicked != 1 {
		t.Errorf("panicked after they left: %v, %+v", err, f)
	}
	s.Stop()
	if err := s.Do(t.Context(), "part", "x", time.Minute, func(context.Context) error { return nil }); !errors.Is(err, supervisor.ErrStopping) {
		t.Errorf("after Stop: %v", err)
	}
}
