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

// Fold returns the study after events, given the study before them, prior (nil before the first),
// which is not modified. An event that is impossible in its place is an error that names its seq.
// like, if not nil, is another snapshot of the same study, whose compiled definition is reused if
// the definition is the same.
func Fold(id string, prior *Snapshot, events []Event, like *Snapshot) (*Snapshot, error) {
	return fold(id, prior, events, like, nil)
}

// FoldAdmitted is Fold for events that anybody may have written. admit is called for each event
// with the study before it (nil before the first) and checks what Fold takes for granted of events
// that this program wrote. It must not keep its arguments.
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

// decodeAll decodes the data of events on all cores, and returns for each a function that applies
// it to the study.
func (b *builder) decodeAll(events []Event) []func() error {
	does := make([]func() error, len(events))
	_ = cores.Stretches(len(events), func(from, to int) error { // decoding errors are returned by the functions
		for i := from; i < to; i++ {
			does[i] = b.decode(events[i])
		}
		return nil
	})
	return does
}

// builder is a snapshot under construction. It shares the data of prior until it writes to them.
type builder struct {
	snap     *Snapshot
	touched  map[int]bool // indices of trials that belong to snap alone
	stale    map[int]bool // indices of trials that derive must update
	compiled int64        // seq of the event whose definition snap.compiled is
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
		snap.Fits, snap.Revisions = slices.Clip(prior.Fits), slices.Clip(prior.Revisions)
		snap.former, snap.unasked, snap.together = slices.Clip(prior.former), slices.Clip(prior.unasked), slices.Clone(prior.together)
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

// next applies an event unless admit, which may be nil, refuses it.
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
	if b.last = e; !e.At.Equal(snap.UpdatedAt) || e.Kind != Chosen && e.Kind != Told { // all rows of a table have the same time
		b.judgeRows()
		snap.unasked = nil
	}
	if err := apply(); err != nil {
		return err
	}
	if n := len(snap.together); e.Seq > 1 && e.At.Equal(snap.UpdatedAt) { // see Next
		if n == 0 || snap.together[n-1].last < snap.Version {
			snap.together, n = append(snap.together, span{first: snap.Version}), n+1
		}
		snap.together[n-1].last = e.Seq
	}
	snap.Version, snap.Hash, snap.UpdatedAt, snap.Bytes = e.Seq, e.Hash, e.At, snap.Bytes+int64(len(e.Data))
	if admit != nil {
		return b.catchUp(nil)
	}
	return nil
}

// decode decodes the data of an event and returns a function that applies it to the study.
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
	b.addRevision(0, "")
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
		if !slices.Contains(States, *data.State) {
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
	from.Start = after.Model.Start // starting values do not affect existing fits
	if !reflect.DeepEqual(from, after.Model) || !reflect.DeepEqual(before.Parameters, after.Parameters) {
		b.snap.rewritten = b.last.Seq
	}
	b.define(after)
	if slices.ContainsFunc(data.Changes, ofUnit) {
		before.Candidates, before.Model = nil, design.Model{}
		b.snap.former = append(b.snap.former, formerDefinition{b.last.Seq, &before})
	}
	b.judgeSettingsAgain()
	b.addRevision(0, data.Reason).Changes = slices.DeleteFunc(data.Changes, unseenByAlgorithm)
	return nil
}

// unseenByAlgorithm reports whether a change of the definition does not concern the algorithm: a
// change of units, of plausible values, of when to stop, or of metrics that are only recorded.
func unseenByAlgorithm(change design.Change) bool {
	return ofUnit(change) || change.Field() == "plausible" ||
		strings.HasPrefix(change.Path, "stop") || strings.HasPrefix(change.Path, "recorded_metrics")
}

func ofUnit(change design.Change) bool { return change.Field() == "unit" }

