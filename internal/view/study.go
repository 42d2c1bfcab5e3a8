package view

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// UnitOf is a metric's unit.
func UnitOf(d design.Definition, metric string) string { return d.Metric(metric).Unit }

// Told lists the metrics that people tell, in the order of the study.
func Told(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return !m.Known })
}

// Modelled lists the metrics that have a model.
func Modelled(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return m.Modelled })
}

// tableMetrics are all metrics that a trial can have a value of: those told, then those worked out.
func tableMetrics(d design.Definition) []string {
	return append(Told(d), workedOut(d)...)
}

// workedOut lists the metrics that are worked out when a trial is chosen.
func workedOut(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return m.Known })
}

func metricNames(d design.Definition, keep func(design.MetricInfo) bool) []string {
	return lists.Pick(d.Metrics(), func(m design.MetricInfo) (string, bool) { return m.Name, keep(m) })
}

// inOrder lists the metrics of m in the order of the study.
func inOrder[T any](d design.Definition, m map[string]T) []string {
	return slices.DeleteFunc(tableMetrics(d), func(metric string) bool { _, there := m[metric]; return !there })
}

func parameter(d design.Definition, name string) design.Parameter {
	found, _ := lists.Find(d.Parameters, func(p design.Parameter) bool { return p.Name == name })
	return found
}

// axisNames are the parameters that can be set, which charts can have along an axis.
func axisNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) { return p.Name, p.Type != design.Remainder })
}

// mapNames are the parameters that a map can have for axes.
func mapNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) { return p.Name, p.Mapped() })
}

// limited tells whether there are limits at all: without them, every trial is within all of them,
// which says nothing.
func limited(d design.Definition) bool { return len(d.Constraints) > 0 }

// sampled tells whether each decision needs the value of a limit at every candidate, which come
// through the API.
func sampled(d design.Definition) bool {
	return slices.ContainsFunc(d.Constraints, func(c design.Constraint) bool { return c.Sampled })
}

// unread lists the modelled metrics of which no included trial has a reading. Of them nothing is
// known but the prior, which is not shown.
func unread(snap *ledger.Snapshot) []string {
	return slices.DeleteFunc(Modelled(snap.Definition), snap.HasReading)
}

// without says that metrics have no reading, or none that counts where some were taken out.
func without(snap *ledger.Snapshot, metrics []string) string {
	return design.Listed(metrics, "and") + " " + words.Either(len(metrics) == 1, "is", "are") + " without a reading" + words.Either(tookOut(snap), " that counts", "")
}

// tookOut tells whether a trial that was read was excluded.
func tookOut(snap *ledger.Snapshot) bool {
	return slices.ContainsFunc(snap.Trials, func(t *ledger.Trial) bool { return t.Excluded && len(t.Metrics) > 0 })
}

// withoutNoise says what ± means of an expected value.
const withoutNoise = "(± holds about two times in three, without the noise of a reading)"

// expectedWords are what the model expects of a metric somewhere.
func expectedWords(d design.Definition, metric string, mean, sd ledger.Numbers) string {
	return "expected " + words.Uncertain(mean[metric], sd[metric], UnitOf(d, metric))
}

// remainderNames are those of what mixtures leave.
func remainderNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) { return design.Name(p.Name), p.Type == design.Remainder })
}

// readings are those of a metric among trials, each with its trial.
func readings(trials []*ledger.Trial, metric string) iter.Seq2[*ledger.Trial, ledger.Measurement] {
	return func(yield func(*ledger.Trial, ledger.Measurement) bool) {
		for _, t := range trials {
			if m, there := t.Metrics[metric]; there && !yield(t, m) {
				return
			}
		}
	}
}

// brokenIn counts the trials that broke a limit as it stands now, and those of which that is known.
func brokenIn(trials []*ledger.Trial, c design.Constraint) (n, known int) {
	for _, m := range readings(trials, c.Metric) {
		known++
		if !c.Holds(m.Value) {
			n++
		}
	}
	return n, known
}

func ended(trials []*ledger.Trial, status ledger.Status) int {
	return lists.Count(trials, func(t *ledger.Trial) bool { return t.Status == status })
}

func asks(c design.Constraint) string {
	return words.Either(c.Name != c.Metric, design.Name(c.Metric)+" ", "") + words.Limit(c)
}

func limitsText(d design.Definition, metric string) string {
	return strings.Join(lists.Pick(d.Constraints, func(c design.Constraint) (string, bool) { return words.Limit(c), c.Metric == metric }), ", ")
}

// settingsOf are a trial's settings in the order of the study.
func settingsOf(d design.Definition, values design.Settings) []templates.Setting {
	return lists.Pick(d.Parameters, func(p design.Parameter) (templates.Setting, bool) {
		value, there := values[p.Name]
		return templates.Setting{Name: p.Name, Value: design.WriteSetting(p, value), Unit: p.Unit}, there
	})
}

// inUnits are settings, each in a unit of its own.
func inUnits(list []templates.Setting, unit func(name string) string) []templates.Setting {
	for i := range list {
		list[i].Unit = unit(list[i].Name)
	}
	return list
}

func settingsLine(d design.Definition, values design.Settings) string {
	return settingsWords(settingsOf(d, values))
}

func settingsWords(list []templates.Setting) string {
	return strings.Join(lists.Map(list, func(s templates.Setting) string {
		return design.Name(s.Name) + " " + words.With(design.Name(s.Value), s.Unit)
	}), ", ")
}

