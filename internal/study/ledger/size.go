package ledger

import (
	"unsafe"

	"headroom/internal/memory"
)

// Identity tells a version of a study from all others, and as it is from one as it might be.
func (snap *Snapshot) Identity() (id string, version int64, hash string) {
	return snap.ID, snap.Version, snap.Hash
}

// BytesBeside is the memory that snap holds and none of others does, which are other versions of
// the same study. It costs little where little differs.
func (snap *Snapshot) BytesBeside(others ...*Snapshot) int64 {
	m := memory.NewMeter()
	if len(others) == 0 {
		return m.Of(snap)
	}
	for _, other := range others {
		m.Of(other.values) // which trials share
	}
	bytes := m.Of(snap.values) + int64(unsafe.Sizeof(*snap)) + int64(cap(snap.Trials)+cap(snap.records))*int64(unsafe.Sizeof(uintptr(0)))
	for i := range snap.Trials {
		bytes += snap.trialBeside(m, i, others)
	}
	fits, definition := true, true
	for _, other := range others {
		if len(other.Fits) == len(snap.Fits) {
			fits = false
		}
		if other.compiled == snap.compiled {
			definition = false
		}
	}
	if fits {
		for _, other := range others {
			m.Of(other.Fits)
		}
		bytes += m.Of(snap.Fits)
	}
	if definition {
		bytes += m.Of(snap.compiled) + m.Of(snap.Definition)
	}
	return bytes
}

// trialBeside is BytesBeside of the trial at index i, which was touched together with its record or
// not at all. What a touched trial took over from another version's counts as that one's.
func (snap *Snapshot) trialBeside(m *memory.Meter, i int, others []*Snapshot) int64 {
	for _, other := range others {
		if i < len(other.Trials) && other.Trials[i] == snap.Trials[i] {
			return 0
		}
	}
	for _, other := range others {
		if i < len(other.Trials) {
			m.Of(other.Trials[i])
			m.Of(other.records[i])
		}
	}
	return m.Of(snap.Trials[i]) + m.Of(snap.records[i])
}
