package policy

var igpUCB = Description{
	Name: "igp-ucb", Title: "Upper confidence bound without constraints",
	Source:   "Chowdhury, Gopalan: On Kernelized Multi-armed Bandits, 2017",
	Feedback: "noisy readings of the objective; constraints are recorded and ignored",
	Summary:  "The unconstrained reference: shows what the limits cost.",
	Settings: settings(betaSetting),
	build:    func(c Context, s Settings) Policy { return igp{objectiveWidth: newObjectiveWidth(c, s)} },
}

// igp is x_t = argmax μ + βσ with theory β_t = B + R√(2(γ_t + 1 + ln(1/p))).
type igp struct {
	unpriced
	objectiveWidth
}

func (igp) Traits() Traits                      { return Traits{RisesWithUncertainty: true, Slopes: upperSlopes} }
func (a igp) Beta(w Width) []float64            { return a.width(w, 1, 1) }
func (igp) Score(s *Input) (Scores, error)      { return upperScores(s), nil }
func (igp) Estimates(s *Input, i int) []float64 { return upperEstimate(s, i) }

// objectiveWidth is the schedule of an algorithm that regresses one response with the objective's
// model.
type objectiveWidth struct{ schedule widths }

func newObjectiveWidth(c Context, s Settings) objectiveWidth {
	w := newWidths(c, s)
	w.of = w.of[:1]
	return objectiveWidth{w}
}

// width is β_t alone, with theory B + R·noise·√(2(γ_t + 1 + ln(union/p))).
func (o objectiveWidth) width(w Width, noise, union float64) []float64 {
	return o.schedule.each(w, func(_ int, b Beta, gain, _ float64) float64 { return b.width(b.R*noise, gain, union) })
}

// upperScores is the acquisition μ + βσ.
func upperScores(s *Input) Scores {
	return Scores{Value: upper(s.Reward, s.Beta[0]), Reason: Optimistic}
}

// upperSlopes are those of upperScores.
func upperSlopes(s *Input) Slopes { return linear(s, s.Beta[0]) }

func upperEstimate(s *Input, i int) []float64 {
	return []float64{s.Reward.Mean[i] + s.Beta[0]*s.Reward.SD[i]}
}
