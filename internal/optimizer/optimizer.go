// Package optimizer turns a study's configuration and history into what a constrained bandit
// algorithm believes and what it would try next. It is pure: no input or output, no clock, no
// global randomness. The same configuration and history give the same state and the same suggestion
// everywhere. Long work reaches checkpoints (package checkpoint); an error is that of the context
// unless it is said to be another.
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
	"errors"
	"math"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
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
	Held      bool // settled at At, since whoever asks leaves it no choice; not searched
	At        float64
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

// Excess is how far a metric's value is beyond the limit, in metric units; the limit holds when it
// is not positive:
//
//	g = Sign·(value − Threshold)
func (c Cost) Excess(value float64) float64 { return c.Sign * (value - c.Threshold) }

// given is a cost's value in the units the algorithm sees, when it is known at the decision.
func (c Cost) given(value float64) float64 { return c.Excess(value) + c.Margin }

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
	Gone      bool      // its settings may be chosen no more: it is neither recommended nor what others have to outdo
	// Closed lists the spells during which the trial was failed or abandoned and thus not pending:
	// decisions From ≤ t < To (To = 0: still).
	Closed []Spell
	// Readings, one per Config.Metrics.
	Readings []Reading
	// Costs holds, for each Given constraint, its value in metric units at the point in this round,
	// indexed like Config.Costs; entries of Learned constraints are ignored. Nil without given
	// constraints.
	Costs []float64
	// Now are Costs by the formulas of Config, where those of the round were others: what happened
	// goes by Costs, what to do by these. Nil where they are the same.
	Now []float64
	// Draw is what chance contributed to this decision.
	Draw Draw
}

// Spell is a half-open interval of decisions, From ≤ t < To; To = 0 means it has not ended.
type Spell struct {
	From, To int
	Cause    Cause
}

// someMetric tells whether something is so of some metric.
func (cfg *Config) someMetric(is func(metric int) bool) bool {
	for metric := range cfg.Metrics {
		if is(metric) {
			return true
		}
	}
	return false
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
	// InDoubt: it looks like a slip, where Expected, in metric units, would not have surprised, and nobody
	// has confirmed it. Where hyperparameters are fitted they are from the other readings, and it is
	// modelled with a noise as large as the surprise (see doubtNoise).
	InDoubt  bool
	Expected float64
}

// Draw records the randomness of one decision, so that replay never draws again.
type Draw = policy.Draw

// Fit holds hyperparameters fitted to the data, in force from decision From on.
type Fit struct {
	From    int
	Metrics []FittedMetric // like Config.Metrics; one with Set false keeps what it had
}

// FittedMetric is one metric's share of a fit. Its JSON stands in ledgers, which are hashed.
type FittedMetric struct {
	Set    bool    `json:"-"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"`
	// Lengthscales, Lambda and Variance (the kernel's) when hyperparameters were fitted, else nil
	// and 0 (centre and scale only). Those that the metric does not leave free are not used.
	Lengthscales []float64 `json:"lengthscales,omitempty"`
	Lambda       float64   `json:"lambda,omitempty"`
	Variance     float64   `json:"variance,omitempty"`
	// Interaction is that of an anova kernel; 0 leaves it as it was.
	Interaction float64 `json:"interaction,omitempty"`
	// Warp warps standardised readings; the zero value leaves them as they are.
	Warp warp.Warp `json:"warp,omitzero"`
	// Told multiplies the noise variances told with readings, where most had one; 0 stands for 1.
	Told float64 `json:"told,omitempty"`
	// Inflation multiplies the kernel's variance and λ where they are fitted, λ not where it was
	// told, so that the study's own earlier predictions would have been as wide as they were wrong;
	// 0 stands for 1. Where noise was told, an algorithm that weighs expectations decides without
	// it (policy.Traits.Expects): it is of what is said alone then.
	Inflation float64 `json:"inflation,omitempty"`
	// Freedom is the degrees of freedom of the Student-t distribution that bands are taken from; 0
	// for a normal one.
	Freedom float64 `json:"freedom,omitempty"`
	// Where replicates show that noise differs between settings: λ of every setting with some,
	// named by the first of its rounds, in place of Lambda. Wrong are readings that their
	// replicates contradict, with the λ that leaves them next to no say.
	Settings []NoiseAt `json:"noise_by_setting,omitempty"`
	Wrong    []NoiseAt `json:"wrong_readings,omitempty"`
	Count    int       `json:"count"` // number of readings it was made from
}

// NoiseAt is λ of a round's reading, or of all readings at the settings of the round.
type NoiseAt struct {
	Round  int     `json:"number"`
	Lambda float64 `json:"lambda"`
}

// Engine is the version of the optimizer that a decision records. It changes whenever the same
// history could lead to a different suggestion; what another engine decided is not replayed.
const Engine = "26"

