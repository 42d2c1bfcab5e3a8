package policy

import (
	"math"
	"slices"

	"headroom/internal/lists"
)

var safeSettings = []Setting{betaSetting,
	{Name: "safe_seeds", Type: Points, DefaultMeans: "none: must be given", Meaning: "points known to be within every limit, from which safe ones are reached"},
	{Name: "lipschitz", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "not used: a point is safe when its own band says so",
		Meaning: "L: the constraints change by at most this much per unit of distance in kernel inputs, counted in the metric's scale and with raw outputs in its unit; points are then safe by their distance to safe ones"}}

// fromSeeds completes the settings of an algorithm that begins with its safe seeds: a first design
// would cover the whole space, also beyond the limits.
func fromSeeds(own ...Setting) []Setting {
	design := designSetting("", nil)
	design.Default, design.DefaultMeans, design.workOut = 0.0, "0: it begins with the safe seeds", nil
	return append(append(own, design), common...)
}

// notProven warns those who want no limit broken.
const notProven = "It begins with the safe settings and goes on from them; what lies beyond is judged from few readings, so a trial may still break a limit, mostly by little."

// safe is what the algorithms share that choose only points believed to be within every limit: with
// u = μ+βσ and l = μ−βσ, the safe set is
//
//	S = seeds ∪ {x: u_{g_j}(x) ≤ 0 for all j},
//
// or, with a Lipschitz constant L, what the seeds lead to: if x ∈ S and u_{g_j}(x) + L‖x − x′‖ ≤ 0
// for all j, x′ is in S.
type safe struct {
	widths
	lipschitz float64 // 0: not used
}

func newSafe(c Context, s Settings) safe {
	return safe{widths: newWidths(c, s), lipschitz: s.Value("lipschitz", "")}
}

func (safe) Traits() Traits { return Traits{NeedsSet: true} }

// Estimates are the upper ones: a point is safe when these are within the limits.
func (safe) Estimates(s *Input, i int) []float64 { return s.at(i, s.Beta) }

// sets are the safe set given the readings alone, which the next place is chosen from, and the safe
// set expected once pending trials have their results: they reduce the uncertainty around them, but
// have not shown yet that they are within the limits.
func (a safe) sets(s *Input) (in, soon []bool, err error) {
	if soon, err = a.members(s); err != nil || s.Set.SettledSDs == nil {
		return soon, soon, err
	}
	deviations, err := s.Set.SettledSDs()
	if err != nil {
		return nil, nil, err
	}
	alone := *s
	alone.Costs = nil
	for j, g := range s.Costs {
		alone.Costs = append(alone.Costs, Estimate{Mean: g.Mean, SD: deviations[j]})
	}
	in, err = a.members(&alone)
	return in, soon, err
}

// members marks the safe set of an input.
func (a safe) members(s *Input) ([]bool, error) {
	worst := worstOf(s, s.Beta)
	in := make([]bool, len(worst))
	for _, i := range s.Set.Seeds {
		in[i] = true
	}
	if a.lipschitz == 0 || len(s.Costs) == 0 {
		for i, u := range worst {
			in[i] = in[i] || u <= 0
		}
		return in, nil
	}
	reached := append([]int(nil), s.Set.Seeds...)
	for len(reached) > 0 {
		x := reached[0]
		reached = reached[1:]
		if err := s.Set.Pause(); err != nil {
			return nil, err
		}
		for y := range in {
			if !in[y] && worst[x]+a.lipschitz*s.Set.Distance(x, y) <= 0 {
				in[y] = true
				reached = append(reached, y)
			}
		}
	}
	return in, nil
}

// worstOf is max_j μ_{g_j} + w_j σ_{g_j} at every place, w being the widths per target.
func worstOf(s *Input, widths []float64) []float64 {
	worst := filled(len(s.Reward.Mean), -1)
	for j, g := range s.Costs {
		for i, v := range upper(g, widths[1+j]) {
			if j == 0 || v > worst[i] {
				worst[i] = v
			}
		}
	}
	return worst
}

// widest is the largest width u − l of the bands at every place, over targets from first on.
func widest(s *Input, first int) []float64 {
	w := make([]float64, len(s.Reward.Mean))
	for k, e := range s.targets()[first:] {
		for i, sd := range e.SD {
			w[i] = max(w[i], 2*s.Beta[first+k]*sd)
		}
	}
	return w
}

