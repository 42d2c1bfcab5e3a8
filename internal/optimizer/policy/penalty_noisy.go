package policy

import (
	"math"
	"slices"
)

var penaltyNoisy = Description{
	Name: "penalty-noisy", Title: "Moving penalties, constraints read with noise",
	Source:   penaltySource + ", Algorithm 3",
	Feedback: "noisy readings of the objective and of every constraint",
	Summary:  "One model of the objective less its priced costs, the price moving from epoch to epoch: for many constraints and cheap computation.",
	Settings: penaltySettings(
		Setting{Name: "step", Type: Number, Per: PerConstraint, Low: new(0.0), LowExclusive: true, DefaultMeans: "1/√L, L the number of epochs",
			workOut: func(c Context, s Settings, _ string) (float64, bool) {
				return 1 / math.Sqrt(newEpochs(c, s).count), true
			},
			Meaning: "μ: how far the mean cost of an epoch moves the multiplier"}),
	Theorem: &Theorem{Name: "Theorem 2", Paper: penaltyPaper, Year: 2022, Soft: true,
		Bounds: penaltySum + "Sκ_l/μ + Σ_s c(x_s) + lN in epoch l, with its κ, the readings c of its rounds so far, and N = 2R(√(4mS) + √(S ln(2L/p))), with probability 1 − p",
		Regret: penaltyRegret + "Σ_s [2βσ(x_s) − Σ_j κ_j c_j(x_s)] + Σ_l ‖κ_l‖N with the β, σ, κ and readings c of the rounds themselves and N = 2R(√(4mS) + √(S ln(2L/p))), with probability 1 − p",
		Assumptions: penalised("B + R√(1 + Σκ²)·√(2(γ_t + 1 + ln(2L/p)))",
			alikeNoise, boundedResponses, wideSlater)},
	Build: func(c Context, s Settings) Policy {
		return noisy{newEpochs(c, s), s.each("step", c.Constraints)}
	},
}

// noisy regresses F = r − Σ_j κ_j c_j; κ_j = 0 at first and κ_j ← [κ_j + μ_j·(mean of c_j over the
// epoch)]⁺; theory β_t = B + R√(1 + Σ_j κ_j²)·√(2(γ_t + 1 + ln(2L/p))).
type noisy struct {
	epochs
	step []float64 // μ per cost
}

func (a noisy) Traits() Traits {
	t := a.epochs.Traits()
	t.Response, t.Bound, t.RegretBound = a.respond, a.violationBound, a.regretBound
	return t
}

func (a noisy) Start() []float64 { return make([]float64, a.costs) }

func (a noisy) Beta(w WidthInput) []float64 {
	squares := 1.0
	for _, k := range w.Multipliers {
		squares += k * k
	}
	return a.improved(w, math.Sqrt(squares), 2*a.count)
}

func (noisy) respond(reward float64, costs, kappa []float64) float64 {
	for j, c := range costs {
		reward -= kappa[j] * c
	}
	return reward
}

func (a noisy) Step(kappa []float64, r *Revealed) []float64 {
	return a.epochs.step(kappa, r, func(j int, k, mean float64) float64 { return positive(k + a.step[j]*mean) })
}

// allowance is N = 2R(√(4mS) + √(S ln(2L/p))), a bound of the noise in one epoch's costs: the event
// G_l in Shi and Eryilmaz's proof of Theorem 2, in which √(Σ_j (Σ_s ε_{j,s})²) ≤ N. By Doob's
// inequality it also holds for a part of the epoch. False for a schedule without R.
func (a noisy) allowance() (float64, bool) {
	b, length := a.of[0], float64(a.length)
	return 2 * b.R * (math.Sqrt(4*float64(a.costs)*length) + math.Sqrt(length*math.Log(2*a.count/b.P))), b.Schedule == "theory"
}

// regretBound is (25) with Σ_s 2βσ(x_s) for its right-hand side, over all epochs, and with c = g +
// ε for g, where Σ_s Σ_j κ_j ε_{j,s} ≤ ‖κ‖N by G_l:
//
//	Σ_s [f(x*) − f(x_s)] ≤ Σ_s [2βσ(x_s) − Σ_j κ_j c_j(x_s)] + Σ_l ‖κ_l‖N.
//
// The proof bounds −Σ_s Σ_j κ_j c_j(x_s) further, by (28). Rounds that wait for a reading do not
// count.
func (a noisy) regretBound(rounds []RoundSummary) []float64 {
	noise, known := a.allowance()
	if !known {
		return nil
	}
	epoch := 0
	return cumulative(0, rounds, func(i int, r RoundSummary) float64 {
		if !r.complete() {
			return 0
		}
		term, squares := r.bandWidth(0), 0.0
		for j, kappa := range r.Multipliers {
			term -= kappa * r.Costs[j]
			squares += kappa * kappa
		}
		if start := epochStart(i+1, a.length); start != epoch {
			epoch, term = start, term+math.Sqrt(squares)*noise
		}
		return term
	})
}

// violationBound is (27) for one constraint: κ_{l+1} ≥ κ_l + μ Σ_s c(x_s)/S over the S rounds of
// epoch l, and κ_1 = 0, so in epoch l, with c = g + ε and G of each epoch,
//
//	[Σ_s g_j(x_s)]⁺ ≤ [S κ_{j,l}/μ_j + Σ_{s in l} c_j(x_s) + lN]⁺.
func (a noisy) violationBound(j int, rounds []RoundSummary) []float64 {
	noise, known := a.allowance()
	if !known {
		return nil
	}
	sum, length := 0.0, float64(a.length)
	return afterEach(rounds, func(i int, r RoundSummary) float64 {
		begun := i / a.length // epochs before that of round i+1
		if i%a.length == 0 {
			sum = 0
		}
		if r.Suggested && !math.IsNaN(r.Costs[j]) {
			sum += r.Costs[j]
		}
		return r.Scale[1+j] * positive(length*r.Multipliers[j]/a.step[j]+sum+float64(1+begun)*noise)
	})
}

// alikeNoise is Assumption 4.
var alikeNoise = Assumption{
	"The noise of the constraints’ readings is as that of the objective’s, with the same R.",
	func(c Circumstances) Finding {
		for _, metric := range c.Uneven {
			if slices.Contains(c.CostMetrics, metric) {
				return notMet("repeated settings show that the noise of %s differs from one to another", metric)
			}
		}
		return unknown("readings can contradict that, not prove it")
	}}

// boundedResponses is Assumption 6.
var boundedResponses = Assumption{
	"Objective and constraints are bounded (by constants Q and M that the figures do not need).",
	func(Circumstances) Finding { return unknown("no number of readings can show it") }}

// wideSlater is Assumption 7 with what Theorem 2 asks of its ε.
var wideSlater = Assumption{
	"Some settings keep every limit by ε > 4R√(2γ_S + 2 + 2 ln(2L/p))·√((S+2)γ_S)/S + 2R(√(4m/S) + √(ln(2L/p)/S)), which keeps κ bounded (the figures have the κ themselves).",
	func(c Circumstances) Finding {
		b, a := c.Settings.BetaFor(c.Metrics[0]), newEpochs(c.Context, c.Settings)
		if b.Schedule != "theory" {
			return unknown("no R is given, which would say how much it is")
		}
		noise, _ := noisy{epochs: a}.allowance()
		return unknown("the last term alone is %s; readings cannot prove that some settings keep as much", short(noise/float64(a.length)))
	}}
