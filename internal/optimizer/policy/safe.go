package policy

import "slices"

var safeSettings = []Setting{betaSetting,
	{Name: "safe_seeds", Type: Points, DefaultMeans: "none: must be given", Meaning: "points known to be within every limit, from which safe ones are reached"},
	{Name: "lipschitz", Type: Number, Low: limit(0), LowExclusive: true, DefaultMeans: "not used: a point is safe when its own band says so",
		Meaning: "L: the constraints change by at most this much per unit of distance in kernel inputs; points are then safe by their distance to safe ones"}}

// safe is what algorithms share that only choose points believed to be within every limit: u =
// μ+βσ, l = μ−βσ, and the safe set
//
//	S = seeds ∪ {x: u_{g_j}(x) ≤ 0 for all j},
//
// or, with a Lipschitz constant L, what the seeds lead to: x ∈ S and u_{g_j}(x) + L‖x − x′‖ ≤ 0 for
// all j put x′ into S.
type safe struct {
	widths
	lipschitz float64 // 0: not used
}

func newSafe(c Context, s Settings) safe {
	return safe{widths: newWidths(c, s), lipschitz: s.Value("lipschitz", "")}
}

func (safe) Traits() Traits { return Traits{LooksAtAll: true} }

// Estimates are the upper ones: a point is safe when even they are within the limit.
func (safe) Estimates(s *Input, i int) []float64 { return s.at(i, s.Beta) }

// members marks the safe set.
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

// widest is the width u − l of the band at every place, the largest over targets first to last.
func widest(s *Input, first, last int) []float64 {
	w := make([]float64, len(s.Reward.Mean))
	for k, e := range s.targets()[first : last+1] {
		for i, sd := range e.SD {
			w[i] = max(w[i], 2*s.Beta[first+k]*sd)
		}
	}
	return w
}

// expanders marks the points of S whose optimistic reading l_g would make some point outside S
// safe. A point outside with some l_{g_j} > 0 is left out: a reading moves its u_{g_j} no lower
// than l_{g_j}.
func (a safe) expanders(s *Input, in []bool) ([]bool, error) {
	expands := make([]bool, len(in))
	lowest := worstOf(s, negated(s.Beta))
	var outside []int
	for y, l := range lowest {
		if !in[y] && (l <= 0 || a.lipschitz > 0) {
			outside = append(outside, y)
		}
	}
	if len(outside) == 0 {
		return expands, nil
	}
	would := a.rereading
	if a.lipschitz > 0 {
		would = a.reaching
	}
	does, err := would(s, outside)
	for x := 0; x < len(in) && err == nil; x++ {
		expands[x] = in[x] && does(x)
		err = s.Set.Pause()
	}
	return expands, err
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
	readers := make([]func(x int, value float64) Estimate, len(s.Costs))
	for j := range s.Costs {
		if s.Given[j] {
			continue
		}
		var err error
		if readers[j], err = s.Set.Reread(1+j, among); err != nil {
			return nil, err
		}
	}
	return func(x int) bool {
		unsafe := make([]bool, len(among))
		for j, read := range readers {
			if read == nil {
				continue // its value is known, and within the limit where l_g is
			}
			g, beta := s.Costs[j], s.Beta[1+j]
			for i, u := range upper(read(x, g.Mean[x]-beta*g.SD[x]), beta) {
				unsafe[i] = unsafe[i] || u > 0
			}
		}
		return slices.Contains(unsafe, false)
	}, nil
}
