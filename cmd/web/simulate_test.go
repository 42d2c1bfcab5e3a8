package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a simulation of a few seconds' share.
func small(out string, more ...string) []string {
	return append([]string{"-problem", "sine-pocket", "-algorithm", "rpol-ucb,calm=ckb-ucb", "-grid", "13", "-horizon", "30", "-seeds", "3",
		"-settings", `{"all": {"beta": 2}, "calm": {"multiplier_cap": 5}}`, "-out", out}, more...)
}

func simulated(t *testing.T, args []string) {
	t.Helper()
	if err := ran(t.Context(), "simulate", args); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, out string) string {
	t.Helper()
	var all bytes.Buffer
	for _, name := range []string{"runs.csv", "summary.csv", "summary.json", "figure.svg"} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// TestSimulationsJoin: more seeds, players and other experiments in the same folder are other games, which join those played before; a report is of what
// was asked for, and the same however it came about.
func TestSimulationsJoin(t *testing.T) {
	t.Parallel()
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	simulated(t, small(whole))
	simulated(t, small(parts, "-seeds", "1"))
	simulated(t, small(parts, "-lambda", "0.2"))
	if n := len(gamesIn(t, parts)); n != 2+6 || contents(t, whole) == contents(t, parts) {
		t.Errorf("with another experiment %d games are kept", n)
	}
	simulated(t, small(parts))
	if n := len(gamesIn(t, parts)); n != 2+6+4 || contents(t, whole) != contents(t, parts) {
		t.Errorf("%d games are kept; played at once and by and by it is the same: %t", n, contents(t, whole) == contents(t, parts))
	}
}

func TestSimulateRefusals(t *testing.T) {
	t.Parallel()
	for reason, args := range map[string][]string{
		"rate-allocation":   {"-problem", "nothing", "-algorithm", "rpol-ucb"},
		"ckb-rand":          {"-problem", "queue"},
		"scgp-ucb":          {"-problem", "queue", "-algorithm", "scgp"},
		"JSON object":       {"-problem", "queue", "-algorithm", "rpol-ucb", "-settings", "beta=2"},
		"used once":         {"-problem", "queue", "-algorithm", "rpol-ucb,rpol-ucb"},
		"cannot be plotted": {"-problem", "queue", "-algorithm", "rpol-ucb", "-plot", "joy"},
		"no preset":         {"-problem", "queue", "-algorithm", "rpol-ucb", "-preset", "papers"},
		"takes no table":    {"-problem", "queue", "-algorithm", "rpol-ucb", "-readings", written(t)},
		"need the columns":  {"-problem", "finance", "-algorithm", "rpol-ucb", "-prior-readings", written(t)},
	} {
		if err := ran(t.Context(), "simulate", append(args, "-out", filepath.Join(t.TempDir(), "out"))); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v gives %v, want a word about %s", args, err, reason)
		}
	}
}

// written is a file of substitute readings.
func written(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "readings.csv")
	simulated(t, []string{"-problem", "sensors", "-write-readings", path})
	return path
}

// TestReadingsFile plays a table from a file as it plays the substitute that the file was written from.
func TestReadingsFile(t *testing.T) {
	t.Parallel()
	args := []string{"-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "20", "-seeds", "1"}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	simulated(t, append(args, "-out", a))
	simulated(t, append(args, "-out", b, "-readings", written(t)))
	left, err := os.ReadFile(filepath.Join(a, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	right, err := os.ReadFile(filepath.Join(b, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(left, right) {
		t.Error("the written table plays another game")
	}
}

// TestPriorReadingsFile: another prior plays another game.
func TestPriorReadingsFile(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "a")
	args := []string{"-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "20", "-seeds", "1", "-out", out}
	simulated(t, args)
	first := contents(t, out)
	simulated(t, append(args, "-prior-readings", written(t)))
	if contents(t, out) == first || len(gamesIn(t, out)) != 2 {
		t.Error("the same game is taken for it")
	}
}
