package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
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
		"cut short":          {&ledger.Telling{}, `{"metrics": {`, 400, map[string]string{"": "line 1, column 13: it ends too early"}},
		"other quotes":       {&ledger.Telling{}, `{“metrics”: {}}`, 400, map[string]string{"": "line 1, column 2: '“' stands where a name in double quotes should begin"}},
		"decimal comma":      {&ledger.Telling{}, `{"metrics": {"y": 71,2}}`, 400, map[string]string{"": "line 1, column 22: '2' stands where a name in double quotes should begin"}},
		"no comma":           {&ledger.Telling{}, `{"metrics": {} "note": ""}`, 400, map[string]string{"": `'"' stands where a comma or } should`}},
		"no colon":           {&ledger.Telling{}, `{"metrics" {}}`, 400, map[string]string{"": "'{' stands where a colon should"}},
		"a blank inside":     {&ledger.Telling{}, `{"metrics": nu ll}`, 400, map[string]string{"": "column 15: ' ' in literal null"}},
		"trailing data":      {&ledger.Telling{}, `{"metrics": {}} 1`, 400, map[string]string{"": "stands behind its end"}},
		"not a number":       {&ledger.Telling{}, "{\"metrics\":\n {\"y\": NaN}}", 400, map[string]string{"": "line 2, column 8: JSON has no NaN and no Infinity; leave out what was not measured"}},
		"minus infinity":     {&ledger.Telling{}, `{"metrics": {"y": -Infinity}}`, 400, map[string]string{"": "line 1, column 20: JSON has no NaN"}},
		"not UTF-8":          {&ledger.Telling{}, "{\"metrics\": {\"\xff\": 1}}", 400, map[string]string{"": "UTF-8"}},
		"half a pair":        {&ledger.Telling{}, "{\"metrics\": {},\n \"note\": \"\\\\ud800 \\ud83d\\ude00 \\ud800\"}", 400, map[string]string{"": "line 2, column 32: half of a surrogate pair"}},
		"half a pair, a key": {&ledger.Telling{}, `{"metrics": {"\udc00": 1}}`, 400, map[string]string{"": "line 1, column 15"}},
		"same key twice":     {&ledger.Telling{}, `{"metrics": {"y": 1, "y": 2}}`, 400, map[string]string{"metrics.y": "twice"}},
		"twice in a reading": {&ledger.Telling{}, `{"metrics": {"y": {"value": 1, "value": 2}}}`, 400, map[string]string{"metrics.y.value": "twice"}},
		"twice in free form": {&design.Definition{}, `{"name":"a","parameters":[],"objective":{"metric":"y"},"model":{"kernel":{"name":"se","name":"linear"}}}`, 400,
			map[string]string{"model.kernel.name": "twice"}},
		"unknown field":      {&ledger.Telling{}, `{"metrics": {}, "metric": 1}`, 422, map[string]string{"metric": "metrics, note, observed_at, parameters"}},
		"other case":         {&ledger.Telling{}, `{"Metrics": {}}`, 422, map[string]string{"Metrics": "no such field", "metrics": "required"}},
		"overflow":           {&ledger.Telling{}, `{"metrics": {"y": 1e999, "z": {"value": -1e999}}}`, 422, map[string]string{"metrics.y": "too large", "metrics.z.value": "too large"}},
		"overflow in free":   {&design.Model{}, `{"lambda": {"default": [1e400]}}`, 422, map[string]string{"lambda.default[0]": "too large"}},
		"null reading":       {&ledger.Telling{}, `{"metrics": {"y": null}}`, 422, map[string]string{"metrics.y": "not null; leave out what was not measured"}},
		"null inside":        {&ledger.Telling{}, `{"metrics": {"y": {"value": null}}}`, 422, map[string]string{"metrics.y.value": "not null"}},
		"reading unfinished": {&ledger.Telling{}, `{"metrics": {"y": {"stddev": 2}}}`, 422, map[string]string{"metrics.y.value": "required"}},
		"reading as text":    {&ledger.Telling{}, `{"metrics": {"y": "71"}}`, 422, map[string]string{"metrics.y": "a number or"}},
		"reading's unknown":  {&ledger.Telling{}, `{"metrics": {"y": {"value": 2, "sd": 1}}}`, 422, map[string]string{"metrics.y.sd": "stddev, value"}},
		"time":               {&ledger.Telling{}, `{"metrics": {}, "observed_at": "yesterday"}`, 422, map[string]string{"observed_at": "RFC 3339"}},
		"time with a comma":  {&ledger.Telling{}, `{"metrics": {}, "observed_at": "2026-05-01T14:02:00,5Z"}`, 422, map[string]string{"observed_at": "RFC 3339"}},
		"zone beyond a day":  {&ledger.Telling{}, `{"metrics": {}, "observed_at": "2026-05-01T14:02:00+24:00"}`, 422, map[string]string{"observed_at": "RFC 3339"}},
		"fraction":           {&study.Ask{}, `{"count": 1.5}`, 422, map[string]string{"count": "whole number"}},
		"an exponent":        {&study.Ask{}, `{"count": 1e-1}`, 422, map[string]string{"count": "whole number"}},
		"a large exponent":   {&study.Ask{}, `{"count": 1e16}`, 422, map[string]string{"count": "is too large; whole numbers up to 9007199254740992"}},
		"no round":           {&compareRequest{}, `{"algorithms": [{"name": "ckb-ucb", "horizon": 0}, {"name": "ckb-ucb", "horizon": -0.0}]}`, 422, map[string]string{"algorithms[0].horizon": "at least 1", "algorithms[1].horizon": "at least 1"}},
		"beyond 64 bits":     {&design.Definition{}, `{"name": "n", "parameters": [], "objective": {"metric": "y", "direction": "maximize"}, "seed": 18446744073709551616}`, 422, map[string]string{"seed": "is too large; whole numbers up to 9007199254740992"}},
		"text for number":    {&study.Ask{}, `{"count": "2"}`, 422, map[string]string{"count": "whole number, not text"}},
		"list for object":    {&study.Ask{}, `[]`, 422, map[string]string{"": "an object, not a list; its fields are constraint_values, context, count"}},
		"text for a limit": {&design.Definition{}, `{"name": "a", "parameters": [], "objective": {"metric": "y", "direction": "maximize"}, "constraints": ["y >= 70"]}`, 422,
			map[string]string{"constraints[0]": "must be an object, not text; its fields are context, expression, metric, name, op, plausible, sampled, threshold, unit"}},
		"null body": {&study.Ask{}, `null`, 422, map[string]string{"": "an object, not null"}},
		"negative seed": {&design.Definition{}, `{"name":"a","parameters":[{"name":"x","type":"real","low":[0]}],"objective":{"metric":"y","direction":"maximize"},"seed":-1}`, 422,
			map[string]string{"seed": "not negative", "parameters[0].low": "a number, not a list"}},
		"limit without number": {&design.Definition{}, `{"name":"a","parameters":[],"objective":{"metric":"y","direction":"maximize"},"constraints":[{"metric":"p","op":"<="},{"metric":"q","op":"<=","threshold":null}]}`, 422,
			map[string]string{"constraints[0].threshold": "required", "constraints[1].threshold": "not null"}},
		"NUL in a name":    {&reasonRequest{}, `{"reason": "a\u0000b"}`, 422, map[string]string{"reason": "U+0000"}},
		"a field too many": {&struct{}{}, `{"reason": "x"}`, 422, map[string]string{"reason": "there are none here"}},
		"null for nothing": {&struct{}{}, `null`, 422, map[string]string{"": "an object, not null"}},
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
				if !strings.Contains(faults[at], part) || strings.HasSuffix(faults[at], " ") { // a list of nothing
					t.Errorf("%s: %q does not say %q (all: %v)", at, faults[at], part, faults)
				}
			}
		})
	}
}

