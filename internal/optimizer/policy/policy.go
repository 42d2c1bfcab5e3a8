// Package policy holds the algorithms, one small file each that reads like its pseudo-code.
//
// Everything is in modelled units: a reward to maximise, and costs whose limits hold when g ≤ 0,
// margins included. Functions are numbered as targets: 0 is the reward, 1+j is cost j.
package policy

import (
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
)

// Policy is one algorithm with its settings. Policies are immutable: all state is in their
// arguments.
type Policy interface {
	Traits() Traits
	// Start returns the multipliers of round 1, one per cost, or nil for an algorithm without.
	Start() []float64
	// Beta returns β_t per target, for the first targets that have a confidence width.
	Beta(w WidthInput) []float64
	// Score returns the acquisition at the places of the input. The error is one of the Set.
	Score(s *Input) (Scores, error)
	// Estimates returns the values of the functions at place i that the acquisition is computed
	// from: the reward's, then each cost's.
	Estimates(s *Input, i int) []float64
	// Step returns the multipliers of round t+1 from those of round t; it does not write to q.
	Step(q []float64, r *Revealed) []float64
}

// plain is an algorithm that has only a score: no multipliers, confidence widths or traits.
type plain struct{}

func (plain) Traits() Traits                          { return Traits{} }
func (plain) Start() []float64                        { return nil }
func (plain) Beta(WidthInput) []float64               { return nil }
func (plain) Estimates(s *Input, i int) []float64     { return means(s, i) }
func (plain) Step(q []float64, _ *Revealed) []float64 { return nil }

// Traits describe an algorithm, and what it can do beyond what every algorithm does; a function
// that it does not have is nil. An algorithm derived from another changes that one's traits where
// it differs.
type Traits struct {
	NeedsPast bool // it uses Input.Past
	// NeedsSet: it uses Input.Set. It scores a finite set as a whole; on a continuous space, a
	// fixed space-filling set takes the place of the space, unless it proposes one.
	NeedsSet         bool
	IgnoresEstimates bool // its score uses no estimates
	NeedsReadings    bool // before the first reading its score is the same everywhere
	// RisesWithUncertainty: its score at a place never falls when a standard deviation there rises.
	RisesWithUncertainty bool
	MovesByEstimate      bool // its multipliers move by the estimate at the chosen point, Revealed.Own
	AvoidsKnown          bool // it repeats no candidate as long as repeated readings do not differ
	// LogExpectation: its score is the logarithm of an expectation, to which the logarithm of the
	// chance that a trial works is added. Where readings told their noise, it uses the model as
	// fitted, without inflation.
	LogExpectation bool

	// Upper returns upper bounds of Score for all deviations up to those of the input, for an
	// algorithm whose score may fall when a deviation rises; nil where none is known.
	Upper func(s *Input) Scores
	// QuickUpper returns upper bounds of Upper and Score that take less time; nil for none.
	QuickUpper func(s *Input) Scores
	// Slopes returns the derivatives of the scores by the means and deviations of the input, and
	// their kinks, for an algorithm whose score is otherwise smooth wherever a place is allowed;
	// nil for others. The derivatives by a deviation of 0 are 0.
	Slopes func(s *Input) Slopes
	// First returns the earliest round whose data enter decision t; nil for an algorithm that never
	// forgets.
	First func(t int) int
	// Incumbent returns which of the points played becomes Input.Incumbent, −1 for none. played has
	// their means without deviations; look gives the input of some of them with deviations, and the
	// incumbent is one of those. RepeatValue returns what another reading at the incumbent is worth
	// compared with the points of others, noise being λ of a reading there per target.
	Incumbent   func(played *Input, look func(some []int) (*Input, error)) (int, error)
	RepeatValue func(others *Input, noise []float64) float64
	// Draws returns Draw.Z, one number per function, for a seed and the widths β_t.
	Draws func(seed uint64, beta []float64) []float64
	// Functions returns, for an algorithm that draws whole functions f_k ~ GP(μ, w²k_t), jointly
	// over the places and independently of each other, the width w per target, 0 where none is
	// drawn; nil where it draws nothing. Its score rises with the reward's function and falls with
	// the costs'. The input has no estimates.
	Functions func(s *Input) []float64
	// Weights returns the weight of each target's function in the score, where the score is a
	// weighted sum of the functions, perhaps cut; nil elsewhere.
	Weights func(s *Input) []float64
	// Drawn returns the standardised values (draw − μ)/σ of the functions at place i, to record as
	// Draw.Z.
	Drawn func(s *Input, i int) []float64
	// Considers lists the places of the input that the algorithm chooses among, in ascending order;
	// nil for all. The input has no estimates.
	Considers func(s *Input) []int
	// Propose lists the points that an algorithm with NeedsSet chooses among on a continuous space.
	// s has no places.
	Propose func(s *Input) [][]float64
	// Censoring: responses count as 0 until they arrive, and for good when they come late.
	Censoring *Censoring
	// Response returns the one response F(r, c; κ) that the algorithm regresses in place of reward
	// and costs; a round has it once all its metrics are told.
	Response func(reward float64, costs, multipliers []float64) float64
	// Ceiling returns the largest value of a cost's multiplier.
	Ceiling func(cost int) float64
	// Horizon returns the T of a round's constants; nil where it is the number of rounds planned.
	Horizon func(round int) int
	// Bound returns the bound on cost j's cumulative violation after each of the rounds, in metric
	// units; nil where the settings lack what it needs.
	Bound func(j int, rounds []RoundSummary) []float64
	// RegretBound returns the bound on cumulative regret after each of the rounds, in units of the
	// objective; nil where the settings lack what it needs.
	RegretBound func(rounds []RoundSummary) []float64
}

