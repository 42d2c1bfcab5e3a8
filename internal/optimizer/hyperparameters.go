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

// When a metric's hyperparameters are fitted again: at every new reading up to fewReadings, which
// costs milliseconds and tells much; then when they have grown by soonGrowth, and beyond
// manyReadings, where little changes and every fit is a regression more to keep, by lateGrowth.
const (
	fewReadings  = 20
	soonGrowth   = 1.1
	manyReadings = 100
	lateGrowth   = 1.5
)

// FitDue tells whether the next decision should be preceded by a fit: at the first decision with
// max(2, initial design) rounds past and two readings of a metric, and, where hyperparameters are
// fitted, when a reading is new among few, when the readings have grown by a tenth, of many by
// half, when one has no place in the logarithm that they are taken for, or when the past was
// rewritten.
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

// beyondLogarithm tells whether a reading lies beyond the logarithm that a metric's readings are taken
// for: warped, it would be many deviations from all others, however close it is to them.
func (s *State) beyondLogarithm(metric int) bool {
	m := s.next.regime.models[metric]
	return m.warp.Logarithmic() && slices.ContainsFunc(s.history.undoubted(metric, s.told(metric)), func(round int) bool {
		return m.warp.Beyond((s.history.Rounds[round-1].Readings[metric].Value - m.centre) / m.scale)
	})
}

// FitNow fits the metrics that are due, on all cores, for the next decision on. Those that it cannot
// fit are left out, and the error is of one of them; else it is that of ctx.
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
		f.Inflation = max(f.Inflation, 1) // replicates know the noise better than readings of settings that came out quiet
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

// distanceToLimit is how far the limits of a metric lie from the centre of its readings at most, for an
// algorithm that goes on from safe settings; 0 for others, and where outputs are raw. The prior has
// to reach as far with one standard deviation: by the readings of a few safe settings, which hardly
// differ, all other settings would be safe too.
func (cfg *Config) distanceToLimit(metric int, centre float64) (distance float64) {
	for _, c := range cfg.Costs {
		if c.Metric == metric && len(cfg.SafeSeeds) > 0 && cfg.Standardize {
			distance = max(distance, math.Abs(c.Threshold-centre))
		}
	}
	return distance
}

// lastBit is what the last bit of a number is worth, as a part of it: readings that differ by no more
// are equal, as what was computed in two ways.
const lastBit = 0x1p-52

// centreAndScale is the mean and the standard deviation (÷n) of the readings; the latter 1 if they are
// all equal.
func (s *task) centreAndScale(metric int, rounds []int) (centre, scale float64) {
	values := s.history.values(metric, rounds)
	centre, scale = meanSD(values)
	// Of readings that are close for their size the rounding of the mean, some 1e-16 of it for each, is a
	// part of the deviation; their differences from one of them are exact.
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

// toldNoise is the mean λ of the readings of these rounds where each came with its standard
// deviation, else 0: no reading is left then to fit the noise of the next one from.
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

func (v *view) fitProblem(metric int, rounds []int, f FittedMetric) fit.Problem {
	m := v.cfg.Metrics[metric]
	now := v.next.regime.models[metric]
	k := v.targetOf(metric)
	a := v.cfg.transform(v.targets[k], metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp()})
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

// unwarpedNoise is λ from which readings that replicates show to be noisy are modelled as they are:
// a limit on a metric is one on the mean of its readings, and the mean of warped readings would
// come out as their median.
const unwarpedNoise = 0.1

// fitNoise looks at the settings read more than once: it puts wrong readings, and the noise of
// settings where it differs, into f, and tells whether noise is what readings differ by in a good
// part.
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

// replicated are the readings of these rounds, standardised by f, and the first round with the same
// settings as each; −1 for a reading that told its own noise.
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

// bandFreedom is the degrees of freedom ν of the distribution that a fitted model's predictions are
// taken from: hyperparameters are estimated, and what a table holds is rarely a Gaussian process.
// Bands of 50, 80 and 95 % held 51.3, 81.9 and 95.3 % of new settings of twelve tables; with ν = 4
// 52.3, 83.2 and 96.3 %. With a thirteenth table, of one parameter and without noise, 54.3, 83.2
// and 95.6 %.
const bandFreedom = 5

// inflation is the scale c of the Student-t distribution with 3 degrees of freedom that the study's
// own one-step-ahead residuals z come from, as they would have been without inflation, but for those
// of readings in doubt: the fixed point of
//
//	c = (5 + Σ min(w z², 9)) / (5 + n),   w = 4 / (3 + z²/c),
//
// within 0.25 and 4. The 5 stand for what is believed before there are residuals; w, and the 9
// while there are few, keep a wrong reading from widening everything. The weights of 3 degrees let
// the middle of the residuals decide, the 4 of the bands see to the tails.
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

// inflationOf is the fixed point that inflation describes, for squared residuals.
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

// maxRelativeSD is the largest told deviation, as a part of its reading, over which a logarithm is a
// straight line, to 5 %: beyond it the noise told of a reading says little of the noise of its logarithm.
const maxRelativeSD = 0.1

// logOrigin is the value 0 as f centres and scales it, from which logarithms are taken; −∞ where the noise
// told of a reading forbids it.
func (s *task) logOrigin(metric int, rounds []int, f FittedMetric) float64 {
	for _, n := range rounds {
		if r := s.history.Rounds[n-1].Readings[metric]; r.SD > maxRelativeSD*r.Value {
			return math.Inf(-1)
		}
	}
	return -f.Centre / f.Scale
}

// standardised are the readings as f centres and scales them.
func (s *task) standardised(metric int, rounds []int, f FittedMetric) []float64 {
	return lists.Map(s.history.values(metric, rounds), func(value float64) float64 { return (value - f.Centre) / f.Scale })
}

// mostTurns is how often warpWithFit turns from the warp to the hyperparameters and back; it ends
// before where neither moves.
const mostTurns = 4

// warpWithFit chooses the output warping together with the hyperparameters, where an interaction is
// among them: what adds up does not when it is warped, so that readings like a normal sample are
// not what to look for. From the hyperparameters found under f's warp, it looks for those under
// none; from the better of both it goes on to the warp that explains the readings best as the
// hyperparameters stand, and to the hyperparameters from there, in turn.
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
	// under is the problem with a candidate, to go on from what was found.
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
