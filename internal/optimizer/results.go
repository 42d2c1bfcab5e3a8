package optimizer

import "headroom/internal/optimizer/warp"

// Place is one point to ask about: unit coordinates, and the candidate's index (−1 without
// candidates).
type Place struct {
	U   []float64
	Arm int
}

// Model is one metric's prior and regression as the next decision would use them.
type Model struct {
	Kernel        Kernel
	Lambda        float64 // λ, modelled units
	Centre, Scale float64
	Warp          warp.Warp
	Inflation     float64 // see FittedMetric: Kernel.Variance and Lambda hold it
	Freedom       float64 // degrees of freedom of the bands, 0 for normal ones
	// Settings and Wrong are the settings and readings with a λ of their own: see FittedMetric.
	Settings, Wrong []NoiseAt
	Fitted          bool    // hyperparameters come from a fit
	Count           int     // readings in the posterior
	Beta            float64 // the confidence width β_t; 0 for algorithms without one
	HasBeta         bool    // false where the algorithm has no band of its own
	InformationGain float64 // ½ ln det(I + K/λ), nats
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
	// units, made from what decision t saw; its standard deviation includes the noise.
	Ahead []Prediction

	breaks    []float64 // per cost, the chance stated at decision t that it is broken, 0 of a given one
	latent    []float64 // per metric, the latent standard deviation of Ahead in modelled units
	residuals []float64 // per metric, (reading − mean)/sd of Ahead in modelled units; 0 without a reading
	before    []int     // the rounds before t that were played at the same place
}

// Prediction is a predicted reading.
type Prediction struct{ Mean, SD float64 }

// Calibration compares one-step-ahead predictions of a metric with what was read.
type Calibration struct {
	Coverage                 // of all readings
	New, Repeated  Coverage  // of the first reading at a setting, and of those where earlier ones were seen
	Residuals      []float64 // (reading − mean)/sd in modelled units, by round; NaN-free: rounds without a reading are left out
	ResidualRounds []int
}

// Coverage is the share of readings that fell inside the central bands predicted for them; 0
// without readings.
type Coverage struct {
	Count                              int
	Coverage50, Coverage80, Coverage95 float64
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
	Place Place
	// FirstDesign tells that the point comes from the space-filling start, not from the
	// acquisition.
	FirstDesign bool
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
	// FeasibilityProbability of the chosen point: Π_j P(g_j ≤ 0), latent, true thresholds.
	FeasibilityProbability float64
	// ExpectedImprovement is E[f(x) − f(x*)]⁺ in units of the objective, brought there at the
	// incumbent x*, the point of round Incumbent; 0 and 0 for algorithms that do not compare, and
	// while there is none.
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
