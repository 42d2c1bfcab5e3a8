package ledger

import (
	"cmp"
	"slices"
	"time"
	"unsafe"

	"headroom/internal/lists"
	"headroom/internal/memory"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// Snapshot is a study as it was after event Version: the fold of the events up to it. It is
// immutable and shared, so nothing that it refers to may be modified.
type Snapshot struct {
	ID         string
	Definition design.Definition
	State      State
	Version    int64  // seq of the last event folded in
	Hash       string // of that event
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Trials     []*Trial // trial number n at index n−1; versions share unchanged ones
	Fits       []FittedData
	Bytes      int64      // of the events’ data
	Revisions  []Revision // in the order of the ledger, starting with its first event

	compiled       *design.Compiled
	values         map[string][]float64 // brought by choices
	defined        int64                // seq of the event that set the definition's algorithmic part
	formulaChanged bool                 // some formula has changed
	former         []formerDefinition   // in the order of the ledger
	rewritten      int64                // seq of the last event that changed the past or the model, after which earlier fits no longer apply
	fitted         int64                // seq of the last Fitted event
	together       []span               // the events of each request that wrote several
	unasked        []unaskedRow         // of the last table, perhaps unfinished, about which nobody was asked
	ranges         map[string]Range     // of each metric's readings; nil if they must be collected again
}

// unaskedRow is what a row of a table told of a trial by event seq.
type unaskedRow struct {
	number int
	seq    int64
	made   bool // the table made the trial, too
}

// record is what is kept of a trial beyond what people are shown.
type record struct {
	chosen        design.Settings    // as chosen; Trial.Parameters are those used
	chosenArm     *int               // candidate that was chosen; others may have the same settings
	knownAsChosen map[string]float64 // values of known constraints at chosen, as recorded
	place         optimizer.Place    // of Trial.Parameters under the present definition
	gone          bool               // Trial.Parameters may not be chosen any more
	known         map[string]float64 // values of known constraints at Trial.Parameters, by constraint name
	knownNow      map[string]float64 // by the present formulas, nil if they never changed
	since         map[string]int64   // by name, seq of the event that last changed a reading or setting
	closed        []closedSpan       // when the trial was failed or abandoned
	whyExcluded   string             // the last time
	events        []int64            // seqs of the events about the trial
}

// closedSpan is a span of events during which a trial was closed: from ≤ seq < to, with to = 0
// while it still is.
type closedSpan struct {
	from, to int64
	cause    optimizer.Cause
	data     ClosedData
	by       string
}

// span is the events from first to last.
type span struct{ first, last int64 }

// has reports whether some of the sorted seqs lie in the span.
func (s span) has(seqs []int64) bool {
	i, _ := slices.BinarySearch(seqs, s.first)
	return i < len(seqs) && seqs[i] <= s.last
}

// Status is how far a trial has come.
type Status string

const (
	StatusSuggested Status = "suggested" // chosen (by anybody), nothing told yet
	StatusPartial   Status = "partial"   // some metrics told
	StatusCompleted Status = "completed" // all modelled metrics told (recorded metrics do not count)
	StatusFailed    Status = "failed"
	StatusAbandoned Status = "abandoned"
)

var Statuses = []Status{StatusSuggested, StatusPartial, StatusCompleted, StatusFailed, StatusAbandoned}

func (s Status) Known() bool { return slices.Contains(Statuses, s) }

// Trial is one round in its present state. Its JSON is that of the API.
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
	Reason           string                 `json:"reason,omitempty"` // for excluding the trial or, if it is not excluded, for its ending
	Cause            Cause                  `json:"cause,omitempty"`  // of the failure
	ReplicateOf      int                    `json:"replicate_of,omitempty"`
	Held             []string               `json:"held,omitempty"` // parameters held fixed; the algorithm chose the others
	Candidate        *int                   `json:"candidate,omitempty"`
	Context          map[string]float64     `json:"context,omitempty"`
	ConstraintValues map[string][]float64   `json:"-"`
	SettingsChanged  bool                   `json:"settings_changed"` // the settings used are not those chosen
	Doubts           []Doubted              `json:"doubts,omitempty"` // unconfirmed ones
	CreatedAt        time.Time              `json:"created_at"`
	By               string                 `json:"by"`
	ChosenSeq        int64                  `json:"-"`
	Seen             int64                  `json:"-"`

	record
}

