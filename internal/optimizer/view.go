package optimizer

import (
	"context"
	"slices"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
)

// view is what the algorithm acts on at decision t: per target a regression, how it is modelled, and γ.
type view struct {
	*evidence
	round       int
	era         *era
	transforms  []transform // per target
	sources     []source    // distinct regressions
	sourceOf    []int       // by target; −1 when given
	beta        []float64
	gain        []float64 // per target
	lambda      []float64 // per target
	multipliers []float64
	incumbent   *incumbent
	around      *Place // the incumbent among the points read, which a search looks around
	contended   contended
	allowances  []allowance
	shortlist   *shortlist // where the search looks while many trials wait, else nil
	slid        windows    // what earlier rounds left, while rounds are gone through in order; else nil
}

// acting returns the view of decision t under multipliers q: what has arrived, in the algorithm's window, and what is pending.
func (s *evidence) acting(ctx context.Context, t int, q []float64, slid windows) (*view, error) {
	return s.actingIn(ctx, s.eraAt(t), t, q, slid)
}

// actingIn is acting with the hyperparameters of an era. A metric without a scale yet is seen by its prior alone, centred on the limit: its
// readings have units of which nothing is known.
func (s *evidence) actingIn(ctx context.Context, e *era, t int, q []float64, slid windows) (*view, error) {
	v := &view{evidence: s, round: t, era: e, transforms: slices.Clone(e.transforms), multipliers: q, slid: slid}
	for k, target := range s.targets {
		if target.metric >= 0 && !s.scaled(e.models[target.metric]) {
			blind := transform{warp: warp.Identity, blind: true}
			if target.cost >= 0 {
				blind.margin = s.cfg.Costs[target.cost].Margin
				blind.shift = blind.margin
			}
			v.transforms[k] = blind
		}
	}
	var err error
	switch {
	case s.traits.Censoring != nil:
		err = v.sourcesCensored(ctx)
	case s.traits.Response != nil:
		err = v.sourcePenalised(ctx)
	default:
		err = v.sourcesArrived(ctx, s.settings.PendingNarrows())
	}
	if err != nil {
		return nil, err
	}
	return v, v.finish(ctx)
}

// observed returns the view that posteriors are shown from: arrived data in the window, nothing else.
func (s *evidence) observed(ctx context.Context, t int, slid windows) (*view, error) {
	e := s.eraAt(t)
	v := &view{evidence: s, round: t, era: e, transforms: e.transforms, slid: slid}
	return v, v.sourcesArrived(ctx, false)
}

func (s *evidence) eraAt(t int) *era {
	for _, e := range s.eraList {
		if t < e.until {
			return e
		}
	}
	return s.eraList[len(s.eraList)-1]
}

// sourcesArrived gives each metric its arrived readings in the window, and its pending points after them.
func (v *view) sourcesArrived(ctx context.Context, withPending bool) error {
	v.sourceOf = make([]int, len(v.targets))
	made := map[int]int{} // metric → source
	for k, t := range v.targets {
		if t.metric < 0 {
			v.sourceOf[k] = -1
			continue
		}
		i, ok := v.shareable(made, t.metric, withPending)
		if !ok {
			src, err := v.arrivedSource(ctx, t.metric, withPending)
			if err != nil {
				return err
			}
			v.sources = append(v.sources, src)
			i = len(v.sources) - 1
		}
		made[t.metric] = i
		v.sourceOf[k] = i
		src := &v.sources[i]
		src.targets = append(src.targets, k)
		if src.data != nil {
			src.z = append(src.z, v.whitenedFor(src, k))
		}
	}
	return nil
}

// shareable finds a source made for a metric with the same regression and the same pending points.
func (v *view) shareable(made map[int]int, metric int, withPending bool) (int, bool) {
	for other, i := range made {
		if v.era.groupOf[other] != v.era.groupOf[metric] {
			continue
		}
		if !withPending || slices.Equal(v.pending(v.round, other), v.pending(v.round, metric)) {
			return i, true
		}
	}
	return 0, false
}

func (v *view) arrivedSource(ctx context.Context, metric int, withPending bool) (source, error) {
	g := v.era.groups[v.era.groupOf[metric]]
	src, err := v.inSight(ctx, g)
	if err != nil || !withPending {
		return src, err
	}
	src.waiting = v.pending(v.round, metric)
	switch {
	case src.arms != nil:
		src.narrowed, err = v.narrowed(ctx, g, src.arms, src.waiting)
		return src, err
	case src.glimpse != nil:
		return src, nil
	}
	return src, v.appendPending(ctx, &src, g.model, src.waiting)
}

