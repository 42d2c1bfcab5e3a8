package db_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// These tests run the domain's service on the real store.

func newService(t testing.TB) *study.Service {
	t.Helper()
	return serve(t, dbtest.New(t))
}

// serve runs a service on a database until the test ends.
func serve(t testing.TB, d *db.DB) *study.Service {
	t.Helper()
	s := study.NewService(d.Studies, study.Options{})
	t.Cleanup(s.Stop)
	return s
}

var ana = study.Command{By: "Ana"}

// reactor is a study of two settings with one limit and the practical defaults.
func reactor() design.Definition {
	return design.Definition{
		Name: "Reactor",
		Parameters: []design.Parameter{
			{Name: "temperature", Type: design.Real, Low: new(20.0), High: new(60.0), Unit: "°C"},
			{Name: "cycles", Type: design.Integer, Low: new(1.0), High: new(12.0)},
		},
		Objective:       design.Objective{Metric: "yield", Direction: "maximize", Unit: "%"},
		Constraints:     []design.Constraint{{Metric: "impurity", Op: "<=", Threshold: 0.5, Unit: "%"}},
		RecordedMetrics: []design.RecordedMetric{{Metric: "colour"}},
		Algorithm:       design.Algorithm{Name: "rpol-ucb", Horizon: 60},
		Seed:            7,
	}
}

// run is the reactor: what an experiment with these settings reads.
func run(settings design.Settings) map[string]ledger.Reading {
	x := (settings["temperature"].Number - 20) / 40
	y := settings["cycles"].Number / 12
	return map[string]ledger.Reading{
		"yield":    {Value: 80 - 60*(x-0.7)*(x-0.7) - 20*(y-0.5)*(y-0.5) + 0.3*math.Sin(37*x+11*y)},
		"impurity": {Value: 0.2 + 0.6*x*y + 0.02*math.Cos(23*x-5*y)},
	}
}

func create(t testing.TB, s *study.Service, d design.Definition) *ledger.Snapshot {
	t.Helper()
	return must.Get(s.Create(t.Context(), ana, d))(t)
}

func ask(t testing.TB, s *study.Service, id string, count int) (*ledger.Snapshot, []int) {
	t.Helper()
	return must.Get2(s.Ask(t.Context(), ana, id, study.Ask{Count: &count}))(t)
}

func tell(t testing.TB, s *study.Service, id string, number int, metrics map[string]ledger.Reading) *ledger.Snapshot {
	t.Helper()
	return must.Get(s.Tell(t.Context(), ana, id, number, ledger.Telling{Metrics: metrics}))(t)
}

// play asks and tells rounds times.
func play(t testing.TB, s *study.Service, id string, rounds int) *ledger.Snapshot {
	t.Helper()
	var snap *ledger.Snapshot
	for range rounds {
		asked, numbers := ask(t, s, id, 1)
		snap = tell(t, s, id, numbers[0], run(asked.Trial(numbers[0]).Parameters))
	}
	return snap
}

func wantVerified(t testing.TB, s *study.Service, id string, checked int) {
	t.Helper()
	snap := must.Get(s.Snapshot(t.Context(), id, 0))(t)
	v := must.Get(s.Verify(t.Context(), snap))(t)
	if !v.OK || !v.LedgerIntact || v.Checked != checked {
		shown, _ := json.MarshalIndent(v, "", " ")
		t.Fatalf("want %d decisions verified, got %s", checked, shown)
	}
}

// wantError fails unless err is of the kind and its sentence contains text.
func wantError(t testing.TB, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Fatalf("want %v with %q, got %v", kind, text, err)
	}
}

func wantFault(t testing.TB, err error, location string) {
	t.Helper()
	var faulty *design.Invalid
	if !errors.As(err, &faulty) {
		t.Fatalf("want a fault at %s, got %v", location, err)
	}
	for _, f := range faulty.Faults {
		if f.Field == location {
			return
		}
	}
	t.Fatalf("want a fault at %s, got %v", location, faulty.Faults)
}

