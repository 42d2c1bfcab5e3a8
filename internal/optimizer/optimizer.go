// Package optimizer computes, from a study's configuration and history, the posterior of every
// metric and the next trial that a constrained bandit algorithm chooses. It is pure: no input or
// output, no clock, no global randomness. The same configuration and history give the same state
// and the same suggestion everywhere. Long work reaches checkpoints (package checkpoint); errors
// are those of the context unless said otherwise.
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
// with centre 0, scale 1 and w the identity until a fit sets them. The reward r is ±modelled (−
// when the objective is minimised). A cost g is ±(modelled − modelled threshold); its limit holds
// when g ≤ 0.
package optimizer

import (
	"errors"
	"math"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
)

// Config is everything an algorithm knows about a study but its history. It must not be changed.
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

	Paper bool // defaults of settings are the published ones
	// Standardize: (metric − centre)/scale is modelled. Otherwise readings are modelled as they
	// are, with prior mean 0 of the objective and of each g.
	Standardize bool
	Fit         bool // hyperparameters are fitted (maximum a posteriori); each Metric says which
}

// Space is the set 𝒳 of settings that can be tried, in unit coordinates: one number u ∈ [0,1] per
// parameter (for a categorical parameter with k choices, the number i/k + 1/(2k) of choice i).
type Space struct {
	Dims []Dim
	// Settle snaps u, in place, to settings that can be made (steps, integers, choices, remainders)
	// and reports whether they are allowed (input constraints, choices that have run out). It must
	// be pure.
	Settle func(u []float64) bool
	// Fill, when not nil, maps the unit cube, in place, onto the points at which every remainder is
	// within its bounds, and keeps evenly spread points evenly spread. It must be pure.
	Fill func(u []float64)
	// Inside are some allowed points. The search starts from them where hardly any point of the
	// unit cube is allowed.
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

// Dim is one parameter as the kernel and the search see it. Low and High are 0 and 1, and Kind is
// Linear, where kernel inputs are unit coordinates; with raw inputs they are the parameter's own.
type Dim struct {
	Kind      DimKind
	Low, High float64
	Choices   int  // for Categorical
	Levels    int  // number of values of a stepped or integer parameter; 0 = continuous
	Derived   bool // computed by Settle from the other parameters (a mixture's remainder); not searched
	Held      bool // fixed at At by whoever asks; not searched
	At        float64
}

// Kernel is a prior covariance k(x, x′). Names: se, matern12, matern32, matern52, mixed, anova,
// linear, covariance; package kernel has their formulas.
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
	Warp                                      bool // a fit may warp the readings (package warp) before they are modelled
}

// Objective says which metric to improve.
type Objective struct {
	Metric int
	Sign   float64 // +1 maximise, −1 minimise
}

// Knowledge says how the value of a constraint is known.
type Knowledge int

