// Package policy holds the algorithms, one small file each that reads like its pseudo-code.
//
// Everything is in modelled units: a reward to maximise and costs that hold when g ≤ 0, margins
// included. Functions are numbered as targets: 0 is the reward, 1+j is cost j.
package policy

import (
	"math"
	"slices"
)

// Policy is one algorithm with its settings. Policies are immutable; all that moves is in their
// arguments.
type Policy interface {
	// Traits returns what the algorithm is.
	Traits() Traits
	// Start returns the multipliers of round 1, one per cost, or nil for an algorithm without.
	Start() []float64
	// Beta returns β_t per target, or only for the first targets, or nil, where an algorithm has no
	// confidence width.
	Beta(w Width) []float64
	// Score returns the acquisition at the places of the input. The error is one of the Set.
	Score(s *Input) (Scores, error)
	// Estimates returns what the acquisition made of place i: the reward's estimate, then each
	// cost's.
	Estimates(s *Input, i int) []float64
	// Step returns the multipliers of round t+1 from those of round t; it does not write to q.
	Step(q []float64, r *Revealed) []float64
}

// plain is what an algorithm is that says no more than its score: without multipliers, confidence
// widths and traits.
type plain struct{}

func (plain) Traits() Traits                          { return Traits{} }
func (plain) Start() []float64                        { return nil }
func (plain) Beta(Width) []float64                    { return nil }
func (plain) Estimates(s *Input, i int) []float64     { return means(s, i) }
func (plain) Step(q []float64, _ *Revealed) []float64 { return nil }

// Traits are what an algorithm is, and what it can do beyond what every algorithm does; a function
// it does not have is nil. An algorithm made from another takes that one's traits and changes what
// differs.
type Traits struct {
	// LooksBack: it needs Input.Past.
	LooksBack bool
	// LooksAtAll: it needs Input.Set. It scores a finite set as a whole, so on a continuous space a
	// fixed space-filling set stands in for the space, unless it proposes one.
	LooksAtAll bool
	// Blind: its score looks at no estimate.
	Blind bool
	// RisesWithUncertainty: its score at a place never falls when a standard deviation there rises.
	RisesWithUncertainty bool
	// MovesByEstimate: its multipliers move by the estimate at the chosen point, Revealed.Own.
	MovesByEstimate bool
	// AvoidsKnown: it does not choose a candidate again while no reading has shown that it would
	// teach anything.
	AvoidsKnown bool
	// Expects: its score is the logarithm of an expectation, to which that of the chance that a
	// trial works at the place is added. Where readings told their noise it is one under the model
	// as it was fitted, whatever inflation widens or narrows what is said of it.
	Expects bool

	// Upper returns scores that are at least those of Score whenever every deviation is at most the
	// one of the input, for an algorithm whose score may fall when a deviation rises; nil where
	// none is known.
	Upper func(s *Input) Scores
	// Above returns scores that are at least those of Upper, and of Score, without what takes long
	// of them; nil where they take no longer.
	Above func(s *Input) Scores
	// Slopes returns the derivatives of the scores by the means and deviations of the input, for an
	// algorithm whose score is smooth in them wherever a place is allowed, but for kinks; nil for
	// others. Where a deviation is 0, so are its derivatives.
	Slopes func(s *Input) Slopes
	// First returns the earliest round whose data enter decision t; nil for an algorithm that never
	// forgets.
	First func(t int) int
	// Incumbent returns which of the points played, whose posterior means are in the input (no
	// deviations), the others are compared with as Input.Rival, −1 for none; look gives the input
	// of one of them with its deviations. Again returns what reading it once more is worth, beside
	// others played that are in the input, noise being λ of a reading there per target.
	Incumbent func(played *Input, look func(i int) (*Input, error)) (int, error)
	Again     func(others *Input, noise []float64) float64
	// Draws returns Draw.Z, one number per function, for a seed and the widths β_t.
	Draws func(seed uint64, beta []float64) []float64
	// Functions returns, of an algorithm that draws whole functions f_k ~ GP(μ, w²k_t), jointly over
	// the places and independent of each other, the widths w per target, 0 where it draws none; nil
	// where it draws nothing. Its score rises with the reward's function and falls with the costs'.
	// The input has no estimates yet.
	Functions func(s *Input) []float64
	// Weights returns what its score adds up the functions with, per target, before it cuts them; nil
	// where the score is no such sum.
	Weights func(s *Input) []float64
	// Drawn returns, of such an algorithm, the standardised draws (draw − μ)/σ at place i, to keep
	// as Draw.Z.
	Drawn func(s *Input, i int) []float64
	// Considers lists the places of the input that the algorithm chooses among, by what it knows
	// without estimates, in ascending order; nil where it looks at all of them.
	Considers func(s *Input) []int
	// Propose lists, on a continuous space, the points that an algorithm which looks at all wants
	// to choose among. s has no places.
	Propose func(s *Input) [][]float64
	// Censoring: responses count as 0 until they arrive, and for good when they come late.
	Censoring *Censoring
	// Response returns the one response F(r, c; κ) that the algorithm regresses in place of reward
	// and costs; a round has it once all its metrics are told.
	Response func(reward float64, costs, multipliers []float64) float64
	// Ceiling returns the largest value that a cost's multiplier can have.
	Ceiling func(cost int) float64
	// Horizon returns the T of a round's constants; nil where it is the number of rounds planned.
	Horizon func(round int) int
	// Bound returns the bound on cost j's cumulative violation after each of the rounds, in metric
	// units; nil where the settings do not say what it takes.
	Bound func(j int, rounds []Footstep) []float64
	// RegretBound returns the bound on cumulative regret after each of the rounds, in units of the
	// objective; nil where the settings do not say what it takes.
	RegretBound func(rounds []Footstep) []float64
}