func TestVerifyHoldsThroughEverythingThatCanHappen(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	id := create(t, s, reactor()).ID
	play(t, s, id, 7)
	must := func(_ *ledger.Snapshot, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	snap, batch := ask(t, s, id, 3)
	must(s.Tell(ctx, ana, id, batch[2], ledger.Telling{Metrics: run(snap.Trial(batch[2]).Parameters)}))
	must(s.Close(ctx, ana, id, ledger.Failed, ledger.ClosedData{Number: batch[0], Reason: "stirrer broke", Cause: ledger.BySettings}))
	ask(t, s, id, 1)
	must(s.Correct(ctx, ana, id, study.Correction{Number: 3, Metrics: map[string]*ledger.Reading{"yield": {Value: 60}}, Reason: "typo"}))
	ask(t, s, id, 1)
	must(s.Close(ctx, ana, id, ledger.Excluded, ledger.ClosedData{Number: 2, Reason: "wrong bottle"}))
	play(t, s, id, 2)
	must(s.Close(ctx, ana, id, ledger.Included, ledger.ClosedData{Number: 2, Reason: "right bottle after all"}))
	must(s.Correct(ctx, ana, id, study.Correction{Number: 5, Metrics: map[string]*ledger.Reading{"impurity": nil}, Reason: "not measured"}))
	must(s.Tell(ctx, ana, id, batch[0], ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 70}}}))
	if _, _, err := s.AddTrial(ctx, ana, id, study.OwnTrial{Parameters: design.Settings{"temperature": {Number: 41.5}, "cycles": {Number: 4}},
		Metrics: map[string]ledger.Reading{"yield": {Value: 71}}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Replicate(ctx, ana, id, 4); err != nil {
		t.Fatal(err)
	}
	must(s.Reconfigure(ctx, ana, id, design.Reconfiguration{Constraints: []design.Constraint{{Metric: "impurity", Op: "<=", Threshold: 0.45, Unit: "%"}},
		Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 60}, Reason: "stricter customer"}))
	now := play(t, s, id, 3)
	decisions := 0
	for _, trial := range now.Trials {
		if trial.Decision != nil {
			decisions++
		}
	}
	wantVerified(t, s, id, decisions)
	// A service that knows nothing but the ledger agrees.
	state, err := s.StateOf(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	text := export(t, s, now)
	other := newService(t)
	moved, err := other.ImportBundle(ctx, study.Command{By: "Bo"}, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if moved.Hash != now.Hash || moved.Version != now.Version || moved.ID == now.ID {
		t.Fatalf("moved to %s %d %s", moved.ID, moved.Version, moved.Hash)
	}
	fresh, err := other.StateOf(ctx, moved)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, fresh, approximately(1e-9)); diff != "" {
		t.Fatalf("(-grown +replayed)\n%s", diff)
	}
	verified, err := study.VerifyBundle(ctx, text)
	if err != nil || !verified.OK {
		t.Fatalf("offline: %v %+v", err, verified)
	}
}

func export(t testing.TB, s *study.Service, snap *ledger.Snapshot) []byte {
	t.Helper()
	var file bytes.Buffer
	must.Do(t, s.Export(t.Context(), snap, &file))
	return file.Bytes()
}

func approximately(tolerance float64) cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a)) })
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	id := create(t, s, reactor()).ID
	var bundle ledger.Bundle
	must.Do(t, json.Unmarshal(export(t, s, play(t, s, id, 10)), &bundle))
	for i, e := range bundle.Events {
		if e.Kind == ledger.Told {
			bundle.Events[i].Data = bytes.Replace(e.Data, []byte(`"value":`), []byte(`"value":1`), 1)
			break
		}
	}
	text := must.Get(json.Marshal(bundle))(t)
	v := must.Get(study.VerifyBundle(ctx, text))(t)
	if v.OK || v.LedgerIntact || len(v.Different) < 2 {
		t.Fatalf("a changed reading breaks the hash and the decisions after it, got %+v", v)
	}
	if _, err := s.ImportBundle(ctx, ana, bytes.NewReader(text)); err == nil {
		t.Fatal("a broken ledger must not be imported")
	}
}

func TestRetriesAndStaleWrites(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	snap := create(t, s, reactor())
	key := &study.IdempotencyKey{Caller: "ana", Request: "POST /ask", Key: "1", Body: sha256.New()}
	must.Get2(s.Ask(ctx, study.Command{By: "Ana", Key: key, IfMatch: 1}, snap.ID, study.Ask{}))(t)
	paused := ledger.Paused
	must.Get(s.Edit(ctx, ana, snap.ID, ledger.EditedData{State: &paused}))(t)
	// The first answer comes again although asking is no longer possible.
	_, _, err := s.Ask(ctx, study.Command{By: "Ana", Key: key}, snap.ID, study.Ask{})
	var again *study.AlreadyDone
	if !errors.As(err, &again) || again.Done.Study != snap.ID || again.Done.Version != 2 || !slices.Equal(again.Done.Trials, []int{1}) {
		t.Fatalf("got %v", err)
	}
	_, err = s.Tell(ctx, study.Command{By: "Ana", IfMatch: 2}, snap.ID, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 1}}})
	wantError(t, err, study.ErrStale, "")
}

