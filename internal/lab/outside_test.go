package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func tool(t testing.TB, command ...string) *Outside {
	t.Helper()
	return must.Get(newOutside(t.Context(), command, time.Minute))(t)
}

// walker takes the candidates from the last to the first, recommends the second trial, and keeps
// what it was told in a file.
const walker = `
import json, sys
print(json.dumps({"player": "walker 1"}), flush=True)
left = None
for line in sys.stdin:
    open(sys.argv[1], "a").write(line)
    message = json.loads(line)
    if "study" in message:
        left = message["study"]["candidates"]
    if message["ask"]:
        print(json.dumps({"settings": [left.pop() for _ in range(message["ask"])]}), flush=True)
    else:
        print(json.dumps({"recommended": 2}), flush=True)
`

func toldIn(t testing.TB, file string) []message {
	t.Helper()
	content := must.Get(os.ReadFile(file))(t)
	var told []message
	for line := range bytes.Lines(content) {
		var m message
		must.Do(t, json.Unmarshal(line, &m))
		told = append(told, m)
	}
	return told
}

// TestOutsideIsTold compares every line that a program was told with the game as it is recorded:
// the study, the rows to start from, and after each request the results that are not held back by
// the delay.
func TestOutsideIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "told")
	g := Game{Problem: problem(t, "made-uneven"), Start: 3, Asks: 5, Batch: 2, Delay: 1, Noise: Noise{Gaussian, 0.1}, Told: ToldTrue, Seed: 4}
	algorithm := g
	g.Outside = tool(t, "python3", "-c", walker, file)
	record := played(t, g)
	told := toldIn(t, file)
	of := func(numbers ...int) []outcome {
		return lists.Map(numbers, func(n int) outcome { return resultsOf(n, record.trials()[n-1], g.Problem.metrics) })
	}
	start := of(1, 2, 3)
	for i := range start {
		start[i].Parameters = record.Start[i].Settings
	}
	checked := must.Get(g.definition().Check())(t)
	want := []message{{Study: &checked, Trials: start, Ask: 2}, {Trials: of(), Ask: 2}, {Trials: of(4, 5), Ask: 1}, {Trials: of(6, 7, 8)}}
	if difference := cmp.Diff(want, told); difference != "" {
		t.Errorf("it was told otherwise:\n%s", difference)
	}
	for i, trial := range record.Asks {
		if n := len(checked.Candidates) - 1 - i; !trial.Settings.Equal(checked.Candidates[n]) {
			t.Errorf("ask %d is %v, want candidate %d", i+1, trial.Settings, n)
		}
	}
	if record.end().Recommended != 2 || g.Outside.Name != "walker 1" {
		t.Errorf("%s recommends trial %d", g.Outside.Name, record.end().Recommended)
	}
	if difference := cmp.Diff(played(t, algorithm).Start, record.Start); difference != "" {
		t.Errorf("an algorithm starts from other rows:\n%s", difference)
	}
	for _, f := range Figures {
		f.Of(judgedGame{g.Problem, record}) // what was not predicted has no figure, and none stumbles over it
	}
}

// TestOutsideMishaps: a program is told what failed, and why, what is late with the next results,
// and of what is never told nothing.
func TestOutsideMishaps(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "told")
	g := Game{Problem: problem(t, "made-uneven"), Asks: 20, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone, Mishaps: Mishaps{Fail: 0.2, Late: 0.3, Unread: 0.2}, Seed: 1}
	g.Outside = tool(t, "python3", "-c", walker, file)
	record := played(t, g)
	var want, late []outcome
	for i, trial := range record.Asks {
		want, late = append(want, late...), nil
		if trial.Failed != "" {
			want = append(want, outcome{study.NumberedTelling{Number: i + 1}, ledger.ByChance})
			continue
		}
		if now := trial.toldAtOnce(g.Problem.metrics); len(now) > 0 {
			want = append(want, resultsOf(i+1, trial, now))
		}
		if len(trial.Late) > 0 {
			late = append(late, resultsOf(i+1, trial, trial.Late))
		}
	}
	var told []outcome
	for _, m := range toldIn(t, file) {
		told = append(told, m.Trials...)
	}
	byTrial := func(a, b outcome) int { return a.Number - b.Number }
	slices.SortStableFunc(want, byTrial)
	slices.SortStableFunc(told, byTrial)
	if difference := cmp.Diff(want, told); difference != "" {
		t.Errorf("it was told otherwise:\n%s", difference)
	}
}

