package optimizer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/search"
)

// gained is what could be gained from a state on.
func gained(t *testing.T, s *State, shares ...float64) Gain {
	t.Helper()
	gain, ok, err := s.Gain(background, Known{}, nil, shares...)
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	return gain
}

// apartArms is a study of candidates so far apart that nothing is learned of one from another, the
// first of which was read: its reward is 0 and its cost −1.
func apartArms(t *testing.T, arms int, change func(*Config)) *State {
	t.Helper()
	cfg := plain(t, 1, 1, func(c *Config) {
		for i := range arms {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i) / float64(arms)})
		}
		for i := range c.Metrics {
			c.Metrics[i].Kernel.Lengthscales, c.Metrics[i].Lambda = []float64{1e-3}, 1e-6
		}
		if change != nil {
			change(c)
		}
	}, `{}`)
	readings := []Reading{{Told: true, Revealed: 1}, {Told: true, Value: -1, Revealed: 1}}
	return mustReplay(t, cfg, &History{Rounds: []Round{{Point: cfg.Space.Arms[0], Arm: 0, Suggested: true, Readings: readings[:len(cfg.Metrics)]}}})
}

// TestGainOfOneUnknownCandidate: beside a known candidate of reward 0 within the limit there is one
// whose reward and cost are standard normal. So the best is above r > 0 with probability ½(1 −
// Φ(r)), and above 0 with ¼.
func TestGainOfOneUnknownCandidate(t *testing.T) {
	t.Parallel()
	gain := gained(t, apartArms(t, 2, nil), 0.001)
	if gain.Feasible != 1 || math.Abs(gain.Best.Low) > 0.01 || gain.Best.Level != 0.9 {
		t.Errorf("%+v; the known candidate is within the limit, and the lowest there is", gain)
	}
	if want := distuv.UnitNormal.Quantile(0.9); math.Abs(gain.Best.High-want) > 0.4 { // P(f* > r) = 0.05
		t.Errorf("the best may be %g, want %g", gain.Best.High, want)
	}
	if chance := gain.ChanceLeft[0].Chance; math.Abs(chance-0.25) > 0.08 {
		t.Errorf("the chance that something is left is %g, want ¼", chance)
	}
}

// TestGainKnowsWhereTrialsWork: where trials work at the unknown candidate with a chance of 0.4,
// that part of what it promises is left.
func TestGainKnowsWhereTrialsWork(t *testing.T) {
	t.Parallel()
	works := func(_ context.Context, at []Place) ([]float64, error) {
		chances := make([]float64, len(at))
		for i, place := range at {
			chances[i] = map[int]float64{0: 1, 1: 0.4}[place.Arm]
		}
		return chances, nil
	}
	state := apartArms(t, 2, nil)
	gain, ok, err := state.shown.gainWhere(background, Known{}, works, nil, []float64{0.001})
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	if chance := gain.ChanceLeft[0].Chance; math.Abs(chance-0.4*0.25) > 0.05 {
		t.Errorf("the chance that something is left is %g, want 0.1", chance)
	}
}

// TestNothingIsPromisedWhereTrialsFail: where what looks better lies beyond the edge of what works,
// less may be gained than the readings alone promise, and up to that edge more than was found; a
// draw's best is a place that works in it.
func TestNothingIsPromisedWhereTrialsFail(t *testing.T) {
	t.Parallel()
	steep := func(u []float64) float64 { return 3*u[0] + 2*u[2] }
	_, state := crashes(t, nil, 1, steep)
	gain := gained(t, state)
	bare, _ := must.Get2(state.shown.gainWhere(background, Known{}, nil, nil, nil))(t)
	const best = 3*1 + 2*0.2 // at the edge, u₀ + u₂ = 1.2
	if gain.Feasible != 1 {
		t.Errorf("in %g of the draws something works, where something worked", gain.Feasible)
	}
	if gain.Best.High > bare.Best.High-0.3 || gain.Best.Low > best || gain.Best.High < best-0.1 {
		t.Errorf("%+v; of the readings alone %+v; the best is %g", gain, bare, best)
	}
}

