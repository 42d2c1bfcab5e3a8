package ledger

import "slices"

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
		m.Headroom = snap.Definition.Headroom(name, m.Value)
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
	switch {
	case !slices.ContainsFunc(modelled, func(name string) bool { return !t.has(name) }):
		return StatusCompleted
	case t.anyTold():
		return StatusPartial
	default:
		return StatusSuggested
	}
}

func (t *Trial) has(metric string) bool {
	_, told := t.Metrics[metric]
	return told
}

// anyTold tells whether there is a value that did not come with the decision.
func (t *Trial) anyTold() bool {
	for _, m := range t.Metrics {
		if !m.Known {
			return true
		}
	}
	return false
}

// feasible is nil while the value of any constraint is unknown.
func (snap *Snapshot) feasible(i int) *bool {
	holds := true
	for _, c := range snap.Definition.Constraints {
		m, ok := snap.Trials[i].Metrics[c.Metric]
		if !ok {
			return nil
		}
		holds = holds && c.Holds(m.Value)
	}
	return &holds
}
