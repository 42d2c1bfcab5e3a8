package lab

import (
	"math"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// ladder is a table of ten settings x = 1…10 whose yield is 10x; cost x is allowed up to 8, so that
// 80 is the best.
func ladder(t testing.TB, direction string) *Problem {
	t.Helper()
	var rows []Row
	for x := 1.0; x <= 10; x++ {
		value := 10 * x
		if direction == "minimize" {
			value = 1000 / (10 * x)
		}
		rows = append(rows, Row{design.Settings{"x": design.NumberValue(x)}, Values{"yield": value, "cost": x}})
	}
	p := must.Get(newTable(design.Definition{
		Name: "ladder", Parameters: []design.Parameter{realParameter("x", 1, 10)},
		Objective:   design.Objective{Metric: "yield", Direction: direction},
		Constraints: []design.Constraint{{Metric: "cost", Op: "<=", Threshold: 8, Unit: "g"}},
	}, rows))(t)
	return p
}

// walk is a record of steps on the ladder.
func walk(p *Problem, start []int, asks ...int) *Record {
	b := studyWorld{Game: Game{Problem: p, Noise: Noise{Kind: NoNoise}}, visits: map[string]int{}}
	visit := func(x int) Trial { return b.measure(p.Study.Candidates[x-1]) }
	r := &Record{Looks: []Look{{Trials: len(start) + len(asks)}}}
	for _, x := range start {
		r.Start = append(r.Start, visit(x))
	}
	for _, x := range asks {
		r.Asks = append(r.Asks, visit(x))
	}
	return r
}

func figures(p *Problem, r *Record) map[string]float64 {
	values := map[string]float64{}
	for _, f := range Figures {
		values[f.Name] = f.Of(judgedGame{p, r})
	}
	return values
}

func wantFigures(t *testing.T, what string, p *Problem, r *Record, want map[string]float64) {
	t.Helper()
	got := figures(p, r)
	for name, w := range want {
		if g, ok := got[name]; !ok || !(math.Abs(g-w) < 1e-12 || g == w || math.IsNaN(g) && math.IsNaN(w)) {
			t.Errorf("%s: %s is %v, want %v", what, name, g, w)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	wantFigures(t, "a good walk", p, walk(p, []int{9, 2}, 9, 4, 10, 8, 8), map[string]float64{
		"share": (20 + 40 + 40 + 80 + 80) / 80. / 5, "final": 1, "to5": 4, "to1": 4, "in5": 1, "in1": 1,
		"infeasible": 2, "before": 0, "after": 2, "repeats": 2, "regret": 0, "none": 1, "best": 0,
	})
	spread := math.Sqrt(8.25) // of the cost, 1…10
	wantFigures(t, "a good walk", p, walk(p, []int{9, 2}, 9, 4, 10, 8, 8), map[string]float64{
		"to2": 4, "in2": 1, "seeking": 2, "rereading": 1, "excess": 2 / spread, "excesses": 3 / spread,
	})
	wantFigures(t, "never there", p, walk(p, []int{2}, 9, 2, 4, 4), map[string]float64{
		"to2": 5, "in2": 0, "seeking": 1, "rereading": 2, "repeats": 2, "excess": 1 / spread, "excesses": 1 / spread,
	})
	wantFigures(t, "no limit broken", p, walk(p, []int{9}, 1), map[string]float64{"excess": 0, "excesses": 0})
	for i, want := range []float64{2, 3} {
		f := p.LimitFigures()[i]
		if got := f.Of(judgedGame{p, walk(p, []int{9, 2}, 9, 4, 10, 8, 8)}); got != want || !strings.HasSuffix(f.Title, "beyond cost <= 8 g") {
			t.Errorf("%s is %v, want %v", f.Title, got, want)
		}
	}
	wantFigures(t, "nothing feasible for long", p, walk(p, []int{9}, 10, 9, 6, 10), map[string]float64{
		"share": 2 * 60. / 80 / 4, "final": 0.75, "to5": 5, "to1": 5, "in5": 0, "in1": 0,
		"infeasible": 3, "before": 2, "after": 1, "repeats": 2, "regret": 20,
	})
	wantFigures(t, "never feasible", p, walk(p, nil, 10, 9), map[string]float64{
		"share": 0, "final": 0, "before": 2, "after": 0, "regret": math.Inf(1), "to5": 3,
	})
	wantFigures(t, "there from the start", p, walk(p, []int{8}, 1), map[string]float64{"share": 1, "to5": 0, "to1": 0})
	// At 95 % and 99 % of the best, rounding aside.
	if !isWithin(0.95, 0.05) || isWithin(0.949, 0.05) || !isWithin(0.99, 0.01) {
		t.Error("within 5 % is not 95 % of the best")
	}
}

func TestFiguresOfACost(t *testing.T) {
	t.Parallel()
	p := ladder(t, "minimize") // 1000/(10x): the least allowed is 12.5 at x = 8
	wantFigures(t, "a cost", p, walk(p, []int{10}, 4, 8), map[string]float64{"share": (12.5/25 + 1) / 2, "to5": 2, "regret": 0})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	r := walk(p, []int{8, 9}, 3)
	for number, want := range map[int]Verdict{0: RecommendedNone, 1: RecommendedBest, 2: RecommendedInfeasible, 3: RecommendedOther} {
		r.Looks = []Look{{Trials: 3, Recommended: number}}
		if got := (judgedGame{p, r}).verdict(r.end()); got != want {
			t.Errorf("trial %d recommended is %s, want %s", number, got, want)
		}
	}
}

// TestLooksAreJudged by the truth of what is recommended at each: a broken limit, the best found, a
// broken limit again, half of what was found.
func TestLooksAreJudged(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	r := walk(p, []int{9}, slices.Repeat([]int{4, 9}, 20)...)
	r.Asks[30] = walk(p, nil, 8).Asks[0]
	r.Looks = []Look{{Trials: 12, Recommended: 3}, {Trials: 24, Recommended: 2}, {Trials: 40, Recommended: 3}, {Trials: 41, Recommended: 4}}
	wantFigures(t, "looks", p, r, map[string]float64{
		"kept12": 0, "lost12": math.Inf(1), "wrong12": 1, // trial 3 is a 9
		"kept24": 1, "lost24": 40, "wrong24": 0, // trial 2 is a 4, and nothing better was found
		"kept40": 0, "lost40": math.Inf(1), "wrong40": 1,
		"kept": 0.5, "lost": 40, "wrong": 0, // trial 4 is a 4, when an 8 was found
	})
	r.Looks = []Look{{Trials: 3}}
	wantFigures(t, "nothing recommended", p, r, map[string]float64{"kept": 0, "lost": math.Inf(1), "wrong": 0, "none": 1, "kept12": math.NaN(), "lost12": math.NaN(), "wrong12": math.NaN()})
	r = walk(p, nil, 9)
	wantFigures(t, "nothing found", p, r, map[string]float64{"kept": math.NaN()})
}

// TestWhatIsSaidToBeLeftIsJudged: intervals by the best value there is, 80, "little is left" by the
// truth of what was recommended, and what a lab has that stops on it.
func TestWhatIsSaidToBeLeftIsJudged(t *testing.T) {
	t.Parallel()
	for _, direction := range []string{"maximize", "minimize"} {
		p := ladder(t, direction)
		r := walk(p, []int{9}, 4, 8, 8)
		best := p.reward(Values{"yield": p.Scale.Best})
		between := func(low, high float64) *optimizer.BestRange {
			return &optimizer.BestRange{Low: best + low, High: best + high, Level: 0.9}
		}
		r.Looks = []Look{{Trials: 2, Best: between(1, 9)}, {Trials: 3, Recommended: 2, Best: between(-5, 0), Enough: true, Little: 1}, {Trials: 4, Recommended: 3, Enough: true, Little: 1}}
		wantFigures(t, direction, p, r, map[string]float64{"held": 0.5, "enough": 2, "mistaken": 0.5, "stopped": judgedGame{p, r}.share(r.trials()[1])})
		r.Looks = []Look{{Trials: 4, Recommended: 3}}
		wantFigures(t, "nothing said, "+direction, p, r, map[string]float64{"held": math.NaN(), "enough": 0, "mistaken": math.NaN(), "stopped": judgedGame{p, r}.share(r.trials()[2])})
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	r := walk(p, nil, 1, 2, 3, 4, 4, 5)
	r.Shown = map[string]optimizer.Calibration{
		"yield": {Coverage: optimizer.Coverage{Count: 4, Coverage95: 0.5}, New: optimizer.Coverage{Count: 3, Coverage50: 1, Coverage80: 0.5, Coverage95: 0.75}},
		"cost": {Coverage: optimizer.Coverage{Count: 1, Coverage95: 1}, New: optimizer.Coverage{Count: 1},
			Repeated: optimizer.Coverage{Count: 2, Coverage95: 0.25}},
	}
	wantFigures(t, "coverage", p, r, map[string]float64{"new50": 0.75, "new80": 0.375, "new95": 0.5625, "known95": 0.25, "shown95": 0.6})
	r.Shown = nil
	wantFigures(t, "nothing predicted", p, r, map[string]float64{"new95": math.NaN(), "known95": math.NaN()})
}

func TestAskTimes(t *testing.T) {
	t.Parallel()
	r := walk(ladder(t, "maximize"), nil, 1, 2, 3, 4, 5)
	for i := range r.Asks {
		r.Asks[i].Seconds = []float64{0.003, 0.001, 0.1, 0.002, 0.004}[i]
	}
	wantFigures(t, "times", ladder(t, "maximize"), r, map[string]float64{"p50": 3, "p95": 100})
}

func TestScales(t *testing.T) {
	t.Parallel()
	scaleOf := func(values ...float64) Scale {
		truths := lists.Map(values, func(v float64) Values { return Values{"y": v} })
		p := &Problem{Study: design.Definition{Objective: design.Objective{Metric: "y", Direction: "maximize"}}}
		return p.scaleOf(truths, math.NaN())
	}
	for _, c := range []struct {
		scale       Scale
		kind        ScaleKind
		value, want float64
	}{
		{scaleOf(0, 5, 10), Ratio, 5, 0.5},
		{scaleOf(-10, -5, -2), Inverse, -5, 0.4},
		{scaleOf(-10, 0, 10), Range, 5, 0.75},
		{scaleOf(-10, 0, 10), Range, -30, 0},
		{scaleOf(-10, 0), Range, -5, 0.5}, // a best of 0 has no ratios
		{scaleOf(3, 3), Ratio, 3, 1},
	} {
		if c.scale.Kind != c.kind || !(math.Abs(c.scale.Share(c.value)-c.want) <= 1e-12) {
			t.Errorf("%+v: the share of %v is %v, want %v by %s", c.scale, c.value, c.scale.Share(c.value), c.want, c.kind)
		}
	}
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	e := estimateOf([]float64{1, math.NaN(), 2, 3, 6})
	if e.N != 4 || e.Mean != 3 || e.Median != 2.5 || math.Abs(e.Error-math.Sqrt(14./3/4)) > 1e-15 {
		t.Errorf("got %+v", e)
	}
	if e := estimateOf([]float64{math.NaN()}); e.N != 0 || !math.IsNaN(e.Mean) || !math.IsNaN(e.Median) {
		t.Errorf("the mean of nothing is %+v", e)
	}
	if e := estimateOf([]float64{1, math.Inf(1), math.Inf(1)}); !math.IsInf(e.Median, 1) || !math.IsNaN(e.Error) {
		t.Errorf("never found in two of three games gives %+v", e)
	}
	if d := pairedDifference([]float64{5, 7, 9}, []float64{1, 3, 5}); d.Mean != 4 || d.Error != 0 {
		t.Errorf("a constant difference is %+v", d)
	}
	over := meanOver([]Estimate{{Mean: 1, Error: 3, N: 5}, {Mean: 2, Error: 4, N: 4}, {Mean: math.NaN()}})
	if over.N != 9 || over.Mean != 1.5 || over.Error != 2.5 {
		t.Errorf("over problems: %+v", over)
	}
	if none := meanOver([]Estimate{{Mean: math.NaN()}}); none.N != 0 || !math.IsNaN(none.Mean) {
		t.Errorf("over nothing: %+v", none)
	}
}
