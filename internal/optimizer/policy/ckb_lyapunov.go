package policy

import "gonum.org/v1/gonum/floats"

var ckbLyapunov = Description{
	Name: "ckb-lyapunov", Title: "Primal-dual with virtual queues",
	Source:   ckbUCB.Source + ", appendix on the Lyapunov-drift method",
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual whose price of violation has no ceiling: use it when no cap on the multiplier can be justified.",
	Beware:   keepsTheSum,
	Settings: lyapunovSettings(),
	Theorem: &Theorem{Name: "Appendix F, by the growth of the virtual queue", Paper: primalDualPaper, Year: 2022,
		Bounds: "the soft violation [Σ_s g(x_s)]⁺ of each limit, in which distance kept offsets excess, by [Q_n + G + ε + Σ_s 2β^g σ^g(x_s) − nε]⁺ over n rounds, with probability 1 − p",
		Assumptions: []Assumption{boundedNorm, unitKernel, subGaussian, cutWide, givenKernel, fixedUnits, theoryWidths(improvedWidth), regulariser, withinHorizon,
			stationary, unchanged, prompt, uncorrected, everyRoundByRule},
		Soft: true, Regret: primalDualRegret, ForRegret: []Assumption{slackPaid, exactMaximum}},
	check: ckbCheck,
	Build: phased(func(c Context, s Settings) Policy { return lyapunov{newCKB(c, s)} }),
}

// lyapunovSettings says what ρ and V mean without a cap.
func lyapunovSettings() []Setting {
	list := ckbWith()
	for i := range list {
		switch list[i].Name {
		case "multiplier_cap":
			list[i].Meaning = "ρ: only sets the default of V; the queue has no cap"
		case "step":
			list[i].Meaning = "V: the queue is divided by V to price a constraint"
		}
	}
	return list
}

// lyapunov is ckb with a virtual queue in place of the capped multiplier:
//
//	x_t = argmax f̄ − Σ_j (Q_j/V_j) ḡ_j,   Q_j ← [Q_j + ḡ_j(x_t) + ε_j]⁺,   Q_j = 0 at first.
type lyapunov struct{ ckb }

func (a lyapunov) Score(s *Input) (Scores, error) { return a.ckb.Score(a.priced(s)) }

func (a lyapunov) slopes(s *Input) Slopes { return a.ckb.slopes(a.priced(s)) }

// priced has Q/V for multipliers.
func (a lyapunov) priced(s *Input) *Input {
	priced := *s
	priced.Multipliers = floats.DivTo(make([]float64, len(s.Multipliers)), s.Multipliers, a.step)
	return &priced
}

// Traits: the queue has no ceiling.
func (a lyapunov) Traits() Traits {
	t := a.ckb.Traits()
	t.Ceiling, t.Bound, t.Slopes = nil, a.violationBound, a.slopes
	return t
}

func (a lyapunov) Step(queue []float64, r *Revealed) []float64 {
	return r.moved(queue, func(j int, queue float64) float64 { return positive(queue + r.Own[j] + a.slack[j]) })
}

// violationBound follows from the queue itself: Q_{n+1} ≥ Σ_s (ḡ_j(x_s) + ε_j) and g − ḡ ≤ 2βσ, so
// over the rounds s = 1..n
//
//	[Σ_s g_j(x_s)]⁺ ≤ [Q_{j,n} + G_j + ε_j + Σ_s 2β^{g_j} σ^{g_j}(x_s) − n ε_j]⁺,
//
// Q_{j,n} + G_j + ε_j standing for Q_{j,n+1}, which it exceeds.
func (a lyapunov) violationBound(j int, rounds []RoundSummary) []float64 {
	n, deviations := 0.0, 0.0
	return afterEach(rounds, func(_ int, r RoundSummary) float64 {
		if r.Suggested {
			n++
			deviations += 2 * r.Beta[1+j] * r.SD[1+j]
		}
		return r.Scale[1+j] * positive(r.Multipliers[j]+a.bounds[j]+a.slack[j]+deviations-n*a.slack[j])
	})
}
