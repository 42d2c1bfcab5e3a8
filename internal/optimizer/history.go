package optimizer

import (
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// task is what an algorithm is given: a configuration, and what happened.
type task struct {
	cfg          *Config
	history      *History
	policy       policy.Policy
	traits       policy.Traits // of the policy
	settings     policy.Settings
	targets      []target
	arms         *placeList
	spreadPoints func() [][]float64 // worked out once
	room         int64              // bytes that the model may take

	varyOnce sync.Once
	vary     bool // see readingsVary

	firstOnce sync.Once
	first     []int // see firstRoundAt
}

// target is one function that the algorithm reasons about: the reward (target 0), or a cost (target
// 1+j).
type target struct {
	cost   int // index into Config.Costs; −1 for the reward
	metric int // −1 when the value is given at the decision
	sign   float64
}

func targets(cfg *Config) []target {
	list := []target{{cost: -1, metric: cfg.Objective.Metric, sign: cfg.Objective.Sign}}
	for j, c := range cfg.Costs {
		t := target{cost: j, metric: c.Metric, sign: c.Sign}
		if c.Knowledge == Given {
			t.metric = -1
		}
		list = append(list, t)
	}
	return list
}

// Round is the number of the next decision.
func (s *task) Round() int { return len(s.history.Rounds) + 1 }

// History is what the state was made from.
func (s *task) History() *History { return s.history }

// Context is what the algorithm's settings are read against.
func (cfg *Config) Context() policy.Context {
	c := policy.Context{Horizon: cfg.Horizon, Paper: cfg.Paper, Standardized: cfg.Standardize, Fitted: cfg.Fit, Listed: cfg.Space.Arms != nil}
	c.Dimensions = lists.Count(cfg.Space.Dims, func(d Dim) bool { return !d.Derived })
	c.Metrics = lists.Map(cfg.Metrics, func(m Metric) string { return m.Name })
	for _, cost := range cfg.Costs {
		c.Constraints = append(c.Constraints, cost.Name)
		metric := ""
		if cost.Metric >= 0 {
			metric = cfg.Metrics[cost.Metric].Name
		}
		c.CostMetrics = append(c.CostMetrics, metric)
	}
	return c
}

// DecisionSeed is the random seed of decision t, below 2⁵³ so that every JSON reader keeps it
// (SplitMix64 of study seed and round).
func (cfg *Config) DecisionSeed(t int) uint64 {
	z := cfg.Seed + uint64(t)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return (z ^ (z >> 31)) >> 11
}

// horizon is the T of the algorithm's constants in round t, 0 where it is the number of rounds
// planned.
func (s *task) horizon(t int) int {
	if s.traits.Horizon == nil {
		return 0
	}
	return s.traits.Horizon(t)
}

// placeOf is where round t was played.
func (s *task) placeOf(t int) Place {
	r := &s.history.Rounds[t-1]
	return Place{r.Point, r.Arm}
}

// placesAt are where some rounds were played.
func (s *task) placesAt(rounds []int) []Place {
	return lists.Map(rounds, s.placeOf)
}

// targetOf is the first target that a metric serves.
func (s *task) targetOf(metric int) int {
	return slices.IndexFunc(s.targets, func(t target) bool { return t.metric == metric })
}

// draw is what chance contributes to decision t: what was recorded, else its seed, from which
// numbers are drawn when they are needed.
func (s *task) draw(t int) Draw {
	d := Draw{Seed: s.cfg.DecisionSeed(t)}
	if t <= len(s.history.Rounds) {
		if recorded := s.history.Rounds[t-1].Draw; recorded.Z != nil || recorded.Seed != 0 {
			d = recorded
		}
	}
	return d
}

func (s *task) function(k Kernel) (*kernel.Function, error) {
	if k.Name == "covariance" {
		return kernel.NewCovariance(k.Matrix, k.Variance)
	}
	f, err := kernel.New(k.Name, s.cfg.Space.inputLengthscales(k.Lengthscales), k.Variance)
	if err != nil {
		return nil, err
	}
	f = f.WithCategories(s.cfg.Space.categories())
	if k.Interaction == 0 {
		return f, nil
	}
	return f.WithInteraction(k.Interaction)
}

func (s *task) inputWidth(k Kernel) int {
	if k.Name == "covariance" {
		return 1
	}
	return s.cfg.Space.width()
}

// kernelInput is what the kernel sees of a place: its features, or its arm's index.
func (s *task) kernelInput(k Kernel, at Place) []float64 {
	if k.Name == "covariance" {
		return []float64{float64(at.Arm)}
	}
	return s.cfg.Space.features(at.U)
}

// isEveryArm tells whether the places are all candidates in their order.
func (s *task) isEveryArm(at []Place) bool {
	return s.arms != nil && slices.EqualFunc(at, s.arms.places, func(a, b Place) bool { return a.Arm == b.Arm })
}

// allowedArms are the candidates that may be chosen.
func (s *task) allowedArms() []Place {
	return slices.DeleteFunc(slices.Clone(s.arms.places), func(p Place) bool { return !s.cfg.Space.offers(p) })
}

// knownRows tabulates the given constraints' values; nil when there are none.
func (s *task) knownRows(places []Place, known Known) [][]float64 {
	if !slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		return nil
	}
	value := known.at(places)
	rows := factor.Matrix(len(places), len(s.cfg.Costs))
	for i := range rows {
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				rows[i][j] = value(j, i)
			}
		}
	}
	return rows
}

