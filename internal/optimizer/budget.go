package optimizer

import (
	"context"
	"slices"

	"headroom/internal/optimizer/policy"
)

// The setting most_risk r of a limit, or of all together, is a budget over the trials that the model chooses, those of the first design and those that
// people chose or brought being left out: nobody weighed their chances. Of T trials planned, with n of the model's told before decision t, k of them beyond
// the limit, the decision may take a place whose chance to break it is at most
//
//	min(r, max(r/10, r + (r·n − k)/(T − t + 1))),
//
// what the earlier trials overdrew being spread over those that are left. Where they overdrew nothing it is r: chances not taken are not saved up, since
// that would let the last trials break limits almost surely. So with chances that are what they say, r·N of N trials are expected beyond at most, and with
// chances that are not, the trials beyond are answered by caution.

// leastRisk is the share of most_risk that a decision may always take. A place without any risk is where everything is known: a study held to it would ask there
// to its end. Trials beyond are a tenth as frequent as asked for then, even if the model is wrong about its chances by as much as a factor of ten.
const leastRisk = 0.1

// Budget is how the risk asked for stands.
type Budget struct {
	Costs    []int   // the limits it is of: one, or all together
	Most     float64 // r
	Trials   int     // N, chosen by the model so far and to be chosen by the plan
	Allowed  float64 // r·N trials beyond
	Expected float64 // Σ of the chances, stated when the trials so far were chosen, that they break it
	SoFar    int     // trials among them whose reading was beyond
	Now      float64 // the risk that the next decision may take
}

// allowance is the risk that a decision may take with some limits.
type allowance struct {
	costs []int
	most  float64
	now   float64
}

// Budgets returns how the risk of each limit stands for which one was asked, or of all together. The error is that of ctx.
func (s *account) Budgets(ctx context.Context) ([]Budget, error) {
	var list []Budget
	if len(s.next.allowances) == 0 {
		return nil, nil
	}
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range s.next.allowances {
		b := Budget{Costs: a.costs, Most: a.most, Now: a.now}
		chosen := s.chosenBefore(s.Round())
		for _, n := range chosen {
			b.Expected += anyOf(trace[n-1].breaks, a.costs)
			if broken, _ := s.beyond(n, s.Round(), a.costs); broken {
				b.SoFar++
			}
		}
		b.Trials = len(chosen) + max(0, s.cfg.Horizon-len(s.history.Rounds))
		b.Allowed = a.most * float64(b.Trials)
		list = append(list, b)
	}
	return list, nil
}

// allowancesAt are the risks that decision t may take; none where any is taken that is worth it.
func (s *study) allowancesAt(t int) []allowance {
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
func (s *study) risksAsked() []allowance {
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

const mostRisk = "most_risk"

// chosenBefore are the rounds before decision t that the algorithm chose by its model.
func (s *study) chosenBefore(t int) []int {
	var chosen []int
	design := s.settings.InitialDesign()
	for n := 1; n < t; n++ {
		if s.history.Rounds[n-1].Suggested && !s.designed(n, design) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// beyond tells whether a reading of round n that decision t sees is beyond one of the limits, and whether that is known of the round. Readings of excluded
// rounds count: they happened.
func (s *study) beyond(n, t int, costs []int) (broken, known bool) {
	known = true
	for _, j := range costs {
		c := s.cfg.Costs[j]
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		if !reading.seenAt(t) {
			known = false
		} else if c.Excess(reading.Value) > 0 {
			return true, true
		}
	}
	return false, known
}

// breaks is the chance that learned cost j is broken at place i, against the true limit, of which the estimates are; 0 of a given one.
func (v *view) breaks(estimates []policy.Estimate, j, i int) float64 {
	c, g := v.cfg.Costs[j], estimates[1+j]
	if c.Knowledge == Given {
		return 0
	}
	return above(g.Mean[i]-v.era.transforms[1+j].margin, g.SD[i], v.era.models[c.Metric].freedom)
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

// tooRisky tells of each place whether its chance to break a limit is larger than what is left of the risk asked for; nil where none was. The chance is the one
// that the decision states, of the readings alone: beside a trial that waits nothing is less risky before its result has come.
func (s *decision) tooRisky(ctx context.Context, at []Place, estimates []policy.Estimate) ([]bool, error) {
	if len(s.allowances) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(s.sources, func(src source) bool { return len(src.waiting) > 0 }) {
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
