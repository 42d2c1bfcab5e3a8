package policy

import "slices"

var halton = Description{
	Name: "halton", Title: "Space filling",
	Source:   "Owen: A Randomized Halton Algorithm in R, 2017",
	Feedback: "none",
	Heedless: true,
	Summary:  "Spreads the trials evenly: for a map of the space rather than for its best point.",
	Settings: settings(),
	Build:    func(Context, Settings) Policy { return spaceFilling{} },
}

// spaceFilling takes the next point of the scrambled Halton sequence, or the place nearest to it,
// untried places first.
type spaceFilling struct{ plain }

func (a spaceFilling) Traits() Traits {
	return Traits{NeedsPast: true, NeedsSet: true, IgnoresEstimates: true, Propose: a.propose}
}

func (spaceFilling) propose(s *Input) [][]float64 { return [][]float64{s.Set.Design()} }

// Score is the squared distance to the point, negated; a place tried before counts as further away
// than any untried one.
func (spaceFilling) Score(s *Input) (Scores, error) {
	target := s.Set.Design()
	scores := Scores{Value: make([]float64, len(s.Set.Points)), Relative: true, Reason: Space}
	for i, point := range s.Set.Points {
		if slices.ContainsFunc(s.Past, func(p Past) bool { return slices.Equal(p.Point, point) }) {
			scores.Value[i] -= float64(len(point) + 1)
		}
		scores.Value[i] -= s.Set.Dissimilarity(point, target)
	}
	return scores, nil
}