// Measurement is the present value of a metric in a trial.
type Measurement struct {
	Value      float64    `json:"value"`
	StdDev     *float64   `json:"stddev"`
	Headroom   *float64   `json:"headroom,omitempty"` // distance to the nearest limit on this metric, negative when broken
	ObservedAt *time.Time `json:"observed_at"`
	ToldAt     time.Time  `json:"told_at"`
	By         string     `json:"by"`
	Corrected  bool       `json:"corrected"`
	Original   *float64   `json:"original,omitempty"` // the first value told, if corrected
	Known      bool       `json:"known,omitempty"`    // came with the decision, not from a reading
	ToldSeq    int64      `json:"-"`
	Author     string     `json:"-"` // see Event
}

// End returns number, time and hash of the last event, which are zero for a nil snapshot.
func (snap *Snapshot) End() Event {
	if snap == nil {
		return Event{}
	}
	return Event{Seq: snap.Version, At: snap.UpdatedAt, Hash: snap.Hash}
}

// Trial returns trial number, or nil if there is none.
func (snap *Snapshot) Trial(number int) *Trial {
	if number < 1 || number > len(snap.Trials) {
		return nil
	}
	return snap.Trials[number-1]
}

// EventsOf returns the numbers of the events about a trial, its choice first.
func (snap *Snapshot) EventsOf(number int) []int64 { return snap.Trial(number).events }

// Together returns the first and the last of the events that were written in one request with event
// seq, and the numbers of the trials that they are about.
func (snap *Snapshot) Together(seq int64) (first, last int64, numbers []int) {
	all := span{seq, seq}
	i, _ := slices.BinarySearchFunc(snap.together, seq, func(s span, seq int64) int { return cmp.Compare(s.last, seq) })
	if i < len(snap.together) && snap.together[i].first <= seq {
		all = snap.together[i]
	}
	numbers = lists.Pick(snap.Trials, func(t *Trial) (int, bool) { return t.Number, all.has(snap.EventsOf(t.Number)) })
	return all.first, all.last, numbers
}

// Since returns the number of the event that gave a reading or setting of a trial its present
// value. A known value follows from the formula of the trial's choice, also at other settings.
func (snap *Snapshot) Since(number int, name string) int64 {
	t := snap.Trial(number)
	if m, told := t.Metrics[name]; told && !m.Known {
		return max(m.ToldSeq, t.since[name])
	}
	return max(t.ChosenSeq, t.since[name])
}

// Compiled returns the definition in the form that computations use.
func (snap *Snapshot) Compiled() *design.Compiled { return snap.compiled }

// Place returns the place of a trial under the present definition.
func (snap *Snapshot) Place(number int) optimizer.Place { return snap.Trial(number).place }

// Gone reports whether the settings of a trial may not be chosen any more.
func (snap *Snapshot) Gone(number int) bool { return snap.Trial(number).gone }

// KnownValues returns the values of known constraints at a trial's settings, by constraint name and
// by the present formulas. The trial's Metrics have those by the formulas that it was chosen with.
func (snap *Snapshot) KnownValues(number int) map[string]float64 {
	t := snap.Trial(number)
	if t.knownNow != nil {
		return t.knownNow
	}
	return t.known
}

// SameDefinition reports whether two snapshots of a study have the same definition as far as the
// algorithm is concerned.
func (snap *Snapshot) SameDefinition(other *Snapshot) bool { return snap.defined == other.defined }

