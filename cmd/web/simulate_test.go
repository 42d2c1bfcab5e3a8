package main

import (
	"bytes"
	"context"
	"errors"
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
	for _, name := range []string{"runs.csv", "summary.csv", "summary.json", "figure.svg", "figure.png"} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// TestResume stops a simulation after some games; going on must give what an uninterrupted one gives, and play only what is missing.
func TestResume(t *testing.T) {
	t.Parallel()
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	simulated(t, small(whole))
	simulated(t, small(parts, "-algorithm", "rpol-ucb", "-seeds", "2"))
	first := gamesIn(t, parts)
	if err := os.Remove(filepath.Join(parts, "summary.csv")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := ran(ctx, "simulate", small(parts)); err == nil || !strings.Contains(err.Error(), "goes on from there") {
		t.Errorf("an interrupted simulation says %v", err)
	}
	if _, err := os.Stat(filepath.Join(parts, "summary.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Error("an interrupted simulation must not look finished")
	}
	simulated(t, small(parts))
	if contents(t, whole) != contents(t, parts) {
		t.Error("resumed results differ from uninterrupted ones")
	}
	all := gamesIn(t, parts)
	if len(first) != 2 || len(all) != 6 {
		t.Errorf("%d games were kept, and then %d", len(first), len(all))
	}
	for name, at := range first {
		if !all[name].Equal(at) {
			t.Errorf("game %s was played again", name)
		}
	}
}

// TestOtherExperiment: another experiment in the same folder is other games, which join those played before, and -fresh starts over.
func TestOtherExperiment(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	simulated(t, small(out))
	first := contents(t, out)
	other := small(out, "-lambda", "0.2")
	simulated(t, other)
	if n := len(gamesIn(t, out)); n != 12 || contents(t, out) == first {
		t.Errorf("%d games are kept of two experiments; the report is the old one: %t", n, contents(t, out) == first)
	}
	simulated(t, append(other, "-fresh"))
	if n := len(gamesIn(t, out)); n != 6 {
		t.Errorf("-fresh leaves %d games", n)
	}
	simulated(t, small(out))
	if contents(t, out) != first {
		t.Error("the first experiment goes another way")
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
