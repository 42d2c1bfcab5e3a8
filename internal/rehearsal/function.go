package rehearsal

import (
	"math"
	"math/rand/v2"

	"headroom/internal/study/design"
)

// sampled is how many random settings stand for a continuous space when its scale is worked out.
const sampled = 4096

// NewFunction makes a problem of one of the simulator's. Readings carry its own noise.
func NewFunction(name string) (*Problem, error) {
	found, err := design.NewSimulation(name)
	if err != nil {
		return nil, err
	}
	f := function{found}
	p := &Problem{
		Name: name, Study: found.Definition(), fingerprint: "simulator " + name,
		truth: func(at design.Settings, _ *int) Values { return found.Truth(at) },
		read:  func(at design.Settings, _ *int, random *rand.Rand) Values { return found.Read(at, random) },
		own:   func(design.Settings, *int) Values { return found.StdDev() },
	}
	p.Study.Name = name
	best := found.Instance().Optimum(1)
	p.draw, p.optimum = f.draw, found.Settings(best.Point)
	if found.Instance().Arms != nil {
		p.optimum = nil
		p.draw = func(count int, random *rand.Rand) []design.Settings { return drawn(p.Study.Candidates, count, random) }
	}
	truths := make([]Values, 0, sampled)
	for _, at := range p.draw(sampled, rand.New(rand.NewPCG(1, 0))) {
		truths = append(truths, found.Truth(at))
	}
	return p, p.complete(truths, best.Value)
}

type function struct{ design.Simulation }

// draw takes settings uniformly, on their steps.
func (f function) draw(count int, random *rand.Rand) []design.Settings {
	axes := f.Instance().Axes
	list := make([]design.Settings, count)
	for i := range list {
		x := make([]float64, len(axes))
		for k, a := range axes {
			if a.Step > 0 {
				x[k] = a.Low + a.Step*float64(random.IntN(int(math.Round((a.High-a.Low)/a.Step))+1))
			} else {
				x[k] = a.Low + (a.High-a.Low)*random.Float64()
			}
		}
		list[i] = f.Settings(x)
	}
	return list
}
