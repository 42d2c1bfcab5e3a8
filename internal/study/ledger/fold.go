package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/study/design"
)

// Fold adds events to the study as it was after them, prior (nil before the first). prior is left
// as it is. An event that makes no sense where it stands is an error naming its seq. like, when not
// nil, is another snapshot of the same study whose compiled definition is taken over if it is the
// same one.
func Fold(id string, prior *Snapshot, events []Event, like *Snapshot) (*Snapshot, error) {
	return fold(id, prior, events, like, nil)
}

// FoldAdmitted is Fold of events that anybody may have written. What Fold believes, having been
// written by this program, is asked about before it is believed: admit tells what stands against
// the next event of the study as it is before it, nil before the first; it must not keep what it is
// shown.
func FoldAdmitted(id string, prior *Snapshot, events []Event, admit func(now *Snapshot, e Event) error) (*Snapshot, error) {
	return fold(id, prior, events, nil, admit)
}

func fold(id string, prior *Snapshot, events []Event, like *Snapshot, admit func(now *Snapshot, e Event) error) (*Snapshot, error) {
	if len(events) == 0 {
		if prior == nil {
			return nil, errors.New("a ledger starts with its created event")
		}
		return prior, nil
	}
	b := newBuilder(id, prior)
	for i, apply := range b.decodeAll(events) {
		e := events[i]
		if err := b.next(e, apply, admit); err != nil {
			return nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
		}
	}
	b.judgeRows()
	return b.snap, b.catchUp(like)
}

// decodeAll decodes the data of events on all cores, and returns what each does to the study.
func (b *builder) decodeAll(events []Event) []func() error {
	does := make([]func() error, len(events))
	_ = cores.Stretches(len(events), func(from, to int) error { // what cannot be decoded fails in its turn
		for i := from; i < to; i++ {
			does[i] = b.decode(events[i])
		}
		return nil
	})
	return does
}

// builder is a snapshot in the making. What prior holds is shared until it is written to.
type builder struct {
	snap     *Snapshot
	touched  map[int]bool // indices of trials that belong to snap alone
	stale    map[int]bool // indices of trials of which derive has something to work out
	compiled int64        // seq of the event that set the definition that snap.compiled is of
	names    map[string]bool
	last     Event // the event being added
	resolver Resolver
	gathered bool // snap.ranges belong to snap alone
}

func newBuilder(id string, prior *Snapshot) *builder {
	snap := &Snapshot{ID: id, State: Open, Hash: noHash}
	if prior != nil {
		shared := *prior
		snap = &shared
		snap.Trials = slices.Clone(prior.Trials)
		snap.records = slices.Clone(prior.records)
		snap.Fits, snap.Revisions = slices.Clip(prior.Fits), slices.Clip(prior.Revisions)
		snap.former, snap.unasked = slices.Clip(prior.former), slices.Clip(prior.unasked)
	}
	b := &builder{snap: snap, touched: map[int]bool{}, stale: map[int]bool{}, compiled: snap.defined, resolver: snap.Resolver()}
	b.nameMetrics()
	return b
}

func (b *builder) nameMetrics() {
	b.names = map[string]bool{}
	for _, name := range b.snap.Definition.MetricNames() {
		b.names[name] = true
	}
}

// next adds an event, which apply does to the study, if admit, when it is not nil, admits it.
func (b *builder) next(e Event, apply func() error, admit func(now *Snapshot, e Event) error) error {
	snap := b.snap
	if admit != nil {
		var now *Snapshot
		if snap.Version > 0 {
			now = snap
		}
		if err := admit(now, e); err != nil {
			return err
		}
	}
	switch {
	case e.Seq != snap.Version+1:
		return fmt.Errorf("follows event %d", snap.Version)
	case e.At.Before(snap.UpdatedAt):
		return errors.New("is earlier than the event before it")
	case (e.Kind == Created) != (snap.Version == 0):
		return errors.New("a ledger starts with its only created event")
	}
	if b.last = e; !e.At.Equal(snap.UpdatedAt) || e.Kind != Chosen && e.Kind != Told { // all rows of a table are of one moment
		b.judgeRows()
		snap.unasked = nil
	}
	if err := apply(); err != nil {
		return err
	}
	snap.Version, snap.Hash, snap.UpdatedAt, snap.Bytes = e.Seq, e.Hash, e.At, snap.Bytes+int64(len(e.Data))
	if admit != nil {
		return b.catchUp(nil)
	}
	return nil
}

