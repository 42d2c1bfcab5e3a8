package optimizer

import "context"

// Place is one point to ask about: unit coordinates, and the candidate's index (−1 without candidates).
type Place struct {
	U   []float64
	Arm int
}

// Model is one metric's prior and regression as the next decision would use them.
type Model struct {
	Kernel          Kernel
	Lambda          float64 // λ, modelled units
	Centre, Scale   float64
	Fitted          bool    // hyperparameters come from a fit
	Count           int     // readings in the posterior
	Beta            float64 // the confidence width β_t; 0 for algorithms without one
	HasBeta         bool    // false where the algorithm has no band of its own
	InformationGain float64 // ½ ln det(I + K/λ), nats
}

// Belief is the posterior of one metric's latent function at some places, in metric units.
type Belief struct {
	Mean, SD []float64
	// Lower and Upper are the algorithm's own band, mean ∓ width·SD; 1.96 SD where it has none.
	Lower, Upper []float64
}

// RoundTrace is one round of the replayed history.
type RoundTrace struct {
	Beta            []float64 // per metric, as decision t used it
	Multipliers     []float64 // per constraint, before this round's feedback; nil for algorithms without
	InformationGain []float64 // per metric, of the data decision t saw
	// Ahead is, per metric, the one-step-ahead prediction of the reading of round t in metric units, made
	// from what decision t saw; its standard deviation includes the noise.
	Ahead []Prediction
}

// Prediction is a predicted reading.
type Prediction struct{ Mean, SD float64 }

// Calibration compares one-step-ahead predictions of a metric with what was read.
type Calibration struct {
	Count                              int
	Coverage50, Coverage80, Coverage95 float64   // share of readings inside the central band
	Residuals                          []float64 // (reading − mean)/sd, by round; NaN-free: rounds without a reading are left out
	ResidualRounds                     []int
}

// Violation is how far a constraint was broken, in metric units, over the trials whose value is known.
type Violation struct {
	Soft   float64 // [Σ c_t]⁺
	Hard   float64 // Σ [c_t]⁺
	Rounds int     // #{c_t > 0}
	Known  int     // number of trials counted
	// Estimated is the model's own Σ_s E[g⁺(x_s)] over the same trials.
	Estimated float64
	// Bound is the algorithm's bound on it; HasBound is false where there is none to draw.
	Bound     float64
	HasBound  bool
	Guarantee bool // the bound's assumptions are those in force; otherwise it shows a growth rate only
}

// Decision is one choice and every number behind it. Units are modelled unless said otherwise.
type Decision struct {
	Place Place
	// FirstDesign tells that the point comes from the space-filling start, not from the acquisition.
	FirstDesign bool
	Round       int
	Beta        []float64 // per metric; nil where the algorithm has none
	Multipliers []float64 // per constraint; nil where the algorithm has none
	Mean, SD    []float64 // per metric, metric units, latent, at the chosen point, arrived data only
	// Estimates are what the acquisition was computed from: the reward's estimate first, then one per constraint.
	Estimates   []float64
	Acquisition float64
	HasScore    bool // Acquisition is meaningful (false for space filling)
	// RunnerUp is the best point that differs from the chosen one, nil if there was none.
	RunnerUp *RunnerUp
	Draw     Draw
	// FeasibilityProbability of the chosen point: Π_j P(g_j ≤ 0), latent, true thresholds.
	FeasibilityProbability float64
	// Reason says which rule decided; Explain turns the decision into a sentence.
	Reason Reason
}

// RunnerUp is the second best point of a decision.
type RunnerUp struct {
	Place       Place
	Acquisition float64
}

// Reason is the rule that a decision followed.
type Reason string