func (b *builder) chosen(data ChosenData) error {
	snap := b.snap
	switch n := len(snap.Trials); {
	case snap.State != Open:
		return fmt.Errorf("the study is %s", snap.State)
	case data.Number != n+1:
		return fmt.Errorf("trial %d follows trial %d", data.Number, n)
	case data.Seen < 1 || data.Seen >= b.last.Seq || n > 0 && data.Seen < snap.Trials[n-1].Seen:
		return fmt.Errorf("was decided from event %d", data.Seen)
	case !slices.Contains(Origins, data.Origin):
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
	t := &Trial{
		Number: data.Number, Round: data.Number, Origin: data.Origin, Status: StatusSuggested,
		Metrics: map[string]Measurement{}, Decision: data.Decision, Note: data.Note, ReplicateOf: data.ReplicateOf, Held: data.Held,
		Context: data.Context, ConstraintValues: data.ConstraintValues,
		CreatedAt: b.last.At, By: b.last.By, ChosenSeq: b.last.Seq, Seen: data.Seen,
		record: record{chosen: data.Parameters, chosenArm: data.Candidate, knownAsChosen: data.KnownValues, events: []int64{b.last.Seq}},
	}
	snap.Trials = append(snap.Trials, t)
	return b.setSettings(t, data.Parameters, data.Candidate, data.KnownValues)
}

// setSettings sets a trial's settings and the values of the known constraints there.
func (b *builder) setSettings(t *Trial, settings design.Settings, candidate *int, known map[string]float64) error {
	for name, before := range t.Parameters {
		if settings[name] != before {
			b.markSet(t, name)
		}
	}
	t.Parameters, t.Candidate, t.SettingsChanged = settings, candidate, !maps.Equal(settings, t.chosen)
	if candidate != nil && (*candidate < 0 || *candidate >= len(b.snap.Definition.Candidates)) {
		return fmt.Errorf("no candidate %d", *candidate)
	}
	t.known, t.place.U = known, nil
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

// markSet records that the present event gave a reading or setting its value.
func (b *builder) markSet(t *Trial, name string) {
	if t.since == nil {
		t.since = map[string]int64{}
	}
	t.since[name] = b.last.Seq
}

// touch returns a trial for writing, copied from prior if necessary.
func (b *builder) touch(number int) *Trial {
	i := number - 1
	b.stale[i] = true
	if !b.touched[i] {
		b.touched[i] = true
		t := *b.snap.Trials[i]
		t.Metrics, t.since, t.closed, t.events = maps.Clone(t.Metrics), maps.Clone(t.since), slices.Clone(t.closed), slices.Clip(t.events)
		b.snap.Trials[i] = &t
	}
	return b.snap.Trials[i]
}

// touchSubject is touch for the trial that the present event is about.
func (b *builder) touchSubject(number int) (*Trial, error) {
	if b.snap.Trial(number) == nil {
		return nil, fmt.Errorf("no trial %d", number)
	}
	t := b.touch(number)
	t.events = append(t.events, b.last.Seq)
	return t, nil
}

// touchTold is touchSubject for an event that an archived study does not accept.
func (b *builder) touchTold(number int) (*Trial, error) {
	t, err := b.touchSubject(number)
	if err == nil && b.snap.State == Archived {
		err = errors.New("the study is archived")
	}
	return t, err
}

// addRevision adds a revision for the present event.
func (b *builder) addRevision(number int, reason string) *Revision {
	b.snap.Revisions = append(b.snap.Revisions, Revision{Seq: b.last.Seq, At: b.last.At, Kind: b.last.Kind, After: len(b.snap.Trials),
		Number: number, Reason: reason, Limits: b.snap.Definition.Constraints})
	return &b.snap.Revisions[len(b.snap.Revisions)-1]
}

func (b *builder) told(data ToldData) error {
	t, err := b.touchTold(data.Number)
	if err != nil {
		return err
	}
	kept := t.Parameters
	if data.Parameters != nil {
		if err := b.setSettings(t, data.Parameters, data.Candidate, data.KnownValues); err != nil {
			return err
		}
		if t.anyTold() {
			b.snap.rewritten = b.last.Seq
		}
		t.dropDoubts(nil)
		if !t.Parameters.Equal(kept) {
			b.judgeAgain(t)
		}
	}
	ranges := b.ranges()
	switch row := t.Origin == Imported && b.last.At.Equal(t.CreatedAt); {
	case data.Unasked:
		b.snap.unasked = append(b.snap.unasked, unaskedRow{t.Number, b.last.Seq, row})
		if !row {
			b.doubtSettings(t, kept)
		}
	case !row && !data.Confirmed:
		b.doubt(t, b.snap.Definition.Metrics(), data.Metrics, kept)
	}
	if err := b.read(t, data, ranges); err != nil {
		return err
	}
	if data.Note != "" && data.Note != t.Note && !strings.HasSuffix(t.Note, "\n"+data.Note) { // the same note comes again after an undo
		if t.Note != "" {
			t.Note += "\n"
		}
		t.Note += data.Note
	}
	if ended := t.ended(); ended != nil && len(data.Metrics) > 0 { // a note or settings alone are no result
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

// ranges returns the ranges of the readings for writing.
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

// SimulatedBy ends the author of what a simulated lab does, whose beginning is who runs it.
const SimulatedBy = " (simulated lab)"

// doubt judges readings and settings that are being told, by what was known before. Only grave
// doubts stay with the trial; about the others people are asked when they type. kept are the
// settings before this event. What a simulated lab tells is right.
func (b *builder) doubt(t *Trial, metrics []design.MetricInfo, readings map[string]Reading, kept design.Settings) {
	if b.snap.Definition.SimulatedLab != "" && strings.HasSuffix(b.last.By, SimulatedBy) {
		return
	}
	b.doubtReadings(t, metrics, readings)
	b.doubtSettings(t, kept)
}

func (b *builder) doubtReadings(t *Trial, metrics []design.MetricInfo, readings map[string]Reading) {
	expected, known := func(metric string) *Expected { return b.snap.Predicted(t, metric) }, func(metric string) Range { return b.snap.Range(metric, t.Number) }
	odd := b.snap.doubtReadings(metrics, readings, expected, known)
	t.Doubts = slices.Concat(t.Doubts, slices.DeleteFunc(odd, func(d Doubted) bool { return !d.grave }))
}

func (b *builder) doubtSettings(t *Trial, kept design.Settings) {
	t.Doubts = slices.Concat(t.Doubts, b.snap.DoubtSettings(t.Number, kept, t.Parameters))
}

// judgeRows judges the rows of the last table that nobody was asked about, each by all its other
// rows, as is done when people are asked.
func (b *builder) judgeRows() {
	var made []int
	for _, row := range b.snap.unasked {
		if row.made {
			made = append(made, row.number)
		} else {
			b.judgeRow(row)
		}
	}
	if len(made) == 0 {
		return
	}
	rest := Snapshot{Definition: b.snap.Definition, Trials: slices.DeleteFunc(slices.Clone(b.snap.Trials), func(t *Trial) bool {
		_, unasked := slices.BinarySearch(made, t.Number)
		return unasked
	})}
	for i, doubts := range rest.DoubtRows(lists.Map(made, b.snap.row)) {
		b.touch(made[i]).Doubts = doubts
	}
}

// judgeRow judges, perhaps again, the readings that a row told of a trial that was there.
func (b *builder) judgeRow(row unaskedRow) {
	t := b.touch(row.number)
	readings := map[string]Reading{}
	for name, m := range t.Metrics {
		if m.ToldSeq == row.seq && !m.Known {
			readings[name] = Reading{m.Value, m.StdDev}
		}
	}
	t.Doubts = slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubted) bool {
		_, told := readings[d.Metric]
		return told
	})
	b.doubtReadings(t, b.snap.Definition.Metrics(), readings)
}

// row returns what the row of a table told of a trial.
func (snap *Snapshot) row(number int) Row {
	t, readings := snap.Trial(number), map[string]Reading{}
	for name, m := range t.Metrics {
		if !m.Known {
			readings[name] = Reading{m.Value, m.StdDev}
		}
	}
	return Row{readings, snap.Chosen(number), t.Parameters}
}

// judgeAgain judges the doubted readings again after a change of settings, since the decision's
// prediction holds for the chosen settings only; each as what it was told as, in its unit.
func (b *builder) judgeAgain(t *Trial) {
	readings := map[string]Reading{}
	t.Doubts = slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubted) bool {
		m, told := t.Metrics[d.Metric]
		if told {
			readings[d.Metric] = Reading{m.Value, m.StdDev}
		}
		return told
	})
	b.doubt(t, lists.Map(b.snap.Definition.Metrics(), func(m design.MetricInfo) design.MetricInfo {
		return b.snap.InUnitsOf(b.snap.Since(t.Number, m.Name)).Metric(m.Name)
	}), readings, t.Parameters)
}

