package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
)

// Figure is one number by which a game is judged.
type Figure struct {
	Name, Title string
	Of          func(p *Problem, r *Record) float64 // NaN: it has no meaning in this game
	// OwnUnit: it is in the unit of a metric, of which there is no mean over problems, and infinite where a game has found nothing.
	OwnUnit bool
}

// Figures lists them. Settings are judged by their truth, whatever was read there; the rows at the start count as found.
var Figures = slices.Concat([]Figure{
	{Name: "share", Title: "mean share of the best feasible value over the asks", Of: meanShare},
	{Name: "final", Title: "share at the end", Of: func(p *Problem, r *Record) float64 { return last(Shares(p, r)) }},
}, within(0.05), within(0.02), within(0.01), []Figure{
	{Name: "infeasible", Title: "asks outside a limit", Of: func(p *Problem, r *Record) float64 { return float64(infeasible(r, 0, len(r.Asks))) }},
	{Name: "before", Title: "of them before a feasible row was known", Of: func(p *Problem, r *Record) float64 { return float64(infeasible(r, 0, firstFeasible(r))) }},
	{Name: "after", Title: "of them after", Of: func(p *Problem, r *Record) float64 { return float64(infeasible(r, firstFeasible(r), len(r.Asks))) }},
	{Name: "seeking", Title: "of them until within 2 % of the best", Of: func(p *Problem, r *Record) float64 { return seeking(p, r, outside) }},
	{Name: "excess", Title: "largest excess beyond a limit, in standard deviations of its metric over the settings", Of: func(p *Problem, r *Record) float64 { return slices.Max(append(excesses(p, r), 0)) }},
	{Name: "excesses", Title: "sum of all such excesses", Of: func(p *Problem, r *Record) float64 { return sum(excesses(p, r)) }},
	{Name: "repeats", Title: "asks within .002 of the ranges of an earlier one (in a table: to known rows)", Of: func(_ *Problem, r *Record) float64 { return count(r.Asks, known) }},
	{Name: "rereading", Title: "of them until within 2 % of the best", Of: func(p *Problem, r *Record) float64 { return seeking(p, r, known) }},
	{Name: "failed", Title: "asks that failed", Of: func(_ *Problem, r *Record) float64 { return count(r.Asks, failed) }},
	{Name: "again", Title: "of them at settings that had failed before", Of: failedAgain},
	{Name: "regret", Title: "regret of the best feasible setting", OwnUnit: true, Of: func(p *Problem, r *Record) float64 { return regret(p, r) }},
}, lookFigures(), []Figure{
	{Name: "best", Title: "the best feasible setting is recommended", Of: func(p *Problem, r *Record) float64 { return isVerdict(p, r, RecommendedBest) }},
	{Name: "none", Title: "nothing is recommended", Of: func(p *Problem, r *Record) float64 { return isVerdict(p, r, RecommendedNone) }},
	{Name: "new50", Title: "coverage of the 50 % band, new settings", Of: func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share50) }},
	{Name: "new80", Title: "coverage of the 80 % band, new settings", Of: func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share80) }},
	{Name: "new95", Title: "coverage of the 95 % band, new settings", Of: func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share95) }},
	{Name: "known95", Title: "coverage of the 95 % band, repeated settings", Of: func(_ *Problem, r *Record) float64 { return covered(r, repeatedSettings, share95) }},
	{Name: "shown95", Title: "coverage of the 95 % band as the product shows it", Of: func(_ *Problem, r *Record) float64 { return covered(r, allSettings, share95) }},
	{Name: "p50", Title: "milliseconds an ask, median", Of: func(_ *Problem, r *Record) float64 { return askTime(r, 0.5) }},
	{Name: "p95", Title: "milliseconds an ask, 95th percentile", Of: func(_ *Problem, r *Record) float64 { return askTime(r, 0.95) }},
})

