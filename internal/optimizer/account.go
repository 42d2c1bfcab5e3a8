package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
)

// account is what came of the rounds: the multipliers, and the trace of every decision.
type account struct {
	*evidence
	shown       *shown
	multipliers []float64 // of the next decision
	trace       tracing

	summaries  checkpoint.Once[[]policy.RoundSummary]
	violations checkpoint.Once[[][]Violation]
}

// Multipliers returns one per constraint, for the next decision, or nil for algorithms without.
func (s *account) Multipliers() []float64 { return s.multipliers }

// MovesByEstimate tells whether the multipliers move by estimates at the chosen points instead of
// readings.
func (s *account) MovesByEstimate() bool { return s.traits.MovesByEstimate }

// AtCeiling lists the constraints whose multiplier for the next decision has reached its largest
// value (ρ of the primal-dual algorithms, kappa_max of penalty-noiseless).
func (s *account) AtCeiling() []int {
	return lists.Where(len(s.multipliers), func(j int) bool { return s.traits.Ceiling != nil && s.multipliers[j] >= s.traits.Ceiling(j) })
}

// moment is what a step of the multipliers depends on beside the readings.
type moment struct {
	regime   *regime
	unscaled []bool // costs whose metric has no scale yet: their readings are left out
	frozen   []bool // costs whose multipliers do not move
	slid     windows
}

// replayMultipliers moves the multipliers through the rounds, from the first that may move them
// differently than in the prior state.
func (s *account) replayMultipliers(ctx context.Context, prior *account) error {
	first, q := 1, s.policy.Start()
	scaled := s.scaledFrom()
	if prior != nil {
		first = s.agreed.decision
		s.pastMultipliers, q = prior.pastMultipliers.prefix(first-1), prior.multipliers
		if first <= len(prior.pastMultipliers.items) {
			q = prior.pastMultipliers.items[first-1]
		}
	}
	slid := windows{}
	for t := first; t < s.Round(); t++ {
		if err := checkpoint.Reach(ctx); err != nil {
			return err
		}
		s.pastMultipliers = s.pastMultipliers.append(q)
		m := moment{s.regimeAt(t), make([]bool, len(scaled)), make([]bool, len(scaled)), slid}
		for j, from := range scaled {
			m.unscaled[j] = t < from
			m.frozen[j] = m.unscaled[j] && s.traits.MovesByEstimate
		}
		var err error
		if q, err = s.step(ctx, t, q, m); err != nil {
			return err
		}
		if slices.Contains(scaled, t+1) {
			if q, err = s.catchUp(ctx, t, q, scaled); err != nil {
				return err
			}
		}
	}
	s.multipliers = q
	return nil
}

// step moves the multipliers at the end of round t.
func (s *account) step(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	r := policy.Revealed{Round: t, Excluded: s.history.Rounds[t-1].Excluded,
		Costs: s.costs(t, m), Given: s.givenAt(t),
		Since: func(first, j int) []float64 {
			return s.knownCosts(lists.Of(t+1-first, func(i int) int { return first + i }), t, j, m)
		}}
	if s.traits.MovesByEstimate {
		estimates, err := s.ownEstimates(ctx, t, q, m)
		if err != nil {
			return nil, err
		}
		r.Own = estimates[1:]
	}
	next := s.policy.Step(q, &r)
	for j := range next {
		if m.frozen[j] {
			next[j] = q[j]
		}
	}
	return next, nil
}