func TestStrictJSONReadsWhatTheContractAllows(t *testing.T) {
	t.Parallel()
	var told ledger.Telling
	must.Do(t, decodeJSON(t.Context(), []byte(`{"metrics": {"yield": 71.2, "impurity": {"value": 0.31, "stddev": 0.02}}, "note": null}`), &told))
	sd := 0.02
	want := map[string]ledger.Reading{"yield": {Value: 71.2}, "impurity": {Value: 0.31, StdDev: &sd}}
	if diff := cmp.Diff(want, told.Metrics); diff != "" {
		t.Error(diff)
	}
	var correction study.Correction
	must.Do(t, decodeJSON(t.Context(), []byte(`{"metrics": {"yield": 17.2, "impurity": null}, "reason": "typo"}`), &correction))
	if diff := cmp.Diff(map[string]*ledger.Reading{"yield": {Value: 17.2}, "impurity": nil}, correction.Metrics); diff != "" {
		t.Error(diff)
	}
	var several bulkTellRequest // as languages write numbers that know one kind of them alone
	must.Do(t, decodeJSON(t.Context(), []byte(`{"trials": [{"number": 1.0, "metrics": {"yield": 1.0}}, {"number": 2, "metrics": {}}, {"metrics": {}, "number": 1.2E+1 }]}`), &several))
	if diff := cmp.Diff([]int{1, 2, 12}, lists.Map(several.Trials, func(n study.NumberedTelling) int { return n.Number })); diff != "" {
		t.Error(diff)
	}
	var zero ledger.Telling // has no sign, which would be told of it now and not of what is in the ledger's hash
	must.Do(t, decodeJSON(t.Context(), []byte(`{"metrics": {"y": -0, "z": {"value": -1e-400}}, "observed_at": "2026-05-01T14:02:00.5+05:45"}`), &zero))
	if text := string(must.Get(json.Marshal(zero))(t)); strings.Contains(text, "-0,") || strings.Contains(text, "-0}") {
		t.Errorf("minus zero was read: %s", text)
	}
	var def design.Definition
	text := `{"name": "a", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1, "step": null}], "candidates": null,
		"objective": {"metric": "y", "direction": "maximize", "unit": null}, "recorded_metrics": [{"metric": "colour", "unit": null}], "algorithm": {"name": "rpol-ucb", "preset": null, "horizon": 2e2},
		"model": {"kernel": "matern52", "lengthscales": null}, "seed": -0.0}`
	must.Do(t, decodeJSON(t.Context(), []byte(text), &def))
	if def.Parameters[0].Step != nil || *def.Parameters[0].High != 1 {
		t.Errorf("read %+v", def.Parameters[0])
	}
	if def.Algorithm.Horizon != 200 {
		t.Errorf("horizon %d", def.Algorithm.Horizon)
	}
}