// decode decodes the data of an event, and returns what it does to the study.
func (b *builder) decode(e Event) func() error {
	switch e.Kind {
	case Created:
		return decoded(e, b.created)
	case Edited:
		return decoded(e, b.edited)
	case Reconfigured:
		return decoded(e, b.reconfigured)
	case Chosen:
		return decoded(e, b.chosen)
	case Told:
		return decoded(e, b.told)
	case Corrected:
		return decoded(e, b.corrected)
	case Failed, Abandoned:
		return decoded(e, b.closed)
	case Excluded, Included:
		return decoded(e, b.setExcluded)
	case Confirmed:
		return decoded(e, b.confirmed)
	case Fitted:
		return decoded(e, b.fit)
	default:
		return func() error { return errors.New("no such kind of event: perhaps a newer program wrote it") }
	}
}

func decoded[Data any](e Event, apply func(Data) error) func() error {
	var data Data
	err := e.Decode(&data)
	return func() error {
		if err != nil {
			return fmt.Errorf("%w: perhaps a newer program wrote it", err)
		}
		return apply(data)
	}
}

func (b *builder) created(data CreatedData) error {
	b.snap.CreatedAt = b.last.At
	b.define(data.Definition)
	b.revise(0, "")
	return nil
}

func (b *builder) define(d design.Definition) {
	b.snap.Definition = d
	b.snap.defined = b.last.Seq
	b.nameMetrics()
}

func (b *builder) edited(data EditedData) error {
	if data.Name != nil {
		b.snap.Definition.Name = *data.Name
	}
	if data.Description != nil {
		b.snap.Definition.Description = *data.Description
	}
	if data.State != nil {
		if !data.State.Valid() {
			return fmt.Errorf("no such state: %q", *data.State)
		}
		b.snap.State = *data.State
	}
	return nil
}

func (b *builder) reconfigured(data ReconfiguredData) error {
	before, after := b.snap.Definition, data.Definition
	if err := design.SameShape(before, after).Err(); err != nil {
		return err
	}
	from := before.Model
	from.Start = after.Model.Start // where fits begin changes nothing of what was found
	if !reflect.DeepEqual(from, after.Model) || !reflect.DeepEqual(before.Parameters, after.Parameters) {
		b.snap.rewritten = b.last.Seq
	}
	b.define(after)
	if slices.ContainsFunc(data.Changes, ofUnit) {
		before.Candidates, before.Model = nil, design.Model{}
		b.snap.former = append(b.snap.former, former{b.last.Seq, &before})
	}
	b.revise(0, data.Reason).Changes = slices.DeleteFunc(data.Changes, forPeople)
	return nil
}

// forPeople tells whether the algorithm is not told of a change of the definition: of units, of what is
// plausible, of when to stop, and of metrics that are only recorded.
func forPeople(change design.Change) bool {
	return ofUnit(change) || strings.HasSuffix(change.Path, ".plausible") ||
		strings.HasPrefix(change.Path, "stop") || strings.HasPrefix(change.Path, "recorded_metrics")
}

func ofUnit(change design.Change) bool { return strings.HasSuffix(change.Path, ".unit") }

func (b *builder) chosen(data ChosenData) error {
	snap := b.snap
	switch n := len(snap.Trials); {
	case snap.State != Open:
		return fmt.Errorf("the study is %s", snap.State)
	case data.Number != n+1:
		return fmt.Errorf("trial %d follows trial %d", data.Number, n)
	case data.Seen < 1 || data.Seen >= b.last.Seq || n > 0 && data.Seen < snap.Trials[n-1].Seen:
		return fmt.Errorf("was decided from event %d", data.Seen)
	case data.Origin != Suggested && data.Origin != Manual && data.Origin != Imported:
		return fmt.Errorf("no such origin: %q", data.Origin)
	case data.ReplicateOf < 0 || data.ReplicateOf > n:
		return fmt.Errorf("repeats trial %d", data.ReplicateOf)
	}
	data, err := b.resolver.Resolve(data)
	if err != nil {
		return err
	}
	snap.values = b.resolver.values
	b.touched[len(snap.Trials)], b.stale[len(snap.Trials)] = true, true
	r := &record{chosen: data.Parameters, foreseen: data.KnownValues, events: []int64{b.last.Seq}}
	t := &Trial{
		Number: data.Number, Round: data.Number, Origin: data.Origin, Status: StatusSuggested,
		Metrics: map[string]Measurement{}, Decision: data.Decision, Note: data.Note, ReplicateOf: data.ReplicateOf, Held: data.Held,
		Context: data.Context, ConstraintValues: data.ConstraintValues,
		CreatedAt: b.last.At, By: b.last.By, ChosenSeq: b.last.Seq, Seen: data.Seen,
	}
	snap.Trials, snap.records = append(snap.Trials, t), append(snap.records, r)
	return b.settle(t, r, data.Parameters, data.Candidate, data.KnownValues)
}

