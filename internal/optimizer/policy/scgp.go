package policy

import (
	"math"
	"slices"
)

var scgpUCB = Description{
	Name: "scgp-ucb", Title: "Virtual queues for constraints known before the choice",
	Source:   "Provably Efficient Bayesian Optimization with Unknown Constraints (earlier version of: " + ckbUCB.Source + "), Algorithm 2",
	Feedback: "noisy readings of the objective; every constraint's value in this round is known at every point before choosing (a formula with this round's context, or sampled values)",
	Summary:  "When the limits are known each time but vary, like a queue of arrivals: no violation in expectation.",
	Settings: settings(betaSetting,
		Setting{Name: "objective_bound", Type: Number, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: objectiveNorm, Low: new(0.0), LowExclusive: true, Meaning: "B: the estimate of the objective is cut at ±B"},
		Setting{Name: "schedule_bound", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "objective_bound", workOut: func(_ Context, s Settings, _ string) (float64, bool) { return s.Value("objective_bound", ""), true },
			Meaning: "the B in the published V_t"},
		Setting{Name: "slater", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "not used", Meaning: "δ: some point keeps every constraint by at least this much on average"},
		Setting{Name: "variant", Type: Text, Default: "i", Choices: []string{"i", "ii"}, Meaning: "i: ε_t = 1/√t, V_t = δ√t/(8B); ii: ε_t = δ/(2√t), V_t = δ²√t/(16B)"},
		Setting{Name: "penalty_scale", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "the published V_t when δ is given, otherwise 1", workOut: publishedPrice, Meaning: "V_t = penalty_scale·√t in place of the published one, which is very timid"}),
	NeedsGivenConstraint: true,
	Theorem: &Theorem{Name: "Theorem 4 (Theorem 3 is its case i)", Paper: "Provably Efficient Bayesian Optimization with Unknown Constraints, the earlier version of " + primalDualPaper, Year: 2022,
		Bounds: "the expected sum E[Σ_s g_s(x_s)] of each limit’s samples, in which distance kept offsets excess, by E[Q_{n+1}] − Σ_s ε_s after n rounds, which is 0 or less from some O(1/δ⁴) rounds on",
		Soft:   true,
		Regret: "the expected regret E[Σ_s (E f(π*) − f(x_s))] behind the best mixture of settings that keeps every limit and its margin on average, by the expectation of Σ_s [2β^f σ^f(x_s) + 2B min(ε_s/δ, 1) + Σ_k ((g_{k,s}(x_s) + ε_s)²/2 + Q_{k,s} [ε_s − δ]⁺)/V_s]",
		Short:  "What was proved is about expectations, over all that the noise and the samples could have been: the figures are what came out in this study of what is averaged there.",
		Assumptions: []Assumption{
			boundedNorm, unitKernel, subGaussian, sampledLimits, slaterOnAverage, objectiveCut, publishedSchedules, givenKernel, fixedUnits, theoryWidths(improvedWidth), regulariser,
			withinHorizon, stationary, unchanged, prompt, uncorrected, everyRoundByRule, exactMaximum}},
	check: checkSCGP,
	Build: func(c Context, s Settings) Policy { return newSCGP(c, s) },
}

func checkSCGP(c Context, s Settings) []Fault {
	for j, metric := range c.CostMetrics {
		if slices.Contains(c.Metrics, metric) {
			return []Fault{{"", "scgp-ucb needs to know every constraint before it chooses; " + c.Constraints[j] + " is learned from readings"}}
		}
	}
	switch {
	case s.has("slater"):
	case s.Text("variant") == "ii":
		return []Fault{{"slater", "variant ii takes its ε_t from δ: give it"}}
	case c.Paper && !s.has("penalty_scale"):
		return []Fault{{"slater", "the published V_t is δ√t/(8B): give δ, or penalty_scale"}}
	}
	return nil
}

// scgp is GP-UCB against constraints whose sample g_{j,t}(·) is known before the choice:
//
//	x_t = argmax clip(μ+βσ, ±B) − Σ_j (Q_j/V_t) g_{j,t}(x),   Q_j ← [Q_j + g_{j,t}(x_t) + ε_t]⁺,   Q_j = 0 at first.
type scgp struct {
	widths
	bound        float64 // B
	costs        int
	price, slack float64 // V_t and ε_t at t = 1; V_t grows and ε_t falls with √t
	slater       float64 // δ, 0 where it is not given
}

// publishedPrice is V_t/√t.
func publishedPrice(_ Context, s Settings, _ string) (float64, bool) {
	delta, given := s.Number("slater", "")
	switch bound := s.Value("schedule_bound", ""); {
	case !given:
		return 1, true
	case s.Text("variant") == "ii":
		return delta * delta / (16 * bound), true
	default:
		return delta / (8 * bound), true
	}
}

func newSCGP(c Context, s Settings) scgp {
	a := scgp{widths: newWidths(c, s), bound: s.Value("objective_bound", ""), costs: len(c.Constraints), price: s.Value("penalty_scale", ""), slack: 1, slater: s.Value("slater", "")}
	if s.Text("variant") == "ii" {
		a.slack = a.slater / 2
	}
	return a
}

func (a scgp) Traits() Traits {
	return Traits{RisesWithUncertainty: true, Slopes: a.slopes, Bound: a.violationBound, RegretBound: a.regretBound}
}

func (a scgp) Start() []float64 { return make([]float64, a.costs) }

