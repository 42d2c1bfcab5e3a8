package rehearsal

import (
	"fmt"
	"math"
	"math/rand/v2"

	"headroom/internal/optimizer/problems"
	"headroom/internal/study/design"
)

// rewardName is the objective's metric of a simulator's problem; a limit's metric has the limit's name.
const rewardName = "reward"

// sampled is how many random settings stand for a continuous space when its scale is worked out.
const sampled = 4096

// NewFunction makes a problem of one of the simulator's. Readings carry its own noise.
func NewFunction(name string) (*Problem, error) {
	found, err := problems.Find(name)
	if err != nil {
		return nil, err
	}
	in, err := found.New(1, nil)
	if err != nil {
		return nil, err
	}
	if in.Sample != nil || in.Delay > 0 || in.Matrix != nil || len(in.Optima) > 1 {
		return nil, fmt.Errorf("%s changes over the rounds, delays its readings or brings a prior of its own, which a study in a lab does not have; play it with headroom simulate", name)
	}
	f := function{in}
	p := &Problem{
		Name: name, Study: f.definition(name), fingerprint: "simulator " + name,
		truth: func(at design.Settings, _ *int) Values { return f.truth(at) },
		read:  func(at design.Settings, _ *int, random *rand.Rand) Values { return f.read(at, random) },
	}
	p.draw = f.draw
	if in.Arms != nil {
		p.draw = func(count int, random *rand.Rand) []design.Settings { return drawn(p.Study.Candidates, count, random) }
	}
	truths := make([]Values, 0, sampled)
	for _, at := range p.draw(sampled, rand.New(rand.NewPCG(1, 0))) {
		truths = append(truths, f.truth(at))
	}
	return p, p.complete(truths, in.Optimum(1).Value)
}

type function struct{ in *problems.Instance }

func (f function) definition(name string) design.Definition {
	d := design.Definition{Name: name, Objective: design.Objective{Metric: rewardName, Direction: "maximize"}}
	for _, a := range f.in.Axes {
		p := design.Parameter{Name: a.Name, Type: design.Real, Low: &a.Low, High: &a.High}
		switch {
		case a.Step == 1 && a.Low == math.Trunc(a.Low):
			p.Type = design.Integer
		case a.Step > 0:
			p.Step = &a.Step
		}
		d.Parameters = append(d.Parameters, p)
	}
	for _, x := range f.in.Arms {
		d.Candidates = append(d.Candidates, f.settings(x))
	}
	for _, limit := range f.in.Limits {
		d.Constraints = append(d.Constraints, design.Constraint{Metric: limit, Op: "<=", Threshold: 0})
	}
	return d
}

func (f function) settings(x []float64) design.Settings {
	s := design.Settings{}
	for i, a := range f.in.Axes {
		s[a.Name] = design.NumberValue(x[i])
	}
	return s
}

func (f function) point(at design.Settings) []float64 {
	x := make([]float64, len(f.in.Axes))
	for i, a := range f.in.Axes {
		x[i] = at[a.Name].Number
	}
	return x
}

func (f function) truth(at design.Settings) Values {
	x := f.point(at)
	g := make([]float64, len(f.in.Limits))
	f.in.Costs(1, x, g)
	v := Values{rewardName: f.in.Reward(1, x)}
	for j, name := range f.in.Limits {
		v[name] = g[j]
	}
	return v
}

func (f function) read(at design.Settings, random *rand.Rand) Values {
	x, v := f.point(at), f.truth(at)
	v[rewardName] += f.in.Noise[0].Draw(random, x)
	for j, name := range f.in.Limits {
		v[name] += f.in.Noise[j+1].Draw(random, x)
	}
	return v
}

// draw takes settings uniformly, on their steps.
func (f function) draw(count int, random *rand.Rand) []design.Settings {
	list := make([]design.Settings, count)
	for i := range list {
		x := make([]float64, len(f.in.Axes))
		for k, a := range f.in.Axes {
			if a.Step > 0 {
				x[k] = a.Low + a.Step*float64(random.IntN(int(math.Round((a.High-a.Low)/a.Step))+1))
			} else {
				x[k] = a.Low + (a.High-a.Low)*random.Float64()
			}
		}
		list[i] = f.settings(x)
	}
	return list
}
