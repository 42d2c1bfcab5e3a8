package optimizer

import (
	"fmt"
	"slices"
	"sync"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// task is what an algorithm is given: a configuration, and what happened.
type task struct {
	cfg      *Config
	history  *History
	policy   policy.Policy
	traits   policy.Traits // of the policy
	settings policy.Settings
	targets  []target
	arms     *arms
	spread   *spread
	room     int64 // bytes that the model may take

	varies sync.Once
	vary   bool // see readingsVary

	compared sync.Once
	first    []int // see firstAt
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
	for _, d := range cfg.Space.Dims {
		if !d.Derived {
			c.Dimensions++
		}
	}
	for _, m := range cfg.Metrics {
		c.Metrics = append(c.Metrics, m.Name)
	}
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
	f, err := kernel.New(k.Name, s.cfg.Space.spread(k.Lengthscales), k.Variance)
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

// everyArm tells whether the places are all candidates in their order.
func (s *task) everyArm(at []Place) bool {
	if s.arms == nil || len(at) != len(s.arms.places) {
		return false
	}
	for i, p := range at {
		if p.Arm != i {
			return false
		}
	}
	return true
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
	rows := make([][]float64, len(places))
	for i := range rows {
		rows[i] = make([]float64, len(s.cfg.Costs))
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				rows[i][j] = value(j, i)
			}
		}
	}
	return rows
}

// keepsKnownLimits tells of a place whether all costs of known form are at most 0 there.
func (s *task) keepsKnownLimits(known Known) func(Place) bool {
	return func(at Place) bool {
		for _, row := range s.knownRows([]Place{at}, known) {
			if slices.Max(row) > 0 { // costs of other kinds are 0 in it
				return false
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
func (s *task) pointsPlayed() (points [][]float64) {
	for _, r := range s.history.Rounds {
		points = append(points, r.Point)
	}
	return points
}

// allowedPlaces settles points and keeps the allowed ones, each once.
func (s *task) allowedPlaces(points [][]float64) []Place {
	var at []Place
	listed := map[string]bool{}
	for _, u := range points {
		v, ok := s.cfg.Space.settle(u)
		if name := fmt.Sprint(v); ok && !listed[name] {
			listed[name] = true
			at = append(at, Place{U: v, Arm: -1})
		}
	}
	return at
}

// screeningPlaces are the space-filling points that are allowed, and the points tried before.
func (s *task) screeningPlaces() []Place {
	return s.placesOf(search.Halton(screenPoints, len(s.cfg.Space.Dims), s.cfg.Seed), s.pointsPlayed())
}

// anyPlace is an allowed point of a finer search, for spaces that the sequence hardly meets.
func (s *task) anyPlace() (Place, bool) {
	places := s.screeningPlaces()
	if len(places) == 0 {
		return Place{}, false
	}
	return places[s.Round()%len(places)], true
}

// spread are overhanging points that are allowed, the same in every round.
type spread struct {
	once   sync.Once
	points [][]float64
}

// amidSpread are the points of the spread, and of some others those that are allowed.
func (s *task) amidSpread(others [][]float64) []Place {
	s.spread.once.Do(func() {
		s.spread.points = s.cfg.Space.allowed(s.cfg.overhanging(screenPoints, s.cfg.Seed), s.cfg.Seed)
	})
	return asPlaces(slices.Concat(s.spread.points, s.cfg.Space.settled(others)))
}

// features are the places' kernel inputs.
func (s *task) features(at []Place) [][]float64 {
	x := make([][]float64, len(at))
	for i, p := range at {
		x[i] = s.cfg.Space.features(p.U)
	}
	return x
}
