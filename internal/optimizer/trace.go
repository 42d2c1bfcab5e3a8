package optimizer

import (
	"math"
	"slices"
)

// Trace returns one entry per round.
func (s *State) Trace() []RoundTrace {
	s.traceOnce.Do(func() {
		slid := windows{}
		for t := 1; t < s.Round(); t++ {
			s.trace = append(s.trace, s.traceRound(t, slid))
		}
	})
	return s.trace
}

// traceRound looks back at decision t. Regressions that were possible once are possible again, so an error here would
// have shown in Replay; such a round is traced without numbers.
func (s *State) traceRound(t int, slid windows) RoundTrace {
	trace := RoundTrace{Multipliers: s.path[t-1]}
	shown, err := s.shown(t, slid)
	if err != nil {
		return trace
	}
	acted := shown
	acted.multipliers = s.path[t-1]
	if s.traits.ActsOnOwnData() {
		if acted, err = s.acting(t, s.path[t-1], slid); err != nil {
			return trace
		}
	} else {
		s.finish(acted)
	}
	for i := range s.cfg.Metrics {
		k := s.targetOf(i)
		trace.Beta = append(trace.Beta, betaOf(acted, k))
		trace.InformationGain = append(trace.InformationGain, gainOf(acted, shown, k))
		prediction, latent := s.ahead(shown, t, k)
		if i := acted.sourceOf[k]; acted != shown && i >= 0 {
			latent = s.estimateOf(acted, k, []Place{s.placeOf(t)}).SD[0]
		}
		trace.Ahead, trace.latent = append(trace.Ahead, prediction), append(trace.latent, latent)
	}
	return trace
}

// targetOf is the first target that a metric serves.
func (s *State) targetOf(metric int) int {
	return slices.IndexFunc(s.targets, func(t target) bool { return t.metric == metric })
}

// gainOf is γ of what the algorithm regresses for target k, or of the arrived readings where it regresses nothing.
func gainOf(acted, shown *view, k int) float64 {
	if acted.sourceOf[k] >= 0 {
		return acted.gain[k]
	}
	src := &shown.sources[shown.sourceOf[k]]
	return src.data.Gain(src.arrived)
}

// placeOf is where round t was played.
func (s *State) placeOf(t int) Place {
	r := &s.history.Rounds[t-1]
	return Place{r.Point, r.Arm}
}

// betaOf is target k's confidence width, NaN where the algorithm has none.
func betaOf(v *view, k int) float64 {
	if k < len(v.beta) {
		return v.beta[k]
	}
	return math.NaN()
}

// ahead predicts the reading of round t's own point from what decision t saw. When that reading was the next to arrive, its
// prediction already stands in the factor's row. latentSD is in modelled units, without the noise.
func (s *State) ahead(v *view, t, k int) (p Prediction, latentSD float64) {
	metric := s.targets[k].metric
	src := &v.sources[v.sourceOf[k]]
	z := src.z[slices.Index(src.targets, k)]
	m := v.era.models[metric]
	r := &s.history.Rounds[t-1]
	lambda := s.readingLambda(r.Readings[metric], m)
	var mean, variance float64
	g := v.era.groups[v.era.groupOf[metric]]
	if n := src.arrived; s.traits.Earliest(t) <= 1 && n < len(g.order) && g.order[n].round == t {
		mean, variance = g.data.AheadMean(n, v.era.whitened[k]), g.data.AheadVariance(n)
	} else {
		means, latent := src.data.Predict(s.input(src.kernel, Place{r.Point, r.Arm}), z)
		mean, variance = means[0], latent
	}
	a := v.era.affines[k]
	return Prediction{Mean: a.metricMean(mean), SD: a.metricSD(math.Sqrt(variance + lambda))}, math.Sqrt(variance)
}

// Bands of a standard normal residual: |z| below which 50, 80 and 95 % of it lie.
const band50, band80, band95 = 0.6744897501960817, 1.2815515655446004, 1.959963984540054

// Calibrations returns one per metric. With standardised outputs, rounds decided before the metric had a centre and a scale
// are left out: nothing was predicted in its units.
func (s *State) Calibrations() []Calibration {
	out := make([]Calibration, len(s.cfg.Metrics))
	trace := s.Trace()
	for i := range out {
		for n, r := range s.history.Rounds {
			unscaled := s.cfg.Standardize && s.eraAt(n + 1).models[i].count == 0
			if r.Excluded || !r.Readings[i].Told || trace[n].Ahead == nil || unscaled {
				continue
			}
			p := trace[n].Ahead[i]
			out[i].add(n+1, (r.Readings[i].Value-p.Mean)/p.SD)
		}
		out[i].divide()
	}
	return out
}

func (c *Calibration) add(round int, residual float64) {
	c.Count++
	c.Residuals = append(c.Residuals, residual)
	c.ResidualRounds = append(c.ResidualRounds, round)
	inside := func(band float64) float64 {
		if math.Abs(residual) <= band {
			return 1
		}
		return 0
	}
	c.Coverage50 += inside(band50)
	c.Coverage80 += inside(band80)
	c.Coverage95 += inside(band95)
}

func (c *Calibration) divide() {
	if c.Count == 0 {
		return
	}
	n := float64(c.Count)
	c.Coverage50, c.Coverage80, c.Coverage95 = c.Coverage50/n, c.Coverage80/n, c.Coverage95/n
}
