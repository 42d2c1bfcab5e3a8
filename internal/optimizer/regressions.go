package optimizer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

func (s *evidence) priorRegimes() []*regime {
	if s.prior == nil {
		return nil
	}
	return s.prior.regimes
}

// samePoint tells whether a round was played at the same point in the prior history.
func (s *evidence) samePoint(round int) bool {
	if s.prior == nil || round > len(s.prior.history.Rounds) {
		return false
	}
	a, b := s.prior.history.Rounds[round-1], s.history.Rounds[round-1]
	return a.Arm == b.Arm && slices.Equal(a.Point, b.Point)
}

// scaledFrom is, for each cost, the first decision with a scale of its metric. A multiplier in
// unknown units would depend on the unit.
func (s *evidence) scaledFrom() []int {
	return lists.Map(s.targets[1:], func(t target) int { return s.scaleSince(t.metric) })
}

// scaleSince is the first decision with a scale of the metric: 1 with raw outputs and for given
// costs, beyond the next decision where there is none yet.
func (s *evidence) scaleSince(metric int) int {
	if metric < 0 || !s.cfg.Standardize {
		return 1
	}
	if i := slices.IndexFunc(s.regimes, func(r *regime) bool { return r.models[metric].count > 0 }); i >= 0 {
		return s.regimes[i].from
	}
	return s.Round() + 1
}

// releasePrior drops the references to the prior state once it is no longer needed.
func (s *evidence) releasePrior() {
	s.prior, s.kept = nil, nil
	for _, regime := range s.regimes {
		for _, g := range slices.Concat(regime.groups, regime.own) {
			g.continues, g.continuation = nil, continuation{}
		}
	}
}

// TooLarge is the error of a model that would take more memory than it may.
type TooLarge struct {
	Readings    int // of the largest regression
	Regressions int
	Bytes, Room int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%d regressions of up to %d readings take %d bytes, and there are %d", e.Regressions, e.Readings, e.Bytes, e.Room)
}

// checkRoom refuses a model that would take too much memory, before any of it is computed: a
// triangle of float64 rows for each regression.
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

