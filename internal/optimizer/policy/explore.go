package policy

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The rules of exploration, from which an estimate of a function is made.
const (
	upperBounds       = "ucb"      // f_t = μ + βσ, g_t = μ − βσ
	thompsonSampling  = "thompson" // f_t, g_t ~ GP(μ, β²k_t), drawn jointly over the candidates
	randomExploration = "random"   // f_t = μ + Zσ, g_t = μ − Zσ, one Z per function and round
)

// explorer is ckb with estimates by one rule of exploration for the reward, A_f, and one for the
// costs, A_g, independent of each other (Zhou and Ji, Algorithm 1).
type explorer struct {
	ckb
	rules        []string // per target
	distribution string   // of Z
	points       int
	spread       float64
}

// newExplorer makes ckb with two rules of exploration.
func newExplorer(c Context, s Settings, objective, limits string) explorer {
	rules := append([]string{objective}, slices.Repeat([]string{limits}, len(c.Constraints))...)
	return explorer{ckb: newCKB(c, s), rules: rules, distribution: s.Text("distribution"), points: int(s.Value("points", "")), spread: s.Value("spread", "")}
}

func (a explorer) has(rule string) bool { return slices.Contains(a.rules, rule) }

// Traits: a drawn width may be negative, so the score does not always rise with the uncertainty.
func (a explorer) Traits() Traits {
	t := a.ckb.Traits()
	switch {
	case a.has(thompsonSampling):
		t.NeedsSet, t.RisesWithUncertainty, t.Slopes = true, false, nil
		t.Functions, t.Weights, t.Drawn = a.functions, a.weights, a.drawn
		if a.has(randomExploration) {
			t.Upper = a.upper
		}
	case a.has(randomExploration):
		t.RisesWithUncertainty, t.Draws, t.Upper, t.Slopes = false, a.draws, a.upper, a.slopes
	}
	return t
}

// upper is the score with [Z]⁺ for Z: where Z < 0, the estimate is at best the mean.
func (a explorer) upper(s *Input) Scores {
	widths := slices.Clone(a.widthsOf(s))
	for k, z := range widths {
		widths[k] = positive(z)
	}
	return a.scored(s, widths)
}

func (a explorer) slopes(s *Input) Slopes { return a.lagrangian(s, s.Draw.Z).slopes(s) }

func (a explorer) Score(s *Input) (Scores, error) {
	return a.scored(s, a.widthsOf(s)), nil
}

// scored is the score with the functions drawn, and bounds of these widths where none is drawn.
func (a explorer) scored(s *Input, widths []float64) Scores {
	l := a.lagrangian(s, widths)
	estimates := l.edges(s)
	for k, f := range s.Functions {
		if f != nil {
			estimates[k] = f
		}
	}
	scores := l.truncated(estimates)
	if a.has(thompsonSampling) || a.has(randomExploration) {
		scores.Reason = Sample
	}
	return scores
}

// functions are drawn by Thompson sampling, with width β.
func (a explorer) functions(s *Input) []float64 {
	widths := make([]float64, len(a.rules))
	for k, rule := range a.rules {
		if rule == thompsonSampling {
			widths[k] = s.Beta[k]
		}
	}
	return widths
}

func (a explorer) weights(s *Input) []float64 { return append([]float64{1}, s.Multipliers...) }

// widthsOf are the widths of the bounds, β or Z, per target.
func (a explorer) widthsOf(s *Input) []float64 {
	switch {
	case a.has(thompsonSampling):
		return a.draws(s.Draw.Seed, s.Beta)
	case a.has(randomExploration):
		return s.Draw.Z
	}
	return s.Beta
}

// drawn is Z at place i: (f − μ)/σ of a function that was drawn, else the width.
func (a explorer) drawn(s *Input, i int) []float64 {
	z, widths := standardised(s, i), a.widthsOf(s)
	for k := range z {
		if s.Functions[k] == nil {
			z[k] = widths[k]
		}
	}
	return z
}

// Estimates are μ + Zσ with the recorded Z, and μ − Zσ for a cost that was bounded.
func (a explorer) Estimates(s *Input, i int) []float64 {
	z := slices.Clone(s.Draw.Z)
	if !a.has(thompsonSampling) && !a.has(randomExploration) {
		z = slices.Clone(s.Beta)
	}
	for k := 1; k < len(z); k++ {
		if a.rules[k] != thompsonSampling {
			z[k] = -z[k]
		}
	}
	return a.lagrangian(s, z).cutAll(s.at(i, z))
}

// draws are the Z of a decision: β itself, β times a standard normal number per function, or β
// times the point that a uniform number picks. With Thompson sampling they come from another stream
// than its functions.
func (a explorer) draws(seed uint64, beta []float64) []float64 {
	stream := uint64(0)
	if a.has(thompsonSampling) {
		stream = 1
	}
	random := rand.New(rand.NewPCG(seed, stream))
	z := make([]float64, len(beta))
	for k, b := range beta {
		switch {
		case a.rules[k] != randomExploration:
			z[k] = b
		case a.distribution == "gaussian":
			z[k] = b * random.NormFloat64()
		default:
			z[k] = b * a.point(random.Float64())
		}
	}
	return z
}

// point is the first of the points 2k/(n−1), k = 0..n−1, up to which the probability exceeds u.
func (a explorer) point(u float64) float64 {
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
func (a explorer) at(k int) float64 { return 2 * float64(k) / float64(a.points-1) }
