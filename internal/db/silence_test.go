package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"headroom/internal/must"
	"headroom/internal/study"
)

// TestHowLongAnAnswerMayTakeIsTheURLs: a database that is silent for longer opens the breaker.
func TestHowLongAnAnswerMayTakeIsTheURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]time.Duration{"postgres://db/x": answerTimeout, "postgres://db/x?connect_timeout=60": time.Minute} {
		config := must.Get(poolConfig(url))(t)
		synctest.Test(t, func(t *testing.T) {
			l := newListener(config.ConnConfig, newBreaker(), newFence(""))
			opened, start := l.breaker.now(), time.Now()
			err := l.probe(t.Context(), time.Hour, func(context.Context) error {
				<-opened.Done()
				return errors.New("too late")
			})
			if took := time.Since(start); took != want || !errors.Is(err, errSilent) {
				t.Errorf("%s: given up after %v with %v", url, took, err)
			}
		})
	}
}

// TestLimitsAreTheURLs: of a statement, of waiting for a lock, and of a transaction that is idle.
func TestLimitsAreTheURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][3]string{"postgres://db/x": {"30000", "5000", "10000"}, "postgres://db/x?lock_timeout=60000": {"30000", "60000", "10000"}} {
		said := must.Get(poolConfig(url))(t).ConnConfig.RuntimeParams
		if got := [3]string{said["statement_timeout"], said["lock_timeout"], said["idle_in_transaction_session_timeout"]}; got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// TestWhatMeansThatTheDatabaseIsAway, as it is told to a caller who still waits and to one who has
// left.
func TestWhatMeansThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, c := range []struct {
		ctx         context.Context
		err         error
		away, later bool
	}{
		{t.Context(), io.ErrUnexpectedEOF, true, false}, {left, io.ErrUnexpectedEOF, true, false}, {t.Context(), driver.ErrBadConn, true, false},
		{t.Context(), context.Canceled, true, false}, {left, context.Canceled, false, false},
		{t.Context(), &pgconn.PgError{Code: "53300"}, true, true}, {t.Context(), &pgconn.PgError{Code: "23505"}, false, false},
	} {
		said := unavailable(c.ctx, c.err)
		if _, later := errors.AsType[*study.Later](said); errors.Is(said, study.ErrUnavailable) != c.away || later != c.later {
			t.Errorf("%v to one who has left: %t, becomes %v; want it away: %t, to be tried later: %t", c.err, c.ctx == left, said, c.away, c.later)
		}
	}
}

// TestMuchMayTakeLongerToBeCommitted than a single result.
func TestMuchMayTakeLongerToBeCommitted(t *testing.T) {
	t.Parallel()
	for sent, want := range map[int]time.Duration{0: confirmLimit, 1 << 20: confirmLimit + sendLimit, 8 << 20: confirmLimit + 8*sendLimit} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := confirming(t.Context(), sent)
			defer cancel()
			if ends, _ := ctx.Deadline(); time.Until(ends) != want {
				t.Errorf("%d bytes have %v, want %v", sent, time.Until(ends), want)
			}
		})
	}
}
