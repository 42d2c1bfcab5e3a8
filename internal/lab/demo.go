package lab

import (
	"errors"

	"headroom/internal/study"
)

const (
	demoName    = "demo"
	demoSummary = "the demo study as a newcomer makes it, with what slips in its simulated lab; seed 7 is the very one"
)

// newDemo is the reaction that the demo study's own simulated lab answers, rather than this package: a rehearsal of it goes as the page's does.
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

// checkDemo refuses what the demo's lab does not do.
func (g Game) checkDemo() error {
	if g.Problem.Study.SimulatedLab == "" {
		return nil
	}
	if g.Outside != nil || g.Start != 0 || g.Batch != 1 || g.Delay != 0 || g.Noise.Kind != OwnNoise || g.Told != ToldTrue || g.Mishaps != (Mishaps{}) {
		return errors.New("the demo's own lab answers it, and no tool outside: it starts from nothing (-start 0), one trial at a time, with its own noise, tells it (-told true), and nothing fails or is late")
	}
	return nil
}
