package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

func rawSettings(t testing.TB, text string) map[string]json.RawMessage {
	t.Helper()
	if text == "" {
		return nil
	}
	var raw map[string]json.RawMessage
	must.Do(t, json.Unmarshal([]byte(text), &raw))
	return raw
}

func curvesOf(t testing.TB, e Experiment, seed uint64) *Curves {
	t.Helper()
	return must.Get(e.Play(context.Background(), seed, nil))(t)
}

// recordedGame is a game as it was played by an engine of the simulator's own, which kept the
// posterior over the arms up to date by itself.
type recordedGame struct {
	Experiment
	Seed         uint64
	Arms         []int     // played
	Multipliers  []float64 // before the last round's feedback: one, or none
	Regret, Hard float64   // sums over all rounds
}

func recordedGames(t testing.TB) (games []recordedGame) {
	t.Helper()
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/games.json"))(t), &games))
	return games
}

// TestGamesAreAsRecorded plays every algorithm on small grids, on time and late, and some on arms
// for so long that their covariance is kept in place of a factor. The runs must be the recorded
// ones.
func TestGamesAreAsRecorded(t *testing.T) {
	t.Parallel()
	for _, g := range recordedGames(t) {
		t.Run(g.Algorithm+" on "+g.Problem, func(t *testing.T) {
			t.Parallel()
			run := curvesOf(t, g.Experiment, g.Seed)
			in := must.Get(g.instance(g.Seed))(t)
			for i, arm := range g.Arms {
				if !slices.Equal(run.Points[i], in.Arms[arm]) {
					t.Fatalf("round %d: plays %v, recorded %v", i+1, run.Points[i], in.Arms[arm])
				}
			}
			if len(run.Points) != len(g.Arms) || math.Abs(last(run.Values["regret"])-g.Regret) > 1e-9 || math.Abs(last(run.Values["hard"])-g.Hard) > 1e-9 {
				t.Errorf("%d rounds with regret %v and hard violation %v, recorded %d with %v and %v", len(run.Points), last(run.Values["regret"]), last(run.Values["hard"]), len(g.Arms), g.Regret, g.Hard)
			}
			if got, want := last(run.Values["multiplier"]), slices.Max(append(g.Multipliers, 0)); math.Abs(got-want) > 1e-9 {
				t.Errorf("multiplier %v, recorded %v", got, want)
			}
		})
	}
}

// TestEveryProblem plays rpol-ucb on every problem for ten rounds: on its continuous space or its
// arms, as the menu says.
func TestEveryProblem(t *testing.T) {
	t.Parallel()
	for _, p := range problems.Menu() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			e := Experiment{Problem: p.Name, Algorithm: "rpol-ucb", Horizon: 10}
			run := curvesOf(t, e, 2)
			in := instance(t, p.Name, 2)
			if len(run.Values["regret"]) != 10 {
				t.Fatalf("%d rounds were played", len(run.Values["regret"]))
			}
			regret, hard, utility := 0.0, 0.0, 0.0
			for i, x := range run.Points {
				for k, a := range in.Axes {
					if x[k] < a.Low-1e-9 || x[k] > a.High+1e-9 {
						t.Errorf("round %d: %s = %v is out of range", i+1, a.Name, x[k])
					}
					if steps := (x[k] - a.Low) / a.Step; a.Step > 0 && math.Abs(steps-math.Round(steps)) > 1e-9 {
						t.Errorf("round %d: %s = %v is between steps", i+1, a.Name, x[k])
					}
				}
				regret += in.Optimum(i+1).Value - in.Reward(i+1, x)
				utility += in.Reward(i+1, x)
				if in.Given == nil {
					for _, g := range in.CostsAt(i+1, x) {
						hard += math.Max(g, 0)
					}
					if math.Abs(hard-run.Values["hard"][i]) > 1e-9*math.Max(1, hard) {
						t.Errorf("round %d: hard violation %v, recomputed %v", i+1, run.Values["hard"][i], hard)
					}
				}
				if math.Abs(utility-run.Values["utility"][i]) > 1e-9*math.Max(1, math.Abs(utility)) || run.Values["positive"][i] < run.Values["regret"][i] {
					t.Errorf("round %d: utility %v, recomputed %v; regret %v, its positive part %v", i+1, run.Values["utility"][i], utility, run.Values["regret"][i], run.Values["positive"][i])
				}
				if plus := run.Values["regret_plus"]; (plus == nil) != (in.Arms == nil) {
					t.Fatalf("arms: %v; regret against their best mixture: %v", in.Arms != nil, plus)
				} else if in.Arms != nil {
					mixture, err := in.Mixture(i + 1)
					if ahead := float64(i+1) * (mixture - in.Optimum(i+1).Value); err != nil || ahead < 0 || math.Abs(regret+ahead-plus[i]) > 1e-9*math.Max(1, math.Abs(plus[i])) {
						t.Errorf("round %d: regret against the best mixture %v, recomputed %v, %v", i+1, plus[i], regret+ahead, err)
					}
				}
				if math.Abs(regret-run.Values["regret"][i]) > 1e-9*math.Max(1, math.Abs(regret)) {
					t.Errorf("round %d: regret %v, recomputed %v", i+1, run.Values["regret"][i], regret)
				}
			}
		})
	}
}