// requestTypes are the types that bodies are read into.
var requestTypes = []reflect.Type{
	reflect.TypeFor[design.Definition](), reflect.TypeFor[design.Reconfiguration](), reflect.TypeFor[ledger.EditedData](), reflect.TypeFor[study.Ask](),
	reflect.TypeFor[study.OwnTrial](), reflect.TypeFor[ledger.Telling](), reflect.TypeFor[bulkTellRequest](), reflect.TypeFor[study.Correction](),
	reflect.TypeFor[pointsRequest](), reflect.TypeFor[compareRequest](), reflect.TypeFor[study.AcquisitionQuery](),
}

// FuzzDecodeJSON: whatever is sent, the decoder accepts only what encoding/json reads alike without
// unknown fields, and otherwise says where the fault is.
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
		err = plain.Decode(again.Interface())
		if typed, is := errors.AsType[*json.UnmarshalTypeError](err); is && strings.HasPrefix(typed.Value, "number ") {
			return // a whole number such as 1.0, which encoding/json does not take for one
		}
		if err != nil {
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
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Idempotency-Key", key)
		got, err := idempotencyKey(r, nil)
		if (err == nil) != ok || ok && got.Key != key {
			t.Errorf("key %q: %+v, %v", key, got, err)
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

// hostile are small requests that are wrong in as many, as deep or as long-winded ways as fit.
func hostile() map[string]struct {
	into any
	text string
} {
	members := func(n int) string {
		var list strings.Builder
		for i := range n {
			fmt.Fprintf(&list, `,"a%d":1`, i)
		}
		return list.String()[1:]
	}
	return map[string]struct {
		into any
		text string
	}{
		"unknown fields under a long key":  {&design.Definition{}, `{"` + strings.Repeat("K", 10_000) + `": {` + members(20_000) + `}}`},
		"one key twice, again and again":   {&design.Definition{}, `{"` + strings.Repeat("K", 10_000) + `": {` + strings.Repeat(`"a":1,`, 20_000) + `"a":1}}`},
		"nested deep under long keys":      {&design.Definition{}, strings.Repeat(`{"`+strings.Repeat("a", 100)+`":`, 2000) + "1" + strings.Repeat("}", 2000)},
		"nested deep in a free form":       {&design.Model{}, `{"kernel": ` + strings.Repeat(`{"`+strings.Repeat("a", 100)+`":`, 2000) + "1" + strings.Repeat("}", 2000) + "}"},
		"lists nested deep":                {&design.Model{}, `{"kernel": ` + strings.Repeat(`[`, 9000) + strings.Repeat("]", 9000) + "}"},
		"many members under a 400 kB key":  {&design.Model{}, `{"kernel": {"` + strings.Repeat("k", 400_000) + `": {` + members(20_000) + `}}}`},
		"many values of the wrong type":    {&study.Ask{}, `{"context": {` + strings.ReplaceAll(members(60_000), ":1", `:"`+strings.Repeat("x", 50)+`"`) + `}}`},
		"one value of the wrong type, big": {&pointsRequest{}, `{"points": [{"x": [` + strings.Repeat(`"`+strings.Repeat("x", 50)+`",`, 20_000) + `1]}]}`},
		"settings that are lists":          {&pointsRequest{}, `{"points": [` + strings.Repeat(`{"x": [1]},`, 100_000) + `{}]}`},
		"numbers too large":                {&study.AcquisitionQuery{}, `{"constraint_values": {"backlog": [` + strings.Repeat("1e999,", 100_000) + `1]}}`},
	}
}

// TestASmallRequestIsNeverLarge: what is wrong with a request is told in little, whatever and
// however much it is.
func TestASmallRequestIsNeverLarge(t *testing.T) {
	for name, attack := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := decodeJSON(t.Context(), []byte(attack.text), reflect.New(reflect.TypeOf(attack.into).Elem()).Interface())
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			p, told := problem.Of(err), httptest.NewRecorder()
			problem.Write(told, p)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes in: %d faults, %d bytes out, %d MB allocated, %v", len(attack.text), len(p.Errors), told.Body.Len(), allocated>>20, took)
			if p.Status == http.StatusInternalServerError && err != nil || len(p.Errors) > 100 || told.Body.Len() > 100<<10 {
				t.Errorf("%d faults in %d bytes, status %d", len(p.Errors), told.Body.Len(), p.Status)
			}
			if allocated > 16<<20+40*uint64(len(attack.text)) {
				t.Errorf("%d bytes took %d MB", len(attack.text), allocated>>20)
			}
			for _, fault := range p.Errors {
				if len(fault.Message) > 1000 || len(fault.Field) > 2000 {
					t.Errorf("a message of %d bytes at a location of %d", len(fault.Message), len(fault.Field))
				}
			}
		})
	}
}

