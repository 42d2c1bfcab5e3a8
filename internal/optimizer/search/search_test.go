package search

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
)

func TestHaltonPrefixes(t *testing.T) {
	t.Parallel()
	few, many := Halton(10, 3, 5), Halton(200, 3, 5)
	if diff := cmp.Diff(few, many[:10]); diff != "" {
		t.Errorf("fewer points are not a prefix of more: %s", diff)
	}
	if cmp.Equal(few, Halton(10, 3, 6)) {
		t.Error("another seed gives the same points")
	}
}

// TestHaltonFillsSpace counts points in boxes of equal size: far more even than chance.
func TestHaltonFillsSpace(t *testing.T) {
	t.Parallel()
	counts := map[[2]int]int{}
	for _, u := range Halton(900, 2, 3) {
		for _, c := range u {
			if c < 0 || c >= 1 {
				t.Fatalf("%v is outside the unit square", u)
			}
		}
		counts[[2]int{int(3 * u[0]), int(3 * u[1])}]++
	}
	for box, n := range counts {
		if n < 90 || n > 110 {
			t.Errorf("box %v holds %d of 900 points, want about 100", box, n)
		}
	}
}

// polished is what polishing start comes to.
func polished(t *testing.T, p Problem, start []float64, step, finest float64, evaluations int, seed uint64) ([]float64, Score) {
	t.Helper()
	scores := must.Get(p.Score([][]float64{start}))(t)
	best, score := must.Get2(p.Polish(start, scores[0], step, finest, evaluations, seed))(t)
	return best, score
}

// TestPolishFollowsAKink climbs a ridge that runs across the axes and ends in a maximum on it.
func TestPolishFollowsAKink(t *testing.T) {
	t.Parallel()
	p := Problem{Axes: make([]Axis, 2), Score: func(points [][]float64) ([]Score, error) {
		scores := make([]Score, len(points))
		for i, u := range points {
			scores[i] = Score{Allowed: true, Value: -8*math.Abs(u[1]-0.7*u[0]-0.1) - math.Pow(u[0]-0.62, 2)}
		}
		return scores, nil
	}}
	start := []float64{0.1, 0.8}
	best, score := polished(t, p, start, 0.1, 1e-6, 4000, 1)
	if score.Value < -1e-3 {
		t.Errorf("ended at %v with %v, the maximum is 0 at 0.62, 0.534", best, score.Value)
	}
}

// TestPolishFollowsAnEdge climbs along the edge of what is allowed, towards which the score rises: a
// disc, a band across the axes, and a ring, into whose hole the score rises; by rules, or by what
// scores allow.
func TestPolishFollowsAnEdge(t *testing.T) {
	t.Parallel()
	from := func(u []float64, x, y float64) float64 { return math.Hypot(u[0]-x, u[1]-y) }
	for name, edge := range map[string]struct {
		start   []float64
		beyond  func(u []float64) float64
		value   func(u []float64) float64
		highest float64
	}{
		"disc": {[]float64{0.45, 0.6}, func(u []float64) float64 { return from(u, 0.4, 0.6) - 0.05 }, func(u []float64) float64 { return u[1] }, 0.65},
		"band": {[]float64{0.8, 0.75}, func(u []float64) float64 { return math.Abs(u[0]-u[1]) - 0.05 },
			func(u []float64) float64 { return u[0] - u[1] - math.Pow(u[0]-0.5, 2)/10 }, 0.05},
		"ring": {[]float64{0.2, 0.5}, func(u []float64) float64 { return math.Abs(from(u, 0.5, 0.5)-0.31) - 0.01 }, func(u []float64) float64 { return -from(u, 0.5, 0.7) }, -0.1},
	} {
		allowed := func(u []float64) bool { return edge.beyond(u) <= 1e-12 }
		for _, rules := range []bool{true, false} {
			p := Problem{Axes: make([]Axis, 2), Settle: allowed, Score: func(points [][]float64) ([]Score, error) {
				return lists.Map(points, func(u []float64) Score { return Score{Allowed: allowed(u), Value: edge.value(u)} }), nil
			}}
			short := 1e-6
			if !rules {
				short = 1e-3 // an edge is come near to in few steps
				p.Settle = func([]float64) bool { return true }
				p.Beyond = func(points [][]float64) ([]float64, error) { return lists.Map(points, edge.beyond), nil }
			}
			best, score := polished(t, p, edge.start, 0.0025, 1e-5, 400, 1)
			if !allowed(best) || score.Value < edge.highest-short {
				t.Errorf("%s, by rules %t: ended at %v with %v, the maximum is %v", name, rules, best, score.Value, edge.highest)
			}
		}
	}
}