// Place is one point to ask about: unit coordinates, and the candidate's index (−1 without
// candidates).
type Place struct {
	U   []float64
	Arm int
}

// Model is one metric's prior and regression as the next decision would use them. What has a name in
// JSON is the API's.
type Model struct {
	Beta            *float64  `json:"beta"`             // the confidence width β_t; nil where the algorithm has no band of its own
	InformationGain float64   `json:"information_gain"` // ½ ln det(I + K/λ), nats
	Kernel          Kernel    `json:"-"`
	Lambda          float64   `json:"lambda"` // λ, modelled units
	Centre          float64   `json:"centre"`
	Scale           float64   `json:"scale"`
	Fitted          bool      `json:"fitted"` // hyperparameters come from a fit
	Scaled          bool      `json:"-"`      // it is known how large readings are: see scaled
	Count           int       `json:"count"`  // readings in the posterior
	Warp            warp.Warp `json:"-"`
	Freedom         float64   `json:"freedom"`    // degrees of freedom of the bands, 0 for normal ones
	Inflation       float64   `json:"inflation"`  // see FittedMetric: Kernel.Variance and Lambda hold it
	Told            float64   `json:"told_scale"` // what standard deviations told with readings are multiplied by, by the fit; 1 where they count as told
	// Settings and Wrong are the settings and readings with a λ of their own: see FittedMetric.
	Settings []NoiseAt `json:"-"`
	Wrong    []NoiseAt `json:"-"`
}

// Belief is the posterior of one metric's latent function at some places, in metric units.
type Belief struct {
	Mean, SD []float64
	// ReadingSD is the standard deviation of a reading at the place: that of the function with the
	// noise of a reading there.
	ReadingSD []float64
	// Lower and Upper are the algorithm's own band, width standard deviations beside the mean in
	// modelled units; the central 95 % where it has none.
	Lower, Upper     []float64
	Lower95, Upper95 []float64 // the central 95 %
}

// RoundTrace is one round of the replayed history.
type RoundTrace struct {
	Beta            []float64 // per metric, as decision t used it
	Multipliers     []float64 // per constraint, before this round's feedback; nil for algorithms without
	InformationGain []float64 // per metric, of the data decision t saw
	Horizon         int       // T of the algorithm's constants, 0 where it is the number of rounds planned
	// Ahead is, per metric, the one-step-ahead prediction of the reading of round t in metric
	// units, made from what decision t saw; its standard deviation includes the noise. It is nil
	// where decision t saw no reading, or none that gave the metric a scale.
	Ahead []*Predicted

	breakChances []float64 // per cost, the chance stated at decision t that it is broken, 0 of a given one
	latentSD     []float64 // per metric, the latent standard deviation of Ahead in modelled units
	residuals    []float64 // per metric, (reading − mean)/sd of Ahead in modelled units; 0 without a reading
	uninflated   []float64 // per metric, the square of its residual as it would have been without inflation
	innovations  []float64 // per metric, see Calibration
	before       []int     // the rounds before t that were played at the same place
}

// Predicted is a predicted reading.
type Predicted struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Calibration compares one-step-ahead predictions of a metric with what was read. Its JSON is that
// of the API.
type Calibration struct {
	Coverage                 // of all readings
	New          Coverage    `json:"new"`           // of the first reading at a setting
	Repeated     Coverage    `json:"repeated"`      // of those where earlier ones were seen
	ResidualMean float64     `json:"residual_mean"` // of (reading − mean)/sd, in modelled units
	ResidualSD   float64     `json:"residual_sd"`
	Shift        *LevelShift `json:"shift"` // nil where there are too few readings, or very many of each candidate
	// Innovations are those of the readings, by round; rounds without one are left out.
	Innovations []Innovation `json:"-"`
}

// Innovation is how far a round's reading came out above what all readings before it led to expect,
// noise included, as a normal deviate: Φ⁻¹ of the probability of a lower one.
type Innovation struct {
	Round int
	Z     float64
}

// LevelShift is the moment from which a metric's readings most look as if all of them had come to lie
// higher, or lower, by the same amount, whatever their settings. A = K + Λ being the covariance of the
// readings y that have arrived, in modelled units, u 1 for those from the moment τ on and 0 for those
// before, and the amount δ ~ N(0, s²) with s² the prior variance of the function,
//
//	ln B_τ = a²/2(b + 1/s²) − ½ ln(1 + s²b),   a = uᵀA⁻¹y,   b = uᵀA⁻¹u,
//
// is the logarithm of how many times likelier they are with a shift at τ than with none (their Bayes
// factor: Kass and Raftery, 1995), the model being as it is, and no reading further from what all before
// it led to expect than it could be without showing a shift by itself (mostSurprise). Moments are looked at that leave 15 % of the
// readings on either side (Andrews: Tests for Parameter Instability and Structural Change With Unknown
// Change Point, 1993).
type LevelShift struct {
	Since  int     `json:"since"`  // the first round that was read from the likeliest moment on
	Rising bool    `json:"rising"` // readings lie higher from there on
	Factor float64 `json:"factor"` // the mean of B_τ over the moments: which it is, is not known
	Limit  float64 `json:"limit"`  // ShiftLimit
}

