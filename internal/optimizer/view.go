package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

// view is what the algorithm acts on at decision t: the regression of each target, the transform
// that it is modelled by, β and γ.
type view struct {
	*evidence
	round         int
	regime        *regime
	transforms    []transform // per target
	sources       []source    // distinct regressions
	sourceOf      []int       // per target, its source; −1 when not regressed
	beta          []float64
	gain          []float64 // per target
	lambda        []float64 // per target
	multipliers   []float64
	resolved      *checkpoint.Once[*view] // see withIncumbent
	priorMeans    knownMeans              // see findPriorMeans
	incumbent     *incumbent
	searchCentre  *Place // the incumbent among the points read
	eligibleMeans knownMeans
	allowances    []allowance
	shortlist     *shortlist // what the search scores while many trials are pending, else nil
	slid          windows    // of earlier rounds, while rounds are replayed in order; else nil
	forDisplay    bool       // it is shown, no decision is made by it
	from          int        // the earliest round whose readings it has, 0 for that of the algorithm's window
}

// earliest is the earliest round whose readings the view has.
func (v *view) earliest() int {
	return cmp.Or(v.from, v.traits.Earliest(v.round))
}

// model is a metric's model, as shown or as the decision is made by.
func (v *view) model(metric int) metricModel {
	if v.forDisplay {
		return v.regime.shownModels[metric]
	}
	return v.regime.models[metric]
}

// shownDiffers tells whether some metric is shown with other standard deviations than the decision
// is made by.
func (v *view) shownDiffers() bool {
	return v.cfg.someMetric(func(metric int) bool { return v.sdFactor(metric) != 1 })
}

// sdFactor is the factor from the regressed standard deviation of a metric to that of the view,
//
//	√(σ²/σ₀²),   σ² and σ₀² being the kernel's variances.
func (v *view) sdFactor(metric int) float64 {
	regressed, believed := v.regime.models[metric].kernel.Variance, v.model(metric).kernel.Variance
	if regressed == believed {
		return 1
	}
	return math.Sqrt(believed / regressed)
}

// acting returns the view of decision t with multipliers q: the arrived readings, in the
// algorithm's window, and the pending trials.
func (s *evidence) acting(ctx context.Context, t int, q []float64, slid windows) (*view, error) {
	return s.actingIn(ctx, s.regimeAt(t), t, q, slid)
}

