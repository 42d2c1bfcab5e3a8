package rehearsal

import (
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/problems"
	"headroom/internal/study/design"
)

// TestFunctionsTellTheTruth at the simulator's own optimum: its reward, its limits (published points are rounded), and a share of 1.
func TestFunctionsTellTheTruth(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"branin", "gardner-1", "gramacy", "pressure-vessel", "speed-reducer", "tension-spring", "welded-beam", "rkhs-100-half"} {
		p := problem(t, name)
		found, err := problems.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		in, err := found.New(1, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		best := in.Optimum(1)
		at := simulation(t, name).Settings(best.Point)
		truth := p.truth(at, nil)
		g := make([]float64, len(in.Limits))
		in.Costs(1, best.Point, g)
		for j, limit := range in.Limits {
			if truth[limit] != g[j] {
				t.Errorf("%s: %s is %v, want %v", name, limit, truth[limit], g[j])
			}
		}
		if math.Abs(truth["reward"]-best.Value) > 1e-6*math.Max(1, math.Abs(best.Value)) || math.Abs(p.Scale.Share(truth["reward"])-1) > 1e-6 {
			t.Errorf("%s: the optimum is %v, a share of %v, want %v", name, truth["reward"], p.Scale.Share(truth["reward"]), best.Value)
		}
	}
	p := problem(t, "gramacy")
	corner := p.truth(design.Settings{"x1": design.NumberValue(0), "x2": design.NumberValue(0)}, nil)
	if p.feasible(corner) || corner["wave"] != 1.5 {
		t.Errorf("the corner of gramacy is %v", corner)
	}
}

func simulation(t *testing.T, name string) design.Simulation {
	t.Helper()
	s, err := design.NewSimulation(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
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

// TestFunctionsBringTheirNoise: sine-pocket's readings have variance 0.05.
func TestFunctionsBringTheirNoise(t *testing.T) {
	t.Parallel()
	p := problem(t, "sine-pocket")
	at := p.draw(1, rand.New(rand.NewPCG(3, 0)))[0]
	truth := p.truth(at, nil)
	for _, metric := range p.metrics {
		square, n := 0.0, 3000.0
		for seed := range uint64(n) {
			d := p.reading(at, nil, 0, Noise{Kind: OwnNoise}, seed)[metric] - truth[metric]
			square += d * d
		}
		if math.Abs(square/n/0.05-1) > 0.15 {
			t.Errorf("%s is read with variance %v, want 0.05", metric, square/n)
		}
	}
}
