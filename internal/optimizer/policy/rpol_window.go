package policy

import (
	"math"

	"headroom/internal/lists"
)

var rpolSW = Description{
	Name: "rpol-sw-ucb", Title: "Rectified learning with a sliding window",
	Source:   rpolUCB.Source,
	Feedback: "noisy readings of functions that drift with time",
	Summary:  "For functions that drift (ageing columns, seasons, fouling): rectified learning on the last W rounds.",
	Settings: keepingClear(settings(betaSetting, etaSetting,
		Setting{Name: "window", Type: Integer, Low: new(1.0), High: new(1e6), DefaultMeans: "⌈γ_T^{1/4}√(T/P_T)⌉, at most T, when variation_budget and gamma_T are given; must be given otherwise", workOut: publishedWindow,
			Meaning: "W: only the last W rounds count"},
		Setting{Name: "variation_budget", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "not used",
			Meaning: "P_T: how much the functions change over the horizon, in norm; sets the window where none is given"},
		Setting{Name: "gamma_T", Type: Number, Low: new(0.0), LowExclusive: true, DefaultMeans: "not used",
			Meaning: "γ_T: largest information gain of T readings"},
		Setting{Name: "drift_width", Type: Number, Per: PerMetric, Low: new(0.0), DefaultMeans: "from drift_per_round if that is given, otherwise 0",
			Meaning: "Γ: added to the band for the drift within the window"},
		Setting{Name: "drift_per_round", Type: Number, Per: PerMetric, Low: new(0.0), DefaultMeans: "not used",
			Meaning: "change of the function from one round to the next, in norm; gives Γ = (1/λ)√(2W(1+λ)γ_T)·W·drift"})),
	Theorem: &Theorem{Name: "Theorem 1 with Lemma 5", Paper: rectifiedPaper, Year: 2022,
		Regret: "the regret Σ_s [f_s(x*_s) − f_s(x_s)] behind the best settings within every limit of each round and the margin that is kept, by Σ_s [2β^f σ^f(x_s) + 2Γ^f] with the β and σ of the decisions themselves, with probability 1 − p",
		Bounds: "the cumulative violation Σ_s [g_s(x_s)]⁺ of each limit, by Σ_s [2β^g σ^g(x_s) + 2Γ^g + (2β^f σ^f(x_s) + 2Γ^f + 2B_f)/Q_s] with the Q, β and σ of the decisions themselves, with probability 1 − p",
		Assumptions: []Assumption{
			boundedNorm, unitKernel, subGaussian, feasiblePoint, givenKernel, fixedUnits, theoryWidths("B + (R/√λ)√(2γ_t + 2 ln((m+1)T/p))"), withinHorizon,
			boundedDrift, unchanged, prompt, uncorrected, rectifiedRule, untouchedRows, exactMaximum}},
	ForDrift: true,
	check:    checkWindow,
	Build:    func(c Context, s Settings) Policy { return newSliding(c, s) },
}

// boundedDrift takes the place of functions that stay the same.
var boundedDrift = Assumption{
	"Within any window the responses change by no more than Γ allows for: Γ ≥ (1/λ)√(2W(1+λ)γ_T)·Σ‖f_s − f_{s+1}‖.",
	func(c Circumstances) Finding {
		a := newSliding(c.Context, c.Settings)
		for k := range a.drift {
			if a.learned[k] && a.drift[k] == 0 && a.perRound[k] == 0 {
				return unknown("Γ is 0, as if nothing changed within %d rounds", a.window)
			}
		}
		return unknown("Γ is set; readings cannot prove that it is large enough")
	}}

