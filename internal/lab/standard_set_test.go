package lab

import (
	"strings"
	"testing"
)

// TestStandardSet: every case can be played; each has a name and a key of its own; a pair differs in what is told and in nothing else.
func TestStandardSet(t *testing.T) {
	t.Parallel()
	all, err := Standard(40)
	if err != nil {
		t.Fatal(err)
	}
	keys, names := map[string]string{}, map[string]bool{}
	pairs := 0
	for _, c := range all {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		key, err := c.Key("")
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := keys[key]; taken {
			t.Errorf("%s is the same game as %s", c.Name, other)
		}
		keys[key] = c.Name
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		if c.Untold == "" {
			continue
		}
		pairs++
		c.Told = ToldNone
		if key, err = c.Key(""); err != nil || keys[key] != c.Untold {
			t.Errorf("with nothing told %s is %q, want %q", c.Name, keys[key], c.Untold)
		}
	}
	if want := 3 + 3*len(standardFunctions); pairs != want || len(standardFunctions) < 6 {
		t.Errorf("%d pairs, want %d: three labs, and six continuous problems with three sizes of noise", pairs, want)
	}
	for _, want := range []string{"demo", "machine told", "hartmann6 20 % told", "made-crash", "reaction 1 in 10 unread"} {
		if !names[want] {
			t.Errorf("there is no case %q", want)
		}
	}
	for _, c := range all {
		if c.Start != 0 || c.Asks != 40 && !strings.HasPrefix(c.Name, "made-crash") {
			t.Errorf("%s starts with %d rows and has %d asks", c.Name, c.Start, c.Asks)
		}
	}
}
