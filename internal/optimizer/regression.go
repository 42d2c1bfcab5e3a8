package optimizer

import (
	"context"
	"fmt"
	"slices"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/warp"
)

// regressAll works out the regressions of every regime.
func (s *evidence) regressAll(ctx context.Context) error {
	s.regimes = s.listRegimes()
	s.agreed = s.agree()
	s.excluded = s.listExcluded()
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
	if err := s.regressMetrics(ctx, regime); err != nil {
		return err
	}
	for _, k := range s.targets {
		var m metricModel
		if k.metric >= 0 {
			m = regime.models[k.metric]
		} else {
			m.scale, m.warp = 1, warp.Identity
		}
		regime.transforms = append(regime.transforms, s.cfg.transform(k, m))
	}
	regime.answers, regime.whitened = make([]appendOnly[float64], len(s.targets)), make([][]float64, len(s.targets))
	for k, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		g := regime.groups[regime.groupOf[t.metric]]
		regime.answers[k] = s.responses(regime, k, g)
		if g.Data == nil {
			continue
		}
		regime.whitened[k] = g.Data.Whiten(s.whitenedBefore(k, g, regime.answers[k].items), regime.answers[k].items)
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

// regressMetrics makes the regressions of the metrics, on all cores.
func (s *evidence) regressMetrics(ctx context.Context, regime *regime) error {
	work := cores.New()
	for _, g := range regime.groups {
		work.Go(func() error { return s.regress(ctx, regime, g, s.inSequence(regime, len(g.order))) })
	}
	return work.Wait()
}

// whitenedBefore is the beginning of target k's z that the prior state has worked out already.
func (s *evidence) whitenedBefore(k int, g *group, y []float64) []float64 {
	for _, old := range s.priorRegimes() {
		if g.begun == nil || old.groups[old.groupOf[s.targets[k].metric]] != g.begun {
			continue
		}
		n := 0
		for n < g.known && y[n] == old.answers[k].items[n] {
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

// responses are target k's responses for the arrivals, in modelled units, going on from those of
// the prior state.
func (s *evidence) responses(regime *regime, k int, g *group) appendOnly[float64] {
	metric := s.targets[k].metric
	answer := func(a arrival) float64 {
		return regime.transforms[k].response(s.history.Rounds[a.round-1].Readings[metric].Value)
	}
	var y appendOnly[float64]
	if before := s.arrivedBefore(metric, regime.models[metric], regime.until); before != nil {
		answers, n := s.prior.regimes[len(s.prior.regimes)-1].answers[k], before.seen(s.agreed.seen-1)
		for n < len(before.order) && n < len(g.order) && before.order[n] == g.order[n] && answers.items[n] == answer(g.order[n]) {
			n++
		}
		y = answers.prefix(n)
	}
	var more []float64
	for _, a := range g.order[len(y.items):] {
		more = append(more, answer(a))
	}
	return y.append(more...)
}

// groupOwn lists the regressions of an algorithm that does not act on the arrived readings of each
// metric.
func (s *evidence) groupOwn(regime *regime) {
	regime.ownOf = make([]int, len(s.targets))
	for k := range regime.ownOf {
		regime.ownOf[k] = -1
	}
	switch {
	case s.traits.Censoring != nil:
		for k, t := range s.targets {
			if t.metric >= 0 {
				s.addOwn(regime, k, s.chosenOrder(regime.models[t.metric], regime.until))
			}
		}
	case s.traits.Response != nil:
		s.addOwn(regime, 0, s.completeOrder(regime.models[s.targets[0].metric], regime.until))
	}
}

// addOwn has target k regressed on the points in that order, with its metric's model.
func (s *evidence) addOwn(regime *regime, k int, order []arrival) {
	metric := s.targets[k].metric
	m := regime.models[metric]
	regime.ownOf[k] = slices.IndexFunc(regime.own, func(g *group) bool { return g.model.sameRegression(m) })
	if regime.ownOf[k] < 0 {
		regime.ownOf[k] = len(regime.own)
		regime.own = append(regime.own, &group{model: m, metric: metric, order: order})
	}
}
