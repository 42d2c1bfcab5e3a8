package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// decision is what the algorithm decides by: a view, and of the next decision what else it goes by.
type decision struct {
	*view
	shown *shown // what its readings alone say
	spent *spent // settings that it leaves alone, nil for none
	works *works // where trials work, as it knows it; nil while none has failed
}

// decide prepares the next decision.
func (s *evidence) decide(ctx context.Context, shown *shown, prior *decision) (*decision, error) {
	d := &decision{view: s.next, shown: shown}
	d.shortlist = d.shorten(prior)
	shown.shortlist, d.spent = d.shortlist, d.listSpent()
	var err error
	d.works, err = d.learnWorks(ctx, prior)
	return d, err
}

// estimate is the posterior of every target at some places, in modelled units, margins included. known gives the values
// of given constraints: known(j, i) is constraint j at place i in metric units; nil leaves their means 0.
func (v *view) estimate(ctx context.Context, at []Place, known func(j, i int) float64) ([]policy.Estimate, error) {
	out := v.givenEstimates(at, known)
	for i := range v.sources {
		p, err := v.sources[i].Predict(ctx, v.points(v.sources[i].kernel, at), nil)
		if err != nil {
			return nil, err
		}
		v.take(&v.sources[i], p, out)
	}
	return out, nil
}

// compare is estimate, with the places beside the incumbent; the rival is nil where there is none.
func (v *view) compare(ctx context.Context, at []Place, known func(j, i int) float64) ([]policy.Estimate, *policy.Rival, error) {
	rival := v.rival(at)
	if rival == nil {
		out, err := v.estimate(ctx, at, known)
		return out, nil, err
	}
	out := v.givenEstimates(at, known)
	for i := range v.sources {
		p, err := v.sources[i].Predict(ctx, v.points(v.sources[i].kernel, at), v.incumbent.beside[i])
		if err != nil {
			return nil, nil, err
		}
		v.take(&v.sources[i], p, out)
		for _, k := range v.sources[i].targets {
			rival.Together[k] = p.Together
		}
	}
	return out, rival, nil
}

// take turns what a source predicts into estimates of its targets.
func (v *view) take(src *source, p posterior.Prediction, out []policy.Estimate) {
	sd := roots(p.Variances)
	for n, k := range src.targets {
		if v.transforms[k].blind {
			clear(p.Means[n])
		}
		shift(p.Means[n], v.transforms[k].shift)
		out[k] = policy.Estimate{Mean: p.Means[n], SD: sd}
	}
}

// givenEstimates are the estimates of the targets that are not regressed: a given constraint's value with certainty, otherwise 0.
func (v *view) givenEstimates(at []Place, known func(j, i int) float64) []policy.Estimate {
	out := make([]policy.Estimate, len(v.targets))
	for k, t := range v.targets {
		if v.sourceOf[k] >= 0 {
			continue
		}
		out[k] = policy.Estimate{Mean: make([]float64, len(at)), SD: make([]float64, len(at))}
		if t.metric < 0 && known != nil {
			for i := range at {
				out[k].Mean[i] = v.cfg.Costs[t.cost].given(known(t.cost, i))
			}
		}
	}
	return out
}

func roots(variances []float64) []float64 {
	sd := make([]float64, len(variances))
	for i, v := range variances {
		sd[i] = math.Sqrt(max(v, 0))
	}
	return sd
}

func shift(values []float64, by float64) {
	if by == 0 {
		return
	}
	for i := range values {
		values[i] += by
	}
}

// sight is what the algorithm sees at some places when it makes the decision of view v.
func (s *decision) sight(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Sight, error) {
	estimates, rival, err := s.compare(ctx, at, known)
	if err != nil {
		return nil, err
	}
	sight := s.sightFrom(ctx, at, known, draw, estimates)
	sight.Rival = rival
	if sight.TooRisky, err = s.tooRisky(ctx, at, estimates); err != nil {
		return nil, err
	}
	sight.Works, err = s.worksAt(ctx, at)
	return sight, err
}

// sightFrom is the sight with the estimates known.
func (s *decision) sightFrom(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw, estimates []policy.Estimate) *policy.Sight {
	sight := s.bareSight(draw)
	sight.Reward, sight.Costs = estimates[0], estimates[1:]
	if s.traits.LooksBack {
		sight.Past = s.past()
	}
	if s.traits.LooksAtAll {
		sight.Set = s.set(ctx, at, known)
	}
	return sight
}

// bareSight is a sight of no places yet.
func (v *view) bareSight(draw Draw) *policy.Sight {
	sight := &policy.Sight{Round: v.round, Horizon: v.cfg.Horizon, Beta: v.beta, Lambda: v.lambda, Multipliers: v.multipliers,
		Draw: policy.Draw{Seed: draw.Seed, Z: draw.Z}}
	if v.traits.Draws != nil && len(draw.Z) != len(v.targets) {
		sight.Draw.Z = v.traits.Draws(draw.Seed, v.beta)
	}
	for _, c := range v.cfg.Costs {
		sight.Given = append(sight.Given, c.Knowledge == Given)
	}
	return sight
}

// sightOf is the sight of one place that was or is to be played. A policy that draws whole functions and whose draw was not
// recorded draws at that place alone.
func (s *decision) sightOf(ctx context.Context, at Place, known func(j, i int) float64, draw Draw) (*policy.Sight, error) {
	sight, err := s.sight(ctx, []Place{at}, known, draw)
	if err != nil {
		return nil, err
	}
	return s.drawn(sight)
}

// drawn completes the sight of one place with the draw there of a policy that draws whole functions, where none was recorded.
func (s *decision) drawn(sight *policy.Sight) (*policy.Sight, error) {
	var err error
	if s.traits.Drawn != nil && len(sight.Draw.Z) != len(s.targets) {
		sight.Draw.Z, err = s.traits.Drawn(sight, 0)
	}
	return sight, err
}

// score is the algorithm's acquisition at the places in sight.
func (s *decision) score(sight *policy.Sight) (policy.Scores, error) {
	scores, err := s.policy.Score(sight)
	if err != nil {
		return scores, err
	}
	return s.weigh(scores, sight.Works), nil
}

// past lists the earlier rounds as the decision sees them.
func (v *view) past() []policy.Past {
	var list []policy.Past
	for n := 1; n < v.round; n++ {
		r := &v.history.Rounds[n-1]
		p := policy.Past{Point: r.Point, Suggested: r.Suggested, Excluded: r.Excluded}
		p.Reward, p.Costs, p.Complete = v.outcome(n)
		list = append(list, p)
	}
	return list
}

// at looks up the given constraints' values for some places of one decision.
func (k Known) at(places []Place) func(j, i int) float64 {
	return func(j, i int) float64 {
		if places[i].Arm >= 0 && j < len(k.Arms) && k.Arms[j] != nil {
			return k.Arms[j][places[i].Arm]
		}
		return k.At(j, places[i].U)
	}
}

// DecisionSeed is the random seed of decision t, below 2⁵³ so that every JSON reader keeps it (SplitMix64 of study seed and round).
func (cfg *Config) DecisionSeed(t int) uint64 {
	z := cfg.Seed + uint64(t)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return (z ^ (z >> 31)) >> 11
}

// draw is what chance contributes to decision t: what was recorded, else its seed, from which numbers are drawn when they are needed.
func (s *study) draw(t int) Draw {
	d := Draw{Seed: s.cfg.DecisionSeed(t)}
	if t <= len(s.history.Rounds) {
		if recorded := s.history.Rounds[t-1].Draw; recorded.Z != nil || recorded.Seed != 0 {
			d = recorded
		}
	}
	return d
}