// regressAll computes the regressions of every regime.
func (s *evidence) regressAll(ctx context.Context) error {
	s.regimes = s.listRegimes()
	s.agreed = s.agree()
	s.excluded = s.history.roundsWhere(1, s.Round(), func(_ int, r *Round) bool { return r.Excluded })
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

// build computes the regressions of a regime, reusing those of the prior state for the same rounds.
func (s *evidence) build(ctx context.Context, regime *regime) error {
	if err := cores.Each(len(regime.groups), func(i int) error {
		g := regime.groups[i]
		return s.regress(ctx, regime, g, s.inSequence(regime, len(g.order)))
	}); err != nil {
		return err
	}
	regime.responses, regime.whitened = make([][]float64, len(s.targets)), make([][]float64, len(s.targets))
	for k, t := range s.targets {
		if t.metric < 0 {
			regime.transforms = append(regime.transforms, s.cfg.transform(t, metricModel{scale: 1, warp: warp.Identity}, 0))
			continue
		}
		modelled, g := s.cfg.transform(t, regime.models[t.metric], s.halfStep(t, regime.from)), regime.groups[regime.groupOf[t.metric]]
		regime.transforms = append(regime.transforms, modelled)
		same := s.responsesBefore(k, modelled, g)
		regime.responses[k] = slices.Concat(same, lists.Map(g.order[len(same):], func(a arrival) float64 {
			return modelled.response(s.history.Rounds[a.round-1].Readings[t.metric].Value)
		}))
		if g.Data != nil {
			regime.whitened[k] = g.Data.Whiten(s.whitenedBefore(k, g, regime.responses[k]), regime.responses[k])
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
		regime.groupOf[i] = slices.IndexFunc(regime.groups, func(g *group) bool { return g.model.sameRegression(m) && g.continuation.same(came) })
		if regime.groupOf[i] < 0 {
			order := came.order()
			regime.groupOf[i] = len(regime.groups)
			regime.groups = append(regime.groups, &group{model: m, metric: i, order: order.items, arrivals: order, continuation: came})
		}
	}
}

// responsesBefore is the beginning of target k's responses that the prior state has computed from
// the same readings by the same transform.
func (s *evidence) responsesBefore(k int, by transform, g *group) []float64 {
	before := g.continuation.before
	if before == nil {
		return nil
	}
	last := s.prior.regimes[len(s.prior.regimes)-1] // whose readings the group continues
	if last.transforms[k] != by || last.groups[last.groupOf[s.targets[k].metric]] != before {
		return nil
	}
	return last.responses[k][:before.seen(s.agreed.seen-1)]
}

// whitenedBefore is the beginning of target k's z that the prior state has computed.
func (s *evidence) whitenedBefore(k int, g *group, y []float64) []float64 {
	for _, old := range s.priorRegimes() {
		if g.continues == nil || old.groups[old.groupOf[s.targets[k].metric]] != g.continues {
			continue
		}
		n := 0
		for n < g.reused && y[n] == old.responses[k][n] {
			n++
		}
		return old.whitened[k][:n]
	}
	return nil
}

// regress factorises K + Λ of a group's arrivals, unless it is updated in sequence. It appends to a
// factor of the prior state or of an earlier regime with the same beginning.
func (s *evidence) regress(ctx context.Context, regime *regime, g *group, inSequence bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("metric %s: %w", s.cfg.Metrics[g.metric].Name, err)
		}
	}()
	if g.function, err = s.kernelFunction(g.model.kernel); err != nil || inSequence {
		return err
	}
	g.Data = gp.NewData(g.function)
	g.continueFrom(s.priorRegimes(), s.samePoint)
	g.continueFrom(s.regimes[:slices.Index(s.regimes, regime)], func(int) bool { return true })
	return s.appendRounds(ctx, g.Data, g.model.kernel, g.order[g.reused:], s.kept)
}

// continueFrom reuses the longest beginning that a regression of those regimes has in common with
// g.
func (g *group) continueFrom(regimes []*regime, samePoint func(round int) bool) {
	for _, regime := range regimes {
		for _, old := range slices.Concat(regime.groups, regime.own) {
			same := agreeing(old, g, samePoint)
			if same > g.reused {
				g.function, g.Data, g.continues, g.reused = old.function, old.Data.Prefix(same), old, same
			}
			g.Kept.Take(&old.Kept, same)
		}
	}
}

// agreeing is the number of leading arrivals with the same points and noise in an earlier
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

// groupOwn lists the regressions of an algorithm that acts on other data than the arrived readings
// of each metric.
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

// addOwn regresses target k, with its metric's model, on the points of rounds from when they count
// on.
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

// The posterior over all candidates takes the place of a factor's rows from readingsPerArm readings
// per candidate on, but not with fewer than leastReadings; see docs/benchmarks.md.
const (
	readingsPerArm = 2
	leastReadings  = 512
)

// inSequence tells whether so many readings of a regime are regressed by the posterior over all
// candidates. Algorithms with a window or data of their own need rows, and so does replaying rounds
// before the regime.
func (s *evidence) inSequence(regime *regime, readings int) bool {
	if s.arms == nil || s.traits.First != nil || s.traits.ActsOnOwnData() || s.traits.MovesByEstimate && regime.from > 1 && slices.Contains(s.scaledFrom(), regime.from) {
		return false
	}
	M := len(s.arms.places)
	return readings > max(readingsPerArm*M, leastReadings) && M*M <= posterior.MostKept
}

// updateSequentially computes the posterior over all candidates of a regime's regression. It takes
// O(M²) numbers and O(M²) work a reading, however many there have been. The rounds are replayed in
// order, and what is needed of earlier decisions is noted on the way.
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
			ys := lists.Map(targets, func(k int) float64 { return regime.responses[k][i] })
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

