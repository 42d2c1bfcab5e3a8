package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// judgedGame is a game with the truth by which it is judged.
type judgedGame struct {
	*Problem
	*Record
}

// Figure is one number by which a game is judged.
type Figure struct {
	Name, Title string
	Of          func(g judgedGame) float64 // NaN: it has no meaning in this game
	// OwnUnit: it is in the unit of a metric, so that there is no mean over problems, and infinite
	// if a game has found nothing.
	OwnUnit bool
}

// Figures lists the figures. Settings are judged by their truth, whatever was read there; the rows
// at the start count as found.
var Figures = slices.Concat([]Figure{
	{Name: "share", Title: "mean share of the best feasible value over the asks", Of: func(g judgedGame) float64 { return mean(g.shares()) }},
	{Name: "final", Title: "share at the end", Of: func(g judgedGame) float64 { return last(g.shares()) }},
}, within(0.05), within(0.02), within(0.01), []Figure{
	{Name: "infeasible", Title: "asks outside a limit", Of: countOf(Trial.outside)},
	{Name: "before", Title: "of them before a feasible row was known", Of: func(g judgedGame) float64 { return countIf(g.Asks[:g.feasibleFrom()], Trial.outside) }},
	{Name: "after", Title: "of them after", Of: func(g judgedGame) float64 { return countIf(g.Asks[g.feasibleFrom():], Trial.outside) }},
	{Name: "seeking", Title: "of them until within 2 % of the best", Of: countUntilNear(Trial.outside)},
	{Name: "excess", Title: "largest excess beyond a limit, in standard deviations of its metric over the settings", Of: func(g judgedGame) float64 { return slices.Max(append(g.excesses(), 0)) }},
	{Name: "excesses", Title: "sum of all such excesses", Of: func(g judgedGame) float64 { return sum(g.excesses()) }},
	{Name: "repeats", Title: "asks within .002 of the ranges of an earlier one (in a table: to known rows)", Of: countOf(Trial.repeats)},
	{Name: "rereading", Title: "of them until within 2 % of the best", Of: countUntilNear(Trial.repeats)},
	{Name: "failed", Title: "asks that failed", Of: countOf(Trial.fails)},
	{Name: "again", Title: "of them at settings that had failed before", Of: judgedGame.failedAgain},
	{Name: "regret", Title: "regret of the best feasible setting", OwnUnit: true, Of: judgedGame.regret},
}, lookFigures(), []Figure{
	{Name: "best", Title: "the best feasible setting is recommended", Of: func(g judgedGame) float64 { return indicator(g.verdict(g.end()) == RecommendedBest) }},
	{Name: "none", Title: "nothing is recommended", Of: func(g judgedGame) float64 { return indicator(g.verdict(g.end()) == RecommendedNone) }},
	{Name: "new50", Title: "coverage of the 50 % band, new settings", Of: covered(func(c optimizer.Calibration) (optimizer.Coverage, float64) { return c.New, c.New.Coverage50 })},
	{Name: "new80", Title: "coverage of the 80 % band, new settings", Of: covered(func(c optimizer.Calibration) (optimizer.Coverage, float64) { return c.New, c.New.Coverage80 })},
	{Name: "new95", Title: "coverage of the 95 % band, new settings", Of: covered(func(c optimizer.Calibration) (optimizer.Coverage, float64) { return c.New, c.New.Coverage95 })},
	{Name: "known95", Title: "coverage of the 95 % band, repeated settings", Of: covered(func(c optimizer.Calibration) (optimizer.Coverage, float64) { return c.Repeated, c.Repeated.Coverage95 })},
	{Name: "shown95", Title: "coverage of the 95 % band as the product shows it", Of: covered(func(c optimizer.Calibration) (optimizer.Coverage, float64) { return c.Coverage, c.Coverage95 })},
	{Name: "p50", Title: "milliseconds an ask, median", Of: func(g judgedGame) float64 { return g.milliseconds(0.5) }},
	{Name: "p95", Title: "milliseconds an ask, 95th percentile", Of: func(g judgedGame) float64 { return g.milliseconds(0.95) }},
})

func within(share float64) []Figure {
	percent := fmt.Sprintf("%.0f", 100*share)
	return []Figure{
		{Name: "to" + percent, Title: "asks until within " + percent + " % of the best (never = asks + 1)", Of: func(g judgedGame) float64 { return g.asksTo(share) }},
		{Name: "in" + percent, Title: "within " + percent + " % at the end", Of: func(g judgedGame) float64 {
			if !g.Scale.Any {
				return math.NaN()
			}
			return indicator(isWithin(last(g.shares()), share))
		}},
	}
}