// Brought returns what the caller brought when the trial was chosen.
func (t *Trial) Brought() design.Brought {
	return design.Brought{Context: t.Context, ConstraintValues: t.ConstraintValues}
}

// Freely reports whether the algorithm chose all its settings.
func (t *Trial) Freely() bool { return t.Origin == Suggested && len(t.Held) == 0 }

// Waiting reports whether results of the trial are still expected.
func (t *Trial) Waiting() bool { return t.Status == StatusSuggested || t.Status == StatusPartial }

// WaitingTrials returns the trials whose results are still expected, the oldest first.
func (snap *Snapshot) WaitingTrials() []Trial {
	return lists.Pick(snap.Trials, func(t *Trial) (Trial, bool) { return *t, t.Waiting() })
}

// ToRun returns the waiting trials that are not excluded.
func (snap *Snapshot) ToRun() []Trial {
	return slices.DeleteFunc(snap.WaitingTrials(), func(t Trial) bool { return t.Excluded })
}

// BestSoFar returns, for each trial, the number of the best trial up to it: the one with the best
// told objective among included trials that are known to be within every limit and not in doubt; 0
// while there is none. The earlier trial wins a tie.
func (snap *Snapshot) BestSoFar() []int {
	best, bestValue := 0, 0.0
	running, objective := make([]int, len(snap.Trials)), snap.Definition.Objective
	for i, t := range snap.Trials {
		counts := !t.Excluded && t.Feasible != nil && *t.Feasible && len(t.Doubts) == 0
		if m, told := t.Metrics[objective.Metric]; counts && told && (best == 0 || objective.Better(m.Value, bestValue)) {
			best, bestValue = i+1, m.Value
		}
		running[i] = best
	}
	return running
}

// Best returns the best trial so far, nil while none is known to be within every limit.
func (snap *Snapshot) Best() *Trial {
	if len(snap.Trials) == 0 {
		return nil
	}
	running := snap.BestSoFar()
	return snap.Trial(running[len(running)-1])
}

// Feasibility returns how many trials are within every limit, and of how many it is known whether
// they are.
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

// ViolationSoFar returns, for each trial and constraint (in the order of the study), the violation
// up to the trial.
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

// Chosen returns the settings that a trial was begun with; Trial.Parameters are those used.
func (snap *Snapshot) Chosen(number int) design.Settings { return snap.Trial(number).chosen }

// PlaceAgain places the settings used for a repetition of a trial, which may break bounds and rules
// as they did if it, or a trial that it repeats, was chosen at settings that are still allowed.
func (snap *Snapshot) PlaceAgain(number int, used design.Settings, location string) (kept design.Settings, place optimizer.Place, faults design.Faults) {
	for n := number; n > 0; n = snap.Trial(n).ReplicateOf {
		if kept, place, faults = snap.compiled.PlaceAgain(snap.Chosen(n), used, location); len(faults) == 0 {
			break
		}
	}
	return kept, place, faults
}

// ChosenCandidate returns the number of the candidate that a trial was begun with, nil without
// candidates. Others may have the same settings.
func (snap *Snapshot) ChosenCandidate(number int) *int { return snap.Trial(number).chosenArm }

// KnownAsChosen returns the values of known constraints at Chosen, as recorded with the choice.
func (snap *Snapshot) KnownAsChosen(number int) map[string]float64 {
	return snap.Trial(number).knownAsChosen
}

// HasReading reports whether the metric has a reading that a model may learn from. Until then there
// is only its prior.
func (snap *Snapshot) HasReading(metric string) bool {
	return slices.ContainsFunc(snap.Trials, func(t *Trial) bool { return t.has(metric) && !t.Excluded })
}