// TestDeterminism plays a late, drawn and an opponent's game twice, and one of every algorithm of
// which none is recorded.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	experiments := []Experiment{
		{Problem: "sine-pocket-delayed", Algorithm: "ckb-rand", Horizon: 40, Grid: 13},
		{Problem: "sine-pocket", Algorithm: "rpol-ucb", Horizon: 12},
		{Problem: "sine-pocket", Algorithm: "admmbo", Horizon: 90},
		{Problem: "rate-allocation", Algorithm: "oco-bandit", Horizon: 60},
	}
	for _, name := range Algorithms() {
		recorded := slices.ContainsFunc(recordedGames(t), func(g recordedGame) bool { return g.Algorithm == name })
		if _, opponent := opponents[name]; !opponent && !recorded {
			experiments = append(experiments, Experiment{Problem: "sine-pocket", Algorithm: name, Horizon: 12, Grid: 13})
		}
	}
	for _, e := range experiments {
		first, second, other := curvesOf(t, e, 4), curvesOf(t, e, 4), curvesOf(t, e, 5)
		if difference := cmp.Diff(first, second); difference != "" {
			t.Errorf("%s on %s goes another way the second time:\n%s", e.Algorithm, e.Problem, difference)
		}
		if last(first.Values["regret"]) == last(other.Values["regret"]) {
			t.Errorf("%s on %s: two seeds give the same regret", e.Algorithm, e.Problem)
		}
	}
}

// visited plays one round of a world, and returns what is read with how many rounds late.
func visited(w *roundsWorld, x ...float64) (read Values, late map[string]int) {
	read, late = Values{}, map[string]int{}
	at := decision{place: optimizer.Place{U: w.in.Unit(x), Arm: -1}}
	w.visit(at, 0, func(rounds int, o outcome) {
		for name, reading := range o.Metrics {
			read[name], late[name] = reading.Value, rounds
		}
	})
	return read, late
}

// TestSameWorld checks that algorithms meet the same noise and delays: two that play one place only
// in every other round read the same values there, and as late everywhere.
func TestSameWorld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sine-pocket-delayed", "sensors"} {
		a, b := newRounds(instance(t, name, 1), 7), newRounds(instance(t, name, 1), 7)
		for round := 1; round <= 9; round++ {
			x := []float64{1, 2}[:len(a.in.Axes)]
			y := []float64{3, 4}[:len(a.in.Axes)]
			if round%2 == 1 {
				y = x
			}
			left, lateLeft := visited(a, x...)
			right, lateRight := visited(b, y...)
			if len(left) != 2 || round%2 == 1 && !maps.Equal(left, right) || !maps.Equal(lateLeft, lateRight) {
				t.Errorf("%s, round %d: %v late by %v, and %v late by %v", name, round, left, lateLeft, right, lateRight)
			}
		}
	}
}

