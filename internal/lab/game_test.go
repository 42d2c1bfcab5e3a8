package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func mixed(t testing.TB) Game {
	return Game{Problem: problem(t, "made-mixed"), Algorithm: design.Algorithm{Name: "ckb-rand"}, Start: 3, Asks: 8, Batch: 1, Noise: Noise{Gaussian, 0.1}, Told: ToldNone, Seed: 2}
}

// TestGamesRepeat, and their records survive JSON, in which they are kept.
func TestGamesRepeat(t *testing.T) {
	t.Parallel()
	g := mixed(t)
	r := played(t, g)
	text := must.Get(json.Marshal(r))(t)
	first := new(Record)
	must.Do(t, json.Unmarshal(text, first))
	if difference := cmp.Diff(r, first); difference != "" {
		t.Errorf("kept as JSON it is another one:\n%s", difference)
	}
	first, second := timeless(first), timeless(played(t, g))
	if difference := cmp.Diff(first, second); difference != "" {
		t.Errorf("the same game went another way:\n%s", difference)
	}
	g.Seed++
	other := timeless(played(t, g))
	if cmp.Equal(settingsOf(first.Start), settingsOf(other.Start)) || cmp.Equal(settingsOf(first.Asks), settingsOf(other.Asks)) {
		t.Error("another seed plays the same game")
	}
}

func settingsOf(trials []Trial) []design.Settings {
	return lists.Map(trials, func(trial Trial) design.Settings { return trial.Settings })
}

// TestPairing: algorithms start from the same rows, and the nth reading of a setting is the same
// for all of them.
func TestPairing(t *testing.T) {
	t.Parallel()
	a := Game{Problem: problem(t, "made-uneven"), Algorithm: design.Algorithm{Name: "random"}, Start: 4, Asks: 25, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: 9}
	b := a
	b.Algorithm.Name = "halton"
	one, other := played(t, a), played(t, b)
	if difference := cmp.Diff(one.Start, other.Start); difference != "" {
		t.Errorf("the rows to start from differ:\n%s", difference)
	}
	byVisit := func(r *Record) map[string]Values {
		read, visits := map[string]Values{}, map[string]int{}
		for _, trial := range append(r.Start, r.Asks...) {
			key := keyOf(trial.Settings)
			read[key+strings.Repeat("+", visits[key])] = trial.Read
			visits[key]++
		}
		return read
	}
	left, right := byVisit(one), byVisit(other)
	shared, repeats := 0, 0
	for visit, v := range left {
		if w, both := right[visit]; both {
			shared++
			repeats += strings.Count(visit, "+")
			if !cmp.Equal(v, w) {
				t.Errorf("visit %s reads %v and %v", visit, v, w)
			}
		}
	}
	if shared < 10 || repeats == 0 {
		t.Fatalf("only %d visits are shared, %d repeats", shared, repeats)
	}
}

func TestKeyNamesEverything(t *testing.T) {
	t.Parallel()
	base := mixed(t)
	seen := map[string]string{}
	add := func(what, program string, change func(g *Game)) {
		g := base
		change(&g)
		key := must.Get(g.Key(program))(t)
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", what, other)
		}
		seen[key] = what
	}
	add("the game", "a", func(*Game) {})
	add("another program", "b", func(*Game) {})
	add("the problem", "a", func(g *Game) { g.Problem = problem(t, "made-mixed-2") })
	add("the algorithm", "a", func(g *Game) { g.Algorithm.Name = "cei" })
	add("its settings", "a", func(g *Game) { g.Algorithm.Settings = map[string]json.RawMessage{"beta": json.RawMessage("3")} })
	add("the model", "a", func(g *Game) { g.Model.Kernel = json.RawMessage(`"se"`) })
	add("the start", "a", func(g *Game) { g.Start++ })
	add("the asks", "a", func(g *Game) { g.Asks++ })
	add("the batch", "a", func(g *Game) { g.Batch++ })
	add("the delay", "a", func(g *Game) { g.Delay++ })
	add("the noise", "a", func(g *Game) { g.Noise.Kind = Outliers })
	add("what is told of it", "a", func(g *Game) { g.Told = ToldTrue })
	add("what fails", "a", func(g *Game) { g.Mishaps.Fail = 0.1 })
	add("what is late", "a", func(g *Game) { g.Mishaps.Late = 0.1 })
	add("what is never told", "a", func(g *Game) { g.Mishaps.Unread = 0.1 })
	add("where trials fail", "a", func(g *Game) {
		failing := must.Get(g.Problem.Failing("temperature > 100"))(t)
		g.Problem = failing
	})
	add("its size", "a", func(g *Game) { g.Noise.Size *= 2 })
	add("the seed", "a", func(g *Game) { g.Seed++ })
	// The truth alone: the same study, another reading.
	row := Row{design.Settings{"x": design.NumberValue(1)}, Values{"y": 1}}
	far := Row{design.Settings{"x": design.NumberValue(2)}, Values{"y": 2}}
	d := design.Definition{Name: "two", Parameters: []design.Parameter{realParameter("x", 1, 2)}, Objective: design.Objective{Metric: "y", Direction: "maximize"}}
	for _, y := range []float64{1, 1.5} {
		row.Values = Values{"y": y}
		p := must.Get(newTable(d, []Row{row, far}))(t)
		add("a truth of its own", "a", func(g *Game) { g.Problem = p })
	}
}

