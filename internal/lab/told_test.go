package lab

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"headroom/internal/study"
)

// TestTold plays games and looks into the ledger: every reading, of the start and of the asks, stands there with the standard deviation that was to be told.
func TestTold(t *testing.T) {
	t.Parallel()
	lathe := problem(t, "machine")
	uneven := problem(t, "made-uneven")
	for name, c := range map[string]struct {
		game Game
		want func(trial Trial) Values
	}{
		"none":   {Game{Problem: lathe, Told: ToldNone}, func(Trial) Values { return nil }},
		"true":   {Game{Problem: lathe, Told: ToldTrue}, func(Trial) Values { return Values{"output": 0.3, "tool temperature": 3} }},
		"low":    {Game{Problem: lathe, Told: ToldLow}, func(Trial) Values { return Values{"output": 0.1, "tool temperature": 1} }},
		"high":   {Game{Problem: lathe, Told: ToldHigh}, func(Trial) Values { return Values{"output": 0.9, "tool temperature": 9} }},
		"exact":  {Game{Problem: lathe, Noise: Noise{Kind: NoNoise}, Told: ToldTrue}, func(Trial) Values { return nil }},
		"uneven": {Game{Problem: uneven, Told: ToldTrue}, func(trial Trial) Values { return uneven.own(trial.Settings) }},
		"added": {Game{Problem: lathe, Noise: Noise{Outliers, 0.1}, Told: ToldTrue}, func(Trial) Values {
			return Values{"output": 0.1 * lathe.Spread["output"], "tool temperature": 0.1 * lathe.Spread["tool temperature"]}
		}},
	} {
		g := c.game
		g.Algorithm.Name, g.Start, g.Asks, g.Batch, g.Seed = "random", 3, 4, 1, 5
		if g.Noise.Kind == "" {
			g.Noise.Kind = OwnNoise
		}
		service := study.NewService(new(book), study.Options{})
		t.Cleanup(service.Stop)
		record, err := g.PlayOn(t.Context(), service, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := append(record.Start, record.Asks...)
		for i, kept := range only(t, service).Trials {
			want := c.want(all[i])
			for metric, m := range kept.Metrics {
				if m.Value != all[i].Read[metric] {
					t.Errorf("%s: %s of trial %d is kept as %v, read as %v", name, metric, i+1, m.Value, all[i].Read[metric])
				}
				if sd, told := want[metric]; told != (m.StdDev != nil) || told && !(math.Abs(*m.StdDev/sd-1) < 1e-12) {
					t.Errorf("%s: %s of trial %d is told with %v, want %v", name, metric, i+1, m.StdDev, sd)
				}
			}
			if len(kept.Metrics) == 0 {
				t.Errorf("%s: trial %d was never told", name, i+1)
			}
		}
	}
}

// TestDeviationIsTheNoise compares what is told with what readings do: over 20 settings of eight readings each their squares add up to what the standard
// deviations say.
func TestDeviationIsTheNoise(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]Noise{"made-uneven": {Kind: OwnNoise}, "formulation": {Kind: OwnNoise}, "gramacy": {Gaussian, 0.2}} {
		p := problem(t, name)
		square, n := 0.0, 0.0
		for _, at := range p.draw(20, rand.New(rand.NewPCG(1, 0))) {
			sd := p.deviation(at, noise)
			for seed := range uint64(100) {
				read, truth := p.reading(at, 0, noise, seed), p.truth(at)
				for _, metric := range p.metrics {
					square += math.Pow((read[metric]-truth[metric])/sd[metric], 2)
					n++
				}
			}
		}
		// The truth of a table is the mean of its eight readings, about which they spread by an eighth less.
		if ratio := square / n; ratio < 0.75 || ratio > 1.15 {
			t.Errorf("%s: readings have %.3g times the variance that is told", name, ratio)
		}
	}
}

func TestToldRefusals(t *testing.T) {
	t.Parallel()
	steps := ladder(t, "maximize")
	d := steps.Study
	at := d.Candidates[0]
	p, err := newTable(d, []Row{{at, Values{"yield": 1, "cost": 1}}, {at, Values{"yield": 3, "cost": 1}}, {d.Candidates[1], Values{"yield": 5, "cost": 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ToldTrue.check(p, Noise{Kind: OwnNoise}); err == nil || !strings.Contains(err.Error(), "-noise gaussian") {
		t.Errorf("telling what nobody knows gives %v", err)
	}
	if err := ToldTrue.check(p, Noise{Gaussian, 0.1}); err != nil {
		t.Errorf("telling a noise that was added gives %v", err)
	}
}