// settle gives a trial its settings and the known constraints' values at them.
func (b *builder) settle(t *Trial, r *record, settings design.Settings, candidate *int, known map[string]float64) error {
	for name, before := range t.Parameters {
		if settings[name] != before {
			b.setAnew(r, name)
		}
	}
	t.Parameters, t.Candidate, t.SettingsChanged = settings, candidate, !maps.Equal(settings, r.chosen)
	if candidate != nil && (*candidate < 0 || *candidate >= len(b.snap.Definition.Candidates)) {
		return fmt.Errorf("no candidate %d", *candidate)
	}
	r.known, r.place.U = known, nil
	for _, c := range b.snap.Definition.Constraints {
		value, is := known[c.Name]
		if c.Given() != is {
			return fmt.Errorf("constraint %q: a value comes with the decision exactly when its form is known", c.Name)
		}
		if is {
			t.Metrics[c.Metric] = Measurement{Value: value, ToldAt: b.last.At, By: b.last.By, Known: true, ToldSeq: b.last.Seq}
		}
	}
	return nil
}

// setAnew notes that a reading or a setting is another since the event at hand.
func (b *builder) setAnew(r *record, name string) {
	if r.since == nil {
		r.since = map[string]int64{}
	}
	r.since[name] = b.last.Seq
}

// touch returns trial number and its record, which may be written to from now on: they are prior's
// no more.
func (b *builder) touch(number int) (*Trial, *record) {
	i := number - 1
	b.stale[i] = true
	if !b.touched[i] {
		b.touched[i] = true
		t, r := *b.snap.Trials[i], *b.snap.records[i]
		t.Metrics, r.since, r.spells, r.events = maps.Clone(t.Metrics), maps.Clone(r.since), slices.Clone(r.spells), slices.Clip(r.events)
		b.snap.Trials[i], b.snap.records[i] = &t, &r
	}
	return b.snap.Trials[i], b.snap.records[i]
}

// concern is touch for the trial that the event being added is about.
func (b *builder) concern(number int) (*Trial, *record, error) {
	if b.snap.Trial(number) == nil {
		return nil, nil, fmt.Errorf("no trial %d", number)
	}
	t, r := b.touch(number)
	r.events = append(r.events, b.last.Seq)
	return t, r, nil
}

// amend is concern for what is told of the trial, which an archived study does not take.
func (b *builder) amend(number int) (*Trial, *record, error) {
	t, r, err := b.concern(number)
	if err == nil && b.snap.State == Archived {
		err = errors.New("the study is archived")
	}
	return t, r, err
}

// revise takes down what the event at hand changed.
func (b *builder) revise(number int, reason string) *Revision {
	b.snap.Revisions = append(b.snap.Revisions, Revision{Seq: b.last.Seq, Kind: b.last.Kind, After: len(b.snap.Trials),
		Number: number, Reason: reason, Limits: b.snap.Definition.Constraints})
	return &b.snap.Revisions[len(b.snap.Revisions)-1]
}

func (b *builder) told(data ToldData) error {
	t, r, err := b.amend(data.Number)
	if err != nil {
		return err
	}
	kept := t.Parameters
	if data.Parameters != nil {
		if err := b.settle(t, r, data.Parameters, data.Candidate, data.KnownValues); err != nil {
			return err
		}
		if t.anyTold() {
			b.snap.rewritten = b.last.Seq
		}
		t.undoubt(nil)
		if !t.Parameters.Equal(kept) {
			b.rejudge(t, r)
		}
	}
	ranges := b.ranges()
	switch row := t.Origin == Imported && b.last.At.Equal(t.CreatedAt); {
	case row && data.Unasked:
		b.snap.unasked = append(b.snap.unasked, t.Number)
	case !row && !data.Confirmed:
		b.doubt(t, r, data.Metrics, kept)
	}
	if err := b.read(t, data, ranges); err != nil {
		return err
	}
	if data.Note != "" && data.Note != t.Note && !strings.HasSuffix(t.Note, "\n"+data.Note) { // after an undo the same comes again
		if t.Note != "" {
			t.Note += "\n"
		}
		t.Note += data.Note
	}
	if ended := r.ended(); ended != nil && len(data.Metrics) > 0 { // a note, or at which settings it failed, is no result of it
		ended.to, t.Cause = b.last.Seq, ""
	}
	return nil
}