const (
	ReasonFirstDesign Reason = "first-design" // spread over the space before a model exists
	ReasonOptimistic  Reason = "optimistic"   // best optimistic value among points that could be within every limit
	ReasonTradeOff    Reason = "trade-off"    // best optimistic value after the multipliers' price of possible violation
	ReasonLeastBad    Reason = "least-bad"    // nothing could be within the limits; the point closest to them
	ReasonExplore     Reason = "explore"      // chosen to learn where the limits lie
	ReasonSample      Reason = "sample"       // best in a random draw from the posterior
	ReasonImprove     Reason = "improve"      // largest expected improvement
	ReasonSpace       Reason = "space"        // space filling or random by design
	ReasonOwn         Reason = "own"          // a person's choice
)

// Scores is an acquisition over places.
type Scores struct {
	Values  []float64 // modelled units
	Allowed []bool    // false: may not be chosen, its value is meaningless
	Argmax  int       // −1 when none may be chosen
}

// State is what an algorithm makes of a history.
type State struct{}

// Replay plays history h into the algorithm of cfg and returns the state after it. cfg and h must be valid (package
// study checks what people typed); a Config that cannot be computed with, such as a covariance matrix that is not
// positive definite with its λ, is an error. The result is immutable and safe for concurrent use.
func Replay(cfg *Config, h *History) (*State, error) { panic("unwritten") }

// Extend is Replay(cfg, h), reusing what prior worked out where h agrees with prior's history. The result is the
// same to the last bit, except that windows and candidate updates may differ by 1e-9.
func (prior *State) Extend(h *History) (*State, error) { panic("unwritten") }

// Round is the number of the next decision.
func (s *State) Round() int { panic("unwritten") }

// Models returns one Model per metric, for the next decision.
func (s *State) Models() []Model { panic("unwritten") }

// Multipliers returns one per constraint, for the next decision, or nil for algorithms without.
func (s *State) Multipliers() []float64 { panic("unwritten") }

// Trace returns one entry per round.
func (s *State) Trace() []RoundTrace { panic("unwritten") }

// Calibrations returns one per metric.
func (s *State) Calibrations() []Calibration { panic("unwritten") }

// Violations returns one per constraint, after all rounds; ViolationTrace the running figures, [round][constraint].
func (s *State) Violations() []Violation       { panic("unwritten") }
func (s *State) ViolationTrace() [][]Violation { panic("unwritten") }

// Posterior returns one Belief per metric, from the data that arrived. A metric that serves several raw
// constraints is regressed towards the threshold of the first.
func (s *State) Posterior(at []Place) []Belief { panic("unwritten") }

// FeasibilityProbability returns Π_j P(g_j(x) ≤ 0) over the learned constraints (latent function, true thresholds);
// known, when not nil, holds for each place one value per constraint in metric units for the Given ones.
func (s *State) FeasibilityProbability(at []Place, known [][]float64) []float64 { panic("unwritten") }

// Recommendation returns the round of the told, included point with the highest posterior mean reward among those whose
// feasibility probability is at least 0.9, or 0 if there is none.
func (s *State) Recommendation() int { panic("unwritten") }

// Known gives the values of Given constraints for one decision, in metric units: for arms, Arms[j][i] is
// constraint j at arm i; elsewhere At(j, u). Either may be nil when no constraint needs it.
type Known struct {
	Arms [][]float64
	At   func(constraint int, u []float64) float64
}

// Suggest makes the next decision. The error is ErrNoneAllowed when the algorithm may choose nothing.
func (s *State) Suggest(ctx context.Context, known Known) (Decision, error) { panic("unwritten") }

// Own returns the decision record of a point that somebody else chose as the next round.
func (s *State) Own(at Place, known Known) Decision { panic("unwritten") }

// Acquisition returns what the next Suggest would maximise, at the given places.
func (s *State) Acquisition(at []Place, known Known) Scores { panic("unwritten") }

// FitDue tells whether the next decision should be preceded by a fit, and FitNow makes it. FitNow obeys ctx.
func (s *State) FitDue() bool                            { panic("unwritten") }
func (s *State) FitNow(ctx context.Context) (Fit, error) { panic("unwritten") }
