package policy

import "math/rand/v2"

var sgpUCB = Description{
	Name: "sgp-ucb", Title: "Safe upper confidence bound",
	Source:   "Amani, Alizadeh, Thrampoulidis: Regret Bound for Safe Gaussian Process Bandit Optimization, 2020",
	Feedback: safeOpt.Feedback,
	Summary:  "A comparison: tries known safe points at random first, then the best optimistic value among points believed safe.",
	Beware:   notProven,
	Settings: fromSeeds(append(append([]Setting(nil), safeSettings[:2]...),
		Setting{Name: "seed_rounds", Type: Integer, Low: new(0.0), High: new(1e6), DefaultMeans: "⌈√T⌉", workOut: rootHorizon, Meaning: "T′: number of rounds spent on safe seeds"})...),
	NeedsSafeSeeds: true,
	Build: func(c Context, s Settings) Policy {
		rounds := s.Value("seed_rounds", "")
		return seeded{newSafe(c, s), int(rounds)}
	},
}

// seeded plays safe seeds, all equally likely, for T′ rounds; then argmax u_f over the safe set.
type seeded struct {
	safe
	rounds int // T′
}

func (a seeded) Score(s *Input) (Scores, error) {
	if s.Round > a.rounds {
		in, _, err := a.sets(s)
		scores := upperScores(s)
		scores.Allowed = in
		return scores, err
	}
	source := rand.New(rand.NewPCG(s.Draw.Seed, 0))
	scores := Scores{Value: make([]float64, len(s.Set.Points)), Allowed: make([]bool, len(s.Set.Points)), Relative: true, Reason: Seed}
	for _, i := range s.Set.Seeds {
		scores.Value[i], scores.Allowed[i] = source.Float64(), true
	}
	return scores, nil
}
