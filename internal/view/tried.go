package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Tried is a trial of a study, for what is said of it alone.
type Tried struct {
	Facts
	t *ledger.Trial
}

func (v Facts) Of(t *ledger.Trial) Tried { return Tried{v, t} }

// stateWords say how a trial stands.
func stateWords(d design.Definition, t *ledger.Trial) string {
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
	case t.Status == ledger.StatusPartial && (t.Feasible == nil || !limited(d)):
		said = "waiting for the rest"
	case !limited(d):
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
func Measured(d design.Definition, metric string, m ledger.Measurement) string {
	unit := UnitOf(d, metric)
	if m.StdDev != nil {
		return words.Uncertain(m.Value, *m.StdDev, unit)
	}
	return words.Quantity(m.Value, unit)
}

// markOf is the shape that says how a trial stands.
func markOf(d design.Definition, t *ledger.Trial) string {
	switch {
	case t.Waiting() && (t.Feasible == nil || !limited(d)):
		return string(chart.Waiting)
	case !limited(d) && t.Status != ledger.StatusCompleted:
		return string(chart.Unknown)
	}
	return string(styleOf(t))
}

// styleOf is the mark of a trial whose value is known.
func styleOf(t *ledger.Trial) chart.Style {
	switch {
	case t.Feasible == nil:
		return chart.Unknown
	case *t.Feasible:
		return chart.Feasible
	}
	return chart.Violated
}

// reasonLine is why a trial ended as it did, or was excluded.
func (v Tried) reasonLine() string {
	if v.t.Reason == "" {
		return ""
	}
	said := words.Either(v.t.Cause == ledger.BySettings && !v.t.Excluded, "failed because of its settings", stateWords(v.Snap.Definition, v.t))
	return design.Capitalised(said) + ": " + v.t.Reason
}

// endOf says how a trial came to wait no more.
func (v Tried) endOf() *templates.Ended {
	if v.t.Status != ledger.StatusCompleted {
		return &templates.Ended{Mark: markOf(v.Snap.Definition, v.t), Words: cmp.Or(v.reasonLine(), design.Capitalised(stateWords(v.Snap.Definition, v.t))) + "."}
	}
	var last ledger.Measurement
	for _, m := range v.t.Metrics {
		if m.ToldSeq > last.ToldSeq {
			last = m
		}
	}
	return &templates.Ended{Mark: markOf(v.Snap.Definition, v.t), Words: "Completed by " + last.By, At: v.stamp(last.ToldAt)}
}

func whyOf(t *ledger.Trial) string {
	if t.Decision != nil && t.Decision.Because != "" {
		return t.Decision.Because
	}
	return fmt.Sprintf("Trial %d was chosen by %s.", t.Number, t.By)
}

// chosenInstead are the settings that were chosen for a trial where others were used.
func (v Tried) chosenInstead() design.Settings {
	instead := design.Settings{}
	if !v.t.SettingsChanged {
		return instead
	}
	for name, value := range v.Snap.Chosen(v.t.Number) {
		if value != v.t.Parameters[name] {
			instead[name] = value
		}
	}
	return instead
}

// longestReason is how much of a doubt is kept as the reason for which a trial is excluded, in
// characters.
const longestReason = 500

// inDoubt is what is doubted of a trial.
func (v Tried) inDoubt() templates.Doubtful {
	d := templates.Doubtful{Number: v.t.Number, URL: v.trialURL(v.t.Number), Operates: v.Head.Operates && v.At == 0 && v.Snap.State != ledger.Archived}
	for _, doubt := range v.t.Doubts {
		d.Says = append(d.Says, doubt.Why)
	}
	d.Reason = words.Shorten("In doubt: "+strings.Join(d.Says, " "), longestReason)
	return d
}

// savedJustNow is what the viewer saved of a trial within the last minute, to be undone.
func (v Tried) savedJustNow() []templates.Saved {
	metrics, left := study.Undoable(v.Snap, v.t, v.Who.Caller(), v.Now)
	if len(metrics) == 0 {
		return nil
	}
	var values []string
	for _, metric := range metrics {
		values = append(values, metric+" "+Measured(v.Snap.Definition, metric, v.t.Metrics[metric]))
	}
	return []templates.Saved{{Number: v.t.Number, Text: strings.Join(values, ", "), Left: int(left.Seconds()) + 1, Key: v.Key}}
}

// originWords say who chose a trial.
func originWords(o ledger.Origin) string {
	switch o {
	case ledger.Suggested:
		return "suggested"
	case ledger.Manual:
		return "a person’s choice"
	}
	return string(o)
}

// fruitless says how all trials ended when none brought a result, "" when some did or may still.
func fruitless(trials []*ledger.Trial) string {
	n, failed, abandoned := len(trials), ended(trials, ledger.StatusFailed), ended(trials, ledger.StatusAbandoned)
	switch {
	case n == 0 || failed+abandoned < n:
		return ""
	case n == 1:
		return "the only trial " + endWords(trials[0].Status, 1)
	case failed > 0 && abandoned > 0:
		return fmt.Sprintf("of %d trials, %d %s and %d %s", n, failed, endWords(ledger.StatusFailed, failed), abandoned, endWords(ledger.StatusAbandoned, abandoned))
	case failed > 0:
		return fmt.Sprintf("all %d trials failed", n)
	}
	return fmt.Sprintf("none of the %d trials was run", n)
}

// idle says how the trials ended, for when none waits.
func idle(trials []*ledger.Trial) string {
	if said := fruitless(trials); said != "" {
		return design.Capitalised(said) + "."
	}
	read := len(trials)
	var others []string
	for _, status := range []ledger.Status{ledger.StatusFailed, ledger.StatusAbandoned} {
		if n := ended(trials, status); n > 0 {
			others, read = append(others, strconv.Itoa(n)+" "+endWords(status, n)), read-n
		}
	}
	if len(others) == 0 {
		return "Every trial has its results."
	}
	return words.Count(read, "trial has its", "trials have their") + " results, " + design.Listed(others, "and") + "."
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
