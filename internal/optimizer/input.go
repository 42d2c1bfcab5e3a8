package optimizer

import (
	"context"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
)

// decision is what the algorithm decides by: a view, and of the next decision what else it goes by.
type decision struct {
	*view
	shown *shown // what its readings alone say
	spent *spent // settings that it leaves alone, nil for none
	works *works // where trials work, as it knows it; nil while none has failed
}

// compared is the decision with what it compares places with.
func (s *decision) compared(ctx context.Context) (*decision, error) {
	whole, err := s.comparing(ctx)
	if err != nil {
		return nil, err
	}
	v := *whole
	v.shortlist = s.shortlist
	return &decision{view: &v, shown: s.shown, spent: s.spent, works: s.works}, nil
}

// inputAt is what the algorithm sees at some places when it makes the decision of view v.
func (s *decision) inputAt(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	estimates, rival, err := s.compare(ctx, at, known)
	if err != nil {
		return nil, err
	}
	input := s.inputFrom(ctx, at, known, draw, estimates)
	input.Rival = rival
	if input.TooRisky, err = s.tooRisky(ctx, at, estimates); err != nil {
		return nil, err
	}
	input.Works, err = s.worksAt(ctx, at)
	return input, err
}

// inputFrom is the input with the estimates known.
func (s *decision) inputFrom(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw, estimates []policy.Estimate) *policy.Input {
	input := s.bareInput(draw)
	input.Reward, input.Costs = estimates[0], estimates[1:]
	if s.traits.LooksBack {
		input.Past = s.past()
	}
	if s.traits.LooksAtAll {
		input.Set = s.set(ctx, at, known)
	}
	return input
}

// inputOf is the input of one place that was or is to be played. A policy that draws whole
// functions and whose draw was not recorded draws at that place alone.
func (s *decision) inputOf(ctx context.Context, at Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	input, err := s.inputAt(ctx, []Place{at}, known, draw)
	if err != nil {
		return nil, err
	}
	return s.drawn(ctx, input, at, known)
}

// drawn completes the input of one place with the draw there of a policy that draws whole
// functions, where none was recorded.
func (s *decision) drawn(ctx context.Context, input *policy.Input, at Place, known func(j, i int) float64) (*policy.Input, error) {
	if s.traits.Drawn == nil || len(input.Draw.Z) == len(s.targets) {
		return input, nil
	}
	if widths := s.traits.Functions(input); widths != nil {
		d, err := s.drawing(ctx, []Place{at}, known, input, widths)
		if err == nil {
			err = d.draw(ctx, []int{0})
		}
		if err != nil {
			return nil, err
		}
		d.show(input, []int{0})
	}
	input.Draw.Z = s.drawnAt(input, 0)
	return input, nil
}

// drawnAt is what is recorded of functions drawn, at place i; 0 where none were.
func (s *decision) drawnAt(input *policy.Input, i int) []float64 {
	if input.Functions == nil {
		return make([]float64, len(s.targets))
	}
	return s.traits.Drawn(input, i)
}

// unseen is what the algorithm knows of some places without estimates.
func (s *decision) unseen(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	input := s.inputFrom(ctx, at, known, draw, make([]policy.Estimate, len(s.targets)))
	var err error
	input.Works, err = s.worksAt(ctx, at)
	return input, err
}

// choices are the places, by their index and in ascending order, that the algorithm chooses among,
// and what it sees there. Of places over which it draws functions those are left out that would not
// be chosen, unless all are asked for.
func (s *decision) choices(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw, all bool) (of []int, input *policy.Input, err error) {
	of = indices(len(at))
	if !s.traits.Blind && s.traits.Considers == nil && s.traits.Functions == nil {
		input, err = s.inputAt(ctx, at, known, draw)
		return of, input, err
	}
	unseen, err := s.unseen(ctx, at, known, draw)
	if err != nil || s.traits.Functions == nil {
		return of, unseen, err
	}
	if s.traits.Considers != nil {
		of = s.traits.Considers(unseen)
	}
	of = s.foremost(of, at, unseen.Works)
	some, knownOf := pick(at, of), func(j, i int) float64 { return known(j, of[i]) }
	widths := s.traits.Functions(unseen)
	if widths == nil || len(of) == 0 {
		input, err = s.unseen(ctx, some, knownOf, draw)
		return of, input, err
	}
	drawn, input, err := s.drawOver(ctx, some, knownOf, unseen, widths, all)
	return pick(of, drawn), input, err
}

