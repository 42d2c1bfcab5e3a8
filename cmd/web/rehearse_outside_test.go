package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outsideIn is a tool that asks for the same setting again and again, and recommends nothing.
func outsideIn(t *testing.T, path, name string) {
	t.Helper()
	script := `echo '{"player": "` + name + `"}'
while read -r line; do
	case $line in
	*'"ask":0}') echo '{"recommended": 0}' ;;
	*) echo '{"settings": [{"x1": 0.5, "x2": 0.5}]}' ;;
	esac
done`
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJudgeOutside: a tool outside plays the standard set but for the demo.
func TestJudgeOutside(t *testing.T) {
	t.Parallel()
	out, tool := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "tool")
	outsideIn(t, tool, "One 1.0")
	mustJudge(t, "-only", "gramacy 1 %", "-asks", "2", "-seeds", "1", "-algorithm", "random", "-out", out, "-outside", "one=sh "+tool)
	if text := fileOf(t, out, "table.txt"); !strings.Contains(text, "\ngramacy 1 % told, one ") {
		t.Errorf("it is not in the table:\n%s", text)
	}
	if err := ran(t.Context(), "judge", []string{"-only", "demo", "-outside", "one=sh " + tool}); err == nil || !strings.Contains(err.Error(), "no case has") {
		t.Errorf("a tool that is to play the demo gives %v", err)
	}
}

// TestRehearseOutside: a tool outside joins the algorithms under its label; its games are kept until it calls itself something else.
func TestRehearseOutside(t *testing.T) {
	t.Parallel()
	out, tool := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "tool")
	args := shortly(out, "-problem", "gramacy", "-algorithm", "random", "-outside", "one=sh "+tool)
	outsideIn(t, tool, "One 1.0")
	mustRehearse(t, args)
	page := fileOf(t, out, "report.md")
	for _, want := range []string{"| | random | one |", "one: One 1.0."} {
		if !strings.Contains(page, want) {
			t.Errorf("the report does not say %q:\n%s", want, page)
		}
	}
	asks := 0
	for line := range strings.Lines(fileOf(t, out, "asks.csv")) {
		if strings.HasPrefix(line, "gramacy,one,") {
			asks++
		}
	}
	if asks != 2*7 {
		t.Errorf("asks.csv has %d asks of it", asks)
	}
	first := gamesIn(t, out)
	mustRehearse(t, args)
	for name, at := range gamesIn(t, out) {
		if !first[name].Equal(at) {
			t.Errorf("game %s was played again", name)
		}
	}
	outsideIn(t, tool, "One 1.1")
	mustRehearse(t, args)
	if n := len(gamesIn(t, out)); n != 4+2 {
		t.Errorf("%d games are kept with the other version, want 6", n)
	}
	for reason, wrong := range map[string]string{"used once": "random=sh " + tool, "command is missing": "two", "-outside two: no-such-tool": "two=no-such-tool"} {
		if err := ran(t.Context(), "rehearse", append(args, "-outside", wrong)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("-outside %s gives %v, want a word about %q", wrong, err, reason)
		}
	}
}
