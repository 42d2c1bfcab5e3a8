package study

import "time"

// Snapshot is a study as it was after one ledger event: the fold of the events up to Version. It is immutable and
// shared; nobody may write to what it holds.
type Snapshot struct {
	ID         string
	Definition Definition
	State      State
	Version    int64  // seq of the last event folded in
	Hash       string // of that event
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Trials     []Trial // trial number n at index n−1
	Fits       []FittedData

	// at is set when this is a time-travel view of a study that has gone on.
	// plus unexported: compiled definition, replayed optimizer state (once, de-duplicated)
}

// Status says how far a trial is.
type Status string

const (
	StatusSuggested Status = "suggested" // chosen (by anybody), nothing told yet
	StatusPartial   Status = "partial"   // some metrics told
	StatusCompleted Status = "completed" // all modelled metrics told (recorded metrics do not count)
	StatusFailed    Status = "failed"
	StatusAbandoned Status = "abandoned"
)

// Trial is one round as it stands now. Its JSON is that of the API.
type Trial struct {
	Number           int                    `json:"number"`
	Round            int                    `json:"round"`
	Origin           Origin                 `json:"origin"`
	Status           Status                 `json:"status"`
	Excluded         bool                   `json:"excluded"`
	Parameters       Settings               `json:"parameters"`
	Metrics          map[string]Measurement `json:"metrics"`
	Feasible         *bool                  `json:"feasible"`
	Decision         *Decision              `json:"decision"`
	Note             string                 `json:"note"`
	Reason           string                 `json:"reason,omitempty"` // of failing, abandoning or excluding
	ReplicateOf      int                    `json:"replicate_of,omitempty"`
	Candidate        *int                   `json:"candidate,omitempty"`
	Context          map[string]float64     `json:"context,omitempty"`
	ConstraintValues map[string][]float64   `json:"-"`
	SettingsChanged  bool                   `json:"settings_changed"` // differ from those chosen
	CreatedAt        time.Time              `json:"created_at"`
	By               string                 `json:"by"`
	ChosenSeq        int64                  `json:"-"`
	Seen             int64                  `json:"-"`
}

// Measurement is a metric's value in a trial as it stands now.
type Measurement struct {
	Value      float64    `json:"value"`
	StdDev     *float64   `json:"stddev,omitempty"`
	Headroom   *float64   `json:"headroom,omitempty"` // distance to the nearest limit on this metric, negative when broken
	ObservedAt *time.Time `json:"observed_at,omitempty"`
	ToldAt     time.Time  `json:"told_at"`
	By         string     `json:"by"`
	Corrected  bool       `json:"corrected"`
	Original   *float64   `json:"original,omitempty"` // the first value told, when corrected
	Known      bool       `json:"known,omitempty"`    // came with the decision, not from a reading
	ToldSeq    int64      `json:"-"`
}