// foremost are the places of the lowest rank that may be chosen.
func (s *decision) foremost(of []int, at []Place, works *policy.Estimate) []int {
	scores := s.weigh(policy.Scores{}, works)
	for rank := range ranks {
		for _, usable := range s.usables() {
			fits := func(i int) bool { return s.rank(scores, at[i], i) == rank && usable(at[i]) }
			if some := slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !fits(i) }); len(some) > 0 {
				return some
			}
		}
	}
	return nil
}

// score is the algorithm's acquisition at the places of the input.
func (s *decision) score(input *policy.Input) (policy.Scores, error) {
	scores, err := s.policy.Score(input)
	if err != nil {
		return scores, err
	}
	return s.weigh(scores, input.Works), nil
}

// tooRisky tells of each place whether its chance to break a limit is larger than what is left of
// the risk asked for; nil where none was. The chance is the one that the decision states, of the
// readings alone and as wide as is said: beside a trial that waits nothing is less risky before its
// result has come.
func (s *decision) tooRisky(ctx context.Context, at []Place, estimates []policy.Estimate) ([]bool, error) {
	if len(s.allowances) == 0 {
		return nil, nil
	}
	if s.shown.otherwise() || slices.ContainsFunc(s.sources, func(src source) bool { return len(src.waiting) > 0 }) {
		var err error
		if estimates, err = s.shown.estimate(ctx, at, nil); err != nil {
			return nil, err
		}
	}
	risky, breaks := make([]bool, len(at)), make([]float64, len(s.cfg.Costs))
	for i := range at {
		for j := range breaks {
			breaks[j] = s.breaks(estimates, j, i)
		}
		risky[i] = slices.ContainsFunc(s.allowances, func(a allowance) bool { return anyOf(breaks, a.costs) > a.now })
	}
	return risky, nil
}

// set lets an algorithm look at all places together. What it asks for is worked out when it asks.
func (s *decision) set(ctx context.Context, at []Place, known func(j, i int) float64) *policy.Set {
	set := &policy.Set{Free: make([]bool, len(s.cfg.Space.Dims))}
	for k, d := range s.cfg.Space.Dims {
		set.Free[k] = !d.Derived
		set.Choices = append(set.Choices, d.choices())
	}
	set.Unlike = s.cfg.Space.unlike
	if s.cfg.Space.Settle != nil {
		set.Reach = func(points [][]float64, from []float64) [][]float64 {
			return s.cfg.Space.reach(points, from, s.draw(s.round).Seed)
		}
	}
	teaches := s.teaches()
	for _, p := range at {
		set.Known = append(set.Known, s.cfg.Space.offers(p) && !teaches(p))
	}
	for _, p := range at {
		set.Points = append(set.Points, p.U)
	}
	for _, seed := range s.cfg.SafeSeeds {
		if i := slices.IndexFunc(at, func(p Place) bool { return samePlace(p, seed) }); i >= 0 {
			set.Seeds = append(set.Seeds, i)
		}
	}
	set.Covariances = func(k int, among []int) (func(x int) []float64, error) {
		src := &s.sources[s.sourceOf[k]]
		return src.Covariances(ctx, s.points(src.kernel, at), among)
	}
	set.Noise = func(k, x int) float64 { return s.noiseAt(k, at[x]) }
	features := sync.OnceValue(func() [][]float64 { return s.features(at) })
	set.Distance = func(i, j int) float64 { return distance(features()[i], features()[j]) }
	set.Earlier = func(t int) (*policy.Input, error) { return s.earlier(ctx, t, at, known) }
	set.Design = sync.OnceValue(s.designPoint)
	set.Pause = func() error { return checkpoint.Reach(ctx) }
	return set
}

