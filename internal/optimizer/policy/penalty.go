package policy

import (
	"math"
	"slices"
)

const (
	penaltyPaper  = "Shi, Eryilmaz: A Bayesian Approach for Stochastic Continuum-armed Bandit with Long-term Constraints"
	penaltySource = penaltyPaper + ", 2022"
	penaltyRegret = "the regret Σ_s [f(x*) − f(x_s)] behind the best settings within every limit and the margin that is kept, by "
	penaltySum    = "the soft violation [Σ_s g(x_s)]⁺ of each limit, in which distance kept offsets excess, by "
)

// penaltySettings are those of the epoch algorithms, their own ones after the width.
func penaltySettings(own ...Setting) []Setting {
	list := []Setting{betaSetting,
		{Name: "epoch_length", Type: Integer, Low: new(1.0), High: new(1e6), DefaultMeans: "⌈√T⌉, as many rounds as epochs", workOut: rootHorizon, Meaning: "S: the multipliers move every S rounds"},
		{Name: "reuse", Type: Boolean, Default: true, Paper: false,
			Meaning: "whether rounds of earlier epochs keep counting, their responses worked out under the new multipliers"}}
	return settings(append(list, own...)...)
}

// epochs is GP-UCB on one penalised response, in L = ⌈T/S⌉ epochs of S rounds. The failure
// probability of its theory width is shared among the epochs.
type epochs struct {
	widths
	length int     // S
	count  float64 // L
	reuse  bool
	costs  int
}

func newEpochs(c Context, s Settings) epochs {
	length := s.Value("epoch_length", "")
	return epochs{objectiveWidth(c, s), int(length), math.Ceil(float64(c.Horizon) / length), s.Flag("reuse"), len(c.Constraints)}
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

// step moves each multiplier at the end of an epoch by the mean of the epoch's costs told by then;
// without any it stays.
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

// ofObjective judges an assumption by the objective alone, with a text of its own, for algorithms
// that model nothing else.
func ofObjective(text string, a Assumption) Assumption {
	return Assumption{text, func(c Circumstances) Finding {
		c.Uneven = slices.DeleteFunc(slices.Clone(c.Uneven), func(metric string) bool { return metric != c.Metrics[0] })
		c.Metrics, c.Lambda, c.Peak = c.Metrics[:1], c.Lambda[:1], c.Peak[:1]
		return a.Judge(c)
	}}
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
		"The regulariser is λ = 1 + 2/S (or nearer to 1 from above), S being the rounds of an epoch, as in the result of Chowdhury and Gopalan (2017, Theorem 2) that the width is taken from.",
		func(c Circumstances) Finding {
			length := newEpochs(c.Context, c.Settings).length
			return met("with S = %d", length).unless(!regularises(c.Lambda[0], length), "λ is %s, not 1 + 2/S", short(c.Lambda[0]))
		}}

	freshEpochs = Assumption{
		"Every epoch regresses its own rounds alone.",
		func(c Circumstances) Finding {
			return met("earlier ones are not looked at").
				unless(c.Settings.Flag("reuse"), "rounds of earlier epochs keep counting (reuse), for which nothing was proved")
		}}
)

// penalisedWidths is the assumption that the width follows the formula.
func penalisedWidths(formula string) Assumption {
	return Assumption{
		"The width is the theorem’s: β_t = " + formula + ".",
		func(c Circumstances) Finding {
			c.Metrics = c.Metrics[:1]
			if f := theoryWidths(formula).Judge(c); f.Standing == NotMet {
				return f
			}
			a := newEpochs(c.Context, c.Settings)
			return met("with S = %d and L = %s", a.length, short(a.count))
		}}
}

// penalised are the assumptions of both theorems, and more.
func penalised(formula string, more ...Assumption) []Assumption {
	return append([]Assumption{
		penalisedNorm, penalisedKernel, penalisedNoise, feasiblePoint, givenKernel, fixedUnits,
		penalisedWidths(formula), epochRegulariser, freshEpochs, withinHorizon, stationary, unchanged,
		prompt, uncorrected, everyRoundByRule, exactMaximum}, more...)
}

// largestPsi keeps one reading far beyond a limit from overflowing the regression.
const largestPsi = 1e12

// At returns ψ(x).
func (p Psi) At(x float64) float64 {
	switch {
	case x <= 0:
		return 1
	case p.Form == "polynomial":
		return math.Min(math.Pow(p.Rate*x+1, p.Power), largestPsi)
	}
	return math.Min(math.Exp(p.Rate*x), largestPsi)
}

// Inverse returns the x ≥ 0 at which e^{ax} or (ax+1)ⁿ is y ≥ 1.
func (p Psi) Inverse(y float64) float64 {
	if p.Form == "polynomial" {
		return (math.Pow(y, 1/p.Power) - 1) / p.Rate
	}
	return math.Log(y) / p.Rate
}
