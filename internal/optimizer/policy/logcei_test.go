package policy

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"headroom/internal/must"
)

// TestLogTails compares with integrals worked out to 50 digits by double exponential quadrature in
// decimal arithmetic: Φ(−x) = φ(x) ∫₀^∞ e^{−xt−t²/2} dt and h(−x) = φ(x) ∫₀^∞ t e^{−xt−t²/2} dt,
// without the continued fraction.
func TestLogTails(t *testing.T) {
	t.Parallel()
	file := must.Get(os.Open("testdata/log_tails.csv"))(t)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 30 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && !(math.Abs(v) < 1e-300) {
			t.Fatal(err)
		}
		return v
	}
	for _, row := range rows[1:] {
		z, normal, improvement := number(row[0]), number(row[1]), number(row[2])
		if got := logNormal(z); !(math.Abs(got-normal) <= 1e-13*math.Abs(normal)) {
			t.Errorf("ln Φ(%g) = %.17g, want %.17g", z, got, normal)
		}
		if got := logImprovement(z); !(math.Abs(got-improvement) <= 1e-13*math.Max(1, math.Abs(improvement))) {
			t.Errorf("ln h(%g) = %.17g, want %.17g", z, got, improvement)
		}
	}
	if logNormal(math.Inf(-1)) != math.Inf(-1) || logImprovement(math.Inf(-1)) != math.Inf(-1) || logNormal(math.Inf(1)) != 0 {
		t.Error("infinite z")
	}
}

// TestLogTailsRise checks that both functions rise without a step where their forms meet.
func TestLogTailsRise(t *testing.T) {
	t.Parallel()
	for _, f := range []func(float64) float64{logNormal, logImprovement} {
		last := math.Inf(-1)
		for z := -60.0; z < 6; z += 1.0 / 512 {
			v := f(z)
			if !(v > last) {
				t.Fatalf("falls from %g to %g at %g", last, v, z)
			}
			last = v
		}
	}
}

// certain is a rival that is known, beside places with these deviations: what readings without
// noise leave.
func certain(reward, cost, least float64, places int) *Incumbent {
	none := func() [][]float64 { return [][]float64{make([]float64, places), make([]float64, places)} }
	return &Incumbent{Mean: []float64{reward, cost}, SD: make([]float64, 2), Least: least, Covariance: none(), Noise: none(), Itself: make([]bool, places)}
}

// TestWithoutNoiseItIsExpectedImprovement compares with the plain product where that does not
// underflow, and orders points where it does.
func TestWithoutNoiseItIsExpectedImprovement(t *testing.T) {
	t.Parallel()
	a := made(t, "log-cei", `{}`, studyOf(1))
	careful := made(t, "log-cei", `{"caution": 4}`, studyOf(1))
	candidates := studyOf(1)
	candidates.Listed = true
	listed := made(t, "log-cei", `{}`, candidates)
	random := rand.New(rand.NewPCG(4, 4))
	mean, sd, costMean, costSD := make([]float64, 50), make([]float64, 50), make([]float64, 50), make([]float64, 50)
	for i := range mean {
		mean[i], sd[i] = random.NormFloat64()-1, random.ExpFloat64()
		costMean[i], costSD[i] = random.NormFloat64(), random.ExpFloat64()
	}
	s := line(0, mean, sd, costMean, costSD)
	chances := sure(a.Score(s))
	s.Incumbent = certain(0.5, -1, -2, 50)
	scores, cautious, amongCandidates := sure(a.Score(s)), sure(careful.Score(s)), sure(listed.Score(s))
	for i := range mean {
		chance := normal(-costMean[i] / costSD[i])
		improvement := ExpectedImprovement(mean[i]-0.5, sd[i])
		near := func(what string, got, want float64) {
			t.Helper()
			if want > 1e-200 && math.Abs(math.Exp(got)-want) > 1e-9*want {
				t.Errorf("place %d: %s is e^%g, want %g", i, what, got, want)
			}
		}
		near("the chance", chances.Value[i], math.Sqrt(chance))
		near("the score", scores.Value[i], improvement*math.Sqrt(chance))
		near("the cautious score", cautious.Value[i], improvement*chance*chance)
		near("the score among candidates", amongCandidates.Value[i], improvement*chance)
	}
	far := line(0, make([]float64, 3), make([]float64, 3), []float64{90, 91, 1e6}, []float64{1, 1, 1})
	if got := sure(a.Score(far)).Value; !(got[0] > got[1] && got[1] > got[2] && got[2] > -1e13) {
		t.Errorf("hopeless places score %v", got)
	}
	if got := largestOf(sure(a.Score(far)).Value); got != 0 {
		t.Errorf("chooses %d of the hopeless", got)
	}
}

// largestOf is the index of the largest value.
func largestOf(values []float64) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// TestMostRisk leaves out what is riskier than is left, and falls back to the least risky.
func TestMostRisk(t *testing.T) {
	t.Parallel()
	a := made(t, "log-cei", `{}`, studyOf(1))
	s := line(0, []float64{1, 2, 3}, filled(3, 1), []float64{-2, -0.5, 1}, filled(3, 1)) // risks .02, .31, .84
	s.TooRisky = []bool{false, true, true}
	if scores := sure(a.Score(s)); !same(scores.Allowed, []bool{true, false, false}) || largestOf(scores.Fallback) != 0 {
		t.Errorf("allows %v, falls back on %v", scores.Allowed, scores.Fallback)
	}
}

// TestMostRiskIsOneNumberOrOneForEachLimit also refuses what can be no risk, and one for a limit
// that is known beforehand.
func TestMostRiskIsOneNumberOrOneForEachLimit(t *testing.T) {
	t.Parallel()
	study := studyOf(2)
	for settings, faults := range map[string]int{`{"most_risk": 0.1}`: 0, `{"most_risk": {"limit1": 0.1}}`: 0, `{"most_risk": {"default": 0.1, "LIMIT2": 1}}`: 0,
		`{"most_risk": 0}`: 1, `{"most_risk": {"limit1": 0}}`: 1, `{"most_risk": {"elsewhere": 0.1}}`: 1, `{"most_risk": {"default": 1.1, "limit1": -1}}`: 2} {
		if _, got := settle(t, "log-cei", settings, study); len(got) != faults {
			t.Errorf("%s gives %v", settings, got)
		}
	}
	study.CostMetrics[1] = ""
	if _, got := settle(t, "log-cei", `{"most_risk": {"limit1": 0.1, "limit2": 0.1}}`, study); len(got) != 1 || got[0].Path != "most_risk.limit2" {
		t.Errorf("a risk for what is known beforehand gives %v", got)
	}
	if _, got := settle(t, "log-cei", `{"most_risk": {"default": 0.1}}`, study); len(got) != 0 {
		t.Errorf("a risk for those not named gives %v", got)
	}
}

// TestGivenCostsAreKept treats a cost known beforehand as a limit, whatever may be gained beyond
// it.
func TestGivenCostsAreKept(t *testing.T) {
	t.Parallel()
	a := made(t, "log-cei", `{}`, studyOf(1))
	s := line(0, make([]float64, 3), filled(3, 1), []float64{0.4, 0.1, -3}, make([]float64, 3))
	s.Given = []bool{true}
	s.Incumbent = certain(0, -1, -1, 3)
	s.Reward.Mean = []float64{9, 9, -9}
	scores := sure(a.Score(s))
	if !same(scores.Allowed, []bool{false, false, true}) || largestOf(scores.Fallback[:2]) != 1 {
		t.Errorf("allows %v, falls back on %v", scores.Allowed, scores.Fallback)
	}
	for _, unit := range []float64{1e-9, 1, 100, 1e9} { // of the limit
		s := line(0, make([]float64, 3), filled(3, 1), []float64{4 * unit, 1.01 * unit, unit}, make([]float64, 3))
		s.Given = []bool{true}
		if fallback := sure(a.Score(s)).Fallback; !(fallback[0] < fallback[1]-1e-6*math.Abs(fallback[1]) && fallback[1] < fallback[2]-1e-6*math.Abs(fallback[2])) {
			t.Errorf("beyond by 4, 1.01 and 1 of %g it falls back on %v", unit, fallback)
		}
	}
}