// Stamp is a moment at which something happened as people read it, Deadline one at which something ends.
func Stamp(at, now time.Time) templates.Stamp    { return stamp(at, words.Ago(at, now)) }
func Deadline(at, now time.Time) templates.Stamp { return stamp(at, words.Until(at, now)) }

func stamp(at time.Time, away string) templates.Stamp {
	return templates.Stamp{Ago: away, Exact: words.Exact(at), ISO: at.UTC().Format(time.RFC3339)}
}

// OptionalStamp is a moment that there may not have been.
func OptionalStamp(at *time.Time, now time.Time) templates.Stamp {
	if at == nil {
		return templates.Stamp{}
	}
	return Stamp(*at, now)
}

// number and column are columns of a table, of numbers and of words.
func number(name, unit string) templates.Column {
	return templates.Column{Name: name, Unit: unit, Number: true}
}
func column(name string) templates.Column { return templates.Column{Name: name} }

// columns are a table column by column, each with what it says of a row.
type columns struct {
	head  []templates.Column
	cells []func(row int) string
}

func (c *columns) add(head templates.Column, cell func(row int) string) {
	c.head, c.cells = append(c.head, head), append(c.cells, cell)
}

func (c *columns) rows(from, to int) templates.Table {
	table := templates.Table{Head: c.head}
	for row := from; row < to; row++ {
		line := lists.Map(c.cells, func(cell func(row int) string) string { return cell(row) })
		table.Rows = append(table.Rows, line)
	}
	return table
}

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
func Measured(snap *ledger.Snapshot, t *ledger.Trial, metric string, m ledger.Measurement) string {
	unit := snap.UnitTold(t.Number, metric)
	if m.StdDev != nil {
		return words.Uncertain(m.Value, *m.StdDev, unit)
	}
	return words.Quantity(m.Value, unit)
}

// firstTold is the value of a reading as it was first told, where it is another by now.
func firstTold(m ledger.Measurement) *float64 {
	if m.Original != nil && *m.Original == m.Value {
		return nil
	}
	return m.Original
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
	if len(trials) == 0 {
		return "There are no trials yet."
	}
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
	return design.Count(read, "trial has its", "trials have their") + " results, " + design.Listed(others, "and") + "."
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

// descriptions turns Markdown into HTML. Raw HTML and dangerous addresses are left out by goldmark
// itself, pictures by withoutImages: nothing in a description can reach another host.
var descriptions = goldmark.New(goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(withoutImages{}, 100))))

// Markdown returns safe HTML.
func Markdown(source string) string {
	var out bytes.Buffer
	if err := descriptions.Convert([]byte(source), &out); err != nil {
		return "" // a bytes.Buffer takes everything, so there is no such error
	}
	return out.String()
}

// withoutImages writes only the words of each picture.
type withoutImages struct{}

func (withoutImages) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil })
}

// Algorithm is the description of an algorithm, of the first one when there is none of that name.
func Algorithm(name string) policy.Description {
	if found, there := policy.Find(name); there {
		return found
	}
	return policy.Descriptions()[0]
}

// limitChanges say which limits differ, or the formulas of what they limit, "" when none do.
func limitChanges(before, after []design.Constraint) string {
	var parts []string
	for j, c := range after {
		if was := before[j]; limitDiffers(was, c) {
			parts = append(parts, fmt.Sprintf("limit of %s from %s to %s", design.Name(c.Name), signTurned(was, c)+words.Quantity(was.Threshold, words.Either(was.Unit == c.Unit, "", was.Unit)), signTurned(c, was)+words.Quantity(c.Threshold, c.Unit)))
		}
		formula := fmt.Sprintf("formula of %s from %s to %s", design.Name(c.Metric), before[j].Expression, c.Expression)
		if before[j].Expression != c.Expression && !slices.Contains(parts, formula) { // limits of one metric share it
			parts = append(parts, formula)
		}
	}
	return strings.Join(parts, ", ")
}

// unitChanges say which units differ. No number is converted.
func unitChanges(before, after design.Definition) (parts []string) {
	add := func(name, was, is string) {
		if was != is {
			parts = append(parts, fmt.Sprintf("unit of %s from %s to %s", design.Name(name), cmp.Or(was, "nothing"), cmp.Or(is, "nothing")))
		}
	}
	for _, p := range after.Parameters {
		add(p.Name, parameter(before, p.Name).Unit, p.Unit)
	}
	for _, m := range after.Metrics() {
		add(m.Name, before.Metric(m.Name).Unit, m.Unit)
	}
	return parts
}

// limitDiffers tells whether a limit asked something else before.
func limitDiffers(was, now design.Constraint) bool {
	return was.Threshold != now.Threshold || was.Op != now.Op
}

// limitsChanged tells whether a limit of a study was ever another one.
func limitsChanged(revisions []ledger.Revision) bool {
	return slices.ContainsFunc(revisions, func(revision ledger.Revision) bool {
		return !slices.EqualFunc(revisions[0].Limits, revision.Limits, func(was, c design.Constraint) bool { return !limitDiffers(was, c) })
	})
}

// signTurned is the sign of a limit where at another time it had the other.
func signTurned(one, other design.Constraint) string {
	return words.Either(one.Op == other.Op, "", words.Sign(one.Op)+" ")
}
