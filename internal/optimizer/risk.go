package optimizer

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