// judgeSettingsAgain judges the doubted settings again after a change of bounds. Those that were
// used in another unit than the present one keep their doubts.
func (b *builder) judgeSettingsAgain() {
	for _, t := range b.snap.Trials {
		again := func(d Doubted) bool {
			return d.Parameter != "" && b.snap.UnitTold(t.Number, d.Parameter) == b.snap.Definition.Unit(d.Parameter)
		}
		if !slices.ContainsFunc(t.Doubts, again) {
			continue
		}
		judged := b.snap.row(t.Number).doubtSettings(&b.snap.Definition, b.snap.InUnitsOf(t.ChosenSeq))
		t := b.touch(t.Number)
		t.Doubts = lists.Pick(t.Doubts, func(d Doubted) (Doubted, bool) {
			if !again(d) {
				return d, true
			}
			return lists.Find(judged, func(now Doubted) bool { return now.Parameter == d.Parameter })
		})
	}
}

// dropDoubts removes the doubts about readings that are corrected and about settings that have
// changed.
func (t *Trial) dropDoubts(metrics map[string]CorrectedValue) {
	t.Doubts = slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubted) bool {
		_, anew := metrics[d.Metric]
		return anew || d.Parameter != "" && t.Parameters[d.Parameter].Number != d.Value
	})
}