const (
	Learned Knowledge = iota // from readings of its metric, which is modelled
	Given                    // at every point before the decision is made
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

// Excess is how far a metric's value lies beyond the limit, in metric units; the limit holds when
// it is 0 or less:
//
//	g = Sign·(value − Threshold)
func (c Cost) Excess(value float64) float64 { return c.Sign * (value - c.Threshold) }

// given is the value of a cost known at the decision, with its margin, as the algorithm sees it.
func (c Cost) given(value float64) float64 { return c.Excess(value) + c.Margin }

// History is what happened, as it is known now: a corrected reading stands where the wrong one was
// told, and excluded rounds are marked. It must not be changed; a longer history is a new value,
// which may share slices.
type History struct {
	Rounds    []Round // round t at index t−1
	Fits      []Fit   // in order of From
	Rewritten bool    // the past was corrected since the last fit, so that a new one is due
}

// Round is one chosen trial.
type Round struct {
	Point     []float64 // unit coordinates
	Arm       int       // index of the candidate, −1 without candidates
	Asked     []float64 // unit coordinates of the settings suggested, nil for a person's own and imported ones
	Suggested bool      // the algorithm chose all its settings
	Excluded  bool      // leaves the data, the kernel matrix and the multipliers
	Gone      bool      // its settings are no longer available: it is neither recommended nor the incumbent
	// Closed lists the spells of decisions during which the trial counted as failed or abandoned,
	// and so was not pending.
	Closed []Spell
	// Readings, one per Config.Metrics.
	Readings []Reading
	// Costs holds, for each Given constraint, its value in metric units at the point in this round,
	// indexed like Config.Costs; entries of Learned constraints are ignored. Nil without given
	// constraints.
	Costs []float64
	// Now are the same values by the formulas of Config, where the round had other formulas, else
	// nil. Violations are counted by Costs, decisions are made by Now.
	Now  []float64
	Draw Draw // the random numbers of this decision
}

// Spell is a half-open interval of decisions, From ≤ t < To; To = 0 means it has not ended.
type Spell struct {
	From, To int
	Cause    Cause
}

// someMetric tells whether some metric has a property.
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
	// InDoubt: the reading looks like a slip, and nobody has confirmed it. Expected, in metric
	// units, is the prediction that it contradicts. Hyperparameters are fitted without it, and it
	// is modelled with noise as large as its distance from Expected (see doubtNoise).
	InDoubt  bool
	Expected float64
}

// Draw records the random numbers of one decision, so that replay never draws again.
type Draw = policy.Draw

// Fit holds hyperparameters fitted to the data, in force from decision From on.
type Fit struct {
	From    int
	Metrics []FittedMetric // like Config.Metrics; one with Set false keeps what it had
}

// FittedMetric is what a fit found for one metric. Its JSON is part of ledgers, which are hashed.
type FittedMetric struct {
	Set    bool    `json:"-"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"`
	// Lengthscales, Lambda and the kernel's Variance are nil and 0 where only centre and scale were
	// fitted. Those that the metric does not leave free are not used.
	Lengthscales []float64 `json:"lengthscales,omitempty"`
	Lambda       float64   `json:"lambda,omitempty"`
	Variance     float64   `json:"variance,omitempty"`
	// Interaction is that of an anova kernel; 0 leaves it unchanged.
	Interaction float64 `json:"interaction,omitempty"`
	// Warp warps standardised readings; the zero value leaves them as they are.
	Warp warp.Warp `json:"warp,omitzero"`
	// Told multiplies the noise variances told with readings, where most had one; 0 stands for 1.
	Told float64 `json:"told,omitempty"`
	// Inflation multiplies the fitted variance and the fitted λ, but not noise that was told, so
	// that the study's own one-step-ahead predictions would have been as wide as their errors; 0
	// stands for 1. Where noise was told, an algorithm that maximises an expectation decides
	// without it (policy.Traits.LogExpectation), and only the posterior shown has it.
	Inflation float64 `json:"inflation,omitempty"`
	// Freedom is the degrees of freedom of the Student-t distribution that bands are taken from; 0
	// for a normal one.
	Freedom float64 `json:"freedom,omitempty"`
	// Settings holds, where replicates show that noise differs between settings, λ of each
	// replicated setting, named by the first of its rounds; it replaces Lambda there. Wrong holds
	// the readings that their replicates contradict, each with a λ so large that it hardly counts.
	Settings []NoiseAt `json:"noise_by_setting,omitempty"`
	Wrong    []NoiseAt `json:"wrong_readings,omitempty"`
	Count    int       `json:"count"` // number of readings it was made from
}

// NoiseAt is λ of a round's reading, or of all readings at the settings of the round.
type NoiseAt struct {
	Round  int     `json:"number"`
	Lambda float64 `json:"lambda"`
}

// Engine is the version of the optimizer's rules, which every decision records. It changes whenever
// the same history could lead to a different suggestion. Decisions of another engine are not
// replayed.
const Engine = "30"

// Place is one point: its unit coordinates, and its index among the candidates (−1 without
// candidates).
type Place struct {
	U   []float64
	Arm int
}

