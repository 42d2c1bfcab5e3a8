package lab

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// withLedger plays a game and returns its ledger's study beside its record.
func withLedger(t *testing.T, g Game) (*Record, *ledger.Snapshot) {
	t.Helper()
	must.Do(t, g.Check())
	service := study.NewService(new(memoryStore), study.Options{})
	t.Cleanup(service.Stop)
	record := must.Get(g.PlayOn(t.Context(), service, nil))(t)
	return record, only(t, service)
}

// TestRegionFails: beyond x + z > 1.2 every trial fails and nothing is told of it, and elsewhere
// none does.
func TestRegionFails(t *testing.T) {
	t.Parallel()
	p := problem(t, "made-crash")
	r, snap := withLedger(t, Game{Problem: p, Algorithm: design.Algorithm{Name: "halton"}, Start: 6, Asks: 30, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldNone, Seed: 1})
	n := 0
	for i, trial := range r.trials() {
		beyond := trial.Settings["x"].Number+trial.Settings["z"].Number > 1.2
		one := snap.Trials[i]
		switch {
		case beyond && (trial.Failed != ledger.BySettings || one.Status != ledger.StatusFailed || len(one.Metrics) > 0 || i < len(r.Start)):
			t.Errorf("trial %d at %v is %s: %+v", i+1, trial.Settings, one.Status, trial)
		case !beyond && (trial.Failed != "" || one.Status != ledger.StatusCompleted):
			t.Errorf("trial %d at %v is %s, failed by %q", i+1, trial.Settings, one.Status, trial.Failed)
		case beyond:
			n++
		}
	}
	if f := figures(p, r); n < 3 || f["failed"] != float64(n) || f["infeasible"] != 0 {
		t.Errorf("%d trials failed, the figures say %v, and %v outside a limit", n, f["failed"], f["infeasible"])
	}
}

// TestCrashBest: of the settings that work none is better than the one at the edge, by a random
// search.
func TestCrashBest(t *testing.T) {
	t.Parallel()
	p := problem(t, "made-crash")
	if best := p.reward(p.truth(p.optimum)); p.fails(p.optimum) || math.Abs(best-68) > 1e-12 || p.Scale.Best != best {
		t.Errorf("the best is %v, the scale's %v, want 68", best, p.Scale.Best)
	}
	random := rand.New(rand.NewPCG(1, 2))
	nearest := math.Inf(-1)
	for _, at := range p.draw(3000, random) {
		nearest = math.Max(nearest, p.reward(p.truth(at)))
	}
	if nearest > 68 || nearest < 66.5 {
		t.Errorf("a random search finds %v", nearest)
	}
}

// TestFailingTable: the best is the best of the rows that work.
func TestFailingTable(t *testing.T) {
	t.Parallel()
	p := must.Get(ladder(t, "maximize").Failing("x >= 6.5"))(t)
	if p.Scale.Best != 60 {
		t.Errorf("the best that works is %v, want 60", p.Scale.Best)
	}
	if start := p.draw(9, rand.New(rand.NewPCG(1, 0))); len(start) != 6 || slices.ContainsFunc(start, p.fails) {
		t.Errorf("the rows to begin with are %v", start)
	}
	for reason, where := range map[string]string{"says nothing": "y > 2", "every setting": "x > 0"} {
		if _, err := p.Failing(where); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q gives %v", where, err)
		}
	}
	if _, err := problem(t, "gramacy").Failing("x1 < 0.5"); err == nil || !strings.Contains(err.Error(), "nobody knows") {
		t.Errorf("a rule that takes the optimum away gives %v", err)
	}
	// Of a region of which a draw hardly ever finds something that works, the start still does.
	edge := must.Get(problem(t, "gardner-1").Failing("y > 0.01"))(t)
	if start := edge.draw(3, rand.New(rand.NewPCG(1, 0))); len(start) != 3 || slices.ContainsFunc(start, edge.fails) {
		t.Errorf("the settings to begin with are %v", start)
	}
	if g, err := problem(t, "gramacy").Failing("x1 > 0.5"); err != nil || g.Scale.Best != problem(t, "gramacy").Scale.Best {
		t.Errorf("a rule that leaves the optimum gives %v", err)
	}
}

