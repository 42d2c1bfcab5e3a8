package optimizer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/warp"
)

// A metric's hyperparameters are fitted again at every new reading up to fewReadings, which takes
// milliseconds and changes much; then whenever the readings have grown by the factor soonGrowth;
// and beyond manyReadings, where little changes and each fit adds a regression to keep, by
// lateGrowth.
const (
	fewReadings  = 20
	soonGrowth   = 1.1
	manyReadings = 100
	lateGrowth   = 1.5
)

// FitDue tells whether the next decision should be preceded by a fit: at the first decision with
// max(2, initial design) rounds past and two readings of a metric. Where hyperparameters are fitted
// it is also due after each of the first readings, when the readings have grown by a tenth, or many
// of them by half, when a reading cannot be represented by the metric's logarithm, and when the
// past was rewritten.
func (s *State) FitDue() bool { return s.cfg.someMetric(s.fitDue) }

func (s *State) fitDue(metric int) bool {
	if !s.cfg.Standardize && !s.cfg.Fit {
		return false
	}
	past := len(s.history.Rounds)
	count := len(s.history.undoubted(metric, s.told(metric)))
	if past < max(2, s.settings.InitialDesign()) || count < 2 {
		return false
	}
	last := s.next.regime.models[metric].count
	switch {
	case last == 0:
		return true
	case !s.cfg.Fit:
		return false
	}
	changed := s.history.Rewritten || !s.next.regime.models[metric].fitted && s.fittable(metric) || s.beyondLogarithm(metric)
	growth := soonGrowth
	if last >= manyReadings {
		growth = lateGrowth
	}
	return changed || count > last && (count <= fewReadings || float64(count) >= growth*float64(last))
}

// beyondLogarithm tells whether a reading lies outside the logarithm that models a metric: warped,
// it would be many deviations from all others, however close it is to them.
func (s *State) beyondLogarithm(metric int) bool {
	m := s.next.regime.models[metric]
	return m.warp.Logarithmic() && slices.ContainsFunc(s.history.undoubted(metric, s.told(metric)), func(round int) bool {
		return m.warp.Beyond((s.history.Rounds[round-1].Readings[metric].Value - m.centre) / m.scale)
	})
}

// FitNow fits the metrics that are due, on all cores, for the next decision on. Metrics that cannot
// be fitted are left out, and the error is that of one of them; otherwise it is that of ctx.
func (s *State) FitNow(ctx context.Context) (Fit, error) {
	f := Fit{From: s.Round(), Metrics: make([]FittedMetric, len(s.cfg.Metrics))}
	work := cores.New()
	for i := range s.cfg.Metrics {
		if !s.fitDue(i) {
			continue
		}
		work.Go(func() error {
			fitted, err := s.fitMetric(ctx, i)
			if err != nil {
				return fmt.Errorf("fitting %s: %w", s.cfg.Metrics[i].Name, err)
			}
			f.Metrics[i] = fitted
			return nil
		})
	}
	return f, work.Wait()
}

// fitMetric fits one metric.
func (s *State) fitMetric(ctx context.Context, metric int) (FittedMetric, error) {
	rounds := s.history.undoubted(metric, s.told(metric))
	f := FittedMetric{Set: true, Scale: 1, Count: len(rounds)}
	if s.cfg.Standardize {
		f.Centre, f.Scale = s.centreAndScale(metric, rounds)
	}
	toLimit := s.cfg.distanceToLimit(metric, f.Centre)
	f.Scale = max(f.Scale, toLimit)
	if !s.fittable(metric) {
		return f, nil
	}
	noisy, err := s.next.fitNoise(ctx, metric, rounds, &f)
	if err != nil {
		return f, err
	}
	if s.cfg.Metrics[metric].Warp && !noisy && toLimit == 0 {
		f.Warp = warp.Fit(s.standardised(metric, rounds, f), s.logOrigin(metric, rounds, f))
	}
	result, err := fit.MAP(ctx, s.next.fitProblem(metric, rounds, f))
	if err == nil && f.Warp.Scale > 0 && s.cfg.Metrics[metric].Kernel.Name == kernel.Anova && len(rounds) <= fit.MostPoints {
		f.Warp, result, err = s.next.warpWithFit(ctx, metric, rounds, f, result)
	}
	f.Lengthscales, f.Lambda, f.Variance, f.Interaction = result.Lengthscales, result.Lambda, result.Variance, result.Interaction
	if err != nil {
		return f, err
	}
	f.Freedom = bandFreedom
	f.Inflation, err = s.inflation(ctx, metric)
	if f.Settings != nil {
		f.Inflation = max(f.Inflation, 1) // replicates tell the noise better than small residuals do
	}
	if toLimit > 0 && s.cfg.Metrics[metric].FreeVariance {
		f.Variance, f.Inflation = max(f.Variance, 1), max(f.Inflation, 1)
	}
	f.Told = result.Told
	if told := s.toldNoise(metric, rounds, f); told > 0 {
		f.Lambda = told
	}
	return f, err
}

