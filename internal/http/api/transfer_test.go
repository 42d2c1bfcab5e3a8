package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

func TestTableGoesOutAndIn(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	path := "/studies/" + id
	table := "Temperature;CATALYST;yield;impurity;colour\n30,5;A;71,2;0,3;red\n40;B;PENDING;;blue\n"
	in := func(query, body string) sitetest.Answer {
		return s.API("POST", path+"/import"+query, body, "Content-Type", "text/csv")
	}
	in("", table+"41;A;70;;b\xffue\n").Faults(400, "body")
	if faults := in("", table).Faults(422); len(faults) == 0 {
		t.Error("an unknown column was accepted")
	}
	dry := in("?dry_run=true&ignore_unknown=true", table).Want(200).JSON()
	if dry["rows"] != 2.0 || dry["dry_run"] != true || version(t, s, id) != 1 || cmp.Diff(dry["unknown_columns"], []any{"colour"}) != "" {
		t.Errorf("dry run %v", dry)
	}
	for range 2 { // the second time it is the answer that was kept
		done := s.API("POST", path+"/import?ignore_unknown=true", table, "Content-Type", "text/csv", "Idempotency-Key", "once").Want(200).JSON()
		if cmp.Diff(done["numbers"], []any{1.0, 2.0}) != "" || done["dry_run"] != false || cmp.Diff(done["unknown_columns"], []any{"colour"}) != "" {
			t.Errorf("imported %v", done)
		}
	}
	if faults := in("", "temperature,catalyst,yield\n30,A,1\n99,A,2\n30,Z,nought\n").Faults(422); len(faults) < 3 {
		t.Errorf("faults %v", faults)
	}
	s.API("POST", path+"/import", table).Faults(415)
	out := s.API("GET", path+"/export.csv", nil).Want(200)
	if got := out.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename=") {
		t.Errorf("Content-Disposition %q", got)
	}
	copied := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+copied+"/import", string(out.Body), "Content-Type", "text/csv").Want(200)
	if back := s.API("GET", "/studies/"+copied+"/export.csv", nil).Want(200); string(back.Body) != string(out.Body) {
		t.Errorf("out\n%s\nback\n%s", out.Body, back.Body)
	}
	withCommas := s.API("GET", path+"/export.csv?decimal=comma", nil).Want(200)
	if !strings.HasPrefix(string(withCommas.Body), "\ufeffnumber;status;temperature;") || strings.Contains(string(withCommas.Body), ".") {
		t.Errorf("with decimal commas\n%s", withCommas.Body)
	}
	s.API("GET", path+"/export.csv?decimal=both", nil).Faults(422, "query.decimal")
}

