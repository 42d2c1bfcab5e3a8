package lab

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/study/design"
)

// function is a problem with a known optimum in the terms of a study: a design.SimulatedLab.
type function struct {
	problem problems.Problem
	in      *problems.Instance
	words   problems.Laboratory
}

// newFunction returns an instance with its names and units, or with plain ones if it has none.
func newFunction(p problems.Problem, in *problems.Instance) function {
	if in.Lab != nil {
		return function{p, in, *in.Lab}
	}
	return function{p, in, problems.Laboratory{Title: p.Name, Objective: rewardName, AxisUnits: make([]string, len(in.Axes)),
		LimitUnits: make([]string, len(in.Limits)), Levels: make([]float64, len(in.Limits))}}
}

// functions are the problems without a prior of their own. They are made once, since some are drawn
// or search for their best arm.
var functions = sync.OnceValue(func() []function {
	var list []function
	for _, p := range problems.Menu() {
		if in, err := p.New(1, nil, nil); err == nil && in.Matrix == nil {
			list = append(list, newFunction(p, in))
		}
	}
	return list
})

func init() {
	labs := func(named bool) []design.SimulatedLab {
		return lists.Pick(functions(), func(f function) (design.SimulatedLab, bool) { return f, (f.in.Lab != nil) == named })
	}
	design.ProvideSimulatedLabs(sync.OnceValue(func() []design.SimulatedLab { return append(labs(true), labs(false)...) }))
}

// Name returns the problem's name.
func (f function) Name() string { return f.problem.Name }

// Summary says what the problem tests.
func (f function) Summary() string { return f.problem.Summary }

// Study returns the definition with the simulated lab, the usual number of rounds, and the
// algorithm that suits the problem.
func (f function) Study() design.Definition {
	d := f.definition()
	d.SimulatedLab, d.Algorithm.Horizon = f.problem.Name, f.problem.Horizon
	switch {
	case f.in.Given != nil:
		d.Algorithm.Name = "scgp-ucb"
	case len(f.in.Optima) > 1:
		d.Algorithm.Name, d.Algorithm.Settings = "rpol-sw-ucb", map[string]json.RawMessage{"window": json.RawMessage(strconv.Itoa(f.problem.Horizon / 10))}
	case f.in.Delay > 0:
		d.Algorithm.Name = "rpol-ucb"
	}
	return d
}

// definition returns what a lab would write down of the problem, without algorithm, model and seed.
func (f function) definition() design.Definition {
	d := design.Definition{Name: f.words.Title, Objective: design.Objective{Metric: f.words.Objective, Unit: f.words.Unit, Direction: "maximize"}}
	var names []string
	least, most := 100.0, 100.0 // range of the remainder of a mixture
	for i, a := range f.in.Axes {
		p := design.Parameter{Name: a.Name, Type: design.Real, Low: &a.Low, High: &a.High, Unit: f.words.AxisUnits[i]}
		switch {
		case a.Step == 1 && a.Low == math.Trunc(a.Low):
			p.Type = design.Integer
		case a.Step > 0:
			p.Step = &a.Step
		}
		d.Parameters, names = append(d.Parameters, p), append(names, a.Name)
		least, most = least-a.High, most-a.Low
	}
	if f.words.Remainder != "" {
		d.Parameters = append(d.Parameters, design.Parameter{Name: f.words.Remainder, Type: design.Remainder, Total: new(100.0), Of: names, Low: &least, High: &most, Unit: "%"})
	}
	for _, x := range f.in.Arms {
		d.Candidates = append(d.Candidates, f.settings(x))
	}
	for j, limit := range f.in.Limits {
		c := design.Constraint{Metric: limit, Op: "<=", Threshold: f.words.Levels[j], Unit: f.words.LimitUnits[j]}
		if f.in.Given != nil {
			c.Expression, c.Context = f.in.Given.Forms[j], []string{f.in.Given.Number}
		}
		d.Constraints = append(d.Constraints, c)
	}
	return d
}

