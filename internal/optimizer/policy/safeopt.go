package policy

import "math"

var safeOpt = Description{
	Name: "safeopt", Title: "Safe exploration",
	Source:         "Sui, Gotovos, Burdick, Krause: Safe Exploration for Optimization with Gaussian Processes, 2015",
	Feedback:       "noisy readings of the objective and of every constraint; points known to be safe",
	Summary:        "When no trial at all may break a limit and safe settings are known: moves outwards from them.",
	Beware:         notProven,
	Settings:       fromSeeds(safeSettings...),
	NeedsSafeSeeds: true,
	Build:          func(c Context, s Settings) Policy { return safeSearch{newSafe(c, s)} },
}

// safeSearch chooses, among the maximisers M = {x ∈ S: u_f(x) ≥ max_S l_f} and the expanders G, the
// point whose band is widest.
type safeSearch struct{ safe }

func (a safeSearch) Score(s *Input) (Scores, error) {
	in, soon, err := a.sets(s)
	if err != nil {
		return Scores{}, err
	}
	expands, err := a.expanders(s, in, soon)
	allowed, best := make([]bool, len(in)), math.Inf(-1)
	for i, l := range lower(s.Reward, s.Beta[0]) {
		if in[i] {
			best = math.Max(best, l)
		}
	}
	for i, u := range upper(s.Reward, s.Beta[0]) {
		allowed[i] = in[i] && u >= best
	}
	return Scores{Value: widest(s, 0), Allowed: allowed, CheckAllowed: expands, Reason: Explore}, err
}
