package search_test

import (
	"errors"
	"math"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/descent"
	"headroom/internal/optimizer/search"
)

// twoTops is −100 (x − 0.25)² (x − 0.8)² − y² with its slopes, highest at (0.25, 0) and (0.8, 0);
// asked counts the points.
func twoTops(asked *int, allowed func(u []float64) bool) func(points [][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error) {
	return func(points [][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error) {
		var scores []search.Score
		var slopes []search.Slope
		for _, u := range points {
			*asked++
			a, b := u[0]-0.25, u[0]-0.8
			scores = append(scores, search.Score{Allowed: allowed(u), Value: -100*a*a*b*b - u[1]*u[1]})
			slopes = append(slopes, search.Slope{Along: []float64{-200 * a * b * (a + b), -2 * u[1]}})
		}
		return scores, some(slopes), nil
	}
}

// some tells slopes of those that are asked for.
func some(all []search.Slope) func(of []int) ([]search.Slope, error) {
	return func(of []int) (list []search.Slope, err error) {
		for _, n := range of {
			list = append(list, all[n])
		}
		return list, nil
	}
}

func everywhere([]float64) bool { return true }

// ascended leads starts up the two tops.
func ascended(t *testing.T, axes []search.Axis, allowed func(u []float64) bool, starts ...[]float64) (ascents []search.Ascent, asked int) {
	t.Helper()
	rise := twoTops(&asked, allowed)
	scores, _ := must.Get2(rise(starts))(t)
	climbs := &search.Climbs{Problem: search.Problem{Axes: axes, Rise: rise}}
	for i, u := range starts {
		climbs.Add(u, scores[i], 1e-12)
	}
	asked = 0
	must.Do(t, climbs.Follow())
	return climbs.Ascents, asked
}

func TestAscendReachesTheTopOfEachHill(t *testing.T) {
	t.Parallel()
	free := make([]search.Axis, 2)
	ascents, both := ascended(t, free, everywhere, []float64{0.1, 0.7}, []float64{0.95, 0.3})
	for i, top := range []float64{0.25, 0.8} {
		if a := ascents[i]; math.Abs(a.U[0]-top) > 1e-5 || a.U[1] > 1e-5 || a.Refused {
			t.Errorf("start %d ends at %+v, not on the top at %g", i, a, top)
		}
	}
	_, alone := ascended(t, free, everywhere, []float64{0.1, 0.7})
	_, other := ascended(t, free, everywhere, []float64{0.95, 0.3})
	if both != alone+other {
		t.Errorf("two ascents ask for %d points, alone for %d and %d", both, alone, other)
	}
	ascents, joined := ascended(t, free, everywhere, []float64{0.1, 0.7}, []float64{0.12, 0.71})
	if joined >= 2*alone-2 || ascents[0].Joined == ascents[1].Joined {
		t.Errorf("two starts of one way ask for %d points, one for %d: %+v", joined, alone, ascents)
	}
}

func TestAscendLeavesLevelsAndRefusesWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	ascents, _ := ascended(t, []search.Axis{{}, {Levels: 11}}, everywhere, []float64{0.1, 0.7})
	if a := ascents[0]; math.Abs(a.U[0]-0.25) > 1e-5 || a.U[1] != 0.7 {
		t.Errorf("with levels it ends at %v", a.U)
	}
	ascents, _ = ascended(t, make([]search.Axis, 2), func(u []float64) bool { return u[0] < 0.2 }, []float64{0.1, 0.7})
	if a := ascents[0]; !a.Refused || !a.Score.Allowed || a.U[0] >= 0.2 || a.U[0] < 0.19 {
		t.Errorf("at an edge it ends at %+v", a)
	}
	asked, stop := 0, errors.New("stop")
	climbs := &search.Climbs{Problem: search.Problem{Axes: make([]search.Axis, 2), Settle: func(u []float64) bool { return u[0] < 0.2 }, Rise: twoTops(&asked, everywhere)}}
	climbs.Add([]float64{0.1, 0.7}, search.Score{Allowed: true, Value: -10}, 1e-12)
	if err := climbs.Follow(); err != nil || !climbs.Ascents[0].Refused || climbs.Ascents[0].U[0] >= 0.2 {
		t.Errorf("at an edge of the space it ends at %+v, %v", climbs.Ascents[0], err)
	}
	climbs.Problem.Rise = func([][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error) {
		return nil, nil, stop
	}
	climbs.Add([]float64{0.1, 0.7}, search.Score{Allowed: true, Value: -10}, 1e-12)
	if err := climbs.Follow(); !errors.Is(err, stop) {
		t.Errorf("an error of Rise comes back as %v", err)
	}
}

// TestRidgesAreFollowed leads two starts up a roof whose ridge runs across the axes, −8·|y − 0.7x −
// 0.1| − (x − 0.62)², lets a third join them, and goes on to the top.
func TestRidgesAreFollowed(t *testing.T) {
	t.Parallel()
	asked := 0
	rise := func(points [][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error) {
		var scores []search.Score
		var slopes []search.Slope
		for _, u := range points {
			asked++
			across, along := u[1]-0.7*u[0]-0.1, u[0]-0.62
			scores = append(scores, search.Score{Allowed: true, Value: -8*math.Abs(across) - along*along})
			slopes = append(slopes, search.Slope{Along: []float64{-2 * along, 0}, Kinks: []descent.Kink{
				{Price: 8, Height: across, Slopes: []float64{-0.7, 1}}, {Price: 8, Height: -across, Slopes: []float64{0.7, -1}}}})
		}
		return scores, some(slopes), nil
	}
	ridges := &search.Climbs{Problem: search.Problem{Axes: make([]search.Axis, 2), Rise: rise}, Kinked: true}
	add := func(u ...float64) {
		scores, _, _ := rise([][]float64{u})
		ridges.Add(u, scores[0], 0.02)
		must.Do(t, ridges.Follow())
	}
	add(0.1, 0.8)
	add(0.9, 0.1)
	before := ridges.Ascents[ridges.Highest()[0]]
	add(before.U[0]+0.001, before.U[1]-0.01)
	order := ridges.Highest()
	first := ridges.Ascents[order[0]]
	if first.Score.Value > -1e-9 || first.Score.Value < -0.05 || len(order) > 2 {
		t.Errorf("%v stand, the highest at %+v", order, first)
	}
	ridges.Resume(order[0], 1e-14)
	must.Do(t, ridges.Follow())
	if top := ridges.Ascents[ridges.Highest()[0]]; math.Abs(top.U[0]-0.62) > 1e-6 || math.Abs(top.U[1]-0.534) > 1e-6 {
		t.Errorf("it ends at %+v, the top is at 0.62, 0.534", top)
	}
	if asked > 80 {
		t.Errorf("it asks for %d points", asked)
	}
}