// History returns the study as the algorithm of c sees it: every trial is a round, readings belong
// to the round in which they were revealed, and corrected values count as if told right at once.
func (snap *Snapshot) History(c *design.Compiled) *optimizer.History {
	seen := snap.seen()
	rounds := make([]optimizer.Round, len(snap.Trials))
	readings := make([]optimizer.Reading, len(snap.Trials)*len(c.MetricNames))
	for i, t := range snap.Trials {
		own := readings[i*len(c.MetricNames) : (i+1)*len(c.MetricNames) : (i+1)*len(c.MetricNames)]
		for k, name := range c.MetricNames {
			if m, told := t.Metrics[name]; told {
				own[k] = optimizer.Reading{Told: true, Value: m.Value, Revealed: decisionsBefore(seen, m.ToldSeq)}
				if m.StdDev != nil {
					own[k].SD = *m.StdDev
				}
				own[k].Expected, own[k].InDoubt = snap.slipExplains(t, name)
			}
		}
		var asked []float64
		switch {
		case t.Origin != Suggested:
		case t.SettingsChanged:
			asked = c.Locate(t.chosen, nil).U
		default:
			asked = t.place.U
		}
		rounds[i] = optimizer.Round{
			Point: t.place.U, Arm: t.place.Arm, Asked: asked, Suggested: t.Freely(), Excluded: t.Excluded, Gone: t.gone,
			Closed: closedRounds(seen, t.closed), Readings: own, Costs: c.Def.KnownInOrder(t.known), Now: c.Def.KnownInOrder(t.knownNow), Draw: t.Decision.Draw(c.Def.Algorithm.Name),
		}
	}
	return &optimizer.History{Rounds: rounds, Fits: FitsUnder(c, snap.Fits), Rewritten: snap.fitted > 0 && snap.rewritten > snap.fitted}
}

// slipExplains returns the prediction for a reading that is in doubt and explained by a likely
// slip, since an honest surprise has such an explanation only by chance. A reading beyond a limit
// counts in full until somebody takes it back, because it may be a danger.
func (snap *Snapshot) slipExplains(t *Trial, metric string) (expected float64, looksSo bool) {
	for _, c := range snap.Definition.Constraints {
		if c.Metric == metric && !c.Holds(t.Metrics[metric].Value) {
			return 0, false
		}
	}
	for _, d := range t.Doubts {
		if d.Metric == metric && d.slip != 0 {
			return d.slip, true
		}
	}
	return 0, false
}

// DoubtMeans says what the doubts about a trial mean until somebody confirms its values.
func (snap *Snapshot) DoubtMeans(t *Trial) string {
	c := snap.Compiled()
	if c.Config.Fit && slices.ContainsFunc(c.MetricNames, func(metric string) bool {
		_, little := snap.slipExplains(t, metric)
		return little
	}) {
		return "not counted as the best reading, and of little weight in the model"
	}
	return "not counted as the best reading"
}

// During returns a function from an event's number to the round during which it was revealed.
func (snap *Snapshot) During() func(seq int64) int {
	seen := snap.seen()
	return func(seq int64) int { return decisionsBefore(seen, seq) }
}

// seen returns the last event that each decision was made from.
func (snap *Snapshot) seen() []int64 {
	return lists.Map(snap.Trials, func(t *Trial) int64 { return t.Seen })
}

// decisionsBefore returns the number of decisions made from events before seq, which is the round
// during which event seq was revealed. seen, by decision, never decreases.
func decisionsBefore(seen []int64, seq int64) int {
	decided, _ := slices.BinarySearch(seen, seq)
	return decided
}

// closedRounds converts spans of events to spans of decisions: a decision knew of a closing if it
// had seen its event.
func closedRounds(seen []int64, spells []closedSpan) []optimizer.Spell {
	var closed []optimizer.Spell
	for _, s := range spells {
		during := optimizer.Spell{From: decisionsBefore(seen, s.from) + 1, Cause: s.cause}
		if s.to != 0 {
			during.To = decisionsBefore(seen, s.to) + 1
		}
		if during.To != during.From { // reopened before any decision noticed
			closed = append(closed, during)
		}
	}
	return closed
}

