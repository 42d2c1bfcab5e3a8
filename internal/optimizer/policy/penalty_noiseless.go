package policy

var penaltyNoiseless = Description{
	Name: "penalty-noiseless", Title: "Growing penalties, constraints read without noise",
	Source:   penaltySource + ", Algorithm 2",
	Feedback: "noisy readings of the objective, exact readings of the constraints",
	Summary:  "When the constraints are read exactly: one model of the penalised objective, the penalty growing from epoch to epoch.",
	Settings: penaltySettings(
		Setting{Name: "psi", Type: Form, Default: Psi{Form: "exponential", Rate: 1}, Meaning: "ψ: e^{rate·c} or (rate·c + 1)^power for a cost c above its limit, 1 within it"},
		Setting{Name: "kappa_max", Type: Number, Default: 1e6, Low: limit(1), High: limit(1e12), Meaning: "largest multiplier"}),
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
