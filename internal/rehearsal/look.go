package rehearsal

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
}

// look adds what the product said when the next trial after so many was asked for.
func (s *served) look(ctx context.Context, record *Record, end *ledger.Snapshot, trials int) error {
	then, err := s.service.Snapshot(ctx, s.created.ID, end.Trials[trials].Seen)
	if err != nil {
		return err
	}
	state, err := s.service.StateOf(ctx, then)
	if err != nil {
		return err
	}
	record.Looks = append(record.Looks, lookOf(state, trials))
	return nil
}

func lookOf(state study.Readout, trials int) Look {
	look := Look{Trials: trials}
	if state.Recommendation != nil {
		look.Recommended = state.Recommendation.Number
	}
	return look
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
	return list
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