// Draw returns the random numbers recorded with a decision, which may be nil. Those drawn by
// another algorithm mean nothing to this one and are left out.
func (d *Decision) Draw(algorithm string) optimizer.Draw {
	switch {
	case d == nil:
		return optimizer.Draw{}
	case d.Algorithm != algorithm:
		return optimizer.Draw{Seed: d.RandomSeed}
	}
	return optimizer.Draw{Seed: d.RandomSeed, Z: d.Draws}
}

// FitsUnder returns the part of recorded fits that applies to the present model: nothing if the
// outputs are others, and without hyperparameters if the kernel or the inputs are. The optimizer
// knows which hyperparameters are free.
func FitsUnder(c *design.Compiled, recorded []FittedData) []optimizer.Fit {
	fits := make([]optimizer.Fit, 0, len(recorded))
	for _, f := range recorded {
		fit := optimizer.Fit{From: f.From, Metrics: make([]optimizer.FittedMetric, len(c.MetricNames))}
		for k, name := range c.MetricNames {
			if m, ok := f.Metrics[name]; ok {
				fit.Metrics[k] = fitUnder(c, c.Config.Metrics[k], m)
			}
		}
		fits = append(fits, fit)
	}
	return fits
}

func fitUnder(c *design.Compiled, metric optimizer.Metric, m FittedMetric) optimizer.FittedMetric {
	if m.Outputs != c.Def.Model.Outputs { // the units differ
		return optimizer.FittedMetric{}
	}
	fitted := m.FittedMetric
	if m.Kernel != metric.Kernel.Name || m.Inputs != c.Def.Model.Inputs {
		fitted = optimizer.FittedMetric{Centre: m.Centre, Scale: m.Scale, Count: m.Count}
	}
	fitted.Set = true
	return fitted
}

// Summary is one line of the list of studies. It is stored in the study's row, so that lists need
// neither trials nor ledgers.
type Summary struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	State         State      `json:"state"`
	Version       int64      `json:"version"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	Trials        int        `json:"trials"`
	Waiting       int        `json:"waiting"` // suggested or partial, and not excluded
	OldestWaiting *time.Time `json:"oldest_waiting,omitempty"`
	Feasible      int        `json:"feasible"`          // trials within every limit
	Known         int        `json:"feasibility_known"` // trials of which it is known whether they are
	Best          *BestTrial `json:"best"`              // null while none is known to be within every limit
	Algorithm     string     `json:"algorithm"`
	Limits        []Limit    `json:"limits"`
	SimulatedLab  string     `json:"simulated_lab,omitempty"` // the simulated problem that answers, "" for a real laboratory
}

// Limit is a constraint in a line of the list.
type Limit struct {
	Name      string  `json:"name"`
	Metric    string  `json:"metric"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
}

// BestTrial is the best included trial known to be within every limit.
type BestTrial struct {
	Number int     `json:"number"`
	Metric string  `json:"metric"` // the objective's
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
}

// Summary returns the study's line in the list of studies.
func (snap *Snapshot) Summary() Summary {
	s := Summary{ID: snap.ID, Name: snap.Definition.Name, State: snap.State, Version: snap.Version,
		CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt, Trials: len(snap.Trials), Algorithm: snap.Definition.Algorithm.Name,
		Limits:       lists.Map(snap.Definition.Constraints, func(c design.Constraint) Limit { return Limit{c.Name, c.Metric, c.Op, c.Threshold, c.Unit} }),
		SimulatedLab: snap.Definition.SimulatedLab}
	s.Feasible, s.Known = snap.Feasibility()
	if waiting := snap.ToRun(); len(waiting) > 0 {
		s.Waiting, s.OldestWaiting = len(waiting), new(waiting[0].CreatedAt)
	}
	if t := snap.Best(); t != nil {
		objective := snap.Definition.Objective
		s.Best = &BestTrial{Number: t.Number, Metric: objective.Metric, Value: t.Metrics[objective.Metric].Value, Unit: snap.UnitTold(t.Number, objective.Metric)}
	}
	return s
}

