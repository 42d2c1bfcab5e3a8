package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"headroom/internal/lab/problems"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/search"
)

// gainTally counts looks at what could be gained.
type gainTally struct {
	looks, held, below, above float64 // the interval, and where the truth lay beside it
	said, wrong               float64 // that more than 1 % is left had a chance of at most 5 %, in spite of the number of draws, and was so
}

func (g gainTally) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(g.looks, "looks")
	b.ReportMetric(g.held/max(g.looks, 1), "held")
	b.ReportMetric(g.below, "below")
	b.ReportMetric(g.above, "above")
	b.ReportMetric(g.said, "said")
	b.ReportMetric(g.wrong, "wrong")
}

// BenchmarkGainHolds plays continuous problems with the default and everything fitted, noise of 0, 1, 5 and 20 % of the standard deviation of each function, three seeds each, and holds
// what is said after 12, 24 and 40 trials of the best value, and of how much is left, against the truth. It measures no time:
//
//	go test ./internal/lab -run '^$' -bench GainHolds -benchtime 1x
func BenchmarkGainHolds(b *testing.B) {
	var all gainTally
	for _, name := range []string{"reaction", "formulation", "machine", "gramacy", "gardner-1", "gardner-2", "branin", "hartmann6", "welded-beam", "speed-reducer"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var tally gainTally
				for _, noise := range []float64{0, 0.01, 0.05, 0.2} {
					for seed := uint64(1); seed <= 3; seed++ {
						if err := tally.play(name, noise, seed); err != nil {
							b.Fatal(err)
						}
					}
				}
				tally.report(b)
				all = gainTally{all.looks + tally.looks, all.held + tally.held, all.below + tally.below, all.above + tally.above, all.said + tally.said, all.wrong + tally.wrong}
			}
		})
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			all.report(b)
		}
	})
}

// play adds the looks of one game.
func (g *gainTally) play(name string, noise float64, seed uint64) error {
	e := Experiment{Problem: name, Algorithm: "log-cei", Fit: true, Horizon: 40}
	in, err := e.instance(seed)
	if err != nil {
		return err
	}
	for i, sd := range deviations(in) {
		in.Noise[i] = problems.Gaussian(noise * noise * sd * sd)
	}
	cfg, err := e.config(in, seed)
	if err != nil {
		return err
	}
	w := newRounds(in, seed)
	p, err := newEngine(cfg, w)
	if err != nil {
		return err
	}
	var looking error
	_, playing := play(context.Background(), w, p, e.Horizon, 1, func() {
		if slices.Contains(lookAt, len(w.curves.Rounds)) {
			looking = errors.Join(looking, g.look(in, p))
		}
	})
	if err := errors.Join(playing, looking); err != nil {
		return fmt.Errorf("%s, noise %g, seed %d: %w", name, noise, seed, err)
	}
	return nil
}

// look holds what is said now against the truth.
func (g *gainTally) look(in *problems.Instance, r *engine) error {
	gain, ok, err := r.state.Gain(context.Background(), optimizer.Known{}, 0.01)
	if err != nil {
		return err
	}
	best := in.Optimum(1).Value
	g.looks++
	switch {
	case ok && best < gain.Low:
		g.below++
	case !ok || best > gain.High:
		g.above++
	default:
		g.held++
	}
	recommended, err := r.state.Recommendation(context.Background())
	if err != nil || recommended == 0 || !ok || gain.Left[0].AtMost > 0.05 {
		return err
	}
	g.said++
	if best-in.Reward(1, in.Point(optimizer.Place{U: r.history.Rounds[recommended-1].Point, Arm: -1})) > 0.01*gain.Unit {
		g.wrong++
	}
	return nil
}

// deviations are the standard deviations of the reward and the costs over the space.
func deviations(in *problems.Instance) []float64 {
	values := make([][]float64, 1+len(in.Limits))
	for _, u := range search.Halton(2000, len(in.Axes), 1) {
		x := in.Point(optimizer.Place{U: u, Arm: -1})
		for i, v := range append([]float64{in.Reward(1, x)}, in.CostsAt(1, x)...) {
			values[i] = append(values[i], v)
		}
	}
	out := make([]float64, len(values))
	for i := range values {
		out[i] = math.Sqrt(stat.PopVariance(values[i], nil))
	}
	return out
}
