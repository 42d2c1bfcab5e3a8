package ledger

import "headroom/internal/study/design"

// derive works out what of trial i follows from its readings, its settings and the present
// definition.
func (snap *Snapshot) derive(i int) {
	t, r := snap.Trials[i], snap.records[i]
	if r.place.U == nil {
		r.place = snap.compiled.Locate(t.Parameters, t.Candidate)
	}
	if !r.isClosed() {
		t.Status = t.progress(snap.compiled.MetricNames)
	}
	for name, m := range t.Metrics {
		m.Headroom = snap.Definition.Headroom(name, design.Saturated(m.Value))
		t.Metrics[name] = m
	}
	t.Feasible = snap.feasible(i)
}

func (r record) isClosed() bool {
	n := len(r.spells)
	return n > 0 && r.spells[n-1].to == 0
}

// progress is the status of a trial that is neither failed nor abandoned.
func (t *Trial) progress(modelled []string) Status {
	missing, told := 0, 0
	for _, name := range modelled {
		if _, ok := t.Metrics[name]; !ok {
			missing++
		}
	}
	for _, m := range t.Metrics {
		if !m.Known {
			told++
		}
	}
	switch {
	case missing == 0:
		return StatusCompleted
	case told > 0:
		return StatusPartial
	default:
		return StatusSuggested
	}
}

// value is the value of constraint c in trial i, told or known beforehand and saturated, if it is
// known by now.
func (snap *Snapshot) value(i int, c design.Constraint) (float64, bool) {
	m, ok := snap.Trials[i].Metrics[c.Metric]
	return design.Saturated(m.Value), ok
}

// Saturated lists the trials whose value of a metric is too large to compute with: in sums and
// models it counts as the largest that is not.
func (snap *Snapshot) Saturated(metric string) (numbers []int) {
	for _, t := range snap.Trials {
		if m, told := t.Metrics[metric]; told && !design.Computable(m.Value) {
			numbers = append(numbers, t.Number)
		}
	}
	return numbers
}

// feasible is nil while the value of any constraint is unknown.
func (snap *Snapshot) feasible(i int) *bool {
	holds := true
	for _, c := range snap.Definition.Constraints {
		v, ok := snap.value(i, c)
		if !ok {
			return nil
		}
		holds = holds && c.Holds(v)
	}
	return &holds
}
