// Package view turns what is known of a study into what its pages say. It is pure: from facts that
// somebody else loaded it makes the models that package templates draws, every word, number and
// chart of them, and does nothing else. It knows no requests, no database and no clock.
package view

import (
	"fmt"
	"slices"
	"time"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
)

// Facts are all that a page of a study is made from: what was asked for, the study, and the numbers
// that follow from it, as far as the page needs them.
type Facts struct {
	Asked
	Snap *ledger.Snapshot
	Now  time.Time
	Who  account.Identity // the viewer
	Key  string           // the idempotency key of the viewer's forms, each of which is sent to an address of its own

	// Working tells that the page does not wait for the model, which is still being worked out,
	// since when.
	Working bool
	Since   time.Time

	// Modelless says why there is no model, "" where there is one.
	Modelless string
	Readout   study.Readout
	History   []study.HistoryRow // a row for each trial
	Gain      *study.Gain        // nil where no settings are within the limits
	Gained    bool               // Gain was worked out
	Slices    []study.Slice      // through the point of the Outlook
	Map       study.Map          // over its two parameters
	Prices    []study.Price      // of moving the limits of which that can be said beforehand
	Choices   []study.Choice     // of other algorithms

	Entries []ledger.Event // of the ledger's list or a trial's history, oldest first
	Earlier int            // how many entries are before them
	Board   BoardFacts
	Run     LabRun
}

// limited tells whether there are limits at all: without them, every trial is within all of them,
// which says nothing.
func (v Facts) limited() bool { return len(v.Snap.Definition.Constraints) > 0 }

// over tells whether no further trial will be asked for.
func (v Facts) over() bool {
	return v.Snap.State == ledger.Finished || v.Snap.State == ledger.Archived
}

// unread lists the modelled metrics of which no included trial has a reading. Of them nothing is
// known but the prior, which is not shown.
func (v Facts) unread() []string {
	return slices.DeleteFunc(Modelled(v.Snap.Definition), v.Snap.HasReading)
}

// ModelStands tells whether every metric has readings and a model in their units: before its first
// fit, a model that standardises has nothing but its prior to say.
func (v Facts) ModelStands() bool {
	return len(v.unread()) == 0 && !slices.ContainsFunc(Modelled(v.Snap.Definition), func(metric string) bool { return !v.scaled(metric) })
}

// scaled tells whether a metric's model knows how large its values are.
func (v Facts) scaled(metric string) bool {
	return !v.Snap.Compiled().Config.Standardize || slices.ContainsFunc(v.Snap.Fits, func(fit ledger.FittedData) bool { _, in := fit.Metrics[metric]; return in })
}

// recommended is what the model recommends, nil while it does not stand.
func (v Facts) recommended() *study.Recommendation {
	if !v.ModelStands() {
		return nil
	}
	return v.Readout.Recommendation
}

// metricsShown are the modelled metrics with a reading, the objective first.
func (v Facts) metricsShown() []string {
	shown := []string{v.Snap.Definition.Objective.Metric}
	for _, metric := range Modelled(v.Snap.Definition) {
		if metric != shown[0] {
			shown = append(shown, metric)
		}
	}
	return slices.DeleteFunc(shown, func(metric string) bool { return !v.Snap.HasReading(metric) || !v.scaled(metric) })
}

// brokenIn counts the trials that broke a limit as it stands now, and those of which that is known.
func (v Facts) brokenIn(c design.Constraint) (n, known int) {
	for _, t := range v.Snap.Trials {
		if m, there := t.Metrics[c.Metric]; there {
			known++
			if broken(c, m.Value) {
				n++
			}
		}
	}
	return n, known
}

// broken tells whether a value is outside the limit.
func broken(c design.Constraint, value float64) bool { return c.Excess(value) > 0 }

// ended counts the trials of that status.
func (v Facts) ended(status ledger.Status) int {
	n := 0
	for _, t := range v.Snap.Trials {
		if t.Status == status {
			n++
		}
	}
	return n
}

// fruitless says how all trials ended when none brought a result, "" when some did or may still.
func (v Facts) fruitless() string {
	trials, failed, abandoned := len(v.Snap.Trials), v.ended(ledger.StatusFailed), v.ended(ledger.StatusAbandoned)
	switch {
	case trials == 0 || failed+abandoned < trials:
		return ""
	case trials == 1:
		return "the only trial " + endWords(v.Snap.Trials[0].Status, 1)
	case failed > 0 && abandoned > 0:
		return fmt.Sprintf("of %d trials, %d %s and %d %s", trials, failed, endWords(ledger.StatusFailed, failed), abandoned, endWords(ledger.StatusAbandoned, abandoned))
	case failed > 0:
		return fmt.Sprintf("all %d trials failed", trials)
	}
	return fmt.Sprintf("none of the %d trials was run", trials)
}

func endWords(status ledger.Status, n int) string {
	switch {
	case status == ledger.StatusFailed:
		return "failed"
	case n == 1:
		return "was not run"
	}
	return "were not run"
}

// StateWords say how a trial stands.
func (v Facts) StateWords(t *ledger.Trial) string {
	var said string
	switch {
	case t.Cause == ledger.ByChance:
		said = "failed by chance"
	case t.Status == ledger.StatusFailed:
		said = "failed"
	case t.Status == ledger.StatusAbandoned:
		said = "not run"
	case t.Status == ledger.StatusSuggested:
		said = "waiting"
	case t.Status == ledger.StatusPartial && (t.Feasible == nil || !v.limited()):
		said = "waiting for the rest"
	case !v.limited():
		said = "measured"
	case t.Feasible == nil:
		said = "not known"
	case *t.Feasible:
		said = "within limits"
	default:
		said = "limit broken"
	}
	if t.Excluded {
		return said + ", excluded"
	}
	if len(t.Doubts) > 0 {
		said += ", in doubt"
	}
	return said
}

// Measured is a reading with its unit, and its own standard deviation if one was told.
func (v Facts) Measured(metric string, m ledger.Measurement) string {
	unit := UnitOf(v.Snap.Definition, metric)
	if m.StdDev != nil {
		return words.Uncertain(m.Value, *m.StdDev, unit)
	}
	return words.Quantity(m.Value, unit)
}