func (b *builder) confirmed(data ConfirmedData) error {
	t, err := b.touchSubject(data.Number)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.Doubts, func(d Doubted) bool { return d.slip != 0 }) {
		b.snap.rewritten = b.last.Seq // a reading that had little weight gets its full weight
	}
	t.Doubts = nil
	return nil
}

func (b *builder) corrected(data CorrectedData) error {
	t, err := b.touchTold(data.Number)
	if err != nil {
		return err
	}
	stood, since := b.snap.replaced(data)
	for name, value := range data.Metrics {
		if err := correctMetric(t, name, value); err != nil {
			return err
		}
		b.markSet(t, name)
	}
	kept := t.Parameters
	if p := data.Parameters; p != nil {
		if !maps.Equal(p.Before, t.Parameters) {
			return fmt.Errorf("the settings before the correction are not those of trial %d", t.Number)
		}
		if err := b.setSettings(t, p.After, data.Candidate, data.KnownValues); err != nil {
			return err
		}
	}
	t.dropDoubts(data.Metrics)
	b.snap.ranges = nil
	if data.Parameters != nil {
		b.judgeAgain(t)
	}
	if !data.Confirmed {
		b.doubt(t, b.snap.Definition.Metrics(), data.after(), kept)
	}
	b.snap.rewritten = b.last.Seq
	revision := b.addRevision(data.Number, data.Reason)
	revision.Stood, revision.Since, revision.Emptied = stood, since, len(data.Metrics)-len(data.after())
	return nil
}

// replaced returns, by name, the events that had set the values before a correction, and the
// earliest event among those of the values that it changes.
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

