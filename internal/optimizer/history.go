package optimizer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
)

// ending is the spell during which decision t finds the round failed or abandoned, if it does.
func (r *Round) ending(t int) (spell Spell, ended bool) {
	for _, c := range r.Closed {
		if c.From <= t && (c.To == 0 || t < c.To) {
			return c, true
		}
	}
	return Spell{}, false
}

func (r *Round) closedAt(t int) bool {
	_, ended := r.ending(t)
	return ended
}

func (r Reading) seenAt(t int) bool { return r.Told && r.Revealed < t }

// told lists the included rounds with a reading of the metric that the next decision sees.
func (s *task) told(metric int) []int {
	var rounds []int
	for i, r := range s.history.Rounds {
		if !r.Excluded && r.Readings[metric].Told {
			rounds = append(rounds, i+1)
		}
	}
	return rounds
}

// Unread tells whether the next decision sees no reading of the metric, so that all that is
// believed of it is its prior.
func (s *task) Unread(metric int) bool { return len(s.told(metric)) == 0 }

// readSince tells whether a reading that counts was told after decision t was made, which the next
// decision sees.
func (s *task) readSince(t int) bool {
	return slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.Revealed >= t && reading.seenAt(s.Round()) })
	})
}

// readAmong tells whether decision t had seen a reading of the metric in one of the rounds given.
func (s *task) readAmong(rounds []int, t, metric int) bool {
	return slices.ContainsFunc(rounds, func(n int) bool {
		r := &s.history.Rounds[n-1]
		return !r.Excluded && r.Readings[metric].seenAt(t)
	})
}

// playedBefore lists the rounds before t that were played at the same place.
func (s *task) playedBefore(t int) (rounds []int) {
	here := s.placeOf(t)
	for n := 1; n < t; n++ {
		if samePlace(s.placeOf(n), here) {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// excess is g_j of a round's reading in metric units, against the true threshold.
func (s *task) excess(round int, c Cost, j int) (float64, bool) {
	r := &s.history.Rounds[round-1]
	if c.Knowledge == Given {
		return c.Excess(r.Costs[j]), true
	}
	reading := r.Readings[c.Metric]
	return c.Excess(reading.Value), reading.Told
}

// readBeyond tells whether a reading of round n is beyond a learned limit.
func (s *task) readBeyond(n int) bool {
	return slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool {
		if c.Knowledge == Given {
			return false
		}
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		return reading.Told && c.Excess(reading.Value) > 0
	})
}

// readingsVary tells whether there is reason to believe that a second reading of the same settings
// would differ from the first: the noise of some metric is given, or came with a reading, or two
// readings of the same settings differed.
func (s *task) readingsVary() bool {
	s.varies.Do(func() { s.vary = s.history.differ(s.cfg) })
	return s.vary
}

// differ is what readingsVary finds out.
func (h *History) differ(cfg *Config) bool {
	for i, m := range cfg.Metrics {
		if !cfg.Fit || !m.FreeNoise {
			return true
		}
		first := map[string]float64{}
		for _, r := range h.Rounds {
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

// firstAt is the first round that was played where round t was.
func (s *task) firstAt(t int) int {
	s.compared.Do(func() {
		played := make(map[string]int, len(s.history.Rounds))
		for i, r := range s.history.Rounds {
			at := string(bitsOf(r.Point))
			if _, again := played[at]; !again {
				played[at] = i + 1
			}
			s.first = append(s.first, played[at])
		}
	})
	return s.first[t-1]
}

// tried tells which places a round that counts has tried or asked for.
func (s *task) tried() func(Place) bool {
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

// bitsOf are the bytes of numbers, which tell points apart.
func bitsOf(u []float64) []byte {
	bits := make([]byte, 0, 8*len(u))
	for _, x := range u {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x))
	}
	return bits
}

// placeKey tells places apart: by their candidate, else by their coordinates.
func placeKey(p Place) string {
	if p.Arm >= 0 {
		return fmt.Sprint(p.Arm)
	}
	return fmt.Sprint(p.U)
}

func samePlace(a, b Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// costsOf are the values of constraints that were known beforehand, at the points of some rounds.
func (s *task) costsOf(rounds []int) func(j, i int) float64 {
	return func(j, i int) float64 { return s.history.Rounds[rounds[i]-1].Costs[j] }
}

// givenAt are the given constraints' values at x_t, 0 for learned ones.
func (s *task) givenAt(t int) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			out[j] = c.given(s.history.Rounds[t-1].Costs[j])
		}
	}
	return out
}

// designed tells whether decision t, if it is the algorithm's, belongs to a first design of so many
// rounds.
func (s *task) designed(t, design int) bool { return t <= design || design > 0 && s.blind(t) }

// blind tells that a policy which weighs what was read would have nothing to weigh at decision t:
// its first design goes on until the first reading, so that a plate of fifty asked for at once is
// fifty places.
func (s *task) blind(t int) bool {
	if s.traits.Incumbent == nil {
		return false
	}
	return !slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
	})
}

