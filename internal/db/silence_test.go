package db

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"headroom/internal/must"
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
