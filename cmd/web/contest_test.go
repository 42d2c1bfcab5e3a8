package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"headroom/internal/must"
)

// small is a simulation of a few seconds' share.
func small(out string, more ...string) []string {
	return append([]string{"-problem", "sine-pocket", "-algorithm", "rpol-ucb,calm=ckb-ucb", "-grid", "13", "-horizon", "30", "-seeds", "3",
		"-settings", `{"all": {"beta": 2}, "calm": {"multiplier_cap": 5}}`, "-out", out}, more...)
}

func runs(t *testing.T, command string, args []string) {
	t.Helper()
	must.Do(t, ran(t.Context(), command, args))
}

func contents(t *testing.T, out string) (all string) {
	t.Helper()
	for _, name := range []string{"runs.csv", "summary.csv", "summary.json", "figure.svg"} {
		all += fileOf(t, out, name)
	}
	return all
}

// TestSimulationsJoin: more seeds, players and other experiments in the same folder are other
// games, which join those played before; a report is of what was asked for, and the same however it
// came about.
func TestSimulationsJoin(t *testing.T) {
	t.Parallel()
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	runs(t, "simulate", small(whole))
	runs(t, "simulate", small(parts, "-seeds", "1"))
	runs(t, "simulate", small(parts, "-lambda", "0.2"))
	if n := len(gamesIn(t, parts)); n != 2+6 || contents(t, whole) == contents(t, parts) {
		t.Errorf("with another experiment %d games are kept", n)
	}
	runs(t, "simulate", small(parts))
	if n := len(gamesIn(t, parts)); n != 2+6+4 || contents(t, whole) != contents(t, parts) {
		t.Errorf("%d games are kept; played at once and by and by it is the same: %t", n, contents(t, whole) == contents(t, parts))
	}
	runs(t, "simulate", small(parts, "-algorithm", "rpol-ucb")) // alone, with the settings of both
	if n := len(gamesIn(t, parts)); n != 2+6+4 {
		t.Errorf("%d games are kept: one of two players is played otherwise than beside the other", n)
	}
}

// written is a file of substitute readings.
func written(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "readings.csv")
	runs(t, "simulate", []string{"-problem", "sensors", "-write-readings", path})
	return path
}

// TestReadingsFile plays a table from a file as it plays the substitute that the file was written
// from.
func TestReadingsFile(t *testing.T) {
	t.Parallel()
	args := []string{"-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "20", "-seeds", "1"}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	runs(t, "simulate", append(args, "-out", a))
	runs(t, "simulate", append(args, "-out", b, "-readings", written(t)))
	if fileOf(t, a, "runs.csv") != fileOf(t, b, "runs.csv") {
		t.Error("the written table plays another game")
	}
}

// TestPriorReadingsFile: another prior plays another game, and one file may be the readings and the
// prior.
func TestPriorReadingsFile(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "a")
	args := []string{"-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "20", "-seeds", "1", "-out", out}
	runs(t, "simulate", args)
	first := contents(t, out)
	runs(t, "simulate", append(args, "-prior-readings", written(t)))
	if contents(t, out) == first || len(gamesIn(t, out)) != 2 {
		t.Error("the same game is taken for it")
	}
	own, again := written(t), written(t)
	for _, path := range []string{own, again} {
		lines := strings.SplitAfter(fileOf(t, path), "\n")
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines[:300], "")), 0o600)) // not the substitute
	}
	for _, prior := range []string{own, again} {
		runs(t, "simulate", append(args, "-readings", own, "-prior-readings", prior))
	}
	if n := len(gamesIn(t, out)); n != 3 {
		t.Errorf("%d games are kept: one file for both is another game than two of the same content", n)
	}
}

// shortly is a rehearsal of a second's share.
func shortly(out string, more ...string) []string {
	return append([]string{"-problem", "made-uneven,gramacy", "-algorithm", "random,calm=cei", "-asks", "7", "-seeds", "2", "-start", "3", "-out", out}, more...)
}

func fileOf(t *testing.T, parts ...string) string {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(parts...)))(t)
	return string(content)
}

