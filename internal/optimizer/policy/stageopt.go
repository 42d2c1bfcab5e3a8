package policy

import (
	"cmp"
	"math"
	"slices"

	"headroom/internal/lists"
)

var stageOpt = Description{
	Name: "stageopt", Title: "Safe exploration in two stages",
	Source:         "Sui, Zhuang, Burdick, Yue: Stagewise Safe Bayesian Optimization with Gaussian Processes, 2018",
	Feedback:       safeOpt.Feedback,
	Summary:        "Like safeopt, but it first widens the safe region and then optimises within it.",
	Beware:         notProven,
	Settings:       fromSeeds(safeSettings...),
	NeedsSafeSeeds: true,
	Build:          func(c Context, s Settings) Policy { return stages{newSafe(c, s)} },
}

// stages chooses the expander with the widest band of a constraint while t ≤ T0 = min(T/10, 100)
// and S has grown beyond its largest size within the last 10 rounds; then, or when nothing expands,
// argmax_S u_f.
//
// The size of S is computed anew from what each earlier decision saw, so there is nothing to
// record.
type stages struct{ safe }

// patience is the number of rounds without growth that ends the first stage.
const patience = 10

func (a stages) Score(s *Input) (Scores, error) {
	in, soon, err := a.sets(s)
	if err != nil {
		return Scores{}, err
	}
	over := float64(s.Round) > math.Min(float64(s.Horizon)/10, 100)
	if !over {
		over, err = a.stalled(s, soon)
	}
	if !over && err == nil {
		scores := Scores{Value: widest(s, 1), Allowed: make([]bool, len(in)), Reason: Explore}
		if scores.CheckAllowed, err = a.expanders(s, in, soon); err == nil {
			var some bool
			if some, err = anyOf(scores); some {
				return scores, err
			}
		}
	}
	scores := upperScores(s)
	scores.Allowed = in
	return scores, err
}

// anyOf tells whether some place is allowed by CheckAllowed; it checks large scores first.
func anyOf(scores Scores) (bool, error) {
	order := lists.Below(len(scores.Value))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores.Value[b], scores.Value[a]) })
	for _, i := range order {
		if is, err := scores.CheckAllowed(i); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// stalled tells whether, at this or an earlier decision, S had not grown for 10 rounds.
func (a stages) stalled(s *Input, in []bool) (bool, error) {
	largest, grown := 0, 0
	for t := 1; t <= s.Round; t++ {
		size := count(in)
		if t < s.Round {
			then, err := s.Set.Earlier(t)
			if err != nil {
				return false, err
			}
			was, err := a.members(then)
			if err != nil {
				return false, err
			}
			size = count(was)
		}
		if size > largest {
			largest, grown = size, t
		}
		if t-grown >= patience {
			return true, nil
		}
	}
	return false, nil
}
