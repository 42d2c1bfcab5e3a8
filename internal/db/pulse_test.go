package db

import (
	"sync"
	"testing"
)

// TestPulseIsLostAndFoundAtOnce: a timer says that the pulse is lost while the answer that was late
// says that it is found.
func TestPulseIsLostAndFoundAtOnce(t *testing.T) {
	t.Parallel()
	p := newPulse()
	var both sync.WaitGroup
	for _, says := range []func(){p.lost, p.found} {
		both.Go(func() {
			for range 1000 {
				says()
			}
		})
	}
	both.Wait()
	if p.found(); p.now().Err() != nil {
		t.Error("the pulse was found and is lost")
	}
	if p.lost(); p.now().Err() == nil {
		t.Error("the pulse was lost and is there")
	}
}
