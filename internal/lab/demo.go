package lab

import (
	"context"
	"errors"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
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

// simulate lets the study's own simulated lab answer a trial.
func (p *session) simulate(ctx context.Context, s *served) error {
	lab, err := design.FindSimulatedLab(p.Problem.Study.SimulatedLab)
	if err != nil {
		return err
	}
	began := time.Now()
	number, err := s.service.SimulateOne(ctx, by, lab, s.created.ID, study.DemoSlips...)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	snap, err := s.service.Snapshot(ctx, s.created.ID, 0)
	if err != nil {
		return err
	}
	answered := snap.Trial(number)
	t := p.visit(answered.Parameters, answered.Candidate)
	t.Read, t.Told = Values{}, Values{}
	for name, m := range answered.Metrics {
		t.Read[name], t.Told[name] = m.Value, *m.StdDev
	}
	t.Reason, t.Seconds = answered.Decision.Reason, took
	p.record.Asks = append(p.record.Asks, t)
	return nil
}
