package design

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"headroom/internal/optimizer/problems"
)

// Simulation is a problem of the simulator in the words of a study: a laboratory that answers by itself.
type Simulation struct {
	Problem problems.Problem
	in      *problems.Instance
}

// simulatedReward is the objective's metric of a problem that has no name for it; a limit's metric has the limit's name.
const simulatedReward = "reward"

// simulations are settled once: some are drawn, or look for their best arm.
var simulations = sync.OnceValue(func() []Simulation {
	var list []Simulation
	for _, p := range problems.Menu() {
		if in, err := p.New(1, nil, nil); err == nil && in.StandsStill() {
			list = append(list, Simulation{p, in})
		}
	}
	return list
})

// Simulations lists every problem of the simulator that a laboratory could have.
func Simulations() []Simulation { return simulations() }

// NewSimulation finds the simulation of the problem of that name.
func NewSimulation(name string) (Simulation, error) {
	var names []string
	for _, s := range Simulations() {
		if s.Problem.Name == name {
			return s, nil
		}
		names = append(names, s.Problem.Name)
	}
	if _, err := problems.Find(name); err == nil {
		return Simulation{}, fmt.Errorf("%s changes over the rounds, delays its readings or brings a prior of its own, which a study in a lab does not have; play it with headroom simulate", name)
	}
	return Simulation{}, fmt.Errorf("there is no problem %q; there are %s", name, strings.Join(names, ", "))
}

// Title is the problem's name where people read it.
func (s Simulation) Title() string {
	if s.in.Lab != nil {
		return s.in.Lab.Title
	}
	return s.Problem.Name
}

// Instance is what is behind it.
func (s Simulation) Instance() *problems.Instance { return s.in }

// Definition is what a lab would write down of the problem, without algorithm, model and seed.
func (s Simulation) Definition() Definition {
	d := Definition{Name: s.Title(), Objective: Objective{Metric: s.objective(), Direction: "maximize"}}
	var names []string
	left := [2]float64{100, 100} // the least and the most that the axes leave of a mixture
	for i, a := range s.in.Axes {
		p := Parameter{Name: a.Name, Type: Real, Low: &a.Low, High: &a.High}
		switch {
		case a.Step == 1 && a.Low == math.Trunc(a.Low):
			p.Type = Integer
		case a.Step > 0:
			p.Step = &a.Step
		}
		if s.in.Lab != nil {
			p.Unit = s.in.Lab.AxisUnits[i]
		}
		d.Parameters = append(d.Parameters, p)
		names = append(names, a.Name)
		left[0], left[1] = left[0]-a.High, left[1]-a.Low
	}
	for _, x := range s.in.Arms {
		d.Candidates = append(d.Candidates, s.Settings(x))
	}
	for _, limit := range s.in.Limits {
		d.Constraints = append(d.Constraints, Constraint{Metric: limit, Op: "<="})
	}
	if lab := s.in.Lab; lab != nil {
		d.Objective.Unit = lab.Unit
		for j := range d.Constraints {
			d.Constraints[j].Threshold, d.Constraints[j].Unit = lab.Levels[j], lab.LimitUnits[j]
		}
		if lab.Remainder != "" {
			total := 100.0
			d.Parameters = append(d.Parameters, Parameter{Name: lab.Remainder, Type: Remainder, Total: &total, Of: names, Low: &left[0], High: &left[1], Unit: "%"})
		}
	}
	return d
}

func (s Simulation) objective() string {
	if s.in.Lab != nil {
		return s.in.Lab.Objective
	}
	return simulatedReward
}

// Settings are the parameters at a point of the problem.
func (s Simulation) Settings(x []float64) Settings {
	at, left := Settings{}, 100.0
	for i, a := range s.in.Axes {
		at[a.Name] = NumberValue(x[i])
		left -= x[i]
	}
	if s.in.Lab != nil && s.in.Lab.Remainder != "" {
		at[s.in.Lab.Remainder] = NumberValue(left)
	}
	return at
}

func (s Simulation) point(at Settings) []float64 {
	x := make([]float64, len(s.in.Axes))
	for i, a := range s.in.Axes {
		x[i] = at[a.Name].Number
	}
	return x
}

// metrics are the objective's metric and the limits', in the order of the problem's noise.
func (s Simulation) metrics() []string {
	return append([]string{s.objective()}, s.in.Limits...)
}

// Truth is every metric's value at the settings, without noise.
func (s Simulation) Truth(at Settings) map[string]float64 {
	x := s.point(at)
	g := make([]float64, len(s.in.Limits))
	s.in.Costs(1, x, g)
	truth := map[string]float64{s.objective(): s.in.Reward(1, x)}
	for j, name := range s.in.Limits {
		truth[name] = g[j]
		if s.in.Lab != nil {
			truth[name] += s.in.Lab.Levels[j]
		}
	}
	return truth
}

// Read is a reading of every metric at the settings.
func (s Simulation) Read(at Settings, random *rand.Rand) map[string]float64 {
	read, x := s.Truth(at), s.point(at)
	for k, name := range s.metrics() {
		read[name] += s.in.Noise[k].Draw(random, x)
	}
	return read
}

// StdDev is the standard deviation of a reading of each metric, as the problem declares it.
func (s Simulation) StdDev() map[string]float64 {
	sd := map[string]float64{}
	for k, name := range s.metrics() {
		sd[name] = math.Sqrt(s.in.Noise[k].Variance)
	}
	return sd
}

// Fits tells what a study lacks for the simulation to answer in it, "" for nothing.
func (s Simulation) Fits(d Definition) string {
	var lacks []string
	for _, a := range s.in.Axes {
		if !slices.ContainsFunc(d.Parameters, func(p Parameter) bool { return p.Name == a.Name && p.Type != Categorical }) {
			lacks = append(lacks, "the parameter "+a.Name)
		}
	}
	names := d.MetricNames()
	for _, metric := range s.metrics() {
		if !slices.Contains(names, metric) {
			lacks = append(lacks, "the metric "+metric)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return "the simulated lab " + s.Problem.Name + " needs " + strings.Join(lacks, ", ")
}

// simulatedLab checks that the simulated lab, if there is one, could answer.
func (c *checker) simulatedLab() {
	if c.d.SimulatedLab == "" {
		return
	}
	s, err := NewSimulation(c.d.SimulatedLab)
	if err != nil {
		c.faults.Add("simulated_lab", c.d.SimulatedLab, "%s", err)
		return
	}
	if lacks := s.Fits(c.d); lacks != "" {
		c.faults.Add("simulated_lab", c.d.SimulatedLab, "%s", lacks)
	}
}
