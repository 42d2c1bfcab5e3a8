package policy

import (
	"math"
	"slices"
	"testing"
)

func TestTrustRegion(t *testing.T) {
	t.Parallel()
	a := trustRegion{design: 2}
	s := &Input{Set: &Set{Free: []bool{true, true, false}, Choices: make([]int, 3)}}
	round := func(reward, cost float64) Past {
		return Past{Point: []float64{reward, cost, 0}, Suggested: true, Complete: true, Reward: reward, Costs: []float64{cost}}
	}
	check := func(what string, side, reward float64) {
		t.Helper()
		r := a.region(s)
		if r.side != side || r.centre[0] != reward {
			t.Errorf("%s: a region of side %g around reward %g, want %g around %g", what, r.side, r.centre[0], side, reward)
		}
	}
	s.Past = []Past{round(5, 2), round(1, 0.5)}
	check("closest to the limit", 0.8, 1)
	s.Past = append(s.Past, round(9, 3), round(0, -1))
	check("within the limits", 0.8, 0)
	s.Past = append(s.Past, round(-1, -1), round(-1, -1))
	check("two failures", 0.4, 0)
	for i := range 10 {
		s.Past = append(s.Past, round(float64(1+i), -1))
	}
	check("ten successes", 0.8, 10)
	for range 13 {
		s.Past = append(s.Past, round(-1, -1))
	}
	check("thirteen failures", 0.0125, 10)
	s.Past = append(s.Past, round(-1, -1))
	if r := a.region(s); r.side != 0.8 || r.centre != nil || r.opening != 2 {
		t.Errorf("too small: a region of side %g around %v after %d rounds, want a new search of 2 space-filling rounds", r.side, r.centre, r.opening)
	}
	again := slices.Clone(s.Past)
	s.Past = append(again, round(4, -1), round(3, -1), round(3, -1))
	check("started again, and one failure since", 0.8, 4)
	s.Past = append(again, round(3, -1), round(4, -1))
	check("started again", 0.8, 4)
	excluded := round(99, -1)
	excluded.Excluded = true
	waiting := round(98, -1)
	waiting.Complete = false
	own := round(-2, -1)
	own.Suggested = false
	s.Past = append(s.Past, excluded, waiting, own, own, own)
	check("rounds that do not count", 0.8, 4)

	centre := []float64{0.5, 0.9, 0.3}
	s.Past = []Past{{Point: centre, Complete: true, Suggested: true}}
	for _, u := range a.propose(s) {
		if math.Abs(u[0]-0.5) > 0.4 || u[1] < 0.5 || u[1] > 1 {
			t.Fatalf("proposes %v, outside the region around %v", u, centre)
		}
	}
	wide := &Input{Set: &Set{Free: make([]bool, 40), Choices: make([]int, 40)}}
	wide.Past = []Past{{Point: filled(40, 0.5), Complete: true}}
	changed := 0
	for _, u := range a.propose(wide)[:100] {
		for _, x := range u {
			if x != 0.5 {
				changed++
			}
		}
	}
	if changed < 1900 || changed > 2200 { // (40−1)·½ + 1 of 40 coordinates
		t.Errorf("changes %.2f coordinates on average", float64(changed)/100)
	}
}

func TestTrustRegionScores(t *testing.T) {
	t.Parallel()
	s := line(1, filled(4, 0), filled(4, 1), filled(4, 0), filled(4, 1))
	s.Past = []Past{{Point: []float64{0}, Complete: true, Costs: []float64{-1}}}
	for range 2 { // two failures of one parameter each: a side of 0.2
		s.Past = append(s.Past, Past{Point: []float64{0.3}, Complete: true, Suggested: true, Reward: -1, Costs: []float64{-1}})
	}
	a := trustRegion{}
	equal(t, "widths", a.functions(s), []float64{1, 1})
	s.Functions = [][]float64{{1, 2}, {-1, 0.5}}
	scores := sure(a.Score(s))
	if !same(scores.Allowed, []bool{true, false}) {
		t.Errorf("allows %v", scores.Allowed)
	}
	equal(t, "reward", scores.Value, []float64{1, 2})
	equal(t, "least violation", scores.Fallback, []float64{0, -0.5})
	equal(t, "draws", standardised(&Input{Reward: s.Reward, Costs: s.Costs, Functions: s.Functions}, 1), []float64{2, 0.5})
	s.Reward.SD[1] = 0
	equal(t, "draws of what is known", standardised(s, 1), []float64{0, 0.5})
	s.Reward.SD[1] = 1
	for _, c := range []struct {
		known []bool
		want  []int
	}{
		{[]bool{false, false, false, false}, []int{0, 1}}, // the region
		{[]bool{true, false, false, false}, []int{1}},
		{[]bool{true, true, false, false}, []int{2, 3}}, // all of the region is known
		{[]bool{true, true, true, true}, []int{0, 1}},
	} {
		if s.Set.Known = c.known; !slices.Equal(a.considers(s), c.want) {
			t.Errorf("considers %v of %v, want %v", a.considers(s), c.known, c.want)
		}
	}
	s.Functions, s.Set.Design = nil, func() []float64 { return []float64{0.2} }
	s.Set.Dissimilarity = func(u, v []float64) float64 { return math.Abs(u[0] - v[0]) }
	spread := sure(a.Score(s))
	equal(t, "spread", spread.Value, []float64{-0.2, -0.1, 0, -0.1})
	if spread.Reason != Restart {
		t.Errorf("spreads because of %s", spread.Reason)
	}
}

// TestTrustRegionOfCategories counts how many categories differ, however they are numbered.
func TestTrustRegionOfCategories(t *testing.T) {
	t.Parallel()
	set := &Set{Free: []bool{true, true, true, true}, Choices: []int{4, 8, 2, 0}}
	centre := []float64{0.125, 0.0625, 0.25, 0.5}
	for _, c := range []struct {
		side float64
		u    []float64
		want bool
	}{
		{0.8, []float64{0.875, 0.9375, 0.75, 0.5}, true},  // ⌈0.8·3⌉ = 3 may differ
		{0.4, []float64{0.875, 0.9375, 0.25, 0.6}, true},  // 2
		{0.4, []float64{0.375, 0.1875, 0.75, 0.5}, false}, // though all three are listed next to the centre's
		{0.1, []float64{0.875, 0.0625, 0.25, 0.5}, true},  // 1
		{0.1, []float64{0.875, 0.0625, 0.75, 0.5}, false},
		{0.1, []float64{0.125, 0.0625, 0.25, 0.6}, false}, // a number too far away
	} {
		if got := (region{centre: centre, side: c.side}).contains(c.u, set); got != c.want {
			t.Errorf("side %g, %v around %v: inside is %v", c.side, c.u, centre, got)
		}
	}
	s := &Input{Set: set, Past: []Past{{Point: centre, Complete: true}}}
	for _, u := range (trustRegion{}).propose(s) {
		if !(region{centre: centre, side: firstSide}).contains(u, set) {
			t.Fatalf("proposes %v, outside the region around %v", u, centre)
		}
	}
}