// within are the figures of coming so near to the best.
func within(share float64) []Figure {
	percent := fmt.Sprintf("%.0f", 100*share)
	return []Figure{
		{Name: "to" + percent, Title: "asks until within " + percent + " % of the best (never = asks + 1)", Of: func(p *Problem, r *Record) float64 { return asksTo(p, r, share) }},
		{Name: "in" + percent, Title: "within " + percent + " % at the end", Of: func(p *Problem, r *Record) float64 { return reached(p, r, share) }},
	}
}

// Shares gives, after each ask, the share of the best feasible value found so far, 0 while there is none; nil where nothing is feasible at all.
func Shares(p *Problem, r *Record) []float64 {
	if !p.Scale.Any {
		return nil
	}
	best := 0.0
	for _, t := range r.Start {
		best = math.Max(best, share(p, t))
	}
	out := make([]float64, len(r.Asks))
	for i, t := range r.Asks {
		best = math.Max(best, share(p, t))
		out[i] = best
	}
	return out
}

func share(p *Problem, t Trial) float64 {
	if !t.found() {
		return 0
	}
	return p.Scale.Share(p.reward(t.Truth))
}

func meanShare(p *Problem, r *Record) float64 { return mean(Shares(p, r)) }

// mean is NaN of nothing.
func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

func last(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)-1]
}

// asksTo counts the asks until the best feasible setting found is within a share of the best; one more than there were where it never is.
func asksTo(p *Problem, r *Record, within float64) float64 {
	shares := Shares(p, r)
	if shares == nil {
		return math.NaN()
	}
	for _, t := range r.Start {
		if close(share(p, t), within) {
			return 0
		}
	}
	if i := slices.IndexFunc(shares, func(s float64) bool { return close(s, within) }); i >= 0 {
		return float64(i + 1)
	}
	return float64(len(shares) + 1)
}

// close leaves room for rounding.
func close(share, within float64) bool { return share >= 1-within-1e-12 }

func reached(p *Problem, r *Record, within float64) float64 {
	shares := Shares(p, r)
	if shares == nil {
		return math.NaN()
	}
	return indicator(close(last(shares), within))
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func count(trials []Trial, is func(Trial) bool) float64 {
	n := 0.0
	for _, t := range trials {
		n += indicator(is(t))
	}
	return n
}

// found tells of a trial whose settings could be used.
func (t Trial) found() bool { return t.Feasible && t.Failed == "" }

// outside tells of a trial that ran outside a limit: nothing is measured in one that fails.
func outside(t Trial) bool { return !t.Feasible && t.Failed == "" }

func known(t Trial) bool { return t.Known }

func failed(t Trial) bool { return t.Failed != "" }

// failedAgain counts the asks that failed nearly where an earlier one had.
func failedAgain(p *Problem, r *Record) float64 {
	var before []Trial
	again := 0.0
	for _, t := range r.Asks {
		if !failed(t) {
			continue
		}
		again += indicator(slices.ContainsFunc(before, func(other Trial) bool { return p.near(t.Settings, other.Settings) }))
		before = append(before, t)
	}
	return again
}

// seeking counts the asks of a kind until one of them, itself not counted, is within 2 % of the best; all of them where none ever is.
func seeking(p *Problem, r *Record, is func(Trial) bool) float64 {
	until := asksTo(p, r, 0.02)
	if math.IsNaN(until) {
		return math.NaN()
	}
	return count(r.Asks[:max(0, int(until)-1)], is)
}

// infeasible counts the asks from..to outside a limit.
func infeasible(r *Record, from, to int) int { return int(count(r.Asks[from:to], outside)) }

// excesses are how far the asks lay beyond each limit, in standard deviations of its metric over the settings.
func excesses(p *Problem, r *Record) []float64 {
	var list []float64
	for _, c := range p.Study.Constraints {
		for _, excess := range beyond(r, c) {
			list = append(list, excess/p.Spread[c.Metric])
		}
	}
	return list
}

// beyond are how far the asks outside a limit lay beyond it, in its metric's unit.
func beyond(r *Record, c design.Constraint) []float64 {
	var list []float64
	for _, t := range r.Asks {
		if excess := c.Excess(t.Truth[c.Metric]); excess > 0 && !failed(t) {
			list = append(list, excess)
		}
	}
	return list
}

// LimitFigures are those of the problem's own limits, in their units.
func (p *Problem) LimitFigures() []Figure {
	var list []Figure
	for _, c := range p.Study.Constraints {
		limit := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.Metric, c.Op, design.FormatNumber(c.Threshold), c.Unit))
		list = append(list,
			Figure{Name: "excess of " + c.Name, Title: "largest excess beyond " + limit, Of: func(_ *Problem, r *Record) float64 { return slices.Max(append(beyond(r, c), 0)) }},
			Figure{Name: "excesses of " + c.Name, Title: "sum of the excesses beyond " + limit, Of: func(_ *Problem, r *Record) float64 { return sum(beyond(r, c)) }})
	}
	return list
}

