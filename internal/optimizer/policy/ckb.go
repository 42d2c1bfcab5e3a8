package policy

import (
	"math"
	"slices"
)

var ckbSettings = []Setting{
	{Name: "objective_bound", Type: Number, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: objectiveNorm, Low: limit(0), LowExclusive: true, Meaning: "B: estimates of the objective are cut at ±B"},
	{Name: "constraint_bound", Type: Number, Per: PerConstraint, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: constraintNorm, Low: limit(0), LowExclusive: true, Meaning: "G: estimates of a constraint are cut at ±G"},
	{Name: "multiplier_cap", Type: Number, Per: PerConstraint, Low: limit(0), LowExclusive: true, DefaultMeans: "4B/δ when δ is given, otherwise 10", workOut: publishedCap, Meaning: "ρ: the largest multiplier"},
	{Name: "step", Type: Number, Per: PerConstraint, Low: limit(0), LowExclusive: true, DefaultMeans: "G√T/ρ, of each phase's T where the horizon doubles", workOut: plannedStep, Meaning: "V: the multiplier moves by the estimate divided by V"},
	{Name: "slack", Type: Number, Per: PerConstraint, Low: limit(0), DefaultMeans: "0.05 on standardised outputs without the paper preset, otherwise 0", workOut: practicalSlack, Meaning: "ε: added to the estimate when the multiplier moves; 0 < ε ≤ δ/2 buys bounded or zero violation"},
	{Name: "truncate", Type: Boolean, Default: true, Meaning: "whether estimates are cut at ±B and ±G"},
	{Name: "slater", Type: Number, Low: limit(0), LowExclusive: true, DefaultMeans: "not used", Meaning: "δ: some point keeps every constraint by at least this much"},
	horizonSetting,
}

const (
	boundOfWidth = "5; with the paper preset the B of the width that it belongs to"
	askedBound   = LeftToUser("the published algorithm cuts estimates at the B of their width: give a width with B, or this bound itself")
)

// objectiveNorm is the B of the objective's width, of one that states B and R.
func objectiveNorm(c Context, s Settings, _ string) (float64, bool) {
	b := s.BetaFor(c.Metrics[0])
	return b.B, b.Schedule == "theory"
}

// constraintNorm is that of a constraint which is learned.
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

// plannedStep is not used where each phase has a step of its own.
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
	if _, ok := s.Number("slater", ""); !c.Paper || ok {
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
	Theorem:  &Theorem{Name: "Theorem 1", Paper: primalDualPaper, Year: 2022, Bounds: primalDualSum, Soft: true, Regret: primalDualRegret, Assumptions: primalDual(), ForRegret: []Assumption{slackPaid}},
	check:    ckbCheck,
	build:    phased(func(c Context, s Settings) Policy { return newCKB(c, s) }),
}

// keepsTheSum is what a method does that competes with the best mixture of settings.
const keepsTheSum = "The algorithm may break a limit in many trials where mixing settings from both sides of it pays; the sum over all trials is what it keeps."