// catchUp replays rounds 1 to t for the costs that get their first scale after round t, in that
// scale.
func (s *account) catchUp(ctx context.Context, t int, q []float64, scaled []int) ([]float64, error) {
	others, regime := lists.Map(scaled, func(from int) bool { return from != t+1 }), s.regimeAt(t+1)
	for n := 1; n <= t; n++ {
		var err error
		if q, err = s.step(ctx, n, q, moment{regime, others, others, nil}); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// costs are the values of every cost told during round t, in the units of the moment.
func (s *account) costs(t int, m moment) [][]float64 {
	out := make([][]float64, len(s.cfg.Costs))
	for j := range out {
		told := []int{t}
		if metric := s.targets[1+j].metric; metric >= 0 {
			told = lists.Map(s.toldIn(metric, t), func(a arrival) int { return a.round })
		}
		out[j] = s.knownCosts(told, t, j, m)
	}
	return out
}

// costAt is cost j of round n in modelled units, the round during which it became known, and
// whether it is known and counts.
func (s *account) costAt(n, j int, regime *regime) (g float64, since int, known bool) {
	r, k := &s.history.Rounds[n-1], s.targets[1+j].metric
	switch {
	case r.Excluded:
		return 0, 0, false
	case k < 0:
		return s.cfg.Costs[j].given(r.Costs[j]), n, true
	}
	reading := r.Readings[k]
	return regime.transforms[1+j].target(reading.Value), reading.Revealed, reading.Told
}

// knownCosts are the values of cost j in some rounds that were known by the end of round t.
func (s *account) knownCosts(rounds []int, t, j int, m moment) []float64 {
	if m.unscaled[j] {
		return nil
	}
	return lists.Pick(rounds, func(n int) (float64, bool) {
		g, since, known := s.costAt(n, j, m.regime)
		return g, known && since <= t
	})
}

// ownEstimates is what decision t estimated at the point it chose, for multipliers that move by
// estimate.
func (s *account) ownEstimates(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	v, err := s.actingIn(ctx, m.regime, t, q, m.slid)
	if err != nil {
		return nil, err
	}
	r := &s.history.Rounds[t-1]
	known := func(j, _ int) float64 { return r.Costs[j] }
	estimates, err := v.predictPlayed(ctx, t, known)
	if err != nil {
		return nil, err
	}
	then := &decision{view: v}
	input, err := then.withDraw(ctx, then.inputFrom(ctx, []Place{s.placeOf(t)}, known, s.draw(t), estimates), s.placeOf(t), known)
	if err != nil {
		return nil, err
	}
	return s.policy.Estimates(input, 0), nil
}

// Violations returns one per constraint, after all rounds.
func (s *account) Violations(ctx context.Context) ([]Violation, error) {
	trace, err := s.ViolationTrace(ctx)
	if err != nil {
		return nil, err
	}
	if len(trace) == 0 {
		return make([]Violation, len(s.cfg.Costs)), nil
	}
	return trace[len(trace)-1], nil
}

// ViolationTrace returns the violations after each round, as [round][constraint].
func (s *account) ViolationTrace(ctx context.Context) ([][]Violation, error) {
	return s.violations.Get(ctx, s.traceViolations)
}

// traceViolations computes ViolationTrace.
func (s *account) traceViolations(ctx context.Context) ([][]Violation, error) {
	steps, err := s.roundSummaries(ctx, s.traits.Bound != nil)
	if err != nil {
		return nil, err
	}
	past, err := s.inRetrospect(ctx)
	if err != nil {
		return nil, err
	}
	estimates, err := past.inSample(ctx)
	if err != nil {
		return nil, err
	}
	n, expected := len(s.history.Rounds), past.expectedExcess(estimates)
	trace := lists.Of(n, func(int) []Violation { return make([]Violation, len(s.cfg.Costs)) })
	for j := range s.cfg.Costs {
		var v Violation
		var bound []float64
		if steps != nil {
			bound = s.traits.Bound(j, steps)
		}
		for i := range n {
			if excess, ok := s.excess(i+1, j); ok {
				v.Add(excess)
				v.Estimated += expected[i][j]
				if bound != nil && steps[i].Suggested {
					v.Bounded.Add(excess)
				}
			}
			if bound != nil {
				v.Bound, v.HasBound = bound[i], true
			}
			trace[i][j] = v
		}
	}
	return trace, nil
}

// inRetrospect is what is believed of all rounds by all readings: what happened stays so after the
// algorithm has forgotten it.
func (s *account) inRetrospect(ctx context.Context) (*shown, error) {
	if s.shown.earliest() == 1 {
		return s.shown, nil
	}
	return s.shown.since(ctx, 1)
}

// RegretBounds returns the algorithm's bound on the cumulative regret after each round, in units of
// the objective; nil for algorithms without one.
func (s *account) RegretBounds(ctx context.Context) ([]float64, error) {
	steps, err := s.roundSummaries(ctx, s.traits.RegretBound != nil)
	if steps == nil || err != nil {
		return nil, err
	}
	return s.traits.RegretBound(steps), nil
}

// roundSummaries are what bounds need to know of the rounds; nil where not wanted or without
// rounds.
func (s *account) roundSummaries(ctx context.Context, wanted bool) ([]policy.RoundSummary, error) {
	if !wanted || len(s.history.Rounds) == 0 {
		return nil, nil
	}
	return s.summaries.Get(ctx, func(ctx context.Context) ([]policy.RoundSummary, error) {
		trace, err := s.Trace(ctx)
		return lists.Of(len(trace), func(i int) policy.RoundSummary { return s.roundSummary(i+1, trace[i]) }), err
	})
}

// roundSummary is what bounds need to know of round t. Unknown costs, and those that do not count,
// are NaN. Decisions made before a metric had a scale count in its first scale, as for multipliers.
func (s *account) roundSummary(t int, trace RoundTrace) policy.RoundSummary {
	r, n := &s.history.Rounds[t-1], len(s.targets)
	scaled := func(metric int) *regime { return s.regimeAt(max(t, s.scaleSince(metric))) }
	f := policy.RoundSummary{Suggested: r.Suggested && !r.Excluded, Multipliers: trace.Multipliers, After: s.multipliers,
		Beta: make([]float64, n), SD: make([]float64, n), Gain: make([]float64, n), Lambda: make([]float64, n), Scale: make([]float64, n)}
	if t < len(s.pastMultipliers.items) {
		f.After = s.pastMultipliers.items[t]
	}
	for j := range s.cfg.Costs {
		g, _, known := s.costAt(t, j, scaled(s.targets[1+j].metric))
		if !known {
			g = math.NaN()
		}
		f.Costs = append(f.Costs, g)
	}
	for k, target := range s.targets {
		f.Scale[k] = 1
		if m := target.metric; m >= 0 && trace.latentSD != nil {
			f.Beta[k], f.SD[k], f.Gain[k], f.Scale[k] = trace.Beta[m], trace.latentSD[m], trace.InformationGain[m], scaled(m).transforms[k].scale
			f.Lambda[k] = s.regimeAt(t).models[m].lambda
		}
	}
	return f
}

// Calibrations returns one per metric. Readings in doubt are left out, as more likely slips than
// readings, and so are those for which nothing was predicted (RoundTrace.Ahead).
func (s *account) Calibrations(ctx context.Context) ([]Calibration, error) {
	out := make([]Calibration, len(s.cfg.Metrics))
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	shifts, err := s.shown.shifts(ctx)
	if err != nil {
		return nil, err
	}
	known := map[float64]bands{} // by degrees of freedom
	for i := range out {
		out[i].Shift = shifts[i]
		var residuals []float64
		for n, r := range s.history.Rounds {
			regime := s.regimeAt(n + 1)
			if r.Excluded || !r.Readings[i].Told || r.Readings[i].InDoubt || trace[n].Ahead == nil || trace[n].Ahead[i] == nil {
				continue
			}
			freedom := regime.models[i].freedom
			central, found := known[freedom]
			if !found {
				central = bands{halfWidth(0.5, freedom), halfWidth(0.8, freedom), halfWidth(0.95, freedom)}
				known[freedom] = central
			}
			residuals = append(residuals, trace[n].residuals[i])
			out[i].Coverage.add(trace[n].residuals[i], central)
			if s.readAmong(trace[n].before, n+1, i) {
				out[i].Repeated.add(trace[n].residuals[i], central)
			} else {
				out[i].New.add(trace[n].residuals[i], central)
			}
			out[i].Innovations = append(out[i].Innovations, Innovation{n + 1, trace[n].innovations[i]})
		}
		out[i].ResidualMean, out[i].ResidualSD = meanSD(residuals)
		for _, c := range []*Coverage{&out[i].Coverage, &out[i].New, &out[i].Repeated} {
			c.toShares()
		}
	}
	return out, nil
}

// meanSD is the mean and the standard deviation (÷n) of x; 0 and 0 for none.
func meanSD(x []float64) (mean, sd float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(sd)
}

// bands are the half widths, in standard deviations, of the central bands that hold 50, 80 and 95 %
// of the residuals.
type bands [3]float64

// add counts one residual, given the central bands.
func (c *Coverage) add(residual float64, central bands) {
	c.Count++
	for i, count := range []*float64{&c.Coverage50, &c.Coverage80, &c.Coverage95} {
		if math.Abs(residual) <= central[i] {
			*count++
		}
	}
}

// toShares turns the counts into shares.
func (c *Coverage) toShares() {
	if c.Count == 0 {
		return
	}
	n := float64(c.Count)
	c.Coverage50, c.Coverage80, c.Coverage95 = c.Coverage50/n, c.Coverage80/n, c.Coverage95/n
}

// tracing is the trace as far as it has been made. Callers that need it at the same time make it in
// turns, a round each.
type tracing struct {
	mu           sync.Mutex
	rounds       []RoundTrace
	slid         windows
	toldTogether []toldTogether // by target
}

// toldTogether are the innovations of the readings told during one round, by the rounds they belong
// to.
type toldTogether struct {
	revealed    int
	innovations map[int]float64
}

// Trace returns one entry per round. The error is that of ctx; a later call continues from there.
func (s *account) Trace(ctx context.Context) ([]RoundTrace, error) {
	for {
		switch done, err := s.traceFurther(ctx); {
		case err != nil:
			return nil, err
		case done:
			return s.trace.rounds, nil
		}
		if err := checkpoint.Reach(ctx); err != nil { // others may continue
			return nil, err
		}
	}
}

// reuseTrace takes the first rounds of the prior state's trace, up to the first that may differ.
func (s *account) reuseTrace(prior *account) {
	if prior == nil {
		return
	}
	l := &prior.trace
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.rounds), s.agreed.decision-1, s.agreed.record-1)
	for i := range n { // the innovation of a late reading depends on all that was told before it
		if slices.ContainsFunc(s.history.Rounds[i].Readings, func(r Reading) bool { return r.Told && r.Revealed >= s.agreed.decision }) {
			n = i
			break
		}
	}
	s.trace.rounds = l.rounds[:n:n]
}

