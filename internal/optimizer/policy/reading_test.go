package policy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestChanceGiven compares with ∫ φ(x) Φ((b − r x)/√(1−r²)) dx/Φ(a) over x ≤ a by the trapezoidal
// rule, and with what is known in closed form.
func TestChanceGiven(t *testing.T) {
	t.Parallel()
	for _, a := range []float64{-9, -3, -0.5, 0, 1, 4} {
		for _, b := range []float64{-3, 0, 2} {
			for _, r := range []float64{-0.8, -0.2, 0.3, 0.9, 0.99} {
				const steps, reach = 40000, 12.0
				sum := 0.0
				for i := range steps {
					x := a - reach*(float64(i)+0.5)/steps
					sum += reach / steps * math.Exp(logDensity(x)-logNormal(a)) * normal((b-r*x)/math.Sqrt(1-r*r))
				}
				if got := chanceGiven(a, b, r); math.Abs(got-sum) > 1e-6 {
					t.Errorf("Φ₂(%g, %g; %g)/Φ(%g) is %g, want %g", a, b, r, a, got, sum)
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(5, 5))
	for range 20000 {
		a, b, r := 3*random.NormFloat64(), 3*random.NormFloat64(), bind(2.2*random.Float64()-1.1)
		if least, got := leastChanceGiven(a, b, r), chanceGiven(a, b, r); least > got*(1+1e-12) {
			t.Fatalf("Φ₂(%g, %g; %g)/Φ(%g) is %g, and said to be at least %g", a, b, r, a, got, least)
		}
	}
	if got := chanceGiven(0, 0, 0.5); math.Abs(got-2.0/3) > 1e-12 {
		t.Errorf("Φ₂(0, 0; ½)/Φ(0) is %g, want 2/3", got)
	}
	for _, a := range []float64{-30, -2, 0, 3} {
		if got := chanceGiven(a, a, mostCorrelated); math.Abs(got-1) > 1e-3 {
			t.Errorf("what is certain at %g has the chance %g", a, got)
		}
	}
}

// TestSlopesOfChance compares with differences.
func TestSlopesOfChance(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		a, b, r := 2*random.NormFloat64(), 2*random.NormFloat64(), 1.9*random.Float64()-0.95
		byA, byB, byR := slopesOfChance(a, b, r, chanceGiven(a, b, r))
		const step = 1e-5
		log := func(a, b, r float64) float64 { return math.Log(chanceGiven(a, b, r)) }
		if chanceGiven(a, b, r) < 1e-6 {
			continue
		}
		for what, c := range map[string][2]float64{
			"a": {byA, log(a+step, b, r) - log(a-step, b, r)}, "b": {byB, log(a, b+step, r) - log(a, b-step, r)}, "r": {byR, log(a, b, r+step) - log(a, b, r-step)},
		} {
			if want := c[1] / (2 * step); math.Abs(c[0]-want) > 1e-3*(1+math.Abs(want)) {
				t.Errorf("by %s at %g, %g, %g: %g, by differences %g", what, a, b, r, c[0], want)
			}
		}
	}
}

// simulated is E[W′(x) − W′(x*)]⁺ of a pair with one cost by drawing readings at x, the other value
// being the standard error.
func simulated(random *rand.Rand, p *pair, least float64) (mean, deviation float64) {
	const draws = 40000
	worth := func(mu, cost, sd float64) float64 { return normal(ratio(-cost, sd)) * (mu - least) }
	total := [2]float64{p.sd[0]*p.sd[0] + p.noise[0], p.sd[1]*p.sd[1] + p.noise[1]}
	sum, square := 0.0, 0.0
	for range draws {
		f, g := random.NormFloat64()/math.Sqrt(total[0]), random.NormFloat64()/math.Sqrt(total[1])
		left := math.Sqrt(max(0, p.sd[1]*p.sd[1]*p.noise[1]/total[1]))
		otherLeft := math.Sqrt(max(0, p.otherSD[1]*p.otherSD[1]-p.together[1]*p.together[1]/total[1]))
		x := worth(p.mean[0]+p.sd[0]*p.sd[0]*f, p.mean[1]+p.sd[1]*p.sd[1]*g, left)
		other := worth(p.otherMean[0]+p.together[0]*f, p.otherMean[1]+p.together[1]*g, otherLeft)
		gain := positive(x - other)
		sum += gain
		square += gain * gain
	}
	mean = sum / draws
	return mean, math.Sqrt((square/draws - mean*mean) / draws)
}

// TestTheValueOfAReading draws readings and compares. Each chance being taken at its mean, the closed
// form lacks what their variation is worth, which is most where limits read with more noise than they
// are uncertain: it makes up most of what it stands for, and is hardly ever more than a tenth above it.
func TestTheValueOfAReading(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	all, stated := 0.0, 0.0
	for range 60 {
		s := line(0, []float64{random.NormFloat64()}, []float64{0.1 + random.Float64()}, []float64{random.NormFloat64() - 0.5}, []float64{0.1 + random.Float64()})
		s.Incumbent = someIncumbent(random, s)
		s.Incumbent.Mean[1] = -math.Abs(s.Incumbent.Mean[1])
		p := newPair(2)
		p.load(s, 0)
		got := normal(-p.mean[1]/p.sd[1]) * ExpectedGain(s, 0)
		want, deviation := simulated(random, p, s.Incumbent.Least)
		if got > 1.1*want+0.01+4*deviation {
			t.Errorf("a reading is worth %g, by simulation %g ± %g: %+v", got, want, deviation, p)
		}
		all, stated = all+want, stated+got
	}
	if !(stated > 0.8*all) {
		t.Errorf("readings are worth %g in all, by simulation %g", stated, all)
	}
}

// TestReadingBesideTheIncumbentTeachesNothing goes towards x*, where everything is known of x that
// is known there.
func TestReadingBesideTheIncumbentTeachesNothing(t *testing.T) {
	t.Parallel()
	s := line(0, []float64{2}, []float64{0.3}, []float64{-0.4}, []float64{0.5})
	s.Incumbent = &Incumbent{Mean: []float64{2, -0.4}, SD: []float64{0.3, 0.5}, Least: -1, Covariance: [][]float64{{0.09}, {0.25}}, Noise: [][]float64{{0.2}, {0.1}}, Itself: []bool{false}}
	if got := ExpectedGain(s, 0); got > 1e-9 {
		t.Errorf("a reading beside the incumbent is worth %g", got)
	}
	s.Incumbent.Covariance = [][]float64{{0.02}, {0.05}}
	if got := ExpectedGain(s, 0); got < 0.01 {
		t.Errorf("a reading at a place as good that tells other things is worth %g", got)
	}
}

// TestReadingAgain has an incumbent that keeps its limit with an even chance, and another, worth
// less, that is sure. A reading without noise tells: in half of the cases the lab would use the
// other then.
func TestReadingAgain(t *testing.T) {
	t.Parallel()
	s := line(0, []float64{1}, []float64{0}, []float64{-5}, []float64{0.001})
	s.Incumbent = &Incumbent{Mean: []float64{4, 0}, SD: []float64{0, 1}, Least: 0, Covariance: [][]float64{{0}, {0}}, Noise: [][]float64{{0}, {0}}, Itself: []bool{false}}
	if got := repeatValue(s, []float64{0.1, 1e-9}); math.Abs(0.5*got-0.5*1) > 1e-3 {
		t.Errorf("asking again is worth %g, want a half of what the other has", 0.5*got)
	}
	if got := repeatValue(s, []float64{0.1, 100}); got > 0.02 {
		t.Errorf("a reading that tells next to nothing is worth %g", got)
	}
	s.Incumbent.Mean[1] = -6
	if got := repeatValue(s, []float64{0.1, 1e-9}); got > 1e-6 {
		t.Errorf("asking again what is certain is worth %g", got)
	}
}
