package policy

var penaltyNoiseless = Description{
	Name: "penalty-noiseless", Title: "Growing penalties, constraints read without noise",
	Source:   penaltySource + ", Algorithm 2",
	Feedback: "noisy readings of the objective, exact readings of the constraints",
	Summary:  "When the constraints are read exactly: one model of the penalised objective, the penalty growing from epoch to epoch.",
	Settings: penaltySettings(
		Setting{Name: "psi", Type: Form, Default: Psi{Form: "exponential", Rate: 1}, Meaning: "ψ: e^{rate·c} or (rate·c + 1)^power for a cost c above its limit, 1 within it"},
		Setting{Name: "acquisition", Type: Text, Default: upperBounds, Once: upperBounds, Choices: []string{upperBounds, thompsonSampling},
			Meaning: "how a trial within an epoch is chosen: ucb, by the optimistic bound of the penalised response; thompson, by a random draw of it"},
		Setting{Name: "kappa_max", Type: Number, Default: 1e6, Low: limit(1), High: limit(1e12), Meaning: "largest multiplier"}),
	build: func(c Context, s Settings) Policy {
		return noiseless{newEpochs(c, s), s.Psi(), s.Value("kappa_max", ""), s.Text("acquisition") == thompsonSampling}
	},
}

// noiseless regresses F = r − Σ_j κ_j (ψ(c_j) − 1); κ_j = 1 at first and κ_j ← min(κ_j ψ(mean of c_j over the epoch), κ_max);
// theory β_t = B + R√(2(γ_t + 1 + ln(L/p))). Within an epoch F is maximised by IGP-UCB or, as Remark 1 of Shi
// and Eryilmaz allows, by GP-TS (Chowdhury and Gopalan, 2017): F_t ~ GP(μ, β²k_t), with ln(2L/p) in the width.
type noiseless struct {
	epochs
	psi     Psi
	max     float64
	samples bool
}

func (a noiseless) Traits() Traits {
	t := a.epochs.Traits()
	t.Response, t.Ceiling = a.respond, func(int) float64 { return a.max }
	if a.samples {
		t.LooksAtAll, t.RisesWithUncertainty, t.Drawn = true, false, a.drawn
	}
	return t
}

func (a noiseless) Score(s *Input) (Scores, error) {
	if !a.samples {
		return a.epochs.Score(s)
	}
	drawn, err := a.sample(s)
	if err != nil {
		return Scores{}, err
	}
	return Scores{Value: drawn[0], Reason: Sample}, nil
}

// sample draws F over all places, the reward's response; nothing is drawn of the costs.
func (a noiseless) sample(s *Input) ([][]float64, error) {
	of := make([]bool, 1+a.costs)
	of[0] = true
	return drawFunctions(s, s.Beta, nil, of)
}

// drawn is (F_t − μ)/σ at place i, and 0 for each cost.
func (a noiseless) drawn(s *Input, i int) ([]float64, error) {
	drawn, err := a.sample(s)
	if err != nil {
		return nil, err
	}
	return standardised(s, drawn, i, i), nil
}

// Estimates is what F_t was taken for.
func (a noiseless) Estimates(s *Input, i int) []float64 {
	if !a.samples {
		return a.epochs.Estimates(s, i)
	}
	return drawnAt(s, s.Draw.Z[:1], i)
}

func (a noiseless) Start() []float64 { return filled(a.costs, 1) }

func (a noiseless) Beta(w Width) []float64 {
	if a.samples {
		return a.width(w, 1, 2*a.count)
	}
	return a.width(w, 1, a.count)
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