func TestAsksAtOnceBecomeRoundsOneAfterAnother(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := create(t, s, reactor()).ID
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			snap, numbers, err := s.Ask(context.Background(), ana, id, study.Ask{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Tell(context.Background(), ana, id, numbers[0], ledger.Telling{Metrics: run(snap.Trial(numbers[0]).Parameters)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	snap, err := s.Snapshot(t.Context(), id, 0)
	if err != nil || len(snap.Trials) != 8 {
		t.Fatalf("%v, %d trials", err, len(snap.Trials))
	}
	wantVerified(t, s, id, 8)
}

func TestTimeTravelShowsWhatWas(t *testing.T) {
	t.Parallel()
	store, ctx := dbtest.New(t).Studies, t.Context()
	s := study.NewService(store, study.Options{})
	t.Cleanup(s.Stop)
	id := create(t, s, reactor()).ID
	then := play(t, s, id, 6)
	before := must.Get(s.StateOf(ctx, then))(t)
	play(t, s, id, 2)
	must.Get(s.Correct(ctx, ana, id, study.Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 1}}, Reason: "typo"}))(t)
	for _, reader := range []*study.Service{s, study.NewService(store, study.Options{CacheBytes: 1})} {
		past := must.Get(reader.Snapshot(ctx, id, then.Version))(t)
		state := must.Get(reader.StateOf(ctx, past))(t)
		if diff := cmp.Diff(before, state, approximately(1e-9)); diff != "" {
			t.Fatalf("(-then +travelled)\n%s", diff)
		}
	}
	_, err := s.Snapshot(ctx, id, 10000)
	wantFault(t, err, "at")
}

// TestCorrectionPreviewSaysWhatItWouldChange: what comes of it comes of the correction, down to what
// the next ask suggests after its fit.
func TestCorrectionPreviewSaysWhatItWouldChange(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	id := create(t, s, reactor()).ID
	snap := play(t, s, id, 8)
	change := study.Correction{Number: 2, Metrics: map[string]*ledger.Reading{"impurity": {Value: 2}}, Reason: "typo"}
	impact := must.Get(s.PreviewCorrection(ctx, study.Command{}, id, change))(t)
	if now, err := s.Snapshot(ctx, id, 0); err != nil || now.Version != snap.Version {
		t.Fatalf("a preview stored something: %v", err)
	}
	must.Get(s.Edit(ctx, ana, id, ledger.EditedData{State: new(ledger.Finished)}))(t)
	if over := must.Get(s.PreviewCorrection(ctx, study.Command{}, id, change))(t); over.NextBefore != nil || over.NextAfter != nil || over.Withheld != "" {
		t.Errorf("of a finished study, which nobody can ask, the next suggestions are %v and %v", over.NextBefore, over.NextAfter)
	}
	must.Get(s.Edit(ctx, ana, id, ledger.EditedData{State: new(ledger.Open)}))(t)
	if impact.DecisionsAfter != 6 || impact.Trial.Metrics["impurity"].Value != 2 || impact.NextBefore == nil || impact.NextAfter == nil {
		t.Fatalf("%+v", impact)
	}
	after := must.Get(s.Correct(ctx, ana, id, change))(t)
	state := must.Get(s.StateOf(ctx, after))(t)
	if diff := cmp.Diff(impact.Multipliers["impurity"][1], state.Multipliers["impurity"], approximately(1e-12)); diff != "" || impact.Multipliers["impurity"][0] == state.Multipliers["impurity"] {
		t.Fatalf("multiplier %v, then %v", impact.Multipliers, state.Multipliers)
	}
	if m := after.Trial(2).Metrics["impurity"]; !m.Corrected || m.Original == nil || *m.Original == 2 {
		t.Fatalf("%+v", m)
	}
	next := func(foretold *design.Settings) {
		t.Helper()
		asked, numbers := must.Get2(s.Ask(ctx, ana, id, study.Ask{}))(t)
		if diff := cmp.Diff(*foretold, asked.Trial(numbers[0]).Parameters); diff != "" {
			t.Errorf("the next suggestion is another than the preview said (-said +asked)\n%s", diff)
		}
	}
	next(impact.NextAfter)
	refitted := must.Get(s.Snapshot(ctx, id, 0))(t).Fits
	if len(refitted) != len(after.Fits)+1 || refitted[len(after.Fits)].Metrics["yield"].Lengthscales[0] != state.Metrics["yield"].Kernel.Lengthscales["temperature"] {
		t.Errorf("after a correction the model is that of %+v, and shown as %+v", refitted[len(after.Fits):], state.Metrics["yield"])
	}
	stricter := design.Reconfiguration{Constraints: []design.Constraint{{Metric: "impurity", Op: "<=", Threshold: 0.3}}, Reason: "stricter"}
	impact = must.Get(s.PreviewReconfiguration(ctx, id, stricter))(t)
	must.Get(s.Reconfigure(ctx, ana, id, stricter))(t)
	next(impact.NextAfter)
}

func TestReadingsOfTheModelAreInPhysicalUnits(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	id := create(t, s, reactor()).ID
	snap := play(t, s, id, 12)
	points := []design.Settings{snap.Trial(8).Parameters, {"temperature": {Number: 20}, "cycles": {Number: 12}}}
	posterior := must.Get(s.PosteriorAt(ctx, snap, points))(t)
	yield := posterior.Metrics["yield"]
	if told := snap.Trial(8).Metrics["yield"].Value; math.Abs(yield.Mean[0]-told) > 5 || !(yield.Lower95[0] < yield.Mean[0]-1.5*yield.SD[0] && yield.Upper95[0] > yield.Mean[0]+1.5*yield.SD[0]) {
		t.Fatalf("told %g, believed %+v", told, yield)
	}
	acquisition, err := s.AcquisitionAt(ctx, snap, study.AcquisitionQuery{Points: points})
	if err != nil || acquisition.Argmax == nil || len(acquisition.Values) != 2 {
		t.Fatalf("%v %+v", err, acquisition)
	}
	_, err = s.AcquisitionAt(ctx, snap, study.AcquisitionQuery{})
	wantFault(t, err, "points")
	_, err = s.PosteriorAt(ctx, snap, []design.Settings{{"temperature": {Number: 90}, "cycles": {Number: 1}}})
	wantFault(t, err, "points[0].temperature")
	rows, err := s.HistoryOf(ctx, snap)
	if err != nil || len(rows) != 12 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	told := snap.ViolationSoFar()
	for i, row := range rows {
		if v := row.Violation["impurity"]; math.Abs(v.Hard-told[i][0].Hard) > 1e-9 || math.Abs(v.Soft-told[i][0].Soft) > 1e-9 || v.Rounds != told[i][0].Rounds {
			t.Fatalf("round %d: %+v, told %+v", row.Number, v, told[i])
		}
	}
	choices, err := s.Compare(ctx, snap, []design.Algorithm{{Name: "ckb-ucb"}, {Name: "rpol-ucb"}})
	if err != nil || len(choices) != 2 || choices[0].Because == "" || choices[0].Parameters == nil {
		t.Fatalf("%v %+v", err, choices)
	}
	slices, err := s.Slices(ctx, snap, points[0], 21)
	if err != nil || len(slices) != 2 || len(slices[0].At) != 21 || len(slices[1].At) != 12 {
		t.Fatalf("%v, %d slices", err, len(slices))
	}
	field, err := s.Map(ctx, snap, "temperature", "cycles", points[0], 15)
	if err != nil || len(field.Feasible) != 12 || len(field.Feasible[0]) != 15 {
		t.Fatalf("%v, map %dx%d", err, len(field.Feasible), len(field.X))
	}
}

func TestFeedbackIsReadAsOneReadingPerRound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	snap := create(t, s, reactor())
	if summary := snap.Summary(); summary.Trials != 0 || summary.OldestWaiting != nil {
		t.Fatalf("%+v", summary)
	}
	if state, err := s.StateOf(t.Context(), snap); err != nil || state.Round != 1 || state.Recommendation != nil {
		t.Fatalf("%v %+v", err, state)
	}
	play(t, s, snap.ID, 1)
	after, _ := ask(t, s, snap.ID, 2)
	listed, _, err := s.Summaries(t.Context(), study.Listing{Only: []string{snap.ID}})
	if err != nil || len(listed) != 1 {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after.Summary(), listed[0], cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Fatalf("(-snapshot +table)\n%s", diff)
	}
}