// ActsOnOwnData tells whether the algorithm's regressions are others than the arrived readings' of
// each metric.
func (t Traits) ActsOnOwnData() bool { return t.Censoring != nil || t.Response != nil }

// Earliest is the earliest round whose data enter decision t, 1 for an algorithm that never
// forgets.
func (t Traits) Earliest(decision int) int {
	if t.First == nil {
		return 1
	}
	return max(t.First(decision), 1)
}

// Censoring is how late responses count.
type Censoring struct {
	Window int // m: a reading with delay > m counts as 0
	// Widen returns the width v_t from β_t and Σ_{s=max(1,t−m)}^{t−1} σ_t(x_s), per target.
	Widen func(beta, sums []float64) []float64
}

// Footstep is what a bound needs to know of one round; slices are per target. SD is σ(x_s) of the
// decision, Scale brings a modelled quantity to metric units. Per cost there are the multipliers of
// the decision, and After the round, and what was read or known of the costs at x_s, in modelled
// units, NaN if nothing.
type Footstep struct {
	Suggested                     bool
	Beta, SD, Gain, Lambda, Scale []float64
	Multipliers, After, Costs     []float64
}

// spread is 2βσ of target k: how far its band's edge can be from the function.
func (f Footstep) spread(k int) float64 { return 2 * f.Beta[k] * f.SD[k] }

// complete tells whether every cost is known.
func (f Footstep) complete() bool { return !slices.ContainsFunc(f.Costs, math.IsNaN) }

// summed adds up a term of each suggested round, in units of a target.
func summed(target int, rounds []Footstep, term func(i int, r Footstep) float64) []float64 {
	sum := 0.0
	return figured(rounds, func(i int, r Footstep) float64 {
		if r.Suggested {
			sum += r.Scale[target] * term(i, r)
		}
		return sum
	})
}

// figured is what a bound comes to after each round.
func figured(rounds []Footstep, after func(i int, r Footstep) float64) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = after(i, r)
	}
	return out
}

// epochStart is the first round of the epoch of the given length that round t belongs to.
func epochStart(t, length int) int { return (t-1)/length*length + 1 }

// lastRounds forgets all but the last rounds.
func lastRounds(window int) func(t int) int {
	return func(t int) int { return max(1, t-window) }
}
