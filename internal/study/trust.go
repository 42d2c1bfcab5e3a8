package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Finding is something that keeps a study from doing as well as it could, with a remedy.
type Finding struct {
	Kind      string `json:"kind"` // "scale": a number is on a linear scale that belongs on a log one; "doubt": what was told of a trial looks like a slip; "drift": a metric comes out otherwise than it did; "calibration": its readings leave the bands predicted for them too often
	Parameter string `json:"parameter,omitempty"`
	Metric    string `json:"metric,omitempty"`
	Trial     int    `json:"trial,omitempty"`
	Since     int    `json:"since,omitempty"` // the trial from about which it drifts
	Says      string `json:"says"`
	Remedy    string `json:"remedy,omitempty"`
}

// A tabular CUSUM (Page 1954; Montgomery, Introduction to Statistical Quality Control): S⁺ = max(0,
// S⁺ + z − k), S⁻ = max(0, S⁻ − z − k), which signals a drift beyond h. With k = ½ it detects a
// shift of one standard deviation soonest, after about 12 readings. Residuals are clipped at ±2,
// because a young model is often far out once or twice without any drift; so a signal takes at
// least four readings on one side. Without drift, standard normal residuals pass h = 5 about once
// in 850 readings.
const (
	CUSUMSlack      = 0.5
	CUSUMLimit      = 5
	CUSUMMost       = 2   // no residual counts for more
	CUSUMFalseAlarm = 850 // mean number of readings without drift until the limit is passed
)

// Drift describes a metric's change with time, from its one-step-ahead residuals (in standard
// deviations of a reading) and from all its readings together. Either can detect a shift. Residuals
// show one that comes slowly or has just come; later the model has learned from readings after the
// shift, and attributes it to their settings if it can.
type Drift struct {
	Numbers   []int // of trials
	Residuals []float64
	Up, Down  []float64             // the CUSUM on either side
	Since     int                   // trial of the level shift if it is beyond its limit, else trial from which the CUSUM beyond its limit has grown, 0 for none
	Shifted   *optimizer.LevelShift // beyond its limit, else nil
	Rising    bool                  // readings come out higher than predicted
	Past      []Spell               // past excursions of a sum beyond the limit, in the order of their ends
}

// Came says how recent readings of a drifting metric came out.
func (d Drift) Came(metric string) string {
	side, than := "lower", "out %s than predicted, again and again,"
	if d.Rising {
		side = "higher"
	}
	if d.Shifted != nil {
		than = "to lie %s than the settings explain"
	}
	return fmt.Sprintf("%s has come "+than+" since about trial %d", design.OpeningName(metric), side, d.Since)
}

// FewPredictions is the smallest number of predicted readings from which predictions are judged.
const FewPredictions = 5

// BandVerdict is the verdict on predicted 95 % bands, given how many readings fell inside.
type BandVerdict int

// NothingAgainst does not prove that the bands are right.
const (
	TooFew BandVerdict = iota
	NothingAgainst
	TooNarrow
	TooWide
)

// surprise is the likelihood ratio from which readings count as evidence against the bands.
const surprise = 20

// JudgeBands judges bands by k of n readings inside them. The evidence is against bands that should
// hold a share p = 0.95 if a uniformly distributed smaller share, or a larger one, explains the
// readings that much better:
//
//	∫ qᵏ (1 − q)ⁿ⁻ᵏ dq / (length · pᵏ (1 − p)ⁿ⁻ᵏ) ≥ 20, over q in [0, p] or in [p, 1].
//
// By Ville (1939) at most one in 20 correct bands is ever rejected on a given side, however often one
// looks.
func JudgeBands(c optimizer.Coverage) BandVerdict {
	if c.Count < FewPredictions {
		return TooFew
	}
	const p = 0.95
	inside, outside := float64(c.Inside()), float64(c.Count-c.Inside())
	share := distuv.Beta{Alpha: inside + 1, Beta: outside + 1}
	likelier := mathext.Lbeta(share.Alpha, share.Beta) - inside*math.Log(p) - outside*math.Log(1-p)
	switch {
	case likelier+math.Log(share.CDF(p)/p) >= math.Log(surprise):
		return TooNarrow
	case likelier+math.Log(share.Survival(p)/(1-p)) >= math.Log(surprise):
		return TooWide
	}
	return NothingAgainst
}

// String returns the verdict as an independent sentence without its full stop.
func (v BandVerdict) String() string {
	return [...]string{"too few to judge", "nothing speaks against the bands", "the bands are too narrow", "the bands are wider than they need to be"}[v]
}

