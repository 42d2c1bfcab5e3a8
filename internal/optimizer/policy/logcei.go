package policy

import (
	"cmp"
	"math"
	"slices"

	"headroom/internal/optimizer/factor"
)

var logCEI = Description{
	Name: "log-cei", Title: "Expected improvement within limits",
	Source: "Schonlau, Welch, Jones: Global versus Local Search in Constrained Optimization of Computer Models, 1998; " +
		"Letham, Karrer, Ottoni, Bakshy: Constrained Bayesian Optimization with Noisy Experiments, 2019; " +
		"Frazier, Powell, Dayanik: The Knowledge-Gradient Policy for Correlated Normal Beliefs, 2009; " +
		"Ungredda, Branke: Bayesian Optimisation for Constrained Problems, 2021; " +
		"Ament, Daulton, Eriksson, Balandat, Bakshy: Unexpected Improvements to Expected Improvement for Bayesian Optimization, 2023",
	Feedback: rpolUCB.Feedback,
	Summary:  "The default: finds the best settings within the limits in few trials, weighing what a trial may gain with its chance to stay within every limit.",
	Compares: true,
	Settings: append([]Setting{cautionSetting, mostRiskSetting, designSetting("5", func(int) int { return 5 })}, common...),
	Build:    func(c Context, s Settings) Policy { return newCautious(c, s) },
	check:    checkRisk,
}

var cautionSetting = Setting{Name: "caution", Type: Number, Default: 1.0, Low: new(0.1), High: new(100.0),
	Meaning: "how much the chance to stay within the limits weighs against what may be gained: 1 evenly, 2 careful, 4 very careful"}

var mostRiskSetting = Setting{Name: "most_risk", Type: Number, Per: PerConstraint, Low: new(0.0), High: new(1.0), LowExclusive: true,
	DefaultMeans: "any risk is taken that is worth it",
	Meaning: "largest chance of breaking a limit that a suggestion may have while one with less is possible, and the largest share of the model’s trials that may break it: if more have, the next are safer. " +
		"One number is for all limits together; an object gives each limit that it names a number of its own"}

// checkRisk refuses a risk for a limit whose value is known at the decision: it is kept wherever
// that is possible.
func checkRisk(c Context, s Settings) []Fault {
	var faults []Fault
	for j, name := range c.Constraints {
		if _, named := s.values["most_risk"].by[name]; named && c.CostMetrics[j] == "" {
			faults = append(faults, Fault{"most_risk." + name, name + " is known before a trial is chosen, so there is no risk to bound: it is kept wherever some setting keeps it"})
		}
	}
	return faults
}

// cautious chooses the place where a reading is worth most, P(x)·s·h(d/s) as derived below, which
// without noise is constrained expected improvement. In logarithms,
//
//	x_t = argmax ln(s h(d/s)) + ω Σ_j ln P(g_j(x) ≤ 0).
//
// ω is the caution w among candidates and w/2 on a continuous space, where a place just beyond a
// limit has neighbours within it that its reading tells about. At x* the value is what a reading
// there could show about other places. Limits of given costs are kept for certain, and a place
// whose risk exceeds what the decision may take is not chosen. Before the first reading only Σ_j ln
// P counts.
type cautious struct {
	plain
	weight float64 // ω
}

// amongNeighbours is ω/w on a continuous space. Docs/tried.md has results of 1 and ½ on either.
const amongNeighbours = 0.5

func newCautious(c Context, s Settings) cautious {
	weight := s.Value("caution", "")
	if !c.Listed {
		weight *= amongNeighbours
	}
	return cautious{weight: weight}
}

func (a cautious) Traits() Traits {
	return Traits{NeedsReadings: true, AvoidsKnown: true, LogExpectation: true, Incumbent: likelyBest, RepeatValue: repeatValue, Upper: a.upper, QuickUpper: a.quickUpper, Slopes: a.slopes}
}

