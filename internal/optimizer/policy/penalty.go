package policy

import "math"

const penaltySource = "Shi, Eryilmaz: A Bayesian Approach for Stochastic Continuum-armed Bandit with Long-term Constraints, 2022"

// penaltySettings are those of the epoch algorithms, their own ones after the width.
func penaltySettings(own ...Setting) []Setting {
	list := []Setting{betaSetting,
		{Name: "epoch_length", Type: Integer, Low: limit(1), High: limit(1e6), DefaultMeans: "⌈√T⌉, as many rounds as epochs", workOut: rootHorizon, Meaning: "S: the multipliers move every S rounds"},
		{Name: "reuse", Type: Boolean, Default: true, Paper: false,
			Meaning: "whether rounds of earlier epochs keep counting, their responses worked out under the new multipliers"}}
	return settings(append(list, own...)...)
}

// epochs is GP-UCB on one penalised response, in L = ⌈T/S⌉ epochs of S rounds. Theory has the p of its width shared out among the epochs.
type epochs struct {
	objectiveWidth
	length int     // S
	count  float64 // L
	reuse  bool
	costs  int
}

// rootHorizon is ⌈√T⌉.
func rootHorizon(c Context, _ Settings, _ string) (float64, bool) {
	return math.Ceil(math.Sqrt(float64(c.Horizon))), true
}

func newEpochs(c Context, s Settings) epochs {
	horizon := float64(c.Horizon)
	length := s.Value("epoch_length", "")
	return epochs{objectiveWidth: newObjectiveWidth(c, s), length: int(length), count: math.Ceil(horizon / length),
		reuse: s.Flag("reuse"), costs: len(c.Constraints)}
}

func (a epochs) Traits() Traits {
	t := Traits{RisesWithUncertainty: true, Slopes: upperSlopes}
	if !a.reuse {
		t.First = func(t int) int { return epochStart(t, a.length) }
	}
	return t
}

func (epochs) Score(s *Input) (Scores, error) {
	scores := upperScores(s)
	scores.Reason = TradeOff
	return scores, nil
}

// Estimates is the optimistic estimate of the penalised response.
func (epochs) Estimates(s *Input, i int) []float64 { return upperEstimate(s, i) }

// step moves each multiplier at the end of an epoch by the mean of the costs of the epoch told by then; without any it stays.
func (a epochs) step(kappa []float64, r *Revealed, move func(j int, kappa, mean float64) float64) []float64 {
	next := append([]float64(nil), kappa...)
	if r.Round%a.length != 0 {
		return next
	}
	for j := range next {
		costs := r.Since(epochStart(r.Round, a.length), j)
		if len(costs) == 0 {
			continue
		}
		sum := 0.0
		for _, c := range costs {
			sum += c
		}
		next[j] = move(j, kappa[j], sum/float64(len(costs)))
	}
	return next
}
