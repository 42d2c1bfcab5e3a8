package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/problem"
	"headroom/internal/mutation"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// faultsOf returns the status and the locations and messages of what decodeJSON found.
func faultsOf(err error) (status int, faults map[string]string) {
	p := problem.Of(err)
	faults = map[string]string{}
	for _, f := range p.Errors {
		faults[f.Field] = f.Message
	}
	return p.Status, faults
}

func TestStrictJSONNamesEveryFault(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		into   any
		text   string
		status int
		faults map[string]string // location → part of the message
	}{
		"cut short":          {&ledger.Telling{}, `{"metrics": {`, 400, map[string]string{"": "line 1, column 13"}},
		"trailing data":      {&ledger.Telling{}, `{"metrics": {}} 1`, 400, map[string]string{"": "after top-level value"}},
		"not a number":       {&ledger.Telling{}, "{\"metrics\":\n {\"y\": NaN}}", 400, map[string]string{"": "line 2, column 8"}},
		"minus infinity":     {&ledger.Telling{}, `{"metrics": {"y": -Infinity}}`, 400, map[string]string{"": "line 1"}},
		"not UTF-8":          {&ledger.Telling{}, "{\"metrics\": {\"\xff\": 1}}", 400, map[string]string{"": "UTF-8"}},
		"same key twice":     {&ledger.Telling{}, `{"metrics": {"y": 1, "y": 2}}`, 400, map[string]string{"metrics.y": "twice"}},
		"twice in a reading": {&ledger.Telling{}, `{"metrics": {"y": {"value": 1, "value": 2}}}`, 400, map[string]string{"metrics.y.value": "twice"}},
		"twice in free form": {&design.Definition{}, `{"name":"a","parameters":[],"objective":{"metric":"y"},"model":{"kernel":{"name":"se","name":"linear"}}}`, 400,
			map[string]string{"model.kernel.name": "twice"}},
		"unknown field":      {&ledger.Telling{}, `{"metrics": {}, "metric": 1}`, 422, map[string]string{"metric": "metrics, note, observed_at, parameters"}},
		"other case":         {&ledger.Telling{}, `{"Metrics": {}}`, 422, map[string]string{"Metrics": "no such field", "metrics": "required"}},
		"overflow":           {&ledger.Telling{}, `{"metrics": {"y": 1e999, "z": {"value": -1e999}}}`, 422, map[string]string{"metrics.y": "too large", "metrics.z.value": "too large"}},
		"overflow in free":   {&design.Model{}, `{"lambda": {"default": [1e400]}}`, 422, map[string]string{"lambda.default[0]": "too large"}},
		"null reading":       {&ledger.Telling{}, `{"metrics": {"y": null}}`, 422, map[string]string{"metrics.y": "not null"}},
		"null inside":        {&ledger.Telling{}, `{"metrics": {"y": {"value": null}}}`, 422, map[string]string{"metrics.y.value": "not null"}},
		"reading unfinished": {&ledger.Telling{}, `{"metrics": {"y": {"stddev": 2}}}`, 422, map[string]string{"metrics.y.value": "required"}},
		"reading as text":    {&ledger.Telling{}, `{"metrics": {"y": "71"}}`, 422, map[string]string{"metrics.y": "a number or"}},
		"reading's unknown":  {&ledger.Telling{}, `{"metrics": {"y": {"value": 2, "sd": 1}}}`, 422, map[string]string{"metrics.y.sd": "stddev, value"}},
		"time":               {&ledger.Telling{}, `{"metrics": {}, "observed_at": "yesterday"}`, 422, map[string]string{"observed_at": "RFC 3339"}},
		"fraction":           {&study.Ask{}, `{"count": 1.5}`, 422, map[string]string{"count": "whole number"}},
		"text for number":    {&study.Ask{}, `{"count": "2"}`, 422, map[string]string{"count": "whole number, not text"}},
		"list for object":    {&study.Ask{}, `[]`, 422, map[string]string{"": "an object, not a list"}},
		"null body":          {&study.Ask{}, `null`, 422, map[string]string{"": "an object, not null"}},
		"negative seed": {&design.Definition{}, `{"name":"a","parameters":[{"name":"x","type":"real","low":[0]}],"objective":{"metric":"y"},"seed":-1}`, 422,
			map[string]string{"seed": "not negative", "parameters[0].low": "a number, not a list"}},
		"limit without number": {&design.Definition{}, `{"name":"a","parameters":[],"objective":{"metric":"y"},"constraints":[{"metric":"p","op":"<="},{"metric":"q","threshold":null}]}`, 422,
			map[string]string{"constraints[0].threshold": "required", "constraints[1].threshold": "not null"}},
		"NUL in a name":    {&reasonRequest{}, `{"reason": "a\u0000b"}`, 422, map[string]string{"reason": "U+0000"}},
		"a field too many": {&struct{}{}, `{"reason": "x"}`, 422, map[string]string{"reason": "there are none here"}},
		"setting null":     {&pointsRequest{}, `{"points": [{"x": null}]}`, 422, map[string]string{"points[0].x": "not null"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, faults := faultsOf(decodeJSON(t.Context(), []byte(c.text), c.into))
			if status != c.status || len(faults) != len(c.faults) {
				t.Fatalf("status %d, faults %v; want %d and %v", status, faults, c.status, c.faults)
			}
			for at, part := range c.faults {
				if !strings.Contains(faults[at], part) {
					t.Errorf("%s: %q does not say %q (all: %v)", at, faults[at], part, faults)
				}
			}
		})
	}
}