// TestLikelyBest weighs a reward with the chance to have it: a lucky reading makes no incumbent,
// and no chance is so low that nothing is compared with.
func TestLikelyBest(t *testing.T) {
	t.Parallel()
	chances, looks := []float64{1, 0.4, 0.9, 1, 1, 1}, 0
	played := &Input{Reward: Estimate{Mean: []float64{1, 3, 2, 0, 0, 0}}, Costs: []Estimate{{Mean: []float64{-1, 1, -1, -1, -1, -1}}}, Given: []bool{false}}
	look := func(some []int) (*Input, error) {
		looks++
		input := &Input{Costs: []Estimate{{SD: filled(len(some), 1)}}, Given: played.Given}
		for _, i := range some {
			input.Reward.Mean = append(input.Reward.Mean, played.Reward.Mean[i])
			input.Costs[0].Mean = append(input.Costs[0].Mean, -math.Sqrt2*math.Erfinv(2*chances[i]-1))
		}
		return input, nil
	}
	if got := sure(likelyBest(played, look)); got != 2 || looks != 1 {
		t.Errorf("%d is the best after %d looks, want 2, worth .9·2, after one look: none of the others can be worth more", got, looks)
	}
	chances = []float64{0.2, 0.1, 0.05, 0.3, 0, 0}
	if got := sure(likelyBest(played, look)); got != 1 {
		t.Errorf("where nothing is likely %d is the best, want 1", got)
	}
	played.Given = []bool{true}
	if got := sure(likelyBest(played, look)); got == 1 {
		t.Error("what is known to break its limit is the best")
	}
}

// TestSlopesAreTheDerivatives compares with finite differences of the score, in the tails too.
func TestSlopesAreTheDerivatives(t *testing.T) {
	t.Parallel()
	a := made(t, "log-cei", `{"caution": 2}`, studyOf(2))
	random := rand.New(rand.NewPCG(8, 8))
	const n = 60
	numbers := func(scale float64) Estimate {
		e := Estimate{Mean: make([]float64, n), SD: make([]float64, n)}
		for i := range n {
			e.Mean[i], e.SD[i] = scale*random.NormFloat64(), 0.2+random.ExpFloat64()
		}
		return e
	}
	s := &Input{Reward: numbers(1), Costs: []Estimate{numbers(1), numbers(2)}, Given: []bool{true, false}}
	s.Costs[0].SD = make([]float64, n)
	for i := range n {
		s.Costs[0].Mean[i] = -1
	}
	s.Incumbent = someIncumbent(random, s)
	for _, cost := range []float64{-1, 0} { // a rival more and less likely to keep its limits
		s.Incumbent.Mean[2] = cost
		slopes := a.Traits().Slopes(s)
		for what, c := range map[string]struct{ of, slope []float64 }{
			"the reward's mean": {s.Reward.Mean, slopes.Reward.Mean}, "the reward's deviation": {s.Reward.SD, slopes.Reward.SD},
			"the reward's covariance": {s.Incumbent.Covariance[0], slopes.Covariance[0]}, "a cost's covariance": {s.Incumbent.Covariance[2], slopes.Covariance[2]},
			"a cost's mean": {s.Costs[1].Mean, slopes.Costs[1].Mean}, "a cost's deviation": {s.Costs[1].SD, slopes.Costs[1].SD},
			"a given cost's mean": {s.Costs[0].Mean, slopes.Costs[0].Mean},
		} {
			const step = 1e-5
			moved := func(by float64) []float64 {
				for i := range c.of {
					c.of[i] += by
				}
				return sure(a.Score(s)).Value
			}
			up := moved(step)
			down := moved(-2 * step)
			moved(step)
			for i := range n {
				want := (up[i] - down[i]) / (2 * step)
				if math.Abs(want) > 1e4 || math.Abs(up[i]) > 1e8 { // so far down a tail that differences of this step have no digits
					continue
				}
				if math.Abs(c.slope[i]-want) > 1e-2*(1+math.Abs(want)) {
					t.Errorf("by %s at place %d beside %g: %g, by differences %g", what, i, cost, c.slope[i], want)
				}
			}
		}
	}
	s.Incumbent = nil
	if a.Traits().Slopes(s).Covariance != nil {
		t.Error("slopes by covariances that there are not")
	}
	s.Costs[1].SD[3] = 0
	if got := a.Traits().Slopes(s).Costs[1]; got.Mean[3] != 0 || got.SD[3] != 0 {
		t.Errorf("slopes %g and %g where nothing is uncertain", got.Mean[3], got.SD[3])
	}
}
