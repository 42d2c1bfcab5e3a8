package policy

import (
	"math"

	"headroom/internal/lists"
)

var rpolCensored = Description{
	Name: "rpol-censored-ucb", Title: "Rectified learning with censored late readings",
	Source:   rpolUCB.Source,
	Feedback: "noisy readings that come late; one later than the delay window counts as 0 for good",
	Summary:  "The published way with delays; in practice rpol-ucb, which narrows the uncertainty of waiting trials, usually violates less in sum.",
	Settings: keepingClear(settings(betaSetting, etaSetting,
		Setting{Name: "delay_window", Type: Integer, Low: new(0.0), High: new(1e6), DefaultMeans: "none: must be given",
			Meaning: "m: a reading counts if it came at most this many rounds after its trial"},
		Setting{Name: "response_bound", Type: Number, Per: PerMetric, Low: new(0.0), DefaultMeans: "B + R√(2 ln T) with a theory width; must be given otherwise", workOut: publishedResponse,
			Meaning: "B_r: bound on what is read, which widens the band by the uncertainty of the trials still waiting; 0 gives the practical form"})),
	Theorem: &Theorem{Name: "Theorem 1 with Lemma 3", Paper: rectifiedPaper, Year: 2022,
		Bounds: "the cumulative violation Σ_s [g(x_s)]⁺ of each limit, by (1/ρ_m)Σ_s 2v^g σ^g(x_s) + Σ_s (2v^f σ^f(x_s) + 2ρ_m B_f)/Q_s with the Q, v and σ of the decisions themselves, with probability 1 − p − 2/T",
		Regret: "the regret Σ_s [f(x*) − f(x_s)] behind the best settings within every limit and the margin that is kept, by (1/ρ_m)Σ_s 2v^f σ^f(x_s) with the v and σ of the decisions themselves, with probability 1 − p − 2/T",
		Short:  "ρ_m, the probability that a reading comes within the delay window, is not known to anybody: the figure is drawn as if it were 1, and is too low where it is not.",
		Assumptions: []Assumption{
			boundedNorm, unitKernel, subGaussian, feasiblePoint, givenKernel, fixedUnits, theoryWidths("B + (R + B_r)√(2(γ_t + 1 + ln(2(m+1)/p)))"), responsesBounded, regulariser,
			withinHorizon, stationary, unchanged, independentDelays, uncorrected, rectifiedRule, untouchedRows, exactMaximum}},
	check: func(c Context, s Settings) []Fault {
		faults := required(s, "delay_window", "say how many rounds to wait for a reading")
		for _, metric := range c.Metrics {
			if _, ok := s.Number("response_bound", metric); !ok && s.BetaFor(metric).Schedule != "theory" {
				return append(faults, Fault{"response_bound", "must be given for " + metric + ", whose width states no B and R; 0 gives the practical form"})
			}
		}
		return faults
	},
	Build: func(c Context, s Settings) Policy { return newCensored(c, s) },
}

// responsesBounded is that B_r bounds what is read with probability 1 − 2/T.
var responsesBounded = Assumption{
	"Readings are at most B_r = B + R√(2 ln T), by which the widths grow.",
	func(c Circumstances) Finding {
		a := newCensored(c.Context, c.Settings)
		for k, b := range a.of {
			if least := b.B + b.R*math.Sqrt(2*math.Log(float64(c.Horizon))); a.learned[k] && (b.Schedule != "theory" || a.response[k] < least*(1-1e-9)) {
				return notMet("B_r is %s instead", short(a.response[k]))
			}
		}
		return met("as the theorem has it")
	}}

// independentDelays takes the place of prompt readings.
var independentDelays = Assumption{
	"Delays are independent of everything else, and alike from reading to reading.",
	func(c Circumstances) Finding {
		if c.Late == 0 {
			return met("no reading was late")
		}
		return unknown("readings of %s were late, and why is not recorded", trials(c.Late))
	}}

// censored is rpol on responses r̃_{s,t} that are r_s when it came with a delay of at most m, else
// 0, all chosen points being in K:
//
//	f̂ = μ^f + v^f σ^f,   ǧ = μ^g − v^g σ^g,   v_t = B_r Σ_{s=max(1,t−m)}^{t−1} σ_t(x_s) + β_t,
//	theory β_t = B + (R + B_r)√(2(γ_t + 1 + ln(2(m+1)/p))) with m constraints.
//
// Every cost that arrives moves Q, also a late one.
type censored struct {
	rpol
	window   int
	response []float64 // B_r per target
}

// publishedResponse is B + R√(2 ln T), of a width that states B and R.
func publishedResponse(c Context, s Settings, metric string) (float64, bool) {
	b := s.BetaFor(metric)
	rootLog := math.Sqrt(2 * math.Log(float64(c.Horizon)))
	return b.B + b.R*rootLog, b.Schedule == "theory"
}

func newCensored(c Context, s Settings) censored {
	a := censored{rpol: newRPOL(c, s), window: int(s.Value("delay_window", ""))}
	a.response = a.values(c, s, "response_bound")
	return a
}

func (a censored) Traits() Traits {
	t := a.rpol.Traits()
	t.Censoring = &Censoring{Window: a.window, Widen: a.widen}
	return t
}

func (a censored) Beta(w WidthInput) []float64 {
	return a.each(w, func(k int, b Beta, gain, _ float64) float64 { return b.width(b.R+a.response[k], gain, 2*a.union) })
}

func (a censored) widen(beta, sums []float64) []float64 {
	return lists.Of(len(beta), func(k int) float64 { return a.response[k]*sums[k] + beta[k] })
}