func (b *builder) read(t *Trial, data ToldData, ranges map[string]Range) error {
	for name, reading := range data.Metrics {
		if !b.names[name] {
			return fmt.Errorf("no metric %q", name)
		}
		if t.has(name) {
			return fmt.Errorf("%s of trial %d is already there", name, t.Number)
		}
		t.Metrics[name] = Measurement{Value: reading.Value, StdDev: reading.StdDev, ObservedAt: data.ObservedAt,
			ToldAt: b.last.At, By: b.last.By, ToldSeq: b.last.Seq, Author: b.last.Author}
		if !t.Excluded {
			ranges[name] = b.snap.Range(name, 0).With(RangeOf(reading.Value))
		}
	}
	return nil
}

// ranges are what readings range over, to be added to.
func (b *builder) ranges() map[string]Range {
	switch {
	case b.snap.ranges == nil:
		gathered := map[string]Range{}
		for name := range b.names {
			gathered[name] = b.snap.Range(name, 0)
		}
		b.snap.ranges = gathered
	case !b.gathered:
		b.snap.ranges = maps.Clone(b.snap.ranges)
	}
	b.gathered = true
	return b.snap.ranges
}

// doubt judges what is being told of a trial, with the settings it has now instead of those kept before,
// by what was known before, of which what is grave stands in doubt: people are asked about the rest when
// they type it. What a simulated lab makes up is right.
func (b *builder) doubt(t *Trial, r *record, readings map[string]Reading, kept design.Settings) {
	if b.snap.Definition.SimulatedLab != "" {
		return
	}
	odd := b.snap.DoubtReadings(t.Number, readings, func(metric string) *Expected { return b.snap.Foretold(t, metric) })
	odd = slices.DeleteFunc(odd, func(d Doubted) bool { return !d.grave })
	t.Doubts = slices.Concat(t.Doubts, odd, DoubtSettings(b.snap.Definition, r.chosen, kept, t.Parameters))
}

// judgeRows judges the rows of the last table that nobody was asked about, as people are asked about
// theirs: by all its rows, those that come after them among them.
func (b *builder) judgeRows() {
	if len(b.snap.unasked) == 0 || b.snap.Definition.SimulatedLab != "" {
		return
	}
	rest := Snapshot{Definition: b.snap.Definition, Trials: slices.DeleteFunc(slices.Clone(b.snap.Trials), func(t *Trial) bool {
		_, unasked := slices.BinarySearch(b.snap.unasked, t.Number)
		return unasked
	})}
	rows := lists.Map(b.snap.unasked, b.snap.row)
	for i, doubts := range rest.DoubtRows(rows) {
		t, _ := b.touch(b.snap.unasked[i])
		t.Doubts = doubts
	}
}

// row is what the row of a table told of trial number.
func (snap *Snapshot) row(number int) Row {
	t, readings := snap.Trial(number), map[string]Reading{}
	for name, m := range t.Metrics {
		if !m.Known {
			readings[name] = Reading{m.Value, m.StdDev}
		}
	}
	return Row{readings, snap.Chosen(number), t.Parameters}
}

// rejudge judges the readings in doubt again: what its decision expected of the trial at some settings
// says nothing of others.
func (b *builder) rejudge(t *Trial, r *record) {
	readings := map[string]Reading{}
	t.Doubts = slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubted) bool {
		m, told := t.Metrics[d.Metric]
		if told {
			readings[d.Metric] = Reading{m.Value, m.StdDev}
		}
		return told
	})
	b.doubt(t, r, readings, t.Parameters)
}