// upper bounds the score for smaller deviations: the chance to keep a limit rises with its
// deviation where the mean is beyond it, and is at most 1 elsewhere; the gain rises with the
// deviation of the reward. R is taken from the deviations of the input: its least value, P(x*),
// would rule out hardly any place.
func (a cautious) upper(s *Input) Scores { return a.bound(s, s.mostAhead) }

// quickUpper is upper without computing R: of the two means that it is the ratio of, P′(x*) is
// replaced by a lower bound and P′(x) by 1.
func (a cautious) quickUpper(s *Input) Scores {
	scores := a.bound(s, s.farAhead)
	for i, v := range scores.Value {
		scores.Value[i] += 1e-9 * math.Max(1, math.Abs(v)) // what is lost by rounding
	}
	return scores
}

// bound is upper, given d and s of a place by ahead.
func (a cautious) bound(s *Input, ahead func(beside *pair, i int) (mean, deviation float64)) Scores {
	bound := *s
	bound.Incumbent, bound.Costs = nil, make([]Estimate, len(s.Costs))
	for j, g := range s.Costs {
		bound.Costs[j] = Estimate{Mean: g.Mean, SD: make([]float64, len(g.SD))}
		for i, mean := range g.Mean {
			if mean > 0 {
				bound.Costs[j].SD[i] = g.SD[i]
			}
		}
	}
	scores := a.scores(&bound)
	if r := s.Incumbent; r != nil {
		beside := newPair(1 + len(s.Costs))
		for i := range scores.Value {
			gain := math.Log(r.RepeatValue)
			if !r.Itself[i] {
				gain = logExpectedImprovement(ahead(beside, i))
			}
			scores.Value[i] = bounded(gain + scores.Value[i])
		}
	}
	return scores
}

// mostAhead loads place i into beside and returns d, and the largest s for smaller deviations of
// the reward.
func (s *Input) mostAhead(beside *pair, i int) (mean, deviation float64) {
	beside.load(s, i)
	mean, _, _ = beside.ahead(s.Given, s.Incumbent.Least)
	return mean, beside.mostDeviation()
}

// farAhead is mostAhead with a lower bound of R.
func (s *Input) farAhead(beside *pair, i int) (mean, deviation float64) {
	beside.load(s, i)
	if beside.otherMean[0] < s.Incumbent.Least {
		return s.mostAhead(beside, i)
	}
	least := 1.0
	for j, given := range s.Given {
		if !given {
			t, other, _, together := beside.bounds(j)
			least *= leastChanceGiven(t, other, together)
		}
	}
	return beside.lead(s.Incumbent.Least, least), beside.mostDeviation()
}

// mostLooked is how many points played are evaluated with deviations to find the incumbent,
// lookedAtOnce how many at a time: a few take hardly longer than one.
const mostLooked, lookedAtOnce = 100, 4

