package policy

import "strings"

var penaltyNoiseless = Description{
	Name: "penalty-noiseless", Title: "Growing penalties, constraints read without noise",
	Source:   penaltySource + ", Algorithm 2",
	Feedback: "noisy readings of the objective, exact readings of the constraints",
	Summary:  "When the constraints are read exactly: one model of the penalised objective, the penalty growing from epoch to epoch.",
	Settings: penaltySettings(
		Setting{Name: "psi", Type: Form, Default: Psi{Form: "exponential", Rate: 1}, Meaning: "ψ: e^{rate·c} or (rate·c + 1)^power for a cost c above its limit, 1 within it"},
		Setting{Name: "kappa_max", Type: Number, Default: 1e6, Low: limit(1), High: limit(1e12), Meaning: "largest multiplier"}),
	Theorem: &Theorem{Name: "Theorem 1", Paper: penaltyPaper, Year: 2022, Soft: true,
		Bounds: penaltySum + "Sψ₊⁻¹(1 + Σ_s (2B + 2βσ(x_s))/S) with the β and σ of the decisions themselves, with probability 1 − p",
		Regret: penaltyRegret + "Σ_s 2βσ(x_s) with the β and σ of the decisions themselves, with probability 1 − p",
		Assumptions: penalised("B + R√(2(γ_t + 1 + ln(L/p)))",
			exactLimits, boundedGap, uncapped)},
	build: func(c Context, s Settings) Policy {
		return noiseless{newEpochs(c, s), s.Psi(), s.Value("kappa_max", "")}
	},
}

// noiseless regresses F = r − Σ_j κ_j (ψ(c_j) − 1); κ_j = 1 at first and κ_j ← min(κ_j ψ(mean of c_j over the epoch), κ_max);
// theory β_t = B + R√(2(γ_t + 1 + ln(L/p))).
type noiseless struct {
	epochs
	psi Psi
	max float64
}

func (a noiseless) Traits() Traits {
	t := a.epochs.Traits()
	t.Response, t.Ceiling = a.respond, func(int) float64 { return a.max }
	t.Bound, t.RegretBound = a.violationBound, a.regretBound
	return t
}

func (a noiseless) Start() []float64 { return filled(a.costs, 1) }

func (a noiseless) Beta(w Width) []float64 { return a.width(w, 1, a.count) }

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
func (a noiseless) regretBound(rounds []Footstep) []float64 {
	return summed(rounds, func(r Footstep) float64 { return r.spread(0) })
}

// violationBound is (22) with Δ = f(x**) − f(x*) ≤ 2B: by convexity (18), κ's growth (19) and
// ψ(x)ψ(y) ≥ ψ(x+y) (20) the penalties of (17) are at least S(ψ(Σ_s g_j(x_s)/S) − 1), so
//
//	[Σ_s g_j(x_s)]⁺ ≤ S ψ₊⁻¹(1 + Σ_s (2B + 2βσ(x_s))/S).
//
// After part of an epoch that is as if the rest of its rounds were at the limit, where ψ = 1. A
// schedule that states no B has β in its place.
func (a noiseless) violationBound(j int, rounds []Footstep) []float64 {
	out := make([]float64, len(rounds))
	length, sum := float64(a.length), 0.0
	for i, r := range rounds {
		if r.Suggested {
			sum += 2*a.schedule.of[0].norm(r.Beta[0]) + r.spread(0)
		}
		out[i] = r.Scale[1+j] * length * a.psi.Inverse(1+sum/length)
	}
	return out
}

// exactLimits is that constraints are read without noise.
var exactLimits = Assumption{
	Text: "Constraints are read without noise.",
	judge: func(c Circumstances) Finding {
		if reread := c.Reread(); len(reread) > 0 {
			return notMet("the same settings were read differently: %s", strings.Join(reread, ", "))
		}
		return unknown("no settings were read differently, which proves nothing of others")
	}}

// boundedGap is what the figure puts for the theorem's Δ.
var boundedGap = Assumption{
	Text: "The objective stays within ±B, so that the best settings of all are better by 2B at most than the best within every limit (the theorem itself asks only that this be finite).",
	judge: func(c Circumstances) Finding {
		b := c.Settings.BetaFor(c.Metrics[0])
		if b.Schedule != "theory" {
			return notMet("no B is given for %s", c.Metrics[0])
		}
		return unknown("B is set to %s; readings cannot prove that the objective goes no further", short(b.B))
	}}

// uncapped is that kappa_max, which is not the paper's, has changed nothing.
var uncapped = Assumption{
	Text: "Multipliers grow without a largest value.",
	judge: func(c Circumstances) Finding {
		if len(c.Capped) > 0 {
			return notMet("that of %s has reached kappa_max", strings.Join(c.Capped, ", "))
		}
		return met("none has reached kappa_max")
	}}