// Revision is an event that changes what holds for existing trials or readings: a correction, an
// exclusion, a reconfiguration or a fit. Charts over trials mark it.
type Revision struct {
	Seq     int64
	At      time.Time // the same for all of one request
	Kind    Kind
	After   int              // number of trials at the time
	Number  int              // of the trial concerned, 0 for none
	Since   int64            // of a correction: the earliest event that had set a replaced value
	Stood   map[string]int64 // of a correction: by metric or parameter, the event that had set the previous value
	Emptied int              // of a correction: how many readings it took back
	Reason  string           // as people gave it
	Limits  []design.Constraint
	Changes []design.Change // of a reconfiguration: the changes that concern the algorithm
}

// formerDefinition is the definition before a change of some unit, without candidates and model; it
// is used for words only.
type formerDefinition struct {
	until      int64 // seq of the change
	definition *design.Definition
}

// InUnitsOf returns the definition with the units that were in force at event seq.
func (snap *Snapshot) InUnitsOf(seq int64) *design.Definition {
	for _, f := range snap.former {
		if seq < f.until {
			return f.definition
		}
	}
	return &snap.Definition
}

// UnitsReplaced returns, by name, the units of the readings and settings that correction seq
// replaced.
func (snap *Snapshot) UnitsReplaced(seq int64) func(name string) string {
	corrected := slices.IndexFunc(snap.Revisions, func(r Revision) bool { return r.Seq == seq })
	return func(name string) string { return snap.InUnitsOf(snap.Revisions[corrected].Stood[name]).Unit(name) }
}

// UnitsChanged reports whether a unit was ever changed, so that values may be in another unit than
// the present one.
func (snap *Snapshot) UnitsChanged() bool { return snap.former != nil }

// UnitTold returns the unit in which a trial's reading was told or its setting set.
func (snap *Snapshot) UnitTold(number int, name string) string {
	return snap.InUnitsOf(snap.Since(number, name)).Unit(name)
}

// DecisionsFrom returns how many decisions were made from what a correction replaced.
func (snap *Snapshot) DecisionsFrom(r Revision) int {
	return lists.Count(snap.Trials, func(t *Trial) bool { return t.Decision != nil && r.Since <= t.Seen && t.Seen < r.Seq })
}

// LimitsThrough returns, for each trial, the constraints in force when it was chosen, in the order
// of the study.
func (snap *Snapshot) LimitsThrough() [][]design.Constraint {
	return lists.Map(snap.Trials, func(t *Trial) []design.Constraint { return snap.limitsAt(t.ChosenSeq) })
}

// LimitsOfReadings returns, for each trial, the limits that its readings are judged by: those of
// LimitsThrough, but of a metric whose unit was changed before the reading got its value, the limit
// as it was by then. A number and its limit are in one unit.
func (snap *Snapshot) LimitsOfReadings() [][]design.Constraint {
	limits := snap.LimitsThrough()
	if !snap.UnitsChanged() {
		return limits
	}
	for i, t := range snap.Trials {
		limits[i] = slices.Clone(limits[i])
		for j, c := range limits[i] {
			if snap.UnitTold(t.Number, c.Metric) != snap.InUnitsOf(t.ChosenSeq).Unit(c.Metric) {
				limits[i][j] = snap.limitsAt(snap.Since(t.Number, c.Metric))[j]
			}
		}
	}
	return limits
}

// limitsAt returns the constraints in force at event seq.
func (snap *Snapshot) limitsAt(seq int64) []design.Constraint {
	later, _ := slices.BinarySearchFunc(snap.Revisions, seq, func(r Revision, seq int64) int { return cmp.Compare(r.Seq, seq) })
	if later == 0 {
		return snap.Definition.Constraints
	}
	return snap.Revisions[later-1].Limits
}

