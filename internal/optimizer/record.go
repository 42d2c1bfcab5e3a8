package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
)

// decision writes down the numbers behind choosing a place.
func (s *decision) decision(ctx context.Context, at Place, known Known, draw Draw) (Decision, error) {
	places := []Place{at}
	input, err := s.inputOf(ctx, at, known.at(places), draw)
	if err != nil {
		return Decision{}, err
	}
	beliefs, chances, err := s.shown.Believe(ctx, places, s.knownRows(places, known))
	if err != nil {
		return Decision{}, err
	}
	draw.Z = input.Draw.Z
	d := Decision{Place: at, Round: s.Round(), Multipliers: s.multipliers, Horizon: s.horizon(s.Round()), Draw: draw, Estimates: s.policy.Estimates(input, 0)}
	for i, b := range beliefs {
		d.Mean, d.SD = append(d.Mean, b.Mean[0]), append(d.SD, b.SD[0])
		if k := s.targetOf(i); k < len(s.beta) {
			d.Beta = append(d.Beta, s.beta[k])
		}
	}
	d.FeasibilityProbability = chances[0]
	if s.works != nil {
		works, err := s.WorksChance(ctx, places)
		if err != nil {
			return Decision{}, err
		}
		d.Works = works[0]
	}
	if input.Rival != nil {
		best, t := s.incumbent, s.transforms[0]
		improvement := policy.ExpectedGain(s.believed(input, at), 0)
		d.ExpectedImprovement, d.Incumbent = math.Abs(t.metric(best.mean[0]+improvement)-t.metric(best.mean[0])), best.round
	}
	return d, nil
}

// believed is the input of one place with what is believed there and at x* in place of what is
// decided by: the same means, and the widths that are said.
func (s *decision) believed(input *policy.Input, at Place) *policy.Input {
	said, rival := *input, *input.Rival
	said.Rival, said.Costs = &rival, slices.Clone(input.Costs)
	rival.SD, rival.Together, rival.Noise = slices.Clone(rival.SD), slices.Clone(rival.Together), slices.Clone(rival.Noise)
	for k, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		width, estimate := s.shown.width(t.metric), &said.Reward
		if k > 0 {
			estimate = &said.Costs[k-1]
		}
		estimate.SD = []float64{width * estimate.SD[0]}
		rival.SD[k] *= width
		rival.Together[k] = []float64{width * width * rival.Together[k][0]}
		rival.Noise[k] = []float64{s.shown.noiseAt(k, at)}
	}
	return &said
}