// TestAnEntryOfANewerProgram: while servers are upgraded one after another, an older one reads what
// a newer one writes. It says so where it does not know what that is, whether it has the study at hand
// or not, and writes nothing behind it.
func TestAnEntryOfANewerProgram(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	s := serve(t, d)
	snap, _ := ask(t, s, create(t, s, reactor()).ID, 1)
	written := must.Get(ledger.Next(snap, time.Now(), "Ana", ledger.Draft{Kind: ledger.Told, Data: map[string]any{"number": 1, "weather": "fair"}}))(t)[0]
	must.Get(d.Pool().Exec(ctx, `
		WITH newer AS (INSERT INTO events (study_id, seq, at, by, kind, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7))
		UPDATE studies SET version = $2, hash = $7 WHERE id = $1`, snap.ID, written.Seq, written.At, written.By, string(written.Kind), string(written.Data), written.Hash))(t)
	for what, service := range map[string]*study.Service{"at hand": s, "not at hand": serve(t, d)} {
		_, reading := service.Snapshot(ctx, snap.ID, 0)
		_, telling := service.Tell(ctx, ana, snap.ID, 1, ledger.Telling{Metrics: run(snap.Trial(1).Parameters)})
		_, _, asking := service.Ask(ctx, ana, snap.ID, study.Ask{})
		for does, err := range map[string]error{"reading": reading, "telling": telling, "asking": asking} {
			if later, ok := errors.AsType[*study.Later](err); !ok || !strings.Contains(later.Sentence, "newer") || !strings.Contains(err.Error(), "weather") {
				t.Errorf("%s, %s: %v", what, does, err)
			}
		}
	}
	if list, _ := must.Get2(s.Summaries(ctx, study.Listing{}))(t); len(list) != 1 || list[0].Version != snap.Version+1 {
		t.Errorf("listed as %+v", list)
	}
}

