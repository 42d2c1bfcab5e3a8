// Package memorytest measures how much memory something takes.
package memorytest

import "runtime"

// Held is how many bytes the heap holds that something can still reach.
func Held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Allocated is how many bytes do allocates in all, which is never less than it holds at once.
// Nothing else may run beside it.
func Allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
