package policy

import (
	"cmp"
	"math"
	"slices"
)

var logCEI = Description{
	Name: "log-cei", Title: "Expected improvement within limits",
	Source: "Schonlau, Welch, Jones: Global versus Local Search in Constrained Optimization of Computer Models, 1998; " +
		"Letham, Karrer, Ottoni, Bakshy: Constrained Bayesian Optimization with Noisy Experiments, 2019; " +
		"Ament, Daulton, Eriksson, Balandat, Bakshy: Unexpected Improvements to Expected Improvement for Bayesian Optimization, 2023",
	Feedback: rpolUCB.Feedback,
	Summary:  "The default: finds the best settings within the limits in few trials, weighing what a trial may gain with its chance to stay within every limit.",
	Settings: append([]Setting{cautionSetting, mostRiskSetting, designSetting("5")}, common...),
	design:   func(int) int { return 5 },
	build:    func(c Context, s Settings) Policy { return newCautious(s) },
	check:    checkRisk,
}

var cautionSetting = Setting{Name: "caution", Type: Number, Default: 1.0, Low: limit(0.1), High: limit(100),
	Meaning: "how much the chance to stay within the limits weighs against what may be gained: 1 evenly, 2 careful, 4 very careful"}

var mostRiskSetting = Setting{Name: "most_risk", Type: Number, Per: PerConstraint, Low: limit(0), High: limit(1), LowExclusive: true,
	DefaultMeans: "any risk is taken that is worth it",
	Meaning: "largest chance of breaking a limit that a suggestion may have while there is one with less, and the share of the model’s trials that may break it: when more have, the next are safer. " +
		"One number is for any limit, an object for each that it names by itself"}

// checkRisk refuses a risk for a limit whose value is known at the decision: it is kept wherever that is possible.
func checkRisk(c Context, s Settings) []Fault {
	var faults []Fault
	for j, name := range c.Constraints {
		if _, named := s.numbers["most_risk"].by[name]; named && c.CostMetrics[j] == "" {
			faults = append(faults, Fault{"most_risk." + name, name + " is known before a trial is chosen, so there is no risk to bound: it is kept wherever some setting keeps it"})
		}
	}
	return faults
}

// cautious is constrained expected improvement in logarithms,
//
//	x_t = argmax ln EI(x) + w Σ_j ln P(g_j(x) ≤ 0),   EI(x) = E[f(x) − f(x*)]⁺,
//
// f(x) and f(x*) being uncertain together. x* is the played point of the largest posterior mean among those where the posterior mean of
// every cost keeps its limit, and, where readings vary, all do with probability 0.9; before there is one, Σ_j ln P alone counts. Given costs are
// limits to keep, not chances, and a place where a limit is at more risk than is left of it is not chosen. Where readings vary, asking x* again counts as Sight.Again in place of what it could gain.
type cautious struct {
	unbanded
	weight float64 // w
}

func newCautious(s Settings) cautious {
	return cautious{weight: s.NumberOr("caution", "", 1)}
}

func (a cautious) Traits() Traits {
	return Traits{AvoidsKnown: true, Incumbent: likelyBest, Upper: a.upper, Slopes: a.slopes}
}

// upper bounds the score: EI rises with the deviation of the lead, and the chance to keep a limit rises with its deviation where the mean is
// beyond it; where the mean keeps it, the chance is at most 1.
func (a cautious) upper(s *Sight) Scores {
	bound := *s
	bound.Costs = make([]Estimate, len(s.Costs))
	for j, g := range s.Costs {
		bound.Costs[j] = Estimate{Mean: g.Mean, SD: make([]float64, len(g.SD))}
		for i, mean := range g.Mean {
			if mean > 0 {
				bound.Costs[j].SD[i] = g.SD[i]
			}
		}
	}
	return a.Score(&bound)
}

// safeEnough is how probably a point keeps its limits that others are compared with: a lucky reading makes no incumbent.
const safeEnough = 0.9

// mostDoubted is how many points may be found too doubtful before none is taken.
const mostDoubted = 100

