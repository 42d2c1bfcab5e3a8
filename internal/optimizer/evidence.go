package optimizer

import (
	"slices"
	"sort"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
)

// evidence are the regressions of a study's readings, from which the view of every decision is
// made.
type evidence struct {
	*task
	regimes  []*regime
	excluded []int                 // rounds
	path     appendOnly[[]float64] // multipliers of rounds 1..n, before each round's feedback
	next     *view                 // what the next decision acts on
	prior    *evidence             // while building only
	agreed   agreement             // with prior
	kept     *gp.Kept              // of earlier states, while building only; nil for nothing
}

// regime is a stretch of decisions, from ≤ t < until, made with the same hyperparameters. Its
// regressions hold the readings that its last decision sees, in the order of their arrival, so that
// each decision's data are a prefix.
type regime struct {
	from, until int
	models      []metricModel         // what is regressed, and decided by
	said        []metricModel         // what is said: as wide as residuals ask for
	transforms  []transform           // per target
	groups      []*group              // distinct regressions
	groupOf     []int                 // by metric
	answers     []appendOnly[float64] // per target: y, the responses in the order of its regression; none for given ones
	whitened    [][]float64           // per target: z = L⁻¹y; nil for given ones
	own         []*group              // regressions on other points than the arrived readings', where the algorithm has such
	ownOf       []int                 // by target; −1 for none
}

// group is a regression shared by the metrics of equal kernel, noise and arrived rounds.
type group struct {
	model    metricModel
	metric   int // the first one of them
	function *kernel.Function
	order    []arrival
	arrivals appendOnly[arrival] // order, to go on from
	came     continuation        // what it was made from, while building only
	begun    *group              // of the prior state, whose first known rows these continue; nil for none
	known    int

	posterior.Regression // without data where it is updated sequentially
	sequential           *sequential
}

func (s *evidence) regimeAt(t int) *regime {
	for _, regime := range s.regimes {
		if t < regime.until {
			return regime
		}
	}
	return s.regimes[len(s.regimes)-1]
}

// seen is the number of leading arrivals that decision t sees.
func (g *group) seen(t int) int {
	return sort.Search(len(g.order), func(i int) bool { return g.order[i].revealed >= t })
}

func (s *evidence) priorRegimes() []*regime {
	if s.prior == nil {
		return nil
	}
	return s.prior.regimes
}

// samePoint tells whether a round was played at the same point in the history this state extends.
func (s *evidence) samePoint(round int) bool {
	if s.prior == nil || round > len(s.prior.history.Rounds) {
		return false
	}
	a, b := s.prior.history.Rounds[round-1], s.history.Rounds[round-1]
	return a.Arm == b.Arm && slices.Equal(a.Point, b.Point)
}

// scaledFrom is, for each cost, the first decision with a scale of its metric: 1 where outputs are
// as they are and for given costs, beyond the next decision where there is none yet. A price in
// units that nothing is known of yet would depend on the unit.
func (s *evidence) scaledFrom() []int {
	from := make([]int, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		from[j] = 1
		if c.Knowledge == Given || !s.cfg.Standardize {
			continue
		}
		from[j] = s.Round() + 1
		for _, regime := range s.regimes {
			if regime.models[c.Metric].count > 0 {
				from[j] = regime.from
				break
			}
		}
	}
	return from
}

// letGo forgets the prior state once nothing more is taken from it.
func (s *evidence) letGo() {
	s.prior, s.kept = nil, nil
	for _, regime := range s.regimes {
		for _, g := range slices.Concat(regime.groups, regime.own) {
			g.begun, g.came = nil, continuation{}
		}
	}
}
