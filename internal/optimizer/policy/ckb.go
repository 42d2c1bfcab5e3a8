package policy

import (
	"math"
	"slices"

	"headroom/internal/lists"
)

var ckbSettings = []Setting{
	{Name: "objective_bound", Type: Number, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: objectiveNorm, Low: new(0.0), LowExclusive: true, Meaning: "B: estimates of the objective are cut at ±B"},
	{Name: "constraint_bound", Type: Number, Per: PerConstraint, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: constraintNorm, Low: new(0.0), LowExclusive: true, Meaning: "G: estimates of a constraint are cut at ±G"},
	{Name: "multiplier_cap", Type: Number, Per: PerConstraint, Low: new(0.0), LowExclusive: true, DefaultMeans: "4B/δ when δ is given, otherwise 10", workOut: publishedCap, Meaning: "ρ: the largest multiplier"},
	{Name: "step", Type: Number, Per: PerConstraint, Low: new(0.0), LowExclusive: true, DefaultMeans: "G√T/ρ, of each phase's T where the horizon doubles", workOut: plannedStep, Meaning: "V: the multiplier moves by the estimate divided by V"},
	{Name: "slack", Type: Number, Per: PerConstraint, Low: new(0.0), DefaultMeans: "0.05 on standardised outputs without the paper preset, otherwise 0", workOut: practicalSlack, Meaning: "ε: added to the estimate when the multiplier moves; 0 < ε ≤ δ/2 buys bounded or zero violation"},
	{Name: "truncate", Type: Boolean, Default: true, Meaning: "whether estimates are cut at ±B and ±G"},
	{Name: "slater", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "not used", Meaning: "δ: some point keeps every constraint by at least this much"},
	horizonSetting,
}

const (
	boundOfWidth = "5; with the paper preset the B of the width that it belongs to"
	askedBound   = LeftToUser("the published algorithm cuts estimates at the B of their width: give a width with B, or this bound itself")
)

// objectiveNorm is the B of the objective's width, if it has the theory schedule.
func objectiveNorm(c Context, s Settings, _ string) (float64, bool) {
	b := s.BetaFor(c.Metrics[0])
	return b.B, b.Schedule == "theory"
}

// constraintNorm is the B of a constraint's width, if it is learned and has the theory schedule.
func constraintNorm(c Context, s Settings, constraint string) (float64, bool) {
	metric := c.CostMetrics[slices.Index(c.Constraints, constraint)]
	b := s.BetaFor(metric)
	return b.B, b.Schedule == "theory" && slices.Contains(c.Metrics, metric)
}

func publishedCap(_ Context, s Settings, _ string) (float64, bool) {
	if delta, given := s.Number("slater", ""); given {
		return 4 * s.Value("objective_bound", "") / delta, true
	}
	return 10, true
}

// plannedStep is publishedStep, not used where each phase has a step of its own.
func plannedStep(c Context, s Settings, constraint string) (float64, bool) {
	return publishedStep(c, s, constraint), s.plannedHorizon()
}

// publishedStep is V = G√T/ρ.
func publishedStep(c Context, s Settings, constraint string) float64 {
	return s.Value("constraint_bound", constraint) * math.Sqrt(float64(c.Horizon)) / s.Value("multiplier_cap", constraint)
}

func practicalSlack(c Context, _ Settings, _ string) (float64, bool) {
	if c.Standardized && !c.Paper {
		return 0.05, true
	}
	return 0, true
}

// ckbWith are the settings of a primal-dual algorithm, its own ones between the width and the
// common ones.
func ckbWith(own ...Setting) []Setting {
	return settings(append(append([]Setting{betaSetting}, own...), ckbSettings...)...)
}

func ckbCheck(c Context, s Settings) []Fault {
	if !s.plannedHorizon() {
		for _, name := range c.Constraints {
			if _, given := s.Number("step", name); given {
				return []Fault{{"step", "V follows from the length of each phase where the horizon doubles: leave it out"}}
			}
		}
	}
	if !c.Paper || s.has("slater") {
		return nil
	}
	for _, name := range c.Constraints {
		if _, capped := s.Number("multiplier_cap", name); !capped {
			return []Fault{{"slater", "the published multiplier cap is 4B/δ: give δ, or multiplier_cap itself"}}
		}
	}
	return nil
}

