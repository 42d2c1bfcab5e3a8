package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/study/design"
)

// lab is a way in which laboratories work: what they look for, how their results come, and what ails them.
type lab struct {
	name    string
	problem string
	change  func(*Problem) // of what is read, not of the truth
	batch   int
	delay   int
	noise   Noise
	noisy   bool // readings vary, so that a recommendation may be wrong by bad luck
}

func (l lab) play(t *testing.T, algorithm string, seed uint64) (*Problem, *Record) {
	t.Helper()
	p := problem(t, l.problem)
	if l.change != nil {
		l.change(p)
	}
	return p, played(t, Game{Problem: p, Algorithm: design.Algorithm{Name: algorithm}, Start: 5, Asks: 14, Batch: max(1, l.batch), Delay: l.delay, Noise: l.noise, Seed: seed})
}

// drifting adds to every reading of the objective a twentieth of its spread more than to the one before.
func drifting(p *Problem) {
	read, readings := p.read, 0
	objective := p.Study.Objective.Metric
	p.read = func(at design.Settings, candidate *int, random *rand.Rand) Values {
		v := read(at, candidate, random).clone()
		v[objective] -= 0.05 * float64(readings) * p.Spread[objective]
		readings++
		return v
	}
}

var labs = []lab{
	{name: "one parameter, no limit", problem: "made-free"},
	{name: "20 parameters", problem: "made-wide"},
	{name: "a mixture, a log scale, two limits", problem: "made-mixture"},
	{name: "categories only, plateaus", problem: "made-categories"},
	{name: "categories and numbers", problem: "made-mixed-3"},
	{name: "eight limits", problem: "made-eight"},
	{name: "a continuous space", problem: "gramacy", noise: Noise{Kind: NoNoise}},
	{name: "discrete steps", problem: "pressure-vessel"},
	{name: "nothing feasible", problem: "made-hopeless"},
	{name: "spread that differs by setting", problem: "made-uneven", noise: Noise{Kind: OwnNoise}, noisy: true},
	{name: "noise", problem: "made-mixture", noise: Noise{Gaussian, 0.3}, noisy: true},
	{name: "readings wrong by 10×", problem: "made-mixture-2", noise: Noise{Outliers, 0.2}, noisy: true},
	{name: "late results", problem: "made-mixed-4", delay: 3},
	{name: "batches of 8", problem: "made-mixture-3", batch: 8},
	{name: "batches of 8, late", problem: "made-categories-4", batch: 8, delay: 1},
	{name: "drift", problem: "made-mixture-4", change: drifting, noisy: true},
}

// TestManyKindsOfLab plays the default and random on each: it ends without an error, recommends nothing that breaks a limit where readings are exact,
// and nothing at all where nothing is feasible; it is nowhere worse than random by more than chance explains, and better by much over all.
func TestManyKindsOfLab(t *testing.T) {
	t.Parallel()
	const seeds = 2
	var gains []float64
	for _, l := range labs {
		var mine, others []float64
		for seed := range uint64(seeds) {
			p, r := l.play(t, "", seed+1)
			_, random := l.play(t, "random", seed+1)
			l.judge(t, p, r)
			if p.Scale.Any {
				mine, others = append(mine, meanShare(p, r)), append(others, meanShare(p, random))
			}
		}
		if mine == nil {
			continue
		}
		gain := Paired(mine, others)
		gains = append(gains, gain.Mean)
		if gain.Mean < -math.Max(0.02, 2*gain.Error) {
			t.Errorf("%s: the default's share of the best is %.3g, random's %.3g: %.3g ± %.2g", l.name, mean(mine), mean(others), gain.Mean, gain.Error)
		}
	}
	if over := mean(gains); over < 0.1 {
		t.Errorf("over all labs the default gains only %.3g over random", over)
	}
}

func (l lab) judge(t *testing.T, p *Problem, r *Record) {
	t.Helper()
	for _, trial := range slices.Concat(r.Start, r.Asks) {
		for metric, v := range trial.Read {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s, seed %d: %s reads %g", l.name, r.Seed, metric, v)
			}
		}
	}
	switch verdict := VerdictOf(p, r); {
	case !p.Scale.Any && verdict != RecommendedNone:
		t.Errorf("%s, seed %d: %s is recommended where nothing is feasible", l.name, r.Seed, verdict)
	case !l.noisy && verdict == RecommendedInfeasible:
		t.Errorf("%s, seed %d: an infeasible setting is recommended, and readings are exact", l.name, r.Seed)
	}
}