func (f function) settings(x []float64) design.Settings {
	at, left := design.Settings{}, 100.0
	for i, a := range f.in.Axes {
		at[a.Name] = design.NumberValue(x[i])
		left -= x[i]
	}
	if f.words.Remainder != "" {
		at[f.words.Remainder] = design.NumberValue(left)
	}
	return at
}

func (f function) point(at design.Settings) []float64 {
	return lists.Map(f.in.Axes, func(a problems.Axis) float64 { return at[a.Name].Number })
}

// metrics returns the metrics that are read, the objective's and the limits', in the order of the
// problem's noise.
func (f function) metrics() []string {
	if f.in.Given != nil {
		return []string{f.words.Objective}
	}
	return append([]string{f.words.Objective}, f.in.Limits...)
}

// Truth returns every metric's value at settings in a trial, without noise.
func (f function) Truth(number int, at design.Settings) map[string]float64 {
	x := f.point(at)
	truth := Values{f.words.Objective: f.in.Reward(number, x)}
	for j, g := range f.in.CostsAt(number, x) {
		truth[f.in.Limits[j]] = g + f.words.Levels[j]
	}
	return truth
}

// Best returns the best settings within the limits.
func (f function) Best(number int) design.Settings { return f.settings(f.in.Optimum(number).Point) }

// Read returns a reading of every metric that is read, and how late each comes.
func (f function) Read(number int, at design.Settings, random *rand.Rand) map[string]design.SimulatedReading {
	truth, x, read := f.Truth(number, at), f.point(at), map[string]design.SimulatedReading{}
	for k, name := range f.metrics() {
		reading := design.SimulatedReading{Value: truth[name] + f.in.Noise[k].Draw(random, x)}
		if f.in.Delay > 0 {
			reading.Late = problems.Poisson(random, f.in.Delay)
		}
		read[name] = reading
	}
	return read
}

// Brings returns the number from which the limits of a trial follow, if they are known before it.
func (f function) Brings(random *rand.Rand) design.Brought {
	if f.in.Given == nil {
		return design.Brought{}
	}
	return design.Brought{Context: map[string]float64{f.in.Given.Number: f.in.Given.Draw(random)}}
}

// StdDev returns the standard deviation of a reading of each metric, as the problem declares it.
func (f function) StdDev() map[string]float64 {
	sd := map[string]float64{}
	for k, name := range f.metrics() {
		sd[name] = math.Sqrt(f.in.Noise[k].Variance)
	}
	return sd
}

// draw returns uniform random settings on their steps; of arms, different ones.
func (f function) draw(count int, random *rand.Rand) []design.Settings {
	if f.in.Arms != nil {
		return drawDifferent(f.definition().Candidates, count, random)
	}
	list := make([]design.Settings, count)
	for i := range list {
		x := make([]float64, len(f.in.Axes))
		for k, a := range f.in.Axes {
			if a.Step > 0 {
				x[k] = a.Low + a.Step*float64(random.IntN(a.Levels()))
			} else {
				x[k] = a.Low + (a.High-a.Low)*random.Float64()
			}
		}
		list[i] = f.settings(x)
	}
	return list
}

// asProblem returns the problem to rehearse, whose readings carry its own noise.
func (f function) asProblem() (*Problem, error) {
	best := f.in.Optimum(1)
	p := &Problem{
		Name: f.Name(), Study: f.definition(), fingerprint: "simulator " + f.Name(), draw: f.draw,
		truth: func(at design.Settings) Values { return f.Truth(1, at) },
		read: func(at design.Settings, random *rand.Rand) Values {
			read := Values{}
			for name, reading := range f.Read(1, at, random) {
				read[name] = reading.Value
			}
			return read
		},
		own: func(design.Settings) Values { return f.StdDev() },
	}
	p.Study.Name = f.Name()
	if f.in.Arms == nil {
		p.optimum = f.settings(best.Point)
	}
	return p.complete(p.sample(), best.Value)
}
