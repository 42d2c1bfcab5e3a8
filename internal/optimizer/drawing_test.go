package optimizer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
)

// drawnAll draws the functions of a state over places under a seed.
func drawnAll(t *testing.T, s *State, at []Place, widths []float64, seed uint64, orders ...[]int) [][]float64 {
	t.Helper()
	blind := &policy.Input{Draw: policy.Draw{Seed: seed}}
	d := sure(s.decision.newDrawing(background, at, toyKnown().at(at), blind, widths))
	for _, places := range orders {
		must.Do(t, d.draw(background, places))
	}
	return d.functions
}

// TestDrawsHaveTheirLaw draws many functions, the places in two orders: mean and covariance must be
// the posterior's, the latter times the square of the width, and functions independent.
func TestDrawsHaveTheirLaw(t *testing.T) {
	t.Parallel()
	state, _, input := stateOf(t, "ckb-ts", 6)
	at := state.cfg.Space.places()
	src := &state.next.sources[state.next.sourceOf[0]]
	covariance := sure(sure(src.Rows(background)).Data.Covariance(background, state.next.points(src.kernel, at).Inputs))
	widths := []float64{1.5, 1, 2}
	const draws = 5000
	some := []int{3, 8, 9, 14, 30}
	for name, orders := range map[string][][]int{"ascending": {some}, "in two parts": {{30, 9}, {14, 3, 8}}} {
		sums := map[string]float64{}
		for seed := range uint64(draws) {
			f := drawnAll(t, state, at, widths, seed, orders...)
			for a, i := range some {
				sums[fmt.Sprint("mean ", i)] += f[0][i] - input.Reward.Mean[i]
				sums[fmt.Sprint("other ", i)] += (f[0][i] - input.Reward.Mean[i]) * (f[1][i] - input.Costs[0].Mean[i])
				for _, j := range some[:a+1] {
					sums[fmt.Sprint(i, j)] += (f[0][i] - input.Reward.Mean[i]) * (f[0][j] - input.Reward.Mean[j])
				}
			}
		}
		within := func(what string, want, sd float64) {
			t.Helper()
			if got := sums[what] / draws; math.Abs(got-want) > 5*sd/math.Sqrt(draws) {
				t.Errorf("%s: %s of the draws is %g, want %g", name, what, got, want)
			}
		}
		w := widths[0] * widths[0]
		for a, i := range some {
			sd := math.Sqrt(covariance[i][i])
			within(fmt.Sprint("mean ", i), 0, widths[0]*sd)
			within(fmt.Sprint("other ", i), 0, widths[0]*widths[1]*sd*input.Costs[0].SD[i])
			for _, j := range some[:a+1] {
				c := covariance[i][j]
				within(fmt.Sprint(i, j), w*c, w*math.Sqrt(covariance[i][i]*covariance[j][j]+c*c))
			}
		}
	}
}

// TestDrawIsTheRoot: drawn in ascending order, a function is its mean and the root of its
// covariance times the normal numbers, up to what rounding needs.
func TestDrawIsTheRoot(t *testing.T) {
	t.Parallel()
	state, _, input := stateOf(t, "ckb-ts", 6)
	at := state.cfg.Space.places()
	src := &state.next.sources[state.next.sourceOf[0]]
	root := sure(factor.New(sure(sure(src.Rows(background)).Data.Covariance(background, state.next.points(src.kernel, at).Inputs))))
	const width = 1.5
	d := sure(state.decision.newDrawing(background, at, toyKnown().at(at), &policy.Input{Draw: policy.Draw{Seed: 5}}, []float64{width, 0, 0}))
	must.Do(t, d.draw(background, lists.Below(len(at))))
	again := sure(state.decision.newDrawing(background, at, toyKnown().at(at), &policy.Input{Draw: policy.Draw{Seed: 5}}, []float64{width, 0, 0}))
	normals := make([]float64, len(at))
	for i := range normals {
		normals[i] = again.normal.NormFloat64()
	}
	for i := range at {
		if want := input.Reward.Mean[i] + width*factor.Dot(root.Row(i), normals); math.Abs(d.functions[0][i]-want) > 1e-5 {
			t.Errorf("place %d is drawn as %g, want %g", i, d.functions[0][i], want)
		}
	}
}