// ActsOnOwnData tells whether the algorithm regresses other data than the arrived readings of each
// metric.
func (t Traits) ActsOnOwnData() bool { return t.Censoring != nil || t.Response != nil }

// Earliest is the earliest round whose data enter decision t, 1 for an algorithm that never
// forgets.
func (t Traits) Earliest(decision int) int {
	if t.First == nil {
		return 1
	}
	return max(t.First(decision), 1)
}

// Censoring says how late responses count.
type Censoring struct {
	Window int // m: a reading with delay > m counts as 0
	// Widen returns the width v_t from β_t and Σ_{s=max(1,t−m)}^{t−1} σ_t(x_s), per target.
	Widen func(beta, sums []float64) []float64
}

// RoundSummary is what a bound needs to know of one round. Slices are per target, those in the last
// row per cost. SD is σ(x_s) of the decision, Scale converts modelled to metric units. Multipliers
// are those of the decision, After those after the round, and Costs are the values at x_s in
// modelled units, NaN if unknown.
type RoundSummary struct {
	Suggested                     bool
	Beta, SD, Gain, Lambda, Scale []float64
	Multipliers, After, Costs     []float64
}

// bandWidth is 2βσ of target k: the width of its confidence band.
func (f RoundSummary) bandWidth(k int) float64 { return 2 * f.Beta[k] * f.SD[k] }

// complete tells whether every cost is known.
func (f RoundSummary) complete() bool { return !slices.ContainsFunc(f.Costs, math.IsNaN) }

// cumulative sums a term over the suggested rounds, in metric units of a target, after each round.
func cumulative(target int, rounds []RoundSummary, term func(i int, r RoundSummary) float64) []float64 {
	sum := 0.0
	return afterEach(rounds, func(i int, r RoundSummary) float64 {
		if r.Suggested {
			sum += r.Scale[target] * term(i, r)
		}
		return sum
	})
}

// afterEach returns the value of a bound after each round.
func afterEach(rounds []RoundSummary, after func(i int, r RoundSummary) float64) []float64 {
	return lists.Of(len(rounds), func(i int) float64 { return after(i, rounds[i]) })
}

// epochStart is the first round of the epoch that round t belongs to.
func epochStart(t, length int) int { return (t-1)/length*length + 1 }

// lastRounds is Traits.First of a window.
func lastRounds(window int) func(t int) int {
	return func(t int) int { return max(1, t-window) }
}

// WidthInput is what β_t may depend on.
type WidthInput struct {
	Round       int       // t
	Gain        []float64 // γ_t per target, realised information gain of the data seen
	Lambda      []float64 // λ per target
	Multipliers []float64
}

