package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shortly is a rehearsal of a second's share.
func shortly(out string, more ...string) []string {
	return append([]string{"-problem", "made-uneven,gramacy", "-algorithm", "random,calm=cei", "-asks", "7", "-seeds", "2", "-start", "3", "-out", out}, more...)
}

func mustRehearse(t *testing.T, args []string) {
	t.Helper()
	if err := ran(t.Context(), "rehearse", args); err != nil {
		t.Fatal(err)
	}
}

func fileOf(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// gamesIn are the games kept, with when they were written.
func gamesIn(t *testing.T, out string) map[string]time.Time {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(out, "games"))
	if err != nil {
		t.Fatal(err)
	}
	games := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		games[e.Name()] = info.ModTime()
	}
	return games
}

// times are what differs from run to run.
var times = regexp.MustCompile(`(?m)^\| milliseconds.*$`)

// TestRehearsalResumes stops a rehearsal after some games; going on must give what an uninterrupted one gives, and play only what is missing.
// More algorithms join those played before.
func TestRehearsalResumes(t *testing.T) {
	t.Parallel()
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	mustRehearse(t, shortly(whole))
	mustRehearse(t, shortly(parts, "-algorithm", "calm=cei", "-seeds", "1"))
	first := gamesIn(t, parts)
	if len(first) != 2 {
		t.Fatalf("%d games are kept, want 2", len(first))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := ran(ctx, "rehearse", shortly(parts)); err == nil || !strings.Contains(err.Error(), "goes on from there") {
		t.Errorf("an interrupted rehearsal says %v", err)
	}
	mustRehearse(t, shortly(parts))
	all := gamesIn(t, parts)
	if len(all) != 8 {
		t.Errorf("%d games are kept, want 8", len(all))
	}
	for name, at := range first {
		if !all[name].Equal(at) {
			t.Errorf("game %s was played again", name)
		}
	}
	a, b := times.ReplaceAllString(fileOf(t, whole, "report.md"), ""), times.ReplaceAllString(fileOf(t, parts, "report.md"), "")
	if a != b || fileOf(t, whole, "asks.csv") != fileOf(t, parts, "asks.csv") {
		t.Errorf("resumed results differ from uninterrupted ones:\n%s\n%s", a, b)
	}
}

func TestRehearsalReports(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	mustRehearse(t, shortly(out, "-problem", "made-uneven,gramacy,made-hopeless", "-batch", "3", "-delay", "1", "-against", "calm"))
	page := fileOf(t, out, "report.md")
	for _, want := range []string{"## made-uneven", "## gramacy", "Nothing is feasible.", "## All 3 problems", "| | random | calm |", "mean share"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	type judged struct {
		Mean    *float64
		N       int
		Against *struct{ Mean *float64 }
	}
	var summary struct {
		Problems map[string]struct {
			Algorithms map[string]map[string]judged
		}
	}
	if err := json.Unmarshal([]byte(fileOf(t, out, "report.json")), &summary); err != nil {
		t.Fatal(err)
	}
	of := summary.Problems["made-uneven"].Algorithms
	mine, against := of["random"]["share"], of["random"]["share"].Against
	if mine.N != 2 || mine.Mean == nil || against == nil || of["calm"]["share"].Against != nil {
		t.Fatalf("the shares are %+v", of)
	}
	if d := *mine.Mean - *of["calm"]["share"].Mean - *against.Mean; d > 1e-12 || d < -1e-12 {
		t.Errorf("the paired difference is %v, that of the means %v", *against.Mean, *mine.Mean-*of["calm"]["share"].Mean)
	}
	if of["random"]["regret"].Mean == nil || summary.Problems["made-hopeless"].Algorithms["calm"]["share"].Mean != nil {
		t.Error("there is a regret on made-uneven, and no share of nothing")
	}
	rows, err := csv.NewReader(strings.NewReader(fileOf(t, out, "games.csv"))).ReadAll()
	if err != nil || len(rows) != 1+3*2*2 {
		t.Errorf("games.csv has %d lines, %v", len(rows), err)
	}
	rows, err = csv.NewReader(strings.NewReader(fileOf(t, out, "asks.csv"))).ReadAll()
	if err != nil || len(rows) != 1+3*2*2*7 {
		t.Errorf("asks.csv has %d lines, %v", len(rows), err)
	}
	figure := fileOf(t, out, "figure.svg")
	if !strings.Contains(figure, "<svg") || !strings.Contains(figure, "made-uneven") || strings.Contains(figure, "made-hopeless") {
		t.Errorf("the figure must be an SVG that shows what has a share, and nothing else: %.200s", figure)
	}
}

func specIn(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	spec := `{"name": "own", "table": "own.csv", "where": {"kind": "a"}, "parameters": [{"name": "x"}],
		"objective": {"metric": "y", "direction": "minimize"}, "constraints": [{"metric": "g", "op": "<=", "threshold": 2}]}`
	rows := "kind,x,y,g\na,1,5,1\na,2,4,3\na,3,6,2\na,4,2,1\nb,5,0,0\n"
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "own.json"), []byte(spec), 0o600), os.WriteFile(filepath.Join(folder, "own.csv"), []byte(rows), 0o600)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "own.json")
}