// inSight conditions on the points of a regression that the view's decision sees, in the algorithm's window.
func (v *view) inSight(ctx context.Context, g *group) (source, error) {
	order := g.order[:g.seen(v.round)]
	src := source{kernel: g.model.kernel, arrived: len(order)}
	if st := g.standing; st != nil {
		src.group = g
		if i := v.round - st.from; i < len(st.glimpses.items) {
			src.glimpse = &st.glimpses.items[i]
		} else {
			src.arms, src.narrowed = st.arms, st.arms
		}
		return src, nil
	}
	if first := v.traits.Earliest(v.round); first <= 1 {
		src.data, src.group = g.data.Prefix(len(order)), g
	} else {
		order = since(order, first)
		var err error
		if src.data, err = v.windowed(ctx, v.slid, g, order); err != nil {
			return src, err
		}
	}
	for _, a := range order {
		src.rounds = append(src.rounds, a.round)
	}
	src.arrived = len(order)
	return src, nil
}

func since(order []arrival, first int) []arrival {
	var kept []arrival
	for _, a := range order {
		if a.round >= first {
			kept = append(kept, a)
		}
	}
	return kept
}

func (v *view) appendPending(ctx context.Context, src *source, m metricModel, rounds []int) error {
	if len(rounds) == 0 {
		return nil
	}
	order := make([]arrival, len(rounds))
	for i, r := range rounds {
		order[i] = arrival{round: r, lambda: m.noise.at(v.placeOf(r), m.lambda)}
	}
	known := v.waitedBefore(src, rounds)
	src.data, src.waiting, src.solutions = src.data.Clone(), rounds, &solutions{}
	if known != nil {
		src.data, order = known.data.Clone(), order[len(known.waiting):]
		if fixed := known.solutions.upTo(known.data.Len()); fixed != nil {
			src.solutions.keep(fixed)
		}
	}
	src.rounds = append(src.rounds, rounds...)
	return v.appendRounds(ctx, src.data, m.kernel, order)
}

// waitedBefore is the prior state's source with the same readings and the first of the same pending points, nil if there is none: whoever asks for
// many trials in a row adds one to those that wait each time.
func (v *view) waitedBefore(src *source, rounds []int) *source {
	if v.prior == nil || src.group == nil || src.group.begun == nil || src.group.known != src.arrived {
		return nil
	}
	for i := range v.prior.next.sources {
		known := &v.prior.next.sources[i]
		n := len(known.waiting)
		if known.group == src.group.begun && known.arrived == src.arrived && 0 < n && n <= len(rounds) && slices.Equal(known.waiting, rounds[:n]) &&
			!slices.ContainsFunc(known.waiting, func(round int) bool { return !v.samePoint(round) }) {
			return known
		}
	}
	return nil
}