// gamesIn are the games kept, with when they were written.
func gamesIn(t *testing.T, out string) map[string]time.Time {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(out, "games")))(t)
	games := map[string]time.Time{}
	for _, e := range entries {
		info := must.Get(e.Info())(t)
		games[e.Name()] = info.ModTime()
	}
	return games
}

// times are what differs from run to run.
var times = regexp.MustCompile(`(?m)^\| milliseconds.*$`)

// TestGamesGoOnWhereARehearsalStopped stops a rehearsal after some games; going on must give what
// an uninterrupted one gives, and play only what is missing. More algorithms join those played
// before.
func TestGamesGoOnWhereARehearsalStopped(t *testing.T) {
	t.Parallel()
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	runs(t, "rehearse", shortly(whole))
	runs(t, "rehearse", shortly(parts, "-algorithm", "calm=cei", "-seeds", "1"))
	first := gamesIn(t, parts)
	if len(first) != 2 {
		t.Fatalf("%d games are kept, want 2", len(first))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := ran(ctx, "rehearse", shortly(parts)); err == nil || !strings.Contains(err.Error(), "goes on from there") {
		t.Errorf("an interrupted rehearsal says %v", err)
	}
	runs(t, "rehearse", shortly(parts))
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

func TestGamesAreReported(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	runs(t, "rehearse", shortly(out, "-problem", "made-uneven,gramacy,made-hopeless", "-batch", "3", "-delay", "1", "-against", "calm"))
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
	must.Do(t, json.Unmarshal([]byte(fileOf(t, out, "report.json")), &summary))
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
	for _, row := range rows[1:] { // a figure without meaning leaves its cell empty
		if share := row[slices.Index(rows[0], "share")]; slices.Contains(row, "NaN") || (share == "") != (row[0] == "made-hopeless") {
			t.Errorf("games.csv has the share %q and the line %v", share, row)
		}
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
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(folder, "own.json"), []byte(spec), 0o600), os.WriteFile(filepath.Join(folder, "own.csv"), []byte(rows), 0o600)))
	return filepath.Join(folder, "own.json")
}

// TestRehearseOwnTable plays a table of four rows, of which the start takes three.
func TestRehearseOwnTable(t *testing.T) {
	t.Parallel()
	spec, out := specIn(t), filepath.Join(t.TempDir(), "out")
	args := []string{"-spec", spec, "-start", "3", "-asks", "3", "-seeds", "2", "-out", out}
	runs(t, "rehearse", args)
	if page := fileOf(t, out, "report.md"); !strings.Contains(page, "## own") || !strings.Contains(page, "inverse ratio to the best feasible reward -2") {
		t.Errorf("the report says\n%s", page)
	}
	moved := filepath.Join(filepath.Dir(spec), "moved.csv")
	must.Do(t, os.Rename(filepath.Join(filepath.Dir(spec), "own.csv"), moved))
	if err := ran(t.Context(), "rehearse", args); err == nil || !strings.Contains(err.Error(), "own.csv") {
		t.Errorf("a missing table gives %v", err)
	}
	runs(t, "rehearse", append(args, "-table", moved))
	if n := len(gamesIn(t, out)); n != 2 {
		t.Errorf("%d games are kept: the same table elsewhere is the same game", n)
	}
}

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
	must.Do(t, os.WriteFile(path, []byte(script), 0o600))
}

// TestJudgeOutside: a tool outside plays the standard set but for the demo.
func TestJudgeOutside(t *testing.T) {
	t.Parallel()
	out, tool := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "tool")
	outsideIn(t, tool, "One 1.0")
	runs(t, "judge", []string{"-only", "gramacy 1 %", "-asks", "2", "-seeds", "1", "-algorithm", "random", "-out", out, "-outside", "one=sh " + tool})
	if text := fileOf(t, out, "table.txt"); !strings.Contains(text, "\ngramacy 1 % told, one ") {
		t.Errorf("it is not in the table:\n%s", text)
	}
	if err := ran(t.Context(), "judge", []string{"-only", "demo", "-outside", "one=sh " + tool}); err == nil || !strings.Contains(err.Error(), "no case has") {
		t.Errorf("a tool that is to play the demo gives %v", err)
	}
}

