package study

// What the replayed state says, in physical units, keyed by metric and constraint name. The JSON is that of the API.

// Readout is GET …/state.
type Readout struct {
	Version        int64                   `json:"version"`
	Round          int                     `json:"round"` // of the next decision
	Algorithm      string                  `json:"algorithm"`
	Metrics        map[string]MetricState  `json:"metrics"`
	Multipliers    map[string]float64      `json:"multipliers"` // {} for algorithms without
	Calibration    map[string]Calibration  `json:"calibration"`
	Recommendation *Recommendation         `json:"recommendation"`
	Violation      map[string]ViolationOut `json:"violation"`
	FitPending     bool                    `json:"fit_pending"`
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
}

type KernelReadout struct {
	Name         string             `json:"name"`
	Lengthscales map[string]float64 `json:"lengthscales,omitempty"` // by parameter, in kernel inputs
	Variance     float64            `json:"variance"`
}

type Calibration struct {
	Count        int     `json:"count"`
	Coverage50   float64 `json:"coverage50"`
	Coverage80   float64 `json:"coverage80"`
	Coverage95   float64 `json:"coverage95"`
	ResidualMean float64 `json:"residual_mean"`
	ResidualSD   float64 `json:"residual_sd"`
}

type Recommendation struct {
	Number                 int                `json:"number"`
	Parameters             Settings           `json:"parameters"`
	Mean                   map[string]float64 `json:"mean"`
	SD                     map[string]float64 `json:"sd"`
	FeasibilityProbability float64            `json:"feasibility_probability"`
}

type ViolationOut struct {
	Soft      float64  `json:"soft"`
	Hard      float64  `json:"hard"`
	Rounds    int      `json:"rounds"`
	Estimated *float64 `json:"estimated"`
	Bound     *float64 `json:"bound"`
	BoundKind string   `json:"bound_kind,omitempty"` // "guarantee" or "growth rate only, no guarantee"
}

// Posterior is POST …/posterior.
type Posterior struct {
	Metrics                map[string]Band `json:"metrics"`
	FeasibilityProbability []float64       `json:"feasibility_probability"`
}

// Band is a metric's posterior at some points: latent function, physical units.
type Band struct {
	Mean    []float64 `json:"mean"`
	SD      []float64 `json:"sd"`
	Lower   []float64 `json:"lower"` // the algorithm's own band
	Upper   []float64 `json:"upper"`
	Lower95 []float64 `json:"lower95"`
	Upper95 []float64 `json:"upper95"`
}

// AcquisitionQuery is the body of POST …/acquisition.
type AcquisitionQuery struct {
	Points           []Settings           `json:"points,omitempty"` // default: the candidates
	Context          map[string]float64   `json:"context,omitempty"`
	ConstraintValues map[string][]float64 `json:"constraint_values,omitempty"`
}

// Acquisition is its answer. A nil value may not be chosen.
type Acquisition struct {
	Values      []*float64         `json:"values"`
	Argmax      *int               `json:"argmax"`
	Beta        map[string]float64 `json:"beta"`
	Multipliers map[string]float64 `json:"multipliers"`
}

// HistoryRow is one round of GET …/history.
type HistoryRow struct {
	Number          int                     `json:"number"`
	Origin          Origin                  `json:"origin"`
	Status          Status                  `json:"status"`
	Excluded        bool                    `json:"excluded"`
	Feasible        *bool                   `json:"feasible"`
	Parameters      Settings                `json:"parameters"`
	Values          map[string]float64      `json:"values"`
	Beta            map[string]float64      `json:"beta"`
	Multipliers     map[string]float64      `json:"multipliers"`
	Ahead           map[string]Predicted    `json:"ahead"` // one-step-ahead, with noise
	InformationGain map[string]float64      `json:"information_gain"`
	Violation       map[string]ViolationOut `json:"violation"` // running
}

type Predicted struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Choice is one algorithm's choice on the same history.
type Choice struct {
	Name       string   `json:"name"`
	Parameters Settings `json:"parameters"`
	Because    string   `json:"because"`
}

// Verification is POST …/verify.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
}

type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}

// Slice is the posterior along one parameter, the others held.
type Slice struct {
	Parameter string          `json:"parameter"`
	At        []Value         `json:"at"`
	Metrics   map[string]Band `json:"metrics"`
	Feasible  []float64       `json:"feasibility_probability"`
}

// Map is the posterior over two parameters: row i is Y[i], column j is X[j].
type Map struct {
	X, Y     []Value
	Mean     map[string][][]float64
	SD       map[string][][]float64
	Feasible [][]float64
}
