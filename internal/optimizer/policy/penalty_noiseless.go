package policy

import "strings"

var penaltyNoiseless = Description{
	Name: "penalty-noiseless", Title: "Growing penalties, constraints read without noise",
	Source:   penaltySource + ", Algorithm 2",
	Feedback: "noisy readings of the objective, exact readings of the constraints",
	Summary:  "When the constraints are read exactly: one model of the penalised objective, the penalty growing from epoch to epoch.",
	Settings: penaltySettings(
		Setting{Name: "psi", Type: Form, Default: Psi{Form: "exponential", Rate: 1}, Meaning: "ψ: e^{rate·c} or (rate·c + 1)^power for a cost c above its limit, 1 within it"},
		Setting{Name: "acquisition", Type: Text, Default: upperBounds, Choices: []string{upperBounds, thompsonSampling},
			Meaning: "how a trial within an epoch is chosen: ucb, by the optimistic bound of the penalised response; thompson, by a random draw of it"},
		Setting{Name: "kappa_max", Type: Number, Default: 1e6, Low: new(1.0), High: new(1e12), Meaning: "largest multiplier"}),
	Theorem: &Theorem{Name: "Theorem 1", Paper: penaltyPaper, Year: 2022, Soft: true,
		Bounds: penaltySum + "Sψ₊⁻¹(1 + Σ_s (2B + 2βσ(x_s))/S) with the β and σ of the decisions themselves, with probability 1 − p",
		Regret: penaltyRegret + "Σ_s 2βσ(x_s) with the β and σ of the decisions themselves, with probability 1 − p",
		Assumptions: penalised("B + R√(2(γ_t + 1 + ln(L/p)))",
			exactLimits, boundedGap, uncapped, optimisticEpochs)},
	Build: func(c Context, s Settings) Policy {
		psi, _ := settingOf[Psi](s, "psi", "")
		return noiseless{newEpochs(c, s), psi, s.Value("kappa_max", ""), s.Text("acquisition") == thompsonSampling}
	},
}

// noiseless regresses F = r − Σ_j κ_j (ψ(c_j) − 1); κ_j = 1 at first and κ_j ← min(κ_j ψ(mean of
// c_j over the epoch), κ_max); theory β_t = B + R√(2(γ_t + 1 + ln(L/p))). Within an epoch F is
// maximised by IGP-UCB or, as Remark 1 of Shi and Eryilmaz allows, by GP-TS (Chowdhury and Gopalan,
// 2017): F_t ~ GP(μ, β²k_t), with ln(2L/p) in the width.
type noiseless struct {
	epochs
	psi     Psi
	max     float64
	samples bool
}

func (a noiseless) Traits() Traits {
	t := a.epochs.Traits()
	t.Response, t.Ceiling = a.respond, func(int) float64 { return a.max }
	t.Bound, t.RegretBound = a.violationBound, a.regretBound
	if a.samples {
		t.NeedsSet, t.RisesWithUncertainty, t.Slopes = true, false, nil
		t.Functions, t.Drawn = a.functions, standardised
	}
	return t
}

func (a noiseless) Score(s *Input) (Scores, error) {
	if !a.samples {
		return a.epochs.Score(s)
	}
	f := s.Functions[0]
	if f == nil { // of a width of 0
		f = s.Reward.Mean
	}
	return Scores{Value: f, Reason: Sample}, nil
}

// functions draws F, the response of the reward; the costs are not drawn.
func (a noiseless) functions(s *Input) []float64 {
	widths := make([]float64, 1+a.costs)
	widths[0] = s.Beta[0]
	return widths
}

// Estimates is the F_t that was maximised.
func (a noiseless) Estimates(s *Input, i int) []float64 {
	if !a.samples {
		return a.epochs.Estimates(s, i)
	}
	return s.at(i, s.Draw.Z[:1])
}

func (a noiseless) Start() []float64 { return filled(a.costs, 1) }