// distanceToLimit is the largest distance of a metric's limits from the centre of its readings, for
// an algorithm that starts from safe seeds; 0 for others, and with raw outputs. One standard
// deviation of the prior must reach as far: judged by the readings of a few safe settings, which
// hardly differ, all other settings would be safe, too.
func (cfg *Config) distanceToLimit(metric int, centre float64) (distance float64) {
	for _, c := range cfg.Costs {
		if c.Metric == metric && len(cfg.SafeSeeds) > 0 && cfg.Standardize {
			distance = max(distance, math.Abs(c.Threshold-centre))
		}
	}
	return distance
}

// lastBit is the relative size of a float64's last bit. Readings that differ by no more are equal,
// as if computed in two ways.
const lastBit = 0x1p-52

// centreAndScale is the mean and the standard deviation (÷n) of the readings; the latter is 1 if
// they are equal.
func (s *task) centreAndScale(metric int, rounds []int) (centre, scale float64) {
	values := s.history.values(metric, rounds)
	centre, scale = meanSD(values)
	// If readings differ little for their size, the rounding of the mean, some 1e-16 of it, would
	// count as deviation; the differences from one of them are exact.
	if scale <= 1e-10*math.Abs(centre) {
		first := values[0]
		centre, scale = meanSD(lists.Map(values, func(v float64) float64 { return v - first }))
		centre += first
	}
	if scale <= lastBit*math.Abs(centre) {
		scale = 1
	}
	return centre, scale
}

// toldNoise is the mean λ of the readings of these rounds if each was told with its standard
// deviation, else 0. No reading is left then to fit the noise of the next one from.
func (s *task) toldNoise(metric int, rounds []int, f FittedMetric) float64 {
	m := metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp(), toldFactor: f.toldFactor(), count: f.Count}
	sum := 0.0
	for _, n := range rounds {
		reading := s.history.Rounds[n-1].Readings[metric]
		if reading.SD <= 0 {
			return 0
		}
		sum += s.undoubtedLambda(n, reading, m)
	}
	return sum / float64(len(rounds))
}

// fitProblem is the problem of fitting a metric to the readings of these rounds, standardised by f.
func (v *view) fitProblem(metric int, rounds []int, f FittedMetric) fit.Problem {
	m := v.cfg.Metrics[metric]
	now := v.next.regime.models[metric]
	k := v.targetOf(metric)
	a := v.cfg.transform(v.targets[k], metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp()}, 0)
	p := fit.Problem{Kernel: m.Kernel.Name, Dims: v.cfg.Space.inputParameters(), Categories: v.cfg.Space.categories(), Variance: m.Kernel.Variance,
		FreeLengthscales: m.FreeLengthscales, FreeNoise: m.FreeNoise, FreeVariance: m.FreeVariance,
		Start: fit.Hyperparameters{Lengthscales: now.kernel.Lengthscales, Lambda: m.lambdaAt(f.Scale), Interaction: now.kernel.Interaction}}
	if now.fitted && m.FreeNoise {
		p.Start.Lambda = now.lambda / now.inflation
	}
	if now.fitted {
		p.Start.Told = now.toldFactor
	}
	if now.fitted && m.FreeVariance {
		p.Start.Variance = now.kernel.Variance / now.inflation
	}
	p.Median = v.cfg.Space.priorLengthscales()
	if f.Settings != nil {
		p.FreeNoise, p.Start.Lambda = false, f.Lambda
	}
	known := v.makeNoise(f, 1)
	for _, n := range rounds {
		r := v.history.Rounds[n-1]
		reading := r.Readings[metric]
		p.Inputs = append(p.Inputs, v.cfg.Space.features(r.Point))
		p.Y = append(p.Y, a.response(reading.Value))
		sd := reading.SD / f.Scale * a.warp.Slope((reading.Value-f.Centre)/f.Scale)
		p.Known = append(p.Known, sd == 0)
		if sd == 0 {
			sd = math.Sqrt(known.ofReading(n, v.placeOf(n), 0))
		}
		p.NoiseSD = append(p.NoiseSD, sd)
	}
	return p
}