// likelyBest is the point played of the largest W(x) = P(x)·(μ(x) − m). played has only means; look
// gives the input of some points. A mean beyond its limit leaves a chance of one half at most,
// which bounds W, so few points have to be looked at.
func likelyBest(played *Input, look func(some []int) (*Input, error)) (int, error) {
	least := slices.Min(played.Reward.Mean)
	most := make([]float64, len(played.Reward.Mean))
	order := make([]int, len(most))
	for i, mean := range played.Reward.Mean {
		order[i], most[i] = i, mean-least
		for j, g := range played.Costs {
			switch {
			case g.Mean[i] > 0 && played.Given[j]:
				most[i] = 0
			case g.Mean[i] > 0:
				most[i] /= 2
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(most[b], most[a]) })
	best, largest := -1, math.Inf(-1)
	for some := range slices.Chunk(order[:min(mostLooked, len(order))], lookedAtOnce) {
		if most[some[0]] <= largest {
			break
		}
		s, err := look(some)
		if err != nil {
			return -1, err
		}
		for n, i := range some {
			chance, _ := logChance(s, n)
			if w := math.Exp(chance) * (s.Reward.Mean[n] - least); most[i] > largest && w > largest {
				best, largest = i, w
			}
		}
	}
	return best, nil
}

func (a cautious) Score(s *Input) (Scores, error) { return a.scores(s), nil }

func (a cautious) scores(s *Input) Scores {
	n := len(s.Reward.Mean)
	scores := Scores{Value: make([]float64, n), Allowed: make([]bool, n), Fallback: make([]float64, n), Reason: Improve}
	beside := newPair(1 + len(s.Costs))
	for i := range scores.Value {
		chance, within := logChance(s, i)
		scores.Fallback[i] = chance
		scores.Allowed[i] = within && (s.TooRisky == nil || !s.TooRisky[i])
		scores.Value[i] = bounded(a.weight * chance)
		if s.Incumbent != nil {
			scores.Value[i] = bounded(s.logGain(beside, i) + a.weight*chance)
		}
	}
	return scores
}

// logGain loads place i into beside and returns ln(s h(d/s)), at x* the logarithm of RepeatValue.
func (s *Input) logGain(beside *pair, i int) float64 {
	if s.Incumbent.Itself[i] {
		return math.Log(s.Incumbent.RepeatValue)
	}
	beside.load(s, i)
	mean, deviation, _ := beside.ahead(s.Given, s.Incumbent.Least)
	return logExpectedImprovement(mean, math.Abs(deviation))
}

// slopes are, with z = d/s and u = −mean/s of a cost,
//
//	∂ ln EI/∂mean = Φ(z)/(s h(z)),   ∂ ln EI/∂s = φ(z)/(s h(z)),
//	∂ ln Φ(u)/∂mean = −φ(u)/(s Φ(u)),   ∂ ln Φ(u)/∂s = −u φ(u)/(s Φ(u)).
func (a cautious) slopes(s *Input) Slopes {
	n := len(s.Reward.Mean)
	out := Slopes{Reward: noEstimates(n), Costs: make([]Estimate, len(s.Costs))}
	for j, g := range s.Costs {
		out.Costs[j] = noEstimates(n)
		for i, sd := range g.SD {
			if s.Given[j] || sd == 0 {
				continue
			}
			u := -g.Mean[i] / sd
			steep := a.weight * math.Exp(logDensity(u)-logNormal(u)) / sd
			out.Costs[j].Mean[i], out.Costs[j].SD[i] = -steep, -u*steep
		}
	}
	if s.Incumbent == nil {
		return out
	}
	out.Covariance = factor.Matrix(1+len(s.Costs), n)
	beside := newPair(1 + len(s.Costs))
	for i := range n {
		if !s.Incumbent.Itself[i] && s.Reward.SD[i] > 0 {
			beside.load(s, i)
			slopesAhead(s, beside, i, &out)
		}
	}
	return out
}

// The value of a reading. If the study ended now, the lab would use the played setting x* of the
// largest worth
//
//	W(x) = P(x)·(μ_f(x) − m),   P(x) = Π_j P(g_j(x) ≤ 0),
//
// where a broken limit counts as m, the least mean reward of a setting played. A reading at x moves
// means and deviations, after which x may be worth more than x*: its value is E[W′(x) − W′(x*)]⁺,
// W′ being the worth after the reading. This is the knowledge gradient (Frazier, Powell, Dayanik,
// The Knowledge-Gradient Policy for Correlated Normal Beliefs, 2009) under limits (Ungredda,
// Branke, Bayesian Optimisation for Constrained Problems, 2021), for x and x* alone.
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
// where t = −μ/σ of g at x, t* is the same at x*, and ρ their correlation. So the value is
//
//	P(x)·s·h(d/s),   d = (μ(x) − m) − R·(μ(x*) − m),   s = |v − min(R, 1) c|/√(v+λ),   h(z) = φ(z) + zΦ(z).
//
// (With R above 1 in s, x* could be worth less than nothing.) Without noise κ is 1 and x* is known,
// so R is 1, and this is constrained expected improvement. As x approaches x*, R goes to 1 and s to
// 0 whatever the noise.

// pair is a place x and another one: means and deviations per target, their covariances, and λ of
// one more reading at x. After ahead it also has, per cost, the means of P′(x*) and P′(x) that R is
// made of.
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

// load sets place i of the input, with x* as the other place.
func (p *pair) load(s *Input, i int) {
	r := s.Incumbent
	p.otherMean, p.otherSD = r.Mean, r.SD
	p.mean[0], p.sd[0] = s.Reward.Mean[i], s.Reward.SD[i]
	for j, g := range s.Costs {
		p.mean[1+j], p.sd[1+j] = g.Mean[i], g.SD[i]
	}
	for k := range p.together {
		p.together[k], p.noise[k] = 0, r.Noise[k][i]
		if r.Covariance[k] != nil {
			p.together[k] = r.Covariance[k][i]
		}
	}
}

// swapped exchanges the places; noise is that of a reading at the other one.
func (p *pair) swapped(noise []float64) *pair {
	return &pair{p.otherMean, p.otherSD, p.mean, p.sd, p.together, noise, p.other, p.own}
}

// bounds are t, t*, κ and ρκ of cost j.
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

// ahead are d, s with its sign, and R.
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

// lead is d for a given R.
func (p *pair) lead(least, chances float64) float64 {
	return (p.mean[0] - least) - chances*(p.otherMean[0]-least)
}

// mostDeviation is the largest s for smaller deviations of the reward and any R.
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
	p.load(s, i)
	mean, deviation, _ := p.ahead(s.Given, s.Incumbent.Least)
	return ExpectedImprovement(mean, math.Abs(deviation))
}

