package design

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/must"
)

// example is one of the studies in testdata, which the tests of all packages about studies share.
func example(name string) (d Definition) {
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
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
func bufferScreen() Definition { return example("buffer-screen") }

// mixture is three components that add up to 100.
func mixture() Definition { return example("mixture") }

// queue has four candidates, one constraint of known form and one sampled.
func queue() Definition { return example("queue") }

func mustCompile(t must.T, d Definition) *Compiled {
	t.Helper()
	return must.Get(Compile(must.Get(d.Check())(t)))(t)
}

// faultsOf returns the faults of err, which must be *Invalid.
func faultsOf(t testing.TB, err error) Faults {
	t.Helper()
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v is not *Invalid", err)
	}
	return invalid.Faults
}

// wantFault fails unless there is exactly one fault, at location, whose message contains message.
func wantFault(t testing.TB, faults Faults, location, message string) {
	t.Helper()
	if len(faults) != 1 || faults[0].Field != location || !strings.Contains(faults[0].Message, message) {
		t.Errorf("faults %v\nwant one at %s containing %q", faults, location, message)
	}
}

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }
