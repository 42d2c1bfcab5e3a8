// Package mutation lets ordinary tests try their fuzz targets for a moment: with what the seeds
// become when bytes, numbers and parts of them are changed at random. It does not see which code an
// input reaches, as go test -fuzz does, and so needs no build of its own; go test -fuzz runs the
// same targets.
package mutation

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"testing"
	"time"
)

// A Target is a fuzz target that remembers its seeds.
type Target struct {
	*testing.F
	seeds [][]any
}

// Of returns f as a target that tries mutations too.
func Of(f *testing.F) *Target { return &Target{F: f} }

// Add adds a seed.
func (target *Target) Add(arguments ...any) {
	target.Helper()
	target.seeds = append(target.seeds, arguments)
	target.F.Add(arguments...)
}

// Fuzz has check, a function as for testing.F.Fuzz, called with every seed and, where the test is
// not run with -fuzz, with mutations of it for the seed's share of HEADROOM_FUZZ_TIME (100ms when
// unset). HEADROOM_FUZZ_SEED chooses other mutations.
func (target *Target) Fuzz(check any) {
	target.Helper()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		target.F.Fuzz(check)
		return
	}
	function := reflect.ValueOf(check)
	share := patience(target.F) / time.Duration(max(1, len(target.seeds)))
	target.F.Fuzz(reflect.MakeFunc(function.Type(), func(arguments []reflect.Value) []reflect.Value {
		function.Call(arguments)
		t := arguments[0].Interface().(*testing.T)
		source := newMutator(t.Name(), target.seeds)
		for end := time.Now().Add(share); !t.Failed() && time.Now().Before(end); {
			try(t, function, source.mutated(arguments[1:]))
		}
		return nil
	}).Interface())
}

func patience(f *testing.F) time.Duration {
	text, given := os.LookupEnv("HEADROOM_FUZZ_TIME")
	if !given {
		return 100 * time.Millisecond
	}
	limit, err := time.ParseDuration(text)
	if err != nil {
		f.Fatalf("HEADROOM_FUZZ_TIME: %v", err)
	}
	return limit
}

// try calls check with the arguments and says with which it failed.
func try(t *testing.T, check reflect.Value, arguments []reflect.Value) {
	t.Helper()
	returned := false
	defer func() {
		if failure := recover(); failure != nil {
			t.Errorf("panic: %v\n%s", failure, debug.Stack())
		}
		if t.Failed() || !returned {
			t.Logf("mutated: %#v", values(arguments))
		}
	}()
	check.Call(append([]reflect.Value{reflect.ValueOf(t)}, arguments...))
	returned = true
}

func values(arguments []reflect.Value) []any {
	all := make([]any, len(arguments))
	for i, argument := range arguments {
		all[i] = argument.Interface()
	}
	return all
}

// Random draws for the test of that name: the same as long as HEADROOM_FUZZ_SEED is.
func Random(name string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name + " " + os.Getenv("HEADROOM_FUZZ_SEED"))) // never fails
	return rand.New(rand.NewPCG(hash.Sum64(), 0))
}

func newMutator(name string, seeds [][]any) mutator {
	var texts []string
	for _, seed := range seeds {
		for _, argument := range seed {
			if text, ok := argument.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return mutator{random: Random(name), texts: texts}
}