// CompiledThen returns the present definition with the limits that a trial was chosen under.
func (snap *Snapshot) CompiledThen(number int) *design.Compiled {
	if !snap.formulaChanged {
		return snap.compiled
	}
	then := snap.Definition
	then.Constraints = snap.LimitsThrough()[number-1]
	compiled, err := design.Compile(then)
	if err != nil { // its formulas have no value within the present ranges
		return snap.compiled
	}
	return compiled
}

// Estimates returns the finite estimates of a decision, ordered as in optimizer.Decision, by name:
// the reward's by the objective's metric, each limit's by its constraint.
func Estimates(d design.Definition, values []float64) map[string]float64 {
	by := map[string]float64{}
	for i, v := range values {
		switch {
		case !design.Finite(v):
		case i == 0:
			by[d.Objective.Metric] = v
		default:
			by[estimateKey(d, d.Constraints[i-1])] = v
		}
	}
	return by
}

// LimitEstimate returns the decision's estimate of g for constraint c of study d, in modelled
// units, if it had one.
func (decision *Decision) LimitEstimate(d design.Definition, c design.Constraint) (float64, bool) {
	v, there := decision.Estimates[estimateKey(d, c)]
	return v, there
}

// estimateKey returns the constraint's name, changed if it equals the name of the objective's
// metric.
func estimateKey(d design.Definition, c design.Constraint) string {
	if c.Name == d.Objective.Metric {
		return c.Name + " (limit)"
	}
	return c.Name
}

func (t *Trial) has(metric string) bool {
	_, told := t.Metrics[metric]
	return told
}

// anyTold reports whether the trial has a value that did not come with the decision.
func (t *Trial) anyTold() bool {
	for _, m := range t.Metrics {
		if !m.Known {
			return true
		}
	}
	return false
}

// Resolver returns a resolver for the events after the snapshot.
func (snap *Snapshot) Resolver() Resolver { return Resolver{snap.values, true} }

// Identity returns the study's id, version and hash. The hash tells a stored version from a
// hypothetical one.
func (snap *Snapshot) Identity() (id string, version int64, hash string) {
	return snap.ID, snap.Version, snap.Hash
}

// measuredTrials is the number of trials from which BytesBeside measures only a sample of about
// that size, since measuring all would take a good part of the time of reading them.
const measuredTrials = 128

// BytesBeside returns the memory that snap holds and none of others does, which are versions of the
// same study. It is fast if they differ little, or if there are no others.
func (snap *Snapshot) BytesBeside(others ...*Snapshot) int64 {
	m, step := memory.NewMeter(), 1
	if len(others) == 0 {
		step = max(len(snap.Trials)/measuredTrials, 1)
	}
	for _, other := range others {
		m.Of(other.values) // shared by trials
	}
	bytes := m.Of(snap.values) + int64(unsafe.Sizeof(*snap)) + int64(cap(snap.Trials))*int64(unsafe.Sizeof(uintptr(0)))
	for i := 0; i < len(snap.Trials); i += step {
		bytes += int64(step) * snap.trialBeside(m, i, others)
	}
	if !slices.ContainsFunc(others, func(other *Snapshot) bool { return len(other.Fits) == len(snap.Fits) }) {
		for _, other := range others {
			m.Of(other.Fits)
		}
		bytes += m.Of(snap.Fits)
	}
	if !slices.ContainsFunc(others, func(other *Snapshot) bool { return other.compiled == snap.compiled }) {
		bytes += m.Of(snap.compiled) + m.Of(snap.Definition)
	}
	return bytes
}

// trialBeside is BytesBeside for the trial at index i. What a changed trial shares with another
// version's counts as the other's.
func (snap *Snapshot) trialBeside(m *memory.Meter, i int, others []*Snapshot) int64 {
	for _, other := range others {
		if i < len(other.Trials) && other.Trials[i] == snap.Trials[i] {
			return 0
		}
	}
	for _, other := range others {
		if i < len(other.Trials) {
			m.Of(other.Trials[i])
		}
	}
	return m.Of(snap.Trials[i])
}
