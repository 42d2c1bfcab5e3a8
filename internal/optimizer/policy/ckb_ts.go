package policy

import (
	"math/rand/v2"
	"slices"
)

var ckbTS = Description{
	Name: "ckb-ts", Title: "Primal-dual with Thompson sampling",
	Source:   ckbUCB.Source,
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual with random draws of whole functions: explores without a confidence width to argue about.",
	Beware:   keepsTheSum,
	Settings: ckbWith(),
	Theorem: &Theorem{Name: "Theorem 2 with Corollary 1 (ii)", Paper: primalDualPaper, Year: 2022, Bounds: primalDualRate, Soft: true, Regret: primalDualRegretRate, ForRegret: []Assumption{slackPaid}, Assumptions: primalDual(deterministicBest),
		Short: hiddenConstants},
	check: ckbCheck,
	build: func(c Context, s Settings) Policy { return thompson{newCKB(c, s)} },
}

// What Theorem 2 of Zhou and Ji says of algorithms that draw.
const (
	primalDualRate       = "how fast the soft violation [Σ_s g(x_s)]⁺ of each limit grows, in which distance kept pays back excess: up to constants and logarithms as that of upper confidence bounds"
	primalDualRegretRate = "how fast the regret Σ_s [E f(π*) − f(x_s)] behind the best mixture of settings that keeps every limit and its margin grows: up to constants and logarithms as that of upper confidence bounds"
	hiddenConstants      = "The theorem hides its constants, so no sum follows from it: the figure is that of Theorem 1 for upper confidence bounds, and shows a rate."
)

// deterministicBest is what anti-concentration of a drawn function needs.
var deterministicBest = Assumption{
	Text:  "The best mixture of settings is a single setting.",
	judge: func(Circumstances) Finding { return unknown("only the true responses could tell") }}

// thompson is ckb with f_t ~ GP(μ, β²k_t) and g_t likewise, drawn jointly over the candidates and independently of each other.
type thompson struct{ ckb }

// Traits: there is no guarantee, since Theorem 1 is for upper confidence bounds, and Theorem 2 only says that the same rate holds up to
// logarithms.
func (a thompson) Traits() Traits {
	t := a.ckb.Traits()
	t.LooksAtAll, t.RisesWithUncertainty, t.Drawn = true, false, a.drawn
	return t
}

func (a thompson) Score(s *Input) (Scores, error) {
	drawn, err := drawFunctions(s, s.Beta, nil)
	if err != nil {
		return Scores{}, err
	}
	scores := a.lagrangian(drawn[0], func(j int) []float64 { return drawn[1+j] }, s.Multipliers)
	scores.Reason = Sample
	return scores, nil
}

func (a thompson) drawn(s *Input, i int) ([]float64, error) {
	drawn, err := drawFunctions(s, s.Beta, nil)
	if err != nil {
		return nil, err
	}
	return standardised(s, drawn, i, i), nil
}

// Estimates are the draws at the place, μ + Zσ with the recorded Z.
func (a thompson) Estimates(s *Input, i int) []float64 { return a.cut(drawnAt(s, i)) }

// drawing is what drawFunctions drew last over a Set: an algorithm scores by it and then asks what was drawn at the place it chose.
type drawing struct {
	seed  uint64
	width []float64
	among []int
	drawn [][]float64
}

func (d *drawing) is(seed uint64, width []float64, among []int) bool {
	return d != nil && d.seed == seed && slices.Equal(d.width, width) && (d.among == nil) == (among == nil) && slices.Equal(d.among, among)
}

// drawFunctions draws every target's function over some of the places, all if among is nil, from its posterior widened by width; a given
// cost is what it is. The draws are in the order of among, and to be read only.
func drawFunctions(s *Input, width []float64, among []int) ([][]float64, error) {
	if last := s.Set.last; last.is(s.Draw.Seed, width, among) {
		return last.drawn, nil
	}
	random := rand.New(rand.NewPCG(s.Draw.Seed, 0))
	joint, err := s.Set.Joint(among)
	if err != nil {
		return nil, err
	}
	drawn := [][]float64{joint(0, width[0], random.NormFloat64)}
	for j, cost := range s.Costs {
		switch {
		case !s.Given[j]:
			drawn = append(drawn, joint(1+j, width[1+j], random.NormFloat64))
		case among == nil:
			drawn = append(drawn, cost.Mean)
		default:
			known := make([]float64, len(among))
			for n, i := range among {
				known[n] = cost.Mean[i]
			}
			drawn = append(drawn, known)
		}
	}
	s.Set.last = &drawing{s.Draw.Seed, slices.Clone(width), among, drawn}
	return drawn, nil
}

// standardised is (draw − μ)/σ of every target at place i, whose draws are the n-th, so that replay has them without drawing again.
func standardised(s *Input, drawn [][]float64, i, n int) []float64 {
	z := make([]float64, len(drawn))
	for k, e := range append([]Estimate{s.Reward}, s.Costs...) {
		if e.SD[i] > 0 {
			z[k] = (drawn[k][n] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}

// drawnAt is μ + Zσ of every target at place i, with the recorded Z.
func drawnAt(s *Input, i int) []float64 {
	v := make([]float64, len(s.Draw.Z))
	for k, e := range append([]Estimate{s.Reward}, s.Costs...) {
		v[k] = e.Mean[i] + s.Draw.Z[k]*e.SD[i]
	}
	return v
}
