package policy

import "math"

// What a reading is worth. Were the study to end now, the lab would use the played setting x* of
// the largest worth
//
//	W(x) = P(x)·(μ_f(x) − m),   P(x) = Π_j P(g_j(x) ≤ 0),
//
// a broken limit counting as m, the least mean reward of a setting played. A reading at x moves
// means and deviations, so that another setting may come to be worth more: its value is E[W′(x) −
// W′(x*)]⁺, W′ being what W will be then. This is the knowledge gradient (Frazier, Powell, Dayanik,
// The Knowledge-Gradient Policy for Correlated Normal Beliefs, 2009) under limits (Ungredda,
// Branke, Bayesian Optimisation for Constrained Problems, 2021), between the place and x*.
//
// With v the variance of f at x, λ the noise of a reading there, c the covariance of f(x) and
// f(x*), and Z standard normal, the means of f move to μ(x) + v Z/√(v+λ) and μ(x*) + c Z/√(v+λ).
// The chances move to P′. Weighed by P′(x),
//
//	E[W′(x) − W′(x*)]⁺ = P(x)·E_{P′(x)}[(μ′(x) − m) − (P′(x*)/P′(x))·(μ′(x*) − m)]⁺,
//
// where the ratio is taken as R, that of the means of P′(x*) and P′(x) under the same weights, a
// product over the limits of
//
//	E_{P′(x)}[P′(x*)] = Φ₂(t, t*; ρκ)/Φ(t),   E_{P′(x)}[P′(x)] = Φ₂(t, t; κ)/Φ(t),   κ = σ²/(σ² + λ),
//
// t = −μ/σ being how far g at x keeps its limit, t* how far at x*, and ρ their correlation. So the
// value is
//
//	P(x)·s·h(d/s),   d = (μ(x) − m) − R·(μ(x*) − m),   s = |v − min(R, 1) c|/√(v+λ),   h(z) = φ(z) + zΦ(z).
//
// (An R above 1 would have it that x* can be worth less than nothing.) Without noise κ is 1 and x*
// known: R is 1, and this is constrained expected improvement. Towards x*, R goes to 1 and s to 0
// whatever the noise.

// pair is a place x and another beside it: means and deviations per target, the covariances of
// both, and λ of one more reading at x; and, once ahead has been asked for, the means of P′(x*) and
// P′(x) that R is made of.
type pair struct {
	mean, sd, otherMean, otherSD []float64
	together, noise              []float64
	other, own                   []float64
}

// newPair has room for so many targets.
func newPair(targets int) *pair {
	of := func() []float64 { return make([]float64, targets) }
	return &pair{of(), of(), of(), of(), of(), of(), of(), of()}
}

// take puts place i of the input beside x* into p.
func (p *pair) take(s *Input, i int) {
	r := s.Rival
	p.otherMean, p.otherSD = r.Mean, r.SD
	p.mean[0], p.sd[0] = s.Reward.Mean[i], s.Reward.SD[i]
	for j, g := range s.Costs {
		p.mean[1+j], p.sd[1+j] = g.Mean[i], g.SD[i]
	}
	for k := range p.together {
		p.together[k], p.noise[k] = 0, r.Noise[k][i]
		if r.Together[k] != nil {
			p.together[k] = r.Together[k][i]
		}
	}
}

// swapped is p with the places exchanged; noise is that of a reading at the other place.
func (p *pair) swapped(noise []float64) *pair {
	return &pair{p.otherMean, p.otherSD, p.mean, p.sd, p.together, noise, p.other, p.own}
}

// bounds are t and t*, κ and ρκ of cost j.
func (p *pair) bounds(j int) (t, other, own, together float64) {
	sd, otherSD := p.sd[1+j], p.otherSD[1+j]
	t, other = ratio(-p.mean[1+j], sd), ratio(-p.otherMean[1+j], otherSD)
	if sd > 0 {
		own = bind(sd * sd / (sd*sd + p.noise[1+j]))
	}
	if sd > 0 && otherSD > 0 {
		together = bind(p.together[1+j] / (sd * otherSD) * own)
	}
	return t, other, own, together
}

// ahead are d, s before its absolute value is taken, and R.
func (p *pair) ahead(given []bool, least float64) (mean, deviation, chances float64) {
	chances = 1
	for j := range given {
		if !given[j] {
			t, other, own, together := p.bounds(j)
			p.other[1+j], p.own[1+j] = chanceGiven(t, other, together), chanceGiven(t, t, own)
			chances *= p.other[1+j] / p.own[1+j]
		}
	}
	mean = p.lead(least, chances)
	if variance := p.sd[0] * p.sd[0]; variance > 0 {
		deviation = (variance - min(chances, 1)*p.together[0]) / math.Sqrt(variance+p.noise[0])
	}
	return mean, deviation, chances
}

