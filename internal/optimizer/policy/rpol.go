package policy

import (
	"math"
	"slices"
)

var rpolUCB = Description{
	Name: "rpol-ucb", Title: "Rectified pessimistic-optimistic learning",
	Source:   "Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning for Stochastic Continuum-armed Bandit with Constraints, 2022",
	Feedback: "noisy readings of the objective and of every constraint, in any order; late readings count when they arrive",
	Summary:  "For hundreds of trials: keeps the sum of violation of every limit small on the way to the best settings, without having to start from a safe point.",
	Settings: keepingClear(settings(rpolBeta, etaSetting)),
	Theorem: &Theorem{Name: "Theorem 1 with Lemma 1", Paper: rectifiedPaper, Year: 2022, Bounds: rectifiedSum, Regret: rectifiedRegret, Assumptions: []Assumption{
		boundedNorm, unitKernel, subGaussian, feasiblePoint, givenKernel, fixedUnits, theoryWidths(improvedWidth), regulariser, withinHorizon,
		stationary, unchanged, prompt, uncorrected, rectifiedRule, untouchedRows, exactMaximum}},
	build: func(c Context, s Settings) Policy { return newRPOL(c, s) },
}

// rpolBeta offers the width of Srinivas and others too, which Guo, Zhu and Liu name beside the
// improved one that has taken its place: Theorem 1 needs no more of a width than Condition 1.
var rpolBeta = func() Setting {
	s := betaSetting
	s.Choices = append(slices.Clone(s.Choices), "srinivas")
	s.Meaning += "; or srinivas, the wider formula of the first GP-UCB with B and p"
	return s
}()

var etaSetting = Setting{Name: "eta", Type: Number, Default: 1.0, Low: limit(0),
	Meaning: "least price of violation at the end of round t, as a multiple of √t"}

// rpol is rectified pessimistic-optimistic learning:
//
//	f̂ = μ^f + β^f σ^f,   ǧ_j = μ^{g_j} − β^{g_j} σ^{g_j},   x_t = argmax f̂ − Σ_j Q_j [ǧ_j]⁺,
//	Q_j ← max(Q_j + Σ_{costs revealed} [c_j]⁺, η√t),   Q_j = 1 at first.
type rpol struct {
	widths
	eta   float64
	costs int
}

func newRPOL(c Context, s Settings) rpol {
	return rpol{widths: newWidths(c, s), eta: s.Value("eta", ""), costs: len(c.Constraints)}
}

func (a rpol) Traits() Traits {
	return Traits{RisesWithUncertainty: true, Slopes: a.slopes, Bound: a.violationBound, RegretBound: a.regretBound}
}

func (a rpol) Start() []float64 { return filled(a.costs, 1) }

func (a rpol) Score(s *Input) (Scores, error) { return rectified(s, s.Multipliers), nil }

// rectified is μ+βσ of the reward less the priced optimistic violation, Σ_j price_j [μ−βσ]⁺.
func rectified(s *Input, prices []float64) Scores {
	scores := Scores{Value: upper(s.Reward, s.Beta[0]), Reason: TradeOff}
	for j, g := range s.Costs {
		for i, optimistic := range lower(g, s.Beta[1+j]) {
			scores.Value[i] -= prices[j] * positive(optimistic)
		}
	}
	return scores
}

func (rpol) slopes(s *Input) Slopes { return rectifiedSlopes(s, s.Multipliers) }

// rectifiedSlopes are those of rectified.
func rectifiedSlopes(s *Input, prices []float64) Slopes {
	out := linear(s, s.Beta[0])
	for j, g := range s.Costs {
		beta := s.Beta[1+j]
		out.Kinks = append(out.Kinks, Kink{1 + j, prices[j], lower(g, beta), 1, -beta})
	}
	return out
}

func (rpol) Estimates(s *Input, i int) []float64 { return optimistic(s, i) }

func (a rpol) Step(q []float64, r *Revealed) []float64 {
	floor := a.eta * math.Sqrt(float64(r.Round))
	next := make([]float64, len(q))
	for j := range q {
		sum := q[j]
		for _, c := range r.Costs[j] {
			sum += positive(c)
		}
		next[j] = math.Max(sum, floor)
	}
	return next
}

// violationBound is the violation bound in the proof of Guo, Zhu and Liu's Theorem 1 with the Q
// actually used, over suggested rounds:
//
//	Σ_s [2β^g σ^g(x_s) + (2β^f σ^f(x_s) + 2B_f)/Q_s],
//
// where a schedule that states no B_f has β^f in its place.
func (a rpol) violationBound(j int, rounds []Footstep) []float64 {
	return a.bound(j, rounds, Footstep.spread)
}

// regretBound is the bound on regret of the same theorem, Σ_s e^f(x_s) with e^f = 2β^f σ^f: at x*
// no limit is broken even optimistically, so the rule's choice has f̂(x_s) ≥ f̂(x*) ≥ f(x*).
func (a rpol) regretBound(rounds []Footstep) []float64 {
	return summed(rounds, func(r Footstep) float64 { return r.spread(0) })
}

// bound is Σ_s [e^g + (e^f + 2B_f)/Q_s], e being the error of the band of target k in a round.
func (a rpol) bound(j int, rounds []Footstep, e func(r Footstep, k int) float64) []float64 {
	out := make([]float64, len(rounds))
	sum := 0.0
	for i, r := range rounds {
		if r.Suggested {
			sum += r.Scale[1+j] * (e(r, 1+j) + (e(r, 0)+2*a.of[0].norm(r.Beta[0]))/r.Multipliers[j])
		}
		out[i] = sum
	}
	return out
}
