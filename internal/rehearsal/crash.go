package rehearsal

import (
	"math"
	"math/rand/v2"

	"headroom/internal/study/design"
)

const (
	crashName    = "made-crash"
	crashSummary = "three numbers, no limit; whatever lies beyond x + z > 1.2 fails, and the best lies at that edge"
	crashWhere   = "x + z > 1.2"
)

// newCrash is a yield that rises towards a region where every trial fails,
//
//	20 + 40(x + z) − 30(y − 0.4)² − 20(x − z − 0.2)²  on the unit cube,
//
// of which the best that works, 68, lies at the region's edge: (0.7, 0.4, 0.5).
func newCrash() (*Problem, error) {
	at := func(x, y, z float64) design.Settings {
		return design.Settings{"x": design.NumberValue(x), "y": design.NumberValue(y), "z": design.NumberValue(z)}
	}
	truth := func(s design.Settings, _ *int) Values {
		x, y, z := s["x"].Number, s["y"].Number, s["z"].Number
		return Values{"yield": 20 + 40*(x+z) - 30*math.Pow(y-0.4, 2) - 20*math.Pow(x-z-0.2, 2)}
	}
	p := &Problem{
		Name: crashName, fingerprint: crashName, truth: truth, optimum: at(0.7, 0.4, 0.5),
		Study: design.Definition{Name: crashName, Objective: design.Objective{Metric: "yield", Direction: "maximize"},
			Parameters: []design.Parameter{numeric("x", 0, 1), numeric("y", 0, 1), numeric("z", 0, 1)}},
		read: func(s design.Settings, _ *int, _ *rand.Rand) Values { return truth(s, nil) },
		own:  func(design.Settings, *int) Values { return Values{} },
		draw: func(count int, random *rand.Rand) []design.Settings {
			list := make([]design.Settings, count)
			for i := range list {
				list[i] = at(random.Float64(), random.Float64(), random.Float64())
			}
			return list
		},
	}
	var truths []Values
	for _, s := range p.draw(sampled, rand.New(rand.NewPCG(1, 0))) {
		truths = append(truths, truth(s, nil))
	}
	if err := p.complete(truths, p.reward(truth(p.optimum, nil))); err != nil {
		return nil, err
	}
	return p.Failing(crashWhere)
}
