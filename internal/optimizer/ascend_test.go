package optimizer

import (
	"math"
	"testing"

	"headroom/internal/optimizer/search"
)

// hills are studies on continuous spaces whose score has slopes: three parameters of which one is on a log scale and one may be a category, with an incumbent.
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

// TestRiseIsTheScoreWithItsSlopes compares with scoreAll to the bit, and slopes with finite differences.
func TestRiseIsTheScoreWithItsSlopes(t *testing.T) {
	t.Parallel()
	for _, category := range []bool{false, true} {
		s := hills(t, 40, category)
		draw := s.draw(s.Round())
		var points [][]float64
		for _, u := range search.Halton(20, 3, 5) {
			if v, ok := s.cfg.Space.settle(u); ok {
				points = append(points, v)
			}
		}
		scores, slopes, err := s.slopes(Known{}, draw).rise(background)(points)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := s.scoreAll(background, asPlaces(points), Known{}, draw)
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
				beside, _, err := s.scoreAll(background, asPlaces([][]float64{up, down}), Known{}, draw)
				if err != nil {
					t.Fatal(err)
				}
				if want := (beside[0].Value - beside[1].Value) / (2 * step); math.Abs(slopes[i][k]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("along %d at %v the slope is %g, by differences %g", k, u, slopes[i][k], want)
				}
			}
		}
	}
}

// TestAscentsFindWhatPollsFind compares the best of both searches: the new one may not fall short by more than verification would notice.
func TestAscentsFindWhatPollsFind(t *testing.T) {
	t.Parallel()
	for _, category := range []bool{false, true} {
		for _, rounds := range []int{12, 40, 310} {
			s := hills(t, rounds, category)
			now, before := sure(s.Suggest(background, Known{})), sure(mustReplay(t, s.cfg.As("2"), s.history).Suggest(background, Known{}))
			if now.Acquisition < before.Acquisition-0.01 {
				t.Errorf("category %v, %d rounds: %v scores %g, polls alone find %v with %g", category, rounds, now.Place.U, now.Acquisition, before.Place.U, before.Acquisition)
			}
			if s.cfg.Space.Settle != nil && !s.cfg.Space.Settle(now.Place.U) {
				t.Errorf("%v is not allowed", now.Place.U)
			}
		}
	}
}

// TestSearchesOfOldEnginesStay holds what engine 2 chose when there was no other.
func TestSearchesOfOldEnginesStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		category    bool
		rounds      int
		place       []float64
		acquisition float64
	}{
		{false, 12, []float64{0.5070773073224325, 0, 0.12643157292957219}, -2.3742009364667003},
		{false, 40, []float64{0.43145574164797562, 0.30463460781518997, 0.049824052789142162}, -1.9440195237938389},
		{false, 310, []float64{0.39434329048991523, 0.26366702314540164, 0.045029823182481117}, -1.8183369517547763},
		{true, 12, []float64{0.42995087861933373, 0, 0.16666666666666666}, -1.9673526645499184},
		{true, 40, []float64{0.41268907911188574, 0.35179228431941906, 0.16666666666666666}, -2.144318146798379},
		{true, 310, []float64{0.38566351852720643, 0.16791621263251019, 0.16666666666666666}, -3.565934383882027},
	} {
		s := hills(t, c.rounds, c.category)
		d := sure(mustReplay(t, s.cfg.As("2"), s.history).Suggest(background, Known{}))
		for k, u := range c.place {
			if math.Abs(d.Place.U[k]-u) > 1e-9 || math.Abs(d.Acquisition-c.acquisition) > 1e-9 {
				t.Fatalf("category %v, %d rounds: %v with %g, engine 2 chose %v with %g", c.category, c.rounds, d.Place.U, d.Acquisition, c.place, c.acquisition)
			}
		}
	}
}
