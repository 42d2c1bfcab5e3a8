package ledger

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