// lookFigures returns the figures about what is recommended at every look, judged by its truth.
func lookFigures() []Figure {
	var list []Figure
	for _, trials := range append([]int{0}, lookAt...) { // 0 is the end
		name, when := "", "at the end"
		if trials > 0 {
			name, when = fmt.Sprint(trials), fmt.Sprintf("at %d trials", trials)
		}
		at := func(of func(judgedGame, Look) float64) func(judgedGame) float64 { // NaN where the game has no look at so many trials
			return func(g judgedGame) float64 {
				if trials == 0 {
					return of(g, g.end())
				}
				if i := slices.IndexFunc(g.Looks, func(look Look) bool { return look.Trials == trials }); i >= 0 {
					return of(g, g.Looks[i])
				}
				return math.NaN()
			}
		}
		list = append(list,
			Figure{Name: "kept" + name, Title: "recommended / found share of the best, " + when, Of: at(judgedGame.recommendedShare)},
			Figure{Name: "lost" + name, Title: "regret of what is recommended " + when, OwnUnit: true, Of: at(judgedGame.recommendedRegret)},
			Figure{Name: "wrong" + name, Title: "an infeasible setting is recommended " + when,
				Of: at(func(g judgedGame, look Look) float64 { return indicator(g.verdict(look) == RecommendedInfeasible) })})
	}
	return append(list,
		Figure{Name: "held", Title: "looks whose interval holds the best value within the limits", Of: judgedGame.bestIntervalCoverage},
		Figure{Name: "enough", Title: "looks at which little is said to be left", Of: func(g judgedGame) float64 { return float64(len(g.enough())) }},
		Figure{Name: "mistaken", Title: "of them with more left than was said", Of: judgedGame.wronglyEnough},
		Figure{Name: "stopped", Title: "share of the best for a lab that stops then", Of: judgedGame.shareWhenStopped})
}

// LimitFigures returns the figures about the problem's own limits, in their units.
func (p *Problem) LimitFigures() []Figure {
	var list []Figure
	for _, c := range p.Study.Constraints {
		limit := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.Metric, c.Op, design.FormatNumber(c.Threshold), c.Unit))
		list = append(list,
			Figure{Name: "excess of " + c.Name, Title: "largest excess beyond " + limit, Of: func(g judgedGame) float64 { return slices.Max(append(g.beyond(c), 0)) }},
			Figure{Name: "excesses of " + c.Name, Title: "sum of the excesses beyond " + limit, Of: func(g judgedGame) float64 { return sum(g.beyond(c)) }})
	}
	return list
}

// shares returns, after each ask, the share of the best feasible value found so far, 0 while there
// is none. It is nil if nothing is feasible at all.
func (g judgedGame) shares() []float64 {
	if !g.Scale.Any {
		return nil
	}
	best, out := 0.0, []float64{}
	for i, t := range g.trials() {
		if best = math.Max(best, g.share(t)); i >= len(g.Start) {
			out = append(out, best)
		}
	}
	return out
}

func (g judgedGame) share(t Trial) float64 {
	if !t.found() {
		return 0
	}
	return g.Scale.Share(g.reward(t.Truth))
}

// asksTo returns the number of asks until the best feasible settings found are within a share of
// the best; one more than there were if they never are.
func (g judgedGame) asksTo(within float64) float64 {
	if !g.Scale.Any {
		return math.NaN()
	}
	for i, t := range g.trials() {
		if isWithin(g.share(t), within) {
			return float64(max(0, i+1-len(g.Start)))
		}
	}
	return float64(len(g.Asks) + 1)
}

// isWithin allows for rounding.
func isWithin(share, within float64) bool { return share >= 1-within-1e-12 }

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func countIf(trials []Trial, is func(Trial) bool) float64 {
	n := 0.0
	for _, t := range trials {
		n += indicator(is(t))
	}
	return n
}

func countOf(is func(Trial) bool) func(judgedGame) float64 {
	return func(g judgedGame) float64 { return countIf(g.Asks, is) }
}

// countUntilNear returns the figure that counts the asks of a kind before the first ask within 2 %
// of the best; all of them if none is.
func countUntilNear(is func(Trial) bool) func(judgedGame) float64 {
	return func(g judgedGame) float64 {
		until := g.asksTo(0.02)
		if math.IsNaN(until) {
			return until
		}
		return countIf(g.Asks[:max(0, int(until)-1)], is)
	}
}

// failedAgain returns the number of asks that failed nearly where an earlier one had.
func (g judgedGame) failedAgain() float64 {
	var before []Trial
	again := 0.0
	for _, t := range g.Asks {
		if t.fails() {
			again += indicator(slices.ContainsFunc(before, func(other Trial) bool { return g.near(t.Settings, other.Settings) }))
			before = append(before, t)
		}
	}
	return again
}

// excesses returns how far the asks lay beyond each limit, in standard deviations of its metric
// over the settings.
func (g judgedGame) excesses() []float64 {
	var list []float64
	for _, c := range g.Study.Constraints {
		list = append(list, lists.Map(g.beyond(c), func(excess float64) float64 { return excess / g.Spread[c.Metric] })...)
	}
	return list
}

// beyond returns how far the asks outside a limit lay beyond it, in its metric's unit.
func (g judgedGame) beyond(c design.Constraint) []float64 {
	return lists.Pick(g.Asks, func(t Trial) (float64, bool) {
		excess := c.Excess(t.Truth[c.Metric])
		return excess, excess > 0 && !t.fails()
	})
}

