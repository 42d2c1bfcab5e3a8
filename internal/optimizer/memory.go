package optimizer

import (
	"unsafe"

	"headroom/internal/optimizer/gp"
)

// Bytes is the memory that the state holds, in bytes: factors, responses, histories and traces, what its parts share counted once. What it
// shares with the configuration is not counted.
func (s *State) Bytes() int64 {
	t := tally{seen: map[*float64]bool{}}
	for _, e := range s.eraList {
		for _, g := range e.groups {
			t.group(g)
		}
		for _, g := range e.own {
			t.group(g)
		}
		t.all(e.whitened)
		for _, y := range e.answers {
			t.floats(y.items)
		}
	}
	t.view(s.next)
	t.view(s.display)
	t.all(s.path.items)
	t.floats(s.multipliers)
	t.history(s.history)
	t.trace(s)
	return t.bytes
}

// tally adds up slices, each backing array once.
type tally struct {
	seen  map[*float64]bool
	bytes int64
}

const (
	floatBytes = int64(unsafe.Sizeof(float64(0)))
	sliceBytes = int64(unsafe.Sizeof([]float64{}))
)

func (t *tally) floats(v []float64) {
	if cap(v) == 0 {
		return
	}
	if first := unsafe.SliceData(v); !t.seen[first] {
		t.seen[first] = true
		t.bytes += floatBytes * int64(cap(v))
	}
}

func (t *tally) all(rows [][]float64) {
	t.bytes += sliceBytes * int64(cap(rows))
	for _, row := range rows {
		t.floats(row)
	}
}

func (t *tally) data(d *gp.Data) { d.Hold(t.floats) }

func (t *tally) group(g *group) {
	t.bytes += int64(unsafe.Sizeof(arrival{})) * int64(cap(g.order))
	if g.data != nil {
		t.data(g.data)
	}
	if fixed := g.solutions.upTo(len(g.order)); fixed != nil {
		fixed.Hold(t.floats)
	}
	if g.standing != nil {
		if g.standing.arms != nil {
			g.standing.arms.Hold(t.floats)
		}
		t.bytes += int64(unsafe.Sizeof(glimpse{})) * int64(cap(g.standing.glimpses.items))
		for i := range g.standing.glimpses.items {
			t.floats(g.standing.glimpses.items[i].means)
		}
	}
}

func (t *tally) view(v *view) {
	if v == nil {
		return
	}
	for i := range v.sources {
		if src := &v.sources[i]; src.data != nil {
			t.data(src.data)
		} else if src.narrowed != nil {
			src.narrowed.Hold(t.floats)
		}
		t.all(v.sources[i].z)
		t.bytes += int64(unsafe.Sizeof(int(0))) * int64(cap(v.sources[i].rounds))
	}
}

func (t *tally) history(h *History) {
	t.bytes += int64(unsafe.Sizeof(Round{})) * int64(cap(h.Rounds))
	for i := range h.Rounds {
		r := &h.Rounds[i]
		t.floats(r.Point)
		t.floats(r.Costs)
		t.floats(r.Draw.Z)
		t.bytes += int64(unsafe.Sizeof(Reading{}))*int64(len(r.Readings)) + int64(unsafe.Sizeof(Spell{}))*int64(len(r.Closed))
	}
}

func (t *tally) trace(s *State) {
	s.trace.mu.Lock()
	defer s.trace.mu.Unlock()
	t.bytes += int64(unsafe.Sizeof(RoundTrace{})) * int64(cap(s.trace.rounds))
	for i := range s.trace.rounds {
		r := &s.trace.rounds[i]
		t.floats(r.Beta)
		t.floats(r.InformationGain)
		t.floats(r.latent)
		t.bytes += int64(unsafe.Sizeof(Prediction{})) * int64(cap(r.Ahead))
	}
}
