package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Theorem is what was proved about the bounds on violation and regret shown for an algorithm, for
// readers who judge whether they hold.
type Theorem struct {
	Name        string       `json:"name"` // its number, and those of the lemmas that it is used with
	Paper       string       `json:"paper"`
	Year        int          `json:"year"`
	Bounds      string       `json:"bounds"` // which sum is bounded, and by what
	Soft        bool         `json:"soft"`   // distance kept pays back excess in that sum
	Regret      string       `json:"regret"` // which regret is bounded, and by what
	Short       string       `json:"short"`  // how the figures shown differ from what was proved; "" if not
	Assumptions []Assumption `json:"assumptions"`
	ForRegret   []Assumption `json:"for_regret,omitempty"` // further assumptions of the bound on regret
}

// Assumption is one thing that a theorem assumes.
type Assumption struct {
	Text  string
	Judge func(Circumstances) Finding // says whether a study meets it
}

// MarshalText is the Text.
func (a Assumption) MarshalText() ([]byte, error) { return []byte(a.Text), nil }

// Standing says whether a study meets an assumption.
type Standing string

const (
	Met     Standing = "met"
	NotMet  Standing = "not met"
	Unknown Standing = "cannot be known"
)

// Finding says whether a study meets an assumption, and why.
type Finding struct {
	Standing Standing
	Because  string
}

func met(format string, args ...any) Finding    { return Finding{Met, fmt.Sprintf(format, args...)} }
func notMet(format string, args ...any) Finding { return Finding{NotMet, fmt.Sprintf(format, args...)} }
func unknown(format string, args ...any) Finding {
	return Finding{Unknown, fmt.Sprintf(format, args...)}
}

// unless is f, or not met where the assumption is broken.
func (f Finding) unless(broken bool, format string, args ...any) Finding {
	if broken {
		return notMet(format, args...)
	}
	return f
}

// trials writes a number of trials.
func trials(n int) string {
	switch n {
	case 0:
		return "no trial"
	case 1:
		return "1 trial"
	}
	return strconv.Itoa(n) + " trials"
}

// short writes a number with four digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Circumstances are the facts about a study that assumptions are judged by. Numbers count trials
// unless said otherwise.
type Circumstances struct {
	Context
	Settings Settings

	Rounds       int // trials begun
	Spread       int // suggested to fill the space, before the algorithm chose
	Own          int // chosen by people
	Held         int // chosen by the rule, but for settings that people gave
	Imported     int
	Moved        int // tried at other settings than those chosen
	Excluded     int // if only for a time in which others were chosen
	Corrected    int
	Late         int // with a reading told after the next trial was chosen, or not told by then
	Reconfigured int // chosen before the algorithm, its model and the limits were set as they are
	Within       int // read within every limit

	Capped  []string  // constraints whose multiplier is as large as the algorithm lets it be
	Lambda  []float64 // λ per modelled metric
	Peak    []float64 // largest k(x, x) per modelled metric, in modelled units
	Uneven  []string  // metrics whose noise differs between settings, or of which a reading counts as wrong
	Drifted []string  // metrics whose readings have come out on one side again and again
	Watched int       // readings looked at for drift

	// Reread are the constraints of which the same settings were read differently, looked for when
	// a theorem asks.
	Reread func() []string
}

// stated lists one number of each metric's theory width; untold are the metrics whose width has no
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

// named writes a list of metrics.
func (c Circumstances) named(metrics []string) string {
	if len(metrics) > 1 && len(metrics) == len(c.Metrics) {
		return "any metric"
	}
	return strings.Join(metrics, ", ")
}

// widthsOf are the metrics whose width has that schedule.
func (c Circumstances) widthsOf(schedule string) []string {
	return slices.DeleteFunc(slices.Clone(c.Metrics), func(metric string) bool { return c.Settings.BetaFor(metric).Schedule != schedule })
}

