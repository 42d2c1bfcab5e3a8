package study

import (
	"encoding/json"
	"fmt"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// What the replayed state says, in physical units, keyed by metric and constraint name. The JSON is
// that of the API.

// Readout is what the next decision would use, and what can be said of the study so far.
type Readout struct {
	Version        int64                  `json:"version"`
	Round          int                    `json:"round"` // of the next decision
	Algorithm      string                 `json:"algorithm"`
	Metrics        map[string]MetricState `json:"metrics"`
	Multipliers    map[string]float64     `json:"multipliers"` // {} for algorithms without
	AtCeiling      []string               `json:"at_ceiling"`  // constraints whose multiplier is as large as the algorithm lets it be
	Calibration    map[string]Calibration `json:"calibration"`
	Recommendation *Recommendation        `json:"recommendation"`
	// Undecided is what is recommended, where it is not known enough to be within the limits, else
	// what looks better without being known to be.
	Undecided  *Undecided              `json:"undecided"`
	Works      WorksState              `json:"works"`
	Violation  map[string]ViolationOut `json:"violation"`
	Regret     *RegretOut              `json:"regret,omitempty"` // absent where the algorithm draws no bound on it
	Risk       *Risk                   `json:"risk"`             // of breaking any limit, where most_risk is one number for several; null otherwise
	FitPending bool                    `json:"fit_pending"`
	Notes      []string                `json:"notes"`  // see Notes
	Health     []Finding               `json:"health"` // see Health
}

// WorksState is what is known of where trials work. Those that failed by chance, were abandoned,
// excluded or wait do not count.
type WorksState struct {
	Failed int      `json:"failed"` // because of their settings
	Of     int      `json:"of"`     // those and the trials that worked
	Chance *float64 `json:"chance"` // at what is recommended, 1 while none has failed; null without a recommendation, and from published algorithms that take no account of failures
}

type MetricState struct {
	Beta            *float64      `json:"beta"`
	InformationGain float64       `json:"information_gain"`
	Kernel          KernelReadout `json:"kernel"`
	Lambda          float64       `json:"lambda"`
	Centre          float64       `json:"centre"`
	Scale           float64       `json:"scale"`
	Fitted          bool          `json:"fitted"`
	Count           int           `json:"count"`
	// Freedom is the degrees of freedom of the bands, 0 for normal ones; Inflation the part of
	// variance and lambda that earlier predictions' errors asked for; Warp how standardised
	// readings are warped, null where they are not.
	Freedom   float64      `json:"freedom"`
	Inflation float64      `json:"inflation"`
	Warp      *ledger.Warp `json:"warp"`
	// Where noise differs by setting, its standard deviation in the metric's units, by the first
	// trial of each setting with replicates; and the trials whose readings their replicates
	// contradict.
	NoiseBySetting []NoiseSD `json:"noise_by_setting"`
	WrongReadings  []int     `json:"wrong_readings"`
}

// NoiseSD is the noise of a trial's settings, in the metric's units.
type NoiseSD struct {
	Number int     `json:"number"`
	SD     float64 `json:"sd"`
}

type KernelReadout struct {
	Name         string             `json:"name"`
	Lengthscales map[string]float64 `json:"lengthscales,omitempty"` // by parameter, in kernel inputs
	Variance     float64            `json:"variance"`
	Interaction  float64            `json:"interaction,omitempty"` // of anova: 0 a sum over the parameters, 1 their product
}

// Calibration compares one-step-ahead predictions with what was read: over all readings, and apart
// for settings read for the first time and for repeated ones, of which more is known. Residuals are
// in standard deviations.
type Calibration struct {
	Coverage
	New          Coverage `json:"new"`
	Repeated     Coverage `json:"repeated"`
	ResidualMean float64  `json:"residual_mean"`
	ResidualSD   float64  `json:"residual_sd"`
	// Residuals are those of each reading, by trial.
	Residuals []Residual `json:"-"`
}

// Residual is how many standard deviations a trial's reading came out above its prediction, noise
// included.
type Residual struct {
	Number int
	Z      float64
}

// Coverage is how many readings there are and which share of them fell into the central bands
// predicted for them.
type Coverage struct {
	Count      int     `json:"count"`
	Coverage50 float64 `json:"coverage50"`
	Coverage80 float64 `json:"coverage80"`
	Coverage95 float64 `json:"coverage95"`
}

// Undecided is settings of which Readings more would tell whether they can be recommended, should
// they leave the expected values as they are; null when a thousand would not.
type Undecided struct {
	Recommendation
	Readings *int `json:"readings"`
}

type Recommendation struct {
	Number     int             `json:"number"`
	Parameters design.Settings `json:"parameters"`
	Believed
}

// Believed is what the model says of some settings, by metric: the value there without the noise of
// readings, with its central 95 % band, and the standard deviation of a reading, noise included.
type Believed struct {
	Mean                   map[string]float64 `json:"mean"`
	SD                     map[string]float64 `json:"sd"`
	Lower95                map[string]float64 `json:"lower95"`
	Upper95                map[string]float64 `json:"upper95"`
	ReadingSD              map[string]float64 `json:"reading_sd"`
	FeasibilityProbability float64            `json:"feasibility_probability"`
}

type ViolationOut struct {
	Soft      float64  `json:"soft"`
	Hard      float64  `json:"hard"`
	Largest   float64  `json:"largest"`
	Rounds    int      `json:"rounds"`
	Estimated *float64 `json:"estimated"`
	Bound     *float64 `json:"bound"`
	BoundKind *string  `json:"bound_kind"`     // "guarantee" only while no assumption of the theorem is known not to hold, else "growth"; null without a bound
	BoundWhy  *string  `json:"bound_why"`      // what it is worth and why, in a sentence; null without a bound
	Left      *float64 `json:"left,omitempty"` // the bound less what it bounds so far, by the readings of the algorithm's own trials; absent without a bound
	Risk      *Risk    `json:"risk,omitempty"`
}

// RegretOut is the bound on cumulative regret over the algorithm's own trials, in units of the
// objective, and its worth as ViolationOut has it.
type RegretOut struct {
	Bound     *float64 `json:"bound"`
	BoundKind string   `json:"bound_kind"`
	BoundWhy  string   `json:"bound_why"`
}

// Posterior is what is believed at points. Where Unread names a metric, all that is said of it is
// its prior, and JSON has null in its place; so with the chance, where the metric has a limit.
type Posterior struct {
	Metrics                map[string]Band `json:"metrics"`
	FeasibilityProbability Series          `json:"feasibility_probability"`
	Works                  Series          `json:"-"` // the chance that a trial works; nil while that was never taught
	Unread                 map[string]bool `json:"-"` // metrics that were never read
	Uncertain              bool            `json:"-"` // one of them has a limit that is learned
}

// Series are numbers by point, each null in JSON where nothing is known.
type Series []float64

// MarshalJSON puts null for what was never read.
func (p Posterior) MarshalJSON() ([]byte, error) {
	out := struct {
		Metrics                map[string]map[string][]*float64 `json:"metrics"`
		FeasibilityProbability []*float64                       `json:"feasibility_probability"`
	}{map[string]map[string][]*float64{}, p.FeasibilityProbability.orNulls(p.Uncertain)}
	for name, b := range p.Metrics {
		of := map[string][]*float64{}
		for field, series := range map[string]Series{"mean": b.Mean, "sd": b.SD, "lower": b.Lower, "upper": b.Upper, "lower95": b.Lower95, "upper95": b.Upper95} {
			of[field] = series.orNulls(p.Unread[name])
		}
		out.Metrics[name] = of
	}
	return json.Marshal(out)
}

func (s Series) orNulls(unread bool) []*float64 {
	list := make([]*float64, len(s))
	for i := range s {
		if !unread {
			list[i] = &s[i]
		}
	}
	return list
}

// Band is a metric's posterior at some points: latent function, physical units.
type Band struct {
	Mean    Series `json:"mean"`
	SD      Series `json:"sd"`
	Lower   Series `json:"lower"` // the algorithm's own band
	Upper   Series `json:"upper"`
	Lower95 Series `json:"lower95"`
	Upper95 Series `json:"upper95"`
}

// AcquisitionQuery asks what a decision would make of points.
type AcquisitionQuery struct {
	Points []design.Settings `json:"points,omitempty"` // default: the candidates
	design.Brought
}

// Acquisition is its answer. A nil value may not be chosen.
type Acquisition struct {
	Values      []*float64         `json:"values"`
	Argmax      *int               `json:"argmax"`
	Beta        map[string]float64 `json:"beta"`
	Multipliers map[string]float64 `json:"multipliers"`
}

// Choice is one algorithm's choice on the same history.
type Choice struct {
	Name       string           `json:"name"`
	Parameters *design.Settings `json:"parameters"` // nil when it chooses nothing
	Because    string           `json:"because"`
}

// Notes are sentences on what a reader of the study's figures has to know: that nobody measured
// them, what the algorithm does not keep, and what failed.
func Notes(snap *ledger.Snapshot) []string {
	notes := []string{}
	if lab := snap.Definition.SimulatedLab; lab != "" {
		notes = append(notes, fmt.Sprintf("Simulated: the readings come from the problem %s of the simulator, not from a laboratory.", lab))
	}
	if algorithm, _ := policy.Find(snap.Definition.Algorithm.Name); algorithm.Beware != "" && len(snap.Definition.Constraints) > 0 {
		notes = append(notes, algorithm.Beware)
	}
	failed := 0
	for _, t := range snap.Trials {
		if t.Cause == ledger.BySettings && !t.Excluded {
			failed++
		}
	}
	if failed > 0 {
		said := "suggestions weigh the chance that a trial works"
		if snap.Compiled().Config.Paper {
			said = "the published algorithm takes no account of that, but does not ask for the same settings again"
		}
		notes = append(notes, fmt.Sprintf("%d of %d trials failed because of their settings; %s.", failed, len(snap.Trials), said))
	}
	return notes
}

func finiteOrNil(x float64) *float64 {
	if !design.Finite(x) {
		return nil
	}
	return &x
}

// Risk is the account of most_risk, for one limit or for all together: how many of the trials that
// the model chooses may be beyond it, and how many are.
type Risk struct {
	Most     float64 `json:"most"`     // share of them that may be
	Trials   int     `json:"trials"`   // of the model's: made so far and still planned
	Allowed  float64 `json:"allowed"`  // trials that may be beyond
	Expected float64 `json:"expected"` // trials that would be, by the chances stated when those made so far were chosen
	SoFar    int     `json:"so_far"`   // trials whose reading was
	Now      float64 `json:"now"`      // the largest chance that the next suggestion may have
}