// TestDamageIsSaid: a ledger that somebody changed, cut, or that its row does not fit is found by
// verifying, whether the server has the study at hand or not; what cannot be done with it is told for
// good, and not to be tried again.
func TestDamageIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage  string // of the study $1 with its last event
		reads   bool   // whether a server that has nothing at hand can still read it
		refuses bool   // whether such a server adds nothing to it
	}{
		"the last event gone":        {`DELETE FROM events WHERE study_id = $1 AND seq = 5`, true, true},
		"an event gone":              {`DELETE FROM events WHERE study_id = $1 AND seq = 3`, false, true},
		"an event that says nothing": {`UPDATE events SET data = '{}' WHERE study_id = $1 AND seq = 5`, false, true},
		"an event of another kind":   {`UPDATE events SET kind = 'eaten' WHERE study_id = $1 AND seq = 5`, false, true},
		"the row of another version": {`UPDATE studies SET version = 4 WHERE id = $1`, true, false},
		"the row of another ledger":  {`UPDATE studies SET hash = repeat('f', 64) WHERE id = $1`, true, true},
		"the row of a later version": {`UPDATE studies SET version = 9 WHERE id = $1`, true, false},
		"the last event and its row": {`WITH gone AS (DELETE FROM events WHERE study_id = $1 AND seq = 5) UPDATE studies SET version = 4, hash = (SELECT hash FROM events WHERE study_id = $1 AND seq = 4) WHERE id = $1`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ctx := dbtest.New(t), t.Context()
			s := serve(t, d)
			snap := play(t, s, create(t, s, reactor()).ID, 2)
			if snap.Version != 5 {
				t.Fatalf("it is at version %d", snap.Version)
			}
			wantVerified(t, serve(t, d), snap.ID, 2)
			must.Get(d.Pool().Exec(ctx, tampered))(t)
			must.Get(d.Pool().Exec(ctx, c.damage, snap.ID))(t)
			found := must.Get(s.Verify(ctx, snap))(t)
			_, last := must.Get2(s.Verifying(ctx, snap.ID))(t)
			if found.OK || found.LedgerIntact || last == nil || last.OK {
				t.Errorf("verifying found %+v, and %+v is known of it", found, last)
			}
			other := serve(t, d)
			read, err := other.Snapshot(ctx, snap.ID, 0)
			if damaged, ok := errors.AsType[*study.Damaged](err); c.reads != (err == nil) || !c.reads && (!ok || errors.Is(err, study.ErrUnavailable)) {
				t.Errorf("reading got %v, %v", err, damaged)
			}
			if c.reads && read.Version == snap.Version {
				if found := must.Get(other.Verify(ctx, read))(t); found.OK {
					t.Error("a server that had nothing at hand finds nothing")
				}
			}
			_, _, err = other.AddTrial(ctx, ana, snap.ID, study.OwnTrial{Parameters: snap.Trial(1).Parameters})
			if _, ok := errors.AsType[*study.Damaged](err); ok != c.refuses || errors.Is(err, study.ErrUnavailable) {
				t.Errorf("a trial got %v", err)
			}
		})
	}
}
