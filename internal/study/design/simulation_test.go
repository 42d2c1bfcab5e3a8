package design

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Every simulation is a study that passes its check, whose own lab fits it, and reads its truth with the noise that it declares.
func TestSimulationsAreStudies(t *testing.T) {
	t.Parallel()
	start := time.Now()
	list := Simulations()
	t.Logf("%d simulations settled in %v", len(list), time.Since(start))
	for _, s := range list {
		d := s.Definition()
		d.SimulatedLab = s.Problem.Name
		if _, err := d.Check(); err != nil {
			t.Errorf("%s: %v", s.Problem.Name, err)
			continue
		}
		at := s.Settings(s.Instance().Optimum(1).Point)
		truth, sd := s.Truth(at), s.StdDev()
		random := rand.New(rand.NewPCG(1, 2))
		const n = 400
		squares := map[string]float64{}
		for range n {
			for metric, value := range s.Read(at, random) {
				squares[metric] += (value - truth[metric]) * (value - truth[metric]) / n
			}
		}
		for metric, want := range sd {
			if got := math.Sqrt(squares[metric]); math.Abs(got-want) > 0.15*want {
				t.Errorf("%s: %s is read with a standard deviation of %v, declared %v", s.Problem.Name, metric, got, want)
			}
		}
	}
	if len(list) < 10 {
		t.Errorf("only %d simulations", len(list))
	}
}

// The optimum of a problem with units keeps the limit of its study, and lies on it.
func TestSimulationsInUnits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]float64{"reaction": 2, "formulation": 250, "machine": 220} {
		s, err := NewSimulation(name)
		if err != nil {
			t.Fatal(err)
		}
		d := s.Definition()
		c := d.Constraints[0]
		best := s.Instance().Optimum(1)
		truth := s.Truth(s.Settings(best.Point))
		if c.Threshold != limit || math.Abs(truth[c.Metric]-limit) > 1e-4*limit || math.Abs(truth[d.Objective.Metric]-best.Value) > 1e-6*best.Value {
			t.Errorf("%s: at the optimum %v, limit %v", name, truth, c.Threshold)
		}
	}
	mixture, err := NewSimulation("formulation")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, v := range mixture.Settings([]float64{1, 3, 15}) {
		sum += v.Number
	}
	if sum != 100 {
		t.Errorf("a mixture adds up to %v %%", sum)
	}
}

func TestSimulatedLabMustFit(t *testing.T) {
	t.Parallel()
	s, err := NewSimulation("reaction")
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Definition){
		"needs the parameter time, the metric yield": func(d *Definition) { d.Parameters[1].Name, d.Objective.Metric = "duration", "amount" },
		"there is no problem":                        func(d *Definition) { d.SimulatedLab = "moonshot" },
		"headroom simulate":                          func(d *Definition) { d.SimulatedLab = "queue" },
	} {
		d := s.Definition()
		d.SimulatedLab = "reaction"
		spoil(&d)
		if _, err := d.Check(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "simulated_lab") {
			t.Errorf("want a fault of simulated_lab with %q, got %v", name, err)
		}
	}
}