// TestATableTellsOfTrialsThatAreHere: what a plate reader wrote goes to the trials whose numbers its
// rows have, in any order, in part, and twice without harm.
func TestATableTellsOfTrialsThatAreHere(t *testing.T) {
	s := sitetest.Beside(t)
	path := "/studies/" + s.NewStudy(sitetest.Screen)
	s.API("POST", path+"/ask", `{"count": 4}`).Want(201)
	in := func(query, body string) sitetest.Answer {
		return s.API("POST", path+"/import?by_number=true"+query, body, "Content-Type", "text/csv")
	}
	changed := func(answer sitetest.Answer, want ...any) {
		t.Helper()
		if got := answer.Want(200).JSON(); cmp.Diff(got["numbers"], append([]any{}, want...)) != "" || got["rows"] != float64(len(want)) {
			t.Errorf("changed %v and not %v", got, want)
		}
	}
	asked := string(s.API("GET", path+"/export.csv", nil).Want(200).Body)
	changed(in("", asked)) // says nothing yet
	if half := string(s.API("GET", path+"/export.csv?status=partial,failed", nil).Want(200).Body); strings.Count(half, "\n") != 1 {
		t.Errorf("of none of these states: %q", half)
	}
	s.API("GET", path+"/export.csv?status=waiting", nil).Faults(422, "query.status")
	changed(in("&dry_run=true", "yield;number\n71,5;3\n;2\n64;1\n"), 3.0, 1.0)
	changed(in("", "yield;number\n71,5;3\n;2\n64;1\n"), 3.0, 1.0)
	before := version(t, s, path[len("/studies/"):])
	changed(in("", "yield;number\n71,5;3\n;2\n64;1\n"))
	if after := version(t, s, path[len("/studies/"):]); after != before {
		t.Errorf("the same table again wrote %v events", after-before)
	}
	changed(in("", "number,impurity,status,note\n1,0.3±0.02,,\n2,,failed by chance,the tip was clogged\n3,0.2,completed,\n4,,abandoned,\n"), 1.0, 2.0, 3.0, 4.0)
	s.API("GET", path+"/trials/1", nil).Want(200).Has("status", "completed").Has("metrics/impurity/stddev", 0.02)
	s.API("GET", path+"/trials/2", nil).Want(200).Has("status", "failed").Has("cause", "chance")
	s.API("GET", path+"/trials/3", nil).Want(200).Has("status", "completed").Has("settings_changed", false)
	s.API("GET", path+"/trials/4", nil).Want(200).Has("status", "abandoned")
	whole := string(s.API("GET", path+"/export.csv", nil).Want(200).Body)
	changed(in("", whole))

	if faults := in("", "number,yield,impurity,status\n3,72.5,0.2,\n9,1,,\n1,,,failed\n3,71.5,,\nx,1,,\n").Faults(422, "body.lines[6].number"); len(faults) != 1 {
		t.Errorf("what is no number: %v", faults)
	}
	faults := in("", "number,yield,impurity,status\n3,72.5,0.2,\n9,1,,\n1,,,failed\n3,71.5,,\n").Faults(422, "body.lines[2].yield", "body.lines[3].number", "body.lines[4].status", "body.lines[5].number")
	if !strings.Contains(faults["body.lines[2].yield"], "71.5") {
		t.Errorf("faults %v", faults)
	}
	in("", "yield\n1\n").Faults(422, "body.columns")
	in("", "number,status\n4,aborted\n").Faults(422, "body.lines[2].status")
	in("&reason=%20", "number,yield\n3,72.5\n1,64\n").Faults(422, "query.reason")
	s.API("POST", path+"/import?reason=typo", "temperature,catalyst,yield\n30,A,1\n", "Content-Type", "text/csv").Faults(422, "query.reason")
	changed(in("&reason=read%20on%20the%20wrong%20filter", "number,yield\n3,72.5\n1,64\n"), 3.0)
	s.API("GET", path+"/trials/3", nil).Want(200).Has("metrics/yield/value", 72.5).Has("metrics/yield/corrected", true)
	s.API("POST", "/studies/import", s.API("GET", path+"/export.json", nil).Want(200).Body).Want(201)
	for _, again := range []int{200, 200} {
		s.API("POST", path+"/import?by_number=true", "number,yield\n3,72.5\n", "Content-Type", "text/csv", "Idempotency-Key", "plate").Want(again)
	}
	s.API("POST", path+"/import?by_number=true&reason=misread", "number,yield\n3,72.5\n", "Content-Type", "text/csv", "Idempotency-Key", "plate").Faults(422, "header.Idempotency-Key")

	s.API("POST", path+"/ask", `{"count": 2}`).Want(201)
	s.API("POST", path+"/trials/5/exclude", `{"reason": "no more powder"}`).Want(200)
	for query, want := range map[string]string{"?status=suggested,partial": "6", "?status=suggested": "6", "": "1 2 3 4 5 6"} {
		var numbers []string
		for _, row := range strings.Split(string(s.API("GET", path+"/export.csv"+query, nil).Want(200).Body), "\n")[1:] {
			number, _, _ := strings.Cut(row, ",")
			numbers = append(numbers, number)
		}
		if got := strings.TrimSpace(strings.Join(numbers, " ")); got != want {
			t.Errorf("export.csv%s has trials %s, want %s", query, got, want)
		}
	}
	if sheet := s.Page(path + "/sheet"); strings.Contains(sheet, `<th scope="row">5</th>`) || !strings.Contains(sheet, `<th scope="row">6</th>`) {
		t.Error("the sheet does not have those to be run")
	}
}

