package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headroom/internal/study/design"
)

func functionNamed(t testing.TB, name string) function {
	t.Helper()
	at := slices.IndexFunc(functions(), func(f function) bool { return f.Name() == name })
	if at < 0 {
		t.Fatalf("there is no %s", name)
	}
	return functions()[at]
}

// TestFunctionsTellTheTruth: at its own optimum each has its reward, its limits (published points are rounded), and a share of 1; its study passes the
// check with its own lab answering; and it is read with the noise that it declares.
func TestFunctionsTellTheTruth(t *testing.T) {
	t.Parallel()
	for _, l := range design.SimulatedLabs() {
		if _, err := l.Study().Check(); err != nil {
			t.Errorf("%s: %v", l.Name(), err)
			continue
		}
		f, p := functionNamed(t, l.Name()), problem(t, l.Name())
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
			for metric, value := range l.Read(at, random) {
				squares[metric] += math.Pow(value-truth[metric], 2) / n
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

// TestFunctionsKeepTheirSteps: what is drawn at the start is a setting that a study of the problem may have, on every axis.
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

// TestSimulatedLabMustFit: a study needs the parameters and metrics of the lab that is to answer in it.
func TestSimulatedLabMustFit(t *testing.T) {
	t.Parallel()
	l, err := design.FindSimulatedLab("reaction")
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*design.Definition){
		"needs the parameter time, the metric yield": func(d *design.Definition) { d.Parameters[1].Name, d.Objective.Metric = "duration", "amount" },
		"there is no problem":                        func(d *design.Definition) { d.SimulatedLab = "moonshot" },
		"headroom simulate":                          func(d *design.Definition) { d.SimulatedLab = "queue" },
	} {
		d := l.Study()
		spoil(&d)
		if _, err := d.Check(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "simulated_lab") {
			t.Errorf("want a fault of simulated_lab with %q, got %v", name, err)
		}
	}
}