// unwarpedNoise is the λ from which replicated readings are not warped: a limit is on the mean of a
// metric, and the mean of warped readings would become their median.
const unwarpedNoise = 0.1

// fitNoise examines the replicated settings. It sets the wrong readings of f and, where noise
// differs between settings, their noise, and tells whether noise is a good part of the readings'
// variation.
func (v *view) fitNoise(ctx context.Context, metric int, rounds []int, f *FittedMetric) (noisy bool, err error) {
	if !v.cfg.Metrics[metric].FreeNoise {
		return false, nil
	}
	y, settings := v.replicated(metric, rounds, *f)
	wrong := fit.Wrong(y, settings)
	for i, square := range wrong {
		if square > 0 {
			f.Wrong = append(f.Wrong, NoiseAt{rounds[i], square})
		}
	}
	groups := fit.Groups(y, settings, wrong)
	if len(groups) == 0 {
		return false, nil
	}
	whole, err := fit.MAP(ctx, v.fitProblem(metric, rounds, *f))
	if err != nil {
		return false, err
	}
	differing := fit.FitNoise(groups, whole.Lambda)
	if math.IsInf(differing.Freedom, 1) {
		return whole.Lambda > unwarpedNoise, nil
	}
	f.Lambda = differing.Typical
	f.Settings = lists.Map(groups, func(g fit.Group) NoiseAt { return NoiseAt{g.Setting, differing.Of(g.Replicates)} })
	return true, nil
}

// replicated returns the readings of these rounds, standardised by f, and for each the first round
// with the same settings, or −1 if its noise was told.
func (s *task) replicated(metric int, rounds []int, f FittedMetric) (y []float64, settings []int) {
	first := map[string]int{}
	plain := transform{sign: 1, centre: f.Centre, scale: f.Scale, warp: warp.Identity}
	for _, n := range rounds {
		reading, key := s.history.Rounds[n-1].Readings[metric], placeKey(s.placeOf(n))
		if _, known := first[key]; !known {
			first[key] = n
		}
		setting := first[key]
		if reading.SD > 0 {
			setting = -1
		}
		y, settings = append(y, plain.response(reading.Value)), append(settings, setting)
	}
	return y, settings
}

// bandFreedom is the degrees of freedom ν of a fitted model's predictions: hyperparameters are only
// estimated, and real tables are rarely Gaussian processes. Bands of 50, 80 and 95 % held 51.3,
// 81.9 and 95.3 % of new settings of twelve tables; with ν = 4 52.3, 83.2 and 96.3 %. With a
// thirteenth table, of one parameter and without noise, 54.3, 83.2 and 95.6 %.
const bandFreedom = 5

// inflation is the scale c of a Student-t distribution with 3 degrees of freedom of the study's own
// one-step-ahead residuals z, computed without inflation and without readings in doubt: the fixed
// point of
//
//	c = (5 + Σ min(w z², 9)) / (5 + n),   w = 4 / (3 + z²/c),
//
// within 0.25 and 4. The 5 is the weight of the prior. w, and the 9 while there are few residuals,
// keep a wrong reading from widening everything. With 3 degrees the middle of the residuals
// decides; the bands' own degrees of freedom cover the tails.
func (s *account) inflation(ctx context.Context, metric int) (float64, error) {
	trace, err := s.Trace(ctx)
	if err != nil {
		return 0, err
	}
	var squares []float64
	for i, t := range trace {
		r, m := &s.history.Rounds[i], s.regimeAt(i + 1).shownModels[metric]
		if reading := r.Readings[metric]; !m.fitted || r.Excluded || !reading.Told || reading.InDoubt || t.uninflated == nil {
			continue
		}
		squares = append(squares, t.uninflated[metric])
	}
	return inflationOf(squares), nil
}