func TestStrictJSONReadsWhatTheContractAllows(t *testing.T) {
	t.Parallel()
	var told ledger.Telling
	if err := decodeJSON(t.Context(), []byte(`{"metrics": {"yield": 71.2, "impurity": {"value": 0.31, "stddev": 0.02}}, "note": null}`), &told); err != nil {
		t.Fatal(err)
	}
	sd := 0.02
	want := map[string]ledger.Reading{"yield": {Value: 71.2}, "impurity": {Value: 0.31, StdDev: &sd}}
	if diff := cmp.Diff(want, told.Metrics); diff != "" {
		t.Error(diff)
	}
	var correction study.Correction
	if err := decodeJSON(t.Context(), []byte(`{"metrics": {"yield": 17.2, "impurity": null}, "reason": "typo"}`), &correction); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]*ledger.Reading{"yield": {Value: 17.2}, "impurity": nil}, correction.Metrics); diff != "" {
		t.Error(diff)
	}
	var def design.Definition
	text := `{"name": "a", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1, "step": null}], "candidates": null,
		"objective": {"metric": "y", "unit": null}, "recorded_metrics": [{"metric": "colour", "unit": null}], "algorithm": {"name": "rpol-ucb", "preset": null},
		"model": {"kernel": "matern52", "lengthscales": null}, "seed": null}`
	if err := decodeJSON(t.Context(), []byte(text), &def); err != nil {
		t.Fatal(err)
	}
	if def.Parameters[0].Step != nil || *def.Parameters[0].High != 1 {
		t.Errorf("read %+v", def.Parameters[0])
	}
}

// requestTypes are the types that bodies are read into.
var requestTypes = []reflect.Type{
	reflect.TypeFor[design.Definition](), reflect.TypeFor[design.Reconfiguration](), reflect.TypeFor[ledger.EditedData](), reflect.TypeFor[study.Ask](),
	reflect.TypeFor[study.OwnTrial](), reflect.TypeFor[ledger.Telling](), reflect.TypeFor[bulkTellRequest](), reflect.TypeFor[study.Correction](),
	reflect.TypeFor[pointsRequest](), reflect.TypeFor[compareRequest](), reflect.TypeFor[study.AcquisitionQuery](),
}

// FuzzDecodeJSON: whatever is sent, the decoder accepts only what encoding/json reads alike without unknown fields, and
// otherwise says where the fault is.
func FuzzDecodeJSON(plain *testing.F) {
	f := mutation.Of(plain)
	for i := range requestTypes {
		f.Add(uint8(i), `{"metrics": {"y": {"value": 1, "stddev": 0.1}, "z": 2}, "note": "n", "observed_at": "2026-05-01T14:02:00Z"}`)
		f.Add(uint8(i), `{"name":"a","parameters":[{"name":"x","type":"real","low":0,"high":1e400}],"objective":{"metric":"y"},"seed":7}`)
		f.Add(uint8(i), `{"trials":[{"number":1,"metrics":{"y":null}}],"reason":"a\u0000"}`)
		f.Add(uint8(i), `{"points":[{"x":1,"x":"A"}],"count":1e2}`)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		kind := requestTypes[int(which)%len(requestTypes)]
		value := reflect.New(kind)
		err := decodeJSON(t.Context(), []byte(text), value.Interface())
		if err != nil {
			p := problem.Of(err)
			if p.Status != http.StatusBadRequest && p.Status != http.StatusUnprocessableEntity || len(p.Errors) == 0 {
				t.Fatalf("%q: status %d, %d faults: %v", text, p.Status, len(p.Errors), err)
			}
			return
		}
		plain := json.NewDecoder(strings.NewReader(text))
		plain.DisallowUnknownFields()
		again := reflect.New(kind)
		if err := plain.Decode(again.Interface()); err != nil {
			t.Fatalf("%q: accepted, but encoding/json says %v", text, err)
		}
		if !reflect.DeepEqual(value.Interface(), again.Interface()) {
			t.Fatalf("%q: read as %+v and as %+v", text, value, again)
		}
		if _, err := json.Marshal(value.Interface()); err != nil { // NaN and infinities cannot be written
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestIdempotencyKeyAndIfMatch(t *testing.T) {
	t.Parallel()
	for key, ok := range map[string]bool{"a": true, strings.Repeat("k", 255): true, "": false, strings.Repeat("k", 256): false, "two words": false, "ключ": false} {
		got, err := idempotencyKey(http.Header{"Idempotency-Key": {key}})
		if (err == nil) != ok || ok && got != key {
			t.Errorf("key %q: %q, %v", key, got, err)
		}
		if status, _ := faultsOf(err); err != nil && status != http.StatusBadRequest {
			t.Errorf("key %q: status %d", key, status)
		}
	}
	for header, want := range map[string]int64{`"17"`: 17, "": 0, "*": 0} {
		if got, err := ifMatch(&http.Request{Header: http.Header{"If-Match": {header}}}); got != want || err != nil {
			t.Errorf("If-Match %s: %d, %v", header, got, err)
		}
	}
	for header, want := range map[string]int{`17`: 400, `"1", "2"`: 400, `W/"17"`: 400, `"abc"`: 412, `"0"`: 412} {
		_, err := ifMatch(&http.Request{Header: http.Header{"If-Match": {header}}})
		if status, _ := faultsOf(err); err == nil || status != want {
			t.Errorf("If-Match %s: %v", header, err)
		}
	}
}