// lead is d where R is this.
func (p *pair) lead(least, chances float64) float64 {
	return (p.mean[0] - least) - chances*(p.otherMean[0]-least)
}

// mostDeviation is the largest s that smaller deviations of the reward, and any R, could leave.
func (p *pair) mostDeviation() float64 {
	variance := p.sd[0] * p.sd[0]
	if variance == 0 {
		return 0
	}
	return max(variance, math.Abs(variance-p.together[0])) / math.Sqrt(variance+p.noise[0])
}

// ExpectedGain is s·h(d/s) of place i: by how much a reading there may raise the reward of what is
// recommended, if the place keeps its limits.
func ExpectedGain(s *Input, i int) float64 {
	p := newPair(1 + len(s.Costs))
	p.take(s, i)
	mean, deviation, _ := p.ahead(s.Given, s.Rival.Least)
	return ExpectedImprovement(mean, math.Abs(deviation))
}

// again is what one more reading at x* is worth, over P(x*): that one of the others of the input
// comes to be worth more than it,
//
//	E[W′(x) − W′(x*)]⁺ = E[W′(x*) − W′(x)]⁺ − (W(x*) − W(x)),
//
// since a reading changes no mean of W′. noise is λ of a reading at x*.
func again(s *Input, noise []float64) float64 {
	r, best, mine := s.Rival, 0.0, 1.0
	for j := range s.Costs {
		if !s.Given[j] {
			mine *= normal(ratio(-r.Mean[1+j], r.SD[1+j]))
		}
	}
	beside := newPair(1 + len(s.Costs))
	for i := range s.Reward.Mean {
		beside.take(s, i)
		chance, _ := logChance(s, i)
		mean, deviation, _ := beside.swapped(noise).ahead(s.Given, r.Least)
		behind := mine*(r.Mean[0]-r.Least) - math.Exp(chance)*(s.Reward.Mean[i]-r.Least)
		if mine > 0 {
			best = max(best, ExpectedImprovement(mean, math.Abs(deviation))-behind/mine)
		}
	}
	return best
}

// slopesAhead adds the derivatives of ln(s h(d/s)) at place i, which p holds, to out.
func slopesAhead(s *Input, p *pair, i int, out *Slopes) {
	r := s.Rival
	mean, signed, chances := p.ahead(s.Given, r.Least)
	deviation := math.Abs(signed)
	if deviation == 0 {
		return
	}
	z := mean / deviation
	h := logImprovement(z)
	byMean, bySigned := math.Exp(logNormal(z)-h)/deviation, math.Copysign(math.Exp(logDensity(z)-h)/deviation, signed)
	total := p.sd[0]*p.sd[0] + p.noise[0]
	root := math.Sqrt(total)
	out.Reward.Mean[i] += byMean
	out.Reward.SD[i] += bySigned * p.sd[0] * (2/root - signed/total)
	out.Together[0][i] -= bySigned * min(chances, 1) / root
	byLogChances := -chances * byMean * (r.Mean[0] - r.Least)
	if chances < 1 {
		byLogChances -= chances * bySigned * p.together[0] / root
	}
	for j := range s.Costs {
		sd, otherSD := p.sd[1+j], p.otherSD[1+j]
		if s.Given[j] || sd == 0 {
			continue
		}
		t, other, own, together := p.bounds(j)
		a, _, byTogether := slopesOfChance(t, other, together, p.other[1+j])
		b, c, byOwn := slopesOfChance(t, t, own, p.own[1+j])
		byT := byLogChances * (a - b - c)
		noise := p.noise[1+j]
		all := sd*sd + noise
		out.Costs[j].Mean[i] -= byT / sd
		out.Costs[j].SD[i] -= byT*t/sd + byLogChances*byOwn*2*sd*noise/(all*all)
		if otherSD > 0 {
			out.Costs[j].SD[i] += byLogChances * byTogether * p.together[1+j] * (noise - sd*sd) / (otherSD * all * all)
			out.Together[1+j][i] += byLogChances * byTogether * sd / (otherSD * all)
		}
	}
}

// logChance is Σ_j ln P(g_j ≤ 0) at place i over the learned costs, less how far given costs are
// beyond their limit, and whether they are within.
func logChance(s *Input, i int) (logChance float64, within bool) {
	within = true
	for j, g := range s.Costs {
		if s.Given[j] {
			within = within && g.Mean[i] <= 0
			logChance -= leastLog * positive(g.Mean[i])
			continue
		}
		logChance += logNormal(ratio(-g.Mean[i], g.SD[i]))
	}
	return bounded(logChance), within
}

// leastLog bounds logarithms of 0, so that scores can be told apart and added.
const leastLog = 1e100

func bounded(v float64) float64 { return math.Max(v, -leastLog) }
