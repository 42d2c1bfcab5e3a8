package policy

import "math"

var penaltyNoisy = Description{
	Name: "penalty-noisy", Title: "Moving penalties, constraints read with noise",
	Source:   penaltySource + ", Algorithm 3",
	Feedback: "noisy readings of the objective and of every constraint",
	Summary:  "One model of the objective less its priced costs, the price moving from epoch to epoch: for many constraints and cheap computation.",
	Settings: penaltySettings(
		Setting{Name: "step", Type: Number, Per: PerConstraint, Low: limit(0), LowExclusive: true, DefaultMeans: "1/√L, L the number of epochs",
			workOut: func(c Context, s Settings, _ string) (float64, bool) {
				return 1 / math.Sqrt(newEpochs(c, s).count), true
			},
			Meaning: "μ: how far the mean cost of an epoch moves the multiplier"}),
	build: func(c Context, s Settings) Policy {
		a := noisy{epochs: newEpochs(c, s)}
		for _, name := range c.Constraints {
			a.step = append(a.step, s.Value("step", name))
		}
		return a
	},
}

// noisy regresses F = r − Σ_j κ_j c_j; κ_j = 0 at first and κ_j ← [κ_j + μ_j·(mean of c_j over the epoch)]⁺;
// theory β_t = B + R√(1 + Σ_j κ_j²)·√(2(γ_t + 1 + ln(2L/p))).
type noisy struct {
	epochs
	step []float64 // μ per cost
}

func (a noisy) Traits() Traits {
	t := a.epochs.Traits()
	t.Response = a.respond
	return t
}

func (a noisy) Start() []float64 { return make([]float64, a.costs) }

func (a noisy) Beta(w Width) []float64 {
	squares := 1.0
	for _, k := range w.Multipliers {
		squares += k * k
	}
	return a.width(w, math.Sqrt(squares), 2*a.count)
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
