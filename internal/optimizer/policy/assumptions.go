package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func met(format string, args ...any) Finding    { return Finding{Met, fmt.Sprintf(format, args...)} }
func notMet(format string, args ...any) Finding { return Finding{NotMet, fmt.Sprintf(format, args...)} }
func unknown(format string, args ...any) Finding {
	return Finding{Unknown, fmt.Sprintf(format, args...)}
}

// trials counts them in words.
func trials(n int) string {
	switch n {
	case 0:
		return "no trial"
	case 1:
		return "1 trial"
	}
	return strconv.Itoa(n) + " trials"
}

// short is a number as a sentence has it.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// stated writes one number of each metric's theory width; untold are the metrics whose width has no
// B and R.
func (c Circumstances) stated(of func(Beta) float64) (text string, untold []string) {
	var parts []string
	for _, metric := range c.Metrics {
		b := c.Settings.BetaFor(metric)
		if !b.statesNorm() {
			untold = append(untold, metric)
			continue
		}
		parts = append(parts, short(of(b))+" for "+metric)
	}
	return strings.Join(parts, ", "), untold
}

// widthsOf are the metrics whose width has that schedule.
func (c Circumstances) widthsOf(schedule string) []string {
	return slices.DeleteFunc(slices.Clone(c.Metrics), func(metric string) bool { return c.Settings.BetaFor(metric).Schedule != schedule })
}

// The assumptions that several theorems share.
var (
	boundedNorm = Assumption{
		Text: "The response of every metric lies in the space of functions of its kernel, with a norm of at most B (Assumption 1 of Guo, Zhu and Liu; Assumption 2 of Zhou and Ji).",
		judge: func(c Circumstances) Finding {
			b, untold := c.stated(func(b Beta) float64 { return b.B })
			if len(untold) > 0 {
				return notMet("no B is given for %s", strings.Join(untold, ", "))
			}
			return unknown("B is set to %s; no number of readings can show that it is large enough", b)
		}}

	unitKernel = Assumption{
		Text: "The kernel is at most 1 everywhere: k(x, x) ≤ 1.",
		judge: func(c Circumstances) Finding {
			for k, peak := range c.Peak {
				if peak > 1+1e-9 {
					return notMet("the kernel of %s reaches %s", c.Metrics[k], short(peak))
				}
			}
			return met("none is larger")
		}}

	subGaussian = Assumption{
		Text: "The noise of readings is independent and alike from reading to reading, and no wider than a normal distribution of deviation R (R-sub-Gaussian).",
		judge: func(c Circumstances) Finding {
			r, untold := c.stated(func(b Beta) float64 { return b.R })
			bounded := c.widthsOf("srinivas")
			switch {
			case len(c.Uneven) > 0:
				return notMet("repeated settings show that the noise of %s differs from one to another", strings.Join(c.Uneven, ", "))
			case len(untold) > 0:
				return notMet("no R is given for %s", strings.Join(untold, ", "))
			case len(bounded) > 0:
				return unknown("the width of %s asks for more, noise of at most √λ in size; readings can contradict that, not prove it", strings.Join(bounded, ", "))
			}
			return unknown("R is set to %s; readings can contradict that, not prove it", r)
		}}

	givenKernel = Assumption{
		Text: "The kernel, its lengthscales and λ are given before the first reading.",
		judge: func(c Circumstances) Finding {
			if c.Fitted {
				return notMet("kernel and λ are fitted to the readings, which no theorem covers")
			}
			return met("the model is fixed")
		}}

	fixedUnits = Assumption{
		Text: "Readings are modelled as they are told, so that B, R and the kernel are in units fixed beforehand.",
		judge: func(c Circumstances) Finding {
			if c.Standardized {
				return notMet("outputs are standardised: centre and scale come from the readings themselves")
			}
			return met("outputs are raw")
		}}

	// 1 < λ ≤ 1 + 2/T gives ½ ln det((1+η)I + K) ≤ γ + 1 in Theorem 2 of Chowdhury and Gopalan
	// (2017), from which the width is.
	regulariser = Assumption{
		Text: "The regulariser is λ = 1 + 2/T (or nearer to 1 from above), as in the result of Chowdhury and Gopalan (2017, Theorem 2) that the width is taken from.",
		judge: func(c Circumstances) Finding {
			largest := 1 + 2/float64(c.lastHorizon())
			for k, lambda := range c.Lambda {
				if c.Settings.BetaFor(c.Metrics[k]).Schedule == "srinivas" {
					continue // its λ is the square of what the noise is at most
				}
				if lambda <= 1 || lambda > largest*(1+1e-9) {
					return notMet("λ of %s is %s, not 1 + 2/T", c.Metrics[k], short(lambda))
				}
			}
			return met("with T = %d", c.lastHorizon())
		}}

	withinHorizon = Assumption{
		Text: "There are no more rounds than T, which is known beforehand.",
		judge: func(c Circumstances) Finding {
			if !c.Settings.plannedHorizon() {
				return met("T is that of each phase, %d now; the figure adds up the phases’ bounds", c.lastHorizon())
			}
			if c.Rounds > c.Horizon {
				return notMet("there are %s where %d were planned", trials(c.Rounds), c.Horizon)
			}
			return met("%s of %d planned", trials(c.Rounds), c.Horizon)
		}}

	stationary = Assumption{
		Text: "Nothing changes with time: the same settings give the same response on every day.",
		judge: func(c Circumstances) Finding {
			if len(c.Drifted) > 0 {
				return notMet("readings of %s have come out on one side of their predictions, again and again", strings.Join(c.Drifted, ", "))
			}
			return unknown("no sign of drift in %d readings, which proves nothing of later ones", c.Watched)
		}}

	unchanged = Assumption{
		Text: "Limits, algorithm, settings and model are those of the first round throughout.",
		judge: func(c Circumstances) Finding {
			if c.Reconfigured > 0 {
				return notMet("limits, algorithm, settings or model were changed after %s", trials(c.Reconfigured))
			}
			return met("never changed since the first trial")
		}}

	prompt = Assumption{
		Text: "Every reading is told before the next trial is chosen.",
		judge: func(c Circumstances) Finding {
			if c.Late > 0 {
				return notMet("%s had a reading told only after the next one was chosen", trials(c.Late))
			}
			return met("no reading was late")
		}}

	uncorrected = Assumption{
		Text: "Every trial was chosen from the readings that count now: none is corrected or taken out afterwards.",
		judge: func(c Circumstances) Finding {
			if c.Corrected+c.Excluded == 0 {
				return met("nothing was corrected or taken out")
			}
			return notMet("%s corrected, %d taken out", trials(c.Corrected), c.Excluded)
		}}

	exactMaximum = Assumption{
		Text: "Each trial maximises the acquisition exactly.",
		judge: func(c Circumstances) Finding {
			if c.Listed {
				return met("every candidate is looked at")
			}
			return unknown("the space is continuous, and its best point is found numerically")
		}}

	feasiblePoint = Assumption{
		Text: "Some settings are within every limit, with the margin that is kept.",
		judge: func(c Circumstances) Finding {
			if c.Within == 0 {
				return unknown("no trial has been read within every limit yet")
			}
			return unknown("%s read within every limit, noise and all", trials(c.Within))
		}}

	untouchedRows = Assumption{
		Text: "Rows brought from elsewhere were not picked by how they turned out.",
		judge: func(c Circumstances) Finding {
			if c.Imported > 0 {
				return unknown("%s imported, and how they were picked is not recorded", trials(c.Imported))
			}
			return met("nothing was imported")
		}}

	// rule: each summand of the rectified bound needs the rule's choice of its own round, and no
	// other round's.
	rectifiedRule = Assumption{
		Text: "Every trial that the sum counts was chosen by the rule. Own and imported trials are not counted.",
		judge: func(c Circumstances) Finding {
			switch {
			case c.Spread > 0:
				return notMet("%s of the first design were spread over the space instead", trials(c.Spread))
			case c.Moved > 0:
				return notMet("%s tried at other settings than those chosen", trials(c.Moved))
			}
			return met("%s chosen otherwise, and not counted", trials(c.Own+c.Imported))
		}}

	// The multipliers move at every round, whoever chose it, so the sums of the primal-dual proofs
	// run over all rounds.
	everyRoundByRule = Assumption{
		Text: "Every trial was chosen by the rule: the proof sums over all rounds in which the multipliers moved.",
		judge: func(c Circumstances) Finding {
			if c.Spread+c.Own+c.Imported+c.Moved > 0 {
				return notMet("%d spread at first, %d chosen by people, %d imported, %d tried at other settings", c.Spread, c.Own, c.Imported, c.Moved)
			}
			return met("every one of %s", trials(c.Rounds))
		}}
)