var ckbUCB = Description{
	Name: "ckb-ucb", Title: "Primal-dual with upper confidence bounds",
	Source:   "Zhou, Ji: On Kernelized Multi-Armed Bandits with Constraints, 2022",
	Feedback: "noisy readings of the objective and of every constraint",
	Summary:  "When violation in one trial may be paid back by another: keeps the average of every limit, not each trial.",
	Beware:   keepsTheSum,
	Settings: ckbWith(),
	Theorem:  primalDualTheorem(""),
	check:    ckbCheck,
	Build:    phased(func(c Context, s Settings) Policy { return newCKB(c, s) }),
}

// keepsTheSum warns of methods that compete with the best mixture of settings.
const keepsTheSum = "The algorithm may break a limit in many trials, where mixing settings from both sides of it pays; it keeps only the sum over all trials within the limit."

// The primal-dual paper.
const (
	primalDualPaper = "Zhou, Ji: On Kernelized Multi-Armed Bandits with Constraints"
	primalDualSum   = "the soft violation [Σ_s g(x_s)]⁺ of each limit, in which distance kept offsets excess, by [2χ/ρ − nε]⁺ over n rounds, χ = Σ_s 2β^f σ^f(x_s) + Σ_k [ρ_k Σ_s 2β^{g_k} σ^{g_k}(x_s) + V_k ρ_k²/2 + n(G_k + ε_k)²/(2V_k)], with probability 1 − p"
	// What the proofs of Theorem 1 (at φ = 0) and of appendices E and F bound.
	primalDualRegret = "the regret Σ_s [E f(π*) − f(x_s)] behind the best mixture of settings that keeps every limit and its margin, by Σ_s 2β^f σ^f(x_s) + n Σ_k (G_k + ε_k)²/(2V_k) + 2Bn max_k ε_k/δ over n rounds, with probability 1 − p"
)

// primalDualTheorem is Theorem 1, and how far the figures fall short of it.
func primalDualTheorem(short string, more ...Assumption) *Theorem {
	return &Theorem{Name: "Theorem 1", Paper: primalDualPaper, Year: 2022, Bounds: primalDualSum, Soft: true, Regret: primalDualRegret, Short: short,
		Assumptions: primalDual(more...), ForRegret: []Assumption{slackPaid}}
}

// forgetful is Theorem 1 for an algorithm that forgets.
func forgetful() *Theorem {
	return primalDualTheorem("The theorem is one for functions that stay the same, and for an algorithm that forgets nothing: the figure shows a rate.", remembers)
}

var remembers = Assumption{
	"Nothing that was told is forgotten.",
	func(Circumstances) Finding { return notMet("the algorithm forgets on purpose, to follow a drift") }}

// primalDualRate is Theorem 2, of algorithms that draw.
func primalDualRate(name string, more ...Assumption) *Theorem {
	const asUCB = ": up to constants and logarithms as that of upper confidence bounds"
	return &Theorem{Name: name, Paper: primalDualPaper, Year: 2022, Soft: true,
		Bounds:      "how fast the soft violation [Σ_s g(x_s)]⁺ of each limit grows, in which distance kept offsets excess" + asUCB,
		Regret:      "how fast the regret Σ_s [E f(π*) − f(x_s)] behind the best mixture of settings that keeps every limit and its margin grows" + asUCB,
		Short:       "The theorem hides its constants, so no sum follows from it: the figure is that of Theorem 1 for upper confidence bounds, and shows a rate.",
		Assumptions: primalDual(more...), ForRegret: []Assumption{slackPaid}}
}

// primalDual are the assumptions of Zhou and Ji's theorems, and more.
func primalDual(more ...Assumption) []Assumption {
	return append([]Assumption{
		boundedNorm, unitKernel, subGaussian, slater, cutWide, givenKernel, fixedUnits, theoryWidths(improvedWidth), regulariser, withinHorizon,
		stationary, unchanged, prompt, uncorrected, everyRoundByRule, exactMaximum}, more...)
}

