package ledger

import (
	"reflect"
	"unsafe"

	"headroom/internal/memory"
)

// BytesSince is the memory that snap holds and base, an earlier version of the same study, does not; base nil stands for nothing. It costs little where
// little changed.
func (snap *Snapshot) BytesSince(base *Snapshot) int64 {
	if base == nil {
		return memory.NewMeter().Of(snap)
	}
	m := memory.NewMeter()
	bytes := int64(unsafe.Sizeof(*snap)) + int64(cap(snap.Trials))*int64(unsafe.Sizeof(Trial{})) + int64(cap(snap.records))*int64(unsafe.Sizeof(record{}))
	for i := range snap.Trials {
		if i >= len(base.Trials) || !sameContent(&snap.Trials[i], &base.Trials[i]) {
			bytes += m.Of(&snap.Trials[i]) + m.Of(&snap.records[i])
		}
	}
	if len(snap.Fits) != len(base.Fits) {
		bytes += m.Of(snap.Fits)
	}
	if snap.compiled != base.compiled {
		bytes += m.Of(snap.compiled) + m.Of(snap.Definition)
	}
	return bytes
}

// sameContent tells whether two versions of a trial share what they lead to.
func sameContent(a, b *Trial) bool {
	return a.Decision == b.Decision && sameMap(a.Metrics, b.Metrics) && sameMap(a.Parameters, b.Parameters)
}

func sameMap[K comparable, V any](a, b map[K]V) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
