package policy

var igpUCB = Description{
	Name: "igp-ucb", Title: "Upper confidence bound without constraints",
	Source:   "Chowdhury, Gopalan: On Kernelized Multi-armed Bandits, 2017",
	Feedback: "noisy readings of the objective; constraints are recorded and ignored",
	Summary:  "The unconstrained reference: shows what the limits cost.",
	Settings: settings(betaSetting),
	Heedless: true,
	Build:    func(c Context, s Settings) Policy { return igp{objectiveWidth(c, s)} },
}

// igp is x_t = argmax μ + βσ with theory β_t = B + R√(2(γ_t + 1 + ln(1/p))).
type igp struct{ widths }

func (igp) Traits() Traits                 { return Traits{RisesWithUncertainty: true, Slopes: upperSlopes} }
func (a igp) Beta(w WidthInput) []float64  { return a.improved(w, 1, 1) }
func (igp) Score(s *Input) (Scores, error) { return upperScores(s), nil }
