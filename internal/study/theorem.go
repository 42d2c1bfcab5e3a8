package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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