// lines plays as the players in scripts/compare do: rows in their order, telling on its standard
// output what it is told.
const lines = `
import sys
sys.path.insert(0, "../../scripts/compare")
from lines import play

class Player:
    def __init__(self, study, start):
        self.rows = iter(study.rows)
        self.told = open(sys.argv[1], "w")

    def ask(self):
        row = next(self.rows)
        print("this must not get between the lines")
        return row, row

    def tell(self, settings, metrics, mine):
        print(mine is None or mine == settings, sorted(metrics), file=self.told, flush=True)

    def fail(self, settings, mine):
        print(mine == settings, "failed", file=self.told, flush=True)

play("lines 1", Player)
`

// TestOutsideLines: the players that are published tell a tool of the trials whose readings have
// all come, and of those that failed, and recommend the best that was read within all limits.
func TestOutsideLines(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "told")
	g := Game{
		Problem: problem(t, "made-eight-2"), Start: 2, Asks: 150, Batch: 3, Delay: 1, Noise: Noise{Gaussian, 0.1}, Told: ToldTrue,
		Mishaps: Mishaps{Fail: 0.1, Late: 0.1, Unread: 0.02}, Seed: 3,
	}
	g.Outside = tool(t, "python3", "-B", "-c", lines, file)
	record := played(t, g)
	content := must.Get(os.ReadFile(file))(t)
	best, whole, failed := 0, 0, 0
	for i, trial := range record.trials() {
		read := trial.Failed == "" && len(trial.Unread) == 0
		if trial.Failed != "" {
			failed++
		}
		if !read {
			continue
		}
		whole++
		if g.Problem.feasible(trial.Read) && (best == 0 || g.Problem.reward(trial.Read) > g.Problem.reward(record.trials()[best-1].Read)) {
			best = i + 1
		}
	}
	if best == 0 || failed == 0 || whole+failed == len(record.trials()) {
		t.Fatalf("trial %d is best, %d are read, %d failed: the game tests too little", best, whole, failed)
	}
	if record.end().Recommended != best {
		t.Errorf("trial %d is recommended, want %d", record.end().Recommended, best)
	}
	metrics := slices.Sorted(slices.Values(g.Problem.metrics))
	counts := map[string]int{}
	for line := range strings.Lines(string(content)) {
		counts[strings.TrimSpace(line)]++
	}
	want := map[string]int{"True ['" + strings.Join(metrics, "', '") + "']": whole, "True failed": failed}
	if difference := cmp.Diff(want, counts); difference != "" {
		t.Errorf("the tool was told otherwise:\n%s", difference)
	}
}

// scripted is a program that says the lines, listens until nobody speaks any more, and ends.
func scripted(lines ...string) []string {
	return append([]string{"sh", "-c", `printf '%s\n' "$@"; cat > /dev/null`, "sh"}, lines...)
}

const hello = `{"player": "scripted 1"}`

// TestOutsideSettings are placed as a person's are: steps rounded, remainders filled in.
func TestOutsideSettings(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct{ settings, want string }{
		"pressure-vessel": {`{"shell": 1.01, "head": 0.63, "radius": 50, "length": 100}`, `{"shell": 1, "head": 0.625, "radius": 50, "length": 100}`},
		"formulation":     {`{"polymer": 2, "oil": 12, "surfactant": 4}`, `{"polymer": 2, "oil": 12, "surfactant": 4, "water": 82}`},
	} {
		g := Game{Problem: problem(t, name), Asks: 1, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone}
		g.Outside = tool(t, scripted(hello, `{"settings": [`+given.settings+`]}`, `{"recommended": 0}`)...)
		record := played(t, g)
		var want design.Settings
		must.Do(t, json.Unmarshal([]byte(given.want), &want))
		if !record.Asks[0].Settings.Equal(want) {
			t.Errorf("%s: %s becomes %v, want %s", name, given.settings, record.Asks[0].Settings, given.want)
		}
		if figures(g.Problem, record)["none"] != 1 {
			t.Errorf("%s: nothing was recommended", name)
		}
	}
}

