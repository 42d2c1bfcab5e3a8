package policy

import "math"

const (
	penaltyPaper  = "Shi, Eryilmaz: A Bayesian Approach for Stochastic Continuum-armed Bandit with Long-term Constraints"
	penaltySource = penaltyPaper + ", 2022"
	penaltyRegret = "the regret Σ_s [f(x*) − f(x_s)] behind the best settings within every limit and the margin that is kept, by "
	penaltySum    = "the soft violation [Σ_s g(x_s)]⁺ of each limit, in which distance kept pays back excess, by "
)

// penaltySettings are those of the epoch algorithms, their own ones after the width.
func penaltySettings(own ...Setting) []Setting {
	list := []Setting{betaSetting,
		{Name: "epoch_length", Type: Integer, Low: limit(1), High: limit(1e6), DefaultMeans: "⌈√T⌉, as many rounds as epochs", workOut: rootHorizon, Meaning: "S: the multipliers move every S rounds"},
		{Name: "reuse", Type: Boolean, Default: true, Paper: false,
			Meaning: "whether rounds of earlier epochs keep counting, their responses worked out under the new multipliers"}}
	return settings(append(list, own...)...)
}

// epochs is GP-UCB on one penalised response, in L = ⌈T/S⌉ epochs of S rounds. Theory has the p of
// its width shared out among the epochs.
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

// step moves each multiplier at the end of an epoch by the mean of the costs of the epoch told by
// then; without any it stays.
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

// What Theorems 1 and 2 of Shi and Eryilmaz assume alike. One response is regressed, with the
// objective's kernel, λ and width.
var (
	penalisedNorm = ofObjective(
		"The penalised response of every epoch lies in the space of functions of the objective’s kernel, with a norm of at most B (Assumptions 3 and 5).", boundedNorm)
	penalisedKernel = ofObjective("The kernel of the objective is at most 1 everywhere: k(x, x) ≤ 1.", unitKernel)
	penalisedNoise  = ofObjective("The noise of the objective is independent and alike from reading to reading, and no wider than a normal distribution of deviation R (R-sub-Gaussian).", subGaussian)

	// As regulariser, with the S rounds of an epoch for T, over which the published algorithm
	// regresses.
	epochRegulariser = Assumption{
		Text: "The regulariser is λ = 1 + 2/S (or nearer to 1 from above), S being the rounds of an epoch, as in the result of Chowdhury and Gopalan (2017, Theorem 2) that the width is taken from.",
		judge: func(c Circumstances) Finding {
			a := newEpochs(c.Context, c.Settings)
			if lambda := c.Lambda[0]; lambda <= 1 || lambda > (1+2/float64(a.length))*(1+1e-9) {
				return notMet("λ is %s, not 1 + 2/S", short(lambda))
			}
			return met("with S = %d", a.length)
		}}

	freshEpochs = Assumption{
		Text: "Every epoch regresses its own rounds alone.",
		judge: func(c Circumstances) Finding {
			if c.Settings.Flag("reuse") {
				return notMet("rounds of earlier epochs keep counting (reuse), for which nothing was proved")
			}
			return met("earlier ones are not looked at")
		}}
)

// penalisedWidths is that the width follows the formula.
func penalisedWidths(formula string) Assumption {
	return Assumption{
		Text: "The width is the theorem’s: β_t = " + formula + ".",
		judge: func(c Circumstances) Finding {
			c.Metrics = c.Metrics[:1]
			if f := theoryWidths(formula).judge(c); f.Standing == NotMet {
				return f
			}
			return met("with S = %d and L = %s", newEpochs(c.Context, c.Settings).length, short(newEpochs(c.Context, c.Settings).count))
		}}
}

// penalised is what both theorems assume, and more.
func penalised(formula string, more ...Assumption) []Assumption {
	return append([]Assumption{
		penalisedNorm, penalisedKernel, penalisedNoise, feasiblePoint, givenKernel, fixedUnits,
		penalisedWidths(formula), epochRegulariser, freshEpochs, withinHorizon, stationary, unchanged,
		prompt, uncorrected, everyRoundByRule, exactMaximum}, more...)
}