// CoverageWords says how many readings fell inside the bands, with the verdict.
func CoverageWords(c optimizer.Coverage) string {
	them := "them"
	if c.Count == 1 {
		them = "it"
	}
	return fmt.Sprintf("%d of %s fell in the 95\u202f%% band predicted for %s (noise included): %s.", c.Inside(), design.Count(c.Count, "reading", "readings"), them, JudgeBands(c))
}

// Miscalibrated returns the metrics whose bands are too narrow.
func Miscalibrated(snap *ledger.Snapshot, calibrations map[string]optimizer.Calibration) []Finding {
	return lists.Pick(snap.Compiled().MetricNames, func(metric string) (Finding, bool) {
		c := calibrations[metric]
		return Finding{Kind: "calibration", Metric: metric, Says: design.OpeningName(metric) + ": " + CoverageWords(c.Coverage),
			Remedy: "look for mistakes among its readings, and give their standard deviations if you know them; until then its forecasts and chances are less certain than stated"}, JudgeBands(c.Coverage) == TooNarrow
	})
}

// drifted returns the drift of a metric, and whether it counts as one: there must be enough
// predictions.
func drifted(c optimizer.Calibration) (Drift, bool) {
	d := DriftOf(c)
	return d, c.Count >= FewPredictions && d.Since > 0
}

// Drifting returns the metrics that drift, none under an algorithm that is made for drift.
func Drifting(snap *ledger.Snapshot, calibrations map[string]optimizer.Calibration) (found []Finding) {
	if snap.Compiled().Algorithm.ForDrift {
		return nil
	}
	for _, metric := range snap.Compiled().MetricNames {
		if d, drifts := drifted(calibrations[metric]); drifts {
			forgetful := lists.Pick(policy.Descriptions(), func(a policy.Description) (string, bool) { return a.Name, a.ForDrift })
			found = append(found, Finding{Kind: "drift", Metric: metric, Since: d.Since, Says: d.Came(metric) + ".",
				Remedy: "find out what has changed since then: the process may have drifted, and forecasts rest on older readings too; " + design.Listed(forgetful, "and") + " forget what is old"})
		}
	}
	return found
}

// Spell is a run of trials during which readings came out on one side, until the model caught up.
type Spell struct {
	From, Until int // the trials from which the sum grew and at which it was beyond the limit last
	Rising      bool
}

// DriftOf computes the CUSUM of the residuals and looks for a level shift. A sum that has come back
// below the limit is no drift: the model has caught up.
func DriftOf(c optimizer.Calibration) Drift {
	var d Drift
	up, down := 0.0, 0.0
	for _, r := range c.Innovations {
		z := math.Max(-CUSUMMost, math.Min(CUSUMMost, r.Z))
		up, down = math.Max(0, up+z-CUSUMSlack), math.Max(0, down-z-CUSUMSlack)
		d.Numbers, d.Residuals = append(d.Numbers, r.Round), append(d.Residuals, r.Z)
		d.Up, d.Down = append(d.Up, up), append(d.Down, down)
	}
	higher, rising := spells(d.Numbers, d.Up, true)
	lower, falling := spells(d.Numbers, d.Down, false)
	switch {
	case c.Shift != nil && c.Shift.Factor > c.Shift.Limit:
		d.Since, d.Rising, d.Shifted = c.Shift.Since, c.Shift.Rising, c.Shift
	case rising > 0:
		d.Since, d.Rising = rising, true
	default:
		d.Since = falling
	}
	d.Past = append(higher, lower...)
	slices.SortFunc(d.Past, func(a, b Spell) int { return cmp.Compare(a.Until, b.Until) })
	return d
}

// spells returns the past excursions of a sum beyond the limit, and, if the sum is beyond it now,
// the trial from which it has grown, which is where the change most likely came; else 0. An
// excursion lasts from when the sum leaves 0 until it is back there.
func spells(numbers []int, sums []float64, rising bool) (past []Spell, since int) {
	now := Spell{Rising: rising}
	end := func() {
		if now.Until > 0 {
			past = append(past, now)
		}
		now = Spell{Rising: rising}
	}
	for i, s := range sums {
		switch {
		case s == 0:
			end()
		case now.From == 0:
			now.From = numbers[i]
		}
		if s > CUSUMLimit {
			now.Until = numbers[i]
		}
	}
	if n := len(sums); n > 0 && sums[n-1] <= CUSUMLimit {
		end()
	}
	return past, now.From
}

// InDoubt returns a finding for each unconfirmed doubt about a trial that is not excluded.
func InDoubt(snap *ledger.Snapshot) []Finding {
	found := []Finding{}
	for _, t := range snap.Trials {
		for _, d := range t.Doubts {
			if !t.Excluded {
				found = append(found, Finding{Kind: "doubt", Parameter: d.Parameter, Metric: d.Metric, Trial: t.Number, Says: fmt.Sprintf("Trial %d: %s", t.Number, d.Why),
					Remedy: "correct it, exclude the trial, or confirm that it is right; until then it is " + snap.DoubtMeans(t)})
			}
		}
	}
	return found
}