// traceFurther traces the next round and tells whether there was none left.
func (s *account) traceFurther(ctx context.Context) (done bool, err error) {
	l := &s.trace
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rounds) == len(s.history.Rounds) {
		return true, nil
	}
	round, err := s.traceRound(checkpoint.Without(ctx), len(l.rounds)+1, l.slid)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		// An error would have shown in Replay, which made the same regressions. If it did not, the
		// round is traced without numbers.
		round = RoundTrace{Multipliers: round.Multipliers, Horizon: round.Horizon}
	}
	l.rounds = append(l.rounds, round)
	return false, nil
}

// traceRound describes decision t.
func (s *account) traceRound(ctx context.Context, t int, slid windows) (RoundTrace, error) {
	trace := RoundTrace{Multipliers: s.pastMultipliers.items[t-1], Horizon: s.horizon(t), before: s.playedBefore(t)}
	shown, err := s.observed(ctx, t, slid)
	if err != nil {
		return trace, err
	}
	acted := shown
	acted.multipliers = s.pastMultipliers.items[t-1]
	if s.traits.ActsOnOwnData() {
		acted, err = s.acting(ctx, t, s.pastMultipliers.items[t-1], slid)
	} else {
		err = acted.setWidths(ctx)
	}
	if err != nil {
		return trace, err
	}
	predicted, err := shown.predictPlayed(ctx, t, nil)
	if err != nil {
		return trace, err
	}
	believed := predicted
	if acted != shown {
		if believed, err = acted.predictPlayed(ctx, t, nil); err != nil {
			return trace, err
		}
	}
	for i := range s.cfg.Metrics {
		k := s.targetOf(i)
		trace.Beta = append(trace.Beta, betaOf(acted, k))
		trace.InformationGain = append(trace.InformationGain, informationGain(acted, shown, k))
		model := shown.model(i) // without the doubt: when decision t was made there was none
		var ahead *Predicted
		if s.scaled(model) && shown.sources[shown.sourceOf[k]].arrived > 0 {
			mean, sd := shown.regime.transforms[k].moments(shown.ahead(k, s.undoubtedLambda(t, s.history.Rounds[t-1].Readings[i], model), predicted[k]))
			ahead = &Predicted{Mean: mean, SD: sd}
		}
		latent := predicted[k].SD[0]
		if acted.sourceOf[k] >= 0 {
			latent = believed[k].SD[0]
		}
		trace.Ahead, trace.latentSD = append(trace.Ahead, ahead), append(trace.latentSD, latent)
		residual := shown.residual(t, k, predicted[k])
		innovation, err := s.innovation(ctx, t, k, normalDeviate(residual, model.freedom))
		if err != nil {
			return trace, err
		}
		trace.residuals, trace.innovations = append(trace.residuals, residual), append(trace.innovations, innovation)
		trace.uninflated = append(trace.uninflated, residual*residual*shown.inflatedBy(t, k, predicted[k]))
	}
	trace.breakChances = lists.Of(len(s.cfg.Costs), func(j int) float64 { return shown.breakChance(predicted, j, 0) })
	return trace, nil
}