// TestPolishKeepsToPlacesBesideAnEdge: what lies on the edge of one thing may be refused for another.
func TestPolishKeepsToPlacesBesideAnEdge(t *testing.T) {
	t.Parallel()
	p := Problem{Axes: make([]Axis, 2), Score: func(points [][]float64) ([]Score, error) {
		return lists.Map(points, func(u []float64) Score { return Score{Allowed: u[0] <= 0.5, Value: u[0]} }), nil
	}, Beyond: func(points [][]float64) ([]float64, error) {
		return lists.Map(points, func(u []float64) float64 {
			if math.IsNaN(u[0] + u[1]) {
				t.Fatalf("it is asked how far %v lies beyond", u)
			}
			return min(0, u[0]-0.5)
		}), nil
	}}
	if best, score := polished(t, p, []float64{0.3, 0.3}, 0.1, 1e-5, 400, 1); score.Value < 0.5-1e-4 {
		t.Errorf("ended at %v with %v", best, score)
	}
}

// TestPolishKeepsToWhatCanBeChosen moves in whole levels, among choices, and within the limits.
func TestPolishKeepsToWhatCanBeChosen(t *testing.T) {
	t.Parallel()
	settle := func(u []float64) bool {
		u[0] = math.Round(u[0]*10) / 10
		u[1] = (math.Floor(math.Min(u[1], 0.999)*3) + 0.5) / 3
		return u[0] <= 0.7
	}
	p := Problem{Axes: []Axis{{Levels: 11}, {Levels: 3, Choice: true}, {Fixed: true}}, Settle: settle,
		Score: func(points [][]float64) ([]Score, error) {
			scores := make([]Score, len(points))
			for i, u := range points {
				scores[i] = Score{Allowed: u[1] < 0.8, Value: u[0] + u[1]}
			}
			return scores, nil
		}}
	start := []float64{0.2, 1.0 / 6, 0.4}
	best, score := polished(t, p, start, 0.1, 1e-4, 500, 1)
	if want := []float64{0.7, 0.5, 0.4}; !cmp.Equal(best, want) || !score.Allowed {
		t.Errorf("ended at %v (%+v), want %v: one more level is not allowed, the last choice neither", best, score, want)
	}
}

// TestWalkSpreadsOverWhatIsLeft: a simplex of eight numbers, of which one point of the cube in
// 40,000 is a part, and where the mean of a number is 1/9 and of its square 2/90; one of two
// choices, half as much of it being allowed.
func TestWalkSpreadsOverWhatIsLeft(t *testing.T) {
	t.Parallel()
	const n = 8
	axes := append(make([]Axis, n), Axis{Levels: 2, Choice: true}, Axis{Fixed: true})
	settle := func(u []float64) bool {
		sum := 0.0
		for _, x := range u[:n] {
			sum += x
		}
		return sum <= 1 && (u[n] < 0.5 || u[0] <= u[1])
	}
	points := Walk(axes, settle, [][]float64{make([]float64, n+2)}, 20_000, 3)
	if len(points) != 20_000 {
		t.Fatalf("%d points", len(points))
	}
	var first, square, second float64
	for _, u := range points {
		if !settle(u) {
			t.Fatalf("%v is not allowed", u)
		}
		first, square = first+u[n-1]/20_000, square+u[n-1]*u[n-1]/20_000
		if u[n] > 0.5 {
			second += 1.0 / 20_000
		}
	}
	if math.Abs(first-1.0/9) > 0.005 || math.Abs(square-2.0/90) > 0.002 || math.Abs(second-1.0/3) > 0.03 {
		t.Errorf("a number is %.4f on average and its square %.4f, want 0.1111 and 0.0222; the second choice in %.3f of the points, want 0.333", first, square, second)
	}
	if Walk(axes, settle, nil, 10, 3) != nil {
		t.Error("a walk without a beginning")
	}
}