// The assumptions that several theorems share.
var (
	boundedNorm = Assumption{
		"The response of every metric lies in the space of functions of its kernel, with a norm of at most B (Assumption 1 of Guo, Zhu and Liu; Assumption 2 of Zhou and Ji).",
		func(c Circumstances) Finding {
			b, untold := c.stated(func(b Beta) float64 { return b.B })
			return unknown("B is set to %s; no number of readings can show that it is large enough", b).
				unless(len(untold) > 0, "no B is given for %s", c.named(untold))
		}}

	unitKernel = Assumption{
		"The kernel is at most 1 everywhere: k(x, x) ≤ 1.",
		func(c Circumstances) Finding {
			for k, peak := range c.Peak {
				if peak > 1+1e-9 {
					return notMet("the kernel of %s reaches %s", c.Metrics[k], short(peak))
				}
			}
			return met("none is larger")
		}}

	subGaussian = Assumption{
		"The noise of readings is independent and alike from reading to reading, and no wider than a normal distribution of deviation R (R-sub-Gaussian).",
		func(c Circumstances) Finding {
			r, untold := c.stated(func(b Beta) float64 { return b.R })
			bounded := c.widthsOf("srinivas")
			switch {
			case len(c.Uneven) > 0:
				return notMet("repeated settings show that the noise of %s differs from one to another", strings.Join(c.Uneven, ", "))
			case len(untold) > 0:
				return notMet("no R is given for %s", c.named(untold))
			case len(bounded) > 0:
				return unknown("the width of %s asks for more, noise of at most √λ in size; readings can contradict that, not prove it", strings.Join(bounded, ", "))
			}
			return unknown("R is set to %s; readings can contradict that, not prove it", r)
		}}

	givenKernel = Assumption{
		"The kernel, its lengthscales and λ are given before the first reading.",
		func(c Circumstances) Finding {
			return met("the model is fixed").unless(c.Fitted, "kernel and λ are fitted to the readings, which no theorem covers")
		}}

	fixedUnits = Assumption{
		"Readings are modelled as they are told, so that B, R and the kernel are in units fixed beforehand.",
		func(c Circumstances) Finding {
			return met("outputs are raw").unless(c.Standardized, "outputs are standardised: centre and scale come from the readings themselves")
		}}

	// 1 < λ ≤ 1 + 2/T gives ½ ln det((1+η)I + K) ≤ γ + 1 in Theorem 2 of Chowdhury and Gopalan
	// (2017), from which the width is.
	regulariser = Assumption{
		"The regulariser is λ = 1 + 2/T (or nearer to 1 from above), as in the result of Chowdhury and Gopalan (2017, Theorem 2) that the width is taken from.",
		func(c Circumstances) Finding {
			for k, lambda := range c.Lambda {
				bounded := c.Settings.BetaFor(c.Metrics[k]).Schedule == "srinivas" // its λ is the square of what the noise is at most
				if !bounded && !regularises(lambda, c.lastHorizon()) {
					return notMet("λ of %s is %s, not 1 + 2/T", c.Metrics[k], short(lambda))
				}
			}
			return met("with T = %d", c.lastHorizon())
		}}

	withinHorizon = Assumption{
		"There are no more rounds than T, which is known beforehand.",
		func(c Circumstances) Finding {
			if !c.Settings.plannedHorizon() {
				return met("T is that of each phase, %d now; the figure adds up the phases’ bounds", c.lastHorizon())
			}
			return met("%s of %d planned", trials(c.Rounds), c.Horizon).
				unless(c.Rounds > c.Horizon, "there are %s where %d were planned", trials(c.Rounds), c.Horizon)
		}}

	stationary = Assumption{
		"Nothing changes with time: the same settings give the same response on every day.",
		func(c Circumstances) Finding {
			return unknown("no sign of drift so far (readings watched: %d), which proves nothing of later ones", c.Watched).
				unless(len(c.Drifted) > 0, "readings of %s have come out on one side of their predictions, again and again, as where they change with time, or where B or the kernel is wrong for them", strings.Join(c.Drifted, ", "))
		}}

	unchanged = Assumption{
		"Limits, algorithm, settings and model are those of the first round throughout.",
		func(c Circumstances) Finding {
			return met("never changed since the first trial").
				unless(c.Reconfigured > 0, "limits, algorithm, settings or model were changed after %s", trials(c.Reconfigured))
		}}

	prompt = Assumption{
		"Every reading is told before the next trial is chosen.",
		func(c Circumstances) Finding {
			return met("no reading was late").unless(c.Late > 0, "%s lacked a reading when the next one was chosen", trials(c.Late))
		}}

	uncorrected = Assumption{
		"Every trial was chosen from the readings that count now: none is corrected or taken out afterwards.",
		func(c Circumstances) Finding {
			were := func(n int) string {
				if n == 1 {
					return "1 trial was"
				}
				return trials(n) + " were"
			}
			return met("nothing was corrected or taken out").
				unless(c.Corrected > 0, "%s corrected", were(c.Corrected)).
				unless(c.Excluded > 0, "%s taken out", were(c.Excluded)).
				unless(c.Corrected > 0 && c.Excluded > 0, "%s corrected, and %s taken out", were(c.Corrected), were(c.Excluded))
		}}

	exactMaximum = Assumption{
		"Each trial maximises the acquisition exactly.",
		func(c Circumstances) Finding {
			if c.Listed {
				return met("every candidate is looked at")
			}
			return unknown("the space is continuous, and its best point is found numerically")
		}}

	feasiblePoint = Assumption{
		"Some settings are within every limit, with the margin that is kept.",
		func(c Circumstances) Finding {
			if c.Within == 0 {
				return unknown("no trial has been read within every limit yet")
			}
			return unknown("%s read within every limit, noise and all", trials(c.Within))
		}}

	// The multipliers move at every round, whoever chose it, so the sums of the primal-dual proofs
	// run over all rounds.
	everyRoundByRule = Assumption{
		"Every trial was chosen by the rule: the proof sums over all rounds in which the multipliers moved.",
		func(c Circumstances) Finding {
			return met("every one of %s", trials(c.Rounds)).unless(c.Spread+c.Own+c.Held+c.Imported+c.Moved > 0,
				"%d spread at first, %d chosen by people, %d with settings held, %d imported, %d tried at other settings", c.Spread, c.Own, c.Held, c.Imported, c.Moved)
		}}
)

// regularises tells whether 1 < λ ≤ 1 + 2/T.
func regularises(lambda float64, horizon int) bool {
	return lambda > 1 && lambda <= (1+2/float64(horizon))*(1+1e-9)
}

// theoryWidths is the assumption that every width follows the formula.
func theoryWidths(formula string) Assumption {
	return Assumption{
		"The widths are the theorem’s: β_t = " + formula + ".",
		func(c Circumstances) Finding {
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
