package mutation

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// planted is the fault that TestFaultsAreFound lets the targets below look for.
const planted = "HEADROOM_PLANTED"

// Every kind of fault is found from seeds that do not have it, and told with the input that has it.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"number":   `1e309`,
		"utf8":     `\x`,
		"repeated": `abcabc`,
		"spliced":  `mutated: []interface {}{`,
		"panic":    `panic: runtime error: index out of range`,
		"byte":     `mutated: []interface {}{0x`,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^FuzzPlanted$")
			run.Env = append(run.Environ(), planted+"="+fault, "HEADROOM_FUZZ_TIME=30s")
			said, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(said), want) || !strings.Contains(string(said), "mutated: ") {
				t.Errorf("%v, said\n%s\nwant %s", err, said, want)
			}
		})
	}
}

// FuzzPlanted fails on the fault that the environment names, and on nothing else.
func FuzzPlanted(plain *testing.F) {
	fault := os.Getenv(planted)
	f := Of(plain)
	f.Add(uint8(3), "x=2.5,abc")
	f.Add(uint8(4), "y")
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		switch {
		case fault == "number" && strings.Contains(text, "=1e309"),
			fault == "utf8" && !utf8.ValidString(text),
			fault == "repeated" && strings.Contains(text, "abcabc"),
			fault == "byte" && which == 77:
			t.Fatal("planted")
		case fault == "spliced" && strings.Contains(text, "yb"):
			t.Error("planted")
		case fault == "panic" && strings.HasSuffix(text, "\""):
			_ = text[len(text):][0]
		}
	})
}

func TestSeedsRepeatMutations(t *testing.T) {
	drawn := func(seed string) []string {
		t.Setenv("HEADROOM_FUZZ_SEED", seed)
		source := newMutator("FuzzX/seed#0", [][]any{{"a=1,b=2"}})
		var all []string
		for range 50 {
			all = append(all, source.mutated([]reflect.Value{reflect.ValueOf("a=1,b=2")})[0].String())
		}
		return all
	}
	if first := drawn("1"); !reflect.DeepEqual(first, drawn("1")) || reflect.DeepEqual(first, drawn("2")) {
		t.Error("mutations do not follow the seed")
	}
}

func TestTextsStayShort(t *testing.T) {
	t.Parallel()
	source := newMutator("", [][]any{{strings.Repeat("a", longest)}})
	text := reflect.ValueOf(strings.Repeat("a", longest))
	for range 200 {
		if text = source.mutated([]reflect.Value{text})[0]; text.Len() > longest {
			t.Fatalf("%d bytes", text.Len())
		}
	}
}