// TestNamesAreToldWhole: a name as long as names may be is told whole, where it stands and what is
// wrong with it.
func TestNamesAreToldWhole(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("ж", 200)
	_, faults := faultsOf(decodeJSON(t.Context(), []byte(`{"metrics": {"`+longest+`": null, "`+longest+`more": null}}`), &ledger.Telling{}))
	if faults["metrics."+longest] == "" || faults["metrics."+longest+"…"] == "" || len(faults) != 2 {
		t.Errorf("faults %v", faults)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string {
		return `{"kernel": ` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
	}
	if err := decodeJSON(t.Context(), []byte(nested(63)), &design.Model{}); err != nil {
		t.Errorf("64 levels in all: %v", err)
	}
	if status, faults := faultsOf(decodeJSON(t.Context(), []byte(nested(64)), &design.Model{})); status != http.StatusUnprocessableEntity || len(faults) != 1 {
		t.Errorf("65 levels: %d, %v", status, faults)
	}
}

// TestACallerWhoHasGoneIsNotReadOn: reading ends with the request.
func TestACallerWhoHasGoneIsNotReadOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check := jsonCheck{ctx: ctx, read: json.NewDecoder(strings.NewReader("[" + strings.Repeat("1,", 1<<20) + "1]"))}
	check.value(anyType, false)
	if check.tokens > 2048 {
		t.Errorf("%d tokens were read", check.tokens)
	}
	if err := decodeJSON(ctx, []byte(`{}`), &study.Ask{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
}

// TestEveryTypeThatReadsItselfIsKnown: the walk must know what a type takes whose JSON is not that
// of its fields.
func TestEveryTypeThatReadsItselfIsKnown(t *testing.T) {
	t.Parallel()
	unmarshaler, seen := reflect.TypeFor[json.Unmarshaler](), map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t2 reflect.Type) {
		if seen[t2] {
			return
		}
		seen[t2] = true
		if reflect.PointerTo(t2).Implements(unmarshaler) && t2 != rawMessageType && !hasOwnForm(t2) {
			t.Errorf("the walk does not know %v", t2)
		}
		switch t2.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t2.Elem())
		case reflect.Struct:
			for _, f := range fieldsOf(t2) {
				visit(f.kind)
			}
		}
	}
	for _, kind := range append(requestTypes, reflect.TypeFor[ledger.Bundle](), reflect.TypeFor[account.NewToken](), reflect.TypeFor[shareRequest]()) {
		visit(kind)
	}
}