// actingIn is acting with the hyperparameters of a regime. A metric without a scale yet is seen by
// its prior mean alone, centred on the limit, since its readings have a unit of which nothing is
// known.
func (s *evidence) actingIn(ctx context.Context, regime *regime, t int, q []float64, slid windows) (*view, error) {
	v := &view{evidence: s, round: t, regime: regime, transforms: slices.Clone(regime.transforms), multipliers: q, slid: slid, resolved: new(checkpoint.Once[*view])}
	for k, target := range s.targets {
		if target.metric >= 0 && !s.scaled(regime.models[target.metric]) {
			blind := transform{warp: warp.Identity, priorOnly: true}
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
	v.allowances, v.priorMeans = v.allowancesAt(v.round), v.findPriorMeans()
	return v, v.setWidths(ctx)
}

// observed returns the view that is shown: the arrived readings in the window, nothing else.
func (s *evidence) observed(ctx context.Context, t int, slid windows) (*view, error) {
	regime := s.regimeAt(t)
	v := &view{evidence: s, round: t, regime: regime, transforms: regime.transforms, slid: slid, forDisplay: true}
	if s.next != nil && s.next.round == t && s.next.seesWhatArrived() {
		v.sources, v.sourceOf = s.next.sources, s.next.sourceOf
		return v, nil
	}
	return v, v.sourcesArrived(ctx, false)
}

// seesWhatArrived tells whether the view's decision is made from the arrived readings and nothing
// else.
func (v *view) seesWhatArrived() bool {
	return !v.traits.ActsOnOwnData() && !v.hasPending() &&
		!slices.ContainsFunc(v.transforms, func(t transform) bool { return t.priorOnly })
}

// hasPending tells whether the view's decision takes account of pending trials.
func (v *view) hasPending() bool {
	return slices.ContainsFunc(v.sources, func(src source) bool { return len(src.pending) > 0 })
}

// sourcesArrived regresses each metric on its arrived readings in the window, followed by its
// pending points.
func (v *view) sourcesArrived(ctx context.Context, withPending bool) error {
	v.sourceOf = make([]int, len(v.targets))
	for k, t := range v.targets {
		if v.sourceOf[k] = -1; t.metric < 0 {
			continue
		}
		g, pending := v.regime.groups[v.regime.groupOf[t.metric]], []int(nil)
		if withPending {
			pending = v.pending(v.round, t.metric)
		}
		i := slices.IndexFunc(v.sources, func(src source) bool { return src.group == g && slices.Equal(src.pending, pending) })
		if i < 0 {
			i = len(v.sources)
			v.sources = append(v.sources, source{group: g, pending: pending})
		}
		v.sourceOf[k] = i
		v.sources[i].targets = append(v.sources[i].targets, k)
	}
	for i := range v.sources {
		src := &v.sources[i]
		if err := v.condition(ctx, src, func(rows *posterior.Rows, n int) []float64 { return v.whitened(src, rows, src.targets[n]) }); err != nil {
			return err
		}
	}
	return nil
}

// sourcesCensored regresses every chosen point. Round n's response is its value if decision t sees
// it and it came within the delay window, else 0.
func (v *view) sourcesCensored(ctx context.Context) error {
	v.sourceOf = v.regime.ownOf
	for i, g := range v.regime.own {
		src := source{group: g, targets: lists.Where(len(v.sourceOf), func(k int) bool { return v.sourceOf[k] == i })}
		if err := v.condition(ctx, &src, func(rows *posterior.Rows, n int) []float64 {
			return rows.Data.Whiten(nil, v.censoredResponses(src.targets[n], src.rounds, v.traits.Censoring.Window))
		}); err != nil {
			return err
		}
		v.sources = append(v.sources, src)
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

// sourcePenalised regresses the penalised response with the objective's model.
func (v *view) sourcePenalised(ctx context.Context) error {
	v.sourceOf = v.regime.ownOf
	src := source{group: v.regime.own[0], targets: []int{0}}
	if v.settings.PendingNarrows() {
		src.pending = v.incomplete(v.round)
	}
	err := v.condition(ctx, &src, func(rows *posterior.Rows, _ int) []float64 {
		var y []float64
		for _, n := range src.rounds {
			reward, costs, _ := v.outcome(n)
			y = append(y, v.traits.Response(reward, costs, v.multipliers))
		}
		return rows.Data.Whiten(nil, y)
	})
	v.sources = []source{src}
	return err
}

// setWidths sets γ_t, λ and β_t.
func (v *view) setWidths(ctx context.Context) error {
	w := policy.WidthInput{Round: v.round, Multipliers: v.multipliers,
		Gain: make([]float64, len(v.targets)), Lambda: make([]float64, len(v.targets))}
	for k, t := range v.targets {
		if t.metric >= 0 {
			w.Lambda[k] = v.model(t.metric).lambda
		}
		if i := v.sourceOf[k]; i >= 0 {
			w.Gain[k] = v.sources[i].Gain()
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
	rounds := v.history.roundsWhere(max(1, v.round-window), v.round, func(_ int, r *Round) bool { return !r.Excluded })
	estimates, err := v.estimate(ctx, v.placesAt(rounds), nil)
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

// source is the posterior of one or more targets.
type source struct {
	posterior.Posterior
	kernel  Kernel
	group   *group // the regression it comes from
	arrived int    // number of readings
	targets []int
	rounds  []int // of each row, where it has rows
	pending []int // pending rounds
}

// rowsAt returns the first row at each of so many places, −1 for none; at maps a round to its
// place, or to a negative number.
func (src *source) rowsAt(places int, at func(round int) int) []int {
	rows := slices.Repeat([]int{-1}, places)
	for row, round := range slices.Backward(src.rounds) {
		if i := at(round); i >= 0 {
			rows[i] = row
		}
	}
	return rows
}

// readings are the group's readings that the decision sees, in the algorithm's window.
func (v *view) readings(g *group) []arrival {
	order := g.order[:g.seen(v.round)]
	if first := v.earliest(); first > 1 {
		order = slices.DeleteFunc(slices.Clone(order), func(a arrival) bool { return a.round < first })
	}
	return order
}

// condition computes the posterior of a source from the readings seen; whitened gives z of its n-th
// target.
func (v *view) condition(ctx context.Context, src *source, whitened func(rows *posterior.Rows, n int) []float64) error {
	g := src.group
	src.kernel = g.model.kernel
	order := v.readings(g)
	src.arrived = len(order)
	if g.sequential != nil {
		return v.amongCandidates(ctx, src)
	}
	rows := &posterior.Rows{Read: len(order)}
	if v.earliest() <= 1 {
		rows.Of, rows.Data = &g.Regression, g.Data.Prefix(len(order))
		if len(order) < len(g.order) {
			rows.Next = g.order[len(order)].round
		}
	} else {
		var err error
		if rows.Data, err = v.windowed(ctx, v.slid, g, order); err != nil {
			return err
		}
	}
	src.rounds = lists.Map(order, func(a arrival) int { return a.round })
	for n := range src.targets {
		rows.Z = append(rows.Z, whitened(rows, n))
	}
	src.Posterior = rows
	return v.appendPending(ctx, src, rows)
}

// amongCandidates is condition where there are many more readings than candidates.
func (v *view) amongCandidates(ctx context.Context, src *source) (err error) {
	st, c := src.group.sequential, &posterior.Candidates{HasPending: len(src.pending) > 0}
	if i := v.round - st.from; i < len(st.noted.items) {
		c.Noted = &st.noted.items[i]
	} else {
		c.Arms = st.arms
		c.WithPending, err = v.withPending(ctx, src.group, st.arms, src.pending)
	}
	c.ByRows = func(ctx context.Context) (*posterior.Rows, error) { return v.byRows(ctx, src) }
	src.Posterior = c
	return err
}

// byRows regresses a source among candidates on one row per candidate, whose reading is the mean of
// the candidate's own readings weighted by precision: the posterior is the same.
func (v *view) byRows(ctx context.Context, src *source) (*posterior.Rows, error) {
	order, answers := v.perCandidate(src)
	rows := &posterior.Rows{Read: len(order), Data: gp.NewData(src.group.function)}
	if err := v.appendRounds(ctx, rows.Data, src.kernel, order, nil); err != nil {
		return nil, err
	}
	rows.Z = lists.Map(answers, func(y []float64) []float64 { return rows.Data.Whiten(nil, y) })
	return rows, v.appendPending(ctx, &source{kernel: src.kernel, group: src.group, pending: src.pending}, rows)
}

// perCandidate combines the readings of each arm into one, y = λ Σ y_s/λ_s with λ = 1/Σ (1/λ_s),
// per target of the source.
func (v *view) perCandidate(src *source) (order []arrival, answers [][]float64) {
	answers = make([][]float64, len(src.targets))
	at := map[int]int{}
	for i, a := range src.group.order[:src.arrived] {
		arm := v.history.Rounds[a.round-1].Arm
		n, ok := at[arm]
		if !ok {
			n = len(order)
			at[arm] = n
			order = append(order, arrival{round: a.round, revealed: a.revealed})
		}
		order[n].lambda += 1 / a.lambda
		for t, k := range src.targets {
			if !ok {
				answers[t] = append(answers[t], 0)
			}
			answers[t][n] += v.responseOf(k, i) / a.lambda
		}
	}
	for n := range order {
		order[n].lambda = 1 / order[n].lambda
		for t := range answers {
			answers[t][n] *= order[n].lambda
		}
	}
	return order, answers
}

// responseOf is target k's response in the i-th reading, 0 where its readings are not used.
func (v *view) responseOf(k, i int) float64 {
	if v.transforms[k].priorOnly {
		return 0
	}
	return v.regime.responses[k][i]
}

// whitened is z = L⁻¹y of target k.
func (v *view) whitened(src *source, rows *posterior.Rows, k int) []float64 {
	switch {
	case v.transforms[k].priorOnly:
		return make([]float64, rows.Read)
	case rows.Of != nil:
		return v.regime.whitened[k][:rows.Read]
	}
	return rows.Data.Whiten(nil, lists.Map(src.rounds, func(round int) float64 {
		return v.transforms[k].response(v.history.Rounds[round-1].Readings[v.targets[k].metric].Value)
	}))
}

// appendPending adds the pending rounds to a source's rows.
func (v *view) appendPending(ctx context.Context, src *source, rows *posterior.Rows) error {
	if len(src.pending) == 0 {
		return nil
	}
	m := src.group.model
	order := lists.Map(src.pending, func(r int) arrival { return arrival{round: r, lambda: m.noise.atPlace(v.placeOf(r), m.lambda)} })
	known, before := v.priorPending(src, rows)
	rows.StartPending(before)
	src.rounds = append(src.rounds, src.pending...)
	err := v.appendRounds(ctx, rows.Data, m.kernel, order[known:], nil)
	for n, z := range rows.Z {
		rows.Z[n] = append(z[:rows.Read:rows.Read], make([]float64, len(order))...)
	}
	return err
}

// priorPending returns the prior state's rows of the same readings and the first of the same
// pending points, and how many of these there are; nil if none. Each of many trials asked for in a
// row adds one to the pending ones.
func (v *view) priorPending(src *source, rows *posterior.Rows) (count int, before *posterior.Rows) {
	if v.prior == nil || rows.Of == nil || src.group.continues == nil || src.group.reused != src.arrived {
		return 0, nil
	}
	for i := range v.prior.next.sources {
		known := &v.prior.next.sources[i]
		n := len(known.pending)
		if known.group == src.group.continues && known.arrived == src.arrived && 0 < n && n <= len(src.pending) && slices.Equal(known.pending, src.pending[:n]) &&
			!slices.ContainsFunc(known.pending, func(round int) bool { return !v.samePoint(round) }) {
			if before, ok := known.Posterior.(*posterior.Rows); ok && before.Of != nil {
				return n, before
			}
		}
	}
	return 0, nil
}