// TestGamesWithMishaps: a third of the trials fail by chance, a fifth of the readings are never
// told and a quarter with the next results; each of them for every algorithm alike.
func TestGamesWithMishaps(t *testing.T) {
	t.Parallel()
	p := problem(t, "made-mixture")
	m := Mishaps{Fail: 1. / 3, Late: 0.25, Unread: 0.2}
	g := Game{Problem: p, Algorithm: design.Algorithm{Name: "random"}, Start: 4, Asks: 60, Batch: 2, Noise: Noise{Kind: OwnNoise}, Told: ToldNone, Mishaps: m, Seed: 2}
	r, snap := withLedger(t, g)
	var failed, unread, late, readings float64
	for i, trial := range r.Asks {
		one := snap.Trials[len(r.Start)+i]
		if failed += indicator(trial.Failed == ledger.ByChance); trial.Failed != "" {
			if one.Status != ledger.StatusFailed {
				t.Errorf("trial %d is %s", one.Number, one.Status)
			}
			continue
		}
		for _, metric := range p.metrics {
			readings++
			told, was := one.Metrics[metric]
			isLate := slices.Contains(trial.Late, metric)
			unread += indicator(!was)
			late += indicator(isLate)
			if was == slices.Contains(trial.Unread, metric) {
				t.Errorf("%s of trial %d is told: %t, never to be told: %v", metric, one.Number, was, trial.Unread)
			}
			// The next request, of two trials, is chosen before what is late is told, and what is
			// not late is told before it is chosen.
			if next := len(r.Start) + i - i%2 + 2; was && next < len(snap.Trials) && isLate == (told.ToldSeq <= snap.Trials[next].Seen) {
				t.Errorf("%s of trial %d, late: %t, is told at %d, the next trial saw %d", metric, one.Number, isLate, told.ToldSeq, snap.Trials[next].Seen)
			}
		}
	}
	for what, c := range map[string][2]float64{"failed": {failed / 60, m.Fail}, "never told": {unread / readings, m.Unread}, "late": {late / readings, m.Late}} {
		if math.Abs(c[0]-c[1]) > 0.12 {
			t.Errorf("the share %s is %v, want about %v", what, c[0], c[1])
		}
	}
	for _, trial := range r.Start {
		if trial.Failed != "" || trial.Late != nil || trial.Unread != nil {
			t.Errorf("a mishap befell what was measured before: %+v", trial)
		}
	}
	one := Trial{Settings: r.Asks[0].Settings}
	m.apply(&one, p, 0, g.Seed)
	if one.Failed != r.Asks[0].Failed || !slices.Equal(one.Late, r.Asks[0].Late) || !slices.Equal(one.Unread, r.Asks[0].Unread) {
		t.Errorf("the same visit meets %+v and %+v", r.Asks[0], one)
	}
}

// TestGamesWithAnOffset: what the instrument set is measured, and told, in place of what was asked.
func TestGamesWithAnOffset(t *testing.T) {
	t.Parallel()
	p := problem(t, "pressure-vessel")
	g := Game{Problem: p, Algorithm: design.Algorithm{Name: "random"}, Start: 3, Asks: 8, Batch: 1, Noise: Noise{Kind: NoNoise}, Told: ToldNone, Mishaps: Mishaps{Offset: 0.1, Late: 0.2}, Seed: 2}
	r, snap := withLedger(t, g)
	for i, trial := range r.Asks {
		one := snap.Trials[len(r.Start)+i]
		for _, q := range p.Study.Parameters {
			asked, used := snap.Chosen(one.Number)[q.Name].Number, one.Parameters[q.Name].Number
			if want := min(asked+0.1*(*q.High-*q.Low), *q.High); math.Abs(used-want) > 1e-9*want {
				t.Errorf("trial %d: %s of %v is set to %v, want %v", one.Number, q.Name, asked, used, want)
			}
		}
		if truth := p.truth(one.Parameters); !maps.Equal(truth, trial.Truth) {
			t.Errorf("trial %d: %v was measured where %v is true", one.Number, trial.Truth, truth)
		}
	}
	for name, wrong := range map[string]func(*Game){"a table": func(g *Game) { g.Problem = problem(t, "made-uneven") }, "a mixture": func(g *Game) { g.Problem = problem(t, "formulation") }, "a program outside": func(g *Game) { g.Outside = new(Outside) }, "beyond the range": func(g *Game) { g.Mishaps.Offset = 1.5 }} {
		bad := g
		wrong(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "offset") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMishapsAreJudged: what failed is not found, was not outside a limit, and counts again where
// something had failed before.
func TestMishapsAreJudged(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	r := walk(p, []int{2}, 8, 8, 10, 4, 4) // the last where it had worked before
	for i, cause := range []ledger.Cause{ledger.ByChance, ledger.BySettings, ledger.ByChance, "", ledger.ByChance} {
		r.Asks[i].Failed = cause
	}
	wantFigures(t, "failures", p, r, map[string]float64{"failed": 4, "again": 1, "infeasible": 0, "excesses": 0, "final": 0.5, "regret": 40})
	r = walk(p, nil, 8, 8)
	r.Asks[0].Failed = ledger.ByChance
	wantFigures(t, "found where one had failed", p, r, map[string]float64{"to2": 2, "repeats": 1, "rereading": 0, "again": 0})
}

func TestMishapRefusals(t *testing.T) {
	t.Parallel()
	for _, m := range []Mishaps{{Fail: 1.1}, {Late: -0.1}, {Unread: math.NaN()}, {Late: 0.6, Unread: 0.6}} {
		g := mixed(t)
		g.Mishaps = m
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), "shares from 0 to 1") {
			t.Errorf("%+v gives %v", m, err)
		}
	}
}

