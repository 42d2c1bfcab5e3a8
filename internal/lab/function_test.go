package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func functionNamed(t testing.TB, name string) function {
	t.Helper()
	at := slices.IndexFunc(functions(), func(f function) bool { return f.Name() == name })
	if at < 0 {
		t.Fatalf("there is no %s", name)
	}
	return functions()[at]
}

// TestFunctionsTellTheTruth: at its own optimum each has its reward, its limits (published points
// are rounded), and a share of 1; its study passes the check with its own lab answering; and it is
// read with the noise that it declares.
func TestFunctionsTellTheTruth(t *testing.T) {
	t.Parallel()
	for _, l := range design.SimulatedLabs() {
		if _, err := l.Study().Check(); err != nil {
			t.Errorf("%s: %v", l.Name(), err)
			continue
		}
		f := functionNamed(t, l.Name())
		if !f.in.StandsStill() {
			continue
		}
		p := problem(t, l.Name())
		best := f.in.Optimum(1)
		at := f.settings(best.Point)
		truth, sd := p.truth(at), l.StdDev()
		for j, g := range f.in.CostsAt(1, best.Point) {
			if limit := f.in.Limits[j]; truth[limit] != g+p.Study.Constraints[j].Threshold {
				t.Errorf("%s: %s is %v, want %v beyond its limit", p.Name, limit, truth[limit], g)
			}
		}
		if reward := p.reward(truth); math.Abs(reward-best.Value) > 1e-6*math.Max(1, math.Abs(best.Value)) || math.Abs(p.Scale.Share(reward)-1) > 1e-6 {
			t.Errorf("%s: the optimum is %v, a share of %v, want %v", p.Name, reward, p.Scale.Share(reward), best.Value)
		}
		random, n := rand.New(rand.NewPCG(1, 2)), 400.0
		squares := map[string]float64{}
		for range int(n) {
			for metric, value := range l.Read(1, at, random) {
				squares[metric] += math.Pow(value.Value-truth[metric], 2) / n
			}
		}
		for metric, want := range sd {
			if got := math.Sqrt(squares[metric]); math.Abs(got-want) > 0.15*want {
				t.Errorf("%s: %s is read with a standard deviation of %v, declared %v", p.Name, metric, got, want)
			}
		}
	}
	if labs := design.SimulatedLabs(); len(labs) < 10 || labs[0].Name() != "reaction" {
		t.Errorf("%d simulated labs, want many, those with units first", len(labs))
	}
	p := problem(t, "gramacy")
	corner := p.truth(design.Settings{"x1": design.NumberValue(0), "x2": design.NumberValue(0)})
	if p.feasible(corner) || corner["wave"] != 1.5 {
		t.Errorf("the corner of gramacy is %v", corner)
	}
}

// TestFunctionsInUnits: the optimum of a problem with units lies on the limit of its study.
func TestFunctionsInUnits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]float64{"reaction": 2, "formulation": 250, "machine": 220} {
		p := problem(t, name)
		c := p.Study.Constraints[0]
		if got := p.truth(p.optimum)[c.Metric]; c.Threshold != limit || math.Abs(got-limit) > 1e-4*limit {
			t.Errorf("%s: at the optimum %v, limit %v", name, got, c.Threshold)
		}
	}
	sum := 0.0
	for _, v := range functionNamed(t, "formulation").settings([]float64{1, 3, 15}) {
		sum += v.Number
	}
	if sum != 100 {
		t.Errorf("a mixture adds up to %v %%", sum)
	}
}

// TestFunctionsKeepTheirSteps: what is drawn at the start is a setting that a study of the problem
// may have, on every axis.
func TestFunctionsKeepTheirSteps(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pressure-vessel", "speed-reducer"} {
		p := problem(t, name)
		d := p.Study
		d.Candidates = p.draw(50, rand.New(rand.NewPCG(1, 2)))
		if _, err := d.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	shell, teeth := problem(t, "pressure-vessel").Study.Parameters[0], problem(t, "speed-reducer").Study.Parameters[2]
	if shell.Step == nil || *shell.Step != 0.0625 || teeth.Type != design.Integer {
		t.Errorf("the shell's thickness is %+v, the teeth are %+v", shell, teeth)
	}
}

