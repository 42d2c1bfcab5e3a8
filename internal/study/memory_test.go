package study

import (
	"runtime/debug"
	"testing"
)

// The limit is the whole program's: tests beside this one run under it for a moment.
func TestTheCacheKeepsToTheProgramsMemory(t *testing.T) {
	before := debug.SetMemoryLimit(800 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if got := mostCached(); got != 400<<20 {
		t.Errorf("%d MiB of 800", got>>20)
	}
	debug.SetMemoryLimit(1 << 50)
	if got := mostCached(); got != 1<<30 {
		t.Errorf("%d MiB where there is no limit to speak of", got>>20)
	}
}
