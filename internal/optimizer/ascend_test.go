package optimizer

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// hills are studies on continuous spaces whose score has slopes: three parameters of which one is
// on a log scale and one may be a category, with an incumbent.
func hills(t *testing.T, rounds int, category bool) *State {
	t.Helper()
	cfg := plain(t, 3, 2, func(c *Config) {
		c.Algorithm, c.Fit = "log-cei", true
		for i := range c.Metrics {
			c.Metrics[i].FreeNoise = true // readings do not vary, so that the incumbent is not worth asking again
		}
		c.Space.Dims[1] = Dim{Kind: Logarithmic, Low: 0.1, High: 3}
		if category {
			c.Space.Dims[2] = Dim{Kind: Categorical, Choices: 3}
			c.Space.Settle = func(u []float64) bool {
				u[2] = (math.Floor(math.Min(u[2], 0.999)*3) + 0.5) / 3
				return u[0]+u[1] <= 1.7
			}
		}
	}, `{}`)
	s := sure(Replay(background, cfg, played(cfg, rounds, 11)))
	if deciding(s).incumbent == nil || !s.smooth() {
		t.Fatal("no incumbent, or nothing to climb along")
	}
	return s
}

// TestRiseIsTheScoreWithItsSlopes compares with scoreAll to the bit, and slopes with finite
// differences.
func TestRiseIsTheScoreWithItsSlopes(t *testing.T) {
	t.Parallel()
	for _, category := range []bool{false, true} {
		s := hills(t, 40, category)
		var points [][]float64
		for _, u := range search.Halton(20, 3, 5) {
			if v, ok := s.cfg.Space.settle(u); ok {
				points = append(points, v)
			}
		}
		scores, slopesAt := must.Get2(sure(deciding(s).climbing(Known{}).scoreWithSlopes(background))(points))(t)
		slopes := sure(slopesAt(lists.Below(len(points))))
		want, _ := must.Get2(deciding(s).climbing(Known{}).scoreAll(background, asPlaces(points)))(t)
		for i, u := range points {
			if scores[i] != want[i] {
				t.Errorf("%v scores %+v, want %+v", u, scores[i], want[i])
			}
			for k := range u {
				const step = 1e-6
				up, down := append([]float64{}, u...), append([]float64{}, u...)
				up[k] += step
				down[k] -= step
				beside, _ := must.Get2(deciding(s).climbing(Known{}).scoreAll(background, asPlaces([][]float64{up, down})))(t)
				if want := (beside[0].Value - beside[1].Value) / (2 * step); math.Abs(slopes[i].Along[k]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("along %d at %v the slope is %g, by differences %g", k, u, slopes[i].Along[k], want)
				}
			}
		}
	}
}

// polledBest is the best place that polls find from the starts that slopes would lead up from.
func polledBest(t *testing.T, s *State, known Known) climber {
	t.Helper()
	climbers, _ := must.Get2(deciding(s).climbing(known).screen(background, deciding(s).startingPlaces()))(t)
	problem := search.Problem{Axes: s.cfg.Space.axes(), Settle: s.cfg.Space.Settle, Score: func(points [][]float64) ([]search.Score, error) {
		scores, _, err := deciding(s).climbing(known).scoreAll(background, asPlaces(points))
		return scores, err
	}}
	climbers = sure(deciding(s).climbing(known).poll(problem, climbers))
	return climbers[0]
}

// TestAscentsFindWhatPollsFind compares the best of both searches: the new one may not fall short
// by more than verification would notice.
func TestAscentsFindWhatPollsFind(t *testing.T) {
	t.Parallel()
	for _, category := range []bool{false, true} {
		for _, rounds := range []int{12, 40, 310} {
			s := hills(t, rounds, category)
			now := sure(s.Suggest(background, Known{}))
			if polled := polledBest(t, s, Known{}); now.Acquisition < polled.score.Value-0.01 {
				t.Errorf("category %v, %d rounds: %v scores %g, polls alone find %v with %g", category, rounds, now.Place.U, now.Acquisition, polled.u, polled.score.Value)
			}
			if s.cfg.Space.Settle != nil && !s.cfg.Space.Settle(now.Place.U) {
				t.Errorf("%v is not allowed", now.Place.U)
			}
		}
	}
}

