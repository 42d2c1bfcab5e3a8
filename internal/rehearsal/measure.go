package rehearsal

import (
	"math"
	"slices"

	"headroom/internal/study"
)

// Figure is one number by which a game is judged.
type Figure struct {
	Name, Title string
	Of          func(p *Problem, r *Record) float64 // NaN: it has no meaning in this game
}

// Figures lists them. Settings are judged by their truth, whatever was read there; the rows at the start count as found.
var Figures = []Figure{
	{"share", "mean share of the best feasible value over the asks", meanShare},
	{"final", "share at the end", func(p *Problem, r *Record) float64 { return last(Shares(p, r)) }},
	{"to5", "asks until within 5 % of the best (never = asks + 1)", func(p *Problem, r *Record) float64 { return asksTo(p, r, 0.05) }},
	{"in5", "within 5 % at the end", func(p *Problem, r *Record) float64 { return reached(p, r, 0.05) }},
	{"to1", "asks until within 1 % of the best (never = asks + 1)", func(p *Problem, r *Record) float64 { return asksTo(p, r, 0.01) }},
	{"in1", "within 1 % at the end", func(p *Problem, r *Record) float64 { return reached(p, r, 0.01) }},
	{"infeasible", "asks outside a limit", func(p *Problem, r *Record) float64 { return float64(infeasible(r, 0, len(r.Asks))) }},
	{"before", "of them before a feasible row was known", func(p *Problem, r *Record) float64 { return float64(infeasible(r, 0, firstFeasible(r))) }},
	{"after", "of them after", func(p *Problem, r *Record) float64 { return float64(infeasible(r, firstFeasible(r), len(r.Asks))) }},
	{"repeats", "asks to known rows", func(_ *Problem, r *Record) float64 { return count(r.Asks, func(t Trial) bool { return t.Known }) }},
	{"regret", "regret of the best feasible setting", func(p *Problem, r *Record) float64 { return regret(p, r) }},
	{"new50", "coverage of the 50 % band, new settings", func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share50) }},
	{"new80", "coverage of the 80 % band, new settings", func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share80) }},
	{"new95", "coverage of the 95 % band, new settings", func(_ *Problem, r *Record) float64 { return covered(r, newSettings, share95) }},
	{"known95", "coverage of the 95 % band, repeated settings", func(_ *Problem, r *Record) float64 { return covered(r, repeatedSettings, share95) }},
	{"shown95", "coverage of the 95 % band as the product shows it", func(_ *Problem, r *Record) float64 { return covered(r, allSettings, share95) }},
	{"best", "the best feasible setting is recommended", func(p *Problem, r *Record) float64 { return isVerdict(p, r, RecommendedBest) }},
	{"wrong", "an infeasible setting is recommended", func(p *Problem, r *Record) float64 { return isVerdict(p, r, RecommendedInfeasible) }},
	{"none", "nothing is recommended", func(p *Problem, r *Record) float64 { return isVerdict(p, r, RecommendedNone) }},
	{"p50", "milliseconds an ask, median", func(_ *Problem, r *Record) float64 { return askTime(r, 0.5) }},
	{"p95", "milliseconds an ask, 95th percentile", func(_ *Problem, r *Record) float64 { return askTime(r, 0.95) }},
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
	if !t.Feasible {
		return 0
	}
	return p.Scale.Share(p.reward(t.Truth))
}

func meanShare(p *Problem, r *Record) float64 { return mean(Shares(p, r)) }

// mean is NaN of nothing.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
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

// infeasible counts the asks from..to outside a limit.
func infeasible(r *Record, from, to int) int {
	return int(count(r.Asks[from:to], func(t Trial) bool { return !t.Feasible }))
}

// firstFeasible is the number of asks chosen before a feasible row was there: all of them if there never was one.
func firstFeasible(r *Record) int {
	feasible := func(t Trial) bool { return t.Feasible }
	if slices.ContainsFunc(r.Start, feasible) {
		return 0
	}
	if i := slices.IndexFunc(r.Asks, feasible); i >= 0 {
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
	for _, t := range slices.Concat(r.Start, r.Asks) {
		if t.Feasible {
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

// VerdictOf judges the recommendation by the truth. Best is what cannot be told from the best feasible value: within 1e-9 of it among rows of a
// table, within 1 % of it on a continuous space.
func VerdictOf(p *Problem, r *Record) Verdict {
	if r.Recommended == 0 {
		return RecommendedNone
	}
	t := slices.Concat(r.Start, r.Asks)[r.Recommended-1]
	within := 1e-9
	if p.Study.Candidates == nil {
		within = 0.01
	}
	switch {
	case !t.Feasible:
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
