package lab

import (
	"context"
	"fmt"
	"math"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// lookAt are the numbers of trials after which somebody looks at the study, before the end.
var lookAt = []int{12, 24, 40}

// Look is what the product says when a study has so many trials, those that are waiting among them.
type Look struct {
	Trials int `json:"trials"`
	// Recommended is the trial recommended: the start's come first, counted from 1; 0 for none.
	Recommended int `json:"recommended"`
	// Best is the interval said to hold the best value within the limits; nil where nothing was said.
	Best *study.BestRange `json:"best,omitempty"`
	// Enough tells that it was said that little is left to gain, no more than Little, in the objective's unit.
	Enough bool    `json:"enough,omitempty"`
	Little float64 `json:"little,omitempty"`
}

// look adds what the product said when the next trial after so many was asked for.
func (s served) look(ctx context.Context, record *Record, end *ledger.Snapshot, trials int) error {
	then, err := s.service.Snapshot(ctx, s.created.ID, end.Trials[trials].Seen)
	if err != nil {
		return err
	}
	look, err := s.lookAt(ctx, then, trials)
	record.Looks = append(record.Looks, look)
	return err
}

// lookAt is what the product says at a snapshot.
func (s served) lookAt(ctx context.Context, snap *ledger.Snapshot, trials int) (Look, error) {
	look := Look{Trials: trials}
	state, err := s.service.StateOf(ctx, snap)
	if err != nil {
		return look, err
	}
	if state.Recommendation != nil {
		look.Recommended = state.Recommendation.Number
	}
	gain, err := s.service.GainOf(ctx, snap)
	if err != nil || gain == nil {
		return look, err
	}
	look.Best = &gain.Best
	if stop := gain.Stop(*snap.Definition.Stop); stop != nil {
		look.Enough, look.Little = stop.Reached, stop.Within*gain.ChanceLeft[0].Of
	}
	return look, nil
}

// lookFigures judge what is recommended at every look, by its truth. 0 stands for the end.
func lookFigures() []Figure {
	var list []Figure
	for _, trials := range append([]int{0}, lookAt...) {
		name, when := "", "at the end"
		if trials > 0 {
			name, when = fmt.Sprint(trials), fmt.Sprintf("at %d trials", trials)
		}
		list = append(list,
			Figure{Name: "kept" + name, Title: "recommended / found share of the best, " + when, Of: atLook(trials, keptShare)},
			Figure{Name: "lost" + name, Title: "regret of what is recommended " + when, OwnUnit: true, Of: atLook(trials, recommendedRegret)},
			Figure{Name: "wrong" + name, Title: "an infeasible setting is recommended " + when,
				Of: atLook(trials, func(p *Problem, r *Record, at Look) float64 {
					return indicator(verdictOf(p, r, at) == RecommendedInfeasible)
				})})
	}
	return append(list,
		Figure{Name: "held", Title: "looks whose interval holds the best value within the limits", Of: held},
		Figure{Name: "enough", Title: "looks at which little is said to be left", Of: enough},
		Figure{Name: "mistaken", Title: "of them with more left than was said", Of: mistaken},
		Figure{Name: "stopped", Title: "share of the best for a lab that stops then", Of: stopped})
}

// held is the share of the looks whose interval of the best value holds it; NaN where the best is not known, or no interval was told.
func held(p *Problem, r *Record) float64 {
	inside, all := 0.0, 0.0
	for _, at := range r.Looks {
		if p.Scale.Any && at.Best != nil {
			best := p.reward(Values{p.Study.Objective.Metric: p.Scale.Best}) // a reward to a value, or back
			inside, all = inside+indicator(at.Best.Low <= best && best <= at.Best.High), all+1
		}
	}
	return inside / all
}

// enough counts the looks at which little was said to be left.
func enough(_ *Problem, r *Record) float64 {
	said := 0.0
	for _, at := range r.Looks {
		said += indicator(at.Enough)
	}
	return said
}

// mistaken is the share of them at which more was left, by the truth of what was recommended; NaN where it was never said.
func mistaken(p *Problem, r *Record) float64 {
	wrong, said := 0.0, enough(p, r)
	for _, at := range r.Looks {
		if at.Enough {
			wrong += indicator(!(recommendedRegret(p, r, at) <= at.Little))
		}
	}
	return wrong / said
}

// stopped is the share of the best that a lab has which stops when it is told that little is left, and at the end where it never is.
func stopped(p *Problem, r *Record) float64 {
	for _, at := range r.Looks {
		if at.Enough || at.Trials == r.end().Trials {
			if at.Recommended == 0 || !p.Scale.Any {
				return math.NaN()
			}
			return share(p, r.trials()[at.Recommended-1])
		}
	}
	return math.NaN()
}

// atLook is a figure of one look, NaN where the game has none at so many trials.
func atLook(trials int, of func(p *Problem, r *Record, at Look) float64) func(p *Problem, r *Record) float64 {
	return func(p *Problem, r *Record) float64 {
		for _, at := range r.Looks {
			if at.Trials == trials {
				return of(p, r, at)
			}
		}
		if trials > 0 {
			return math.NaN()
		}
		return of(p, r, r.end())
	}
}

// keptShare is the share of the best that is recommended, over that of the best feasible trial so far: 0 where nothing is recommended, or what breaks a
// limit; NaN where nothing feasible was found.
func keptShare(p *Problem, r *Record, at Look) float64 {
	best := 0.0
	for _, t := range r.trials()[:at.Trials] {
		best = math.Max(best, share(p, t))
	}
	switch {
	case !p.Scale.Any || best == 0:
		return math.NaN()
	case at.Recommended == 0:
		return 0
	}
	return share(p, r.trials()[at.Recommended-1]) / best
}

// recommendedRegret is the distance of what is recommended from the best there is, +∞ where it breaks a limit or there is none.
func recommendedRegret(p *Problem, r *Record, at Look) float64 {
	if !p.Scale.Any {
		return math.NaN()
	}
	if at.Recommended == 0 || !r.trials()[at.Recommended-1].found() {
		return math.Inf(1)
	}
	return p.Scale.Best - p.reward(r.trials()[at.Recommended-1].Truth)
}
