package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustJudge(t *testing.T, args ...string) {
	t.Helper()
	if err := ran(t.Context(), "judge", args); err != nil {
		t.Fatal(err)
	}
}

// TestJudge plays a part of the standard set and reads the table: a line a case, what telling gains in the line of
// the case that is told, and the means below.
func TestJudge(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"-only", "gramacy", "-asks", "5", "-algorithm", "random", "-out", out}
	mustJudge(t, append(args, "-seeds", "2")...)
	text := fileOf(t, out, "table.txt")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, want := range []string{"2 seeds", "all", "gramacy 1 %", "gramacy 1 % told", "gramacy 5 %", "gramacy 5 % told", "gramacy 20 %", "gramacy 20 % told", "all (6)", "not told (3)", "told (3)"} {
		if i >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[i]), want) {
			t.Fatalf("line %d is not of %q:\n%s", i+1, want, text)
		}
		// Random asks the same whatever it is told.
		if told := strings.Contains(lines[i], "% told ") || strings.HasPrefix(lines[i], "told ("); told != strings.HasSuffix(lines[i], "+0.000 ± 0.000") && !strings.HasPrefix(lines[i], "all (") {
			t.Errorf("what telling gains stands in the wrong line: %s", lines[i])
		}
		// A wide terminal has 132 columns, and the longest name of the set, “reaction told threefold”, six characters more than the longest here.
		if n := utf8.RuneCountInString(lines[i]); n > 132-6 {
			t.Errorf("a line has %d characters", n)
		}
	}
	// The share of the first case is the mean of its two games.
	var sum float64
	games := strings.Split(fileOf(t, out, "games.csv"), "\n")
	for _, line := range games {
		if cells := strings.Split(line, ","); cells[0] == "gramacy 1 %" {
			var share float64
			if _, err := fmt.Sscan(cells[3], &share); err != nil {
				t.Fatal(err)
			}
			sum += share
		}
	}
	if want := fmt.Sprintf("%.3f", sum/2); !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(lines[2], "gramacy 1 %")), want) {
		t.Errorf("the share is not %s: %s", want, lines[2])
	}
}

func TestJudgeRefusals(t *testing.T) {
	t.Parallel()
	for reason, args := range map[string][]string{
		"no case has":           {"-only", "lunch"},
		"at least 1":            {"-seeds", "0"},
		"flags begin with":      {"gramacy"},
		"headroom judge -h":     {"-ask", "3"},
		"asks are impossible":   {"-asks", "0"},
		"there is no algorithm": {"-algorithm", "magic"},
	} {
		if err := ran(t.Context(), "judge", append(args, "-out", filepath.Join(t.TempDir(), "out"))); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v gives %v, want a word about %q", args, err, reason)
		}
	}
}