// keepsKnownLimits tells of a place whether all limits of known form hold there.
func (s *task) keepsKnownLimits(known Known) func(Place) bool {
	return func(at Place) bool {
		for _, row := range s.knownRows([]Place{at}, known) {
			for j, c := range s.cfg.Costs {
				if c.Knowledge == Given && c.Excess(row[j]) > 0 {
					return false
				}
			}
		}
		return true
	}
}

// placesOf are the space-filling points that are allowed, settled, and of some others those that
// are.
func (s *task) placesOf(points, others [][]float64) []Place {
	return asPlaces(append(s.cfg.Space.allowed(points, s.cfg.Seed), s.cfg.Space.settled(others)...))
}

// pointsPlayed are the points tried before.
func (s *task) pointsPlayed() [][]float64 {
	return lists.Map(s.history.Rounds, func(r Round) []float64 { return r.Point })
}

// allowedPlaces settles points and keeps the allowed ones, each once.
func (s *task) allowedPlaces(points [][]float64) []Place {
	return unique(asPlaces(s.cfg.Space.settled(points)))
}

// unique are the places without those that are listed before.
func unique(at []Place) []Place {
	listed := map[string]bool{}
	return slices.DeleteFunc(at, func(p Place) bool {
		name := string(lists.Bits(p.U))
		again := listed[name]
		listed[name] = true
		return again
	})
}

// screeningPlaces are the space-filling points that are allowed, and the points tried before.
func (s *task) screeningPlaces() []Place {
	return s.placesOf(search.Halton(screenPoints, len(s.cfg.Space.Dims), s.cfg.Seed), s.pointsPlayed())
}

// spreadPoints are overhanging points that are allowed, the same in every round.
func (cfg *Config) spreadPoints() [][]float64 {
	return cfg.Space.allowed(cfg.overhanging(screenPoints, cfg.Seed), cfg.Seed)
}

// withSpreadPoints are the points of the spread, and of some others those that are allowed.
func (s *task) withSpreadPoints(others [][]float64) []Place {
	return asPlaces(slices.Concat(s.spreadPoints(), s.cfg.Space.settled(others)))
}

// features are the places' kernel inputs.
func (s *task) features(at []Place) [][]float64 {
	return lists.Map(at, func(p Place) []float64 { return s.cfg.Space.features(p.U) })
}

// ending is the spell during which decision t finds the round failed or abandoned, if it does.
func (r *Round) ending(t int) (spell Spell, ended bool) {
	return lists.Find(r.Closed, func(c Spell) bool { return c.From <= t && (c.To == 0 || t < c.To) })
}

func (r *Round) closedAt(t int) bool {
	_, ended := r.ending(t)
	return ended
}

func (r Reading) seenAt(t int) bool { return r.Told && r.Revealed < t }

// told lists the included rounds with a reading of the metric that the next decision sees.
func (s *task) told(metric int) []int {
	var rounds []int
	for i, r := range s.history.Rounds {
		if !r.Excluded && r.Readings[metric].Told {
			rounds = append(rounds, i+1)
		}
	}
	return rounds
}

// values are the metric's readings of some rounds.
func (h *History) values(metric int, rounds []int) []float64 {
	return lists.Map(rounds, func(n int) float64 { return h.Rounds[n-1].Readings[metric].Value })
}

// undoubted are the rounds whose reading nobody doubts: what hyperparameters are fitted from.
func (h *History) undoubted(metric int, rounds []int) []int {
	return slices.DeleteFunc(slices.Clone(rounds), func(round int) bool { return h.Rounds[round-1].Readings[metric].InDoubt })
}

// readBetween tells whether a reading that counts was told after one decision was made, which another
// sees.
func (s *task) readBetween(one, another int) bool {
	return slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.Revealed >= one && reading.seenAt(another) })
	})
}

// readAmong tells whether decision t had seen a reading of the metric in one of the rounds given.
func (s *task) readAmong(rounds []int, t, metric int) bool {
	return slices.ContainsFunc(rounds, func(n int) bool {
		r := &s.history.Rounds[n-1]
		return !r.Excluded && r.Readings[metric].seenAt(t)
	})
}