// targetsOf are the targets of a regime's regression, in order.
func (s *evidence) targetsOf(regime *regime, g *group) []int {
	return lists.Where(len(s.targets), func(k int) bool {
		metric := s.targets[k].metric
		return metric >= 0 && regime.groups[regime.groupOf[metric]] == g
	})
}

// note records what decision t predicted at its own place.
func (s *evidence) note(ctx context.Context, g *group, metric, t int) (posterior.Noted, error) {
	arms := g.sequential.arms
	arm := s.history.Rounds[t-1].Arm
	seen := posterior.Noted{Round: t, Gain: arms.Gain(), Means: arms.At(arm), Variance: arms.Variances()[arm], PendingVariance: math.NaN()}
	if !s.traits.MovesByEstimate || !s.settings.PendingNarrows() {
		return seen, nil
	}
	given, err := s.withPending(ctx, g, arms, s.pending(t, metric))
	if err != nil {
		return seen, err
	}
	seen.PendingVariance = given.Variances()[arm]
	return seen, nil
}

// withPending is the posterior with pending points.
func (s *evidence) withPending(ctx context.Context, g *group, arms *gp.Arms, pending []int) (*gp.Arms, error) {
	if len(pending) == 0 {
		return arms, nil
	}
	arms = arms.Clone()
	for _, n := range pending {
		at := s.placeOf(n)
		if err := arms.Update(ctx, at.Arm, nil, g.model.noise.atPlace(at, g.model.lambda)); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// sequentialBefore is the posterior that the prior state had come to, if everything in it still
// holds, else the prior over the candidates. come lists the readings, by position in the order,
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
	return &sequential{arms: fresh, from: regime.from}, lists.Below(len(g.order)), err
}

// continued is what a regression of the prior state had come to, for one with the same kernel and
// noise; nil where something in it no longer holds.
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

// added lists the positions of the readings that a regression has beyond those of an earlier one
// with the same beginning; not ok if the earlier one has others.
func added(old *regime, before *group, regime *regime, g *group, targets []int, same int) (come []int, ok bool) {
	has := func(i, j int) bool {
		return before.order[i] == g.order[j] &&
			!slices.ContainsFunc(targets, func(k int) bool { return old.responses[k][i] != regime.responses[k][j] })
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

// windows holds the last window of each regression while the rounds are replayed in order. The next
// one is made from it by dropping its oldest points in O(W²), instead of in O(W³) anew; they agree
// to 1e-9.
type windows map[*group]window

type window struct {
	order []arrival
	data  *gp.Data
}

// windowed conditions on the given readings of a regression, starting from the last window where it
// has the same beginning.
func (s *evidence) windowed(ctx context.Context, slid windows, g *group, order []arrival) (*gp.Data, error) {
	last, ok := slid[g]
	data, come := gp.NewData(g.function), order
	if left := dropped(last.order, order); ok && left <= len(order)/8 {
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

// dropped is how many readings at the beginning of the last window are no longer in the present
// one, whose beginning is the rest; more than all of them where there is no such rest.
func dropped(last, order []arrival) int {
	for left := range last {
		if rest := last[left:]; len(rest) <= len(order) && slices.Equal(rest, order[:len(rest)]) {
			return left
		}
	}
	return len(last) + len(order)
}

// listRegimes splits the history at its fits.
func (s *task) listRegimes() []*regime {
	next := len(s.history.Rounds) + 1
	first := s.firstModels()
	list := []*regime{{from: 1, models: first, shownModels: first}}
	for _, fit := range s.history.Fits {
		last := list[len(list)-1]
		said := s.refitted(last.shownModels, fit)
		models := said
		if s.traits.LogExpectation {
			models = s.refitted(last.models, fit.uninflated())
		}
		if fit.From <= last.from {
			last.models, last.shownModels = models, said
			continue
		}
		last.until = fit.From
		list = append(list, &regime{from: fit.From, models: models, shownModels: said})
	}
	list[len(list)-1].until = next + 1
	return list
}