// undoubt drops what was doubted of readings that are told anew, and of settings that are others now.
func (t *Trial) undoubt(metrics map[string]CorrectedValue) {
	t.Doubts = slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubted) bool {
		_, anew := metrics[d.Metric]
		return anew || d.Parameter != "" && t.Parameters[d.Parameter].Number != d.Value
	})
}

func (b *builder) confirmed(data ConfirmedData) error {
	t, _, err := b.concern(data.Number)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.Doubts, func(d Doubted) bool { return d.slip != 0 }) {
		b.snap.rewritten = b.last.Seq // what counted little counts in full
	}
	t.Doubts = nil
	return nil
}

func (b *builder) corrected(data CorrectedData) error {
	t, r, err := b.amend(data.Number)
	if err != nil {
		return err
	}
	stood, since := b.snap.replaced(data)
	for name, value := range data.Metrics {
		if err := correctMetric(t, name, value); err != nil {
			return err
		}
		b.setAnew(r, name)
	}
	kept := t.Parameters
	if p := data.Parameters; p != nil {
		if !maps.Equal(p.Before, t.Parameters) {
			return fmt.Errorf("the settings before the correction are not those of trial %d", t.Number)
		}
		if err := b.settle(t, r, p.After, data.Candidate, data.KnownValues); err != nil {
			return err
		}
	}
	t.undoubt(data.Metrics)
	b.snap.ranges = nil
	if data.Parameters != nil {
		b.rejudge(t, r)
	}
	if !data.Confirmed {
		b.doubt(t, r, data.after(), kept)
	}
	b.snap.rewritten = b.last.Seq
	revision := b.revise(data.Number, data.Reason)
	revision.Stood, revision.Since = stood, since
	return nil
}

// replaced are the events that had set what stands before a correction, by name, and the earliest of
// those that had set what it replaces.
func (snap *Snapshot) replaced(data CorrectedData) (stood map[string]int64, first int64) {
	stood, first = map[string]int64{}, math.MaxInt64
	for name := range data.Metrics {
		stood[name] = snap.Since(data.Number, name)
		first = min(first, stood[name])
	}
	if data.Parameters != nil {
		for name, before := range data.Parameters.Before {
			stood[name] = snap.Since(data.Number, name)
			if data.Parameters.After[name] != before {
				first = min(first, stood[name])
			}
		}
	}
	return stood, first
}

// after are the readings that are told anew.
func (data CorrectedData) after() map[string]Reading {
	readings := map[string]Reading{}
	for name, value := range data.Metrics {
		if value.After != nil {
			readings[name] = *value.After
		}
	}
	return readings
}

// correctMetric keeps the place in time of the first telling; a value taken back was never told.
func correctMetric(t *Trial, name string, value CorrectedValue) error {
	m, told := t.Metrics[name]
	if !told || m.Known || value.Before == nil || !m.Reads(*value.Before) {
		return fmt.Errorf("the value of %s before the correction is not that of trial %d", name, t.Number)
	}
	if value.After == nil {
		delete(t.Metrics, name)
		return nil
	}
	if !m.Corrected {
		m.Corrected, m.Original = true, new(m.Value)
	}
	m.Value, m.StdDev = value.After.Value, value.After.StdDev
	t.Metrics[name] = m
	return nil
}

// Reads tells whether m holds reading.
func (m Measurement) Reads(reading Reading) bool {
	if (m.StdDev == nil) != (reading.StdDev == nil) || m.StdDev != nil && *m.StdDev != *reading.StdDev {
		return false
	}
	return m.Value == reading.Value
}

func (b *builder) closed(data ClosedData) error {
	t, r, err := b.concern(data.Number)
	if err != nil {
		return err
	}
	status, cause := StatusAbandoned, optimizer.Abandoned
	if b.last.Kind == Failed {
		switch status = StatusFailed; data.Cause {
		case BySettings:
			cause = optimizer.BySettings
		case ByChance:
			cause = optimizer.ByChance
		default:
			return fmt.Errorf("trial %d failed by %q", t.Number, data.Cause)
		}
	}
	if before := r.ended(); before != nil {
		if before.cause == cause {
			return fmt.Errorf("trial %d is already %s", t.Number, t.Status)
		}
		before.to = b.last.Seq
	}
	r.spells = append(r.spells, spell{from: b.last.Seq, cause: cause, data: data, by: b.last.By})
	t.Status, t.Cause = status, data.Cause
	return nil
}