// inflationOf is c of inflation, for squared residuals.
func inflationOf(squares []float64) float64 {
	const before, most = 5, 9
	c := 1.0
	for range 30 {
		sum := float64(before)
		for _, square := range squares {
			sum += min(4*square/(3+square/c), most)
		}
		c = min(max(sum/(before+float64(len(squares))), 0.25), 4)
	}
	return c
}

// maxRelativeSD is the largest told deviation, relative to its reading, over which a logarithm is
// straight to 5 %. Beyond it the noise of a reading says little of the noise of its logarithm.
const maxRelativeSD = 0.1

// logOrigin is the value 0, standardised by f, from which logarithms are taken; −∞ where the noise
// of some reading forbids it.
func (s *task) logOrigin(metric int, rounds []int, f FittedMetric) float64 {
	for _, n := range rounds {
		if r := s.history.Rounds[n-1].Readings[metric]; r.SD > maxRelativeSD*r.Value {
			return math.Inf(-1)
		}
	}
	return -f.Centre / f.Scale
}

// standardised are the readings, standardised by f.
func (s *task) standardised(metric int, rounds []int, f FittedMetric) []float64 {
	return lists.Map(s.history.values(metric, rounds), func(value float64) float64 { return (value - f.Centre) / f.Scale })
}

// mostTurns is how often warpWithFit alternates at most.
const mostTurns = 4

// warpWithFit chooses the output warping together with the hyperparameters, for kernels with an
// interaction: a warp makes what adds up no longer add up, so readings like a normal sample are not
// the aim. It starts from the better of f's warp and none, each with hyperparameters of its own,
// and then alternates between the warp of the largest posterior given the hyperparameters, and the
// hyperparameters given the warp.
func (v *view) warpWithFit(ctx context.Context, metric int, rounds []int, f FittedMetric, found fit.Result) (warp.Warp, fit.Result, error) {
	candidates := warp.Candidates(v.standardised(metric, rounds, f), v.logOrigin(metric, rounds, f))
	if candidates == nil {
		return f.Warp, found, nil
	}
	at, straight := 0, 0
	for i, c := range candidates {
		switch {
		case c.Warp == f.Warp:
			at = i
		case c.Power == 1:
			straight = i
		}
	}
	problems := make([]fit.Problem, len(candidates))
	readings := make([][]float64, len(candidates))
	for i, c := range candidates {
		warped := f
		warped.Warp = c.Warp
		problems[i] = v.fitProblem(metric, rounds, warped)
		readings[i] = problems[i].Y
	}
	// under is the problem with a candidate warp, started from the best hyperparameters so far.
	under := func(i int) fit.Problem {
		p := problems[i]
		p.Start = found.Hyperparameters
		return p
	}
	try := func(i int) (better bool, err error) {
		result, err := fit.Climb(ctx, under(i))
		if err == nil && result.LogPosterior+candidates[i].LogStretch > found.LogPosterior+candidates[at].LogStretch {
			at, found, better = i, result, true
		}
		return better, err
	}
	if at != straight {
		if _, err := try(straight); err != nil {
			return f.Warp, found, err
		}
	}
	for range mostTurns {
		worth, err := fit.LogPosteriors(under(at), readings)
		if err != nil {
			return f.Warp, found, err
		}
		best, most := at, found.LogPosterior+candidates[at].LogStretch
		for i, value := range worth {
			if value+candidates[i].LogStretch > most {
				best, most = i, value+candidates[i].LogStretch
			}
		}
		if best == at {
			break
		}
		if better, err := try(best); err != nil || !better {
			return candidates[at].Warp, found, err
		}
	}
	return candidates[at].Warp, found, nil
}