// Input is what an algorithm sees when it decides round t.
type Input struct {
	Round       int // t
	Horizon     int // T
	Beta        []float64
	Lambda      []float64 // λ per target
	Multipliers []float64
	Reward      Estimate
	Costs       []Estimate
	// Incumbent is what the places are compared with; nil for algorithms without an incumbent, and
	// while there is none.
	Incumbent *Incumbent
	// Works is the latent function of whether trials work at the places, which the optimizer adds
	// to the scores; nil while none has failed because of its settings.
	Works *Estimate
	// TooRisky[i]: the chance to break a limit at place i exceeds the risk that the decision may
	// take; nil where risk is not bounded.
	TooRisky []bool
	Given    []bool // per cost: its value is known at the decision
	Draw     Draw
	// Functions holds per target the function drawn over the places; nil where none is.
	Functions [][]float64
	Past      []Past // rounds 1..t−1, for algorithms that look at past readings; nil for the others
	Set       *Set   // for algorithms that look at the whole set of candidates; nil for the others
}

// Incumbent is the point x* that would be recommended, beside the places of the input. Slices are
// per target.
type Incumbent struct {
	Mean, SD    []float64   // the posterior at x*
	Covariance  [][]float64 // the posterior covariance of the target at each place and at x*
	Noise       [][]float64 // λ of one more reading of the target at each place
	Least       float64     // the least mean reward of a point played, which a broken limit counts as
	Itself      []bool      // which of the places are x*
	RepeatValue float64     // the value of another reading at x*, divided by its chance to keep all limits, in units of the reward
}

// Estimate is a posterior at the places of the input: mean and standard deviation of the latent
// function. A cost whose value is given has SD 0.
type Estimate struct{ Mean, SD []float64 }

// noEstimates are zeros for n places.
func noEstimates(n int) Estimate { return Estimate{Mean: make([]float64, n), SD: make([]float64, n)} }

// targets are the estimates of every target.
func (s *Input) targets() []Estimate { return append([]Estimate{s.Reward}, s.Costs...) }

// means are the posterior means of every target at place i.
func means(s *Input, i int) []float64 {
	return lists.Map(s.targets(), func(e Estimate) float64 { return e.Mean[i] })
}

// at are μ + wσ of the first targets at place i, one for each w.
func (s *Input) at(i int, w []float64) []float64 {
	v := make([]float64, len(w))
	for k, e := range s.targets()[:len(w)] {
		v[k] = e.Mean[i] + w[k]*e.SD[i]
	}
	return v
}

// Past is one earlier round as decision t sees it.
type Past struct {
	Point     []float64
	Suggested bool
	Excluded  bool
	Complete  bool      // every target's reading is seen, none is in doubt, and the point may be chosen again
	Reward    float64   // the reading, when Complete
	Costs     []float64 // likewise
}

// Set is the finite list of places of the input, for algorithms that compare or draw over all of
// them. Its functions compute when called, and fail when the context has ended.
type Set struct {
	Points [][]float64 // unit coordinates
	Seeds  []int       // indices of the safe seeds
	Free   []bool      // free[k]: parameter k is one that can be varied
	// Choices[k] is the number of choices of a categorical parameter, 0 of any other.
	Choices []int
	// Known[i]: place i was played, and another reading there is expected to be the same; or it is
	// avoided, since trials failed or were abandoned there.
	Known []bool
	// Dissimilarity of two points is their squared distance in unit coordinates, where two
	// different choices are 1 apart.
	Dissimilarity func(u, v []float64) float64
	// Covariances prepares the posterior covariances of the target at one place with some of them;
	// Noise is λ of one more reading of it at place x.
	Covariances func(target int, among []int) (func(x int) []float64, error)
	Noise       func(target, x int) float64
	// SettledSDs are the costs' deviations given the readings alone, without pending trials; nil
	// where those of the input are.
	SettledSDs func() ([][]float64, error)
	// Distance is the euclidean distance of two places in kernel inputs, which Lipschitz constants
	// refer to.
	Distance func(i, j int) float64
	// Earlier returns the input that an earlier round's decision had at the same places; given
	// constraints keep their present values.
	Earlier func(round int) (*Input, error)
	Design  func() []float64 // the next point of the space-filling sequence, in unit coordinates
	// Reach moves points back towards one that is allowed, where hardly any of them are; nil where
	// all are allowed.
	Reach func(points [][]float64, from []float64) [][]float64
	Pause func() error // to be called between pieces of long work, which ends on an error
}