// TestLateResults looks at what each decision had seen: with two at once and a delay of two, the
// results of all requests but the last two.
func TestLateResults(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "gramacy"), Start: 2, Asks: 11, Batch: 2, Delay: 2, Noise: Noise{Kind: NoNoise}, Seed: 1}
	service := study.NewService(new(memoryStore), study.Options{})
	t.Cleanup(service.Stop)
	asked := 0
	record := must.Get(g.PlayOn(t.Context(), service, func() { asked++ }))(t)
	if asked != g.Asks || len(record.Asks) != g.Asks {
		t.Errorf("%d asks told of, %d recorded", asked, len(record.Asks))
	}
	snap := only(t, service)
	for i := range g.Asks {
		seen := 0
		for _, trial := range snap.Trials {
			if m, told := trial.Metrics["reward"]; told && m.ToldSeq <= snap.Trials[g.Start+i].Seen {
				seen++
			}
		}
		if want := g.Start + 2*max(0, i/2-2); seen != want {
			t.Errorf("ask %d had seen %d results, want %d", i+1, seen, want)
		}
	}
	for _, trial := range snap.Trials {
		if _, told := trial.Metrics["reward"]; !told {
			t.Errorf("trial %d was never told", trial.Number)
		}
	}
}

// TestAPlate is asked for at once, in more than one request: no reading comes in between.
func TestAPlate(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "gramacy"), Algorithm: design.Algorithm{Name: "random"}, Asks: 64, Batch: 60, Noise: Noise{Kind: NoNoise}, Seed: 1}
	service := study.NewService(new(memoryStore), study.Options{})
	t.Cleanup(service.Stop)
	must.Get(g.PlayOn(t.Context(), service, nil))(t)
	for i, trial := range only(t, service).Trials {
		told := slices.ContainsFunc(only(t, service).Trials, func(o *ledger.Trial) bool { return o.Metrics["reward"].ToldSeq <= trial.Seen })
		if told != (i >= g.Batch) {
			t.Errorf("well %d is chosen with results: %v", i+1, told)
		}
	}
}

// TestPredictions: the product says how its predictions held, of as many readings as there can have
// been predictions, and asks take time.
func TestPredictions(t *testing.T) {
	t.Parallel()
	r := played(t, Game{Problem: problem(t, "gramacy"), Asks: 14, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: 1})
	for i, trial := range r.Asks {
		if !(trial.Seconds > 0 && trial.Seconds < 60) {
			t.Errorf("ask %d took %v seconds", i+1, trial.Seconds)
		}
	}
	for _, metric := range []string{"reward", "wave", "disk"} {
		if n := r.Shown[metric].Count; n == 0 || n >= len(r.Asks) {
			t.Errorf("of %d readings of %s %d were predicted; the first ones cannot be", len(r.Asks), metric, n)
		}
	}
}

func TestNothingFeasible(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "made-hopeless"), Start: 3, Asks: 10, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: 1}
	r := played(t, g)
	if f := figures(g.Problem, r); f["none"] != 1 || f["before"] != float64(g.Asks) || !math.IsNaN(f["share"]) {
		t.Errorf("where nothing is feasible the figures are %v", f)
	}
}