var kinkedStudies = flag.Int("kinked-studies", 40, "how many random studies the search along kinks is compared with polls on")

// kinkedAlgorithms are those whose score is searched along its slopes, but for the default, with
// settings that let them start and make kinks.
func kinkedAlgorithms() (list []string) {
	for _, d := range policy.Descriptions() {
		switch d.Name {
		case "log-cei", "ckb-ts", "cei", "config", "scbo", "safeopt", "stageopt", "sgp-ucb", "random", "halton":
		default:
			list = append(list, d.Name)
		}
	}
	return list
}

// randomKinks is a random study under an algorithm whose score has kinks, and its known
// constraints; where it is tight, estimates are cut that can be.
func randomKinks(t *testing.T, seed uint64, tight bool) (*State, Known) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 9))
	names := kinkedAlgorithms()
	name := names[random.IntN(len(names))]
	if random.IntN(2) == 0 {
		name = "rpol-ucb"
	}
	settings := map[string]string{"rpol-censored-ucb": `{"delay_window": 3, "response_bound": 0.1}`, "rpol-sw-ucb": `{"window": 40}`,
		"ckb": `{"explore_objective": "ucb", "explore_limits": "random"}`, "ckb-sw-ucb": `{"window": 40}`, "ckb-restart-ucb": `{"restart_every": 1000}`}[name]
	if settings == "" {
		settings = `{}`
	}
	if tight && strings.HasPrefix(name, "ckb") {
		settings = strings.Replace(settings, "{", `{"beta": 0.2, "objective_bound": 0.5, "constraint_bound": 0.3, `, 1)
		settings = strings.Replace(settings, ", }", "}", 1)
	}
	d, costs := 1+random.IntN(6), random.IntN(4)
	known := Known{}
	cfg := plain(t, d, costs, func(c *Config) {
		c.Algorithm, c.Seed, c.Horizon = name, seed, 3000
		form := []string{"matern52", "matern52", "matern32", "se"}[random.IntN(4)]
		for i := range c.Metrics {
			m := &c.Metrics[i]
			m.Kernel.Name, m.Lambda = form, math.Exp(-2-4*random.Float64())
			if i == 0 || random.IntN(3) == 0 {
				m.Kernel.Variance = math.Exp(random.NormFloat64())
			} else {
				m.Kernel, m.Lambda = c.Metrics[i-1].Kernel, c.Metrics[i-1].Lambda
			}
			m.Kernel.Lengthscales = slices.Clone(m.Kernel.Lengthscales)
			for k := range m.Kernel.Lengthscales {
				m.Kernel.Lengthscales[k] = 0.1 + random.Float64()*math.Sqrt(float64(d))/2
			}
		}
		for j := range c.Costs {
			c.Costs[j].Threshold = random.NormFloat64() / 2
			if name == "scgp-ucb" || j == costs-1 && random.IntN(4) == 0 {
				c.Costs[j].Metric, c.Costs[j].Knowledge = -1, Given
				known.At = func(j int, u []float64) float64 {
					sum := 0.0
					for k, x := range u {
						sum += math.Sin(float64(3+j)*x + float64(k))
					}
					return sum
				}
			}
		}
		if name == "scgp-ucb" {
			c.Metrics = c.Metrics[:1]
		} else if known.At != nil {
			c.Metrics = c.Metrics[:costs]
		}
		switch random.IntN(6) {
		case 0:
			c.Space.Dims[0] = Dim{Kind: Logarithmic, Low: 0.1, High: 3}
		case 1:
			c.Space.Dims[0].Levels = 6
			c.Space.Settle = func(u []float64) bool { u[0] = math.Round(u[0]*5) / 5; return true }
		}
	}, settings)
	n := int(math.Exp(random.Float64()*math.Log(60))) + 5
	switch random.IntN(8) {
	case 0:
		n = 320 + random.IntN(200)
	case 1, 2:
		n = 60 + random.IntN(240)
	}
	h := played(cfg, n, seed)
	for i := range h.Rounds {
		r := &h.Rounds[i]
		for j := range cfg.Costs {
			r.Costs = append(r.Costs, 0)
			if cfg.Costs[j].Knowledge == Given {
				r.Costs[j] = known.At(j, r.Point)
			}
		}
		if i > n-3 && random.IntN(2) == 0 {
			r.Readings = make([]Reading, len(r.Readings))
		}
	}
	s := mustReplay(t, cfg, h)
	if !s.smooth() {
		t.Fatalf("study %d: %s has nothing to climb along", seed, name)
	}
	return s, known
}