// Health returns the parameters that belong on a logarithmic scale. rows are settings of a table
// that is about to be imported.
func Health(snap *ledger.Snapshot, rows ...design.Settings) []Finding {
	rows = append(rows, lists.Pick(snap.Trials, func(t *ledger.Trial) (design.Settings, bool) { return t.Parameters, t.Origin == ledger.Imported })...)
	d, found := snap.Definition, []Finding{}
	for _, p := range d.Parameters {
		if p.Scale != design.ScaleLinear || notAboveZero(snap, p.Name) != nil {
			continue
		}
		why := d.WhyLog(p, design.Levels(d.Candidates, p.Name))
		if why == "" && len(d.Candidates) == 0 {
			why = d.WhyLog(p, design.Levels(rows, p.Name))
		}
		if why == "" {
			continue
		}
		found = append(found, Finding{
			Kind: "scale", Parameter: p.Name,
			Says:   fmt.Sprintf("%s is on a linear scale, but %s: on a log scale the model learns from fewer trials.", p.Name, why),
			Remedy: `reconfigure the parameter with "scale": "log"; every trial stays, and the next decision sees them all on the new scale`,
		})
	}
	return found
}

// notAboveZero returns the first trial that was run with the parameter at 0 or below, nil if there
// is none.
func notAboveZero(snap *ledger.Snapshot, parameter string) *ledger.Trial {
	i := slices.IndexFunc(snap.Trials, func(t *ledger.Trial) bool { return !(t.Parameters[parameter].Number > 0) })
	return snap.Trial(i + 1)
}

// Theorem is the theorem that the bounds on violation and regret rest on, with the standing of its
// assumptions in a study.
type Theorem struct {
	policy.Theorem
	Findings       []policy.Finding // one for each of its assumptions
	RegretFindings []policy.Finding // one for each further one that the bound on regret needs
}

// OnRegret returns the theorem with all assumptions that the bound on regret needs.
func (t Theorem) OnRegret() Theorem {
	t.Assumptions = slices.Concat(t.Assumptions, t.ForRegret)
	t.Findings = slices.Concat(t.Findings, t.RegretFindings)
	return t
}

// Counts returns how many assumptions are met, not met and unknown.
func (t Theorem) Counts() (met, notMet, unknown int) {
	count := map[policy.Standing]int{}
	for _, f := range t.Findings {
		count[f.Standing]++
	}
	return count[policy.Met], count[policy.NotMet], count[policy.Unknown]
}

const (
	boundGuarantee = "guarantee"
	boundGrowth    = "growth"
)

// Worth returns the kind of the bounds and the reason for it in words that the API and the pages
// share. They are a guarantee only if no assumption is known to be violated and the figure is the
// theorem's own.
func (t Theorem) Worth() (kind, why string) {
	met, notMet, unknown := t.Counts()
	switch {
	case notMet > 0:
		first := slices.IndexFunc(t.Findings, func(f policy.Finding) bool { return f.Standing == policy.NotMet })
		why = "growth rate only, because " + t.Findings[first].Because
		if notMet > 1 {
			why += fmt.Sprintf("; %d of the %d assumptions of its theorem are not met", notMet, met+notMet+unknown)
		}
		return boundGrowth, why
	case t.Short != "":
		return boundGrowth, "growth rate only, because " + strings.TrimSuffix(strings.ToLower(t.Short[:1])+t.Short[1:], ".")
	}
	return boundGuarantee, fmt.Sprintf("a guarantee, if what cannot be known holds: %d of the %d assumptions of its theorem", unknown, met+unknown)
}

func (t Theorem) sum(v optimizer.Tally) float64 {
	if t.Soft {
		return v.Soft
	}
	return v.Hard
}

// TheoremOf checks the assumptions of the theorem of the study's algorithm; nil for an algorithm
// without a bound.
func TheoremOf(snap *ledger.Snapshot, state Readout) *Theorem {
	proved := snap.Compiled().Algorithm.Theorem
	if proved == nil {
		return nil
	}
	known := circumstances(snap, state)
	judge := func(a policy.Assumption) policy.Finding { return a.Judge(known) }
	return &Theorem{*proved, lists.Map(proved.Assumptions, judge), lists.Map(proved.ForRegret, judge)}
}