// ckb is the primal-dual method for constrained kernelized bandits with optimistic estimates f_t =
// μ+βσ, g_t = μ−βσ:
//
//	f̄ = clip(f_t, ±B),  ḡ_j = clip(g_{j,t}, ±G_j),  x_t = argmax f̄ − Σ_j φ_j ḡ_j,
//	φ_j ← clip(φ_j + (ḡ_j(x_t) + ε_j)/V_j, 0, ρ_j),   φ_j = 0 at first,
//
// the estimate being the one made before round t's data.
type ckb struct {
	widths
	bound            float64    // B
	bounds           []float64  // G per cost
	cap, step, slack []float64  // ρ, V, ε per cost
	cuts             []interval // ±B, ±G; none where nothing is truncated
	slater           float64    // δ, 0 where it is not given
}

func newCKB(c Context, s Settings) ckb {
	a := ckb{widths: newWidths(c, s), bound: s.Value("objective_bound", ""), bounds: s.each("constraint_bound", c.Constraints), cap: s.each("multiplier_cap", c.Constraints),
		slack: s.each("slack", c.Constraints), slater: s.Value("slater", "")}
	for _, name := range c.Constraints {
		step, planned := s.Number("step", name)
		if !planned {
			step = publishedStep(c, s, name)
		}
		a.step = append(a.step, step)
	}
	if s.Flag("truncate") {
		a.cuts = lists.Map(append([]float64{a.bound}, a.bounds...), plusMinus)
	}
	return a
}

func (a ckb) Traits() Traits {
	return Traits{RisesWithUncertainty: true, MovesByEstimate: true, Slopes: a.slopes, Ceiling: a.ceiling, Bound: a.violationBound, RegretBound: a.regretBound}
}

func (a ckb) Start() []float64 { return make([]float64, len(a.bounds)) }

// lagrangian is f̄ − Σ_j φ_j ḡ_j for bounds of these widths.
func (a ckb) lagrangian(s *Input, widths []float64) bands {
	return bands{widths, s.Multipliers, a.cuts}
}

func (a ckb) Score(s *Input) (Scores, error) {
	l := a.lagrangian(s, s.Beta)
	return l.truncated(l.edges(s)), nil
}

func (a ckb) slopes(s *Input) Slopes { return a.lagrangian(s, s.Beta).slopes(s) }

func (a ckb) Estimates(s *Input, i int) []float64 { return a.lagrangian(s, s.Beta).at(s, i) }

func (a ckb) ceiling(cost int) float64 { return a.cap[cost] }

func (a ckb) Step(phi []float64, r *Revealed) []float64 {
	return r.moved(phi, func(j int, phi float64) float64 { return clip(phi+(r.Own[j]+a.slack[j])/a.step[j], 0, a.cap[j]) })
}

// violationBound bounds the soft violation [Σ_s g_j(x_s)]⁺ over suggested rounds s = 1..n. The
// proof of Zhou and Ji's Theorem 1, written for several constraints and with the slack, gives
//
//	χ_n = Σ_s 2β^f σ^f(x_s) + Σ_k [ρ_k Σ_s 2β^{g_k} σ^{g_k}(x_s) + V_k ρ_k²/2 + n(G_k + ε_k)²/(2V_k)],
//	[Σ_s g_j(x_s)]⁺ ≤ [2χ_n/ρ_j − n ε_j]⁺   if ρ_j ≥ 4B/δ,
//
// with the widths and deviations of the decisions themselves, thus with γ as realised.
func (a ckb) violationBound(j int, rounds []RoundSummary) []float64 {
	n, deviations := 0.0, 0.0
	return afterEach(rounds, func(_ int, r RoundSummary) float64 {
		if r.Suggested {
			n++
			deviations += 2 * r.Beta[0] * r.SD[0]
			for k, rho := range a.cap {
				deviations += rho * 2 * r.Beta[1+k] * r.SD[1+k]
			}
		}
		chi := deviations
		for k, rho := range a.cap {
			estimate := a.bounds[k] + a.slack[k]
			chi += a.step[k]*rho*rho/2 + n*estimate*estimate/(2*a.step[k])
		}
		return r.Scale[1+j] * positive(2*chi/a.cap[j]-n*a.slack[j])
	})
}