func (a noiseless) Beta(w WidthInput) []float64 {
	if a.samples {
		return a.improved(w, 1, 2*a.count)
	}
	return a.improved(w, 1, a.count)
}

func (a noiseless) respond(reward float64, costs, kappa []float64) float64 {
	for j, c := range costs {
		reward -= kappa[j] * (a.psi.At(c) - 1)
	}
	return reward
}

func (a noiseless) Step(kappa []float64, r *Revealed) []float64 {
	return a.step(kappa, r, func(_ int, k, mean float64) float64 { return min(k*a.psi.At(mean), a.max) })
}

// regretBound is (17) of Shi and Eryilmaz with the penalties, which are not negative, left out, and
// with Σ_s 2βσ(x_s) for what their Lemma 1 says of it:
//
//	Σ_s [f(x*) − f(x_s) + Σ_j κ_j (ψ(g_j(x_s)) − 1)] ≤ Σ_s 2βσ(x_s).
func (a noiseless) regretBound(rounds []RoundSummary) []float64 {
	return cumulative(0, rounds, func(_ int, r RoundSummary) float64 { return r.bandWidth(0) })
}

// violationBound is (22) with Δ = f(x**) − f(x*) ≤ 2B: by convexity (18), κ's growth (19) and
// ψ(x)ψ(y) ≥ ψ(x+y) (20) the penalties of (17) are at least S(ψ(Σ_s g_j(x_s)/S) − 1), so
//
//	[Σ_s g_j(x_s)]⁺ ≤ S ψ₊⁻¹(1 + Σ_s (2B + 2βσ(x_s))/S).
//
// After part of an epoch that is as if the rest of its rounds were at the limit, where ψ = 1. A
// schedule that states no B has β in its place.
func (a noiseless) violationBound(j int, rounds []RoundSummary) []float64 {
	length, sum := float64(a.length), 0.0
	return afterEach(rounds, func(_ int, r RoundSummary) float64 {
		if r.Suggested {
			sum += 2*a.of[0].norm(r.Beta[0]) + r.bandWidth(0)
		}
		return r.Scale[1+j] * length * a.psi.Inverse(1+sum/length)
	})
}

// exactLimits is the assumption that constraints are read without noise.
var exactLimits = Assumption{
	"Constraints are read without noise.",
	func(c Circumstances) Finding {
		reread := c.Reread()
		return unknown("no settings were read differently, which proves nothing of others").
			unless(len(reread) > 0, "the same settings were read differently: %s", strings.Join(reread, ", "))
	}}

// boundedGap is the assumption behind the 2B that the figure has for the theorem's Δ.
var boundedGap = Assumption{
	"The objective stays within ±B, so that the best settings of all are better by 2B at most than the best within every limit (the theorem itself asks only that this be finite).",
	func(c Circumstances) Finding {
		b := c.Settings.BetaFor(c.Metrics[0])
		return unknown("B is set to %s; readings cannot prove that the objective goes no further", short(b.B)).
			unless(b.Schedule != "theory", "no B is given for %s", c.Metrics[0])
	}}

// uncapped is the assumption that kappa_max, which is not the paper's, has changed nothing.
var uncapped = Assumption{
	"Multipliers grow without a largest value.",
	func(c Circumstances) Finding {
		return met("none has reached kappa_max").
			unless(len(c.Capped) > 0, "that of %s has reached kappa_max", strings.Join(c.Capped, ", "))
	}}

// optimisticEpochs is the assumption that an epoch is IGP-UCB's.
var optimisticEpochs = Assumption{
	"Within an epoch each trial maximises the optimistic bound of the penalised response (IGP-UCB).",
	func(c Circumstances) Finding {
		return met("it does").unless(c.Settings.Text("acquisition") == thompsonSampling,
			"it maximises a random draw; Remark 1 says that a similar result holds, without its constants")
	}}