// pending lists the rounds in the window that are chosen, not closed, not excluded, and whose reading of the metric
// decision t does not see.
func (s *evidence) pending(t, metric int) []int {
	e := s.eraAt(t)
	read := e.groups[e.groupOf[metric]].seen(t)
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

func (r *Round) closedAt(t int) bool {
	_, ended := r.ending(t)
	return ended
}

func (r Reading) seenAt(t int) bool { return r.Told && r.Revealed < t }

// whitenedFor is z for target k, padded with zeros for pending points.
func (v *view) whitenedFor(src *source, k int) []float64 {
	z := make([]float64, src.data.Len())
	switch {
	case v.transforms[k].blind:
		return z
	case v.traits.Earliest(v.round) <= 1:
		copy(z, v.era.whitened[k][:src.arrived])
		return z
	}
	y := make([]float64, src.arrived)
	for i := range y {
		y[i] = v.transforms[k].response(v.history.Rounds[src.rounds[i]-1].Readings[v.targets[k].metric].Value)
	}
	copy(z, src.data.Prefix(src.arrived).Whiten(nil, y))
	return z
}

// sourcesCensored puts every chosen point into K. Round n's response counts as its value if decision t sees it and it
// came within the delay window, else as 0.
func (v *view) sourcesCensored(ctx context.Context) error {
	v.sourceOf = v.era.ownOf
	for _, g := range v.era.own {
		src, err := v.inSight(ctx, g)
		if err != nil {
			return err
		}
		v.sources = append(v.sources, src)
	}
	for k, i := range v.sourceOf {
		if i < 0 {
			continue
		}
		src := &v.sources[i]
		src.targets = append(src.targets, k)
		src.z = append(src.z, src.data.Whiten(nil, v.censoredResponses(k, src.rounds, v.traits.Censoring.Window)))
	}
	return nil
}

func (v *view) censoredResponses(k int, chosen []int, window int) []float64 {
	y := make([]float64, len(chosen))
	for i, n := range chosen {
		r := v.history.Rounds[n-1].Readings[v.targets[k].metric]
		if r.seenAt(v.round) && r.Revealed-n <= window {
			y[i] = v.transforms[k].response(r.Value)
		}
	}
	return y
}

// sourcePenalised regresses the one penalised response with the objective's model.
func (v *view) sourcePenalised(ctx context.Context) error {
	v.sourceOf = v.era.ownOf
	g := v.era.own[0]
	src, err := v.inSight(ctx, g)
	if err != nil {
		return err
	}
	var y []float64
	for _, n := range src.rounds {
		reward, costs, _ := v.outcome(n)
		y = append(y, v.traits.Response(reward, costs, v.multipliers))
	}
	if v.settings.PendingNarrows() {
		if err := v.appendPending(ctx, &src, g.model, v.incomplete(v.round)); err != nil {
			return err
		}
	}
	z := make([]float64, src.data.Len())
	copy(z, src.data.Prefix(src.arrived).Whiten(nil, y))
	src.targets, src.z = []int{0}, [][]float64{z}
	v.sources = []source{src}
	return nil
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

// outcome is round n's reward and costs in modelled units, as the view's decision sees them.
func (v *view) outcome(n int) (reward float64, costs []float64, ok bool) {
	r := &v.history.Rounds[n-1]
	for k, target := range v.targets {
		var value float64
		if target.metric < 0 {
			value = v.cfg.Costs[target.cost].given(r.Costs[target.cost])
		} else {
			reading := r.Readings[target.metric]
			if !reading.seenAt(v.round) {
				return 0, nil, false
			}
			value = v.transforms[k].function(reading.Value)
		}
		if k == 0 {
			reward = value
		} else {
			costs = append(costs, value)
		}
	}
	return reward, costs, true
}

// finish adds γ_t, β_t, the risk that is left of each limit and the incumbent.
func (v *view) finish(ctx context.Context) error {
	v.allowances = v.allowancesAt(v.round)
	err := v.widths(ctx)
	if err == nil && v.traits.Incumbent != nil {
		err = v.findIncumbent(ctx)
	}
	return err
}

// widths adds γ_t and β_t.
func (v *view) widths(ctx context.Context) error {
	w := policy.Width{Round: v.round, Multipliers: v.multipliers,
		Gain: make([]float64, len(v.targets)), Lambda: make([]float64, len(v.targets))}
	for k, t := range v.targets {
		if t.metric >= 0 {
			w.Lambda[k] = v.era.models[t.metric].lambda
		}
		if i := v.sourceOf[k]; i >= 0 {
			w.Gain[k] = v.sources[i].gain()
		}
	}
	v.gain, v.lambda = w.Gain, w.Lambda
	v.beta = v.policy.Beta(w)
	if c := v.traits.Censoring; c != nil {
		sums, err := v.recentDeviations(ctx, c.Window)
		if err != nil {
			return err
		}
		v.beta = c.Widen(v.beta, sums)
	}
	return nil
}

// recentDeviations is Σ_{s=max(1,t−m)}^{t−1} σ_t(x_s) per target.
func (v *view) recentDeviations(ctx context.Context, window int) ([]float64, error) {
	sums := make([]float64, len(v.targets))
	var places []Place
	for n := max(1, v.round-window); n < v.round; n++ {
		if r := v.history.Rounds[n-1]; !r.Excluded {
			places = append(places, Place{r.Point, r.Arm})
		}
	}
	estimates, err := v.estimate(ctx, places, nil)
	if err != nil {
		return nil, err
	}
	for k, e := range estimates {
		for _, sd := range e.SD {
			sums[k] += sd
		}
	}
	return sums, nil
}

// inputs lists places as kernel inputs.
func (v *view) inputs(k Kernel, at []Place) *kernel.Inputs {
	if list := v.listOf(at); list != nil {
		return list.inputs(k)
	}
	in := kernel.NewInputs(v.inputWidth(k))
	for _, p := range at {
		in.Append(v.input(k, p))
	}
	return in
}