// TestOvershootsGoOutAndIn: a trial that ran beyond the bounds comes back with the exported table
// as it was; another row there is refused unless it is said to have been run so.
func TestOvershootsGoOutAndIn(t *testing.T) {
	s := sitetest.Beside(t)
	ran := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+ran+"/ask", `{"count": 3}`).Want(201)
	s.API("POST", "/studies/"+ran+"/trials/1/tell", `{"metrics": {"yield": 71.2, "impurity": 0.3}, "parameters": {"temperature": 61.73, "catalyst": "A"}}`).Want(200)
	s.API("POST", "/studies/"+ran+"/trials/2/tell", `{"metrics": {"yield": 70}}`).Want(200)
	out := s.API("GET", "/studies/"+ran+"/export.csv", nil).Want(200)

	copied := s.NewStudy(sitetest.Screen)
	path := "/studies/" + copied
	in := func(query, body string) sitetest.Answer {
		return s.API("POST", path+"/import"+query, body, "Content-Type", "text/csv")
	}
	dry := in("?dry_run=true", string(out.Body)).Want(200).JSON()
	if doubts, _ := dry["doubts"].([]any); len(doubts) != 1 || doubts[0].(map[string]any)["location"] != "body.lines[2].temperature" {
		t.Errorf("dry run %v", dry)
	}
	in("", string(out.Body)).Want(200)
	if back := s.API("GET", path+"/export.csv", nil).Want(200); string(back.Body) != string(out.Body) {
		t.Errorf("out\n%s\nback\n%s", out.Body, back.Body)
	}
	narrowed := sitetest.Screen // what was chosen before may lie where nothing may be chosen now
	narrowed = strings.Replace(narrowed, `"low": 20`, `"low": 30`, 1)
	third := "/studies/" + s.NewStudy(narrowed)
	s.API("POST", third+"/import", string(out.Body), "Content-Type", "text/csv").Want(200)
	if back := s.API("GET", third+"/export.csv", nil).Want(200); narrowed == sitetest.Screen || string(back.Body) != string(out.Body) {
		t.Errorf("out\n%s\nback with narrower bounds\n%s", out.Body, back.Body)
	}
	s.API("POST", "/studies/import", s.API("GET", third+"/export.json", nil).Want(200).Body).Want(201)

	plain := "temperature,catalyst,yield\n62,A,1\n"
	if faults := in("", plain).Faults(422); len(faults) != 1 || !strings.Contains(faults["body.lines[2].temperature"], "beyond_bounds=true") {
		t.Errorf("a plain row: %v", faults)
	}
	in("?dry_run=true", plain).Faults(422)
	in("?beyond_bounds=true&dry_run=true", plain).Want(200)
	in("?beyond_bounds=true", plain).Want(200)
	in("?beyond_bounds=perhaps", plain).Faults(422)

	s.API("POST", path+"/ask", `{"count": 1}`).Want(201)
	for _, read := range []string{"/state", "/history", "/trials", "/trials/1"} {
		s.API("GET", path+read, nil).Want(200)
	}
	s.API("POST", path+"/verify", `{}`).Want(200).Has("ok", true)
	s.API("POST", "/studies/import", s.API("GET", path+"/export.json", nil).Want(200).Body).Want(201)
}