// TestPlainTables: one whose objective is the same in every row, and one with a limit that follows
// from the settings, are played, kept and judged like others.
func TestPlainTables(t *testing.T) {
	t.Parallel()
	var flat, formula strings.Builder
	for x := 1; x <= 20; x++ {
		fmt.Fprintf(&flat, "%d,5,%d\n", x, x)
		fmt.Fprintf(&formula, "%d,%d,%d\n", x, x*x, 2*x)
	}
	for limit, rows := range map[string]string{"": flat.String(), `, "expression": "2*x"`: formula.String()} {
		spec := `{"name": "own", "parameters": [{"name": "x"}], "objective": {"metric": "y", "direction": "maximize"},
			"constraints": [{"metric": "g", "op": "<=", "threshold": 16` + limit + `}]}`
		p := must.Get(read(t, "x,y,g\n"+rows, spec))(t)
		r := played(t, Game{Problem: p, Start: 2, Asks: 10, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldNone, Seed: 1})
		must.Get(json.Marshal(r))(t)
		for i, trial := range r.trials() {
			if y, is := trial.Read["y"]; !is || y != trial.Truth["y"] {
				t.Errorf("limit %q: in trial %d is read %v", limit, i+1, trial.Read)
			}
		}
		if f := figures(p, r); f["final"] != 1 || math.IsInf(f["excesses"], 0) {
			t.Errorf("limit %q: the figures are %v", limit, f)
		}
	}
}

func TestGameRefusals(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string]func(g *Game){
		"rows to start":         func(g *Game) { g.Start = -1 },
		"asks are impossible":   func(g *Game) { g.Asks = 0 },
		"at once":               func(g *Game) { g.Batch = 385 },
		"delay of -1":           func(g *Game) { g.Delay = -1 },
		"standard deviations":   func(g *Game) { g.Noise.Size = -1 },
		"seed":                  func(g *Game) { g.Seed = 1 << 60 },
		"nothing is told as":    func(g *Game) { g.Told = "loud" },
		"readings are exact":    func(g *Game) { g.Told, g.Noise = ToldTrue, Noise{Kind: OwnNoise} },
		"there is no algorithm": func(g *Game) { g.Algorithm.Name = "magic" },
		"model":                 func(g *Game) { g.Model.Kernel = json.RawMessage(`"wool"`) },
	} {
		g := mixed(t)
		change(&g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("the check says %v, want a word about %q", err, reason)
		}
	}
}

// TestGamesAreLookedAt: what a long game says was recommended at 12 trials is what a game of 12
// recommends at its end.
func TestGamesAreLookedAt(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "formulation"), Start: 3, Asks: 12, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldTrue, Seed: 3}
	long := played(t, g)
	g.Asks = 9
	if want, got := played(t, g).end(), long.Looks[0]; !cmp.Equal(got, want) || got.Recommended == 0 || got.Risk == nil || got.Best == nil {
		t.Errorf("a look at 12 trials finds %+v, a game that ends there %+v", got, want)
	}
	if len(long.Looks) != 2 || long.end().Trials != 15 {
		t.Errorf("the looks are %+v, want 12 and the end at 15", long.Looks)
	}
	if g.Start, g.Asks = 14, 2; len(played(t, g).Looks) != 1 {
		t.Error("there is a look at 12 trials of which 14 were there before the first ask")
	}
}

// TestWhatIsSaidOfATrialIsKept: nothing of those before a first fit, and of others a chance, and an
// improvement beside the truth of an earlier trial, in deviations of the objective.
func TestWhatIsSaidOfATrialIsKept(t *testing.T) {
	t.Parallel()
	p := problem(t, "formulation")
	asks := played(t, Game{Problem: p, Asks: 12, Batch: 2, Noise: Noise{Kind: OwnNoise}, Seed: 3}).Asks
	better := 0
	for i, ask := range asks {
		if first := ask.Reason == "first-design"; first != (ask.Chance == nil) || first != (ask.Improvement == nil) {
			t.Errorf("of trial %d, %s, is kept %v and %+v", i+1, ask.Reason, ask.Chance, ask.Improvement)
		}
		if ask.Improvement == nil {
			continue
		}
		if !slices.ContainsFunc(asks[:i], func(other Trial) bool {
			return math.Abs(max(0, p.reward(ask.Truth)-p.reward(other.Truth))/p.Spread["stability"]-ask.Improvement.True) < 1e-9
		}) {
			t.Errorf("trial %d betters no other by %g", i+1, ask.Improvement.True)
		}
		if ask.Improvement.True > 0 {
			better++
		}
	}
	if better == 0 {
		t.Error("no trial betters another")
	}
}

