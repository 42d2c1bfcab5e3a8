package optimizer

import (
	"unsafe"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
)

// Bytes is the memory that the state holds, in bytes: factors, responses, histories and traces, what its parts share counted once. What it
// shares with the configuration is not counted.
func (s *State) Bytes() int64 {
	held := holdings{seen: map[*float64]bool{}}
	held.bytes += int64(unsafe.Sizeof(*s))
	for _, e := range s.eraList {
		held.era(e)
		for _, g := range e.groups {
			held.group(g)
		}
		for _, g := range e.own {
			held.group(g)
		}
		held.all(e.whitened)
		for _, y := range e.answers {
			held.floats(y.items)
		}
	}
	held.view(s.next)
	held.view(s.shown.view)
	held.all(s.path.items)
	held.floats(s.multipliers)
	held.shortlist(s.next.shortlist)
	held.spent(s.spent)
	held.works(s.works)
	held.history(s.history)
	held.trace(s)
	return held.bytes
}

// holdings adds up the memory of slices, each backing array once.
type holdings struct {
	seen  map[*float64]bool
	bytes int64
}

const (
	floatBytes = int64(unsafe.Sizeof(float64(0)))
	sliceBytes = int64(unsafe.Sizeof([]float64{}))
)

func (held *holdings) floats(v []float64) {
	if cap(v) == 0 {
		return
	}
	if first := unsafe.SliceData(v); !held.seen[first] {
		held.seen[first] = true
		held.bytes += floatBytes * int64(cap(v))
	}
}

func (held *holdings) all(rows [][]float64) {
	held.bytes += sliceBytes * int64(cap(rows))
	for _, row := range rows {
		held.floats(row)
	}
}

// era adds what an era holds beside numbers.
func (held *holdings) era(e *era) {
	held.bytes += int64(unsafe.Sizeof(*e)) + int64(unsafe.Sizeof(metricModel{}))*int64(cap(e.models)) + int64(unsafe.Sizeof(transform{}))*int64(cap(e.transforms)) +
		sliceBytes*int64(cap(e.answers)+cap(e.whitened))
	for i := range e.models {
		held.floats(e.models[i].kernel.Lengthscales)
	}
}

func (held *holdings) group(g *group) {
	held.bytes += int64(unsafe.Sizeof(*g)) + int64(unsafe.Sizeof(*g.Data)) + int64(unsafe.Sizeof(kernel.Function{}))
	held.bytes += int64(unsafe.Sizeof(arrival{})) * int64(cap(g.order))
	if g.Data != nil {
		g.Data.Hold(held.floats)
	}
	g.Kept.Hold(held.floats)
	if g.standing != nil {
		if g.standing.arms != nil {
			g.standing.arms.Hold(held.floats)
		}
		held.bytes += int64(unsafe.Sizeof(posterior.Noted{})) * int64(cap(g.standing.glimpses.items))
		for i := range g.standing.glimpses.items {
			held.floats(g.standing.glimpses.items[i].Means)
		}
	}
}

func (held *holdings) view(v *view) {
	if v == nil {
		return
	}
	held.bytes += int64(unsafe.Sizeof(*v)) + int64(unsafe.Sizeof(v.sources[0]))*int64(cap(v.sources))
	for _, e := range v.contended.estimates {
		held.floats(e.Mean)
	}
	for i := range v.sources {
		v.sources[i].Hold(held.floats)
		held.bytes += int64(unsafe.Sizeof(int(0))) * int64(cap(v.sources[i].rounds))
	}
}

func (held *holdings) shortlist(list *shortlist) {
	if list == nil {
		return
	}
	held.bytes += int64(unsafe.Sizeof(*list)) + int64(unsafe.Sizeof(Place{}))*int64(cap(list.places))
	for _, p := range list.places {
		held.floats(p.U)
	}
	list.features.Hold(held.floats)
	list.indices.Hold(held.floats)
}

func (held *holdings) spent(spent *spent) {
	if spent != nil {
		held.all(spent.points)
		held.all(spent.inputs)
		held.floats(spent.inverse)
	}
}

func (held *holdings) works(w *works) {
	if w != nil {
		w.model.Hold(held.floats)
		held.all(w.outcomes.inputs)
		held.bytes += int64(cap(w.outcomes.worked))
	}
}

func (held *holdings) history(h *History) {
	held.bytes += int64(unsafe.Sizeof(Round{})) * int64(cap(h.Rounds))
	for i := range h.Rounds {
		r := &h.Rounds[i]
		held.floats(r.Point)
		held.floats(r.Costs)
		held.floats(r.Draw.Z)
		held.bytes += int64(unsafe.Sizeof(Reading{}))*int64(len(r.Readings)) + int64(unsafe.Sizeof(Spell{}))*int64(len(r.Closed))
	}
}

func (held *holdings) trace(s *State) {
	s.trace.mu.Lock()
	defer s.trace.mu.Unlock()
	held.bytes += int64(unsafe.Sizeof(RoundTrace{})) * int64(cap(s.trace.rounds))
	for i := range s.trace.rounds {
		r := &s.trace.rounds[i]
		held.floats(r.Beta)
		held.floats(r.InformationGain)
		held.floats(r.latent)
		held.bytes += int64(unsafe.Sizeof(Prediction{})) * int64(cap(r.Ahead))
	}
}