func TestBundleGoesOutAndIn(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 71.2}}`).Want(200)
	bundle := s.API("GET", "/studies/"+id+"/export.json", nil).Want(200)
	made := s.API("POST", "/studies/import", bundle.Body).Want(201).JSON()
	copied := made["id"].(string)
	if copied == id || made["version"] != 3.0 {
		t.Errorf("made %v", made)
	}
	for _, path := range []string{"/ledger", "/trials", "/export.json"} {
		if diff := cmp.Diff(s.API("GET", "/studies/"+id+path, nil).JSON(), s.API("GET", "/studies/"+copied+path, nil).JSON()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	forged := strings.Replace(string(bundle.Body), "71.2", "81.2", 1)
	if faults := s.API("POST", "/studies/import", forged).Faults(422); len(faults) == 0 {
		t.Error("no fault")
	}
	s.API("POST", "/studies/import", `{"format": "headroom-study/1"`).Faults(400)
	s.API("POST", "/studies/import", `{"format" 1}`).Faults(400)
	s.API("POST", "/studies/import", strings.Replace(string(bundle.Body), "{", `{"format": "headroom-study/1",`, 1)).Faults(400, "body.format")
	s.API("POST", "/studies/import", strings.Replace(string(bundle.Body), `"seq":1`, `"seq":1,"seq":1`, 1)).Faults(400, "body")
	s.API("POST", "/studies/import", string(bundle.Body)+"{}").Faults(400, "body")
	s.API("POST", "/studies/import", string(bundle.Body), "Content-Type", "text/plain").Faults(415)
}

// A study that can be exported can be imported, however large it has grown.
func TestLargeBundleGoesOutAndIn(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	table := "temperature,catalyst,yield,impurity,note\n" + strings.Repeat("30,A,71.2,0.25,noted\n", 300) // more events than are read at once
	s.API("POST", "/studies/"+id+"/import", table, "Content-Type", "text/csv").Want(200)
	bundle := s.API("GET", "/studies/"+id+"/export.json", nil).Want(200).Body
	large := bytes.Replace(bundle, []byte(`"events":[`), []byte(`"events":[`+strings.Repeat(" ", 9<<20)), 1)
	if len(large) < len(bundle)+9<<20 {
		t.Fatal("the bundle is not large")
	}
	made := s.API("POST", "/studies/import", large, "Idempotency-Key", "move").Want(201)
	if again := s.API("POST", "/studies/import", large, "Idempotency-Key", "move").Want(201); string(again.Body) != string(made.Body) {
		t.Errorf("again: %s", again.Body)
	}
	other := bytes.Replace(large, []byte("noted"), []byte("Noted"), 1)
	s.API("POST", "/studies/import", other, "Idempotency-Key", "move").Faults(422)
	if list := s.API("GET", "/studies", nil).Want(200).JSON()["studies"].([]any); len(list) != 2 {
		t.Fatalf("%d studies", len(list))
	}
	if back := s.API("GET", "/studies/"+made.JSON()["id"].(string)+"/export.json", nil).Want(200).Body; !bytes.Equal(back, bundle) {
		t.Error("the copy exports otherwise")
	}
	s.API("POST", "/studies", strings.Repeat(" ", 9<<20)).Faults(413) // elsewhere the usual limit holds
}

// dying is a database that ends while something is stored, as the driver tells of one.
type dying struct{ study.Store }

func (dying) Create(context.Context, string, study.Command, iter.Seq2[study.Append, error]) error {
	return fmt.Errorf("%w: %w", study.ErrUnavailable, io.ErrUnexpectedEOF)
}

// TestADatabaseThatEndsIsNoFaultOfTheBundle: whoever sent it is to try again.
func TestADatabaseThatEndsIsNoFaultOfTheBundle(t *testing.T) {
	s := sitetest.Beside(t, sitetest.Asking(t, func(of study.Store) study.Store { return dying{of} }))
	if answer := s.API("POST", "/studies/import", `{}`).Want(503); answer.Header.Get("Retry-After") == "" {
		t.Error("nothing is said of trying again")
	}
}

// TestAForgedStudyIsRefused: a ledger whose hashes fit, but which no requests could have led to.
func TestAForgedStudyIsRefused(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 1}}`).Want(200)
	var bundle ledger.Bundle
	s.API("GET", "/studies/"+id+"/export.json", nil).Want(200).Into(&bundle)
	s.API("POST", "/studies/import", bundle).Want(201)
	before := &ledger.Snapshot{Version: 2, Hash: bundle.Events[1].Hash}
	for data, want := range map[string]string{
		`{"number": 1, "metrics": {"yield": {"value": 1e308}}}`:             "1e100",
		`{"number": 2, "metrics": {"yield": {"value": 1}}}`:                 "no trial 2",
		`{"number": 1, "metrics": {"yield": {"value": 1, "stddev": -1}}}`:   "stddev: must be above 0",
		`{"number": 1, "metrics": {"yield": {"value": 1}}, "candidate": 0}`: "no request could",
	} {
		forged := must.Get(ledger.Next(before, bundle.Events[2].At, "Ana", ledger.Draft{Kind: ledger.Told, Data: json.RawMessage(data)}))(t)
		bundle.Events[2], bundle.Hash = forged[0], forged[0].Hash
		faults := s.API("POST", "/studies/import", bundle).Faults(422)
		sitetest.Says(t, faults["body.events[2]"], "event 3 (told)", want)
	}
}

// TestALimitHasTheUnitOfItsMetric where it gives none itself, and so does the objective.
func TestALimitHasTheUnitOfItsMetric(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Once", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
		"constraints": [{"metric": "ash", "op": "<=", "threshold": 5, "unit": "mg"}, {"name": "low ash", "metric": "ash", "op": ">=", "threshold": 1}, {"name": "cap", "metric": "yield", "op": "<=", "threshold": 90}]}`)
	for i, unit := range []string{"mg", "mg", "%"} {
		if c := s.API("GET", "/studies/"+id, nil).Want(200).JSON()["constraints"].([]any)[i].(map[string]any); c["unit"] != unit {
			t.Errorf("limit %v is in %v, want %s", c["name"], c["unit"], unit)
		}
	}
	sitetest.Says(t, s.Page("/studies/"+id), "ash ≥\u202f1\u202fmg", "yield ≤\u202f90\u202f%")
	in := func(units ...string) {
		t.Helper()
		d := s.API("GET", "/studies/"+id, nil).Want(200)
		for i, unit := range units {
			if got := d.At([]string{"objective/unit", "constraints/0/unit", "constraints/1/unit", "constraints/2/unit"}[i]); got != unit {
				t.Errorf("%v, want %v", got, units)
			}
		}
	}
	s.API("POST", "/studies/"+id+"/reconfigure", `{"objective": {"metric": "yield", "direction": "maximize", "unit": "g"}, "reason": "weighed"}`).Want(200)
	in("g", "mg", "mg", "g")
	s.API("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "ash", "op": "<=", "threshold": 5, "unit": "g"}, {"name": "cap", "metric": "yield", "op": "<=", "threshold": 90, "unit": "kg"}], "reason": "weighed"}`).Want(200)
	in("kg", "g", "g", "kg")
	s.API("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "ash", "op": "<=", "threshold": 5, "unit": "g"}, {"name": "low ash", "metric": "ash", "op": ">=", "threshold": 1, "unit": "t"}], "reason": "x"}`).
		Says(`body.constraints[1].unit`).Want(422)
	floor := s.NewStudy(`{"name": "Floor", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "yield", "op": ">=", "threshold": 5, "unit": "mg"}]}`)
	s.API("GET", "/studies/"+floor, nil).Want(200).Says(`"direction":"maximize","unit":"mg"}`)
}