// TestGamesKeepDrift: a game says which metrics' readings came to lie elsewhere while it was
// played.
func TestGamesKeepDrift(t *testing.T) {
	t.Parallel()
	p := *problem(t, "formulation")
	steady, read := p.read, 0
	p.fingerprint += ", drifting"
	p.read = func(at design.Settings, random *rand.Rand) Values {
		values := steady(at, random)
		if read++; read > 20 {
			values["stability"] += 3 * p.Spread["stability"]
		}
		return values
	}
	g := Game{Problem: &p, Asks: 40, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: 8}
	if drifted := played(t, g).Drifted; !slices.Equal(drifted, []string{"stability"}) {
		t.Errorf("drifted have %q", drifted)
	}
	if p.read = steady; played(t, g).Drifted != nil {
		t.Error("a process that stands has drifted")
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	at := func(x, cure float64, solvent string) design.Settings {
		return design.Settings{"x": design.NumberValue(x), "cure": design.NumberValue(cure), "solvent": design.TextValue(solvent)}
	}
	d := design.Definition{Name: "near", Parameters: []design.Parameter{realParameter("x", 0, 10), logarithmic("cure", 1, 1000), category("solvent", 2)}}
	p := &Problem{Study: d}
	from := at(5, 10, "solvent A")
	for what, c := range map[string]struct {
		at   design.Settings
		want bool
	}{
		"the same":                    {from, true},
		"a thousandth of the range":   {at(5.01, 10, "solvent A"), true},
		"three thousandths":           {at(4.97, 10, "solvent A"), false},
		"a thousandth of the decades": {at(5, 10.07, "solvent A"), true},
		"three thousandths of them":   {at(5, 10.21, "solvent A"), false},
		"another choice":              {at(5, 10, "solvent B"), false},
	} {
		if got := p.near(from, c.at); got != c.want {
			t.Errorf("%s: near is %t", what, got)
		}
	}
	p.Study.Candidates = []design.Settings{from, at(5.01, 10, "solvent A")}
	if p.near(from, p.Study.Candidates[1]) || !p.near(from, p.Study.Candidates[0]) {
		t.Error("two rows of a table are one")
	}
}

// TestBook lets two services write to one study in turn, each unaware of what the other wrote.
func TestBook(t *testing.T) {
	t.Parallel()
	store, by := new(memoryStore), study.Command{By: "Ana"}
	one, other := study.NewService(store, study.Options{}), study.NewService(store, study.Options{})
	t.Cleanup(one.Stop)
	t.Cleanup(other.Stop)
	d := problem(t, "gramacy").Study
	snap := must.Get(one.Create(t.Context(), by, d))(t)
	at := design.Settings{"x1": design.NumberValue(0.5), "x2": design.NumberValue(0.25)}
	for i, s := range []*study.Service{one, other, one, other} {
		_, numbers, err := s.AddTrial(t.Context(), by, snap.ID, study.OwnTrial{Parameters: at})
		if err != nil || numbers[0] != i+1 {
			t.Fatalf("trial %d became %d, %v", i+1, numbers, err)
		}
	}
	// other has seen everything, one has not seen trial 4.
	for _, s := range []*study.Service{one, other} {
		tell := ledger.Telling{Metrics: map[string]ledger.Reading{"reward": {Value: 1}}}
		number := map[*study.Service]int{one: 4, other: 1}[s]
		if _, err := s.Tell(t.Context(), by, snap.ID, number, tell); err != nil {
			t.Errorf("telling trial %d: %v", number, err)
		}
	}
	if past, err := one.Snapshot(t.Context(), snap.ID, 3); err != nil || len(past.Trials) != 2 {
		t.Errorf("after event 3 there are other trials than 2: %v", err)
	}
	if events, err := store.Events(t.Context(), snap.ID, 0, 0); err != nil || len(events) != 7 {
		t.Errorf("there are %d events, %v; want 7 for a study, four trials and two results", len(events), err)
	}
}
