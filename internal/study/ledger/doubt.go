package ledger

import (
	"math"
	"slices"
)

// Doubt is why a value looks wrong: it lies far above the highest value so far, or far below the lowest.
type Doubt struct {
	Above   bool
	Extreme float64 // the highest or lowest so far
}

// fewestToJudge is how many values must be known before a new one can look odd.
const fewestToJudge = 4

// Doubt judges a value of metric by those of the included trials; nil when it looks like them.
func (snap *Snapshot) Doubt(metric string, value float64) *Doubt {
	var known []float64
	for i := range snap.Trials {
		if m, told := snap.Trials[i].Metrics[metric]; told && !snap.Trials[i].Excluded {
			known = append(known, m.Value)
		}
	}
	return doubtBy(known, value)
}

// doubtBy doubts a value that lies further outside the known ones than twice their spread; where all are equal, than their size.
func doubtBy(known []float64, value float64) *Doubt {
	if len(known) < fewestToJudge {
		return nil
	}
	low, high := slices.Min(known), slices.Max(known)
	room := 2 * (high - low)
	if room == 0 {
		room = math.Abs(high)
	}
	switch {
	case value > high+room:
		return &Doubt{Above: true, Extreme: high}
	case value < low-room:
		return &Doubt{Extreme: low}
	}
	return nil
}
