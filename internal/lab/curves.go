package lab

// Curves are how a simulation went, over all of its rounds or some of them.
type Curves struct {
	Seed    uint64
	Rounds  []int
	Optimum float64 // f* of the last round, among the points that could be played
	// Values has, for each of Quantities, one entry a round.
	Values map[string][]float64
	Points [][]float64 // chosen in the rounds

	multipliers [][]float64 // of each constraint, before the round's feedback
}

// Quantity is a number that a simulation has after every round.
type Quantity struct{ Name, Title string }

// Quantities are sums over rounds 1..t except for the multiplier, with the true f and g, or the realised g where it is known before the round.
var Quantities = []Quantity{
	{"regret", "regret"},                    // Σ (f* − f(x_s)), negative where violation pays
	{"positive", "positive part of regret"}, // Σ [f* − f(x_s)]⁺
	{"hard", "hard violation"},              // Σ_j Σ_s [g_j(x_s)]⁺
	{"soft", "soft violation"},              // Σ_j [Σ_s g_j(x_s)]⁺
	{"balance", "sum of g"},                 // Σ_j Σ_s g_j(x_s)
	{"violated", "rounds in violation"},     // in which some g_j(x_s) > 0
	{"utility", "sum of f"},                 // Σ f(x_s)
	{"multiplier", "largest multiplier"},    // before the round's feedback
}

// keptRounds is about how many rounds are kept of a simulation.
const keptRounds = 200

// Kept lists the rounds that are kept of T: evenly spaced, the first and the last among them.
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

// Few are the curves at some of all their rounds: small enough to keep.
func (c *Curves) Few() *Curves {
	few := &Curves{Seed: c.Seed, Rounds: Kept(len(c.Rounds)), Optimum: c.Optimum, Values: map[string][]float64{}}
	for _, t := range few.Rounds {
		for name, all := range c.Values {
			few.Values[name] = append(few.Values[name], all[t-1])
		}
		few.Points = append(few.Points, c.Points[t-1])
	}
	return few
}
