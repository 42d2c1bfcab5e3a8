package optimizer

import (
	"encoding/binary"
	"math"
)

// teaches tells which of a list of places, candidates or a shortlist, a policy that avoids known ones may choose: those that are left, and were not played
// or whose reading may differ from the last.
func (s *decision) teaches() func(Place) bool {
	if !s.traits.AvoidsKnown || s.cfg.Space.Arms == nil && s.shortlist == nil || s.readingsVary() {
		return s.left
	}
	tried := s.tried()
	return func(p Place) bool { return s.left(p) && !tried(p) }
}

// tried tells which places a round that counts has tried or asked for.
func (s *study) tried() func(Place) bool {
	key := func(u []float64) string { return string(bitsOf(u)) }
	if s.cfg.Space.Arms == nil { // a ledger keeps settings in clean decimals, a little beside the place that was found
		key = func(u []float64) string {
			rounded := make([]float64, len(u))
			for k, x := range u {
				rounded[k] = math.Round(x * 1e6)
			}
			return string(bitsOf(rounded))
		}
	}
	played := map[string]bool{}
	for _, r := range s.history.Rounds {
		if !r.Excluded && !r.closedAt(s.Round()) {
			played[key(r.Point)] = true
		}
	}
	return func(p Place) bool { return played[key(p.U)] }
}

// readingsVary tells whether there is reason to believe that a second reading of the same settings would differ from the first: the noise of
// some metric is given, or came with a reading, or two readings of the same settings differed.
func (s *study) readingsVary() bool {
	for i, m := range s.cfg.Metrics {
		if !s.cfg.Fit || !m.FreeNoise {
			return true
		}
		first := map[string]float64{}
		for _, r := range s.history.Rounds {
			reading := r.Readings[i]
			if r.Excluded || !reading.Told {
				continue
			}
			at := string(bitsOf(r.Point))
			before, again := first[at]
			if reading.SD > 0 || again && reading.Value != before {
				return true
			}
			first[at] = reading.Value
		}
	}
	return false
}

// bitsOf are the bytes of numbers, which tell points apart.
func bitsOf(u []float64) []byte {
	bits := make([]byte, 0, 8*len(u))
	for _, x := range u {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x))
	}
	return bits
}
