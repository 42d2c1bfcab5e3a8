package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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

// TestASmallRequestIsNeverLarge: what is wrong with a request is told in little, whatever and however much it is.
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

// TestNamesAreToldWhole: a name as long as names may be is told whole, where it stands and what is wrong with it.
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

// TestEveryTypeThatReadsItselfIsKnown: the walk must know what a type takes whose JSON is not that of its fields.
func TestEveryTypeThatReadsItselfIsKnown(t *testing.T) {
	t.Parallel()
	unmarshaler, seen := reflect.TypeFor[json.Unmarshaler](), map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t2 reflect.Type) {
		if seen[t2] {
			return
		}
		seen[t2] = true
		if reflect.PointerTo(t2).Implements(unmarshaler) && t2 != rawMessageType && !readsItself(t2) {
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
