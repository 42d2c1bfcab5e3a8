package optimizer

import "fmt"

// teaches tells which places a policy that avoids known candidates may choose: those that are left, and were not played or whose reading may
// differ from the last.
func (s *State) teaches() func(Place) bool {
	if !s.traits.AvoidsKnown || s.cfg.Space.Arms == nil || s.readingsVary() {
		return s.left
	}
	played := map[string]bool{}
	for _, r := range s.history.Rounds {
		if !r.Excluded && !r.closedAt(s.Round()) {
			played[fmt.Sprint(r.Point)] = true
		}
	}
	return func(p Place) bool { return s.left(p) && !played[fmt.Sprint(p.U)] }
}

// readingsVary tells whether there is reason to believe that a second reading of the same settings would differ from the first: the noise of
// some metric is given, or came with a reading, or two readings of the same settings differed.
func (s *State) readingsVary() bool {
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
			at := fmt.Sprint(r.Point)
			before, again := first[at]
			if reading.SD > 0 || again && reading.Value != before {
				return true
			}
			first[at] = reading.Value
		}
	}
	return false
}
