package optimizer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

// evidence are the regressions of a study's readings, from which the view of every decision is
// made.
type evidence struct {
	*task
	regimes  []*regime
	excluded []int                 // rounds
	path     appendOnly[[]float64] // multipliers of rounds 1..n, before each round's feedback
	next     *view                 // what the next decision acts on
	prior    *evidence             // while building only
	agreed   agreement             // with prior
	kept     *gp.Kept              // of earlier states, while building only; nil for nothing
}

// regime is a stretch of decisions, from ≤ t < until, made with the same hyperparameters. Its
// regressions hold the readings that its last decision sees, in the order of their arrival, so that
// each decision's data are a prefix.
type regime struct {
	from, until int
	models      []metricModel // what is regressed, and decided by
	said        []metricModel // what is said: as wide as residuals ask for
	transforms  []transform   // per target
	groups      []*group      // distinct regressions
	groupOf     []int         // by metric
	answers     [][]float64   // per target: y, the responses in the order of its regression; nil for given ones
	whitened    [][]float64   // per target: z = L⁻¹y; nil for given ones
	own         []*group      // regressions on other points than the arrived readings', where the algorithm has such
	ownOf       []int         // by target; −1 for none
}

// group is a regression shared by the metrics of equal kernel, noise and arrived rounds.
type group struct {
	model    metricModel
	metric   int // the first one of them
	function *kernel.Function
	order    []arrival
	arrivals appendOnly[arrival] // order, to go on from
	came     continuation        // what it was made from, while building only
	begun    *group              // of the prior state, whose first known rows these continue; nil for none
	known    int

	posterior.Regression // without data where it is updated sequentially
	sequential           *sequential
}