// listener plays one place for ever and notes what it is told after each round.
type listener struct {
	asked int
	told  [][]outcome
}

func (l *listener) choose(context.Context, int) ([]int, error) { l.asked++; return []int{l.asked}, nil }

func (l *listener) learn(_ context.Context, told []outcome) error {
	l.told = append(l.told, told)
	return nil
}

// echo tells of its nth trial two readings, one at once and one n rounds late.
type echo struct{}

func (echo) visit(n int, _ float64, tell func(late int, o outcome)) {
	tell(0, outcomeWith(n, nil))
	tell(n, outcomeWith(-n, nil))
}

// TestLateReadings checks that a reading is told after as many further requests as it is late, in
// the order of the trials, and what is later than the last request is left to be told, and that
// delays are drawn with the problem's mean.
func TestLateReadings(t *testing.T) {
	t.Parallel()
	l := &listener{}
	steps := 0
	rest := must.Get(play(t.Context(), echo{}, l, 4, 1, func() { steps++ }))(t)
	var numbers [][]int
	for _, told := range append(l.told, rest...) {
		list := lists.Map(told, func(o outcome) int { return o.Number })
		numbers = append(numbers, list)
	}
	// Trial 1 is late by one request, trial 2 by two, and so on.
	if want := [][]int{{1}, {-1, 2}, {3}, {-2, 4}, {-3}, {-4}}; !cmp.Equal(numbers, want) || len(l.told) != 4 || steps != 4 {
		t.Errorf("told %v, want %v; %d requests", numbers, want, len(l.told))
	}
	w := newRounds(instance(t, "sine-pocket-delayed", 1), 3)
	sum := 0
	for range 200 {
		_, late := visited(w, 1, 2)
		sum += late["reward"] + late["g"]
	}
	if mean := float64(sum) / 400; mean < 14 || mean > 16 {
		t.Errorf("readings are %v rounds late on average, want 15", mean)
	}
}

// TestUnconstrainedViolates makes sure the simulator tells good from bad: the unconstrained
// reference must violate far more than rpol-ucb, and rpol-ucb must come close to the optimum.
func TestUnconstrainedViolates(t *testing.T) {
	t.Parallel()
	e := Experiment{Problem: "sine-pocket", Algorithm: "rpol-ucb", Grid: 31, Horizon: 300}
	good := curvesOf(t, e, 1)
	e.Algorithm = "igp-ucb"
	bad := curvesOf(t, e, 1)
	if last(good.Values["hard"]) > 0.3*last(bad.Values["hard"]) {
		t.Errorf("hard violation %v against %v without limits", last(good.Values["hard"]), last(bad.Values["hard"]))
	}
	if late := (good.Values["positive"][299] - good.Values["positive"][199]) / 100; late > 0.3 {
		t.Errorf("regret in the last third is %v a round", late)
	}
}

