package lab

import (
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

type decision struct {
	place       optimizer.Place
	multipliers []float64
}

type roundsWorld struct {
	in           *problems.Instance
	noise        []*rand.Rand // per reading, so that metrics do not disturb each other
	delays       *rand.Rand
	samples      *rand.Rand
	costs        func(x, g []float64) // of the round under way, where they are known before it
	violations   []optimizer.Tally    // per limit
	bestMixtures map[int]float64      // value of the best mixture, by the round from which it holds; nil on a continuous space
	curves       *Curves
}

// Streams of random numbers of a seed.
const noiseStream, delayStream, sampleStream = 100, 1, 2

func newRounds(in *problems.Instance, seed uint64) *roundsWorld {
	w := &roundsWorld{in: in, violations: make([]optimizer.Tally, len(in.Limits)), delays: rand.New(rand.NewPCG(seed, delayStream)),
		samples: rand.New(rand.NewPCG(seed, sampleStream)), curves: &Curves{Seed: seed, Values: map[string][]float64{}}}
	w.noise = lists.Of(len(in.Noise), func(i int) *rand.Rand { return rand.New(rand.NewPCG(seed, noiseStream+uint64(i))) })
	return w
}

func (w *roundsWorld) findBestMixtures() error {
	if w.in.Arms == nil {
		return nil
	}
	w.bestMixtures = map[int]float64{}
	for _, o := range w.in.Optima {
		value, err := w.in.Mixture(o.From)
		if err != nil {
			return err
		}
		w.bestMixtures[o.From] = value
	}
	return nil
}

// known draws the constraint functions of the next round if they are known everywhere before it.
func (w *roundsWorld) known() optimizer.Known {
	var k optimizer.Known
	if w.in.Given == nil {
		return k
	}
	number := w.in.Given.Draw(w.samples)
	w.costs = func(x, g []float64) { w.in.Given.Costs(number, x, g) }
	at := func(place optimizer.Place) []float64 { // searches ask from many goroutines
		g := make([]float64, len(w.in.Limits))
		w.costs(w.in.Point(place), g)
		return g
	}
	if w.in.Arms == nil {
		k.At = func(j int, u []float64) float64 { return at(optimizer.Place{U: u, Arm: -1})[j] }
		return k
	}
	k.Arms = make([][]float64, len(w.in.Limits))
	for arm := range w.in.Arms {
		for j, v := range at(optimizer.Place{Arm: arm}) {
			k.Arms[j] = append(k.Arms[j], v)
		}
	}
	return k
}

// visit adds the round to the curves and reads every metric, each after a delay of its own.
func (w *roundsWorld) visit(at decision, _ float64, tell func(late int, o outcome)) {
	t, x := len(w.curves.Rounds)+1, w.in.Point(at.place)
	costs := w.in.CostsAt(t, x)
	truth := append([]float64{w.in.Reward(t, x)}, costs...)
	if w.in.Given != nil {
		w.costs(x, costs)
		truth = truth[:1]
	}
	w.record(t, at, x, costs)
	for i, value := range truth {
		late := 0
		if w.in.Delay > 0 {
			late = problems.Poisson(w.delays, w.in.Delay)
		}
		tell(late, outcomeWith(t, map[string]ledger.Reading{metricsOf(w.in)[i]: {Value: value + w.in.Noise[i].Draw(w.noise[i], x)}}))
	}
}

func (w *roundsWorld) record(t int, at decision, x, costs []float64) {
	f := w.in.Reward(t, x)
	loss := w.in.Optimum(t).Value - f
	var all optimizer.Tally
	for j, v := range costs {
		w.violations[j].Add(v)
		all.Balance += w.violations[j].Balance
		all.Soft += w.violations[j].Soft
		all.Hard += w.violations[j].Hard
	}
	c := w.curves
	add := func(name string, more float64) {
		sum := 0.0 // and not −0
		if list := c.Values[name]; len(list) > 0 {
			sum = list[len(list)-1]
		}
		c.Values[name] = append(c.Values[name], sum+more)
	}
	add("regret", loss)
	if w.bestMixtures != nil {
		add("regret_plus", w.bestMixtures[w.in.Optimum(t).From]-f)
	}
	add("positive", math.Max(loss, 0))
	add("violated", indicator(!problems.Within(costs)))
	add("utility", f)
	for name, v := range map[string]float64{"balance": all.Balance, "soft": all.Soft, "hard": all.Hard, "multiplier": slices.Max(append([]float64{0}, at.multipliers...))} {
		c.Values[name] = append(c.Values[name], v)
	}
	c.Rounds, c.Points = append(c.Rounds, t), append(c.Points, x)
}

// Curves are what a simulation came to, at all of its rounds or at some of them.
type Curves struct {
	Seed    uint64
	Rounds  []int
	Optimum float64 // f* of the last round, among the points that could be played
	// Values has, for each of Quantities, one entry a round, or none where it has no meaning.
	Values map[string][]float64
	Points [][]float64 // chosen in the rounds
}

// Quantity is a number that a simulation has after every round.
type Quantity struct{ Name, Title string }

// Quantities are sums over rounds 1..t except for the multiplier, with the true f and g, or the
// realised g where it is known before the round.
var Quantities = []Quantity{
	{"regret", "regret"},                               // Σ (f* − f(x_s)), negative where violation pays
	{"positive", "positive part of regret"},            // Σ [f* − f(x_s)]⁺
	{"hard", "hard violation"},                         // Σ_j Σ_s [g_j(x_s)]⁺
	{"soft", "soft violation"},                         // Σ_j [Σ_s g_j(x_s)]⁺
	{"balance", "sum of g"},                            // Σ_j Σ_s g_j(x_s)
	{"violated", "rounds in violation"},                // in which some g_j(x_s) > 0
	{"utility", "sum of f"},                            // Σ f(x_s)
	{"multiplier", "largest multiplier"},               // before the round's feedback
	{"regret_plus", "regret against the best mixture"}, // R₊, Σ (E_π* f − f(x_s)); none on a continuous space
}

// keptRounds is about the number of rounds that are kept of a simulation.
const keptRounds = 200

// Kept returns the rounds that are kept of so many: evenly spaced, including the first and the
// last.
func Kept(horizon int) []int {
	count := min(keptRounds, horizon)
	list := []int{1}
	for i := 1; i <= count; i++ {
		if t := i * horizon / count; t > list[len(list)-1] {
			list = append(list, t)
		}
	}
	return list
}

// at returns a quantity at the k-th of the rounds, NaN if it has no meaning.
func (c *Curves) at(name string, k int) float64 {
	if list := c.Values[name]; list != nil {
		return list[k]
	}
	return math.NaN()
}

// Thinned returns the curves at the rounds that Kept lists.
func (c *Curves) Thinned() *Curves {
	few := &Curves{Seed: c.Seed, Rounds: Kept(len(c.Rounds)), Optimum: c.Optimum, Values: map[string][]float64{}}
	for _, t := range few.Rounds {
		for name, all := range c.Values {
			few.Values[name] = append(few.Values[name], all[t-1])
		}
		few.Points = append(few.Points, c.Points[t-1])
	}
	return few
}

func metricsOf(in *problems.Instance) []string { return append([]string{rewardName}, in.Limits...) }
