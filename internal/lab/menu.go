package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"headroom/internal/lab/problems"
	"headroom/internal/study"
)

// Listed is a problem that needs no file.
type Listed struct {
	Name, Summary string
	make          func() (*Problem, error)
}

// Menu lists the made-up tables, and the problems that a laboratory could have.
func Menu() []Listed {
	var list []Listed
	for _, k := range tableKinds {
		list = append(list, Listed{k.name, k.summary, func() (*Problem, error) { return k.make(k.name, 1) }})
	}
	list = append(list, Listed{crash.Name(), crash.Summary(), newCrash},
		Listed{demoName, "the demo study as a newcomer makes it, with what slips in its simulated lab; seed 7 is the very one", newDemo})
	for _, f := range functions() {
		if f.in.StandsStill() {
			list = append(list, Listed{f.Name(), f.Summary(), f.asProblem})
		}
	}
	return list
}

// Find returns the problem of that name. The name of a made-up table may be followed by the number
// of its draw, as in made-mixed-7.
func Find(name string) (*Problem, error) {
	var names []string
	for _, l := range Menu() {
		if l.Name == name {
			return l.make()
		}
		names = append(names, l.Name)
	}
	for _, k := range tableKinds {
		if number, drawn := strings.CutPrefix(name, k.name+"-"); drawn {
			if draw, err := strconv.ParseUint(number, 10, 32); err == nil {
				return k.make(name, draw)
			}
		}
	}
	if _, err := problems.Find(name); err == nil {
		return nil, fmt.Errorf("%s changes over the rounds, delays its readings or brings a prior of its own, which a rehearsal does not; play it with headroom simulate, or let it answer in a study as a simulated lab", name)
	}
	return nil, fmt.Errorf("there is no problem %q; there are %s", name, strings.Join(names, ", "))
}

// crash is a yield that rises towards a region where every trial fails,
//
//	20 + 40(x + z) − 30(y − 0.4)² − 20(x − z − 0.2)²  on the unit cube,
//
// of which the best that works, 68, lies at the region's edge: (0.7, 0.4, 0.5).
var crash = func() function {
	yield := func(_ int, x []float64) float64 {
		return 20 + 40*(x[0]+x[2]) - 30*math.Pow(x[1]-0.4, 2) - 20*math.Pow(x[0]-x[2]-0.2, 2)
	}
	best := []float64{0.7, 0.4, 0.5}
	return newFunction(problems.Problem{Name: "made-crash", Summary: "three numbers, no limit; whatever lies beyond x + z > 1.2 fails, and the best lies at that edge"},
		&problems.Instance{
			Axes: []problems.Axis{{Name: "x", High: 1}, {Name: "y", High: 1}, {Name: "z", High: 1}}, Reward: yield, Costs: func(int, []float64, []float64) {},
			Noise: []problems.Noise{problems.Noiseless()}, Optima: []problems.Optimum{{From: 1, Value: yield(1, best), Point: best}},
			Lab: &problems.Laboratory{Title: "made-crash", Objective: "yield", AxisUnits: make([]string, 3)},
		})
}()

func newCrash() (*Problem, error) {
	p, err := crash.asProblem()
	if err != nil {
		return nil, err
	}
	return p.Failing("x + z > 1.2")
}

const demoName = "demo"

// newDemo returns the reaction of the demo study, which that study's own simulated lab answers
// instead of this package: a rehearsal of it goes as the page's does.
func newDemo() (*Problem, error) {
	p, err := Find("reaction")
	if err != nil {
		return nil, err
	}
	p.Name = demoName
	if p.Study, err = study.Demo(); err != nil {
		return nil, err
	}
	p.Study, err = p.Study.Check()
	return p, err
}