// Beta is the objective's alone: the constraints need no learning.
func (a scgp) Beta(w WidthInput) []float64 { return a.widths.Beta(w)[:1] }

// lagrangian is clip(μ+βσ, ±B) − Σ_j (Q_j/V_t) g_{j,t}.
func (a scgp) lagrangian(s *Input) bands {
	price, _ := a.schedules(s.Round)
	b := bands{append([]float64{s.Beta[0]}, make([]float64, a.costs)...), make([]float64, a.costs), []interval{plusMinus(a.bound)}}
	for j, queue := range s.Multipliers {
		b.prices[j] = queue / price
	}
	return b
}

func (a scgp) Score(s *Input) (Scores, error) {
	l := a.lagrangian(s)
	return l.truncated(l.edges(s)), nil
}

func (a scgp) slopes(s *Input) Slopes { return a.lagrangian(s).slopes(s) }

func (a scgp) Estimates(s *Input, i int) []float64 { return a.lagrangian(s).at(s, i) }

func (a scgp) Step(queue []float64, r *Revealed) []float64 {
	_, slack := a.schedules(r.Round)
	return r.moved(queue, func(j int, queue float64) float64 { return positive(queue + r.Given[j] + slack) })
}

// schedules are V_t and ε_t.
func (a scgp) schedules(t int) (price, slack float64) {
	root := math.Sqrt(float64(t))
	return a.price * root, a.slack / root
}

// violationBound is the first step of the proof of Theorem 4: Q_{t+1} ≥ Q_t + g_t(x_t) + ε_t and
// Q_1 = 0, so
//
//	Σ_{s≤n} g_{j,s}(x_s) ≤ Q_{j,n+1} − Σ_{s≤n} ε_s.
func (a scgp) violationBound(j int, rounds []RoundSummary) []float64 {
	slack := 0.0
	return afterEach(rounds, func(i int, r RoundSummary) float64 {
		if r.Suggested {
			_, epsilon := a.schedules(i + 1)
			slack += epsilon
		}
		return r.Scale[1+j] * positive(r.After[j]-slack)
	})
}

// regretBound is the quantity under the expectation in the proof of Theorem 4: its (22) with T2 ≤
// 0, T3 ≤ 2β^f σ^f(x_s) and T1 ≤ 2B min(ε_s/δ, 1), and Lemma 4 before it replaces (g + ε)² by (G +
// ε)² and Q(ε − δ) by t(G + ε)ε. The sum of −Δ(s)/V_s is at most 0, since V_s grows:
//
//	Σ_s [2β^f σ^f(x_s) + 2B min(ε_s/δ, 1) + Σ_k ((g_{k,s}(x_s) + ε_s)²/2 + Q_{k,s} [ε_s − δ]⁺)/V_s].
//
// It takes δ.
func (a scgp) regretBound(rounds []RoundSummary) []float64 {
	if a.slater == 0 {
		return nil
	}
	return cumulative(0, rounds, func(i int, r RoundSummary) float64 {
		if !r.complete() {
			return 0
		}
		price, slack := a.schedules(i + 1)
		term := r.bandWidth(0) + 2*a.bound*min(slack/a.slater, 1)
		for k, g := range r.Costs {
			term += ((g+slack)*(g+slack)/2 + r.Multipliers[k]*positive(slack-a.slater)) / price
		}
		return term
	})
}

// sampledLimits are Assumptions 5 and 6 of the theorem.
var sampledLimits = Assumption{
	"The limits of each round are a sample of its own, alike from round to round and independent of everything else, and never beyond ±G.",
	func(Circumstances) Finding {
		return unknown("how the samples come about is not recorded")
	}}

// slaterOnAverage is Slater's condition for the mean of the samples.
var slaterOnAverage = Assumption{
	"Some mixture of settings keeps every limit and its margin by δ ≤ 1 on average (Slater’s condition).",
	func(c Circumstances) Finding {
		switch delta, given := c.Settings.Number("slater", ""); {
		case !given:
			return notMet("no δ is given, which ε and V are made from")
		case delta > 1:
			return notMet("δ is %s", short(delta))
		default:
			return unknown("δ is set to %s; readings cannot prove that some settings keep it", short(delta))
		}
	}}

// objectiveCut is the assumption that the objective's estimate is cut no closer than the objective
// reaches.
var objectiveCut = Assumption{
	"The estimate of the objective is cut at ±B, and the objective goes no further: |f| ≤ B.",
	func(c Circumstances) Finding {
		a := newSCGP(c.Context, c.Settings)
		if a.of[0].Schedule != "theory" || a.of[0].B > a.bound {
			return unknown("B is %s; readings cannot prove that the objective goes no further", short(a.bound))
		}
		return met("it is cut no closer than the norm that is assumed")
	}}

// publishedSchedules are V_t and ε_t as Theorem 4 has them; ε_t is not settable.
var publishedSchedules = Assumption{
	"V_t and ε_t are the theorem’s: ε_t = 1/√t and V_t = δ√t/(8B), or ε_t = δ/(2√t) and V_t = δ²√t/(16B).",
	func(c Circumstances) Finding {
		a := newSCGP(c.Context, c.Settings)
		factor := 8 * a.bound / a.slater
		if c.Settings.Text("variant") == "ii" {
			factor = 16 * a.bound / (a.slater * a.slater)
		}
		if a.slater == 0 || math.Abs(a.price*factor-1) > 1e-9 {
			return notMet("V_t is %s·√t", short(a.price))
		}
		return met("with δ = %s and B = %s", short(a.slater), short(a.bound))
	}}