// theoryWidths is that every width follows the formula.
func theoryWidths(formula string) Assumption {
	return Assumption{
		Text: "The widths are the theorem’s: β_t = " + formula + ".",
		judge: func(c Circumstances) Finding {
			for _, metric := range c.Metrics {
				if b := c.Settings.BetaFor(metric); !b.statesNorm() {
					return notMet("the width of %s is %s", metric, map[string]string{"constant": "a constant", "sqrt_log": "a multiple of √ln(1+t)"}[b.Schedule])
				}
			}
			if other := c.widthsOf("srinivas"); len(other) > 0 {
				return notMet("that of %s is the one of Srinivas and others (2010, Theorem 6), which is proved with the largest gain that any t readings have for γ_t; here it is that of the readings told", strings.Join(other, ", "))
			}
			return met("the same formula, with m constraints in place of one")
		}}
}

// improvedWidth is the width of Chowdhury and Gopalan over m+1 functions.
const improvedWidth = "B + R√(2(γ_t + 1 + ln((m+1)/p)))"

// The rectified papers' theorem, and what all its variants assume.
const (
	rectifiedPaper  = "Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning for Stochastic Continuum-armed Bandit with Constraints"
	rectifiedRegret = "the regret Σ_s [f(x*) − f(x_s)] behind the best settings within every limit and the margin that is kept, by Σ_s 2β^f σ^f(x_s) with the β and σ of the decisions themselves, with probability 1 − p"
	rectifiedSum    = "the cumulative violation Σ_s [g(x_s)]⁺ of each limit, by Σ_s [2β^g σ^g(x_s) + (2β^f σ^f(x_s) + 2B_f)/Q_s] with the Q, β and σ of the decisions themselves, with probability 1 − p"
)