// earlier is what decision t saw of the places.
func (s *decision) earlier(ctx context.Context, t int, at []Place, known func(j, i int) float64) (*policy.Input, error) {
	if err := checkpoint.Reach(ctx); err != nil {
		return nil, err
	}
	v, err := s.acting(ctx, t, s.path.items[t-1], nil)
	if err == nil {
		v, err = v.comparing(ctx)
	}
	if err != nil {
		return nil, err
	}
	then := &decision{view: v, shown: s.shown}
	return then.inputAt(ctx, at, known, s.draw(t))
}

// teaches tells which of a list of places, candidates or a shortlist, a policy that avoids known
// ones may choose: those that are left, and were not played or whose reading may differ from the
// last.
func (s *decision) teaches() func(Place) bool {
	if !s.traits.AvoidsKnown || s.cfg.Space.Arms == nil && s.shortlist == nil || s.readingsVary() {
		return s.cfg.Space.offers
	}
	tried := s.tried()
	return func(p Place) bool { return s.cfg.Space.offers(p) && !tried(p) }
}

// The setting most_risk r of a limit, or of all together, is a budget over the trials that the
// model chooses, those of the first design and those that people chose or brought being left out:
// nobody weighed their chances. Of T trials planned, with n of the model's told before decision t,
// k of them beyond the limit, the decision may take a place whose chance to break it is at most
//
//	min(r, max(r/10, r + (r·n − k)/(T − t + 1))),
//
// what the earlier trials overdrew being spread over those that are left. Where they overdrew
// nothing it is r: chances not taken are not saved up, since that would let the last trials break
// limits almost surely. So with chances that are what they say, r·N of N trials are expected beyond
// at most, and with chances that are not, the trials beyond are answered by caution.

// leastRisk is the share of most_risk that a decision may always take. A place without any risk is
// where everything is known: a study held to it would ask there to its end. Trials beyond are a
// tenth as frequent as asked for then, even if the model is wrong about its chances by as much as a
// factor of ten.
const leastRisk = 0.1

const mostRisk = "most_risk"

// allowance is the risk that a decision may take with some limits.
type allowance struct {
	costs []int
	most  float64
	now   float64
}

// allowancesAt are the risks that decision t may take; none where any is taken that is worth it.
func (s *task) allowancesAt(t int) []allowance {
	list := s.risksAsked()
	if len(list) == 0 {
		return nil
	}
	chosen, left := s.chosenBefore(t), float64(max(1, s.cfg.Horizon-t+1))
	for i := range list {
		a, told, over := &list[i], 0, 0
		for _, n := range chosen {
			broken, known := s.beyond(n, t, a.costs)
			if known {
				told++
			}
			if broken {
				over++
			}
		}
		a.now = min(a.most, max(leastRisk*a.most, a.most+(a.most*float64(told)-float64(over))/left))
	}
	return list
}

// risksAsked are the limits that are read, each with its risk or all with one.
func (s *task) risksAsked() []allowance {
	var list []allowance
	together := allowance{most: s.settings.Value(mostRisk, "")}
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			continue
		}
		if most, set := s.settings.Number(mostRisk, c.Name); set && most < 1 {
			list = append(list, allowance{costs: []int{j}, most: most})
		}
		together.costs = append(together.costs, j)
	}
	if len(list) > 0 && !s.settings.ByName(mostRisk) {
		return []allowance{together}
	}
	return list
}

// anyOf is the chance that one of some costs is broken, 1 − Π_j (1 − p_j).
func anyOf(breaks []float64, costs []int) float64 {
	if len(costs) == 1 && len(breaks) > 0 {
		return breaks[costs[0]]
	}
	kept := 1.0
	for _, j := range costs {
		if j < len(breaks) {
			kept *= 1 - breaks[j]
		}
	}
	return 1 - kept
}
