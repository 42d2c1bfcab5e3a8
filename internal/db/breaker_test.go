package db

import (
	"sync"
	"testing"
)

// TestBreakerOpensAndResetsAtOnce: a timer opens it while the answer that was late resets it.
func TestBreakerOpensAndResetsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBreaker()
	var both sync.WaitGroup
	for _, says := range []func(){b.open, b.reset} {
		both.Go(func() {
			for range 1000 {
				says()
			}
		})
	}
	both.Wait()
	if b.reset(); b.now().Err() != nil {
		t.Error("the breaker was reset and is open")
	}
	if b.open(); b.now().Err() == nil {
		t.Error("the breaker was opened and is closed")
	}
}
