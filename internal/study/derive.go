package study

// derive works out what of trial i follows from its readings, its settings and the present definition.
func (snap *Snapshot) derive(i int) {
	t, r := &snap.Trials[i], &snap.records[i]
	if r.place.U == nil {
		r.place = snap.compiled.locate(t.Parameters, t.arm())
	}
	if !r.isClosed() {
		t.Status = t.progress(snap.compiled.MetricNames)
	}
	for name, m := range t.Metrics {
		m.Headroom = snap.Definition.headroom(name, m.Value)
		t.Metrics[name] = m
	}
	t.Feasible = snap.feasible(i)
}

// arm is the index of the candidate that was tried, −1 without candidates.
func (t *Trial) arm() int {
	if t.Candidate == nil {
		return -1
	}
	return *t.Candidate
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

// headroom is the distance of value to the nearest limit on metric, min_j −g_j; nil when nothing limits it.
func (d Definition) headroom(metric string, value float64) *float64 {
	var nearest *float64
	for _, c := range d.Constraints {
		if c.Metric != metric {
			continue
		}
		if room := -c.excess(value); nearest == nil || room < *nearest {
			nearest = &room
		}
	}
	return nearest
}

// excess is g = value − threshold for ≤ and threshold − value for ≥, in the metric's units: the limit holds when g ≤ 0.
func (c Constraint) excess(value float64) float64 {
	if c.Op == ">=" {
		return c.Threshold - value
	}
	return value - c.Threshold
}

// given tells whether the constraint's value is known when a decision is made, instead of being learned.
func (c Constraint) given() bool { return c.Expression != "" || c.Sampled }

// value is the value of constraint c in trial i, if it is known by now.
func (snap *Snapshot) value(i int, c Constraint) (float64, bool) {
	if c.given() {
		v, ok := snap.records[i].known[c.Name]
		return v, ok
	}
	m, ok := snap.Trials[i].Metrics[c.Metric]
	return m.Value, ok
}

// feasible is nil while the value of any constraint is unknown.
func (snap *Snapshot) feasible(i int) *bool {
	holds := true
	for _, c := range snap.Definition.Constraints {
		v, ok := snap.value(i, c)
		if !ok {
			return nil
		}
		holds = holds && c.excess(v) <= 0
	}
	return &holds
}

// metricNames lists every metric once: the objective's, the constraints', the recorded ones.
func (d Definition) metricNames() []string {
	names, seen := []string{}, map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	add(d.Objective.Metric)
	for _, c := range d.Constraints {
		add(c.Metric)
	}
	for _, m := range d.RecordedMetrics {
		add(m.Metric)
	}
	return names
}
