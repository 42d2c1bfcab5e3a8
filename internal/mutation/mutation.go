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
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/lists"
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
			t.Logf("mutated: %#v", lists.Map(arguments, reflect.Value.Interface))
		}
	}()
	check.Call(append([]reflect.Value{reflect.ValueOf(t)}, arguments...))
	returned = true
}

// Random draws for the test of that name: the same as long as HEADROOM_FUZZ_SEED is.
func Random(name string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name + " " + os.Getenv("HEADROOM_FUZZ_SEED"))) // never fails
	return rand.New(rand.NewPCG(hash.Sum64(), 0))
}

func newMutator(name string, seeds [][]any) mutator {
	texts := lists.Pick(slices.Concat(seeds...), func(argument any) (text string, ok bool) {
		text, ok = argument.(string)
		return text, ok
	})
	return mutator{random: Random(name), texts: texts}
}

// A mutator changes texts at random, also into parts of other texts.
type mutator struct {
	random *rand.Rand
	texts  []string
}

const (
	mostChanges = 4       // of one text
	longest     = 1 << 14 // bytes that a text is let grow to
)

// Words that parsers stumble over, and numbers at the ends of what can be held.
var (
	words = []string{
		"\x00", "\xff", "\xed\xa0\x80", "\ufeff", "\u2028", "é", "'", "\"", "\"\"", "\\", "\\u0000", "\\ud800", ",", ";", ":", "=", "+", "-", "%", "%zz", "&",
		"(", ")", "[", "]", "{", "}", "[[", "{}", "null", "true", "\n", "\r\n", "\t", " ", "/", "*", "^", "<=", "not", "±",
	}
	numbers = []string{
		"0", "-0", "1", "-1", "0.5", "2", "50", "51", "1000", "10001", "1e100", "1.1e100", "-1e100", "1e308", "1e309", "-1e400", "5e-324", "1e-400", "1e-300", "NaN", "Inf",
		"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e19", "0x1p4", "1_000", "1,5", "00", ".", "1e", "1.7976931348623157e308",
	}
	number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)
)

func (m mutator) mutated(arguments []reflect.Value) []reflect.Value {
	changed := slices.Clone(arguments)
	i := m.random.IntN(len(changed))
	switch kind := changed[i].Type(); kind.Kind() {
	case reflect.String:
		text := changed[i].String()
		for range 1 + m.random.IntN(mostChanges) {
			text = m.change(text)
		}
		changed[i] = reflect.ValueOf(text[:min(len(text), longest)]).Convert(kind)
	case reflect.Uint8:
		changed[i] = reflect.ValueOf(m.random.IntN(256)).Convert(kind)
	default:
		panic("a fuzz target takes texts and bytes, not " + kind.String())
	}
	return changed
}

func (m mutator) change(text string) string {
	start, end := m.part(text)
	switch m.random.IntN(8) {
	case 0: // a byte
		return text[:start] + string([]byte{byte(m.random.IntN(256))}) + text[min(start+1, len(text)):]
	case 1: // a bit
		if start == len(text) {
			return text
		}
		return text[:start] + string([]byte{text[start] ^ 1<<m.random.IntN(8)}) + text[start+1:]
	case 2: // a part less
		return text[:start] + text[end:]
	case 3: // a part again, and again
		return text[:end] + strings.Repeat(text[start:end], 1+m.random.IntN(5)) + text[end:]
	case 4: // a word
		return text[:start] + m.of(words) + text[start:]
	case 5: // a part of another text
		other := m.of(m.texts)
		from, to := m.part(other)
		return text[:start] + other[from:to] + text[end:]
	default: // a number
		return m.renumbered(text)
	}
}

// renumbered returns text with one of its numbers replaced, by a telling one or another of its own.
func (m mutator) renumbered(text string) string {
	places := number.FindAllStringIndex(text, -1)
	if len(places) == 0 {
		return text + m.of(numbers)
	}
	place := places[m.random.IntN(len(places))]
	other := m.of(numbers)
	if m.random.IntN(3) == 0 {
		from := places[m.random.IntN(len(places))]
		other = text[from[0]:from[1]]
	}
	return text[:place[0]] + other + text[place[1]:]
}

// part returns the ends of a part of text, short more often than long.
func (m mutator) part(text string) (start, end int) {
	start = m.random.IntN(len(text) + 1)
	return start, start + m.random.IntN(1+m.random.IntN(1+len(text)-start))
}

func (m mutator) of(choices []string) string {
	if len(choices) == 0 {
		return ""
	}
	return choices[m.random.IntN(len(choices))]
}