// regretBound bounds regret behind the best mixture of settings, R_+ of Zhou and Ji, over suggested
// rounds s = 1..n. Their (12) at φ = 0 with T1 ≤ 0 and T2 ≤ Σ_s 2β^f σ^f(x_s), written for several
// constraints and with the slack, whose price is that of their Claim 1:
//
//	R_+(n) ≤ Σ_s 2β^f σ^f(x_s) + n Σ_k (G_k + ε_k)²/(2V_k) + 2Bn max_k ε_k/δ.
//
// Where no δ is given the last term is left out: the mixture then is the best of those that keep
// the slack. The drift of a virtual queue (their appendix F, terms 1 to 4) comes to the same.
func (a ckb) regretBound(rounds []RoundSummary) []float64 {
	perRound := 0.0
	for k := range a.cap {
		estimate := a.bounds[k] + a.slack[k]
		perRound += estimate * estimate / (2 * a.step[k])
	}
	if a.slater > 0 && len(a.slack) > 0 {
		perRound += 2 * a.bound * slices.Max(a.slack) / a.slater
	}
	return cumulative(0, rounds, func(_ int, r RoundSummary) float64 { return r.bandWidth(0) + perRound })
}

// slater is Slater's condition with the cap on the multiplier that goes with it. With slack the
// proof works on g + ε, so that δ − ε stands for δ.
var slater = Assumption{
	"Some mixture of settings keeps every limit by δ, with the margin that is kept (Slater’s condition), and the cap on the multiplier is large enough for it: ρ ≥ 4B/(δ − ε).",
	func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		delta, given := c.Settings.Number("slater", "")
		if !given {
			return unknown("no δ is given, so nothing shows whether ρ is large enough")
		}
		norm := math.Max(a.bound, a.of[0].B)
		for j, rho := range a.cap {
			if a.slack[j] >= delta {
				return notMet("the slack %s of %s leaves nothing of δ = %s", short(a.slack[j]), c.Constraints[j], short(delta))
			}
			if least := 4 * norm / (delta - a.slack[j]); rho < least*(1-1e-9) {
				return notMet("ρ of %s is %s; with B = %s and δ = %s it must be at least %s", c.Constraints[j], short(rho), short(norm), short(delta), short(least))
			}
		}
		return unknown("δ is set to %s; readings cannot prove that some settings keep it", short(delta))
	}}

// slackPaid is what Claim 1 of Zhou and Ji needs: a slack ε costs at most 2Bε/δ a round.
var slackPaid = Assumption{
	"Some mixture of settings can keep the slack ε (ε ≤ δ). Regret is bounded from the best that keeps it, which is at most 2Bε/δ a round behind the best of all.",
	func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		for j, slack := range a.slack {
			switch {
			case slack == 0:
			case a.slater == 0:
				return notMet("no δ is given, which would say what the slack %s of %s costs; so regret is counted from the best that keeps the slack", short(slack), c.Constraints[j])
			case slack > a.slater:
				return notMet("the slack %s of %s is larger than δ = %s", short(slack), c.Constraints[j], short(a.slater))
			}
		}
		if slices.Max(append(a.slack, 0)) == 0 {
			return met("there is no slack")
		}
		return unknown("δ is set to %s; readings cannot prove that some settings keep it", short(a.slater))
	}}

// cutWide is the assumption that estimates are cut no closer than the functions reach.
var cutWide = Assumption{
	"Estimates are cut at ±B and ±G, and no response goes beyond: |f| ≤ B, |g| ≤ G.",
	func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		if a.cuts == nil {
			return notMet("estimates are not cut")
		}
		for j, g := range a.bounds {
			if norm := a.of[1+j].B; a.of[1+j].Schedule != "theory" || norm > g {
				return unknown("G of %s is %s; readings cannot prove that nothing goes beyond", c.Constraints[j], short(g))
			}
		}
		if a.of[0].Schedule != "theory" || a.of[0].B > a.bound {
			return unknown("B is %s; readings cannot prove that nothing goes beyond", short(a.bound))
		}
		return met("they are cut no closer than the norms that are assumed")
	}}