// TestRuledOutWouldNotBeChosen draws over the places that may be chosen, and over all: the choice is
// the same.
func TestRuledOutWouldNotBeChosen(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"ckb-ts", "scbo", "ckb", "penalty-noiseless"} {
		settings := map[string]string{"ckb": `{"explore_objective": "thompson", "explore_limits": "random"}`, "penalty-noiseless": `{"acquisition": "thompson"}`}[algorithm]
		if settings == "" {
			settings = `{}`
		}
		for _, rounds := range []int{20, 90, 300} {
			fewest := math.MaxInt
			for seed := range uint64(3) {
				cfg := plain(t, 2, 2, func(c *Config) {
					c.Algorithm, c.Seed = algorithm, seed
					c.Space.Arms = candidates(900, 2)
					c.Metrics[seed%3].Kernel.Variance += float64(seed % 2) // some have kernels of their own
				}, settings)
				s := mustReplay(t, cfg, amongArms(cfg, played(cfg, rounds, seed)))
				chosen, all := sure(s.Suggest(background, Known{})), sure(s.Acquisition(background, s.arms.places, Known{}))
				first, next := all.Argmax, -1
				for i, value := range all.Values {
					if i != first && all.Allowed[i] && (next < 0 || value > all.Values[next]) {
						next = i
					}
				}
				same := chosen.Place.Arm == first && chosen.Acquisition == all.Values[first] && (chosen.RunnerUp == nil) == (next < 0)
				if !same || next >= 0 && (chosen.RunnerUp.Place.Arm != next || chosen.RunnerUp.Acquisition != all.Values[next]) {
					t.Errorf("%s, %d rounds, seed %d: %d with %v comes before %v, of all %d with %v before %d with %v", algorithm, rounds, seed,
						chosen.Place.Arm, chosen.Acquisition, chosen.RunnerUp, first, all.Values[first], next, all.Values[max(next, 0)])
				}
				of, _ := must.Get2(s.considered(background, s.arms.places, Known{}.at(s.arms.places), s.draw(s.Round()), false))(t)
				fewest = min(fewest, len(of))
			}
			if fewest > 450 && algorithm != "scbo" {
				t.Errorf("%s, %d rounds: at least %d of 900 places are drawn", algorithm, rounds, fewest)
			}
		}
	}
}

// TestNarrowDrawsAreRuledOutAsFar: a draw of a narrow width rules places out by as many of its
// deviations as one of a wide width.
func TestNarrowDrawsAreRuledOutAsFar(t *testing.T) {
	t.Parallel()
	for seed := range uint64(32) {
		cfg := plain(t, 2, 2, func(c *Config) {
			c.Algorithm, c.Seed = "penalty-noiseless", seed
			c.Space.Arms = candidates(300, 2)
		}, `{"acquisition": "thompson", "beta": 0.05}`)
		s := mustReplay(t, cfg, amongArms(cfg, played(cfg, 1, seed)))
		chosen, all := sure(s.Suggest(background, Known{})), sure(s.Acquisition(background, s.arms.places, Known{}))
		if chosen.Place.Arm != all.Argmax {
			t.Errorf("seed %d: %d with %g is chosen, of all %d with %g", seed, chosen.Place.Arm, chosen.Acquisition, all.Argmax, all.Values[all.Argmax])
		}
	}
}

// TestAskedOfFewIsAskedOfAll: the places that safe algorithms do not work out further would neither
// be chosen nor come next.
func TestAskedOfFewIsAskedOfAll(t *testing.T) {
	t.Parallel()
	explored := 0
	for _, algorithm := range []string{"safeopt", "stageopt"} {
		for seed := range uint64(12) {
			cfg := plain(t, 2, 1, func(c *Config) {
				c.Algorithm, c.Seed, c.Horizon = algorithm, seed, 1000
				c.Space.Arms = candidates(150, 2)
				c.Costs[0].Threshold = 0.1 * float64(seed)
				c.SafeSeeds = []Place{{U: c.Space.Arms[0], Arm: 0}, {U: c.Space.Arms[5], Arm: 5}}
			}, `{}`)
			s := mustReplay(t, cfg, amongArms(cfg, played(cfg, 8+int(seed), seed)))
			chosen, all := sure(s.Suggest(background, Known{})), sure(s.Acquisition(background, s.arms.places, Known{}))
			if chosen.Reason == policy.Explore {
				explored++
			}
			var wanted *RunnerUp
			allowed := slices.Clone(all.Allowed)
			allowed[all.Argmax] = false
			if next := Argmax(all.Values, nil, allowed, false); next >= 0 {
				wanted = &RunnerUp{s.arms.places[next], all.Values[next]}
			}
			if chosen.Place.Arm != all.Argmax || !cmp.Equal(chosen.RunnerUp, wanted) {
				t.Errorf("%s, seed %d: %d comes before %+v, of all %d before %+v", algorithm, seed, chosen.Place.Arm, chosen.RunnerUp, all.Argmax, wanted)
			}
		}
	}
	if explored < 12 {
		t.Errorf("%d decisions explored", explored)
	}
}

// TestWhatThePriorIsSureOfIsDrawn: a linear function is 0 at 0, before anything was read and after.
func TestWhatThePriorIsSureOfIsDrawn(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) {
		c.Algorithm = "ckb-ts"
		for i := range c.Metrics {
			c.Metrics[i].Kernel = Kernel{Name: "linear", Lengthscales: []float64{1}, Variance: 1}
		}
	}, `{}`)
	at := asPlaces([][]float64{{0.5}, {0}, {1}})
	for _, rounds := range []int{0, 3} {
		f := drawnAll(t, mustReplay(t, cfg, played(cfg, rounds, 1)), at, []float64{1, 1}, 7, lists.Below(len(at)))
		if f[0][1] != 0 || f[0][0] == 0 || math.Abs(f[0][2]-2*f[0][0]) > 1e-3 {
			t.Errorf("after %d rounds a line through 0 is %v", rounds, f[0])
		}
	}
}
