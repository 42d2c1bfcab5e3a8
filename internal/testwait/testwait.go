// Package testwait is how long tests wait for what must come.
package testwait

import "time"

// Timeout bounds a wait that ends as soon as what is waited for has come. Only what hangs comes
// near it: on a quiet machine the slowest of these waits takes a few seconds, and the machine may
// be twenty times as busy.
const Timeout = 5 * time.Minute