// The primal-dual paper.
const (
	primalDualPaper = "Zhou, Ji: On Kernelized Multi-Armed Bandits with Constraints"
	primalDualSum   = "the soft violation [Σ_s g(x_s)]⁺ of each limit, in which distance kept pays back excess, by [2χ/ρ − nε]⁺ over n rounds, χ = Σ_s 2β^f σ^f(x_s) + Σ_k [ρ_k Σ_s 2β^{g_k} σ^{g_k}(x_s) + V_k ρ_k²/2 + n(G_k + ε_k)²/(2V_k)], with probability 1 − p"
)

// primalDualRegret is what the proofs of Theorem 1 (at φ = 0) and of appendices E and F bound.
const primalDualRegret = "the regret Σ_s [E f(π*) − f(x_s)] behind the best mixture of settings that keeps every limit and its margin, by Σ_s 2β^f σ^f(x_s) + n Σ_k (G_k + ε_k)²/(2V_k) + 2Bn max_k ε_k/δ over n rounds, with probability 1 − p"

// slater is Slater's condition with the cap on the multiplier that goes with it. With slack the
// proof works on g + ε, so that δ − ε stands for δ.
var slater = Assumption{
	Text: "Some mixture of settings keeps every limit by δ, with the margin that is kept (Slater’s condition), and the cap on the multiplier is large enough for it: ρ ≥ 4B/(δ − ε).",
	judge: func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		delta, given := c.Settings.Number("slater", "")
		if !given {
			return unknown("no δ is given, so that nothing says whether ρ is large enough")
		}
		norm := math.Max(a.bound, a.of[0].B)
		for j, rho := range a.cap {
			if a.slack[j] >= delta {
				return notMet("the slack %s of %s leaves nothing of δ = %s", short(a.slack[j]), c.Constraints[j], short(delta))
			}
			if least := 4 * norm / (delta - a.slack[j]); rho < least*(1-1e-9) {
				return notMet("ρ of %s is %s; with B = %s and δ = %s it must be at least %s", c.Constraints[j], short(rho), short(norm), short(delta), short(least))
			}
		}
		return unknown("δ is set to %s; readings cannot prove that some settings keep it", short(delta))
	}}

// slackPaid is what Claim 1 of Zhou and Ji needs, that a slack ε costs at most 2Bε/δ a round.
var slackPaid = Assumption{
	Text: "A slack ε is one that some mixture of settings can keep (ε ≤ δ): regret is bounded behind what can be had with it, which is at most 2Bε/δ a round behind the best.",
	judge: func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		for j, slack := range a.slack {
			switch {
			case slack == 0:
			case a.slater == 0:
				return notMet("no δ is given that would say what the slack %s of %s costs, so that regret is counted behind what keeps it", short(slack), c.Constraints[j])
			case slack > a.slater:
				return notMet("the slack %s of %s is larger than δ = %s", short(slack), c.Constraints[j], short(a.slater))
			}
		}
		if slices.Max(append(a.slack, 0)) == 0 {
			return met("there is no slack")
		}
		return unknown("δ is set to %s; readings cannot prove that some settings keep it", short(a.slater))
	}}

// cuts is that estimates are cut no closer than the functions go.
var cuts = Assumption{
	Text: "Estimates are cut at ±B and ±G, and no response goes beyond: |f| ≤ B, |g| ≤ G.",
	judge: func(c Circumstances) Finding {
		a := newCKB(c.Context, c.Settings)
		if !a.truncate {
			return notMet("estimates are not cut")
		}
		for j, g := range a.bounds {
			if norm := a.of[1+j].B; a.of[1+j].Schedule != "theory" || norm > g {
				return unknown("G of %s is %s; readings cannot prove that nothing goes beyond", c.Constraints[j], short(g))
			}
		}
		if a.of[0].Schedule != "theory" || a.of[0].B > a.bound {
			return unknown("B is %s; readings cannot prove that nothing goes beyond", short(a.bound))
		}
		return met("they are cut no closer than the norms that are assumed")
	}}

// ofObjective is an assumption held against the objective alone, in words of its own: for
// algorithms that model nothing else.
func ofObjective(text string, a Assumption) Assumption {
	return Assumption{Text: text, judge: func(c Circumstances) Finding {
		var uneven []string
		for _, metric := range c.Uneven {
			if metric == c.Metrics[0] {
				uneven = append(uneven, metric)
			}
		}
		c.Metrics, c.Lambda, c.Peak, c.Uneven = c.Metrics[:1], c.Lambda[:1], c.Peak[:1], uneven
		return a.judge(c)
	}}
}

// remembers is that nothing told is forgotten.
var remembers = Assumption{
	Text:  "Nothing that was told is forgotten.",
	judge: func(Circumstances) Finding { return notMet("the algorithm forgets on purpose, to follow a drift") }}
