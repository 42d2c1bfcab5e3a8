package descent

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestProgramsAreSolved checks what holds at the solution alone: g + Aᵀλ = −Bd, and λ_k is 0 where
// h_k + a_kᵀd is below 0, p_k where it is above, and between where it is 0.
func TestProgramsAreSolved(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 0))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = random.NormFloat64()
		}
		return v
	}
	between := 0
	for range 2000 {
		n := 1 + random.IntN(6)
		p := program{gradient: normal(n), inverse: unlearned(n, math.Exp(4*random.NormFloat64()))}
		for range 3 * n {
			s, y := normal(n), normal(n)
			for i := range y {
				y[i] = s[i] + 0.3*y[i]
			}
			p.inverse = p.inverse.learn(s, y)
		}
		for range random.IntN(5) {
			p.kinks = append(p.kinks, Kink{math.Exp(2 * random.NormFloat64()), random.NormFloat64() / 4, normal(n)})
		}
		for i := range n {
			p.kinks = append(p.kinks, bound(n, i, 1, -random.Float64()), bound(n, i, -1, -random.Float64()))
		}
		s := p.solve()
		size := largest(s.step, nil)
		for i, v := range p.inverse.times(s.left) {
			if math.Abs(s.step[i]+v) > 1e-8*size {
				t.Fatalf("−B⁻¹(g + Aᵀλ) is %g along %d, the step %g", -v, i, s.step[i])
			}
		}
		for k, kink := range p.kinks {
			height, lambda := kink.Height+product(kink.Slopes, s.step), s.multipliers[k]
			switch slack := 1e-6 * (size + math.Abs(kink.Height)); {
			case lambda < 0 || lambda > kink.Price:
				t.Fatalf("λ is %g, the price %g", lambda, kink.Price)
			case height > slack && lambda < kink.Price, height < -slack && lambda > 0:
				t.Fatalf("kink %d of %d comes to %g with λ %g of %g", k, len(p.kinks), height, lambda, kink.Price)
			case 0 < lambda && lambda < kink.Price:
				between++
			}
		}
	}
	if between < 2000 {
		t.Errorf("%d multipliers are between their bounds", between)
	}
}
