// Package optimizer turns a study's configuration and history into what a constrained bandit
// algorithm believes and what it would try next. It is pure: no input or output, no clock, no
// global randomness. The same configuration and history give the same state and the same suggestion
// everywhere.
//
// Rounds are counted from 1. Round t is: choose x_t, later observe its metrics. A reading "revealed
// during round τ" was told after decision τ and before decision τ+1, so decision t sees the
// readings with τ < t.
//
// Quantities are in one of two units. Metric units are those the readings were told in. Modelled
// units are
//
//	modelled = w((metric − centre)/scale),
//
// centre 0, scale 1 and the warp w the identity until a fit says otherwise. The reward r is
// ±modelled (− when the objective is minimised), a cost g is ±(modelled − modelled threshold) and
// holds when g ≤ 0.
package optimizer

import (
	"headroom/internal/optimizer/warp"

	"headroom/internal/optimizer/policy"
)

// Config is everything an algorithm is told about a study. It is immutable once made.
type Config struct {
	Space     Space
	Metrics   []Metric        // the modelled metrics: the objective's and those of learned constraints
	Objective Objective       // what to improve
	Costs     []Cost          // one for each constraint, in the order of the study
	Algorithm string          // a name from policy.Descriptions
	Settings  policy.Settings // that algorithm's settings, resolved by policy.Resolve
	Horizon   int             // T ≥ 1, the number of rounds planned
	SafeSeeds []Place         // points known to be within every limit, for the algorithms that need them
	Seed      uint64

	// Paper tells that absent settings mean the published ones.
	Paper bool
	// Standardize models (metric − centre)/scale; otherwise readings are modelled as they are, an
	// objective with prior mean 0 and a constraint's g with prior mean 0.
	Standardize bool
	// Fit asks for maximum a posteriori hyperparameters (the metrics say which are free).
	Fit bool
}

// Space is the set 𝒳 of settings that can be tried, in unit coordinates: one number u ∈ [0,1] per
// parameter (for a categorical parameter with k choices, the number i/k + 1/(2k) of choice i).
type Space struct {
	Dims []Dim
	// Settle snaps u, in place, to settings that can be made (steps, integers, choices, remainders)
	// and reports whether they are allowed (input constraints, choices that have run out). It must
	// be pure.
	Settle func(u []float64) bool
	// Fill, when not nil, takes a point of the unit cube, in place, to one that keeps every
	// remainder within its bounds, evenly spread points to evenly spread ones. It must be pure.
	Fill func(u []float64)
	// Inside are some allowed points, to start from where hardly any point of the unit cube is
	// allowed.
	Inside [][]float64
	// Arms, when not nil, is the finite set of candidates, in order, and nothing else may be
	// suggested.
	Arms [][]float64
	// Available says which arms may be suggested; nil means all.
	Available []bool
}

// DimKind says how one parameter enters the kernel.
type DimKind int

const (
	Linear      DimKind = iota // kernel input Low + u·(High − Low)
	Logarithmic                // kernel input Low·(High/Low)^u
	Categorical                // one-hot: Choices inputs, 1 at the chosen one
)

// Dim is one parameter as the kernel and the search see it. With unit inputs Low = 0 and High = 1
// and Kind is Linear; with raw inputs they are the parameter's own.
type Dim struct {
	Kind      DimKind
	Low, High float64
	Choices   int  // for Categorical
	Levels    int  // number of values Settle leaves for a stepped or integer parameter; 0 = continuous
	Derived   bool // filled in by Settle from the others (a mixture's remainder); not searched
}

// Kernel is a prior covariance k(x, x′). Names: se, matern12, matern32, matern52, mixed, anova,
// linear, covariance; the formulas stand in package kernel.
type Kernel struct {
	Name         string
	Lengthscales []float64 // one per parameter, in kernel inputs; the choices of a category share one
	Variance     float64
	Interaction  float64     // of anova, 0 < a < 1; 0 stands for kernel.MedianInteraction
	Matrix       [][]float64 // for covariance: the arms' prior covariance, symmetric, positive semidefinite
}

// Metric is one modelled metric.
type Metric struct {
	Name   string
	Kernel Kernel
	// Lambda is λ in K + λI in modelled units; NoiseVariance, when positive, is the same in metric
	// units and takes its place: λ = NoiseVariance/scale².
	Lambda        float64
	NoiseVariance float64
	// With Config.Fit: which hyperparameters the fit may move.
	FreeLengthscales, FreeNoise, FreeVariance bool
	// Warp lets a fit warp the readings (package warp) before they are modelled.
	Warp bool
}

