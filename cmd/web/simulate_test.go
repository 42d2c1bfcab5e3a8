package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
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
	set := flag.NewFlagSet("simulate", flag.ContinueOnError)
	read := readSimulation(set)
	if err := set.Parse(small(parts, "-workers", "1")); err != nil {
		t.Fatal(err)
	}
	s, _, err := read()
	if err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	bar := newProgress(1, 1, 0)
	if err := playOne(ctx, f, task{s.algorithms[0], 2}, bar); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := ran(ctx, "simulate", small(parts)); err == nil || !strings.Contains(err.Error(), "goes on from there") {
		t.Errorf("an interrupted simulation says %v", err)
	}
	if _, err := os.Stat(filepath.Join(parts, "summary.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Error("an interrupted simulation must not look finished")
	}
	before, err := os.Stat(f.seedFile("rpol-ucb", 2))
	if err != nil {
		t.Fatal(err)
	}
	simulated(t, small(parts))
	if contents(t, whole) != contents(t, parts) {
		t.Error("resumed results differ from uninterrupted ones")
	}
	after, err := os.Stat(f.seedFile("rpol-ucb", 2))
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("a finished seed was played again")
	}
}

// TestOtherExperiment refuses to mix experiments in one folder, and starts over when asked to.
func TestOtherExperiment(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	simulated(t, small(out))
	other := small(out, "-lambda", "0.2")
	if err := ran(t.Context(), "simulate", other); err == nil || !strings.Contains(err.Error(), "-fresh") {
		t.Errorf("another experiment in the same folder gives %v", err)
	}
	first := contents(t, out)
	simulated(t, append(other, "-fresh"))
	if contents(t, out) == first {
		t.Error("-fresh kept the old results")
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

// TestPriorReadingsFile: another prior plays another game, and a folder of the one is not gone on with by the other.
func TestPriorReadingsFile(t *testing.T) {
	t.Parallel()
	args := []string{"-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "20", "-seeds", "1", "-out", filepath.Join(t.TempDir(), "a")}
	simulated(t, args)
	err := ran(t.Context(), "simulate", append(args, "-prior-readings", written(t)))
	if err == nil || !strings.Contains(err.Error(), "holds other runs") {
		t.Errorf("the same folder is gone on with: %v", err)
	}
	simulated(t, append(args, "-prior-readings", written(t), "-fresh"))
}