// Model is one metric's prior and regression, as the next decision uses them. Fields with a JSON
// name are shown by the API.
type Model struct {
	Beta            *float64  `json:"beta"`             // the confidence width β_t; nil where the algorithm has no band of its own
	InformationGain float64   `json:"information_gain"` // ½ ln det(I + K/λ), nats
	Kernel          Kernel    `json:"-"`
	Lambda          float64   `json:"lambda"` // λ, modelled units
	Centre          float64   `json:"centre"`
	Scale           float64   `json:"scale"`
	Fitted          bool      `json:"fitted"` // hyperparameters come from a fit
	Scaled          bool      `json:"-"`      // the metric has a scale: see scaled
	Count           int       `json:"count"`  // readings in the posterior
	Warp            warp.Warp `json:"-"`
	Freedom         float64   `json:"freedom"`    // degrees of freedom of the bands, 0 for normal ones
	Inflation       float64   `json:"inflation"`  // see FittedMetric: Kernel.Variance and Lambda hold it
	Told            float64   `json:"told_scale"` // the fit's factor of the standard deviations told with readings; 1 for none
	// Settings and Wrong are the settings and readings with a λ of their own: see FittedMetric.
	Settings []NoiseAt `json:"-"`
	Wrong    []NoiseAt `json:"-"`
}

// Belief is the posterior of one metric's latent function at some places, in metric units.
type Belief struct {
	Mean, SD  []float64
	ReadingSD []float64 // of a reading at the place: the function's SD together with the noise
	// Lower and Upper bound the algorithm's own band, β standard deviations on each side of the
	// mean in modelled units, or the central 95 % where the algorithm has none.
	Lower, Upper     []float64
	Lower95, Upper95 []float64 // the central 95 %
}

// RoundTrace describes one round of the replayed history.
type RoundTrace struct {
	Beta            []float64 // per metric, as decision t used it
	Multipliers     []float64 // per constraint, before this round's feedback; nil for algorithms without
	InformationGain []float64 // per metric, of the data decision t saw
	Horizon         int       // T of the algorithm's constants, 0 where it is the number of rounds planned
	// Ahead holds, per metric, the one-step-ahead prediction of round t's reading in metric units,
	// from what decision t saw; its standard deviation includes the noise. It is nil where decision
	// t saw no reading, or the metric had no scale.
	Ahead []*Predicted

	breakChances []float64 // per cost, the chance that x_t breaks it, as decision t states it; 0 for a given one
	latentSD     []float64 // per metric, the latent standard deviation of Ahead in modelled units
	residuals    []float64 // per metric, (reading − mean)/sd of Ahead in modelled units; 0 without a reading
	uninflated   []float64 // per metric, the squared residual as it would be without inflation
	innovations  []float64 // per metric, see Calibration
	before       []int     // the rounds before t that were played at the same place
}

// Predicted is a predicted reading.
type Predicted struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Calibration compares the one-step-ahead predictions of a metric with its readings. Its JSON is
// the API's.
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

// Innovation is how far a round's reading lay above the prediction from all readings before it,
// noise included, as a normal deviate: Φ⁻¹ of the predicted probability of a lower reading.
type Innovation struct {
	Round int
	Z     float64
}

// LevelShift is the round from which on a metric's readings look most as if all of them had shifted
// by the same amount, whatever their settings. With A = K + Λ the covariance of the readings y that
// have arrived, in modelled units, u = 1 for those from τ on and 0 for those before, and the amount
// δ ~ N(0, s²), s² being the prior variance of the function,
//
//	ln B_τ = a²/2(b + 1/s²) − ½ ln(1 + s²b),   a = uᵀA⁻¹y,   b = uᵀA⁻¹u,
//
// is the log Bayes factor of a shift at τ against none (Kass and Raftery, 1995), the model being as
// it is. Whitened readings are cut at mostSurprise, so that no single one shows a shift by itself.
// The τ looked at leave 15 % of the readings on either side (Andrews: Tests for Parameter
// Instability and Structural Change With Unknown Change Point, 1993).
type LevelShift struct {
	Since  int     `json:"since"`  // the first round that was read from the likeliest moment on
	Rising bool    `json:"rising"` // readings lie higher from there on
	Factor float64 `json:"factor"` // the mean of B_τ over the τ looked at, since the true one is not known
	Limit  float64 `json:"limit"`  // ShiftLimit
}

