package optimizer

import (
	"context"
	"math"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
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
// serves several raw constraints is regressed towards the threshold of the first. The error is that of ctx.
func (s *State) Posterior(ctx context.Context, at []Place) ([]Belief, error) {
	beliefs, _, err := s.Believe(ctx, at, nil)
	return beliefs, err
}

// FeasibilityProbability returns Π_j P(g_j(x) ≤ 0) (latent function, true thresholds); known, when not nil, holds for each
// place one value per constraint in metric units for the Given ones, which otherwise are left out. The error is that of ctx.
func (s *State) FeasibilityProbability(ctx context.Context, at []Place, known [][]float64) ([]float64, error) {
	_, chances, err := s.Believe(ctx, at, known)
	return chances, err
}

// Believe returns Posterior and FeasibilityProbability from one regression. The error is that of ctx.
func (s *State) Believe(ctx context.Context, at []Place, known [][]float64) ([]Belief, []float64, error) {
	estimates, err := s.estimate(ctx, s.display, at, nil)
	if err != nil {
		return nil, nil, err
	}
	beliefs := make([]Belief, len(s.cfg.Metrics))
	for i := range beliefs {
		k := s.targetOf(i)
		width := betaOf(s.next, k)
		if math.IsNaN(width) {
			width = band95
		}
		beliefs[i] = beliefOf(s.display.era.affines[k], estimates[k].Mean, estimates[k].SD, width)
	}
	return beliefs, s.chances(estimates, len(at), known), nil
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

// chances are the feasibility probabilities at places with these estimates.
func (s *State) chances(estimates []policy.Estimate, places int, known [][]float64) []float64 {
	out := make([]float64, places)
	for i := range out {
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
// feasibility probability is at least 0.9, or 0 if there is none. The error is that of ctx.
func (s *State) Recommendation(ctx context.Context) (int, error) {
	estimates, err := s.lookingBack(ctx)
	if err != nil {
		return 0, err
	}
	var known [][]float64
	if slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		for _, r := range s.history.Rounds {
			known = append(known, r.Costs)
		}
	}
	chances := s.chances(estimates, len(s.history.Rounds), known)
	best, round := math.Inf(-1), 0
	for i, r := range s.history.Rounds {
		told := !r.Excluded && r.Readings[s.cfg.Objective.Metric].Told
		if told && chances[i] >= safeEnough && estimates[0].Mean[i] > best {
			best, round = estimates[0].Mean[i], i+1
		}
	}
	return round, nil
}

// looking is how far looking back has come: the posteriors shown, at the points of the first rounds, per target. Callers that need it at the
// same time work on it in turns.
type looking struct {
	mu        sync.Mutex
	rounds    int
	estimates []policy.Estimate
}

// lookingBack returns the posteriors shown, at the points of all rounds. The error is that of ctx, later calls going on from there.
func (s *State) lookingBack(ctx context.Context) ([]policy.Estimate, error) {
	for {
		if done, err := s.lookFurther(ctx); done || err != nil {
			return s.lookBack.estimates, err
		}
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
	}
}

// lookFurther takes the next rounds, a slice of work for a core or two, and tells whether they were the last.
func (s *State) lookFurther(ctx context.Context) (done bool, err error) {
	l := &s.lookBack
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(s.history.Rounds)
	if l.estimates != nil && l.rounds == n {
		return true, nil
	}
	if l.estimates == nil {
		l.estimates = make([]policy.Estimate, len(s.targets))
	}
	var at []Place
	for _, r := range s.history.Rounds[l.rounds:min(n, l.rounds+max(1, 20*checkpoint.Slice/(n*n+1)))] {
		at = append(at, Place{r.Point, r.Arm})
	}
	further, err := s.estimate(checkpoint.Without(ctx), s.display, at, nil)
	if err != nil {
		return false, err
	}
	for k, e := range further {
		l.estimates[k].Mean, l.estimates[k].SD = append(l.estimates[k].Mean, e.Mean...), append(l.estimates[k].SD, e.SD...)
	}
	l.rounds += len(at)
	return l.rounds == n, nil
}
