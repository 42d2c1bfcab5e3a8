// Package memorytest measures how much memory something takes.
package memorytest

import "runtime"

// Held returns how many bytes of the heap are still reachable.
func Held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Allocated returns how many bytes do allocates in all, which is never less than it holds at any
// time. Nothing else may run at the same time.
func Allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