// Objective says which metric to improve.
type Objective struct {
	Metric int
	Sign   float64 // +1 maximise, −1 minimise
}

// Knowledge says where a constraint's value comes from.
type Knowledge int

const (
	Learned Knowledge = iota // its metric is modelled from readings
	Given                    // its value at every point is known when the decision is made
)

// Cost is one constraint, g = Sign·(metric − Threshold) ≤ 0.
type Cost struct {
	Name      string // the constraint's name; multipliers and settings are keyed by it
	Metric    int    // index into Config.Metrics; −1 when Given
	Sign      float64
	Threshold float64
	Margin    float64 // in scales: the algorithm sees g + Margin ≤ 0 in modelled units
	Knowledge Knowledge
}

// History is what happened, as it is known now: corrected readings stand where they were told,
// excluded rounds are marked. It is immutable once made; a longer history is a new value that may
// share slices.
type History struct {
	Rounds []Round // round t at index t−1
	Fits   []Fit   // in order of From
	// Rewritten tells that the past has changed since the last fit (a correction, an exclusion), so
	// that a new fit is due.
	Rewritten bool
}

// Round is one chosen trial.
type Round struct {
	Point     []float64 // unit coordinates
	Arm       int       // index of the candidate, −1 without candidates
	Suggested bool      // false for a person's own choice and for imported rows
	Excluded  bool      // leaves the data, the kernel matrix and the multipliers
	// Closed lists the spells during which the trial was failed or abandoned and thus not pending:
	// decisions From ≤ t < To (To = 0: still).
	Closed []Spell
	// Readings, one per Config.Metrics.
	Readings []Reading
	// Costs holds, for each Given constraint, its value in metric units at the point in this round,
	// indexed like Config.Costs; entries of Learned constraints are ignored. Nil without given
	// constraints.
	Costs []float64
	// Draw is what chance contributed to this decision.
	Draw Draw
}

// Spell is a half-open interval of decisions, From ≤ t < To; To = 0 means it has not ended.
type Spell struct {
	From, To int
	Cause    Cause
}

// Cause is why a trial ended without its results.
type Cause int

const (
	Abandoned  Cause = iota // nobody ran it
	ByChance                // it failed by chance
	BySettings              // it failed because of its settings
)

// Reading is one metric's value for one round.
type Reading struct {
	Told     bool
	Value    float64 // metric units
	SD       float64 // told standard deviation in metric units, 0 if none
	Revealed int     // the round during which it was told, ≥ the round it belongs to
}

// Draw records the randomness of one decision, so that replay never draws again.
type Draw = policy.Draw

// Fit holds hyperparameters fitted to the data, in force from decision From on.
type Fit struct {
	From    int
	Metrics []FittedMetric // like Config.Metrics; one with Set false keeps what it had
}

// FittedMetric is one metric's share of a fit.
type FittedMetric struct {
	Set           bool
	Centre, Scale float64
	// Lengthscales, Lambda and Variance (the kernel's) when hyperparameters were fitted, else nil
	// and 0 (centre and scale only). Those that the metric does not leave free are not used.
	Lengthscales     []float64
	Lambda, Variance float64
	// Interaction is that of an anova kernel; 0 leaves it as it was.
	Interaction float64
	// Warp warps standardised readings; the zero value leaves them as they are.
	Warp warp.Warp
	// Inflation multiplies the kernel's variance and λ where they are fitted, λ not where it was
	// told, so that the study's own earlier predictions would have been as wide as they were wrong;
	// 0 stands for 1. Where noise was told, an algorithm that weighs expectations decides without
	// it (policy.Traits.Expects): it is of what is said alone then.
	Inflation float64
	// Told multiplies the noise variances told with readings, where every reading had one; 0 stands
	// for 1.
	Told float64
	// Freedom is the degrees of freedom of the Student-t distribution that bands are taken from; 0
	// for a normal one.
	Freedom float64
	// Where replicates show that noise differs between settings: λ of every setting with some,
	// named by the first of its rounds, in place of Lambda. Wrong are readings that their
	// replicates contradict, with the λ that leaves them next to no say.
	Settings, Wrong []NoiseAt
	Count           int // number of readings it was made from
}

// NoiseAt is λ of a round's reading, or of all readings at the settings of the round.
type NoiseAt struct {
	Round  int
	Lambda float64
}