// everyBody are the types that bodies of requests are read into.
var everyBody = append(slices.Clone(requestTypes), reflect.TypeFor[reasonRequest](), reflect.TypeFor[failRequest](), reflect.TypeFor[account.NewToken](), reflect.TypeFor[shareRequest]())

// sent is a body, and what it is read into.
type sent struct {
	into reflect.Type
	text []byte
}

// large is a quarter of what a body may have: who keeps too much of it does so of this too, and the
// race detector has less to watch.
const large = request.MaxBody / 4

// largest are bodies of that size: of each type of list, of object, and of value of any form that
// occurs in requests one, filled with the least that it holds.
func largest() map[string]sent {
	var into reflect.Type
	bodies, seen := map[string]sent{}, map[reflect.Type]bool{}
	var fill func(path string, t reflect.Type, before, after string)
	fill = func(path string, t reflect.Type, before, after string) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if seen[t] {
			return
		}
		seen[t] = true
		room := large - len(before) - len(after)
		list := func(items string) {
			bodies[path+" of "+items] = sent{into, []byte(before + "[" + strings.Repeat(items+",", (room-2-len(items))/(len(items)+1)) + items + "]" + after)}
		}
		object := func(value string) {
			var members strings.Builder
			for i := 0; members.Len() < room-20-len(value); i++ {
				fmt.Fprintf(&members, `"%x":%s,`, i, value)
			}
			bodies[path+" by name of "+value] = sent{into, []byte(before + "{" + strings.TrimSuffix(members.String(), ",") + "}" + after)}
		}
		switch {
		case takesAny(t):
			for _, least := range []string{"1", `""`, "[]", "{}", `{"a":1}`} {
				list(least)
			}
			object("1")
			object("[]")
		case hasOwnForm(t) || t.Kind() == reflect.String:
			bodies[path+", a text"] = sent{into, []byte(before + `"` + strings.Repeat("a", room-2) + `"` + after)}
		case t.Kind() == reflect.Struct:
			for _, f := range fieldsOf(t) {
				fill(path+"."+f.name, f.kind, before+"{"+others(t, f.name)+`"`+f.name+`":`, "}"+after)
			}
			if t == everyBody[0] {
				bodies[path+" by name"] = sent{into, []byte(before + `{"` + strings.Repeat("a", room-6) + `":1}` + after)}
			}
		case t.Kind() == reflect.Slice:
			for _, least := range leasts(t.Elem()) {
				list(least)
			}
			fill(path+"[0]", t.Elem(), before+"[", "]"+after)
		case t.Kind() == reflect.Map:
			for _, least := range leasts(t.Elem()) {
				object(least)
			}
			fill(path+".x", t.Elem(), before+`{"x":`, "}"+after)
		}
	}
	for _, into = range everyBody {
		fill(into.String(), into, "", "")
	}
	return bodies
}

// others are the members beside one that a struct must have.
func others(t reflect.Type, but string) string {
	var text strings.Builder
	for _, f := range fieldsOf(t) {
		if f.required && f.name != but {
			fmt.Fprintf(&text, `"%s":%s,`, f.name, leasts(f.kind)[0])
		}
	}
	return text.String()
}

