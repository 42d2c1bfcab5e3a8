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
	Build: func(c Context, s Settings) Policy { return newRPOL(c, s) },
}

// rpolBeta offers the width of Srinivas and others too, which Guo, Zhu and Liu name beside the
// improved one that has taken its place: Theorem 1 needs no more of a width than Condition 1.
var rpolBeta = func() Setting {
	s := betaSetting
	s.Choices = append(slices.Clone(s.Choices), "srinivas")
	s.Meaning += "; or srinivas, the wider formula of the first GP-UCB with B and p"
	return s
}()

var etaSetting = Setting{Name: "eta", Type: Number, Default: 1.0, Low: new(0.0),
	Meaning: "least price of violation at the end of round t, as a multiple of √t"}

// The rectified papers' theorem, and what all its variants assume.
const (
	rectifiedPaper  = "Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning for Stochastic Continuum-armed Bandit with Constraints"
	rectifiedRegret = "the regret Σ_s [f(x*) − f(x_s)] behind the best settings within every limit and the margin that is kept, by Σ_s 2β^f σ^f(x_s) with the β and σ of the decisions themselves, with probability 1 − p"
	rectifiedSum    = "the cumulative violation Σ_s [g(x_s)]⁺ of each limit, by Σ_s [2β^g σ^g(x_s) + (2β^f σ^f(x_s) + 2B_f)/Q_s] with the Q, β and σ of the decisions themselves, with probability 1 − p"
)

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
	t := Traits{RisesWithUncertainty: true, Slopes: a.slopes}
	t.Bound, t.RegretBound = a.bounds(RoundSummary.bandWidth)
	return t
}

func (a rpol) Start() []float64 { return filled(a.costs, 1) }

// acquisition is f̂ − Σ_j Q_j [ǧ_j]⁺.
func (a rpol) acquisition(s *Input) bands { return bands{s.Beta, s.Multipliers, rectified(a.costs)} }

func (a rpol) Score(s *Input) (Scores, error) { return a.acquisition(s).scores(s), nil }

func (a rpol) slopes(s *Input) Slopes { return a.acquisition(s).slopes(s) }

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

// bounds are those of Guo, Zhu and Liu's Theorem 1, over suggested rounds and with the Q actually
// used, e being the error of a target's band in a round: on violation, from its proof,
//
//	Σ_s [e^g(x_s) + (e^f(x_s) + 2B_f)/Q_s],
//
// where a schedule that states no B_f has β^f in its place, and on regret Σ_s e^f(x_s): at x* no
// limit is broken even optimistically, so the rule's choice has f̂(x_s) ≥ f̂(x*) ≥ f(x*).
func (a rpol) bounds(e func(r RoundSummary, k int) float64) (violation func(j int, rounds []RoundSummary) []float64, regret func(rounds []RoundSummary) []float64) {
	violation = func(j int, rounds []RoundSummary) []float64 {
		return cumulative(1+j, rounds, func(_ int, r RoundSummary) float64 {
			return e(r, 1+j) + (e(r, 0)+2*a.of[0].norm(r.Beta[0]))/r.Multipliers[j]
		})
	}
	regret = func(rounds []RoundSummary) []float64 {
		return cumulative(0, rounds, func(_ int, r RoundSummary) float64 { return e(r, 0) })
	}
	return violation, regret
}

// rectifiedRule: each summand of the rectified bound needs the rule's choice of its own round, and
// no other round's.
var rectifiedRule = Assumption{
	"Every trial that the sum counts was chosen by the rule. Own and imported trials, and those with settings held, are not counted.",
	func(c Circumstances) Finding {
		switch {
		case c.Spread > 0:
			return notMet("%s of the first design filled the space instead", trials(c.Spread))
		case c.Moved > 0:
			return notMet("%s tried at other settings than those chosen", trials(c.Moved))
		}
		return met("%s chosen otherwise, and not counted", trials(c.Own+c.Held+c.Imported))
	}}

var untouchedRows = Assumption{
	"Rows brought from elsewhere were not picked by how they turned out.",
	func(c Circumstances) Finding {
		if c.Imported > 0 {
			return unknown("%s imported, and how they were picked is not recorded", trials(c.Imported))
		}
		return met("nothing was imported")
	}}
