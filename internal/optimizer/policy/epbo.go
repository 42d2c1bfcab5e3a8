package policy

var epbo = Description{
	Name: "epbo", Title: "Exact penalty with a fixed price",
	Source:   "Lu, Paulson: No-Regret Bayesian Optimization with Unknown Equality and Inequality Constraints using Exact Penalty Functions, 2022",
	Feedback: rpolUCB.Feedback,
	Summary:  "A comparison: like rectified learning, but the price of violation is a number you have to know.",
	Settings: settings(betaSetting,
		Setting{Name: "penalty", Type: Number, Default: 1.0, Low: new(0.0), Meaning: "ρ: the price of optimistic violation"}),
	Build: func(c Context, s Settings) Policy {
		return exactPenalty{newWidths(c, s), s.Value("penalty", "")}
	},
}

// exactPenalty is x_t = argmax u_f − ρ Σ_j [l_{g_j}]⁺, u = μ+βσ and l = μ−βσ.
type exactPenalty struct {
	widths
	penalty float64 // ρ
}

func (a exactPenalty) Traits() Traits { return Traits{RisesWithUncertainty: true, Slopes: a.slopes} }

func (a exactPenalty) acquisition(s *Input) bands {
	return bands{s.Beta, filled(len(s.Costs), a.penalty), rectified(len(s.Costs))}
}

func (a exactPenalty) Score(s *Input) (Scores, error) { return a.acquisition(s).scores(s), nil }

func (a exactPenalty) slopes(s *Input) Slopes { return a.acquisition(s).slopes(s) }
