package lab

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// lab is a way in which laboratories work: what they look for, how their results come, and what
// ails them.
type lab struct {
	name    string
	problem string
	change  func(*Problem) // of what is read, not of the truth
	batch   int
	delay   int
	noise   Noise
	noisy   bool // readings vary, so that a recommendation may be wrong by bad luck
}

// game is one of the default's.
func (l lab) game(t *testing.T, seed uint64) Game {
	t.Helper()
	p := problem(t, l.problem)
	if l.change != nil {
		l.change(p)
	}
	return Game{Problem: p, Start: 5, Asks: 12, Batch: max(1, l.batch), Delay: l.delay, Noise: l.noise, Seed: seed}
}

// blind chooses uniformly, learns nothing and says nothing.
type blind struct {
	problem *Problem
	random  *rand.Rand
}

func (blind) begin(context.Context, []*ledger.Trial, []outcome) error { return nil }
func (blind) learn(context.Context, []outcome) error                  { return nil }
func (blind) judge(context.Context, *Record) error                    { return nil }

func (b blind) choose(_ context.Context, count int) ([]*ledger.Trial, error) {
	var trials []*ledger.Trial
	for range count {
		at := b.problem.draw(1, b.random)[0]
		trials = append(trials, &ledger.Trial{Parameters: at})
	}
	return trials, nil
}

// drifting adds to every reading of the objective a twentieth of its spread more than to the one
// before.
func drifting(p *Problem) {
	read, readings := p.read, 0
	objective := p.Study.Objective.Metric
	p.read = func(at design.Settings, random *rand.Rand) Values {
		v := maps.Clone(read(at, random))
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

// TestGamesOfManyKindsOfLab plays the default on each, and chance alone: it ends without an error,
// recommends nothing that breaks a limit where readings are exact, and nothing at all where nothing
// is feasible; it is nowhere worse than chance by more than the spread of the seeds explains, and
// better by much over all.
func TestGamesOfManyKindsOfLab(t *testing.T) {
	t.Parallel()
	const seeds = 2
	var gains []float64
	for _, l := range labs {
		var games []Game
		for seed := range uint64(seeds) {
			games = append(games, l.game(t, seed+1))
		}
		var mine, others []float64
		for i, r := range allPlayed(t, games...) {
			p := games[i].Problem
			l.judge(t, p, r)
			if !p.Scale.Any {
				continue
			}
			const many = 5 // games of chance to each of the default's
			byChance := 0.0
			for n := range uint64(many) {
				other := must.Get(l.game(t, r.Seed).playWith(t.Context(), blind{p, rand.New(rand.NewPCG(r.Seed, n))}, nil))(t)
				byChance += mean(judgedGame{p, other}.shares()) / many
			}
			mine, others = append(mine, mean(judgedGame{p, r}.shares())), append(others, byChance)
		}
		if mine == nil {
			continue
		}
		gain := pairedDifference(mine, others)
		gains = append(gains, gain.Mean)
		if gain.Mean < -math.Max(0.02, 2*gain.Error) {
			t.Errorf("%s: the default's share of the best is %.3g, that of chance %.3g: %.3g ± %.2g", l.name, mean(mine), mean(others), gain.Mean, gain.Error)
		}
	}
	if over := mean(gains); over < 0.1 {
		t.Errorf("over all labs the default gains only %.3g over chance", over)
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
	switch verdict := (judgedGame{p, r}).verdict(r.end()); {
	case !p.Scale.Any && verdict != RecommendedNone:
		t.Errorf("%s, seed %d: %s is recommended where nothing is feasible", l.name, r.Seed, verdict)
	case !l.noisy && verdict == RecommendedInfeasible:
		t.Errorf("%s, seed %d: an infeasible setting is recommended, and readings are exact", l.name, r.Seed)
	}
}