// TestGainIsTheLargestOfManyNormals: of n independent standard normal rewards without a limit in
// the way, the p-quantile of the largest is Φ⁻¹(p^{1/n}).
func TestGainIsTheLargestOfManyNormals(t *testing.T) {
	t.Parallel()
	const n = 20
	state := apartArms(t, n+1, func(c *Config) { c.Costs, c.Metrics = nil, c.Metrics[:1] })
	gain := gained(t, state)
	for p, is := range map[float64]float64{0.05: gain.Best.Low, 0.95: gain.Best.High} {
		if want := distuv.UnitNormal.Quantile(math.Pow(p, 1./n)); math.Abs(is-want) > 0.3 {
			t.Errorf("%g of the draws are below %g, want %g", p, is, want)
		}
	}
}

// estimatedArms is a study of candidates so far apart that nothing is learned of one from another, the
// first of which were read, and standardised by these readings.
func estimatedArms(t *testing.T, arms int, seed uint64, readings ...float64) *State {
	t.Helper()
	cfg := plain(t, 1, 0, func(c *Config) {
		for i := range arms {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i) / float64(arms)})
		}
		c.Metrics[0].Kernel.Lengthscales, c.Metrics[0].Lambda, c.Standardize, c.Seed = []float64{1e-3}, 1e-6, true, seed
	}, `{}`)
	h := &History{}
	for i, value := range readings {
		h.Rounds = append(h.Rounds, Round{Point: cfg.Space.Arms[i], Arm: i, Suggested: true, Readings: []Reading{{Told: true, Value: value, Revealed: i + 1}}})
	}
	state, _ := fitted(t, cfg, h)
	return state
}

// TestGainOfAnEstimatedScale: of n normal readings, of mean m and variance s² (÷n), the next lies below
// m + s √((n + 1)/(n − 1)) t with the probability that Student's t with n − 1 degrees of freedom has.
func TestGainOfAnEstimatedScale(t *testing.T) {
	t.Parallel()
	const n, m, seeds = 5., 20., 20
	s, high := math.Sqrt2, 0.
	for seed := range uint64(seeds) {
		high += gained(t, estimatedArms(t, n+1, seed, m-2, m-1, m, m+1, m+2)).Best.High / seeds
	}
	if want := m + s*math.Sqrt((n+1)/(n-1))*(distuv.StudentsT{Sigma: 1, Nu: n - 1}).Quantile(0.95); math.Abs(high-want) > 0.3 {
		t.Errorf("the best may be %g, want %g; of a scale that is known %g", high, want, m+s*distuv.UnitNormal.Quantile(0.95))
	}
}

// TestGainHoldsFromFewReadings: of fifteen normal candidates five are read, and the interval of 90 % holds
// the best of all as often, or oftener: the error of the mean, which all share, counts at each by itself.
func TestGainHoldsFromFewReadings(t *testing.T) {
	t.Parallel()
	const games, arms, read = 200, 15, 5
	random, held := rand.New(rand.NewPCG(1, 2)), 0
	for seed := range uint64(games) {
		values := lists.Of(arms, func(int) float64 { return 70 + 4*random.NormFloat64() })
		best := slices.Max(values)
		if is := gained(t, estimatedArms(t, arms, seed, values[:read]...)).Best; is.Low <= best+1e-3 && best <= is.High {
			held++
		}
	}
	if held < 0.88*games {
		t.Errorf("%d of %d intervals of 90 %% hold the best", held, games)
	}
}

// TestGainOfAKnownTable: where every candidate has been read without noise, the best is known, and
// nothing is left.
func TestGainOfAKnownTable(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) {
		c.Space.Arms = candidates(30, 2)
		for i := range c.Metrics {
			c.Metrics[i].Lambda = 1e-8
		}
	}, `{}`)
	h := amongArms(cfg, played(cfg, 30, 2))
	best := math.Inf(-1)
	for i := range h.Rounds {
		r := &h.Rounds[i]
		r.Arm, r.Point = i, cfg.Space.Arms[i]
		if r.Readings[1].Value <= cfg.Costs[0].Threshold {
			best = max(best, r.Readings[0].Value)
		}
	}
	gain := gained(t, mustReplay(t, cfg, h), 0.01)
	if math.Abs(gain.Best.Low-best) > 1e-3 || math.Abs(gain.Best.High-best) > 1e-3 || gain.Feasible != 1 || gain.ChanceLeft[0].Chance != 0 {
		t.Errorf("%+v, want %g for certain", gain, best)
	}
}