// firstFeasible is the number of asks chosen before a feasible row was there: all of them if there never was one.
func firstFeasible(r *Record) int {
	if slices.ContainsFunc(r.Start, Trial.found) {
		return 0
	}
	if i := slices.IndexFunc(r.Asks, Trial.found); i >= 0 {
		return i
	}
	return len(r.Asks)
}

// regret is the distance of the best feasible reward found from the best there is, +∞ when none was found.
func regret(p *Problem, r *Record) float64 {
	if !p.Scale.Any {
		return math.NaN()
	}
	best := math.Inf(-1)
	for _, t := range r.trials() {
		if t.found() {
			best = math.Max(best, p.reward(t.Truth))
		}
	}
	return p.Scale.Best - best
}

// Whose readings a coverage is of, and of which band.
func newSettings(c study.Calibration) study.Coverage      { return c.New }
func repeatedSettings(c study.Calibration) study.Coverage { return c.Repeated }
func allSettings(c study.Calibration) study.Coverage      { return c.Coverage }
func share50(c study.Coverage) float64                    { return c.Coverage50 }
func share80(c study.Coverage) float64                    { return c.Coverage80 }
func share95(c study.Coverage) float64                    { return c.Coverage95 }

// covered is the share of readings inside the band that the product itself predicted for them, over all metrics.
func covered(r *Record, whose func(study.Calibration) study.Coverage, share func(study.Coverage) float64) float64 {
	inside, all := 0.0, 0.0
	for _, c := range r.Shown {
		found := whose(c)
		inside += share(found) * float64(found.Count)
		all += float64(found.Count)
	}
	return inside / all
}

// Verdict says what became of the recommendation.
type Verdict string

const (
	RecommendedBest       Verdict = "best"
	RecommendedOther      Verdict = "feasible"
	RecommendedInfeasible Verdict = "infeasible"
	RecommendedNone       Verdict = "none"
)

// VerdictOf judges what is recommended at the end by the truth. Best is what cannot be told from the best feasible value: within 1e-9 of it among rows of a
// table, within 1 % of it on a continuous space.
func VerdictOf(p *Problem, r *Record) Verdict { return verdictOf(p, r, r.end()) }

func verdictOf(p *Problem, r *Record, at Look) Verdict {
	if at.Recommended == 0 {
		return RecommendedNone
	}
	t := r.trials()[at.Recommended-1]
	within := 1e-9
	if p.Study.Candidates == nil {
		within = 0.01
	}
	switch {
	case !t.found():
		return RecommendedInfeasible
	case p.Scale.Share(p.reward(t.Truth)) >= 1-within:
		return RecommendedBest
	}
	return RecommendedOther
}

func isVerdict(p *Problem, r *Record, v Verdict) float64 { return indicator(VerdictOf(p, r) == v) }

// askTime is a quantile of the milliseconds that asks took.
func askTime(r *Record, quantile float64) float64 {
	var times []float64
	for _, t := range r.Asks {
		times = append(times, 1000*t.Seconds)
	}
	slices.Sort(times)
	return times[int(quantile*float64(len(times)-1)+0.5)]
}
