package ledger

import (
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
	bytes := int64(unsafe.Sizeof(*snap)) + int64(cap(snap.Trials)+cap(snap.records))*int64(unsafe.Sizeof(uintptr(0)))
	for i, trial := range snap.Trials {
		if i >= len(base.Trials) || trial != base.Trials[i] {
			bytes += m.Of(trial)
		}
		if i >= len(base.records) || snap.records[i] != base.records[i] {
			bytes += m.Of(snap.records[i])
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