// TestPathsAreThePosterior: over the draws, values at the places drawn at have the posterior's
// means and standard deviations, and so, to what is lost between them, have others; whether metrics
// share a kernel or not.
func TestPathsAreThePosterior(t *testing.T) {
	t.Parallel()
	pathsAreThePosterior(t, nil)
	pathsAreThePosterior(t, func(c *Config) { c.Metrics[1].Kernel.Lengthscales = []float64{0.5, 0.2} })
}

func pathsAreThePosterior(t *testing.T, change func(*Config)) {
	t.Helper()
	cfg, h := hill(t, change)
	h.Rounds = h.Rounds[:12]
	state := mustReplay(t, cfg, h)
	at := sure(state.likelyMaximisers(background, Known{}, nil, 1))
	p := sure(state.drawPaths(background, at, Known{}, nil))
	some := append(at[:20:20], asPlaces(candidates(20, 2))...)
	estimates := sure(state.shown.estimate(background, some, nil))
	var points [][]float64
	for _, place := range some {
		points = append(points, place.U)
	}
	follows := sure(p.valuesAt(background, lists.Below(draws), points))
	for n, place := range some {
		var drawn [2][]float64
		for i := range draws {
			for k, v := range follows[i][n] {
				drawn[k] = append(drawn[k], v)
				if n < 20 && math.Abs(v-p.values[k][i][n]) > 1e-3 {
					t.Fatalf("draw %d of target %d is %g at a place where it was drawn as %g", i, k, v, p.values[k][i][n])
				}
			}
		}
		for k, e := range estimates {
			mean, sd := stat.MeanStdDev(drawn[k], nil)
			if math.Abs(mean-e.Mean[n]) > 4*e.SD[n]/16+1e-9 || math.Abs(sd-e.SD[n]) > 0.25*e.SD[n]+1e-9 {
				t.Errorf("target %d at %v: %g ± %g, want %g ± %g", k, place.U, mean, sd, e.Mean[n], e.SD[n])
			}
		}
	}
}

// TestClimbingADrawNeverLowersIt, and raises some.
func TestClimbingADrawNeverLowersIt(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	state := mustReplay(t, cfg, h)
	at := sure(state.likelyMaximisers(background, Known{}, nil, 1))
	p := sure(state.drawPaths(background, at, Known{}, nil))
	best, raised := sure(p.maxima(background)), 0
	for i, value := range best {
		before := p.top(i).score.Value
		if value < before {
			t.Fatalf("draw %d has %g at its best, and %g among the places it was drawn at", i, value, before)
		}
		if value > before {
			raised++
		}
	}
	if raised < draws/2 {
		t.Errorf("%d of %d draws were raised between the places they were drawn at", raised, draws)
	}
}

// TestDrawsAreClimbedByTheirRegions: where draws are highest near by is found but for a fifth of
// what is to be gained by many polls of the draws themselves.
func TestDrawsAreClimbedByTheirRegions(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	state := mustReplay(t, cfg, h)
	p := sure(state.drawPaths(background, sure(state.likelyMaximisers(background, Known{}, nil, 1)), Known{}, nil))
	best := sure(p.maxima(background))
	gained, left := 0.0, 0.0
	for i := range best {
		top := p.top(i)
		problem := search.Problem{Axes: cfg.Space.axes(), Score: func(points [][]float64) ([]search.Score, error) {
			values, err := p.valuesAt(background, []int{i}, points)
			if err != nil {
				return nil, err
			}
			return p.scorePoints(background, i, points, values[0])
		}}
		_, most := must.Get2(problem.Polish(top.u, top.score, state.spacing()/2, 1e-5, 500, 1))(t)
		gained += best[i] - top.score.Value
		left += max(0, most.Value-best[i])
	}
	if !(left < 0.2*(gained+left)) {
		t.Errorf("%g of %g is not found", left, gained+left)
	}
}