// TestKinksAreFollowedAsHighAsPollsGo compares the search along kinks with polls of the same
// starts, which it took the place of.
func TestKinksAreFollowedAsHighAsPollsGo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*kinkedStudies) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, known := randomKinks(t, seed, false)
			now := sure(s.Suggest(background, known))
			polled := polledBest(t, s, known).score.Value
			if short := polled - now.Acquisition; short > 1e-9*math.Max(1, math.Abs(polled)) {
				t.Errorf("%s, %d rounds, %d parameters: %g is %.2g short of what polls find", s.cfg.Algorithm, len(s.history.Rounds), len(s.cfg.Space.Dims), now.Acquisition, short)
			} else if short < -1e-9*math.Max(1, math.Abs(polled)) {
				t.Logf("better by %.2g", -short)
			}
		})
	}
}

// TestKinksRiseWithTheScore compares with scoreAll to the bit, and slopes, kinks among them and
// those of given costs, with differences.
func TestKinksRiseWithTheScore(t *testing.T) {
	t.Parallel()
	above, given := 0, 0
	for seed := range uint64(100) {
		s, known := randomKinks(t, seed, seed%2 == 0)
		var points [][]float64
		for _, u := range search.Halton(6, len(s.cfg.Space.Dims), seed) {
			u, _ = s.cfg.Space.settle(u)
			points = append(points, u)
		}
		scores, slopesAt := must.Get2(sure(deciding(s).climbing(known).scoreWithSlopes(background))(points))(t)
		slopes := sure(slopesAt(lists.Below(len(points))))
		want := sure(scored(s, points, known))
		for i, u := range points {
			if scores[i] != want[i] {
				t.Errorf("study %d: %v scores %+v, want %+v", seed, u, scores[i], want[i])
			}
			slope := slices.Clone(slopes[i].Along)
			for _, kink := range slopes[i].Kinks {
				if kink.Height > 0 {
					above++
					factor.Axpy(-kink.Price, kink.Slopes, slope)
				}
			}
			for k, d := range s.cfg.Space.Dims {
				const step = 1e-6
				if d.Levels > 0 || u[k] < step || u[k] > 1-step {
					continue
				}
				if known.At != nil {
					given++
				}
				up, down := slices.Clone(u), slices.Clone(u)
				up[k] += step
				down[k] -= step
				beside := sure(scored(s, [][]float64{up, down}, known))
				want, size := (beside[0].Value-beside[1].Value)/(2*step), 1+math.Abs(scores[i].Value)
				if math.Abs(slope[k]-want) > 1e-4*(size+math.Abs(want)) {
					t.Errorf("study %d, %s: along %d at %v the slope is %g, by differences %g", seed, s.cfg.Algorithm, k, u, slope[k], want)
				}
			}
		}
	}
	if above < 50 || given < 50 {
		t.Errorf("%d kinks, %d slopes beside given costs", above, given)
	}
}

// scored are the scores of points, each by itself.
func scored(s *State, points [][]float64, known Known) ([]search.Score, error) {
	scores, _, err := deciding(s).climbing(known).scoreAll(background, asPlaces(points))
	return scores, err
}