// Draw is the randomness of a decision.
type Draw struct {
	Seed uint64
	// Z holds, for an algorithm that draws one number per function, the objective's first, then one
	// per constraint: f_t(x) = μ + Z₀σ, g_t(x) = μ − Z_jσ. For an algorithm that draws whole
	// functions it holds (draw − μ)/σ at the chosen point.
	Z []float64
}

// standardised is (draw − μ)/σ of every target drawn at place i, so that replay need not draw
// again; 0 for others.
func standardised(s *Input, i int) []float64 {
	z := make([]float64, 1+len(s.Costs))
	for k, e := range s.targets() {
		if s.Functions[k] != nil && e.SD[i] > 0 {
			z[k] = (s.Functions[k][i] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}

// Scores is an acquisition over the places of the input.
type Scores struct {
	Value []float64
	// Untruncated breaks ties of Value; nil where nothing is truncated.
	Untruncated []float64
	// Allowed is nil when every place may be chosen. Where none may be, Fallback, if not nil, is
	// maximised instead. CheckAllowed, if not nil, tells whether a place that is not marked is
	// allowed after all; it is slow, and called for as few places as possible.
	Allowed      []bool
	CheckAllowed func(i int) (bool, error)
	Fallback     []float64
	// Unlikely places are those where trials hardly work. They are chosen only where no other is
	// left; nil for none. The optimizer sets it.
	Unlikely []bool
	// Relative ties compare to |max| alone instead of max(1, |max|).
	Relative bool
	Reason   string
}

// Slopes are derivatives of scores without their kinks: at place i of each estimate those of the
// score there by the target's mean and deviation, and in Covariance, per target, those by its
// covariance with the incumbent; nil without one.
type Slopes struct {
	Reward     Estimate
	Costs      []Estimate
	Covariance [][]float64
	Kinks      []Kink
}

// Kink is a term −Price·[h]⁺ of a score. At place i, h is Height[i], with derivatives ByMean and
// BySD by the target's mean and deviation there. Where Price is negative the score bends upwards.
type Kink struct {
	Target       int
	Price        float64
	Height       []float64
	ByMean, BySD float64
}

// Revealed is what became known in round t, for the multipliers.
type Revealed struct {
	Round    int
	Excluded bool
	// Costs[j] holds the readings of cost j told during round t, of whatever round; excluded
	// rounds' are left out.
	Costs [][]float64
	// Own[j] is the estimate of cost j at x_t made before round t's data (as Estimates gives it);
	// nil unless the policy moves by estimate.
	Own []float64
	// Given[j] is the value of cost j at x_t where it was known at the decision.
	Given []float64
	// Since returns the readings of cost j of rounds first..t that were told by the end of round t.
	Since func(first, j int) []float64
}

// moved moves each multiplier by itself; an excluded round leaves them unchanged.
func (r *Revealed) moved(q []float64, to func(j int, q float64) float64) []float64 {
	next := append([]float64(nil), q...)
	for j := range next {
		if !r.Excluded {
			next[j] = to(j, q[j])
		}
	}
	return next
}

// Why a point was chosen.
const (
	FirstDesign = "first-design" // spread over the space before a model exists
	Optimistic  = "optimistic"   // best optimistic value among points that could be within every limit
	TradeOff    = "trade-off"    // best optimistic value after the multipliers' price of possible violation
	LeastBad    = "least-bad"    // nothing could be within the limits; the point closest to them
	Explore     = "explore"      // chosen to learn where the limits lie
	Seed        = "seed"         // drawn among the safe settings
	Sample      = "sample"       // best in a random draw from the posterior
	Improve     = "improve"      // largest expected improvement
	Apart       = "apart"        // best in a random draw from the posterior, among places apart from the trials that wait
	Settled     = "settled"      // largest expected improvement among places not tried and those as sure to keep the limits as the best
	Space       = "space"        // space filling or random by design
	Restart     = "restart"      // space filling, where a search that came to its end starts again
	Own         = "own"          // a person's choice
)

// Description describes one algorithm to people, to the settings form and to the API.
type Description struct {
	Name     string    `json:"name"`     // the name the API uses
	Title    string    `json:"title"`    // in words
	Source   string    `json:"source"`   // the paper
	Feedback string    `json:"feedback"` // the readings it assumes
	Summary  string    `json:"-"`        // when to use it, one sentence
	Beware   string    `json:"-"`        // a warning to whoever runs it, one sentence; "" for none
	Settings []Setting `json:"-"`
	Theorem  *Theorem  `json:"-"` // on the bounds shown for the algorithm, nil for none
	// What a study must offer before the algorithm can run.
	NeedsGivenConstraint bool `json:"needs_given_constraint"` // at least one known-form or sampled constraint
	NeedsSafeSeeds       bool `json:"needs_safe_seeds"`
	// Compares: it says how much a place improves on the best one so far, where one is likely to be
	// within the limits.
	Compares bool `json:"-"`
	Heedless bool `json:"-"` // it takes no account of limits
	ForDrift bool `json:"-"` // it uses only the last trials, for functions that change with time

	Build func(Context, Settings) Policy  `json:"-"` // the algorithm with resolved settings
	check func(Context, Settings) []Fault // rules between settings as they were given; nil for none
}

// Advice says when to use the algorithm, with its warning.
func (d Description) Advice() string {
	return strings.TrimSpace(d.Summary + " " + d.Beware)
}

// spreadDesign is the usual number of rounds of the first design.
func spreadDesign(dimensions int) int { return max(4, dimensions+2) }

// designSetting is the setting of the first design, given its default.
func designSetting(means string, rounds func(dimensions int) int) Setting {
	return Setting{Name: "initial_design", Type: Integer, Low: new(0.0), High: new(1000.0), Paper: 0.0,
		DefaultMeans: means + " when the model is fitted, otherwise 0",
		workOut: func(c Context, _ Settings, _ string) (float64, bool) {
			if !c.Fitted {
				return 0, true
			}
			return float64(rounds(c.Dimensions)), true
		},
		Meaning: "number of scrambled Halton points tried before the algorithm decides; rounds of any origin count, imported ones too"}
}

// clearMargin is the practical margin of rectified learning: at 0 it ends just outside the limit.
const clearMargin = 0.05

// keepingClear are the settings with clearMargin for limits without a margin. What is known before
// the choice needs none.
func keepingClear(list []Setting) []Setting {
	for i := range list {
		if list[i].Name == "margin" {
			list[i].Default, list[i].DefaultMeans = nil, "0.05 on standardised outputs without the paper preset, otherwise 0"
			list[i].workOut = func(c Context, _ Settings, constraint string) (float64, bool) {
				if c.Standardized && c.CostMetrics[slices.Index(c.Constraints, constraint)] != "" {
					return clearMargin, true
				}
				return 0, true
			}
		}
	}
	return list
}

// common are the settings of every algorithm, beside designSetting.
var common = []Setting{
	{Name: "pending", Type: Text, Default: "variance", Choices: []string{"variance", "ignore"}, Paper: "ignore",
		Meaning: "whether trials without a result yet narrow the uncertainty, so that the same point is not asked twice"},
	{Name: "margin", Type: Number, Per: PerConstraint, Default: 0.0, Low: new(0.0), High: new(10.0), Paper: 0.0,
		Meaning: "distance to keep from the limit, in standard deviations of the metric; with raw outputs, and for a limit that is known before the choice, in its unit"},
}

var betaSetting = Setting{Name: "beta", Type: Schedule, Per: PerMetric,
	Choices:      []string{"constant", "sqrt_log", "theory"},
	Default:      Beta{Schedule: "constant", Value: 2},
	Paper:        LeftToUser(`the published width needs B, a bound on the function's norm, and R, the scale of the noise: give {"schedule": "theory", "B": …, "R": …}, or a width of your own`),
	DefaultMeans: "constant 2; with the paper preset none: B and R must be given, or a width of your own",
	Meaning:      "confidence width: constant, sqrt_log (value·√ln(1+t)), or the paper's formula with norm bound B, noise scale R and confidence p"}

// settings completes an algorithm's own settings with the common ones.
func settings(own ...Setting) []Setting {
	return append(append(own, designSetting("max(4, parameters + 2)", spreadDesign)), common...)
}

// rootHorizon is ⌈√T⌉.
func rootHorizon(c Context, _ Settings, _ string) (float64, bool) {
	return math.Ceil(math.Sqrt(float64(c.Horizon))), true
}