// playedBefore lists the rounds before t that were played at the same place.
func (s *task) playedBefore(t int) (rounds []int) {
	here := s.placeOf(t)
	for n := 1; n < t; n++ {
		if samePlace(s.placeOf(n), here) {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// excess is g_j of a round's reading in metric units, against the true threshold.
func (s *task) excess(round, j int) (float64, bool) {
	r, c := &s.history.Rounds[round-1], s.cfg.Costs[j]
	if c.Knowledge == Given {
		return c.Excess(r.Costs[j]), true
	}
	reading := r.Readings[c.Metric]
	return c.Excess(reading.Value), reading.Told
}

// readBeyond tells whether a reading of round n is beyond a learned limit.
func (s *task) readBeyond(n int) bool {
	return slices.ContainsFunc(s.cfg.learned(), func(j int) bool {
		excess, told := s.excess(n, j)
		return told && excess > 0
	})
}

// readingsVary tells whether there is reason to believe that a second reading of the same settings
// would differ from the first: the noise of some metric is given, or came with a reading, or two
// readings of the same settings differed.
func (s *task) readingsVary() bool {
	s.varyOnce.Do(func() { s.vary = s.history.differ(s.cfg) })
	return s.vary
}

// differ is what readingsVary finds out.
func (h *History) differ(cfg *Config) bool {
	for i, m := range cfg.Metrics {
		if !cfg.Fit || !m.FreeNoise {
			return true
		}
		first := map[string]float64{}
		for _, r := range h.Rounds {
			reading := r.Readings[i]
			if r.Excluded || !reading.Told || reading.InDoubt {
				continue
			}
			at := string(lists.Bits(r.Point))
			before, again := first[at]
			if reading.SD > 0 || again && reading.Value != before {
				return true
			}
			first[at] = reading.Value
		}
	}
	return false
}

// firstRoundAt is the first round that was played where round t was.
func (s *task) firstRoundAt(t int) int {
	s.firstOnce.Do(func() {
		played := make(map[string]int, len(s.history.Rounds))
		for i, r := range s.history.Rounds {
			at := string(lists.Bits(r.Point))
			if _, again := played[at]; !again {
				played[at] = i + 1
			}
			s.first = append(s.first, played[at])
		}
	})
	return s.first[t-1]
}

// tried tells which places a round that counts has tried or asked for.
func (s *task) tried() func(Place) bool {
	key := func(u []float64) string { return string(lists.Bits(u)) }
	if s.cfg.Space.Arms == nil { // a ledger keeps settings in clean decimals, a little beside the place that was found
		key = func(u []float64) string {
			return string(lists.Bits(lists.Map(u, func(x float64) float64 { return math.Round(x * 1e6) })))
		}
	}
	played := map[string]bool{}
	for _, r := range s.history.Rounds {
		if !r.Excluded && !r.closedAt(s.Round()) {
			played[key(r.Point)] = true
		}
	}
	return func(p Place) bool { return played[key(p.U)] }
}

// costsOf are the values of constraints that are known beforehand, at the points of some rounds.
func (s *task) costsOf(rounds []int) func(j, i int) float64 {
	return func(j, i int) float64 { return s.history.Rounds[rounds[i]-1].currentCosts()[j] }
}

// currentCosts are the given constraints' values at the round's point by the formulas in force.
func (r *Round) currentCosts() []float64 {
	if r.Now != nil {
		return r.Now
	}
	return r.Costs
}

// givenAt are the given constraints' values at x_t, 0 for learned ones.
func (s *task) givenAt(t int) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			out[j] = c.given(s.history.Rounds[t-1].Costs[j])
		}
	}
	return out
}

// inFirstDesign tells whether decision t, if it is the algorithm's, belongs to a first design of so many
// rounds.
func (s *task) inFirstDesign(t, design int) bool {
	return t <= design || design > 0 && s.nothingRead(t)
}

// nothingRead tells that a policy which weighs what was read would have nothing to weigh at decision t:
// its first design goes on until the first reading, so that a plate of fifty asked for at once is
// fifty places.
func (s *task) nothingRead(t int) bool { return s.traits.NeedsReadings && !s.readBetween(0, t) }

