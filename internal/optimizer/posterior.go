package optimizer

import (
	"math"
	"slices"
)

// Models returns one Model per metric, for the next decision.
func (s *State) Models() []Model {
	out := make([]Model, len(s.cfg.Metrics))
	for i := range out {
		m := s.next.era.models[i]
		k := s.targetOf(i)
		beta := betaOf(s.next, k)
		out[i] = Model{Kernel: m.kernel, Lambda: m.lambda, Centre: m.centre, Scale: m.scale, Fitted: m.fitted,
			Count: s.countShown(k), InformationGain: gainOf(s.next, s.display, k)}
		if !math.IsNaN(beta) {
			out[i].Beta, out[i].HasBeta = beta, true
		}
	}
	return out
}

func (s *State) countShown(k int) int { return s.display.sources[s.display.sourceOf[k]].arrived }

// Posterior returns one Belief per metric, from the data that arrived (in the algorithm's window, if it has one). A metric that
// serves several raw constraints is regressed towards the threshold of the first.
func (s *State) Posterior(at []Place) []Belief {
	estimates := s.estimate(s.display, at, nil)
	out := make([]Belief, len(s.cfg.Metrics))
	for i := range out {
		k := s.targetOf(i)
		width := betaOf(s.next, k)
		if math.IsNaN(width) {
			width = band95
		}
		out[i] = beliefOf(s.display.era.affines[k], estimates[k].Mean, estimates[k].SD, width)
	}
	return out
}

func beliefOf(a affine, mean, sd []float64, width float64) Belief {
	b := Belief{Mean: make([]float64, len(mean)), SD: make([]float64, len(mean)),
		Lower: make([]float64, len(mean)), Upper: make([]float64, len(mean))}
	for i := range mean {
		b.Mean[i], b.SD[i] = a.metricMean(mean[i]-a.shift), a.metricSD(sd[i])
		b.Lower[i], b.Upper[i] = b.Mean[i]-width*b.SD[i], b.Mean[i]+width*b.SD[i]
	}
	return b
}

// FeasibilityProbability returns Π_j P(g_j(x) ≤ 0) (latent function, true thresholds); known, when not nil, holds for each
// place one value per constraint in metric units for the Given ones, which otherwise are left out.
func (s *State) FeasibilityProbability(at []Place, known [][]float64) []float64 {
	estimates := s.estimate(s.display, at, nil)
	out := make([]float64, len(at))
	for i := range at {
		out[i] = 1
		for j, c := range s.cfg.Costs {
			switch {
			case c.Knowledge == Learned:
				e := estimates[1+j]
				out[i] *= below(e.Mean[i]-c.Margin, e.SD[i])
			case known != nil && c.given(known[i][j])-c.Margin > 0:
				out[i] = 0
			}
		}
	}
	return out
}

// below is P(N(mean, sd²) ≤ 0).
func below(mean, sd float64) float64 {
	if sd == 0 {
		if mean <= 0 {
			return 1
		}
		return 0
	}
	return 0.5 * math.Erfc(mean/(sd*math.Sqrt2))
}

// safeEnough is the feasibility probability that a recommendation needs.
const safeEnough = 0.9

// Recommendation returns the round of the told, included point with the highest posterior mean reward among those whose
// feasibility probability is at least 0.9, or 0 if there is none.
func (s *State) Recommendation() int {
	var rounds []int
	var at []Place
	var known [][]float64
	for n, r := range s.history.Rounds {
		if !r.Excluded && r.Readings[s.cfg.Objective.Metric].Told {
			rounds, at, known = append(rounds, n+1), append(at, Place{r.Point, r.Arm}), append(known, r.Costs)
		}
	}
	if len(rounds) == 0 {
		return 0
	}
	if !slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		known = nil
	}
	rewards := s.estimate(s.display, at, nil)[0].Mean
	chances := s.FeasibilityProbability(at, known)
	best, round := math.Inf(-1), 0
	for i, n := range rounds {
		if chances[i] >= safeEnough && rewards[i] > best {
			best, round = rewards[i], n
		}
	}
	return round
}