// after returns the corrected readings.
func (data CorrectedData) after() map[string]Reading {
	readings := map[string]Reading{}
	for name, value := range data.Metrics {
		if value.After != nil {
			readings[name] = *value.After
		}
	}
	return readings
}

// correctMetric applies a correction. The reading keeps the time of its first telling; a value
// taken back counts as never told.
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

// Reads reports whether m has the value and standard deviation of reading.
func (m Measurement) Reads(reading Reading) bool {
	if (m.StdDev == nil) != (reading.StdDev == nil) || m.StdDev != nil && *m.StdDev != *reading.StdDev {
		return false
	}
	return m.Value == reading.Value
}

func (b *builder) closed(data ClosedData) error {
	t, err := b.touchSubject(data.Number)
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
	if before := t.ended(); before != nil {
		if before.cause == cause {
			return fmt.Errorf("trial %d is already %s", t.Number, t.Status)
		}
		before.to = b.last.Seq
	}
	t.closed = append(t.closed, closedSpan{from: b.last.Seq, cause: cause, data: data, by: b.last.By})
	t.Status, t.Cause = status, data.Cause
	return nil
}

func (b *builder) setExcluded(data ClosedData) error {
	t, err := b.touchSubject(data.Number)
	if err != nil {
		return err
	}
	excluded := b.last.Kind == Excluded
	if t.Excluded == excluded {
		return fmt.Errorf("trial %d already is so", t.Number)
	}
	t.Excluded, t.whyExcluded, b.snap.ranges = excluded, data.Reason, nil
	b.snap.rewritten = b.last.Seq
	b.addRevision(data.Number, data.Reason)
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
	b.addRevision(0, "")
	b.snap.fitted = b.last.Seq
	return nil
}

// catchUp compiles a changed definition and derives what follows from readings and limits.
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

// compile compiles the definition or reuses that of like, and makes every trial's place be computed
// again.
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
		b.touch(i + 1).place.U = nil
	}
	return nil
}

// derive computes what follows from the readings and settings of the trial at index i under the
// present definition.
func (snap *Snapshot) derive(i int) {
	t := snap.Trials[i]
	if t.place.U == nil {
		t.place, t.gone = snap.compiled.Locate(t.Parameters, t.Candidate), !snap.compiled.MayChooseAgain(t.chosen, t.Parameters)
		if t.knownNow = nil; snap.formulaChanged {
			t.knownNow = snap.compiled.KnownNow(t.Parameters, t.Context, t.known)
		}
	}
	if ended := t.ended(); ended != nil {
		t.Reason = ended.data.Reason
	} else {
		t.Reason, t.Status = "", t.progress(snap.compiled.MetricNames)
	}
	if t.Excluded {
		t.Reason = t.whyExcluded
	}
	for name, m := range t.Metrics {
		m.Headroom = snap.Definition.Headroom(name, m.Value)
		t.Metrics[name] = m
	}
	t.Feasible = snap.feasible(i)
}

// ended returns the span in which the trial is closed at present, nil if it is not.
func (t *Trial) ended() *closedSpan {
	if n := len(t.closed); n > 0 && t.closed[n-1].to == 0 {
		return &t.closed[n-1]
	}
	return nil
}

// Ending returns how a trial ended without results, and who said so; kind is "" if it did not.
func (snap *Snapshot) Ending(number int) (kind Kind, data ClosedData, by string) {
	ended := snap.Trial(number).ended()
	if ended == nil {
		return "", data, ""
	}
	return Kind(snap.Trial(number).Status), ended.data, ended.by
}

// EndedBy returns the number of the event by which a trial ended without results, 0 if it did not.
func (snap *Snapshot) EndedBy(number int) int64 {
	if ended := snap.Trial(number).ended(); ended != nil {
		return ended.from
	}
	return 0
}

// progress returns the status of a trial that is neither failed nor abandoned.
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

// feasible reports whether the trial at index i is within every limit, nil while a value is
// missing.
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
