package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/posterior"
)

// Where there are many more readings than candidates, a regression keeps the posterior over all
// candidates in place of the rows of a factor: O(M²) numbers and work a reading, however many there
// have been. The rounds are gone through in order, and what is wanted of earlier decisions is noted
// on the way.

// sequential is that posterior after the readings that the next decision sees, nil in a regime that
// is over, and what the regime's decisions expected.
type sequential struct {
	arms  *gp.Arms
	from  int // decision of the first that is noted
	noted appendOnly[posterior.Noted]
}

// From how many readings on candidates are regressed together: twice their number, as long as the
// factor's rows cost more; see docs/benchmarks.md.
const (
	readingsAnArm = 2
	leastReadings = 512
)

// inSequence tells whether so many readings of a regime are regressed by the posterior over all
// candidates. Algorithms that forget, or that act on data of their own, need the rows; so does
// looking at rounds before the regime.
func (s *evidence) inSequence(regime *regime, readings int) bool {
	if s.arms == nil || s.traits.First != nil || s.traits.ActsOnOwnData() || s.traits.MovesByEstimate && regime.from > 1 && slices.Contains(s.scaledFrom(), regime.from) {
		return false
	}
	M := len(s.arms.places)
	return readings > max(readingsAnArm*M, leastReadings) && M*M <= posterior.MostKept
}

// updateSequentially works out the posterior over all candidates for a regime's regression.
func (s *evidence) updateSequentially(ctx context.Context, regime *regime, g *group) error {
	targets := s.targetsOf(regime, g)
	st, come, err := s.sequentialBefore(ctx, regime, g, targets)
	if err != nil {
		return err
	}
	g.sequential = st
	for t := st.from + len(st.noted.items); t < regime.until; t++ {
		for len(come) > 0 && g.order[come[0]].revealed < t {
			i := come[0]
			come = come[1:]
			if err := s.takeReading(ctx, regime, g, targets, i); err != nil {
				return err
			}
		}
		if t > len(s.history.Rounds) {
			return nil
		}
		seen, err := s.note(ctx, g, s.targets[targets[0]].metric, t)
		if err != nil {
			return err
		}
		st.noted = st.noted.append(seen)
	}
	st.arms = nil
	return nil
}

// targetsOf are the targets that a regime's regression serves, in order.
func (s *evidence) targetsOf(regime *regime, g *group) []int {
	var list []int
	for k, t := range s.targets {
		if t.metric >= 0 && regime.groups[regime.groupOf[t.metric]] == g {
			list = append(list, k)
		}
	}
	return list
}

// takeReading brings in the i-th reading of the regression.
func (s *evidence) takeReading(ctx context.Context, regime *regime, g *group, targets []int, i int) error {
	ys := make([]float64, len(targets))
	for n, k := range targets {
		ys[n] = regime.answers[k].items[i]
	}
	a := g.order[i]
	return g.sequential.arms.Update(ctx, s.history.Rounds[a.round-1].Arm, ys, a.lambda)
}

// note writes down what decision t expected at its own place.
func (s *evidence) note(ctx context.Context, g *group, metric, t int) (posterior.Noted, error) {
	arms := g.sequential.arms
	arm := s.history.Rounds[t-1].Arm
	seen := posterior.Noted{Round: t, Gain: arms.Gain(), Means: arms.At(arm), Variance: arms.Variances()[arm], Narrowed: math.NaN()}
	if !s.traits.MovesByEstimate || !s.settings.PendingNarrows() {
		return seen, nil
	}
	narrowed, err := s.narrowed(ctx, g, arms, s.pending(t, metric))
	if err != nil {
		return seen, err
	}
	seen.Narrowed = narrowed.Variances()[arm]
	return seen, nil
}

// narrowed is the posterior with pending points.
func (s *evidence) narrowed(ctx context.Context, g *group, arms *gp.Arms, waiting []int) (*gp.Arms, error) {
	if len(waiting) == 0 {
		return arms, nil
	}
	arms = arms.Clone()
	for _, n := range waiting {
		at := s.placeOf(n)
		if err := arms.Update(ctx, at.Arm, nil, g.model.noise.at(at, g.model.lambda)); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// sequentialBefore is what the prior state had come to, where everything that it went through still
// holds, else the prior over the candidates; come are the readings, by their position in the order,
// that are not in it yet.
func (s *evidence) sequentialBefore(ctx context.Context, regime *regime, g *group, targets []int) (st *sequential, come []int, err error) {
	for _, old := range s.priorRegimes() {
		for _, before := range old.groups {
			if before.sequential == nil || old.from > regime.from || !before.model.sameRegression(g.model) || !slices.Equal(s.prior.targetsOf(old, before), targets) {
				continue
			}
			if st, come := s.continued(old, before, regime, g, targets); st != nil {
				return st, come, nil
			}
		}
	}
	fresh, err := gp.NewArms(ctx, g.function, s.arms.inputs(g.model.kernel), len(targets))
	for i := range g.order {
		come = append(come, i)
	}
	return &sequential{arms: fresh, from: regime.from}, come, err
}

// continued is what a regression had come to of the prior state for one with the same kernel and
// noise; nil where what it went through does not hold.
func (s *evidence) continued(old *regime, before *group, regime *regime, g *group, targets []int) (st *sequential, come []int) {
	first, known := regime.from-old.from, before.sequential.noted
	for _, k := range targets {
		if old.transforms[k] != regime.transforms[k] {
			return nil, nil
		}
	}
	if last := regime.until - old.from; regime.until <= s.agreed.seen && last <= len(known.items) {
		return &sequential{from: regime.from, noted: appendOnly[posterior.Noted]{items: known.items[first:last]}}, nil // nothing of the regime has changed
	}
	if before.sequential.arms == nil || s.agreed.seen < s.prior.Round() || first > len(known.items) {
		return nil, nil
	}
	come, ok := added(old, before, regime, g, targets, before.seen(s.agreed.seen-1))
	if !ok {
		return nil, nil
	}
	if first > 0 {
		known = appendOnly[posterior.Noted]{items: known.items[first:]}
	}
	return &sequential{before.sequential.arms.Clone(), regime.from, known}, come
}

// added are the positions of the readings that a regression has beyond those of an earlier one,
// which begins with the same ones; not ok when it lacks some, or has others.
func added(old *regime, before *group, regime *regime, g *group, targets []int, same int) (come []int, ok bool) {
	has := func(i, j int) bool {
		return before.order[i] == g.order[j] &&
			!slices.ContainsFunc(targets, func(k int) bool { return old.answers[k].items[i] != regime.answers[k].items[j] })
	}
	i := same
	for j := same; j < len(g.order); j++ {
		if i < len(before.order) && has(i, j) {
			i++
		} else {
			come = append(come, j)
		}
	}
	return come, i == len(before.order)
}