func checkWindow(c Context, s Settings) []Fault {
	var faults []Fault
	gain, window := s.has("gamma_T"), s.has("window")
	switch {
	case !window && !s.has("variation_budget"):
		faults = append(faults, Fault{"window", "say how many of the last rounds count, or give variation_budget and gamma_T"})
	case !window && !gain:
		faults = append(faults, Fault{"gamma_T", "variation_budget sets the window only together with gamma_T"})
	}
	for _, metric := range c.Metrics {
		_, perRound := s.Number("drift_per_round", metric)
		_, width := s.Number("drift_width", metric)
		if perRound && !gain {
			return append(faults, Fault{"gamma_T", "drift_per_round needs it"})
		}
		if perRound && width {
			return append(faults, Fault{"drift_per_round", "give it or drift_width for " + metric + ", not both"})
		}
	}
	return faults
}

// sliding is rpol on the last W rounds, with a band widened for the drift within them:
//
//	f̂ = μ^f + β^f σ^f + Γ^f,   ǧ = μ^g − β^g σ^g − Γ^g,   theory β_t = B + (R/√λ)√(2γ_t + 2 ln((m+1)T/p)).
//
// Q is not reset.
type sliding struct {
	rpol
	window   int
	horizon  float64
	gain     float64   // γ_T
	drift    []float64 // Γ per target where perRound is 0
	perRound []float64 // drift per target and round
}

func newSliding(c Context, s Settings) sliding {
	a := sliding{rpol: newRPOL(c, s), horizon: float64(c.Horizon), gain: s.Value("gamma_T", ""), window: int(s.Value("window", ""))}
	a.drift, a.perRound = a.values(c, s, "drift_width"), a.values(c, s, "drift_per_round")
	return a
}

// publishedWindow is ⌈γ_T^{1/4}√(T/P_T)⌉, from 1 to T.
func publishedWindow(c Context, s Settings, _ string) (float64, bool) {
	horizon := float64(c.Horizon)
	return clip(math.Ceil(math.Pow(s.Value("gamma_T", ""), 0.25)*math.Sqrt(horizon/s.Value("variation_budget", ""))), 1, horizon), true
}

func (a sliding) Traits() Traits {
	t := a.rpol.Traits()
	t.First, t.Slopes = lastRounds(a.window), a.slopes
	t.Bound, t.RegretBound = a.bounds(a.spread)
	return t
}

func (a sliding) Beta(w WidthInput) []float64 {
	return a.each(w, func(k int, b Beta, gain, lambda float64) float64 {
		if !a.learned[k] { // it has no λ, and no band
			return b.B
		}
		return b.B + b.R/math.Sqrt(lambda)*math.Sqrt(2*gain+2*math.Log(a.union*a.horizon/b.P))
	})
}

// widening is Γ of target k.
func (a sliding) widening(k int, lambda float64) float64 {
	if a.perRound[k] == 0 {
		return a.drift[k]
	}
	w := float64(a.window)
	return math.Sqrt(2*w*(1+lambda)*a.gain) / lambda * w * a.perRound[k]
}

// drifted moves the means outwards by Γ.
func (a sliding) drifted(s *Input) *Input {
	moved := *s
	moved.Reward = s.Reward.shifted(a.widening(0, s.Lambda[0]))
	moved.Costs = lists.Of(len(s.Costs), func(j int) Estimate { return s.Costs[j].shifted(-a.widening(1+j, s.Lambda[1+j])) })
	return &moved
}

// shifted is the estimate with by added to its mean.
func (e Estimate) shifted(by float64) Estimate {
	if by == 0 {
		return e
	}
	moved := Estimate{Mean: make([]float64, len(e.Mean)), SD: e.SD}
	for i, mean := range e.Mean {
		moved.Mean[i] = mean + by
	}
	return moved
}

func (a sliding) Score(s *Input) (Scores, error) { return a.rpol.Score(a.drifted(s)) }

func (a sliding) slopes(s *Input) Slopes { return a.rpol.slopes(a.drifted(s)) }

func (a sliding) Estimates(s *Input, i int) []float64 { return a.rpol.Estimates(a.drifted(s), i) }

// spread is 2βσ + 2Γ of target k: the drift within the window widens the band on either side.
func (a sliding) spread(r RoundSummary, k int) float64 {
	return r.bandWidth(k) + 2*a.widening(k, r.Lambda[k])
}
