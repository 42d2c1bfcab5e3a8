package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/lists"
	"headroom/internal/must"
)

// TestGamesAreTimedByEveryMeasure: a short run names each measure with how often it was done, and
// its numbers are in order; nothing of it stays behind.
func TestGamesAreTimedByEveryMeasure(t *testing.T) {
	t.Parallel()
	temporary := dbtest.Folder(t)
	if err := os.Chmod(temporary, 0o755); err != nil { // for the user that PostgreSQL runs as
		t.Fatal(err)
	}
	run := func(args ...string) map[string][]string {
		t.Helper()
		text, complaint, err := output(t, program(t, temporary, []string{"TMPDIR=" + temporary, "HEADROOM_DATABASE_URL=postgres://nobody.test/no"},
			append([]string{"bench"}, args...)...))
		if err != nil || complaint != "" {
			t.Fatalf("headroom bench %s: %v %s", strings.Join(args, " "), err, complaint)
		}
		return rowsOf(t, text)
	}
	rows := run("-trials", "46", "-times", "2", "-clients", "3")
	const reference = "R: Cholesky factor of 1000 rows, one thread"
	want := map[string]string{
		reference: "55", "rpol-ucb, 46 trials: first ask after a restart": "2", "rpol-ucb, 46 trials: tell and ask": "2",
		"default, 45 trials: ask": "2", "default, 46 trials: ask": "2", "default, 46 trials: first ask after an import": "2",
		"rpol-ucb, 46 trials: state after a tell": "2", "default, 46 trials: state after a tell": "2",
		"rpol-ucb, 46 trials: state without gain": "2", "default, 46 trials: state without gain": "2",
		"rpol-ucb, 46 trials: history after a tell": "2",
		"default, 3 clients on one study: ask":      "15", "default, 3 clients on one study: tell": "15",
	}
	for what, times := range want {
		if row := rows[what]; row == nil || row[0] != times {
			t.Errorf("%s was measured %v, want %s times", what, row, times)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d lines, want %d", len(rows), len(want))
	}
	if r := rows[reference]; r != nil && r[6] != "1.00" {
		t.Errorf("the median of R is %s of itself", r[6])
	}
	if only := run("-trials", "5", "-times", "1", "-only", "history"); len(only) != 2 || only["rpol-ucb, 5 trials: history after a tell"] == nil {
		t.Errorf("-only history measures %v", only)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// rowsOf reads the table by what was measured, and that its numbers are in order.
func rowsOf(t *testing.T, table string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for i, text := range strings.Split(strings.TrimSpace(table), "\n") {
		cells := lists.Map(strings.Split(strings.Trim(text, "|"), "|"), strings.TrimSpace)
		if len(cells) != 9 {
			t.Fatalf("%q has %d cells", text, len(cells))
		}
		if i < 2 {
			continue // the head
		}
		rows[cells[0]] = cells[1:]
		for _, group := range [][]string{cells[2:6], cells[6:]} {
			last := 0.0
			for _, cell := range group {
				x, err := strconv.ParseFloat(cell, 64)
				if err != nil || x < last {
					t.Errorf("%q is not in order: %v", text, err)
				}
				last = x
			}
		}
	}
	return rows
}

// TestBenchTable: each share of the times stands in its column, in milliseconds and in the median
// of R.
func TestBenchTable(t *testing.T) {
	t.Parallel()
	var hundred durations
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*time.Millisecond)
	}
	b := bench{reference: durations{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}, lines: []line{{"counting", hundred}}}
	var out bytes.Buffer
	must.Do(t, b.write(&out))
	if got := strings.Join(rowsOf(t, out.String())["counting"], " "); got != "100 1.00 51.0 100 100 0.05 2.55 5.00" {
		t.Errorf("a hundred times from 1 to 100 ms are %s", got)
	}
}

// TestBenchMeasuresEachOnce: however many trials the long studies have.
func TestBenchMeasuresEachOnce(t *testing.T) {
	t.Parallel()
	for trials, asks := range map[int]int{5: 1, 45: 1, 46: 2, 300: 2, 1000: 3} {
		b := bench{trials: trials}
		names := lists.Map(b.measures(), func(m measure) string { return m.name })
		if all := strings.Join(names, "\n") + "\n"; strings.Count(all, ": ask\n") != asks {
			t.Errorf("with %d trials are measured\n%s", trials, all)
		}
	}
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-trials", "0"}, {"-times", "0"}, {"-clients", "-1"}, {"-only", "nonsense"}} {
		if err := ran(t.Context(), "bench", args); err == nil || !strings.HasPrefix(err.Error(), "bench: ") {
			t.Errorf("headroom bench %s gives %v", strings.Join(args, " "), err)
		}
	}
}