// TestGamesAreTold plays games and looks into the ledger: every reading, of the start and of the
// asks, stands there with the standard deviation that was to be told.
func TestGamesAreTold(t *testing.T) {
	t.Parallel()
	lathe := problem(t, "machine")
	uneven := problem(t, "made-uneven")
	for name, c := range map[string]struct {
		game Game
		want func(trial Trial) Values
	}{
		"none":   {Game{Problem: lathe, Told: ToldNone}, func(Trial) Values { return nil }},
		"true":   {Game{Problem: lathe, Told: ToldTrue}, func(Trial) Values { return Values{"output": 0.3, "tool temperature": 3} }},
		"low":    {Game{Problem: lathe, Told: ToldLow}, func(Trial) Values { return Values{"output": 0.1, "tool temperature": 1} }},
		"high":   {Game{Problem: lathe, Told: ToldHigh}, func(Trial) Values { return Values{"output": 0.9, "tool temperature": 9} }},
		"less":   {Game{Problem: lathe, Told: "0.01"}, func(Trial) Values { return Values{"output": 0.003, "tool temperature": 0.03} }},
		"exact":  {Game{Problem: lathe, Noise: Noise{Kind: NoNoise}, Told: ToldTrue}, func(Trial) Values { return nil }},
		"uneven": {Game{Problem: uneven, Told: ToldTrue}, func(trial Trial) Values { return uneven.own(trial.Settings) }},
		"added": {Game{Problem: lathe, Noise: Noise{Outliers, 0.1}, Told: ToldTrue}, func(Trial) Values {
			return Values{"output": 0.1 * lathe.Spread["output"], "tool temperature": 0.1 * lathe.Spread["tool temperature"]}
		}},
	} {
		g := c.game
		g.Algorithm.Name, g.Start, g.Asks, g.Batch, g.Seed = "random", 3, 4, 1, 5
		if g.Noise.Kind == "" {
			g.Noise.Kind = OwnNoise
		}
		service := study.NewService(new(memoryStore), study.Options{})
		t.Cleanup(service.Stop)
		record := must.Get(g.PlayOn(t.Context(), service, nil))(t)
		all := append(record.Start, record.Asks...)
		for i, kept := range only(t, service).Trials {
			want := c.want(all[i])
			for metric, m := range kept.Metrics {
				if m.Value != all[i].Read[metric] {
					t.Errorf("%s: %s of trial %d is kept as %v, read as %v", name, metric, i+1, m.Value, all[i].Read[metric])
				}
				if sd, told := want[metric]; told != (m.StdDev != nil) || told && !(math.Abs(*m.StdDev/sd-1) < 1e-12) {
					t.Errorf("%s: %s of trial %d is told with %v, want %v", name, metric, i+1, m.StdDev, sd)
				}
			}
			if len(kept.Metrics) == 0 {
				t.Errorf("%s: trial %d was never told", name, i+1)
			}
		}
	}
}

// TestDeviationIsTheNoise compares what is told with what readings do: over 20 settings of eight
// readings each their squares add up to what the standard deviations say.
func TestDeviationIsTheNoise(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]Noise{"made-uneven": {Kind: OwnNoise}, "formulation": {Kind: OwnNoise}, "gramacy": {Gaussian, 0.2}} {
		p := problem(t, name)
		square, n := 0.0, 0.0
		for _, at := range p.draw(20, rand.New(rand.NewPCG(1, 0))) {
			sd := p.deviation(at, noise)
			for seed := range uint64(100) {
				read, truth := p.reading(at, 0, noise, seed), p.truth(at)
				for _, metric := range p.metrics {
					square += math.Pow((read[metric]-truth[metric])/sd[metric], 2)
					n++
				}
			}
		}
		// The truth of a table is the mean of its eight readings, about which they spread by an
		// eighth less.
		if ratio := square / n; ratio < 0.75 || ratio > 1.15 {
			t.Errorf("%s: readings have %.3g times the variance that is told", name, ratio)
		}
	}
}

func TestToldRefusals(t *testing.T) {
	t.Parallel()
	steps := ladder(t, "maximize")
	d := steps.Study
	at := d.Candidates[0]
	p := must.Get(newTable(d, []Row{{at, Values{"yield": 1, "cost": 1}}, {at, Values{"yield": 3, "cost": 1}}, {d.Candidates[1], Values{"yield": 5, "cost": 2}}}))(t)
	if err := ToldTrue.check(p, Noise{Kind: OwnNoise}); err == nil || !strings.Contains(err.Error(), "-noise gaussian") {
		t.Errorf("telling what nobody knows gives %v", err)
	}
	if err := ToldTrue.check(p, Noise{Gaussian, 0.1}); err != nil {
		t.Errorf("telling a noise that was added gives %v", err)
	}
}
