package study

import (
	"context"
	"io"
	"time"
)

// Service is what the program does with studies: every write goes through it, every page and answer reads from it.
// All methods are safe for concurrent use. Writes return *Invalid for faulty input, the errors of errors.go, and *AlreadyAnswered.
type Service struct {
	// store, snapshot cache (by study, bounded in bytes), singleflight, replay semaphore, background fitter
}

// NewService …; now is the clock (time.Now in production).
func NewService(store Store, options Options) *Service { panic("unwritten") }

type Options struct {
	Now        func() time.Time
	CacheBytes int64 // for snapshots and replayed states; default 1 GiB
	Replays    int   // concurrent replays; default GOMAXPROCS
}

// --- reading

// Snapshot returns the study after event at, or now when at is 0. at > version is *Invalid at location "query.at".
func (s *Service) Snapshot(ctx context.Context, id string, at int64) (*Snapshot, error) {
	panic("unwritten")
}
func (s *Service) Summaries(ctx context.Context, ids []string) ([]Summary, error) { panic("unwritten") }
func (s *Service) Events(ctx context.Context, id string, after int64, limit int) ([]Event, error) {
	panic("unwritten")
}

// The replayed state of a snapshot, worked out at most once for each version, cached and extended.
func (s *Service) StateOf(ctx context.Context, snap *Snapshot) (Readout, error) { panic("unwritten") } // GET /state
func (s *Service) PosteriorAt(ctx context.Context, snap *Snapshot, points []Settings) (Posterior, error) {
	panic("unwritten")
} // POST /posterior
func (s *Service) AcquisitionAt(ctx context.Context, snap *Snapshot, q AcquisitionQuery) (Acquisition, error) {
	panic("unwritten")
} // POST /acquisition
func (s *Service) HistoryOf(ctx context.Context, snap *Snapshot) ([]HistoryRow, error) {
	panic("unwritten")
} // GET /history
func (s *Service) Compare(ctx context.Context, snap *Snapshot, with []Algorithm) ([]Choice, error) {
	panic("unwritten")
}                                                                              // POST /compare
func (s *Service) Verify(ctx context.Context, id string) (Verification, error) { panic("unwritten") } // POST /verify

// Slices and Map are what the charts draw: the posterior along each parameter through a point, and over two parameters.
func (s *Service) Slices(ctx context.Context, snap *Snapshot, through Settings, samples int) ([]Slice, error) {
	panic("unwritten")
}
func (s *Service) Map(ctx context.Context, snap *Snapshot, x, y string, pins Settings, samples int) (Map, error) {
	panic("unwritten")
}

// --- writing

func (s *Service) Create(ctx context.Context, cmd Command, def Definition) (*Snapshot, error) {
	panic("unwritten")
}
func (s *Service) Edit(ctx context.Context, cmd Command, id string, edit EditedData) (*Snapshot, error) {
	panic("unwritten")
}
func (s *Service) Reconfigure(ctx context.Context, cmd Command, id string, change Reconfiguration) (*Snapshot, error) {
	panic("unwritten")
}
func (s *Service) Ask(ctx context.Context, cmd Command, id string, ask Ask) (*Snapshot, []int, error) {
	panic("unwritten")
}
func (s *Service) AddTrial(ctx context.Context, cmd Command, id string, own OwnTrial) (*Snapshot, int, error) {
	panic("unwritten")
}
func (s *Service) Replicate(ctx context.Context, cmd Command, id string, number int) (*Snapshot, int, error) {
	panic("unwritten")
}
func (s *Service) Tell(ctx context.Context, cmd Command, id string, told []Telling) (*Snapshot, error) {
	panic("unwritten")
} // all or none
func (s *Service) Correct(ctx context.Context, cmd Command, id string, c Correction) (*Snapshot, error) {
	panic("unwritten")
}
func (s *Service) PreviewCorrection(ctx context.Context, id string, c Correction) (Impact, error) {
	panic("unwritten")
}
func (s *Service) Close(ctx context.Context, cmd Command, id string, kind Kind, number int, reason string) (*Snapshot, error) {
	panic("unwritten")
} // Failed, Abandoned, Excluded, Included
func (s *Service) ImportCSV(ctx context.Context, cmd Command, id string, file io.Reader, opt ImportOptions) (ImportResult, error) {
	panic("unwritten")
}
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*Snapshot, error) {
	panic("unwritten")
}

// --- what enters

// Ask asks for Count suggestions, each a round of its own.
type Ask struct {
	Count            int                  `json:"count,omitempty"` // 0 means 1; at most 50
	Context          map[string]float64   `json:"context,omitempty"`
	ConstraintValues map[string][]float64 `json:"constraint_values,omitempty"`
}

// OwnTrial is a person's own choice, with results if they are there already.
type OwnTrial struct {
	Parameters       Settings             `json:"parameters"`
	Metrics          map[string]Reading   `json:"metrics,omitempty"`
	Note             string               `json:"note,omitempty"`
	Context          map[string]float64   `json:"context,omitempty"`
	ConstraintValues map[string][]float64 `json:"constraint_values,omitempty"`
}

// Telling reports results of one trial. Faults are located under Location ("body" or "body.trials[3]").
type Telling struct {
	Number     int                `json:"number"`
	Metrics    map[string]Reading `json:"metrics"`
	Parameters Settings           `json:"parameters,omitempty"`
	ObservedAt *time.Time         `json:"observed_at,omitempty"`
	Note       string             `json:"note,omitempty"`
	Location   string             `json:"-"`
}

// Correction changes what was told. A nil reading takes the value back.
type Correction struct {
	Number     int                 `json:"number"`
	Metrics    map[string]*Reading `json:"metrics,omitempty"`
	Parameters Settings            `json:"parameters,omitempty"`
	Reason     string              `json:"reason"`
}

// Impact is what a correction would change, before it is made.
type Impact struct {
	Trial          Trial                      `json:"trial"`       // as it would be
	Multipliers    map[string][2]float64      `json:"multipliers"` // before, after
	Violation      map[string][2]ViolationOut `json:"violation"`
	Recommendation [2]*Recommendation         `json:"recommendation"`
	DecisionsAfter int                        `json:"decisions_after"` // decisions that had seen the old value
	NextBefore     *Settings                  `json:"next_before"`     // what the next ask would suggest
	NextAfter      *Settings                  `json:"next_after"`
}

// Reconfiguration changes parts of the definition; nil parts stay.
type Reconfiguration struct {
	Parameters       []Parameter        `json:"parameters,omitempty"`  // same names and types: units, bounds, choices
	Constraints      []Constraint       `json:"constraints,omitempty"` // thresholds, by name
	Objective        *Objective         `json:"objective,omitempty"`   // unit
	Algorithm        *Algorithm         `json:"algorithm,omitempty"`
	Model            *Model             `json:"model,omitempty"`
	InputConstraints *[]string          `json:"input_constraints,omitempty"`
	Unavailable      map[string][]Value `json:"unavailable,omitempty"`
	Reason           string             `json:"reason"`
}

// ImportOptions are those of POST …/import.
type ImportOptions struct{ DryRun, IgnoreUnknown bool }

// ImportResult says what was, or would be, imported.
type ImportResult struct {
	Snapshot       *Snapshot `json:"-"`
	Rows           int       `json:"rows"`
	Numbers        []int     `json:"numbers"`
	UnknownColumns []string  `json:"unknown_columns,omitempty"`
	DryRun         bool      `json:"dry_run"`
}