// Coverage is the share of readings that fell inside the central bands predicted for them; 0
// without readings.
type Coverage struct {
	Count      int     `json:"count"`
	Coverage50 float64 `json:"coverage50"`
	Coverage80 float64 `json:"coverage80"`
	Coverage95 float64 `json:"coverage95"`
}

// Inside is how many readings fell inside the 95 % bands: Coverage95·Count, a whole number.
func (c Coverage) Inside() int { return int(math.Round(c.Coverage95 * float64(c.Count))) }

// Tally adds up how far one limit was broken by the trials whose value is known, in metric units.
// Excluded trials count: they happened.
//
//	Balance = Σ g,  Soft = [Σ g]⁺,  Hard = Σ [g]⁺,  Largest = max [g]⁺,  Rounds = #{g > 0},  Known = #{g}
//
// Its JSON is that of the API.
type Tally struct {
	Balance float64 `json:"-"`
	Soft    float64 `json:"soft"`
	Hard    float64 `json:"hard"`
	Largest float64 `json:"largest"`
	Rounds  int     `json:"rounds"`
	Known   int     `json:"-"`
}

// Add counts one more trial, beyond the limit by g.
func (t *Tally) Add(g float64) {
	t.Known++
	t.Balance += g
	t.Soft = max(t.Balance, 0)
	if g > 0 {
		t.Hard += g
		t.Largest = max(t.Largest, g)
		t.Rounds++
	}
}

// Violation is how far a constraint was broken, with what the model and the algorithm's theory say
// of it.
type Violation struct {
	Tally
	// Estimated is the model's own Σ_s E[g⁺(x_s)] over the same trials.
	Estimated float64
	// Bound is the algorithm's bound on it; HasBound is false where there is none to draw. Bounded
	// is the same sums over the rounds that it is for, the algorithm's own.
	Bound    float64
	HasBound bool
	Bounded  Tally
}

// Decision is one choice and every number behind it. Units are modelled unless said otherwise.
type Decision struct {
	Place       Place
	Round       int
	Beta        []float64 // per metric; nil where the algorithm has none
	Multipliers []float64 // per constraint; nil where the algorithm has none
	Horizon     int       // T of the algorithm's constants, 0 where it is the number of rounds planned
	Mean, SD    []float64 // per metric, metric units, latent, at the chosen point, arrived data only
	// Estimates are what the acquisition was computed from: the reward's estimate first, then one
	// per constraint.
	Estimates   []float64
	Acquisition float64
	HasScore    bool // Acquisition is meaningful (false for space filling)
	// RunnerUp is the best point that differs from the chosen one, nil if there was none.
	RunnerUp *RunnerUp
	Draw     Draw
	// FeasibilityProbability of the chosen point: P(g_j ≤ 0 for all j), latent, true thresholds.
	FeasibilityProbability float64
	// ExpectedImprovement is E[μ′(x) − μ′(x*)]⁺, μ′ being the means after a reading at x, in units
	// of the objective, brought there at the incumbent x*, the point of round Incumbent, whether or
	// not either keeps its limits; 0 and 0 for algorithms that do not compare, and while there is
	// none.
	ExpectedImprovement float64
	Incumbent           int
	// Works is the chance that the trial works, 0 where none has failed because of its settings or
	// a published algorithm takes no account of it.
	Works  float64
	Reason string // the rule that decided, one of package policy's
}

// RunnerUp is the second best point of a decision.
type RunnerUp struct {
	Place       Place
	Acquisition float64
}

// ErrNoneAllowed is returned by Suggest when the algorithm may choose nothing.
var ErrNoneAllowed = errors.New("the algorithm may choose none of the points")

// Scores is an acquisition over places.
type Scores struct {
	Logarithmic bool      // differences are ratios of what is maximised
	Values      []float64 // modelled units
	Allowed     []bool    // false: may not be chosen, its value is meaningless
	Argmax      int       // −1 when none may be chosen
}

// Known gives the values of Given constraints for one decision, in metric units: for arms,
// Arms[j][i] is constraint j at arm i; elsewhere At(j, u). Either may be nil when no constraint
// needs it.
type Known struct {
	Arms [][]float64
	At   func(constraint int, u []float64) float64
}