// leasts are the shortest values of a type.
func leasts(t reflect.Type) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return append(leasts(t.Elem()), "null")
	case t == timeType:
		return []string{`"2026-05-01T14:02:00Z"`}
	case takesAny(t), t == readingType, t == valueType, t.Kind() == reflect.Float64, t.Kind() == reflect.Int, t.Kind() == reflect.Int64, t.Kind() == reflect.Uint64:
		return []string{"1"}
	case t.Kind() == reflect.Slice:
		return []string{"[]", "[" + leasts(t.Elem())[0] + "]"}
	case t.Kind() == reflect.Map:
		return []string{"{}", `{"x":` + leasts(t.Elem())[0] + "}"}
	case t.Kind() == reflect.Struct:
		return []string{"{" + strings.TrimSuffix(others(t, ""), ",") + "}"}
	case t.Kind() == reflect.Bool:
		return []string{"true"}
	}
	return []string{`""`}
}

// TestLargeBodiesAreReadInLittleMore: whatever a large body holds, reading it takes little more
// than its bytes: limits are looked at on the way.
func TestLargeBodiesAreReadInLittleMore(t *testing.T) {
	for shape, sent := range largest() {
		if len(sent.text) > large || len(sent.text) < large-100 {
			t.Fatalf("%s: %d bytes that say %.100s", shape, len(sent.text), sent.text)
		}
		into := reflect.New(sent.into).Interface()
		var err error
		allocated := memorytest.Allocated(func() { err = decodeJSON(t.Context(), sent.text, into) })
		if status := problem.Of(err).Status; err != nil && status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", shape, err)
		}
		t.Logf("%s: %.1f times its size, %v", shape, float64(allocated)/float64(len(sent.text)), err)
		if allocated > 10*len(sent.text) {
			t.Errorf("%s: %d bytes took %d", shape, len(sent.text), allocated)
		}
	}
}

// aStudy is a whole definition.
const aStudy = `{"name": "Buffer screen",
	"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"}, {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`

// TestRequestSchemasAgreeWithDecoder: what the decoder says about these bodies, the documented
// schema says too.
func TestRequestSchemasAgreeWithDecoder(t *testing.T) {
	t.Parallel()
	a := &API{PublicURL: &url.URL{}, Studies: &study.Service{}}
	operations := a.Operations(nil)
	bodied := []string{"createStudy", "ask", "tell", "tellMany", "addTrial", "correct", "posterior", "compare"}
	var routes []Route
	for _, name := range bodied {
		routes = append(routes, Route{Name: name, Method: "POST", Pattern: name, Operation: operations[name]})
	}
	must.Do(t, a.Publish(routes))
	document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(a.document)))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("openapi.json", document))
	bodies := []string{
		`{}`, `{"metrics": {}}`, `{"metrics": {"y": 1}, "note": null}`, `{"metrics": {"y": {"value": 1, "stddev": 2}}}`, `{"metrics": {"y": {"stddev": 2}}}`,
		`{"metrics": {"y": null}}`, `{"metrics": {"y": null}, "reason": "typo"}`, `{"reason": "r"}`, `{"points": [{"x": 1, "c": "A"}]}`, `{"points": [{"x": null}]}`, `{"points": {}}`,
		`{"count": 2}`, `{"count": 1.5}`, `{"Count": 2}`, `{"count": null}`, `{"trials": [{"number": 1, "metrics": {}}]}`, `{"trials": [{"metrics": {}}]}`,
		`{"algorithms": [{"name": "rpol-ucb", "settings": {"eta": 1}}]}`, aStudy, strings.Replace(aStudy, `"threshold": 0.5, `, "", 1), strings.Replace(aStudy, `"seed"`, `"sead"`, 1),
		`{"parameters": {"x": true}}`, `{"parameters": {"x": "A"}, "metrics": {"y": 1}}`,
	}
	for _, name := range bodied {
		schema := must.Get(compiler.Compile("openapi.json#/paths/" + url.PathEscape(name) + "/post/requestBody/content/application~1json/schema"))(t)
		for _, body := range bodies {
			value := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(body)))(t)
			decoded := decodeJSON(t.Context(), []byte(body), reflect.New(reflect.TypeOf(operations[name].Body)).Interface())
			documented := schema.Validate(value)
			if (decoded == nil) != (documented == nil) {
				t.Errorf("%s with %s: decoder %v, schema %v", name, body, decoded, documented)
			}
		}
	}
}
