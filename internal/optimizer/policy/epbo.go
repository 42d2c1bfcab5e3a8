package policy

var epbo = Description{
	Name: "epbo", Title: "Exact penalty with a fixed price",
	Source:   "Lu, Paulson: No-Regret Bayesian Optimization with Unknown Equality and Inequality Constraints using Exact Penalty Functions, 2022",
	Feedback: rpolUCB.Feedback,
	Summary:  "A comparison: like rectified learning, but the price of violation is a number you have to know.",
	Settings: settings(betaSetting,
		Setting{Name: "penalty", Type: Number, Default: 1.0, Low: limit(0), Meaning: "ρ: the price of optimistic violation"}),
	build: func(c Context, s Settings) Policy {
		return exactPenalty{widths: newWidths(c, s), penalty: s.Value("penalty", "")}
	},
}

// exactPenalty is x_t = argmax u_f − ρ Σ_j [l_{g_j}]⁺, u = μ+βσ and l = μ−βσ.
type exactPenalty struct {
	unpriced
	widths
	penalty float64
}

func (a exactPenalty) Traits() Traits { return Traits{RisesWithUncertainty: true, Slopes: a.slopes} }

func (a exactPenalty) prices(s *Input) []float64 { return filled(len(s.Costs), a.penalty) }

func (a exactPenalty) Score(s *Input) (Scores, error) { return rectified(s, a.prices(s)), nil }

func (a exactPenalty) slopes(s *Input) Slopes { return rectifiedSlopes(s, a.prices(s)) }

func (exactPenalty) Estimates(s *Input, i int) []float64 { return optimistic(s, i) }