// sequential is that posterior after the readings that the next decision sees, nil in a regime that
// is over, and what the regime's decisions expected.
type sequential struct {
	arms  *gp.Arms
	from  int // decision of the first that is noted
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

// chosen lets every included round count from itself on: it is seen by the decisions after it, read or
// not.
func (h *History) chosen(n int) (since int, ok bool) { return n, !h.Rounds[n-1].Excluded }

// orderOf lists the rounds by when they count, as far as decisions before until see them. What a
// reading of the metric tells of its noise counts where it was told by then: rows stay as they are.
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

func (s *task) appendRounds(ctx context.Context, d *gp.Data, k Kernel, order []arrival, kept *gp.Kept) error {
	xs := make([][]float64, len(order))
	lambdas := make([]float64, len(order))
	for i, a := range order {
		xs[i], lambdas[i] = s.kernelInput(k, s.placeOf(a.round)), a.lambda
	}
	return d.AppendAll(ctx, xs, lambdas, kept)
}

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

// excluded lists the rounds that are.
func (h *History) excluded() (list []int) {
	for i := range h.Rounds {
		if h.Rounds[i].Excluded {
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
	if a.Arm != b.Arm || a.Excluded != b.Excluded || a.Gone != b.Gone || !slices.Equal(a.Point, b.Point) {
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

func (s *evidence) priorRegimes() []*regime {
	if s.prior == nil {
		return nil
	}
	return s.prior.regimes
}

// samePoint tells whether a round was played at the same point in the history this state extends.
func (s *evidence) samePoint(round int) bool {
	if s.prior == nil || round > len(s.prior.history.Rounds) {
		return false
	}
	a, b := s.prior.history.Rounds[round-1], s.history.Rounds[round-1]
	return a.Arm == b.Arm && slices.Equal(a.Point, b.Point)
}

// scaledFrom is, for each cost, the first decision with a scale of its metric: 1 where outputs are
// as they are and for given costs, beyond the next decision where there is none yet. A price in
// units that nothing is known of yet would depend on the unit.
func (s *evidence) scaledFrom() []int {
	from := make([]int, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		from[j] = 1
		if c.Knowledge == Given || !s.cfg.Standardize {
			continue
		}
		from[j] = s.Round() + 1
		if i := slices.IndexFunc(s.regimes, func(r *regime) bool { return r.models[c.Metric].count > 0 }); i >= 0 {
			from[j] = s.regimes[i].from
		}
	}
	return from
}

// letGo forgets the prior state once nothing more is taken from it.
func (s *evidence) letGo() {
	s.prior, s.kept = nil, nil
	for _, regime := range s.regimes {
		for _, g := range slices.Concat(regime.groups, regime.own) {
			g.begun, g.came = nil, continuation{}
		}
	}
}

// TooLarge is why there is no model: it would take more memory than it may.
type TooLarge struct {
	Readings    int // of the largest regression
	Regressions int
	Bytes, Room int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%d regressions of up to %d readings take %d bytes, and there are %d", e.Regressions, e.Readings, e.Bytes, e.Room)
}

// checkRoom refuses a model that would take more memory than it may, before any of it is worked
// out: a triangle of rows for each regression.
func (s *evidence) checkRoom() error {
	need := TooLarge{Room: s.room}
	for _, regime := range s.regimes {
		for _, g := range slices.Concat(regime.groups, regime.own) {
			n := len(g.order)
			if s.inSequence(regime, n) {
				continue
			}
			need.Readings, need.Regressions, need.Bytes = max(need.Readings, n), need.Regressions+1, need.Bytes+4*int64(n)*int64(n+1)
		}
	}
	if need.Bytes > need.Room {
		return &need
	}
	return nil
}

// regressAll works out the regressions of every regime.
func (s *evidence) regressAll(ctx context.Context) error {
	s.regimes = s.listRegimes()
	s.agreed = s.agree()
	s.excluded = s.history.excluded()
	for _, regime := range s.regimes {
		s.groupMetrics(regime)
		s.groupOwn(regime)
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	for _, regime := range s.regimes {
		if err := s.build(ctx, regime); err != nil {
			return err
		}
	}
	return nil
}

// build works out the regressions of a regime, taking over what the prior state's worked out for
// the same rounds.
func (s *evidence) build(ctx context.Context, regime *regime) error {
	if err := cores.Each(len(regime.groups), func(i int) error {
		g := regime.groups[i]
		return s.regress(ctx, regime, g, s.inSequence(regime, len(g.order)))
	}); err != nil {
		return err
	}
	regime.answers, regime.whitened = make([][]float64, len(s.targets)), make([][]float64, len(s.targets))
	for k, t := range s.targets {
		if t.metric < 0 {
			regime.transforms = append(regime.transforms, s.cfg.transform(t, metricModel{scale: 1, warp: warp.Identity}))
			continue
		}
		modelled, g := s.cfg.transform(t, regime.models[t.metric]), regime.groups[regime.groupOf[t.metric]]
		regime.transforms = append(regime.transforms, modelled)
		regime.answers[k] = lists.Map(g.order, func(a arrival) float64 {
			return modelled.response(s.history.Rounds[a.round-1].Readings[t.metric].Value)
		})
		if g.Data != nil {
			regime.whitened[k] = g.Data.Whiten(s.whitenedBefore(k, g, regime.answers[k]), regime.answers[k])
		}
	}
	for _, g := range regime.groups {
		if g.Data != nil {
			continue
		}
		if err := s.updateSequentially(ctx, regime, g); err != nil {
			return err
		}
	}
	for _, g := range regime.own {
		if err := s.regress(ctx, regime, g, false); err != nil {
			return err
		}
	}
	return nil
}

// groupMetrics lists the distinct regressions of the metrics.
func (s *evidence) groupMetrics(regime *regime) {
	regime.groupOf = make([]int, len(s.cfg.Metrics))
	for i, m := range regime.models {
		came := s.arrivals(i, m, regime.until)
		regime.groupOf[i] = slices.IndexFunc(regime.groups, func(g *group) bool { return g.model.sameRegression(m) && g.came.same(came) })
		if regime.groupOf[i] < 0 {
			order := came.order()
			regime.groupOf[i] = len(regime.groups)
			regime.groups = append(regime.groups, &group{model: m, metric: i, order: order.items, arrivals: order, came: came})
		}
	}
}

// whitenedBefore is the beginning of target k's z that the prior state has worked out already.
func (s *evidence) whitenedBefore(k int, g *group, y []float64) []float64 {
	for _, old := range s.priorRegimes() {
		if g.begun == nil || old.groups[old.groupOf[s.targets[k].metric]] != g.begun {
			continue
		}
		n := 0
		for n < g.known && y[n] == old.answers[k][n] {
			n++
		}
		return old.whitened[k][:n]
	}
	return nil
}

// regress factorises K + Λ for a group's arrivals, unless they are taken in sequence, appending to
// a factor of the prior state or of an earlier regime that agrees with their beginning.
func (s *evidence) regress(ctx context.Context, regime *regime, g *group, inSequence bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("metric %s: %w", s.cfg.Metrics[g.metric].Name, err)
		}
	}()
	if g.function, err = s.function(g.model.kernel); err != nil || inSequence {
		return err
	}
	g.Data = gp.NewData(g.function, s.inputWidth(g.model.kernel))
	g.begin(s.priorRegimes(), s.samePoint)
	g.begin(s.regimes[:slices.Index(s.regimes, regime)], func(int) bool { return true })
	return s.appendRounds(ctx, g.Data, g.model.kernel, g.order[g.known:], s.kept)
}

// begin takes over the longest beginning that a regression of those regimes has in common with it.
func (g *group) begin(regimes []*regime, samePoint func(round int) bool) {
	for _, regime := range regimes {
		for _, old := range slices.Concat(regime.groups, regime.own) {
			same := agreeing(old, g, samePoint)
			if same > g.known {
				g.function, g.Data, g.begun, g.known = old.function, old.Data.Prefix(same), old, same
			}
			g.Kept.Take(&old.Kept, same)
		}
	}
}

// agreeing is the number of leading arrivals whose points and noise are the same in an earlier
// regression.
func agreeing(old, now *group, samePoint func(round int) bool) int {
	if old.Data == nil || !old.model.sameRegression(now.model) {
		return 0
	}
	n := 0
	for n < len(old.order) && n < len(now.order) {
		a, b := old.order[n], now.order[n]
		if a.round != b.round || a.lambda != b.lambda || !samePoint(a.round) {
			break
		}
		n++
	}
	return n
}

// groupOwn lists the regressions of an algorithm that does not act on the arrived readings of each
// metric.
func (s *evidence) groupOwn(regime *regime) {
	regime.ownOf = slices.Repeat([]int{-1}, len(s.targets))
	switch {
	case s.traits.Censoring != nil:
		for k, t := range s.targets {
			if t.metric >= 0 {
				s.addOwn(regime, k, s.history.chosen)
			}
		}
	case s.traits.Response != nil:
		s.addOwn(regime, 0, s.completed)
	}
}

// addOwn has target k regressed on the points of rounds from when they count on, with its metric's model.
func (s *evidence) addOwn(regime *regime, k int, counts func(n int) (since int, ok bool)) {
	metric := s.targets[k].metric
	m := regime.models[metric]
	order := s.orderOf(metric, m, regime.until, counts)
	regime.ownOf[k] = slices.IndexFunc(regime.own, func(g *group) bool { return g.model.sameRegression(m) && slices.Equal(g.order, order) })
	if regime.ownOf[k] < 0 {
		regime.ownOf[k] = len(regime.own)
		regime.own = append(regime.own, &group{model: m, metric: metric, order: order})
	}
}

// Where there are many more readings than candidates, a regression keeps the posterior over all
// candidates in place of the rows of a factor: O(M²) numbers and work a reading, however many there
// have been. The rounds are gone through in order, and what is wanted of earlier decisions is noted
// on the way.

// From how many readings on candidates are regressed together: twice their number, as long as the
// factor's rows cost more; see docs/benchmarks.md.
const (
	readingsAnArm = 2
	leastReadings = 512
)

// inSequence tells whether so many readings of a regime are regressed by the posterior over all
// candidates. Algorithms that forget, or that act on data of their own, need the rows; so does
// looking at rounds before the regime.
func (s *evidence) inSequence(regime *regime, readings int) bool {
	if s.arms == nil || s.traits.First != nil || s.traits.ActsOnOwnData() || s.traits.MovesByEstimate && regime.from > 1 && slices.Contains(s.scaledFrom(), regime.from) {
		return false
	}
	M := len(s.arms.places)
	return readings > max(readingsAnArm*M, leastReadings) && M*M <= posterior.MostKept
}

// updateSequentially works out the posterior over all candidates for a regime's regression.
func (s *evidence) updateSequentially(ctx context.Context, regime *regime, g *group) error {
	targets := s.targetsOf(regime, g)
	st, come, err := s.sequentialBefore(ctx, regime, g, targets)
	if err != nil {
		return err
	}
	g.sequential = st
	for t := st.from + len(st.noted.items); t < regime.until; t++ {
		for len(come) > 0 && g.order[come[0]].revealed < t {
			i, a := come[0], g.order[come[0]]
			come = come[1:]
			ys := lists.Map(targets, func(k int) float64 { return regime.answers[k][i] })
			if err := st.arms.Update(ctx, s.history.Rounds[a.round-1].Arm, ys, a.lambda); err != nil {
				return err
			}
		}
		if t > len(s.history.Rounds) {
			return nil
		}
		seen, err := s.note(ctx, g, s.targets[targets[0]].metric, t)
		if err != nil {
			return err
		}
		st.noted = st.noted.append(seen)
	}
	st.arms = nil
	return nil
}

// targetsOf are the targets that a regime's regression serves, in order.
func (s *evidence) targetsOf(regime *regime, g *group) []int {
	var list []int
	for k, t := range s.targets {
		if t.metric >= 0 && regime.groups[regime.groupOf[t.metric]] == g {
			list = append(list, k)
		}
	}
	return list
}

// note writes down what decision t expected at its own place.
func (s *evidence) note(ctx context.Context, g *group, metric, t int) (posterior.Noted, error) {
	arms := g.sequential.arms
	arm := s.history.Rounds[t-1].Arm
	seen := posterior.Noted{Round: t, Gain: arms.Gain(), Means: arms.At(arm), Variance: arms.Variances()[arm], Narrowed: math.NaN()}
	if !s.traits.MovesByEstimate || !s.settings.PendingNarrows() {
		return seen, nil
	}
	narrowed, err := s.narrowed(ctx, g, arms, s.pending(t, metric))
	if err != nil {
		return seen, err
	}
	seen.Narrowed = narrowed.Variances()[arm]
	return seen, nil
}

// narrowed is the posterior with pending points.
func (s *evidence) narrowed(ctx context.Context, g *group, arms *gp.Arms, waiting []int) (*gp.Arms, error) {
	if len(waiting) == 0 {
		return arms, nil
	}
	arms = arms.Clone()
	for _, n := range waiting {
		at := s.placeOf(n)
		if err := arms.Update(ctx, at.Arm, nil, g.model.noise.at(at, g.model.lambda)); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// sequentialBefore is what the prior state had come to, where everything that it went through still
// holds, else the prior over the candidates; come are the readings, by their position in the order,
// that are not in it yet.
func (s *evidence) sequentialBefore(ctx context.Context, regime *regime, g *group, targets []int) (st *sequential, come []int, err error) {
	for _, old := range s.priorRegimes() {
		for _, before := range old.groups {
			if before.sequential == nil || old.from > regime.from || !before.model.sameRegression(g.model) || !slices.Equal(s.prior.targetsOf(old, before), targets) {
				continue
			}
			if st, come := s.continued(old, before, regime, g, targets); st != nil {
				return st, come, nil
			}
		}
	}
	fresh, err := gp.NewArms(ctx, g.function, s.arms.inputs(g.model.kernel), len(targets))
	return &sequential{arms: fresh, from: regime.from}, indices(len(g.order)), err
}

// continued is what a regression had come to of the prior state for one with the same kernel and
// noise; nil where what it went through does not hold.
func (s *evidence) continued(old *regime, before *group, regime *regime, g *group, targets []int) (st *sequential, come []int) {
	first, known := regime.from-old.from, before.sequential.noted
	for _, k := range targets {
		if old.transforms[k] != regime.transforms[k] {
			return nil, nil
		}
	}
	if last := regime.until - old.from; regime.until <= s.agreed.seen && last <= len(known.items) {
		return &sequential{from: regime.from, noted: appendOnly[posterior.Noted]{items: known.items[first:last]}}, nil // nothing of the regime has changed
	}
	if before.sequential.arms == nil || s.agreed.seen < s.prior.Round() || first > len(known.items) {
		return nil, nil
	}
	come, ok := added(old, before, regime, g, targets, before.seen(s.agreed.seen-1))
	if !ok {
		return nil, nil
	}
	if first > 0 {
		known = appendOnly[posterior.Noted]{items: known.items[first:]}
	}
	return &sequential{before.sequential.arms.Clone(), regime.from, known}, come
}

// added are the positions of the readings that a regression has beyond those of an earlier one,
// which begins with the same ones; not ok when it lacks some, or has others.
func added(old *regime, before *group, regime *regime, g *group, targets []int, same int) (come []int, ok bool) {
	has := func(i, j int) bool {
		return before.order[i] == g.order[j] &&
			!slices.ContainsFunc(targets, func(k int) bool { return old.answers[k][i] != regime.answers[k][j] })
	}
	i := same
	for j := same; j < len(g.order); j++ {
		if i < len(before.order) && has(i, j) {
			i++
		} else {
			come = append(come, j)
		}
	}
	return come, i == len(before.order)
}

// windows remembers the last window of each regression while the rounds are gone through in order,
// so that each is made from the one before: points that leave at its beginning are dropped in O(W²)
// instead of factorising the rest again in O(W³). It agrees with that to 1e-9.
type windows map[*group]window

type window struct {
	order []arrival
	data  *gp.Data
}

// windowed conditions on the given readings of a regression, from the last window where that is
// remembered and begins alike.
func (s *evidence) windowed(ctx context.Context, slid windows, g *group, order []arrival) (*gp.Data, error) {
	last, ok := slid[g]
	data, come := gp.NewData(g.function, s.inputWidth(g.model.kernel)), order
	if left := leaving(last.order, order); ok && left <= len(order)/8 {
		data, come = last.data.Clone(), order[len(last.order)-left:]
		for range left {
			data.DropFirst()
		}
	}
	err := s.appendRounds(ctx, data, g.model.kernel, come, nil)
	if err == nil && slid != nil {
		slid[g] = window{order, data}
	}
	return data, err
}

// leaving is how many readings at the beginning of the last window have left, its rest being the
// beginning of the present one; all of them and more where the windows do not continue each other.
func leaving(last, order []arrival) int {
	for left := range last {
		if rest := last[left:]; len(rest) <= len(order) && slices.Equal(rest, order[:len(rest)]) {
			return left
		}
	}
	return len(last) + len(order)
}

// listRegimes cuts the history at its fits.
func (s *task) listRegimes() []*regime {
	next := len(s.history.Rounds) + 1
	first := s.firstModels()
	list := []*regime{{from: 1, models: first, said: first}}
	for _, fit := range s.history.Fits {
		last := list[len(list)-1]
		said := s.refitted(last.said, fit)
		models := said
		if s.traits.Expects {
			models = s.refitted(last.models, fit.uninflated())
		}
		if fit.From <= last.from {
			last.models, last.said = models, said
			continue
		}
		last.until = fit.From
		list = append(list, &regime{from: fit.From, models: models, said: said})
	}
	list[len(list)-1].until = next + 1
	return list
}