// mostCollapsed is the largest number of candidates, read more than once on average, whose readings
// are regressed by rows for innovations. With more, trials have little in common.
const mostCollapsed = 512

// innovation is that of round t's reading of target k's metric (Calibration.Innovations), given all
// readings told before it, also those that decision t had not seen: an error that trials of a batch
// have in common is no change of the process. alone is the innovation by the decision's own
// prediction, which is the same where nothing else had come.
func (s *account) innovation(ctx context.Context, t, k int, alone float64) (float64, error) {
	reading := s.history.Rounds[t-1].Readings[s.targets[k].metric]
	if !reading.Told {
		return alone, nil
	}
	if told := s.toldIn(s.targets[k].metric, reading.Revealed); len(told) == 0 || reading.Revealed == t && told[0].round == t {
		return alone, nil
	}
	group := &s.trace.toldTogether[k]
	if group.revealed != reading.Revealed {
		innovations, err := s.innovations(ctx, reading.Revealed, k)
		if err != nil {
			return 0, err
		}
		*group = toldTogether{reading.Revealed, innovations}
	}
	if innovation, known := group.innovations[t]; known {
		return innovation, nil
	}
	return alone, nil
}

// innovations are those of all readings of target k's metric that were told during round t, by the
// rounds they belong to; nil where they cannot be computed.
func (s *account) innovations(ctx context.Context, t, k int) (by map[int]float64, err error) {
	v, err := s.observed(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	src, metric := &v.sources[v.sourceOf[k]], s.targets[k].metric
	if s.arms != nil && len(s.arms.places) > mostCollapsed && src.arrived > readingsPerArm*len(s.arms.places) {
		return nil, nil
	}
	rows, err := src.Rows(ctx)
	if err != nil {
		return nil, err
	}
	model, transform, order := v.regime.models[metric], v.transforms[k], slices.Clone(s.toldIn(metric, t))
	data, y := rows.Data.Prefix(rows.Read), make([]float64, rows.Read)
	for i, a := range order {
		reading := s.history.Rounds[a.round-1].Readings[metric]
		order[i].lambda, y = s.readingLambda(a.round, reading, model), append(y, transform.response(reading.Value))
	}
	if err := s.appendRounds(ctx, data, model.kernel, order, nil); errors.Is(err, factor.ErrNotPositiveDefinite) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	z := data.Whiten(rows.Z[slices.Index(src.targets, k)][:rows.Read], y)
	by = map[int]float64{}
	for i, a := range order {
		row := rows.Read + i
		latent := policy.Estimate{Mean: []float64{data.AheadMean(row, z) + transform.shift}, SD: []float64{v.sdFactor(metric) * math.Sqrt(data.AheadVariance(row))}}
		by[a.round] = normalDeviate(v.residual(a.round, k, latent), model.freedom)
	}
	return by, nil
}

// Risk is how a bound of the risk stands, for one limit or for all together. Its JSON is the API's.
type Risk struct {
	Costs    []int   `json:"-"`        // the limits
	Chosen   []int   `json:"-"`        // the rounds that a model chose so far: see chosenBefore
	Most     float64 `json:"most"`     // r, the largest share of trials beyond
	Trials   int     `json:"trials"`   // N, the trials chosen by the model so far and still planned
	Allowed  float64 `json:"allowed"`  // r·N
	Expected float64 `json:"expected"` // Σ of the chances to break it, predicted at each decision, of the chosen trials whose result is known
	SoFar    int     `json:"so_far"`   // chosen trials with a reading beyond
	Now      float64 `json:"now"`      // the largest chance that the next decision may take
}

// Risks returns how each bound of the risk stands, per limit or for all together.
func (s *account) Risks(ctx context.Context) ([]Risk, error) {
	var list []Risk
	if len(s.next.allowances) == 0 {
		return nil, nil
	}
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range s.next.allowances {
		b := Risk{Costs: a.costs, Chosen: s.chosenBefore(s.Round()), Most: a.most, Now: a.now}
		for _, n := range b.Chosen {
			broken, known := s.brokeLimit(n, s.Round(), a.costs)
			if known {
				b.Expected += s.cfg.chanceAny(trace[n-1].breakChances, a.costs)
			}
			if broken {
				b.SoFar++
			}
		}
		b.Trials = len(b.Chosen) + max(0, s.cfg.Horizon-len(s.history.Rounds))
		b.Allowed = a.most * float64(b.Trials)
		list = append(list, b)
	}
	return list, nil
}
