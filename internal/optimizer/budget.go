package optimizer

import "context"

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

// Budgets returns how the risk of each limit stands for which one was asked, or of all together.
// The error is that of ctx.
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
