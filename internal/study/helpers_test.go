package study

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// example is one of the studies in testdata, which the tests of all packages about studies share.
func example(name string) (d design.Definition) {
	text, err := os.ReadFile(filepath.Join("design", "testdata", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		panic(err)
	}
	return d
}

// bufferScreen is a study with every type of parameter but a remainder, and a metric with two
// limits.
func bufferScreen() design.Definition { return example("buffer-screen") }

// mixture is three components that add up to 100.
func mixture() design.Definition { return example("mixture") }

// queue has four candidates, one constraint of known form and one sampled.
func queue() design.Definition { return example("queue") }

func mustCompile(t must.T, d design.Definition) *design.Compiled {
	t.Helper()
	return must.Get(design.Compile(must.Get(d.Check())(t)))(t)
}

// faultsOf returns the faults of err, which must be *Invalid.
func faultsOf(t testing.TB, err error) design.Faults {
	t.Helper()
	var invalid *design.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v is not *Invalid", err)
	}
	return invalid.Faults
}

// wantFault fails unless there is exactly one fault, at location, whose message contains message.
func wantFault(t testing.TB, faults design.Faults, location, message string) {
	t.Helper()
	if len(faults) != 1 || faults[0].Field != location || !strings.Contains(faults[0].Message, message) {
		t.Errorf("faults %v\nwant one at %s containing %q", faults, location, message)
	}
}

// neededSettings are values of those settings of an algorithm that have no default in every study,
// as some of them have to be given.
func neededSettings(a policy.Description) map[string]json.RawMessage {
	given := map[string]json.RawMessage{}
	for _, s := range a.Settings {
		switch s.Name {
		case "window", "delay_window", "restart_every":
			given[s.Name] = rawJSON(`5`)
		case "response_bound":
			given[s.Name] = rawJSON(`0`)
		}
	}
	return given
}

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

// verifyEvents verifies a whole ledger.
func verifyEvents(ctx context.Context, events []ledger.Event) (Verification, error) {
	v := newVerifier(nil)
	err := v.walk(ctx, events)
	return v.outcome(), err
}