// feasibleFrom returns the number of asks before a feasible row was known: all of them if there
// never was one.
func (g judgedGame) feasibleFrom() int {
	if i := slices.IndexFunc(g.trials(), Trial.found); i >= 0 {
		return max(0, i-len(g.Start))
	}
	return len(g.Asks)
}

// regret returns the distance of the best feasible reward found from the best there is, +∞ if none
// was found.
func (g judgedGame) regret() float64 {
	if !g.Scale.Any {
		return math.NaN()
	}
	found := lists.Pick(g.trials(), func(t Trial) (float64, bool) { return g.reward(t.Truth), t.found() })
	return g.Scale.Best - slices.Max(append(found, math.Inf(-1)))
}

// covered returns the figure of the share of readings inside the band that the product predicted
// for them, over all metrics.
func covered(of func(optimizer.Calibration) (whose optimizer.Coverage, share float64)) func(judgedGame) float64 {
	return func(g judgedGame) float64 {
		inside, all := 0.0, 0.0
		for _, c := range g.Shown {
			whose, share := of(c)
			inside += share * float64(whose.Count)
			all += float64(whose.Count)
		}
		return inside / all
	}
}

// milliseconds returns a quantile of what asks took.
func (g judgedGame) milliseconds(quantile float64) float64 {
	times := lists.Map(g.Asks, func(t Trial) float64 { return 1000 * t.Seconds })
	slices.Sort(times)
	return times[int(quantile*float64(len(times)-1)+0.5)]
}

// Verdict judges a recommendation.
type Verdict string

const (
	RecommendedBest       Verdict = "best" // within 1e-9 of the best feasible value of a table, 1 % on a continuous space
	RecommendedOther      Verdict = "feasible"
	RecommendedInfeasible Verdict = "infeasible"
	RecommendedNone       Verdict = "none"
)

func (g judgedGame) recommended(at Look) (t Trial, any bool) {
	if at.Recommended == 0 {
		return t, false
	}
	return g.trials()[at.Recommended-1], true
}

func (g judgedGame) verdict(at Look) Verdict {
	t, any := g.recommended(at)
	within := 1e-9
	if g.Study.Candidates == nil {
		within = 0.01
	}
	switch {
	case !any:
		return RecommendedNone
	case !t.found():
		return RecommendedInfeasible
	case g.share(t) >= 1-within:
		return RecommendedBest
	}
	return RecommendedOther
}

// recommendedShare returns the share of the best that is recommended, over that of the best
// feasible trial so far: 0 if nothing is recommended, or what breaks a limit; NaN if nothing
// feasible was found.
func (g judgedGame) recommendedShare(at Look) float64 {
	best := slices.Max(append(lists.Map(g.trials()[:at.Trials], g.share), 0))
	if !g.Scale.Any || best == 0 {
		return math.NaN()
	}
	t, _ := g.recommended(at)
	return g.share(t) / best
}

// recommendedRegret returns the distance of what is recommended from the best there is, +∞ if it
// breaks a limit or there is none.
func (g judgedGame) recommendedRegret(at Look) float64 {
	if !g.Scale.Any {
		return math.NaN()
	}
	if t, _ := g.recommended(at); t.found() {
		return g.Scale.Best - g.reward(t.Truth)
	}
	return math.Inf(1)
}

// bestIntervalCoverage returns the share of the looks whose interval of the best value contains it;
// NaN if the best is not known, or no interval was given.
func (g judgedGame) bestIntervalCoverage() float64 {
	inside, all := 0.0, 0.0
	for _, at := range g.Looks {
		if g.Scale.Any && at.Best != nil {
			best := g.reward(Values{g.Study.Objective.Metric: g.Scale.Best}) // a reward to a value, or back
			inside, all = inside+indicator(at.Best.Low <= best && best <= at.Best.High), all+1
		}
	}
	return inside / all
}

// enough returns the looks at which little was said to be left.
func (g judgedGame) enough() []Look {
	return slices.DeleteFunc(slices.Clone(g.Looks), func(at Look) bool { return !at.Enough })
}

// wronglyEnough returns the share of them at which more was left, by the truth of what was
// recommended; NaN if it was never said.
func (g judgedGame) wronglyEnough() float64 {
	wrong := 0.0
	for _, at := range g.enough() {
		wrong += indicator(!(g.recommendedRegret(at) <= at.Little))
	}
	return wrong / float64(len(g.enough()))
}

// shareWhenStopped returns the share of the best for a lab that stops when it is told that little
// is left, and at the end if it never is.
func (g judgedGame) shareWhenStopped() float64 {
	t, any := g.recommended(append(g.enough(), g.end())[0])
	if !any || !g.Scale.Any {
		return math.NaN()
	}
	return g.share(t)
}

func (f Figure) values(games []judgedGame) []float64 {
	return lists.Map(games, f.Of)
}