// TestAveraged: a quantity's mean over seeds and its standard error, as a sum and divided by t; one
// seed has an error of 0.
func TestAveraged(t *testing.T) {
	t.Parallel()
	all := lists.Map([]float64{1, 3, 5}, func(v float64) *Curves {
		return &Curves{Rounds: []int{1, 4}, Values: map[string][]float64{"hard": {v, 8 * v}}}
	})
	for _, q := range Quantities {
		for _, c := range all {
			c.Values[q.Name] = c.Values["hard"]
		}
	}
	means := estimateQuantities(all)
	sum, average := means["hard"][1], means["hard/t"][1]
	// sd 16, over √3
	if want := 16 / math.Sqrt(3); math.Abs(sum.Mean-24) > 1e-12 || math.Abs(average.Mean-6) > 1e-12 || math.Abs(sum.Error-want) > 1e-12 || math.Abs(average.Error-want/4) > 1e-12 {
		t.Errorf("got %v and %v, want 24 ± %v and a quarter of it", sum, average, want)
	}
	if one := estimateQuantities(all[:1])["hard"][1]; one.Mean != 8 || !math.IsNaN(one.Error) {
		t.Errorf("one seed gives %v", one)
	}
	if kept := Kept(10_000); kept[0] != 1 || kept[len(kept)-1] != 10_000 || len(kept) != 201 {
		t.Errorf("keeps %d rounds from %d to %d", len(kept), kept[0], kept[len(kept)-1])
	}
}

// TestMixturesAreReportedWhereThereAreArms: beside the regret stands that against the best mixture,
// which is left blank on a continuous space and in games kept by a program that did not know it.
func TestMixturesAreReportedWhereThereAreArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grid int
		want string
	}{{13, `ckb-ucb +-?[0-9.]+ +[0-9.]+ +`}, {0, `ckb-ucb +-?[0-9.]+ +– `}} {
		e := Entrant{Label: "ckb-ucb", Algorithm: design.Algorithm{Name: "ckb-ucb"}}
		s := Simulation{Experiment: Experiment{Problem: "sine-pocket", Horizon: 6, Grid: c.grid}, Entrants: []Entrant{e}, Seeds: 1, Plot: []string{"regret_plus/t"}}
		curves := []*Curves{curvesOf(t, s.of(e), 1).Thinned()}
		all := []simulatedEntrant{{e, curves, estimateQuantities(curves)}}
		if text := string(s.finalTable(all)); !regexp.MustCompile(c.want).MatchString(text) || !strings.Contains(text, "R₊/t") {
			t.Errorf("of a grid of %d is said\n%s", c.grid, text)
		}
		_, told := s.summaries(all)["ckb-ucb"].Final["regret_plus/t"]
		if csv := fmt.Sprint(runRows(all), summaryRows(all)); told != (c.grid > 0) || strings.Contains(csv, "NaN") {
			t.Errorf("of a grid of %d is told %v, and written\n%s", c.grid, told, csv)
		}
		_, err := s.Games()
		if (err == nil) != (c.grid > 0) {
			t.Errorf("of a grid of %d it is plotted: %v", c.grid, err)
		}
	}
}

// TestMixtureOfTheRound: the best mixture is that of the round's functions, and is worth more than
// the best arm where that pays.
func TestMixtureOfTheRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e     Experiment
		round int
	}{{Experiment{Problem: "sine-pocket-drift", Grid: 13}, 200}, {Experiment{Problem: "rkhs-100"}, 1}} {
		var in *problems.Instance
		mixture := 0.0
		for seed := uint64(1); in == nil || mixture <= in.Optimum(c.round).Value+0.01; seed++ {
			var err, wrong error
			in, err = c.e.instance(seed)
			mixture, wrong = in.Mixture(c.round)
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
		}
		w := newRounds(in, 1)
		must.Do(t, w.findBestMixtures())
		x := in.Arms[3]
		w.record(c.round, decision{}, x, in.CostsAt(c.round, x))
		if got, want := last(w.curves.Values["regret_plus"]), mixture-in.Reward(c.round, x); got != want {
			t.Errorf("%s, round %d: against the best mixture regret is %v, want %v", c.e.Problem, c.round, got, want)
		}
	}
}

