package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

// view is what the algorithm acts on at decision t: per target a regression, how it is modelled,
// and γ.
type view struct {
	*evidence
	round       int
	regime      *regime
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
	says        bool       // it is what is told, not what is decided by
}

// model is a metric's model.
func (v *view) model(metric int) metricModel {
	if v.says {
		return v.regime.said[metric]
	}
	return v.regime.models[metric]
}

// otherwise tells whether a metric is believed otherwise than it is decided by.
func (v *view) otherwise() bool {
	for metric := range v.regime.models {
		if v.width(metric) != 1 {
			return true
		}
	}
	return false
}

// width is by how much wider than the regression a metric is believed to be,
//
//	√(σ²/σ₀²),   σ₀² being the kernel's variance that is regressed.
func (v *view) width(metric int) float64 {
	regressed, believed := v.regime.models[metric].kernel.Variance, v.model(metric).kernel.Variance
	if regressed == believed {
		return 1
	}
	return math.Sqrt(believed / regressed)
}

// acting returns the view of decision t under multipliers q: what has arrived, in the algorithm's
// window, and what is pending.
func (s *evidence) acting(ctx context.Context, t int, q []float64, slid windows) (*view, error) {
	return s.actingIn(ctx, s.regimeAt(t), t, q, slid)
}

// actingIn is acting with the hyperparameters of a regime. A metric without a scale yet is seen by
// its prior alone, centred on the limit: its readings have units of which nothing is known.
func (s *evidence) actingIn(ctx context.Context, regime *regime, t int, q []float64, slid windows) (*view, error) {
	v := &view{evidence: s, round: t, regime: regime, transforms: slices.Clone(regime.transforms), multipliers: q, slid: slid}
	for k, target := range s.targets {
		if target.metric >= 0 && !s.scaled(regime.models[target.metric]) {
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

// observed returns the view that posteriors are shown from: arrived data in the window, nothing
// else.
func (s *evidence) observed(ctx context.Context, t int, slid windows) (*view, error) {
	regime := s.regimeAt(t)
	v := &view{evidence: s, round: t, regime: regime, transforms: regime.transforms, slid: slid, says: true}
	if s.next != nil && s.next.round == t && s.next.seesWhatArrived() {
		v.sources, v.sourceOf = s.next.sources, s.next.sourceOf
		return v, nil
	}
	return v, v.sourcesArrived(ctx, false)
}

// seesWhatArrived tells whether the readings that arrived, and nothing else, are what the view's
// decision goes by.
func (v *view) seesWhatArrived() bool {
	return !v.traits.ActsOnOwnData() &&
		!slices.ContainsFunc(v.sources, func(src source) bool { return len(src.waiting) > 0 }) &&
		!slices.ContainsFunc(v.transforms, func(t transform) bool { return t.blind })
}

// sourcesArrived gives each metric its arrived readings in the window, and its pending points after
// them.
func (v *view) sourcesArrived(ctx context.Context, withPending bool) error {
	v.sourceOf = make([]int, len(v.targets))
	for k, t := range v.targets {
		if v.sourceOf[k] = -1; t.metric < 0 {
			continue
		}
		g, waiting := v.regime.groups[v.regime.groupOf[t.metric]], []int(nil)
		if withPending {
			waiting = v.pending(v.round, t.metric)
		}
		i := slices.IndexFunc(v.sources, func(src source) bool { return src.group == g && slices.Equal(src.waiting, waiting) })
		if i < 0 {
			i = len(v.sources)
			v.sources = append(v.sources, source{group: g, waiting: waiting})
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

// sourcesCensored puts every chosen point into K. Round n's response counts as its value if
// decision t sees it and it came within the delay window, else as 0.
func (v *view) sourcesCensored(ctx context.Context) error {
	v.sourceOf = v.regime.ownOf
	for i, g := range v.regime.own {
		src := source{group: g}
		for k, of := range v.sourceOf {
			if of == i {
				src.targets = append(src.targets, k)
			}
		}
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

// sourcePenalised regresses the one penalised response with the objective's model.
func (v *view) sourcePenalised(ctx context.Context) error {
	v.sourceOf = v.regime.ownOf
	src := source{group: v.regime.own[0], targets: []int{0}}
	if v.settings.PendingNarrows() {
		src.waiting = v.incomplete(v.round)
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