// chosenBefore are the rounds before decision t that the algorithm chose by its model.
func (s *task) chosenBefore(t int) []int {
	var chosen []int
	design := s.settings.InitialDesign()
	for n := 1; n < t; n++ {
		if s.history.Rounds[n-1].Suggested && !s.designed(n, design) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// beyond tells whether a reading of round n that decision t sees is beyond one of the limits, and
// whether that is known of the round. Readings of excluded rounds count: they happened.
func (s *task) beyond(n, t int, costs []int) (broken, known bool) {
	known = true
	for _, j := range costs {
		c := s.cfg.Costs[j]
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		if !reading.seenAt(t) {
			known = false
		} else if c.Excess(reading.Value) > 0 {
			return true, true
		}
	}
	return false, known
}

// completed is the round during which the last reading of round n that any target needs was told,
// if the round is included and all were.
func (s *task) completed(n int) (last int, ok bool) {
	r := &s.history.Rounds[n-1]
	if r.Excluded {
		return 0, false
	}
	for _, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		reading := r.Readings[t.metric]
		if !reading.Told {
			return 0, false
		}
		last = max(last, reading.Revealed)
	}
	return last, true
}

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

// appendOnly is a list (a persistent vector) that grows along a line of states: whoever appends
// first to the end of what there is does so in place, anybody else copies. Items are never
// overwritten, so that reading needs no lock. The zero value is empty.
type appendOnly[T any] struct {
	items []T
	end   *atomic.Int64 // of what has been written behind items
}

// append returns the list with more at its end.
func (s appendOnly[T]) append(more ...T) appendOnly[T] {
	n := len(s.items)
	if len(more) == 0 {
		return s
	}
	if s.end != nil && n+len(more) <= cap(s.items) && s.end.CompareAndSwap(int64(n), int64(n+len(more))) {
		s.items = append(s.items, more...)
		return s
	}
	own := appendOnly[T]{make([]T, n, 2*(n+len(more))), new(atomic.Int64)}
	copy(own.items, s.items)
	own.items = append(own.items, more...)
	own.end.Store(int64(len(own.items)))
	return own
}

// prefix returns the first n items.
func (s appendOnly[T]) prefix(n int) appendOnly[T] { return appendOnly[T]{s.items[:n], s.end} }

// agreement is how far a history agrees with the one that the state it extends was made from: what
// depends on nothing later is the same.
type agreement struct {
	decision int   // the first whose data, model or draw may differ, or whose round may move the multipliers otherwise
	seen     int   // the first that sees other data or waiting rounds, or is made elsewhere
	record   int   // the first round whose own record differs
	touched  []int // the rounds of both histories whose records differ
}

// agree compares the history with that of the prior state. Regimes must be known.
func (s *evidence) agree() agreement {
	if s.prior == nil {
		return agreement{decision: 1, seen: 1, record: 1}
	}
	old, now := s.prior.history.Rounds, s.history.Rounds
	n := min(len(old), len(now))
	a := agreement{decision: n + 1, seen: n + 1, record: n + 1}
	if n > 0 && &old[0] != &now[0] {
		for i := range n {
			if decision, seen := firstEffect(i+1, &old[i], &now[i]); decision > 0 {
				a.decision, a.seen, a.record = min(a.decision, decision), min(a.seen, seen), min(a.record, i+1)
				a.touched = append(a.touched, i+1)
			}
		}
	}
	// A first scale takes in, at the end of the round before, the costs that have waited for it.
	a.decision = max(1, min(a.decision, firstOtherModel(s.prior.regimes, s.regimes)-1))
	return a
}

// listExcluded lists the rounds that are excluded.
func (s *evidence) listExcluded() []int {
	var list []int
	from := 0
	if s.prior != nil && len(s.agreed.touched) == 0 {
		from = min(len(s.prior.history.Rounds), len(s.history.Rounds))
		n, _ := slices.BinarySearch(s.prior.excluded, from+1)
		list = s.prior.excluded[:n:n]
	}
	for i := from; i < len(s.history.Rounds); i++ {
		if s.history.Rounds[i].Excluded {
			list = append(list, i+1)
		}
	}
	return list
}

// firstEffect is the first decision or round that a change of round n's record can affect, and the
// first decision that sees it; 0 when nothing changed. A reading moves the multipliers from the
// round on during which it was told, and is seen by the decisions after it.
func firstEffect(n int, a, b *Round) (decision, seen int) {
	decision, seen = math.MaxInt, math.MaxInt
	from := func(t, looking int) {
		decision, seen = min(decision, max(t, n)), min(seen, max(looking, n))
	}
	if a.Arm != b.Arm || a.Excluded != b.Excluded || !slices.Equal(a.Point, b.Point) {
		from(n, n)
	}
	if a.Suggested != b.Suggested || a.Draw.Seed != b.Draw.Seed || !slices.Equal(a.Draw.Z, b.Draw.Z) || !slices.Equal(a.Costs, b.Costs) {
		from(n, math.MaxInt)
	}
	for m := range a.Readings {
		x, y := a.Readings[m], b.Readings[m]
		if x == y || !x.Told && !y.Told {
			continue
		}
		for _, r := range []Reading{x, y} {
			if r.Told {
				from(r.Revealed, r.Revealed+1)
			}
		}
	}
	if !slices.Equal(a.Closed, b.Closed) {
		for _, spells := range [][]Spell{a.Closed, b.Closed} {
			for _, c := range spells {
				from(c.From, c.From)
			}
		}
	}
	if decision == math.MaxInt {
		return 0, 0
	}
	return decision, seen
}

// firstOtherModel is the first decision that is made with other hyperparameters.
func firstOtherModel(old, now []*regime) int {
	for i, j := 0, 0; i < len(old) && j < len(now); {
		if !reflect.DeepEqual(old[i].models, now[j].models) || !reflect.DeepEqual(old[i].said, now[j].said) {
			return max(old[i].from, now[j].from)
		}
		switch a, b := old[i].until, now[j].until; {
		case a < b:
			i++
		case b < a:
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return math.MaxInt
}