// TestFunctionsAnswerBeyondTheirBounds, where a study of wider ones, or one in which other settings
// were used, asks them.
func TestFunctionsAnswerBeyondTheirBounds(t *testing.T) {
	t.Parallel()
	for _, f := range functions() {
		for _, share := range []float64{-3, -0.1, 0.123, 1.1, 4} {
			at := f.settings(lists.Map(f.in.Axes, func(a problems.Axis) float64 { return a.Low + share*(a.High-a.Low) }))
			if read := f.Read(1, at, rand.New(rand.NewPCG(1, 2))); len(read) != len(f.metrics()) {
				t.Errorf("%s reads %v at %v", f.Name(), read, at)
			}
		}
	}
}

// answeredBy lets the lab of that name answer in a study of its own until it has answered so many
// trials, after those that were imported.
func answeredBy(t *testing.T, name string, count int, imported string) (*study.Service, *ledger.Snapshot) {
	t.Helper()
	l := must.Get(design.FindSimulatedLab(name))(t)
	service := study.NewService(new(memoryStore), study.Options{})
	t.Cleanup(service.Stop)
	d := l.Study()
	d.Seed = 5
	snap, err := service.Create(t.Context(), rehearsalCommand, d)
	if err == nil && imported != "" {
		_, err = service.ImportCSV(t.Context(), rehearsalCommand, snap.ID, strings.NewReader(imported), study.ImportOptions{})
	}
	for range count {
		if err == nil {
			_, err = service.SimulateOne(t.Context(), rehearsalCommand, l, snap.ID)
		}
	}
	if err == nil {
		snap, err = service.Snapshot(t.Context(), snap.ID, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return service, snap
}

// TestAMixtureOfAnotherTotalIsAnotherProblem, whose best settings the lab does not know.
func TestAMixtureOfAnotherTotalIsAnotherProblem(t *testing.T) {
	t.Parallel()
	l := must.Get(design.FindSimulatedLab("formulation"))(t)
	d := l.Study()
	if !d.IsProblemOf(l) {
		t.Fatal("its own study is another problem")
	}
	for i, p := range d.Parameters {
		if p.Type == design.Remainder {
			d.Parameters[i].Total = new(*p.Total - 1)
		}
	}
	if d.IsProblemOf(l) {
		t.Error("one per cent less is the same problem")
	}
}

// TestSimulatedLabLeavesOutWhatIsExcluded: that need not be run.
func TestSimulatedLabLeavesOutWhatIsExcluded(t *testing.T) {
	t.Parallel()
	service, snap := answeredBy(t, "branin", 1, "")
	after, asked, err := service.Ask(t.Context(), rehearsalCommand, snap.ID, study.Ask{})
	if err == nil {
		_, err = service.Close(t.Context(), rehearsalCommand, snap.ID, ledger.Excluded, ledger.ClosedData{Number: asked[0], Reason: "leak"})
	}
	must.Do(t, err)
	l := must.Get(design.FindSimulatedLab("branin"))(t)
	if number := must.Get(service.SimulateOne(t.Context(), rehearsalCommand, l, after.ID))(t); number != asked[0]+1 {
		t.Errorf("trial %d is answered, want %d", number, asked[0]+1)
	}
}

// TestSimulatedLabIsLate: every reading is told after as many further trials as it is late, and
// what is not told yet is due later.
func TestSimulatedLabIsLate(t *testing.T) {
	t.Parallel()
	l := functionNamed(t, "sine-pocket-delayed")
	_, snap := answeredBy(t, l.Name(), 4, "")
	told, completed := 0, 0
	for _, trial := range snap.Trials {
		if trial.Status == ledger.StatusCompleted {
			completed++
		}
		random := rand.New(rand.NewPCG(snap.Definition.Seed, uint64(trial.Number)))
		for metric, reading := range l.Read(trial.Number, trial.Parameters, random) {
			m, there := trial.Metrics[metric]
			begun := len(snap.Trials)
			if there {
				told++
				begun = 0
				for _, other := range snap.Trials {
					if other.ChosenSeq < m.ToldSeq {
						begun++
					}
				}
			}
			if late := begun - trial.Number; there && late != reading.Late || !there && late > reading.Late {
				t.Errorf("%s of trial %d: %d trials were begun since, told: %v, and it is %d late", metric, trial.Number, late, there, reading.Late)
			}
		}
	}
	if completed != 4 || told < 8 || len(snap.Trials) < 12 {
		t.Errorf("%d trials are answered and %d readings told, of %d trials; want 4 answered while a dozen or more wait", completed, told, len(snap.Trials))
	}
}

// TestSimulatedLabDrifts: a trial is read by what is true at its number.
func TestSimulatedLabDrifts(t *testing.T) {
	t.Parallel()
	l := functionNamed(t, "sine-pocket-drift")
	_, snap := answeredBy(t, l.Name(), 1, "x1,x2,reward,g\n"+strings.Repeat("1,1,0,0\n", 100))
	last := snap.Trials[100]
	now, before := l.Truth(101, last.Parameters), l.Truth(1, last.Parameters)
	for metric, reading := range l.Read(101, last.Parameters, rand.New(rand.NewPCG(snap.Definition.Seed, 101))) {
		if read := last.Metrics[metric].Value; math.Abs(read-reading.Value) > 0.01 || math.Abs(now[metric]-before[metric]) < 0.1 {
			t.Errorf("%s of trial 101 at %v is read as %v, want %v; the truth is %v, and was %v", metric, last.Parameters, read, reading.Value, now[metric], before[metric])
		}
		if noise := reading.Value - now[metric]; math.Abs(noise) > 4*l.StdDev()[metric] {
			t.Errorf("%s of trial 101 carries a noise of %v", metric, noise)
		}
	}
	if a, b := l.Best(100), l.Best(101); a.Equal(b) || l.Truth(101, b)["reward"] < 0.67 {
		t.Errorf("the best are %v and then %v", a, b)
	}
}

// TestSimulatedLabBringsArrivals: the lab asks with the arrivals, from which the queue follows,
// reads the reward alone, and another algorithm can be asked on them.
func TestSimulatedLabBringsArrivals(t *testing.T) {
	t.Parallel()
	service, snap := answeredBy(t, "queue", 6, "")
	seen := map[float64]bool{}
	for _, trial := range snap.Trials {
		jobs, there := trial.Context["arrivals"]
		seen[jobs] = true
		if want := jobs - 3*trial.Parameters["node1"].Number - 2*trial.Parameters["node2"].Number; !there || math.Abs(trial.Metrics["queue"].Value-want) > 1e-9 {
			t.Errorf("trial %d with %v has a queue of %v, want %v", trial.Number, trial.Context, trial.Metrics["queue"].Value, want)
		}
		if _, told := trial.Metrics["reward"]; !told {
			t.Errorf("trial %d has no reward", trial.Number)
		}
	}
	if len(snap.Trials) != 6 || len(seen) < 2 {
		t.Errorf("%d trials with the arrivals %v, want 6 with different ones", len(snap.Trials), seen)
	}
	choices, err := service.Compare(t.Context(), snap, []design.Algorithm{{Name: "rpol-ucb"}})
	if err != nil || choices[0].Parameters == nil {
		t.Errorf("another algorithm chooses %+v, %v", choices, err)
	}
}

// TestSimulatedLabMustFit: a study needs the parameters and metrics of the lab that is to answer in
// it.
func TestSimulatedLabMustFit(t *testing.T) {
	t.Parallel()
	l := must.Get(design.FindSimulatedLab("reaction"))(t)
	for name, spoil := range map[string]func(*design.Definition){
		"needs the parameter time, the metric yield": func(d *design.Definition) { d.Parameters[1].Name, d.Objective.Metric = "duration", "amount" },
		"no simulated lab has a problem":             func(d *design.Definition) { d.SimulatedLab = "moonshot" },
		"the context arrivals":                       func(d *design.Definition) { d.SimulatedLab = "queue" },
		"headroom simulate":                          func(d *design.Definition) { d.SimulatedLab = "sensors" },
	} {
		d := l.Study()
		spoil(&d)
		if _, err := d.Check(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "simulated_lab") {
			t.Errorf("want a fault of simulated_lab with %q, got %v", name, err)
		}
	}
}