// TestBoundsLeaveOutNothingThatPromises: after many rounds few places are solved for, and those that
// promise most are the same.
func TestBoundsLeaveOutNothingThatPromises(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{}`)
	s := mustReplay(t, cfg, played(cfg, pruneFrom, 1)).shown
	at := s.withSpreadPoints(nil)
	c := s.newPreselection(Known{}, nil)
	all := s.scoresAt(sure(s.estimate(background, at, nil)), slices.Repeat([]float64{1}, len(at)), optimism)
	want := descending(all)[:promisingPlaces]
	slices.Sort(want)
	var got []Place
	for _, p := range sure(c.mostPromising(background, at, nil, promisingPlaces)) {
		got = append(got, p.Place)
	}
	if !cmp.Equal(got, lists.At(at, want)) {
		t.Errorf("%v, want %v", got, lists.At(at, want))
	}
}

// TestHopelessPlacesAreLeftOut: after many rounds functions are drawn at few places, and of 300
// others none is the best in more than one of the draws at all of them together.
func TestHopelessPlacesAreLeftOut(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, nil, `{}`)
	s := mustReplay(t, cfg, played(cfg, pruneFrom, 1)).shown
	few := sure(s.likelyMaximisers(background, Known{}, nil, 1))
	all := slices.Concat(few, s.withSpreadPoints(nil)[:100], asPlaces(s.pointsPlayed()))
	p, beyond := sure(s.drawPaths(background, all, Known{}, nil)), 0
	for i := range draws {
		if top := p.top(i); !slices.ContainsFunc(few, func(place Place) bool { return slices.Equal(place.U, top.u) }) {
			beyond++
		}
	}
	if len(few) > 150 || beyond > 1 {
		t.Errorf("drawn at %d places, and %d draws are best beyond them", len(few), beyond)
	}
}

// TestGainIsTheSameExtended as replayed, to the last bit, with hyperparameters drawn around fitted
// ones.
func TestGainIsTheSameExtended(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, adaptive)
	before := &History{Rounds: h.Rounds[:20]}
	_, before = fitted(t, cfg, before)
	whole := &History{Rounds: h.Rounds, Fits: before.Fits}
	extended := sure(mustReplay(t, cfg, before).Extend(background, whole))
	a, b := gained(t, extended, 0.01), gained(t, mustReplay(t, cfg, whole), 0.01)
	if !cmp.Equal(a, b) {
		t.Errorf("%+v extended, %+v replayed", a, b)
	}
}

// TestGainKnowsNoUnits: with the objective and its limit in thousandths, the interval is a thousand
// times as wide and the chance is the same.
func TestGainKnowsNoUnits(t *testing.T) {
	t.Parallel()
	of := func(unit float64) Gain {
		cfg, h := hill(t, func(c *Config) { adaptive(c) })
		cfg.Costs[0].Threshold *= unit
		for i := range h.Rounds {
			for m := range h.Rounds[i].Readings {
				h.Rounds[i].Readings[m].Value *= unit
			}
		}
		state, _ := fitted(t, cfg, h)
		return gained(t, state, 0.01)
	}
	a, b := of(1), of(1024)
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-6*(math.Abs(x)+1e-3) }
	if !near(a.Best.Low, b.Best.Low/1024) || !near(a.Best.High, b.Best.High/1024) || !near(a.ChanceLeft[0].Of, b.ChanceLeft[0].Of/1024) || a.ChanceLeft[0].Chance != b.ChanceLeft[0].Chance {
		t.Errorf("%+v, and a thousand times as large %+v", a, b)
	}
}

// TestGainIsOfTheRecommendedValue: shares are of its size, or, where readings lie on both sides of
// 0, of their span.
func TestGainIsOfTheRecommendedValue(t *testing.T) {
	t.Parallel()
	for _, shift := range []float64{-50, 0, 50} {
		cfg, h := hill(t, adaptive)
		least, most := math.Inf(1), math.Inf(-1)
		for i := range h.Rounds {
			h.Rounds[i].Readings[0].Value += shift
			least, most = min(least, h.Rounds[i].Readings[0].Value), max(most, h.Rounds[i].Readings[0].Value)
		}
		state, _ := fitted(t, cfg, h)
		round := sure(state.Recommendation(background))
		want := math.Abs(state.beliefs([]Place{state.placeOf(round)})[0].Mean[0])
		if shift == 0 {
			want = most - least
		}
		if gain := gained(t, state, 0.01); math.Abs(gain.ChanceLeft[0].Of-want) > 1e-9 || gain.OfRange != (shift == 0) {
			t.Errorf("shifted by %g shares are of %g, of the range %v, want %g", shift, gain.ChanceLeft[0].Of, gain.OfRange, want)
		}
	}
}

// TestChanceLeftIsBounded: with none of n draws the bound is 1 − 0.05^{1/n}, with all of them 1,
// and it is where so few draws are found with a probability of 5 %.
func TestChanceLeftIsBounded(t *testing.T) {
	t.Parallel()
	if none, all := chanceLeft(0.01, 1, 0), chanceLeft(0.01, 1, draws); math.Abs(none.AtMost-(1-math.Pow(0.05, 1./draws))) > 1e-9 || none.Chance != 0 || all.AtMost != 1 || all.Chance != 1 {
		t.Errorf("none %+v, all %+v", none, all)
	}
	some := chanceLeft(0.01, 1, 7)
	if p := (distuv.Binomial{N: draws, P: some.AtMost}).CDF(7); math.Abs(p-0.05) > 1e-6 {
		t.Errorf("7 draws or fewer have a probability of %g at the bound %g, want 0.05", p, some.AtMost)
	}
}

// TestGainHasTheTailsOfTheFit: a draw of a model with ν degrees of freedom is scaled by τ, τ⁻²
// having mean 1.
func TestGainHasTheTailsOfTheFit(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, adaptive)
	state, _ := fitted(t, cfg, h)
	sum, widest := 0.0, 0.0
	for _, scale := range state.scales(0) {
		sum += 1 / (scale * scale) / draws
		widest = max(widest, scale)
	}
	if math.Abs(sum-1) > 0.15 || widest < 2 {
		t.Errorf("mean of 1/τ² %g, want 1; largest τ %g", sum, widest)
	}
}

// TestGainOfNothing: where no draw has a place within the limits, and before a metric has a
// reading, there is nothing to say.
func TestGainOfNothing(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	cfg.Costs[0].Threshold = -9
	if gain, ok, err := mustReplay(t, cfg, h).Gain(background, Known{}, nil, 0.01); ok || err != nil {
		t.Errorf("%+v %v, though nothing is within the limit", gain, err)
	}
	cfg, h = hill(t, nil)
	for i := range h.Rounds {
		h.Rounds[i].Readings[1].Told = false
	}
	if gain, ok, err := mustReplay(t, cfg, h).Gain(background, Known{}, nil, 0.01); ok || err != nil {
		t.Errorf("%+v %v, though the cost was never read", gain, err)
	}
}

// TestGainBesideADoubt: where all that a fit was made from was taken out, and one reading in doubt is left,
// nothing says which other hyperparameters there may be.
func TestGainBesideADoubt(t *testing.T) {
	t.Parallel()
	cfg, h := lathe(t, 12)
	_, h = fitted(t, cfg, h)
	for i := range h.Rounds[1:] {
		h.Rounds[1+i].Excluded = true
	}
	h.Rounds[0].Readings[0].InDoubt, h.Rounds[0].Readings[0].Expected = true, 3
	gained(t, mustReplay(t, cfg, h))
}

// TestGainWhereNothingIsAround: where the best is a place of which the prior is sure and that has no
// neighbours, as 0 is to a line over few levels, there is nothing to climb, and it is known.
func TestGainWhereNothingIsAround(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 0, func(c *Config) {
		c.Space.Dims[0].Levels = 11
		c.Space.Settle = func(u []float64) bool { u[0] = math.Round(10*u[0]) / 10; return true }
		c.Metrics[0].Kernel = Kernel{Name: "linear", Lengthscales: []float64{1}, Variance: 1}
	}, `{}`)
	h := played(cfg, 4, 1)
	for i := range h.Rounds {
		h.Rounds[i].Readings[0].Value = -3 * h.Rounds[i].Point[0]
	}
	if gain := gained(t, mustReplay(t, cfg, h)); math.Abs(gain.Best.Low) > 1e-3 || math.Abs(gain.Best.High) > 1e-3 {
		t.Errorf("%+v, want 0", gain)
	}
}

// TestGainIsOfTheTrueLimit: a margin is the algorithm's, and changes nothing of what could be
// gained; a limit known beforehand leaves no doubt.
func TestGainIsOfTheTrueLimit(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	plainly := gained(t, mustReplay(t, cfg, h), 0.01)
	cfg, h = hill(t, nil)
	cfg.Costs[0].Margin = 0.1
	if wary := gained(t, mustReplay(t, cfg, h), 0.01); math.Abs(wary.Best.High-plainly.Best.High) > 1e-9 {
		t.Errorf("%+v with a margin, %+v without", wary, plainly)
	}
	cfg, h = hill(t, func(c *Config) {
		c.Metrics, c.Costs[0].Metric, c.Costs[0].Knowledge = c.Metrics[:1], -1, Given
		c.Metrics[0].Kernel.Name, c.Metrics[0].Kernel.Lengthscales, c.Metrics[0].Lambda = "se", []float64{1, 1}, 1e-6
	})
	for i := range h.Rounds {
		h.Rounds[i].Costs, h.Rounds[i].Readings = []float64{h.Rounds[i].Point[0]}, h.Rounds[i].Readings[:1]
	}
	known, ok, err := mustReplay(t, cfg, h).Gain(background, Known{At: func(_ int, u []float64) float64 { return u[0] }}, nil, 0.01)
	if want := 1 - 4*0.15*0.15; err != nil || !ok || math.Abs(known.Best.Low-want) > 0.01 || math.Abs(known.Best.High-want) > 0.01 {
		t.Errorf("%+v, want %g, the reward where the limit runs", known, want)
	}
}

// hill is a study of two parameters: the reward rises to a peak at (0.7, 0.4), the cost from left
// to right, its limit running through x = 0.55.
func hill(t *testing.T, change func(*Config)) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 1, change, `{}`)
	cfg.Costs[0].Threshold = 0.55
	h := &History{}
	for i := range 5 {
		for j := range 5 {
			x, y := float64(i)/4, float64(j)/4
			h.Rounds = append(h.Rounds, Round{Point: []float64{x, y}, Arm: -1, Suggested: true, Readings: []Reading{
				{Told: true, Value: 1 - 4*(x-0.7)*(x-0.7) - 2*(y-0.4)*(y-0.4), Revealed: len(h.Rounds) + 1},
				{Told: true, Value: x, Revealed: len(h.Rounds) + 1}}})
		}
	}
	return cfg, h
}

// knownHill is hill with a limit that is known at every place.
func knownHill(t *testing.T) (*Config, *History) {
	t.Helper()
	cfg, h := hill(t, nil)
	cfg.Metrics = cfg.Metrics[:1]
	cfg.Costs[0].Knowledge, cfg.Costs[0].Metric = Given, -1
	cfg.Settings = resolved(t, cfg, nil)
	for i := range h.Rounds {
		r := &h.Rounds[i]
		r.Readings, r.Costs = r.Readings[:1], []float64{r.Point[0]}
	}
	return cfg, h
}

// TestReadingsScatterMoreThanTheFunction: a reading has the function's uncertainty and its own
// noise, in the metric's units.
func TestReadingsScatterMoreThanTheFunction(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, nil)
	state := mustReplay(t, cfg, h)
	belief := state.beliefs([]Place{{U: []float64{0.33, 0.6}, Arm: -1}})[0]
	model := state.Models()[0]
	want := math.Sqrt(belief.SD[0]*belief.SD[0] + model.Lambda*model.Scale*model.Scale)
	if math.Abs(belief.ReadingSD[0]-want) > 1e-12 || !(belief.ReadingSD[0] > belief.SD[0]) {
		t.Errorf("a reading scatters by %g, the function by %g; want %g", belief.ReadingSD[0], belief.SD[0], want)
	}
}

// TestWhatHasNoRootEnds: where no function can be drawn the search for what to add to the
// covariance ends.
func TestWhatHasNoRootEnds(t *testing.T) {
	t.Parallel()
	k := must.Get(kernel.New("matern52", []float64{1}, 1))(t)
	X := kernel.NewInputs(1)
	X.Append([]float64{math.NaN()})
	X.Append([]float64{0.5})
	d := gp.NewData(k)
	if _, err := jitteredCholesky(sure(d.Covariance(background, X))); !errors.Is(err, factor.ErrNotPositiveDefinite) {
		t.Errorf("a covariance that is no number has a root: %v", err)
	}
}

// TestRegionsOfManyChoicesAreNotHeldAllAtOnce: each has a covariance of as many points as there are
// choices.
func TestRegionsOfManyChoicesAreNotHeldAllAtOnce(t *testing.T) {
	const choices = 300
	cfg := plain(t, 1, 1, func(c *Config) {
		c.Space.Dims = []Dim{{Kind: Categorical, High: 1, Choices: choices}}
		for i := range c.Metrics {
			c.Metrics[i].Kernel.Lengthscales = slices.Repeat([]float64{1.4}, choices)
		}
	}, `{}`)
	s := mustReplay(t, cfg, played(cfg, 12, 1))
	places := s.withSpreadPoints(nil)
	places = places[:min(len(places), 40)]
	p := sure(s.shown.drawPaths(background, places, Known{}, nil))
	tops := make([]climber, draws)
	for i := range tops {
		n := i % len(places)
		tops[i] = climber{places[n].U, p.scoreAt(i, n)}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	held := func() int64 {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return int64(now.HeapAlloc)
	}
	runtime.GC()
	before, most, done := held(), int64(0), make(chan error)
	go func() { done <- p.climb(background, tops) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if more := (most - before) >> 20; more > 100 {
				t.Errorf("%d regions of %d choices took %d MiB", len(p.regions(tops)), choices, more)
			}
			return
		case <-time.After(10 * time.Millisecond):
			most = max(most, held())
		}
	}
}

// TestRegionsSpanWhatChangesMost: of many numbers those along which the functions change most, of
// those that are level now these and now those, and every choice.
func TestRegionsSpanWhatChangesMost(t *testing.T) {
	t.Parallel()
	const numbers, choice = 20, 20
	cfg := plain(t, numbers, 1, func(c *Config) {
		c.Space.Dims = append(c.Space.Dims, Dim{Kind: Categorical, High: 1, Choices: 3})
		for i := range c.Metrics {
			c.Metrics[i].Kernel.Lengthscales = slices.Repeat([]float64{3}, numbers+3)
		}
		c.Metrics[0].Kernel.Lengthscales[5], c.Metrics[1].Kernel.Lengthscales[11] = 0.4, 0.4
	}, `{}`)
	s := mustReplay(t, cfg, played(cfg, 30, 1))
	p := sure(s.shown.drawPaths(background, s.withSpreadPoints(nil)[:60], Known{}, nil))
	tops := make([]climber, draws)
	for i := range tops {
		tops[i] = p.top(i)
	}
	regions := p.regions(tops)
	moves := map[int]int{}
	for _, r := range regions {
		moved := map[int]bool{}
		for _, u := range r.at {
			for k, v := range u {
				if v != r.at[0][k] {
					moved[k] = true
				}
			}
		}
		for k := range moved {
			moves[k]++
		}
		if len(moved) != mostSpanned+1 || countFree(r.axes) != len(moved) || len(r.at) > 1+regionPoints*(mostSpanned+1)+3 {
			t.Errorf("a region of %d points spans %v", len(r.at), moved)
		}
	}
	if len(regions) < 3 || moves[5] != len(regions) || moves[11] != len(regions) || moves[choice] != len(regions) || len(moves) < mostSpanned+4 {
		t.Errorf("%d regions span %v", len(regions), moves)
	}
}

// TestWhatIsRecommendedMayBreakALimit: in the draws in which it does, stopping there is no success,
// however little better the others are.
func TestWhatIsRecommendedMayBreakALimit(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) {
		c.Space.Arms = [][]float64{{0}, {1}}
		for i := range c.Metrics {
			c.Metrics[i].Kernel.Lengthscales, c.Metrics[i].Lambda = []float64{0.05}, 0.01
		}
		c.Metrics[1].Lambda = 1
	}, `{}`)
	h := &History{Rounds: []Round{
		{Point: []float64{0}, Arm: 0, Suggested: true, Readings: []Reading{{Told: true, Value: 10, Revealed: 1}, {Told: true, Value: -0.6, Revealed: 1}}},
		{Point: []float64{1}, Arm: 1, Suggested: true, Readings: []Reading{{Told: true, Value: 1, Revealed: 2}, {Told: true, Value: -9, Revealed: 2}}},
	}}
	s := mustReplay(t, cfg, h)
	if n := sure(s.Recommendation(background)); n != 1 {
		t.Fatalf("trial %d is recommended", n)
	}
	_, chances := must.Get2(s.Believe(background, []Place{{U: []float64{0}, Arm: 0}}, nil))(t)
	if left := gained(t, s, 0.01).ChanceLeft[0].Chance; math.Abs(left-(1-chances[0])) > 0.1 || chances[0] > 0.8 {
		t.Errorf("the chance that something is left is %g, where what is recommended keeps the limit with %g", left, chances[0])
	}
}

// TestAShareOfALargeOffset: where a hundredth of the value is more than all readings lie apart, it is
// no measure of what is left; where they do not lie apart, their distance is none.
func TestAShareOfALargeOffset(t *testing.T) {
	t.Parallel()
	for offset, ofRange := range map[float64]bool{2: false, 1e6: true} {
		cfg, h := hill(t, func(c *Config) { c.Standardize = true })
		for i := range h.Rounds {
			h.Rounds[i].Readings[0].Value += offset
		}
		of := FittedMetric{Set: true, Centre: offset, Scale: 1, Count: 25}
		h.Fits = []Fit{{From: 26, Metrics: []FittedMetric{of, {Set: true, Scale: 1, Count: 25}}}}
		level := sure(mustReplay(t, cfg, leveled(h, offset)).shown.Recommendation(background))
		if size, _, err := mustReplay(t, cfg, leveled(h, offset)).shown.shareUnit(background, max(level, 1), []float64{0.01}); err != nil || !(size > 0) {
			t.Errorf("at %g, with all readings equal, it is a share of %g, %v", offset, size, err)
		}
		if gain := gained(t, mustReplay(t, cfg, h), 0.01); gain.OfRange != ofRange || ofRange && gain.ChanceLeft[0].Of > 10 {
			t.Errorf("at %g it is a share of %g, %v", offset, gain.ChanceLeft[0].Of, gain.OfRange)
		}
	}
}

// TestASlipIsNoMeasure: how far readings lie apart, of which what is left is a share and the steps of a price
// are, is said without those in doubt.
func TestASlipIsNoMeasure(t *testing.T) {
	t.Parallel()
	cfg, h := hill(t, adaptive)
	of := FittedMetric{Set: true, Scale: 1, Lengthscales: []float64{0.4, 0.4}, Lambda: 0.01, Variance: 1, Count: 25}
	h.Fits = []Fit{{From: 26, Metrics: []FittedMetric{of, of}}}
	measures := func() (float64, []float64) {
		state := mustReplay(t, cfg, h)
		size, _, err := state.shown.shareUnit(background, 13, []float64{0.01})
		return sure(size, err), state.pricedThresholds(0)
	}
	size, thresholds := measures()
	h.Rounds[12].Readings[0] = Reading{Told: true, Value: 80, Revealed: 13, InDoubt: true, Expected: 0.8}
	h.Rounds[7].Readings[1] = Reading{Told: true, Value: -25, Revealed: 8, InDoubt: true, Expected: 0.25}
	if slipped, moved := measures(); math.Abs(slipped-size) > 0.1 || !slices.Equal(moved, thresholds) {
		t.Errorf("%g and %v with a slip in doubt, %g and %v without", slipped, moved, size, thresholds)
	}
	for i := range h.Rounds {
		h.Rounds[i].Readings[0].InDoubt = true
	}
	measures()
}

// leveled is a history in which every reward was read as the same.
func leveled(h *History, value float64) *History {
	level := &History{Fits: h.Fits}
	for _, r := range h.Rounds {
		r.Readings = slices.Clone(r.Readings)
		r.Readings[0].Value = value
		level.Rounds = append(level.Rounds, r)
	}
	return level
}

// TestDrawnHyperparametersKnowNoInflation: what is drawn around a fit is of the readings and their noise, by
// setting too where that differs; inflation comes on top.
func TestDrawnHyperparametersKnowNoInflation(t *testing.T) {
	t.Parallel()
	var drawn [2][]float64
	for i, inflation := range []float64{1, 3} {
		cfg, h := lathe(t, 30)
		of := FittedMetric{Set: true, Centre: 1, Scale: 2, Lengthscales: []float64{0.4}, Lambda: 0.1, Variance: 2, Count: 30, Inflation: inflation,
			Settings: []NoiseAt{{1, 0.4}, {2, 0.001}, {3, 0.4}, {4, 0.001}, {5, 0.4}, {6, 0.4}}, Wrong: []NoiseAt{{9, 5}}}
		h.Fits = []Fit{{From: 31, Metrics: []FittedMetric{of, of}}}
		state := mustReplay(t, cfg, h)
		src := &state.shown.sources[state.shown.sourceOf[1]]
		for _, m := range sure(state.sampledModels(1, src, sure(src.Rows(t.Context())))) {
			drawn[i] = append(drawn[i], m.kernel.Lengthscales[0], m.kernel.Variance/inflation, m.lambda/inflation)
		}
	}
	if len(drawn[0]) == 0 || !slices.EqualFunc(drawn[0], drawn[1], within9) {
		t.Errorf("%v\n%v", drawn[0], drawn[1])
	}
}