// Coverage is the share of readings inside the central bands predicted for them; 0 without
// readings.
type Coverage struct {
	Count      int     `json:"count"`
	Coverage50 float64 `json:"coverage50"`
	Coverage80 float64 `json:"coverage80"`
	Coverage95 float64 `json:"coverage95"`
}

// Inside is how many readings fell inside the 95 % bands: Coverage95·Count, a whole number.
func (c Coverage) Inside() int { return int(math.Round(c.Coverage95 * float64(c.Count))) }

// Tally adds up by how much the trials broke one limit, over the trials whose value is known, in
// metric units. Excluded trials count: they happened.
//
//	Balance = Σ g,  Soft = [Σ g]⁺,  Hard = Σ [g]⁺,  Largest = max [g]⁺,  Rounds = #{g > 0},  Known = #{g}
//
// Its JSON is the API's.
type Tally struct {
	Balance float64 `json:"-"`
	Soft    float64 `json:"soft"`
	Hard    float64 `json:"hard"`
	Largest float64 `json:"largest"`
	Rounds  int     `json:"rounds"`
	Known   int     `json:"-"`
}

// Add counts one more trial, whose value lies beyond the limit by g.
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

// Violation is how far a constraint was broken, and what the model and the algorithm's theory say
// of it.
type Violation struct {
	Tally
	Estimated float64 // Σ_s E[g⁺(x_s)] over the same trials, by the model
	// Bound is the algorithm's bound on the violation; HasBound is false where it has none. Bounded
	// sums over the rounds that the bound is about, those that the algorithm chose.
	Bound    float64
	HasBound bool
	Bounded  Tally
}

// Decision is one choice and every number behind it, in modelled units unless said otherwise.
type Decision struct {
	Place       Place
	Beta        []float64 // per metric; nil where the algorithm has none
	Multipliers []float64 // per constraint; nil where the algorithm has none
	Horizon     int       // T of the algorithm's constants, 0 where it is the number of rounds planned
	Mean, SD    []float64 // per metric, metric units, latent, at the chosen point, arrived data only
	// Estimates are the values that the acquisition was computed from: the reward's, then one per
	// constraint.
	Estimates   []float64
	Acquisition float64
	HasScore    bool      // Acquisition is meaningful (false for space filling)
	RunnerUp    *RunnerUp // the best other point, nil if there was none
	Draw        Draw
	// FeasibilityProbability of the chosen point: P(g_j ≤ 0 for all j), latent, true thresholds.
	FeasibilityProbability float64
	// ExpectedImprovement is E[μ′(x) − μ′(x*)]⁺ in units of the objective, converted at x*, μ′
	// being the means after a reading at x and x* the incumbent, the point of round Incumbent. It
	// ignores the limits. Both are 0 for algorithms without an incumbent, and while there is none.
	ExpectedImprovement float64
	Incumbent           int
	// Works is the chance that the trial works; 0 where no trial has failed because of its
	// settings, and for published algorithms, which do not consider it.
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
	Logarithmic bool      // values are logarithms of what is maximised
	Values      []float64 // modelled units
	Allowed     []bool    // false: may not be chosen, its value is meaningless
	Argmax      int       // −1 when none may be chosen
}

// Known gives the values of Given constraints for one decision, in metric units: Arms[j][i] of
// constraint j at arm i, and At(j, u) at other points. Either may be nil where no constraint needs
// it.
type Known struct {
	Arms [][]float64
	At   func(constraint int, u []float64) float64
}