// chosenBefore are the rounds before decision t that the algorithm chose by its model. What another one
// chose before it counts as if this one had: a configuration stands as if it had always been there.
func (s *task) chosenBefore(t int) []int {
	var chosen []int
	design := s.settings.InitialDesign()
	for n := 1; n < t; n++ {
		if s.history.Rounds[n-1].Suggested && !s.inFirstDesign(n, design) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// brokeLimit tells whether a reading of round n that decision t sees is beyond one of the limits, and
// whether that is known of the round. Readings of excluded rounds count: they happened.
func (s *task) brokeLimit(n, t int, costs []int) (broken, known bool) {
	known = true
	for _, j := range costs {
		c := s.cfg.Costs[j]
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		if !reading.seenAt(t) {
			known = false
		} else if c.Excess(reading.Value) > 0 {
			return true, true
		}
	}
	return false, known
}

// completed is the round during which the last reading of round n that any target needs was told,
// if the round is included and all were.
func (s *task) completed(n int) (last int, ok bool) {
	r := &s.history.Rounds[n-1]
	if r.Excluded {
		return 0, false
	}
	for _, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		reading := r.Readings[t.metric]
		if !reading.Told {
			return 0, false
		}
		last = max(last, reading.Revealed)
	}
	return last, true
}

// The setting most_risk r of a limit, or of all together, is a budget over the trials that the
// model chooses, those of the first design and those that people chose or brought being left out:
// nobody weighed their chances. Of T trials planned, with n of the model's told before decision t,
// k of them beyond the limit, the decision may take a place whose chance to break it is at most
//
//	min(r, max(r/10, r + (r·n − k)/(T − t + 1))),
//
// what the earlier trials overdrew being spread over those that are left. Where they overdrew
// nothing it is r: chances not taken are not saved up, since that would let the last trials break
// limits almost surely. So with chances that are what they say, r·N of N trials are expected beyond
// at most, and with chances that are not, the trials beyond are answered by caution.

// leastRisk is the share of most_risk that a decision may always take. A place without any risk is
// where everything is known: a study held to it would ask there to its end. Trials beyond are a
// tenth as frequent as asked for then, even if the model is wrong about its chances by as much as a
// factor of ten.
const leastRisk = 0.1

const mostRisk = "most_risk"

// allowance is the risk that a decision may take with some limits.
type allowance struct {
	costs []int
	most  float64
	now   float64
}

// allowancesAt are the risks that decision t may take; none where any is taken that is worth it.
func (s *task) allowancesAt(t int) []allowance {
	list := s.risksAsked()
	if len(list) == 0 {
		return nil
	}
	chosen, left := s.chosenBefore(t), float64(max(1, s.cfg.Horizon-t+1))
	for i := range list {
		a, told, over := &list[i], 0, 0
		for _, n := range chosen {
			broken, known := s.brokeLimit(n, t, a.costs)
			if known {
				told++
			}
			if broken {
				over++
			}
		}
		a.now = min(a.most, max(leastRisk*a.most, a.most+(a.most*float64(told)-float64(over))/left))
	}
	return list
}

// risksAsked are the limits that are read, each with its risk or all with one.
func (s *task) risksAsked() []allowance {
	var list []allowance
	for _, j := range s.cfg.learned() {
		if most, set := s.settings.Number(mostRisk, s.cfg.Costs[j].Name); set && most < 1 {
			list = append(list, allowance{costs: []int{j}, most: most})
		}
	}
	if len(list) > 0 && !s.settings.ByName(mostRisk) {
		return []allowance{{costs: s.cfg.learned(), most: s.settings.Value(mostRisk, "")}}
	}
	return list
}

// chanceAny is the chance that one of some costs is broken, of which each is with that chance.
func (c *Config) chanceAny(breaks []float64, costs []int) float64 {
	switch {
	case len(breaks) == 0:
		return 0
	case len(costs) == 1:
		return breaks[costs[0]]
	}
	return 1 - c.chanceAll(costs, func(j int) float64 { return 1 - breaks[j] }, func(j int) float64 { return breaks[j] })
}

// chanceAll is the chance that all of some learned costs are kept, each being kept and broken with
// those chances. Metrics count as independent of one another. Limits on one metric are on one
// number: a value that breaks one breaks all that are tighter on its side, and none on the other,
//
//	Π_metric [min_{one side} P(g_j ≤ 0) − max_{other side} P(g_j > 0)]⁺.
//
// Where outputs are raw each limit's prior mean is its own threshold, so that its chance is of a
// number that differs from the others' by as much of that as the readings have not settled.
func (c *Config) chanceAll(costs []int, keeps, breaks func(j int) float64) float64 {
	chance := 1.0
	for n, j := range costs {
		first := c.Costs[j]
		if slices.ContainsFunc(costs[:n], func(k int) bool { return c.Costs[k].Metric == first.Metric }) {
			continue
		}
		kept, broken := keeps(j), 0.0
		for _, k := range costs[n+1:] {
			switch other := c.Costs[k]; {
			case other.Metric != first.Metric:
			case other.Sign == first.Sign:
				kept = min(kept, keeps(k))
			default:
				broken = max(broken, breaks(k))
			}
		}
		chance *= max(0, kept-broken)
	}
	return chance
}

// learned are the costs that are read.
func (c *Config) learned() []int {
	return lists.Where(len(c.Costs), func(j int) bool { return c.Costs[j].Knowledge == Learned })
}