func circumstances(snap *ledger.Snapshot, state Readout) policy.Circumstances {
	config := snap.Compiled().Config
	c := policy.Circumstances{Context: config.Context(), Settings: config.Settings,
		Rounds: len(snap.Trials), Capped: state.AtCeiling, Reread: func() []string { return contradicted(snap) }, Reconfigured: lastChanged(snap.Revisions)}
	corrected, takenOut := map[int]bool{}, map[[2]int]bool{} // takenOut by trial and by the number of trials at the time
	for _, revision := range snap.Revisions {
		switch revision.Kind {
		case ledger.Corrected:
			if snap.DecisionsFrom(revision) > 0 {
				corrected[revision.Number] = true // some decision was made from the old value
			}
		case ledger.Excluded:
			takenOut[[2]int{revision.Number, revision.After}] = true
		case ledger.Included: // before any decision without it
			delete(takenOut, [2]int{revision.Number, revision.After})
		}
	}
	c.Corrected, c.Excluded = len(corrected), len(takenOut)
	for i, t := range snap.Trials {
		countTrial(&c, t)
		if i+1 < len(snap.Trials) && lateBy(snap, t, snap.Trials[i+1].Seen) {
			c.Late++
		}
	}
	for i, name := range snap.Compiled().MetricNames {
		m := state.Metrics[name]
		c.Lambda = append(c.Lambda, m.Lambda)
		c.Peak = append(c.Peak, peak(config.Metrics[i].Kernel, m.Kernel.Variance, config.Space.Dims))
		if len(m.NoiseBySetting)+len(m.WrongReadings) > 0 {
			c.Uneven = append(c.Uneven, name)
		}
		calibration := state.Calibration[name]
		c.Watched += len(calibration.Innovations)
		if _, drifts := drifted(calibration); drifts {
			c.Drifted = append(c.Drifted, name)
		}
	}
	return c
}

// lastChanged returns how many trials there were at the last change of the definition that was not
// undone before the next trial.
func lastChanged(revisions []ledger.Revision) (trials int) {
	type place struct {
		after int
		path  string
	}
	was, is := map[place]string{}, map[place]string{}
	for _, revision := range revisions {
		for _, change := range revision.Changes {
			at := place{revision.After, change.Path}
			if _, before := was[at]; !before {
				was[at] = string(change.Before)
			}
			is[at] = string(change.After)
		}
	}
	for at := range was {
		if was[at] != is[at] {
			trials = max(trials, at.after)
		}
	}
	return trials
}

func countTrial(c *policy.Circumstances, t *ledger.Trial) {
	switch {
	case t.Origin == ledger.Imported:
		c.Imported++
	case t.Origin == ledger.Manual:
		c.Own++
	case len(t.Held) > 0:
		c.Held++
	case t.Decision != nil && t.Decision.Reason == policy.FirstDesign:
		c.Spread++
	}
	if t.SettingsChanged && t.Freely() {
		c.Moved++
	}
	if t.Feasible != nil && *t.Feasible && !t.Excluded {
		c.Within++
	}
}

// lateBy reports whether a modelled reading of the trial was missing among the events up to seen,
// from which the next trial was chosen.
func lateBy(snap *ledger.Snapshot, t *ledger.Trial, seen int64) bool {
	return slices.ContainsFunc(snap.Compiled().MetricNames, func(metric string) bool {
		m, told := t.Metrics[metric]
		return !told || m.ToldSeq > seen
	})
}

// contradicted returns the constraints whose metric was read with different results at the same
// settings.
func contradicted(snap *ledger.Snapshot) (names []string) {
	for _, c := range snap.Definition.Constraints {
		first := map[string]float64{}
		for _, t := range snap.Trials {
			m, there := t.Metrics[c.Metric]
			if !there || t.Excluded || c.Given() {
				continue
			}
			at := fmt.Sprint(t.Parameters)
			if value, before := first[at]; before && value != m.Value {
				names = append(names, c.Name)
				break
			}
			first[at] = m.Value
		}
	}
	return names
}

// peak returns the largest k(x, x) of a kernel in the space: its variance for stationary kernels,
// σ² max_i M[i][i] for a given covariance matrix, and at most σ² Σ_c max x_c²/ℓ_c² for a linear
// kernel.
func peak(k optimizer.Kernel, variance float64, dims []optimizer.Dim) float64 {
	switch {
	case k.Matrix != nil:
		largest := 0.0
		for i, row := range k.Matrix {
			largest = math.Max(largest, row[i])
		}
		return variance * largest
	case k.Name != "linear":
		return variance
	}
	sum := 0.0
	for i, d := range dims {
		reach := math.Max(math.Abs(d.Low), math.Abs(d.High))
		if d.Kind == optimizer.Categorical {
			reach = 1
		}
		sum += reach * reach / (k.Lengthscales[i] * k.Lengthscales[i])
	}
	return variance * sum
}