// TestRehearseOwnTable plays a table of four rows, of which the start takes three.
func TestRehearseOwnTable(t *testing.T) {
	t.Parallel()
	spec, out := specIn(t), filepath.Join(t.TempDir(), "out")
	args := []string{"-spec", spec, "-start", "3", "-asks", "3", "-seeds", "2", "-out", out}
	mustRehearse(t, args)
	if page := fileOf(t, out, "report.md"); !strings.Contains(page, "## own") || !strings.Contains(page, "inverse ratio to the best feasible reward -2") {
		t.Errorf("the report says\n%s", page)
	}
	moved := filepath.Join(filepath.Dir(spec), "moved.csv")
	if err := os.Rename(filepath.Join(filepath.Dir(spec), "own.csv"), moved); err != nil {
		t.Fatal(err)
	}
	if err := ran(t.Context(), "rehearse", args); err == nil || !strings.Contains(err.Error(), "own.csv") {
		t.Errorf("a missing table gives %v", err)
	}
	mustRehearse(t, append(args, "-table", moved))
	if n := len(gamesIn(t, out)); n != 2 {
		t.Errorf("%d games are kept: the same table elsewhere is the same game", n)
	}
}

func TestRehearsalRefusals(t *testing.T) {
	t.Parallel()
	for reason, args := range map[string][]string{
		"-list names":          {},
		"made-mixed":           {"-problem", "nothing"},
		"no such file":         {"-spec", "nowhere.json"},
		"exactly one -spec":    {"-problem", "gramacy", "-table", "x.csv"},
		"used once":            {"-problem", "gramacy", "-algorithm", "cei,cei"},
		"rpol-ucb":             {"-problem", "gramacy", "-algorithm", "rpol"},
		"there is no noise":    {"-problem", "gramacy", "-noise", "pink"},
		"no algorithm has":     {"-problem", "gramacy", "-against", "cei"},
		"JSON object":          {"-problem", "gramacy", "-settings", "beta=2"},
		"-model of default":    {"-problem", "gramacy", "-model", `{"kernal": "se"}`},
		"algorithm.settings":   {"-problem", "gramacy", "-settings", `{"beta": -1}`},
		"flags begin with":     {"-problem", "gramacy", "more"},
		"at least 1":           {"-problem", "gramacy", "-seeds", "0"},
		"two problems":         {"-problem", "gramacy,gramacy"},
		"asks are impossible":  {"-problem", "gramacy", "-asks", "0"},
		"headroom rehearse -h": {"-problem", "gramacy", "-ask", "3"},
	} {
		if err := ran(t.Context(), "rehearse", append(args, "-out", filepath.Join(t.TempDir(), "out"))); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v gives %v, want a word about %q", args, err, reason)
		}
	}
}