// primalDual is what Zhou and Ji's theorems assume, and more.
func primalDual(more ...Assumption) []Assumption {
	return append([]Assumption{
		boundedNorm, unitKernel, subGaussian, slater, cuts, givenKernel, fixedUnits, theoryWidths(improvedWidth), regulariser, withinHorizon,
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
	bound            float64   // B
	bounds           []float64 // G per cost
	cap, step, slack []float64 // ρ, V, ε per cost
	truncate         bool
	slater           float64 // δ, 0 where it is not given
}

func newCKB(c Context, s Settings) ckb {
	a := ckb{widths: newWidths(c, s), bound: s.Value("objective_bound", ""), truncate: s.Flag("truncate")}
	for _, name := range c.Constraints {
		a.bounds = append(a.bounds, s.Value("constraint_bound", name))
		a.cap = append(a.cap, s.Value("multiplier_cap", name))
		step, planned := s.Number("step", name)
		if !planned {
			step = publishedStep(c, s, name)
		}
		a.step = append(a.step, step)
		a.slack = append(a.slack, s.Value("slack", name))
	}
	a.slater, _ = s.Number("slater", "")
	return a
}

func (a ckb) Traits() Traits {
	return Traits{RisesWithUncertainty: true, MovesByEstimate: true, Slopes: a.slopes, Ceiling: a.ceiling, Bound: a.violationBound, RegretBound: a.regretBound}
}

func (a ckb) Start() []float64 { return make([]float64, len(a.bounds)) }

func (a ckb) Score(s *Input) (Scores, error) {
	return a.lagrangian(upper(s.Reward, s.Beta[0]), func(j int) []float64 { return lower(s.Costs[j], s.Beta[1+j]) }, s.Multipliers), nil
}

// lagrangian is f̄ − Σ_j φ_j ḡ_j, ties broken by the same without truncation.
func (a ckb) lagrangian(f []float64, g func(j int) []float64, phi []float64) Scores {
	scores := Scores{Value: make([]float64, len(f)), Untruncated: append([]float64(nil), f...), Reason: TradeOff}
	for i, v := range f {
		scores.Value[i] = a.cutReward(v)
	}
	for j := range a.bounds {
		for i, v := range g(j) {
			scores.Value[i] -= phi[j] * a.cutCost(j, v)
			scores.Untruncated[i] -= phi[j] * v
		}
	}
	return scores
}

func (a ckb) slopes(s *Input) Slopes { return a.lagrangianSlopes(s, s.Beta, s.Multipliers) }

// lagrangianSlopes are those of the lagrangian of μ + βσ and μ − βσ.
func (a ckb) lagrangianSlopes(s *Input, beta, phi []float64) Slopes {
	out := linear(s, beta[0])
	if a.truncate {
		out.Kinks = cut(0, s.Reward, beta[0], 1, a.bound)
	}
	for j, g := range s.Costs {
		for i := range g.Mean {
			out.Costs[j].Mean[i], out.Costs[j].SD[i] = -phi[j], phi[j]*beta[1+j]
		}
		if a.truncate {
			out.Kinks = append(out.Kinks, cut(1+j, g, -beta[1+j], -phi[j], a.bounds[j])...)
		}
	}
	return out
}

// cut are the kinks by which weight·clip(v, ±B), v = μ + βσ, differs from weight·v:
//
//	clip(v, ±B) = v − [v − B]⁺ + [−B − v]⁺.
func cut(target int, e Estimate, beta, weight, bound float64) []Kink {
	above, below := upper(e, beta), make([]float64, len(e.Mean))
	for i, v := range above {
		above[i], below[i] = v-bound, -bound-v
	}
	return []Kink{{target, weight, above, 1, beta}, {target, -weight, below, -1, -beta}}
}

func (a ckb) cutReward(v float64) float64 {
	if !a.truncate {
		return v
	}
	return clip(v, -a.bound, a.bound)
}

func (a ckb) cutCost(j int, v float64) float64 {
	if !a.truncate {
		return v
	}
	return clip(v, -a.bounds[j], a.bounds[j])
}

func (a ckb) Estimates(s *Input, i int) []float64 { return a.cut(optimistic(s, i)) }

func (a ckb) cut(v []float64) []float64 {
	v[0] = a.cutReward(v[0])
	for j := range a.bounds {
		v[1+j] = a.cutCost(j, v[1+j])
	}
	return v
}

func (a ckb) ceiling(cost int) float64 { return a.cap[cost] }

func (a ckb) Step(phi []float64, r *Revealed) []float64 {
	next := append([]float64(nil), phi...)
	if r.Excluded {
		return next
	}
	for j := range next {
		next[j] = clip(phi[j]+(r.Own[j]+a.slack[j])/a.step[j], 0, a.cap[j])
	}
	return next
}

// violationBound bounds the soft violation [Σ_s g_j(x_s)]⁺ over suggested rounds s = 1..n. The
// proof of Zhou and Ji's Theorem 1, written for several constraints and with the slack, gives
//
//	χ_n = Σ_s 2β^f σ^f(x_s) + Σ_k [ρ_k Σ_s 2β^{g_k} σ^{g_k}(x_s) + V_k ρ_k²/2 + n(G_k + ε_k)²/(2V_k)],
//	[Σ_s g_j(x_s)]⁺ ≤ [2χ_n/ρ_j − n ε_j]⁺   if ρ_j ≥ 4B/δ,
//
// with the widths and deviations of the decisions themselves, thus with γ as realised.
func (a ckb) violationBound(j int, rounds []Footstep) []float64 {
	out := make([]float64, len(rounds))
	n, deviations := 0.0, 0.0
	for i, r := range rounds {
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
		out[i] = r.Scale[1+j] * positive(2*chi/a.cap[j]-n*a.slack[j])
	}
	return out
}

// regretBound bounds regret behind the best mixture of settings, R_+ of Zhou and Ji, over suggested
// rounds s = 1..n. Their (12) at φ = 0 with T1 ≤ 0 and T2 ≤ Σ_s 2β^f σ^f(x_s), written for several
// constraints and with the slack, whose price is that of their Claim 1:
//
//	R_+(n) ≤ Σ_s 2β^f σ^f(x_s) + n Σ_k (G_k + ε_k)²/(2V_k) + 2Bn max_k ε_k/δ.
//
// Where no δ is given the last term is left out: the mixture then is the best of those that keep
// the slack. The drift of a virtual queue (their appendix F, terms 1 to 4) comes to the same.
func (a ckb) regretBound(rounds []Footstep) []float64 {
	perRound := 0.0
	for k := range a.cap {
		estimate := a.bounds[k] + a.slack[k]
		perRound += estimate * estimate / (2 * a.step[k])
	}
	if a.slater > 0 && len(a.slack) > 0 {
		perRound += 2 * a.bound * slices.Max(a.slack) / a.slater
	}
	return summed(rounds, func(r Footstep) float64 { return r.spread(0) + perRound })
}