// expanders tells of a place whether it is one of S at which a reading of l_g would make some point
// safe that is not expected to be. Points with some l_{g_j} > 0 are left out: a reading moves their
// u_{g_j} no lower than l_{g_j}.
func (a safe) expanders(s *Input, in, soon []bool) (func(x int) (bool, error), error) {
	lowest := worstOf(s, negated(s.Beta))
	outside := lists.Where(len(lowest), func(y int) bool { return !soon[y] && (lowest[y] <= 0 || a.lipschitz > 0) })
	would := a.rereading
	if a.lipschitz > 0 {
		would = a.reaching
	} else {
		outside = withinReach(s, soon, outside)
	}
	if len(outside) == 0 {
		return func(int) (bool, error) { return false, nil }, nil
	}
	does, err := would(s, outside)
	asked := map[int]bool{}
	return func(x int) (bool, error) {
		if _, done := asked[x]; !done && in[x] {
			if err := s.Set.Pause(); err != nil {
				return false, err
			}
			asked[x] = does(x)
		}
		return asked[x], nil
	}, err
}

// rounding is the tolerance of withinReach.
const rounding = 1e-9

// withinReach are the places that a reading in S could make safe if it were perfectly correlated
// with them. If a reading removes the share q of a place's variance, u_g(y) is afterwards at least
//
//	μ + βσ(√(1 − q) − q),
//
// which falls with q; q is the largest share in S.
func withinReach(s *Input, in []bool, outside []int) []int {
	left := slices.Clone(outside)
	for j, g := range s.Costs {
		if s.Given[j] {
			continue
		}
		share, beta := 0.0, s.Beta[1+j]
		for x, sd := range g.SD {
			if in[x] && sd > 0 {
				share = max(share, sd*sd/(sd*sd+s.Set.Noise(1+j, x)))
			}
		}
		left = slices.DeleteFunc(left, func(y int) bool {
			band := beta * g.SD[y]
			return g.Mean[y]+band*(math.Sqrt(1-share)-share) > rounding*(1+math.Abs(g.Mean[y])+band)
		})
	}
	return left
}

// reaching tells of a place x whether l_g there would make one of the places safe by its distance.
func (a safe) reaching(s *Input, among []int) (func(x int) bool, error) {
	lowest := worstOf(s, negated(s.Beta))
	return func(x int) bool {
		return slices.ContainsFunc(among, func(y int) bool { return lowest[x]+a.lipschitz*s.Set.Distance(x, y) <= 0 })
	}, nil
}

// rereading tells of a place x whether readings of l_g there would make one of the places safe.
func (a safe) rereading(s *Input, among []int) (func(x int) bool, error) {
	covariances := make([]func(x int) []float64, len(s.Costs))
	for j := range s.Costs {
		if s.Given[j] {
			continue // its value is known, and within the limit where l_g is
		}
		var err error
		if covariances[j], err = s.Set.Covariances(1+j, among); err != nil {
			return nil, err
		}
	}
	return func(x int) bool {
		unsafe := make([]bool, len(among))
		for j, with := range covariances {
			if with == nil {
				continue
			}
			g, beta := s.Costs[j], s.Beta[1+j]
			after := g.Reread(x, g.Mean[x]-beta*g.SD[x], s.Set.Noise(1+j, x), among, with(x))
			for i, u := range upper(after, beta) {
				unsafe[i] = unsafe[i] || u > 0
			}
		}
		return slices.Contains(unsafe, false)
	}, nil
}

// Reread is the estimate at some of the places after one more reading at place x, with noise λ. With
// c(y) the posterior covariance of places x and y, and s = σ²(x) + λ,
//
//	μ′(y) = μ(y) + c(y)(value − μ(x))/s,   σ′²(y) = σ²(y) − c(y)²/s.
func (e Estimate) Reread(x int, value, noise float64, among []int, c []float64) Estimate {
	total := e.SD[x]*e.SD[x] + noise
	after := noEstimates(len(among))
	for i, y := range among {
		after.Mean[i] = e.Mean[y] + c[i]*(value-e.Mean[x])/total
		after.SD[i] = math.Sqrt(max(0, e.SD[y]*e.SD[y]-c[i]*c[i]/total))
	}
	return after
}
