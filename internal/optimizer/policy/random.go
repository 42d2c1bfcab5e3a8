package policy

import (
	"math/rand/v2"

	"headroom/internal/lists"
)

var randomSearch = Description{
	Name: "random", Title: "Random search",
	Source:   "none needed",
	Feedback: "none",
	Heedless: true,
	Summary:  "The least one can do: every point equally likely.",
	Settings: settings(),
	Build:    func(Context, Settings) Policy { return uniform{} },
}

// uniform gives every place a random score.
type uniform struct{ plain }

func (a uniform) Traits() Traits {
	return Traits{NeedsSet: true, IgnoresEstimates: true, Propose: a.propose}
}

// uniformTries is how many random points are proposed for one that the input constraints allow.
const uniformTries = 1024

func (uniform) propose(s *Input) [][]float64 {
	source := rand.New(rand.NewPCG(s.Draw.Seed, 1))
	points := make([][]float64, uniformTries)
	for i := range points {
		points[i] = lists.Of(len(s.Set.Free), func(int) float64 { return source.Float64() })
	}
	return points
}

func (uniform) Score(s *Input) (Scores, error) {
	source := rand.New(rand.NewPCG(s.Draw.Seed, 0))
	scores := Scores{Value: make([]float64, len(s.Set.Points)), Relative: true, Reason: Space}
	for i := range scores.Value {
		scores.Value[i] = source.Float64()
	}
	return scores, nil
}
