// Package testwait is how long tests wait for what must come.
package testwait

import (
	"testing"
	"time"
)

// Timeout bounds a wait that ends as soon as what is waited for has come. Only what hangs comes
// near it: on a quiet machine the slowest of these waits takes a few seconds, and the machine may
// be twenty times as busy.
const Timeout = 5 * time.Minute

// Pace is between two questions of whoever waits, who else would take the processor from what is
// waited for.
const Pace = 20 * time.Millisecond

// Eventually asks again and again until it is so, for what other goroutines and programs do.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for giveUp := time.Now().Add(Timeout); !so(); time.Sleep(Pace) {
		if time.Now().After(giveUp) {
			t.Fatal("in vain: " + what)
		}
	}
}