// TestRefusals checks that errors list what exists.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e      Experiment
		reason string
	}{
		{Experiment{Problem: "sine"}, "sine-pocket-drift"},
		{Experiment{Problem: "sine-pocket", Algorithm: "rpol"}, "rpol-ucb"},
		{Experiment{Problem: "sine-pocket", Algorithm: "rpol-ucb", Settings: rawSettings(t, `{"etta": 1}`)}, "no such setting"},
		{Experiment{Problem: "sine-pocket", Algorithm: "rpol-ucb", Kernel: "cosine"}, "matern52"},
		{Experiment{Problem: "sine-pocket", Algorithm: "rpol-ucb", Grid: 3}, "finer grid"},
		{Experiment{Problem: "hartmann6", Algorithm: "rpol-ucb", Grid: 30}, "fewer"},
		{Experiment{Problem: "rkhs-100", Algorithm: "admmbo"}, "continuous"},
		{Experiment{Problem: "pressure-vessel", Algorithm: "oco-bandit"}, "without steps"},
		{Experiment{Problem: "sine-pocket", Algorithm: "rpol-ucb", Lambda: -1}, "λ of -1"},
		{Experiment{Problem: "sine-pocket", Algorithm: "admmbo", Lambda: math.NaN()}, "λ of NaN"},
		{Experiment{Problem: "sine-pocket-delayed", Algorithm: "admmbo"}, "at once"},
		{Experiment{Problem: "sine-pocket", Algorithm: "ckb-ts", Grid: 61}, "at most 2000"},
		{Experiment{Problem: "sine-pocket", Algorithm: "oco-bandit", Settings: rawSettings(t, `{"eta": 1}`)}, "step, exploration"},
		{Experiment{Problem: "sine-pocket", Algorithm: "scgp-ucb"}, "needs to know"},
	} {
		if err := c.e.Check(); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%+v gives %v, want a word about %s", c.e, err, c.reason)
		}
	}
}

// TestOpponentsFindSomething checks that ADMMBO stops about when its authors' did on this problem,
// close to the pocket, and that the bandit gradient method learns to keep the limit.
func TestOpponentsFindSomething(t *testing.T) {
	t.Parallel()
	reward, cost := 0.01, 0.0
	e := Experiment{Problem: "sine-pocket", Algorithm: "admmbo", Horizon: 140, Kernel: "matern52", Lambda: 0.01, NoiseVariance: &reward, CostNoise: &cost}
	run := curvesOf(t, e, 2)
	end := run.Points[139]
	if run.Points[119][0] != end[0] || run.Points[60][0] == end[0] {
		t.Error("ADMMBO plays its incumbent neither too early nor too late")
	}
	if g := instance(t, "sine-pocket", 1).CostsAt(1, end)[0]; g > 0.1 {
		t.Errorf("ADMMBO ends at %v, %v beyond the limit", end, g)
	}
	e = Experiment{Problem: "rate-allocation", Algorithm: "oco-bandit", Horizon: 2000, Settings: rawSettings(t, `{"step": 0.02}`)}
	run = curvesOf(t, e, 1)
	early, late := run.Values["balance"][99]/100, (run.Values["balance"][1999]-run.Values["balance"][1499])/500
	if early < 0.3 || late > 0.1 {
		t.Errorf("the gradient method passes the limit by %v a round at first, by %v in the end", early, late)
	}
}

func instance(t testing.TB, name string, seed uint64) *problems.Instance {
	t.Helper()
	return must.Get(Experiment{Problem: name}.instance(seed))(t)
}

// TestLambda: played with a prior of its own λ is 1, unless it is given.
func TestLambda(t *testing.T) {
	t.Parallel()
	for want, e := range map[float64]Experiment{1: {}, 0.3: {Lambda: 0.3}} {
		e.Problem, e.Algorithm, e.Readings, e.Prior = "sensors", "rpol-ucb", problems.SubstituteSensors(), problems.SubstituteSensors()
		in := must.Get(e.instance(1))(t)
		if cfg, err := e.config(in, 1); err != nil || cfg.Metrics[1].Lambda != want {
			t.Errorf("λ is not %v: %+v, %v", want, cfg, err)
		}
	}
}
