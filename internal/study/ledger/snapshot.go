package ledger

import (
	"slices"
	"time"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// Snapshot is a study as it was after one ledger event: the fold of the events up to Version. It is
// immutable and shared; nobody may write to what it holds.
type Snapshot struct {
	ID         string
	Definition design.Definition
	State      State
	Version    int64  // seq of the last event folded in
	Hash       string // of that event
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Trials     []*Trial // trial number n at index n−1; versions share those that no event between them touched
	Fits       []FittedData
	Bytes      int64      // of the events’ data
	Revisions  []Revision // in the order of the ledger, its first event among them

	compiled  *design.Compiled
	records   []*record        // trial number n at index n−1
	values    valuesByHash     // brought by choices
	defined   int64            // seq of the event that set the definition's algorithmic part
	rewritten int64            // seq of the last event that changed the past or the model, after which earlier fits no longer apply
	fitted    int64            // seq of the last Fitted event
	ranges    map[string]Range // of the readings of each metric; nil when they are to be gathered again
}

// State is what may be done with a study.
type State string

const (
	Open     State = "open"
	Paused   State = "paused"
	Finished State = "finished"
	Archived State = "archived"
)

// Valid tells whether s is one of the states.
func (s State) Valid() bool {
	return s == Open || s == Paused || s == Finished || s == Archived
}

// Over tells whether no further trial will be asked for.
func (s State) Over() bool { return s == Finished || s == Archived }

// record is what the fold keeps of a trial beyond what people are shown.
type record struct {
	chosen design.Settings    // as chosen; Trial.Parameters are those used
	place  optimizer.Place    // of Trial.Parameters under the present definition
	known  map[string]float64 // values of known constraints at the point, by constraint name
	spells []spell            // when the trial was failed or abandoned
	events []int64            // seqs of the events about the trial
}

// spell is the events during which a trial was closed: from ≤ seq < to; to = 0 while it still is.
type spell struct {
	from, to int64
	cause    optimizer.Cause
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

// Known tells whether s is a status that trials have.
func (s Status) Known() bool {
	return slices.Contains([]Status{StatusSuggested, StatusPartial, StatusCompleted, StatusFailed, StatusAbandoned}, s)
}

// Trial is one round as it stands now. Its JSON is that of the API.
type Trial struct {
	Number           int                    `json:"number"`
	Round            int                    `json:"round"`
	Origin           Origin                 `json:"origin"`
	Status           Status                 `json:"status"`
	Excluded         bool                   `json:"excluded"`
	Parameters       design.Settings        `json:"parameters"`
	Metrics          map[string]Measurement `json:"metrics"`
	Feasible         *bool                  `json:"feasible"`
	Decision         *Decision              `json:"decision"`
	Note             string                 `json:"note"`
	Reason           string                 `json:"reason,omitempty"` // of failing, abandoning or excluding
	Cause            Cause                  `json:"cause,omitempty"`  // of failing
	ReplicateOf      int                    `json:"replicate_of,omitempty"`
	Candidate        *int                   `json:"candidate,omitempty"`
	Context          map[string]float64     `json:"context,omitempty"`
	ConstraintValues map[string][]float64   `json:"-"`
	SettingsChanged  bool                   `json:"settings_changed"` // differ from those chosen
	Doubts           []Doubted              `json:"doubts,omitempty"` // what nobody has confirmed of what looks odd
	CreatedAt        time.Time              `json:"created_at"`
	By               string                 `json:"by"`
	ChosenSeq        int64                  `json:"-"`
	Seen             int64                  `json:"-"`
}

// Measurement is a metric's value in a trial as it stands now.
type Measurement struct {
	Value      float64    `json:"value"`
	StdDev     *float64   `json:"stddev"`
	Headroom   *float64   `json:"headroom,omitempty"` // distance to the nearest limit on this metric, negative when broken
	ObservedAt *time.Time `json:"observed_at"`
	ToldAt     time.Time  `json:"told_at"`
	By         string     `json:"by"`
	Corrected  bool       `json:"corrected"`
	Original   *float64   `json:"original,omitempty"` // the first value told, when corrected
	Known      bool       `json:"known,omitempty"`    // came with the decision, not from a reading
	ToldSeq    int64      `json:"-"`
	Author     string     `json:"-"` // see Event
}

// Trial returns trial number, or nil if there is none.
func (snap *Snapshot) Trial(number int) *Trial {
	if number < 1 || number > len(snap.Trials) {
		return nil
	}
	return snap.Trials[number-1]
}

// EventsOf lists the seqs of the events about trial number, its choice first.
func (snap *Snapshot) EventsOf(number int) []int64 { return snap.records[number-1].events }

// Compiled is the definition made ready to compute with.
func (snap *Snapshot) Compiled() *design.Compiled { return snap.compiled }

// Place is where trial number lies under the present definition.
func (snap *Snapshot) Place(number int) optimizer.Place { return snap.records[number-1].place }

// KnownValues are the values of known constraints at trial number's settings, by constraint name.
func (snap *Snapshot) KnownValues(number int) map[string]float64 { return snap.records[number-1].known }

// SameDefinition tells whether what matters to the algorithm was defined by the same event of the
// same study in both.
func (snap *Snapshot) SameDefinition(other *Snapshot) bool { return snap.defined == other.defined }

// Brought is what the caller brought when the trial was chosen.
func (t *Trial) Brought() design.Brought {
	return design.Brought{Context: t.Context, ConstraintValues: t.ConstraintValues}
}

// Waiting tells whether results of the trial are still expected.
func (t *Trial) Waiting() bool { return t.Status == StatusSuggested || t.Status == StatusPartial }

// WaitingTrials lists the trials whose results are still expected, oldest first.
func (snap *Snapshot) WaitingTrials() []Trial {
	var waiting []Trial
	for i := range snap.Trials {
		if snap.Trials[i].Waiting() {
			waiting = append(waiting, *snap.Trials[i])
		}
	}
	return waiting
}

// BestSoFar gives, for each trial, the number of the best trial up to it: the best told objective
// among included trials known to be within every limit; 0 while there is none. The earlier wins a
// tie.
func (snap *Snapshot) BestSoFar() []int {
	best, bestValue := 0, 0.0
	running := make([]int, len(snap.Trials))
	for i := range snap.Trials {
		if value, counts := snap.score(i); counts && (best == 0 || snap.Definition.Objective.Better(value, bestValue)) {
			best, bestValue = i+1, value
		}
		running[i] = best
	}
	return running
}

// score is the objective's value of trial i, if the trial may be the best: it is included, known to
// be within every limit, and not in doubt.
func (snap *Snapshot) score(i int) (value float64, counts bool) {
	t := snap.Trials[i]
	if t.Excluded || t.Feasible == nil || !*t.Feasible || len(t.Doubts) > 0 {
		return 0, false
	}
	m, told := t.Metrics[snap.Definition.Objective.Metric]
	return m.Value, told
}

// Best is the best trial so far, nil while none is known to be within every limit.
func (snap *Snapshot) Best() *Trial {
	if len(snap.Trials) == 0 {
		return nil
	}
	running := snap.BestSoFar()
	return snap.Trial(running[len(running)-1])
}

// Feasibility counts the trials known to be within every limit, and those of which it is known
// whether they are.
func (snap *Snapshot) Feasibility() (feasible, known int) {
	for _, t := range snap.Trials {
		if t.Feasible == nil {
			continue
		}
		if known++; *t.Feasible {
			feasible++
		}
	}
	return feasible, known
}

// ViolationSoFar gives, for each trial and constraint (in the order of the study), the violation up
// to it.
func (snap *Snapshot) ViolationSoFar() [][]optimizer.Tally {
	constraints := snap.Definition.Constraints
	now, running := make([]optimizer.Tally, len(constraints)), make([][]optimizer.Tally, len(snap.Trials))
	for i := range snap.Trials {
		for j, c := range constraints {
			if m, known := snap.Trials[i].Metrics[c.Metric]; known {
				now[j].Add(c.Excess(m.Value))
			}
		}
		running[i] = slices.Clone(now)
	}
	return running
}

// Chosen are the settings that trial number was begun with; Trial.Parameters are those used.
func (snap *Snapshot) Chosen(number int) design.Settings { return snap.records[number-1].chosen }

// HasReading tells whether there is a reading of the metric that a model may learn from. Until then
// nothing is known of it but the prior.
func (snap *Snapshot) HasReading(metric string) bool {
	return slices.ContainsFunc(snap.Trials, func(t *Trial) bool {
		_, told := t.Metrics[metric]
		return told && !t.Excluded
	})
}
