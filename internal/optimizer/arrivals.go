package optimizer

import (
	"cmp"
	"reflect"
	"slices"
)

// continuation are the readings of a metric that are in the data of a regime's last decision: the
// first known ones of a regression of the prior state, and more.
type continuation struct {
	before *group // nil for none
	known  int
	more   []arrival
}

func (c continuation) same(o continuation) bool {
	return c.before == o.before && c.known == o.known && slices.Equal(c.more, o.more)
}

// order lists them all.
func (c continuation) order() appendOnly[arrival] {
	if c.before == nil {
		return appendOnly[arrival]{items: c.more}
	}
	return c.before.arrivals.prefix(c.known).append(c.more...)
}

// arrivals lists the readings of a metric for a regime that ends before decision until.
func (s *evidence) arrivals(metric int, m metricModel, until int) continuation {
	var list []arrival
	add := func(round int) {
		r := &s.history.Rounds[round-1]
		if reading := r.Readings[metric]; !r.Excluded && reading.Told && reading.Revealed < until-1 {
			list = append(list, arrival{round, reading.Revealed, s.readingLambda(round, reading, m)})
		}
	}
	before := s.arrivedBefore(metric, m, until)
	if before == nil {
		for i := range s.history.Rounds {
			add(i + 1)
		}
		byArrival(list)
		return continuation{more: list}
	}
	// Up to the first change the order is as it was; from there on what was not touched, what was,
	// and what is new is put in order.
	n := before.seen(s.agreed.seen - 1)
	for _, a := range before.order[n:] {
		if _, touched := slices.BinarySearch(s.agreed.touched, a.round); !touched && a.round <= len(s.history.Rounds) {
			add(a.round)
		}
	}
	for _, round := range s.agreed.touched {
		if s.history.Rounds[round-1].Readings[metric].Revealed >= s.agreed.seen-1 {
			add(round)
		}
	}
	for round := len(s.prior.history.Rounds) + 1; round <= len(s.history.Rounds); round++ {
		add(round)
	}
	byArrival(list)
	for n < len(before.order) && len(list) > 0 && before.order[n] == list[0] {
		n, list = n+1, list[1:]
	}
	return continuation{before, n, list}
}

// arrivedBefore is the prior state's regression of a metric that had all its readings, if it was
// made with the same model and now all are wanted, too; else nil.
func (s *evidence) arrivedBefore(metric int, m metricModel, until int) *group {
	if s.prior != nil && until > s.Round() {
		last := s.prior.regimes[len(s.prior.regimes)-1]
		if reflect.DeepEqual(last.models[metric], m) {
			return last.groups[last.groupOf[metric]]
		}
	}
	return nil
}

// tellings are the readings of a metric that were told during round t, in order of their rounds.
func (s *evidence) tellings(metric, t int) []arrival {
	last := s.regimes[len(s.regimes)-1]
	g := last.groups[last.groupOf[metric]]
	return g.order[g.seen(t):g.seen(t+1)]
}

// arrival is a reading in the order the readings came.
type arrival struct {
	round    int
	revealed int
	lambda   float64
}

// byArrival sorts readings by when they came.
func byArrival(order []arrival) {
	slices.SortFunc(order, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.revealed, b.revealed), cmp.Compare(a.round, b.round))
	})
}

// chosenOrder lists every included round; round n is seen by the decisions after it, read or not.
func (s *task) chosenOrder(m metricModel, until int) []arrival {
	var order []arrival
	for n := 1; n < until-1; n++ {
		if !s.history.Rounds[n-1].Excluded {
			order = append(order, arrival{n, n, m.noise.of(n, s.placeOf(n), m.lambda)})
		}
	}
	return order
}

// completeOrder lists the included rounds by when the last reading that the penalised response
// needs was told.
func (s *task) completeOrder(m metricModel, until int) []arrival {
	var order []arrival
	for n := 1; n < until-1; n++ {
		if last, ok := s.completed(n); ok && last < until-1 {
			order = append(order, arrival{n, last, m.noise.of(n, s.placeOf(n), m.lambda)})
		}
	}
	byArrival(order)
	return order
}

// pending lists the rounds in the window that are chosen, not closed, not excluded, and whose
// reading of the metric decision t does not see.
func (s *evidence) pending(t, metric int) []int {
	regime := s.regimeAt(t)
	read := regime.groups[regime.groupOf[metric]].seen(t)
	if excluded, _ := slices.BinarySearch(s.excluded, t); read+excluded == t-1 {
		return nil
	}
	var rounds []int
	for n := s.traits.Earliest(t); n < t && n <= len(s.history.Rounds); n++ {
		r := &s.history.Rounds[n-1]
		if !r.Excluded && !r.closedAt(t) && !r.Readings[metric].seenAt(t) {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// incomplete lists the rounds in the window that wait for a reading the penalised response needs.
func (s *evidence) incomplete(t int) []int {
	var rounds []int
	for _, k := range s.targets {
		if k.metric >= 0 {
			rounds = append(rounds, s.pending(t, k.metric)...)
		}
	}
	slices.Sort(rounds)
	return slices.Compact(rounds)
}