func (b *builder) setExcluded(data ClosedData) error {
	t, r, err := b.concern(data.Number)
	if err != nil {
		return err
	}
	excluded := b.last.Kind == Excluded
	if t.Excluded == excluded {
		return fmt.Errorf("trial %d already is so", t.Number)
	}
	t.Excluded, r.excluded, b.snap.ranges = excluded, data.Reason, nil
	b.snap.rewritten = b.last.Seq
	b.revise(data.Number, data.Reason)
	return nil
}

func (b *builder) fit(data FittedData) error {
	if data.From != len(b.snap.Trials)+1 || data.Seen >= b.last.Seq {
		return fmt.Errorf("a fit from decision %d made from event %d", data.From, data.Seen)
	}
	for name := range data.Metrics {
		if !b.names[name] {
			return fmt.Errorf("no metric %q", name)
		}
	}
	b.snap.Fits = append(b.snap.Fits, data)
	b.revise(0, "")
	b.snap.fitted = b.last.Seq
	return nil
}

// catchUp compiles a new definition and works out what follows from readings and limits.
func (b *builder) catchUp(like *Snapshot) error {
	if b.snap.defined != b.compiled {
		if err := b.compile(like); err != nil {
			return err
		}
	}
	for i := range b.stale {
		b.snap.derive(i)
	}
	clear(b.stale)
	return nil
}

// compile compiles the definition, or takes over like's, and looks for every trial's place anew.
func (b *builder) compile(like *Snapshot) (err error) {
	snap := b.snap
	if like != nil && like.defined == snap.defined {
		snap.compiled = like.compiled
	} else if snap.compiled, err = design.Compile(snap.Definition); err != nil {
		return fmt.Errorf("event %d: the definition: %w", snap.defined, err)
	}
	b.compiled = snap.defined
	snap.formulaChanged = slices.ContainsFunc(snap.Revisions, func(r Revision) bool {
		return !slices.EqualFunc(r.Limits, snap.Definition.Constraints, func(then, now design.Constraint) bool { return then.Expression == now.Expression })
	})
	for i := range snap.Trials {
		_, r := b.touch(i + 1)
		r.place.U = nil
	}
	return nil
}

// derive works out what of trial i follows from its readings, its settings and the present
// definition.
func (snap *Snapshot) derive(i int) {
	t, r := snap.Trials[i], snap.records[i]
	if r.place.U == nil {
		r.place, r.gone = snap.compiled.Locate(t.Parameters, t.Candidate), !snap.compiled.MayChooseAgain(r.chosen, t.Parameters)
		if r.now = nil; snap.formulaChanged {
			r.now = snap.compiled.KnownNow(t.Parameters, t.Context, r.known)
		}
	}
	if ended := r.ended(); ended != nil {
		t.Reason = ended.data.Reason
	} else {
		t.Reason, t.Status = "", t.progress(snap.compiled.MetricNames)
	}
	if t.Excluded {
		t.Reason = r.excluded
	}
	for name, m := range t.Metrics {
		m.Headroom = snap.Definition.Headroom(name, m.Value)
		t.Metrics[name] = m
	}
	t.Feasible = snap.feasible(i)
}

// ended is how the trial ended without results, nil where it has not.
func (r *record) ended() *spell {
	if n := len(r.spells); n > 0 && r.spells[n-1].to == 0 {
		return &r.spells[n-1]
	}
	return nil
}

// Ending is how trial number ended without results, and who said so; "" where it has not.
func (snap *Snapshot) Ending(number int) (kind Kind, data ClosedData, by string) {
	ended := snap.records[number-1].ended()
	if ended == nil {
		return "", data, ""
	}
	return Kind(snap.Trial(number).Status), ended.data, ended.by
}

// progress is the status of a trial that is neither failed nor abandoned.
func (t *Trial) progress(modelled []string) Status {
	switch {
	case !slices.ContainsFunc(modelled, func(name string) bool { return !t.has(name) }):
		return StatusCompleted
	case t.anyTold():
		return StatusPartial
	default:
		return StatusSuggested
	}
}

// feasible is nil while the value of any constraint is unknown.
func (snap *Snapshot) feasible(i int) *bool {
	holds := true
	for _, c := range snap.Definition.Constraints {
		m, ok := snap.Trials[i].Metrics[c.Metric]
		if !ok {
			return nil
		}
		holds = holds && c.Holds(m.Value)
	}
	return &holds
}