// TestRehearseOutside: a tool outside joins the algorithms under its label; its games are kept
// until it calls itself something else.
func TestRehearseOutside(t *testing.T) {
	t.Parallel()
	out, tool := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "tool")
	args := shortly(out, "-problem", "gramacy", "-algorithm", "random", "-outside", "one=sh "+tool)
	outsideIn(t, tool, "One 1.0")
	runs(t, "rehearse", args)
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
	runs(t, "rehearse", args)
	for name, at := range gamesIn(t, out) {
		if !first[name].Equal(at) {
			t.Errorf("game %s was played again", name)
		}
	}
	outsideIn(t, tool, "One 1.1")
	runs(t, "rehearse", args)
	if n := len(gamesIn(t, out)); n != 4+2 {
		t.Errorf("%d games are kept with the other version, want 6", n)
	}
	for reason, wrong := range map[string]string{"used once": "random=sh " + tool, "command is missing": "two", "-outside two: no-such-tool": "two=no-such-tool"} {
		if err := ran(t.Context(), "rehearse", append(args, "-outside", wrong)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("-outside %s gives %v, want a word about %q", wrong, err, reason)
		}
	}
}

// TestGamesAreJudged plays a part of the standard set and reads the table: a line a case, what
// telling gains in the line of the case that is told, and the means below.
func TestGamesAreJudged(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"-only", "gramacy", "-asks", "5", "-algorithm", "random", "-out", out}
	runs(t, "judge", append(args, "-seeds", "2"))
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
		// A wide terminal has 132 columns, and the longest name of the set, “reaction told
		// threefold”, six characters more than the longest here.
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
			must.Get(fmt.Sscan(cells[3], &share))(t)
			sum += share
		}
	}
	if want := fmt.Sprintf("%.3f", sum/2); !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(lines[2], "gramacy 1 %")), want) {
		t.Errorf("the share is not %s: %s", want, lines[2])
	}
}

func TestContestsRefuse(t *testing.T) {
	t.Parallel()
	for command, refused := range map[string]map[string][]string{
		"simulate": {
			"-list names":       {},
			"rate-allocation":   {"-problem", "nothing", "-algorithm", "rpol-ucb"},
			"ckb-rand":          {"-problem", "queue"},
			"scgp-ucb":          {"-problem", "queue", "-algorithm", "scgp"},
			"JSON object":       {"-problem", "queue", "-algorithm", "rpol-ucb", "-settings", "beta=2"},
			"used once":         {"-problem", "queue", "-algorithm", "rpol-ucb,rpol-ucb"},
			"cannot be plotted": {"-problem", "queue", "-algorithm", "rpol-ucb", "-plot", "joy"},
			"no preset":         {"-problem", "queue", "-algorithm", "rpol-ucb", "-preset", "papers"},
			"takes no table":    {"-problem", "queue", "-algorithm", "rpol-ucb", "-readings", written(t)},
			"need the columns":  {"-problem", "finance", "-algorithm", "rpol-ucb", "-prior-readings", written(t)},
			"horizon of -5":     {"-problem", "sine-pocket", "-algorithm", "rpol-ucb", "-grid", "13", "-seeds", "1", "-horizon", "-5"},
		},
		"rehearse": {
			"-list names":          {},
			"made-mixed":           {"-problem", "nothing"},
			"no such file":         {"-spec", "nowhere.json"},
			"exactly one -spec":    {"-problem", "gramacy", "-table", "x.csv"},
			"say what to play":     {"-problem", ","},
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
		},
		"judge": {
			"no case has":           {"-only", "lunch"},
			"at least 1":            {"-seeds", "0"},
			"flags begin with":      {"gramacy"},
			"headroom judge -h":     {"-ask", "3"},
			"asks are impossible":   {"-asks", "0"},
			"there is no algorithm": {"-algorithm", "magic"},
		},
	} {
		for reason, args := range refused {
			if err := ran(t.Context(), command, append(args, "-out", filepath.Join(t.TempDir(), "out"))); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s %v gives %v, want a word about %q", command, args, err, reason)
			}
		}
	}
}