// likelyBest is the point of the largest mean reward among those where the mean of every cost keeps its limit, and readings that vary leave
// little doubt of it.
func likelyBest(played *Sight) int {
	var order []int
	for i := range played.Reward.Mean {
		if keeps(played, i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(played.Reward.Mean[b], played.Reward.Mean[a]) })
	for _, i := range order[:min(mostDoubted, len(order))] {
		if played.Chance == nil || played.Chance(i) >= safeEnough {
			return i
		}
	}
	return -1
}

// keeps tells whether the mean of every cost is within its limit at place i.
func keeps(s *Sight, i int) bool {
	for _, g := range s.Costs {
		if !(g.Mean[i] <= 0) {
			return false
		}
	}
	return true
}

func (a cautious) Score(s *Sight) Scores {
	n := len(s.Reward.Mean)
	scores := Scores{Value: make([]float64, n), Allowed: make([]bool, n), Fallback: make([]float64, n), Logarithmic: true, Reason: Improve}
	for i := range scores.Value {
		chance, within := a.chance(s, i)
		scores.Fallback[i] = chance
		scores.Allowed[i] = within && (s.TooRisky == nil || !s.TooRisky[i])
		scores.Value[i] = bounded(a.weight * chance)
		if s.Lead != nil {
			scores.Value[i] = bounded(logExpectedImprovement(s.Lead.Mean[i], s.Lead.SD[i]) + a.weight*chance)
			if s.Lead.SD[i] == 0 && s.Again > 0 {
				scores.Value[i] = math.Log(s.Again)
			}
		}
	}
	return scores
}

// chance is Σ_j ln P(g_j ≤ 0) at place i over the learned costs, less how far given costs are beyond their limit, and whether they are
// within.
func (a cautious) chance(s *Sight, i int) (logChance float64, within bool) {
	within = true
	for j, g := range s.Costs {
		if s.Given[j] {
			within = within && g.Mean[i] <= 0
			logChance -= leastLog * positive(g.Mean[i])
			continue
		}
		logChance += logNormal(ratio(-g.Mean[i], g.SD[i]))
	}
	return bounded(logChance), within
}

// slopes are, with z = mean/s of the lead and u = −mean/s of a cost,
//
//	∂ ln EI/∂mean = Φ(z)/(s h(z)),   ∂ ln EI/∂s = φ(z)/(s h(z)),
//	∂ ln Φ(u)/∂mean = −φ(u)/(s Φ(u)),   ∂ ln Φ(u)/∂s = −u φ(u)/(s Φ(u)).
func (a cautious) slopes(s *Sight) Slopes {
	n := len(s.Reward.Mean)
	out := Slopes{Reward: noEstimates(n), Costs: make([]Estimate, len(s.Costs))}
	for j, g := range s.Costs {
		out.Costs[j] = noEstimates(n)
		for i, sd := range g.SD {
			if s.Given[j] || sd == 0 {
				continue
			}
			u := -g.Mean[i] / sd
			steep := a.weight * math.Exp(logDensity(u)-logNormal(u)) / sd
			out.Costs[j].Mean[i], out.Costs[j].SD[i] = -steep, -u*steep
		}
	}
	if s.Lead == nil {
		return out
	}
	lead := noEstimates(n)
	for i, sd := range s.Lead.SD {
		if sd == 0 {
			continue
		}
		z := s.Lead.Mean[i] / sd
		h := logImprovement(z)
		lead.Mean[i], lead.SD[i] = math.Exp(logNormal(z)-h)/sd, math.Exp(logDensity(z)-h)/sd
	}
	out.Lead = &lead
	return out
}

// noEstimates are zeros for n places.
func noEstimates(n int) Estimate { return Estimate{Mean: make([]float64, n), SD: make([]float64, n)} }

// leastLog bounds logarithms of 0, so that scores can be told apart and added.
const leastLog = 1e100

func bounded(v float64) float64 { return math.Max(v, -leastLog) }

func (cautious) Estimates(s *Sight, i int) []float64 { return means(s, i) }
