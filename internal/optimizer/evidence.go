package optimizer

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"slices"
	"sort"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
)

// evidence is the regressions of a study's readings, from which the view of every decision is made.
type evidence struct {
	*task
	regimes         []*regime
	excluded        []int                 // rounds
	pastMultipliers appendOnly[[]float64] // multipliers of rounds 1..n, before each round's feedback
	next            *view                 // of the next decision
	prior           *evidence             // while building only
	agreed          agreement             // with prior
	kept            *gp.Kept              // see Resources, while building only
}

// regime is a stretch of decisions, from ≤ t < until, made with the same hyperparameters. Its
// regressions hold the readings that its last decision sees, in the order of arrival, so that each
// decision's data are a prefix.
type regime struct {
	from, until int
	models      []metricModel // that decisions are made by
	shownModels []metricModel // that are shown: with all inflation
	transforms  []transform   // per target
	groups      []*group      // distinct regressions
	groupOf     []int         // per metric
	responses   [][]float64   // per target: y, in the order of its regression; nil for given ones
	whitened    [][]float64   // per target: z = L⁻¹y; nil for given ones
	own         []*group      // the algorithm's own regressions, on other data than the arrived readings
	ownOf       []int         // per target; −1 for none
}

// group is a regression shared by the metrics with the same kernel, noise and arrived rounds.
type group struct {
	model        metricModel
	metric       int // the first of the metrics
	function     *kernel.Function
	order        []arrival
	arrivals     appendOnly[arrival] // order, which a later state appends to
	continuation continuation        // what order was made from, while building only
	continues    *group              // a group of the prior state or an earlier regime, nil for none,
	reused       int                 // whose first rows are reused

	posterior.Regression // without data where it is updated sequentially
	sequential           *sequential
}

// sequential is the posterior over all candidates after the readings that the next decision sees,
// and what the regime's decisions predicted.
type sequential struct {
	arms  *gp.Arms // nil in a regime that is over
	from  int      // the decision of the first of noted
	noted appendOnly[posterior.Noted]
}

func (s *evidence) regimeAt(t int) *regime {
	for _, regime := range s.regimes {
		if t < regime.until {
			return regime
		}
	}
	return s.regimes[len(s.regimes)-1]
}

// seen is the number of leading arrivals that decision t sees.
func (g *group) seen(t int) int {
	return sort.Search(len(g.order), func(i int) bool { return g.order[i].revealed >= t })
}

// arrival is a reading in the order of arrival.
type arrival struct {
	round    int
	revealed int
	lambda   float64
}

// sortByArrival sorts readings by the time they were told.
func sortByArrival(order []arrival) {
	slices.SortFunc(order, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.revealed, b.revealed), cmp.Compare(a.round, b.round))
	})
}

// continuation is the readings of a metric that a regime's last decision sees: the first known ones
// of a group of the prior state, and more.
type continuation struct {
	before *group // nil for none
	known  int
	more   []arrival
}

func (c continuation) same(o continuation) bool {
	return c.before == o.before && c.known == o.known && slices.Equal(c.more, o.more)
}

// order lists all of them.
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
		sortByArrival(list)
		return continuation{more: list}
	}
	// The order is unchanged up to the first change. From there on, the untouched, the touched and the
	// new readings are sorted.
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
	sortByArrival(list)
	for n < len(before.order) && len(list) > 0 && before.order[n] == list[0] {
		n, list = n+1, list[1:]
	}
	return continuation{before, n, list}
}

// arrivedBefore is the prior state's group with all readings of a metric, if it has the same model
// and all readings are wanted, else nil.
func (s *evidence) arrivedBefore(metric int, m metricModel, until int) *group {
	if s.prior != nil && until > s.Round() {
		last := s.prior.regimes[len(s.prior.regimes)-1]
		if reflect.DeepEqual(last.models[metric], m) {
			return last.groups[last.groupOf[metric]]
		}
	}
	return nil
}

// toldIn lists the readings of a metric that were told during round t, in order of their rounds.
func (s *evidence) toldIn(metric, t int) []arrival {
	last := s.regimes[len(s.regimes)-1]
	g := last.groups[last.groupOf[metric]]
	return g.order[g.seen(t):g.seen(t+1)]
}

// chosen lets every included round count from itself on, read or not: the decisions after it see
// it.
func (h *History) chosen(n int) (since int, ok bool) { return n, !h.Rounds[n-1].Excluded }

// orderOf lists the rounds by when they count, as far as decisions before until see them. The λ
// told with a reading is used only if the reading was told by then, so that rows never change.
func (s *task) orderOf(metric int, m metricModel, until int, counts func(n int) (since int, ok bool)) []arrival {
	var order []arrival
	for n := 1; n < until-1; n++ {
		if last, ok := counts(n); ok && last < until-1 {
			reading := s.history.Rounds[n-1].Readings[metric]
			if reading.Revealed > last {
				reading = Reading{}
			}
			order = append(order, arrival{n, last, s.readingLambda(n, reading, m)})
		}
	}
	sortByArrival(order)
	return order
}

// pending lists the rounds in the window that are pending for decision t: neither closed nor
// excluded, and without a reading of the metric that it sees.
func (s *evidence) pending(t, metric int) []int {
	regime := s.regimeAt(t)
	read := regime.groups[regime.groupOf[metric]].seen(t)
	if excluded, _ := slices.BinarySearch(s.excluded, t); read+excluded == t-1 {
		return nil
	}
	return s.history.roundsWhere(s.traits.Earliest(t), min(t, s.Round()), func(_ int, r *Round) bool {
		return !r.Excluded && !r.closedAt(t) && !r.Readings[metric].seenAt(t)
	})
}

// incomplete lists the rounds in the window without a reading that the penalised response needs.
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

// appendRounds adds the points of readings to d.
func (s *task) appendRounds(ctx context.Context, d *gp.Data, k Kernel, order []arrival, kept *gp.Kept) error {
	xs := make([][]float64, len(order))
	lambdas := make([]float64, len(order))
	for i, a := range order {
		xs[i], lambdas[i] = s.kernelInput(k, s.placeOf(a.round)), a.lambda
	}
	return d.AppendAll(ctx, xs, lambdas, kept)
}

// agreement is how far a history agrees with that of the prior state.
type agreement struct {
	decision int   // the first whose data, model, draw or step of the multipliers may differ
	seen     int   // the first that sees other readings or pending rounds, or chose another place
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
	// With a first scale, costs catch up at the end of the round before.
	a.decision = max(1, min(a.decision, firstOtherModel(s.prior.regimes, s.regimes)-1))
	return a
}

// firstEffect is the first decision or round that a change of round n's record can affect, and the
// first decision that sees it; 0 and 0 when nothing changed. A reading moves the multipliers from
// the round during which it was told, and the decisions after that see it.
func firstEffect(n int, a, b *Round) (decision, seen int) {
	decision, seen = math.MaxInt, math.MaxInt
	from := func(t, looking int) {
		decision, seen = min(decision, max(t, n)), min(seen, max(looking, n))
	}
	if a.Arm != b.Arm || a.Excluded != b.Excluded || a.Gone != b.Gone || !slices.Equal(a.Now, b.Now) || !slices.Equal(a.Point, b.Point) || !slices.Equal(a.Asked, b.Asked) {
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
		if !reflect.DeepEqual(old[i].models, now[j].models) || !reflect.DeepEqual(old[i].shownModels, now[j].shownModels) {
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
