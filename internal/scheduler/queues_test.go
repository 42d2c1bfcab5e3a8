package scheduler

import (
	"context"
	"errors"
	"testing"
)

// TestQueuesHaveAsManyPlacesAsTheySay: the zero value has one, and other studies are not kept
// waiting.
func TestQueuesHaveAsManyPlacesAsTheySay(t *testing.T) {
	t.Parallel()
	for places, q := range map[int]*Queues{1: {}, 3: {Places: 3}} {
		var leave func()
		for range places {
			var err error
			if leave, err = q.Enter(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
		}
		impatient, give := context.WithCancel(t.Context())
		refused := make(chan error)
		go func() {
			_, err := q.Enter(impatient, "one")
			refused <- err
		}()
		if _, err := q.Enter(t.Context(), "another"); err != nil {
			t.Error(err)
		}
		give()
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("with %d places taken, one more got %v", places, err)
		}
		leave()
		if _, err := q.Enter(t.Context(), "one"); err != nil {
			t.Error(err)
		}
	}
}
