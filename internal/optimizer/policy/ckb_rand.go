package policy

import (
	"math"
	"math/rand/v2"
)

var ckbRand = Description{
	Name: "ckb-rand", Title: "Primal-dual with random confidence bounds",
	Source:   ckbUCB.Source,
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual with one random width per function and round: the variety of Thompson sampling at the cost of confidence bounds.",
	Beware:   keepsTheSum,
	Settings: ckbWith(
		Setting{Name: "distribution", Type: Text, Default: "gaussian", Choices: []string{"gaussian", "uniform", "truncated_gaussian"},
			Meaning: "what the width Z is drawn from: N(0, β²); equally likely points of [0, 2β]; the same points weighted by exp(−½(z/(β·spread))²)"},
		Setting{Name: "points", Type: Integer, Default: 20.0, Low: limit(2), High: limit(10000), Meaning: "number of equally spaced points in [0, 2β]"},
		Setting{Name: "spread", Type: Number, Default: 1.0, Low: limit(0), LowExclusive: true, Meaning: "standard deviation of the truncated Gaussian, in β"}),
	Theorem: &Theorem{Name: "Theorem 2 with Corollary 2", Paper: primalDualPaper, Year: 2022, Bounds: primalDualRate, Assumptions: primalDual(normalWidths), Short: hiddenConstants},
	check:   ckbCheck,
	build: func(c Context, s Settings) Policy {
		return randomised{newCKB(c, s), s.Text("distribution"), int(s.Value("points", "")), s.Value("spread", "")}
	},
}

// normalWidths is the distribution that the corollary is proved for.
var normalWidths = Assumption{
	Text: "Widths are drawn from N(0, β²).",
	judge: func(c Circumstances) Finding {
		if from := c.Settings.Text("distribution"); from != "gaussian" {
			return unknown("they are drawn from the distribution %s, for which the paper only sketches the proof (Appendix C)", from)
		}
		return met("they are")
	}}

// randomised is ckb with f_t = μ + Z^f σ and g_{j,t} = μ − Z^{g_j} σ, one Z per function and round.
type randomised struct {
	ckb
	distribution string
	points       int
	spread       float64
}

// Traits: there is no guarantee, since Theorem 1 is for upper confidence bounds, and Theorem 2 only says that the same rate holds up to
// logarithms. A drawn width may be negative, so the score does not always rise with the uncertainty.
func (a randomised) Traits() Traits {
	t := a.ckb.Traits()
	t.RisesWithUncertainty, t.Draws, t.Upper, t.Slopes = false, a.draws, a.upper, a.slopes
	return t
}

// upper is the score with [Z]⁺: where Z < 0 the estimate is at best the mean.
func (a randomised) upper(s *Input) Scores {
	wide := *s
	wide.Draw.Z = make([]float64, len(s.Draw.Z))
	for k, z := range s.Draw.Z {
		wide.Draw.Z[k] = positive(z)
	}
	return a.lagrangianOf(&wide)
}

func (a randomised) slopes(s *Input) Slopes { return a.lagrangianSlopes(s, s.Draw.Z, s.Multipliers) }

func (a randomised) Score(s *Input) (Scores, error) { return a.lagrangianOf(s), nil }

func (a randomised) lagrangianOf(s *Input) Scores {
	z := s.Draw.Z
	scores := a.lagrangian(upper(s.Reward, z[0]), func(j int) []float64 { return lower(s.Costs[j], z[1+j]) }, s.Multipliers)
	scores.Reason = Sample
	return scores
}

func (a randomised) Estimates(s *Input, i int) []float64 {
	drawn := *s
	drawn.Beta = s.Draw.Z
	return a.cut(optimistic(&drawn, i))
}

// draws are the Z of a decision: a standard normal number per function times β, or β times the point that a uniform number picks.
func (a randomised) draws(seed uint64, beta []float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	z := make([]float64, len(beta))
	for k, b := range beta {
		if a.distribution == "gaussian" {
			z[k] = b * random.NormFloat64()
		} else {
			z[k] = b * a.point(random.Float64())
		}
	}
	return z
}

// point is the first of the points 2k/(n−1), k = 0..n−1, up to which the probability exceeds u.
func (a randomised) point(u float64) float64 {
	weights := make([]float64, a.points)
	total := 0.0
	for k := range weights {
		weights[k] = 1
		if a.distribution == "truncated_gaussian" {
			z := a.at(k) / a.spread
			weights[k] = math.Exp(-z * z / 2)
		}
		total += weights[k]
	}
	sum := 0.0
	for k, w := range weights {
		if sum += w / total; sum > u {
			return a.at(k)
		}
	}
	return a.at(a.points - 1)
}

// at is point k in units of β.
func (a randomised) at(k int) float64 { return 2 * float64(k) / float64(a.points-1) }
