package optimizer

import (
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// task is what an algorithm is given: a configuration and a history.
type task struct {
	cfg          *Config
	history      *History
	policy       policy.Policy
	traits       policy.Traits // of the policy
	settings     policy.Settings
	targets      []target
	arms         *placeList
	spreadPoints func() [][]float64 // see Config.spreadPoints; computed once
	room         int64              // bytes that the model may take

	readingsVary func() bool  // see History.readingsVary; computed once
	firstRounds  func() []int // see History.firstRounds; computed once
}

// target is one function that the algorithm reasons about: the reward (target 0) or cost j (target
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

// Context is what the algorithm's settings are resolved against.
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

// horizon is the T in the algorithm's constants in round t, 0 where it is the number of rounds
// planned.
func (s *task) horizon(t int) int {
	if s.traits.Horizon == nil {
		return 0
	}
	return s.traits.Horizon(t)
}

// placeOf is the place of round t.
func (s *task) placeOf(t int) Place {
	r := &s.history.Rounds[t-1]
	return Place{r.Point, r.Arm}
}

// placesAt are the places of some rounds.
func (s *task) placesAt(rounds []int) []Place {
	return lists.Map(rounds, s.placeOf)
}

// targetOf is the first target of a metric.
func (s *task) targetOf(metric int) int {
	return slices.IndexFunc(s.targets, func(t target) bool { return t.metric == metric })
}

// draw returns the random numbers of decision t: the recorded ones, else only the seed, from which
// they are drawn where needed.
func (s *task) draw(t int) Draw {
	d := Draw{Seed: s.cfg.DecisionSeed(t)}
	if t <= len(s.history.Rounds) {
		if recorded := s.history.Rounds[t-1].Draw; recorded.Z != nil || recorded.Seed != 0 {
			d = recorded
		}
	}
	return d
}

func (s *task) kernelFunction(k Kernel) (*kernel.Function, error) {
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

// kernelInput is what the kernel takes for a place: its features, or the index of its arm.
func (s *task) kernelInput(k Kernel, at Place) []float64 {
	if k.Name == "covariance" {
		return []float64{float64(at.Arm)}
	}
	return s.cfg.Space.features(at.U)
}

// isEveryArm tells whether the places are all candidates, in order.
func (s *task) isEveryArm(at []Place) bool {
	return s.arms != nil && slices.EqualFunc(at, s.arms.places, func(a, b Place) bool { return a.Arm == b.Arm })
}

// allowedArms are the candidates that may be chosen.
func (s *task) allowedArms() []Place {
	return slices.DeleteFunc(slices.Clone(s.arms.places), func(p Place) bool { return !s.cfg.Space.offers(p) })
}

// knownRows tabulates the given constraints' values at the places; nil when there are none.
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

// keepsKnownLimits tells of a place whether it keeps all limits of known form.
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

// placesOf returns the allowed ones of space-filling points (see Space.allowed) and of other
// points.
func (s *task) placesOf(points, others [][]float64) []Place {
	return asPlaces(append(s.cfg.Space.allowed(points, s.cfg.Seed), s.cfg.Space.settled(others)...))
}

// pointsPlayed are the points of all rounds.
func (s *task) pointsPlayed() [][]float64 {
	return lists.Map(s.history.Rounds, func(r Round) []float64 { return r.Point })
}

// allowedPlaces returns the points that are allowed, settled, each once.
func (s *task) allowedPlaces(points [][]float64) []Place {
	return unique(asPlaces(s.cfg.Space.settled(points)))
}

// unique removes, in place, places that occur earlier in the list.
func unique(at []Place) []Place {
	listed := map[string]bool{}
	return slices.DeleteFunc(at, func(p Place) bool {
		name := string(lists.Bits(p.U))
		again := listed[name]
		listed[name] = true
		return again
	})
}

// screeningPlaces are the allowed ones of the space-filling points, and of the points played.
func (s *task) screeningPlaces() []Place {
	return s.placesOf(search.Halton(screenPoints, len(s.cfg.Space.Dims), s.cfg.Seed), s.pointsPlayed())
}

// spreadPoints are the allowed ones of the overhanging points, the same in every round.
func (cfg *Config) spreadPoints() [][]float64 {
	return cfg.Space.allowed(cfg.overhanging(screenPoints, cfg.Seed), cfg.Seed)
}

// withSpreadPoints are the places of the spread points and the allowed ones of other points.
func (s *task) withSpreadPoints(others [][]float64) []Place {
	return asPlaces(slices.Concat(s.spreadPoints(), s.cfg.Space.settled(others)))
}

// features are the kernel inputs of places.
func (s *task) features(at []Place) [][]float64 {
	return lists.Map(at, func(p Place) []float64 { return s.cfg.Space.features(p.U) })
}

// ending returns the spell that contains decision t, if there is one: the trial then counts as
// failed or abandoned.
func (r *Round) ending(t int) (spell Spell, ended bool) {
	return lists.Find(r.Closed, func(c Spell) bool { return c.From <= t && (c.To == 0 || t < c.To) })
}

func (r *Round) closedAt(t int) bool {
	_, ended := r.ending(t)
	return ended
}

// countsAt tells whether the round is in the data of decision t with a reading.
func (r *Round) countsAt(t int) bool {
	return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
}

// elsewhere tells whether the round was suggested and run at other settings.
func (r *Round) elsewhere() bool { return r.Asked != nil && !slices.Equal(r.Asked, r.Point) }

func (r Reading) seenAt(t int) bool { return r.Told && r.Revealed < t }

// roundsWhere lists the rounds of first ≤ n < end for which is is true.
func (h *History) roundsWhere(first, end int, is func(n int, r *Round) bool) (rounds []int) {
	for n := first; n < end; n++ {
		if is(n, &h.Rounds[n-1]) {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// told lists the included rounds with a reading of the metric.
func (s *task) told(metric int) []int {
	return s.history.roundsWhere(1, s.Round(), func(_ int, r *Round) bool { return !r.Excluded && r.Readings[metric].Told })
}

// values are the metric's readings of some rounds.
func (h *History) values(metric int, rounds []int) []float64 {
	return lists.Map(rounds, func(n int) float64 { return h.Rounds[n-1].Readings[metric].Value })
}

// undoubted lists the rounds whose reading is not in doubt. Hyperparameters are fitted from these.
func (h *History) undoubted(metric int, rounds []int) []int {
	return slices.DeleteFunc(slices.Clone(rounds), func(round int) bool { return h.Rounds[round-1].Readings[metric].InDoubt })
}

// readBetween tells whether some included reading was told after decision one and is seen by
// decision another.
func (s *task) readBetween(one, another int) bool {
	return slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.Revealed >= one && reading.seenAt(another) })
	})
}

// readAmong tells whether decision t saw an included reading of the metric in one of the rounds.
func (s *task) readAmong(rounds []int, t, metric int) bool {
	return slices.ContainsFunc(rounds, func(n int) bool {
		r := &s.history.Rounds[n-1]
		return !r.Excluded && r.Readings[metric].seenAt(t)
	})
}

// playedBefore lists the rounds before t that were played at the same place.
func (s *task) playedBefore(t int) (rounds []int) {
	here := s.placeOf(t)
	return s.history.roundsWhere(1, t, func(n int, _ *Round) bool { return samePlace(s.placeOf(n), here) })
}

// excess is g_j of a round's reading in metric units, without the margin, and whether it is known.
func (s *task) excess(round, j int) (float64, bool) {
	r, c := &s.history.Rounds[round-1], s.cfg.Costs[j]
	if c.Knowledge == Given {
		return c.Excess(r.Costs[j]), true
	}
	reading := r.Readings[c.Metric]
	return c.Excess(reading.Value), reading.Told
}

// readBeyond tells whether some reading of round n breaks a learned limit.
func (s *task) readBeyond(n int) bool {
	return slices.ContainsFunc(s.cfg.learned(), func(j int) bool {
		excess, told := s.excess(n, j)
		return told && excess > 0
	})
}

// readingsVary tells whether a second reading of the same settings is expected to differ from the
// first: the noise of some metric is given, or came with a reading, or two readings of the same
// settings differed.
func (h *History) readingsVary(cfg *Config) bool {
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

// firstRounds gives, for each round, the first one played at the same point.
func (h *History) firstRounds() []int {
	played := make(map[string]int, len(h.Rounds))
	return lists.Of(len(h.Rounds), func(i int) int {
		at := string(lists.Bits(h.Rounds[i].Point))
		if _, again := played[at]; !again {
			played[at] = i + 1
		}
		return played[at]
	})
}

// tried tells whether a place was chosen in a round that is included and not closed.
func (s *task) tried() func(Place) bool {
	key := func(u []float64) string { return string(lists.Bits(u)) }
	if s.cfg.Space.Arms == nil { // a ledger rounds settings to clean decimals
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

// costsOf returns the values of given constraints at the points of some rounds, by the formulas in
// force.
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

// givenAt are the given constraints' values at x_t with their margins, 0 for learned ones.
func (s *task) givenAt(t int) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			out[j] = c.given(s.history.Rounds[t-1].Costs[j])
		}
	}
	return out
}

// inFirstDesign tells whether decision t, if the algorithm makes it, belongs to a first design of
// so many rounds.
func (s *task) inFirstDesign(t, design int) bool {
	return t <= design || design > 0 && s.nothingRead(t)
}

// nothingRead tells whether decision t sees no reading and the algorithm needs one. Its first
// design then goes on, so that a batch of fifty before the first reading is fifty different places.
func (s *task) nothingRead(t int) bool { return s.traits.NeedsReadings && !s.readBetween(0, t) }

// chosenBefore lists the rounds before decision t that an algorithm chose by its model. They count
// whichever algorithm was configured then: a configuration is applied as if it had always been
// there.
func (s *task) chosenBefore(t int) []int {
	design := s.settings.InitialDesign()
	return s.history.roundsWhere(1, t, func(n int, r *Round) bool { return r.Suggested && !s.inFirstDesign(n, design) })
}

// brokeLimit tells whether a reading of round n that decision t sees is beyond one of the limits,
// and whether that is known. Readings of excluded rounds count: they happened.
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

// completed returns the round during which the last reading of round n that any target needs was
// told; not ok if the round is excluded or a reading is missing.
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

// The setting most_risk r, of one limit or of all together, bounds the share of the trials that
// break it, among those the model chooses. Trials of the first design and those that people chose
// or imported do not count: no chances were compared for them. With T trials planned, and k of the
// n model's trials told before decision t beyond the limit, decision t may choose a place whose
// chance to break it is at most
//
//	min(r, max(r/10, r + (r·n − k)/(T − t + 1))).
//
// An excess of earlier trials is spread over the remaining ones. Risk not taken is not saved up: it
// would let the last trials break limits almost surely. If the chances are right, at most r·N of N
// trials are expected beyond; if they are not, later trials become safer.

// leastRisk is the share of most_risk that every decision may take. Only places where everything is
// known have no risk, and a study held to them would never leave them. With it a share r/10 of the
// trials breaks the limit, or r if the true chances are ten times as large as the model's.
const leastRisk = 0.1

const mostRisk = "most_risk"

// allowance is the risk that a decision may take with some limits.
type allowance struct {
	costs []int
	most  float64 // r
	now   float64 // what the decision may take
}

// allowancesAt are the risks that decision t may take; none where risk is not bounded.
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

// risksAsked lists the learned limits whose risk is bounded, each by itself or all together.
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

// chanceAny is the chance that at least one of some costs is broken, given the chance of each cost.
func (c *Config) chanceAny(breaks []float64, costs []int) float64 {
	switch {
	case len(breaks) == 0:
		return 0
	case len(costs) == 1:
		return breaks[costs[0]]
	}
	return 1 - c.chanceAll(costs, func(j int) float64 { return 1 - breaks[j] }, func(j int) float64 { return breaks[j] })
}

// chanceAll is the chance that all of some learned costs are kept, given the chances that each is
// kept and broken. Metrics count as independent of one another. Limits on one metric concern one
// number: a value that breaks one limit breaks all tighter ones on its side, and none on the other,
//
//	Π_metric [min_{one side} P(g_j ≤ 0) − max_{other side} P(g_j > 0)]⁺.
//
// Where outputs are raw, each limit's prior mean is its own threshold, so that the chances of a
// metric's limits refer to numbers that differ as far as the readings have not determined them.
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

// learned lists the learned costs.
func (c *Config) learned() []int {
	return lists.Where(len(c.Costs), func(j int) bool { return c.Costs[j].Knowledge == Learned })
}