// repeatValue is what one more reading at x* is worth, divided by P(x*), since another place of the
// input may come to be worth more,
//
//	E[W′(x) − W′(x*)]⁺ = E[W′(x*) − W′(x)]⁺ − (W(x*) − W(x)),
//
// as a reading changes no mean of W′. noise is λ of a reading at x*.
func repeatValue(s *Input, noise []float64) float64 {
	r, best, mine := s.Incumbent, 0.0, 1.0
	for j := range s.Costs {
		if !s.Given[j] {
			mine *= normal(ratio(-r.Mean[1+j], r.SD[1+j]))
		}
	}
	beside := newPair(1 + len(s.Costs))
	for i := range s.Reward.Mean {
		beside.load(s, i)
		chance, _ := logChance(s, i)
		mean, deviation, _ := beside.swapped(noise).ahead(s.Given, r.Least)
		behind := mine*(r.Mean[0]-r.Least) - math.Exp(chance)*(s.Reward.Mean[i]-r.Least)
		if mine > 0 {
			best = max(best, ExpectedImprovement(mean, math.Abs(deviation))-behind/mine)
		}
	}
	return best
}

// slopesAhead adds to out the derivatives of ln(s h(d/s)) at place i, which p holds.
func slopesAhead(s *Input, p *pair, i int, out *Slopes) {
	r := s.Incumbent
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
	out.Covariance[0][i] -= bySigned * min(chances, 1) / root
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
			out.Covariance[1+j][i] += byLogChances * byTogether * sd / (otherSD * all)
		}
	}
}

// logChance is Σ_j ln P(g_j ≤ 0) at place i over the learned costs, and whether the given ones are
// within their limits. Where they are not, it is lower by beyondKnown(Σ_j g_j⁺), which orders
// places by their excess in any unit, and outweighs any chance worth comparing.
func logChance(s *Input, i int) (logChance float64, within bool) {
	excess := 0.0
	for j, g := range s.Costs {
		if s.Given[j] {
			excess += positive(g.Mean[i])
			continue
		}
		logChance += logNormal(ratio(-g.Mean[i], g.SD[i]))
	}
	return bounded(logChance - beyondKnown(excess)), excess == 0
}

// beyondKnown is 0 within limits, and beyond them between 10⁵ and 10⁶: it rises by 500 when the
// excess grows by a factor e.
func beyondKnown(excess float64) float64 {
	if excess == 0 {
		return 0
	}
	return 500 * (1000 + math.Log(excess))
}

// leastLog bounds logarithms of 0, so that scores can be compared and added.
const leastLog = 1e100

func bounded(v float64) float64 { return math.Max(v, -leastLog) }
