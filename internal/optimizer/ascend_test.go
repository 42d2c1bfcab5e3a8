package optimizer

import (
	"math"
	"testing"

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
	if s.next.incumbent == nil || !s.smooth() {
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
		scores, slopesAt, err := sure(s.climbing(Known{}).rise(background))(points)
		if err != nil {
			t.Fatal(err)
		}
		slopes := sure(slopesAt(indices(len(points))))
		want, _, err := s.climbing(Known{}).scoreAll(background, asPlaces(points))
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range points {
			if scores[i] != want[i] {
				t.Errorf("%v scores %+v, want %+v", u, scores[i], want[i])
			}
			for k := range u {
				const step = 1e-6
				up, down := append([]float64{}, u...), append([]float64{}, u...)
				up[k] += step
				down[k] -= step
				beside, _, err := s.climbing(Known{}).scoreAll(background, asPlaces([][]float64{up, down}))
				if err != nil {
					t.Fatal(err)
				}
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
	climbers, _, err := s.climbing(known).screen(background, s.startingPlaces())
	if err != nil {
		t.Fatal(err)
	}
	problem := search.Problem{Axes: s.cfg.Space.axes(), Settle: s.cfg.Space.Settle, Score: func(points [][]float64) ([]search.Score, error) {
		scores, _, err := s.climbing(known).scoreAll(background, asPlaces(points))
		return scores, err
	}}
	climbers = sure(s.climbing(known).poll(problem, climbers))
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