func TestOutsideRefusals(t *testing.T) {
	t.Parallel()
	const at, end = `{"settings": [{"x": 2}]}`, `{"recommended": 1}`
	row := func(x float64) Row {
		return Row{design.Settings{"x": design.NumberValue(x)}, Values{"y": x}}
	}
	p := must.Get(newTable(design.Definition{Name: "three", Parameters: []design.Parameter{realParameter("x", 1, 3)}, Objective: design.Objective{Metric: "y", Direction: "maximize"}},
		[]Row{row(1), row(2), row(3)}))(t)
	shell := func(script string) []string { return []string{"sh", "-c", script} }
	for reason, command := range map[string][]string{
		"command is missing":             {},
		"executable file not found":      {"no-such-tool"},
		"must begin with":                scripted(`{}`),
		`it said "Welcome"`:              scripted("Welcome"),
		"unknown field \"name\"":         scripted(`{"name": "scripted 1"}`),
		"exit status 3":                  shell("exit 3"),
		"a reason on two lines":          shell(`echo '{"player": "x"}'; read line; printf 'a reason\n on two lines' | tr -d '\n' >&2; exit 1`),
		"ended before the game did":      shell(`echo '{"player": "x"}'; read line; exit 0`),
		"is not one of the 3 candidates": scripted(hello, `{"settings": [{"x": 2.5}]}`, end),
		"above the highest, 3":           scripted(hello, `{"settings": [{"x": 4}]}`, end),
		"settings.x":                     scripted(hello, `{"settings": [{}]}`, end),
		`parameter "z"`:                  scripted(hello, `{"settings": [{"x": 1, "z": 1}]}`, end),
		"invalid character 'N'":          scripted(hello, `{"settings": [{"x": NaN}]}`, end),
		"it gave 2":                      scripted(hello, `{"settings": [{"x": 1}, {"x": 2}]}`, end),
		"it gave 0":                      scripted(hello, `{"settings": []}`, end),
		"1 to 2, or 0":                   scripted(hello, at, `{"recommended": 3}`),
		"number of a trial":              scripted(hello, at, `{}`),
		`unknown field "settings"`:       scripted(hello, at, at),
		"exit status 4":                  shell(`printf '%s\n' '{"player": "x"}' '{"settings": [{"x": 1}]}' '{"recommended": 1}'; test -z "$(cat)" || exit 4`),
		"token too long":                 shell(`echo '{"player": "x"}'; if read line; then yes | tr -d '\n'; fi`),
		"calls itself":                   shell(`echo "{\"player\": \"$$\"}"; cat > /dev/null`),
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			g := Game{Problem: p, Start: 1, Asks: 1, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone}
			o, err := newOutside(t.Context(), command, time.Minute)
			if err == nil {
				g.Outside = o
				_, err = g.Play(t.Context(), nil)
			}
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestOutsideHangs: a program that stays silent, or does not listen to a long study, or does not end
// when it may, is stopped.
func TestOutsideHangs(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "made-free"), Asks: 1, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone}
	g.Outside = tool(t, "sh", "-c", `echo '{"player": "x"}'; if read line; then exec sleep 600; fi`)
	g.Outside.patience = time.Second
	_, playing := g.Play(t.Context(), nil)
	deaf := []string{"sh", "-c", `echo '{"player": "x"}'; exec sleep 600`}
	g.Problem, g.Outside = problem(t, "made-mixed"), &Outside{Name: "x", command: deaf, patience: time.Second}
	_, telling := g.Play(t.Context(), nil)
	_, ending := newOutside(t.Context(), deaf, time.Second)
	for _, err := range []error{playing, telling, ending} {
		if err == nil || !strings.Contains(err.Error(), "nothing was heard from it for 1s") {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestOutsideStops: an interrupted rehearsal does not wait for an answer.
func TestOutsideStops(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "made-free"), Asks: 1, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone}
	g.Outside = tool(t, scripted(hello)...)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := g.Play(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// TestOutsideKey: a game with a tool outside is the same whatever plays inside, and another one
// when the tool, or what it meets, changes.
func TestOutsideKey(t *testing.T) {
	t.Parallel()
	key := func(program string, change func(g *Game)) string {
		g := mixed(t)
		g.Outside = &Outside{Name: "tool 1", command: []string{"tool", "gp"}}
		change(&g)
		return must.Get(g.Key(program))(t)
	}
	base := key("a", func(*Game) {})
	if base != key("b", func(*Game) {}) {
		t.Error("another build of this program plays it again")
	}
	for what, change := range map[string]func(g *Game){
		"no tool":      func(g *Game) { g.Outside = nil },
		"a version":    func(g *Game) { g.Outside.Name = "tool 2" },
		"a word":       func(g *Game) { g.Outside.command[1] = "random" },
		"the seed":     func(g *Game) { g.Seed++ },
		"what is told": func(g *Game) { g.Told = ToldTrue },
		"another truth of the same name": func(g *Game) {
			other, truth := *g.Problem, g.Problem.truth
			other.truth = func(at design.Settings) Values {
				v := maps.Clone(truth(at))
				v[other.metrics[0]]++
				return v
			}
			g.Problem = &other
		},
	} {
		if key("a", change) == base {
			t.Errorf("%s does not tell games apart", what)
		}
	}
}
