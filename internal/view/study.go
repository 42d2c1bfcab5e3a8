package view

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
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

// Told lists the metrics that people tell, in the study's order.
func Told(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return !m.Known })
}

// Modelled lists the metrics that have a model.
func Modelled(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return m.Modelled })
}

// tableMetrics lists all metrics of which a trial can have a value: those told, then those
// computed.
func tableMetrics(d design.Definition) []string {
	return append(Told(d), computedMetrics(d)...)
}

// computedMetrics lists the metrics that are computed from a trial's settings when it is chosen.
func computedMetrics(d design.Definition) []string {
	return metricNames(d, func(m design.MetricInfo) bool { return m.Known })
}

func metricNames(d design.Definition, keep func(design.MetricInfo) bool) []string {
	return lists.Pick(d.Metrics(), func(m design.MetricInfo) (string, bool) { return m.Name, keep(m) })
}

// inOrder lists the keys of m, which are metrics, in the study's order.
func inOrder[T any](d design.Definition, m map[string]T) []string {
	return slices.DeleteFunc(tableMetrics(d), func(metric string) bool { _, there := m[metric]; return !there })
}

func parameter(d design.Definition, name string) design.Parameter {
	found, _ := lists.Find(d.Parameters, func(p design.Parameter) bool { return p.Name == name })
	return found
}

// axisNames lists the parameters that can be set, which can be the axis of a chart.
func axisNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) { return p.Name, p.Type != design.Remainder })
}

// mostMapped is the largest number of values along each axis of a map. Two parameters with a
// thousand choices each would make a million points, which is too much for the memory.
const mostMapped = 100

// mapNames lists the parameters that can be an axis of a map.
func mapNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) {
		return p.Name, p.Type != design.Remainder && len(p.Choices) <= mostMapped
	})
}

// limited tells whether the study has limits. Without any, every trial is within all limits, which
// says nothing.
func limited(d design.Definition) bool { return len(d.Constraints) > 0 }

// sampled tells whether a limit's value has to be given for every candidate at each decision, which
// is possible only through the API.
func sampled(d design.Definition) bool {
	return slices.ContainsFunc(d.Constraints, func(c design.Constraint) bool { return c.Sampled })
}

// unread lists the modelled metrics without a reading in an included trial. Only their prior is
// known, which is not shown.
func unread(snap *ledger.Snapshot) []string {
	return slices.DeleteFunc(Modelled(snap.Definition), snap.HasReading)
}

// noReadingWords says that metrics have no reading, or none that counts where some were excluded.
func noReadingWords(snap *ledger.Snapshot, metrics []string) string {
	return design.Listed(metrics, "and") + " " + words.Either(len(metrics) == 1, "is", "are") + " without a reading" + words.Either(readingsExcluded(snap), " that counts", "")
}

// notRun tells whether a trial was given up without any reading.
func notRun(t *ledger.Trial) bool {
	return t.Status == ledger.StatusAbandoned && !slices.ContainsFunc(slices.Collect(maps.Values(t.Metrics)), func(m ledger.Measurement) bool { return !m.Known })
}

// readingsExcluded tells whether an excluded trial has readings.
func readingsExcluded(snap *ledger.Snapshot) bool {
	return slices.ContainsFunc(snap.Trials, func(t *ledger.Trial) bool { return t.Excluded && len(t.Metrics) > 0 })
}

// withoutNoise explains the ± of an expected value.
const withoutNoise = "(± holds about two times in three, without the noise of a reading)"

// expectedWords says what the model expects of a metric, with its standard deviation.
func expectedWords(d design.Definition, metric string, mean, sd ledger.Numbers) string {
	return "expected " + words.Uncertain(mean[metric], sd[metric], d.Unit(metric))
}

// remainderNames lists the parameters that are what the others leave of a mixture.
func remainderNames(d design.Definition) []string {
	return lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) { return design.Name(p.Name), p.Type == design.Remainder })
}

// readings iterates over the trials that have a reading of a metric, with the reading.
func readings(trials []*ledger.Trial, metric string) iter.Seq2[*ledger.Trial, ledger.Measurement] {
	return func(yield func(*ledger.Trial, ledger.Measurement) bool) {
		for _, t := range trials {
			if m, there := t.Metrics[metric]; there && !yield(t, m) {
				return
			}
		}
	}
}

// countBroken counts the trials that break a limit as it is now (n), and those with a reading
// (known).
func countBroken(trials []*ledger.Trial, c design.Constraint) (n, known int) {
	for _, m := range readings(trials, c.Metric) {
		known++
		if !c.Holds(m.Value) {
			n++
		}
	}
	return n, known
}

func countStatus(trials []*ledger.Trial, status ledger.Status) int {
	return lists.Count(trials, func(t *ledger.Trial) bool { return t.Status == status })
}

func limitText(c design.Constraint) string {
	return words.Either(c.Name != c.Metric, design.Name(c.Metric)+" ", "") + words.Limit(c)
}

func limitsText(d design.Definition, metric string) string {
	return strings.Join(lists.Pick(d.Constraints, func(c design.Constraint) (string, bool) { return words.Limit(c), c.Metric == metric }), ", ")
}

// settingsOf lists a trial's settings in the study's order.
func settingsOf(d design.Definition, values design.Settings) []templates.Setting {
	return lists.Pick(d.Parameters, func(p design.Parameter) (templates.Setting, bool) {
		value, there := values[p.Name]
		return templates.Setting{Name: p.Name, Value: design.WriteSetting(p, value), Unit: p.Unit}, there
	})
}

// withUnits sets the unit of each setting in list, and returns list.
func withUnits(list []templates.Setting, unit func(name string) string) []templates.Setting {
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

// Stamp describes a past moment, Deadline a future one.
func Stamp(at, now time.Time) templates.Stamp    { return stamp(at, words.Ago(at, now)) }
func Deadline(at, now time.Time) templates.Stamp { return stamp(at, words.Until(at, now)) }

func stamp(at time.Time, away string) templates.Stamp {
	return templates.Stamp{Ago: away, Exact: words.Exact(at), ISO: at.UTC().Format(time.RFC3339)}
}

// OptionalStamp describes a past moment; it is empty where at is nil.
func OptionalStamp(at *time.Time, now time.Time) templates.Stamp {
	if at == nil {
		return templates.Stamp{}
	}
	return Stamp(*at, now)
}

// number and column are a table's columns of numbers and of words.
func number(name, unit string) templates.Column {
	return templates.Column{Name: name, Unit: unit, Number: true}
}
func column(name string) templates.Column { return templates.Column{Name: name} }

// columns is a table under construction: each column's head, and the function that gives its cells.
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

// Measured writes a reading with its unit, and its own standard deviation if one was told.
func Measured(snap *ledger.Snapshot, t *ledger.Trial, metric string, m ledger.Measurement) string {
	unit := snap.UnitTold(t.Number, metric)
	if m.StdDev != nil {
		return words.Uncertain(m.Value, *m.StdDev, unit)
	}
	return words.Quantity(m.Value, unit)
}

// firstTold returns the value that was told first, nil if the reading still has it.
func firstTold(m ledger.Measurement) *float64 {
	if m.Original != nil && *m.Original == m.Value {
		return nil
	}
	return m.Original
}

// markOf returns the mark that shows a trial's state in tables and maps.
func markOf(d design.Definition, t *ledger.Trial) string {
	switch {
	case t.Waiting() && (t.Feasible == nil || !limited(d)):
		return string(chart.Waiting)
	case !limited(d) && t.Status != ledger.StatusCompleted:
		return string(chart.Unknown)
	}
	return string(styleOf(t))
}

// styleOf returns the mark of a trial by whether it is within the limits.
func styleOf(t *ledger.Trial) chart.Style {
	switch {
	case t.Feasible == nil:
		return chart.Unknown
	case *t.Feasible:
		return chart.Feasible
	}
	return chart.Violated
}

// whyNoResults says how all trials ended if none brought a result, "" if some did or still may.
func whyNoResults(trials []*ledger.Trial) string {
	n, failed, abandoned := len(trials), countStatus(trials, ledger.StatusFailed), countStatus(trials, ledger.StatusAbandoned)
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

// howTrialsEnded says how the trials ended, for when none is waiting.
func howTrialsEnded(trials []*ledger.Trial) string {
	if len(trials) == 0 {
		return "There are no trials yet."
	}
	if said := whyNoResults(trials); said != "" {
		return design.Capitalised(said) + "."
	}
	read := len(trials)
	var others []string
	for _, status := range []ledger.Status{ledger.StatusFailed, ledger.StatusAbandoned} {
		if n := countStatus(trials, status); n > 0 {
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

// descriptions converts Markdown to HTML. goldmark itself leaves out raw HTML and dangerous
// addresses, and withoutImages the pictures: a description cannot make a browser contact another
// host.
var descriptions = goldmark.New(goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(withoutImages{}, 100))))

// Markdown converts to safe HTML.
func Markdown(source string) string {
	var out bytes.Buffer // takes everything
	descriptions.Convert([]byte(source), &out)
	return out.String()
}

// withoutImages renders a picture as its text only.
type withoutImages struct{}

func (withoutImages) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil })
}

// Algorithm returns the description of an algorithm, or of the first one if there is none of that
// name.
func Algorithm(name string) policy.Description {
	if found, there := policy.Find(name); there {
		return found
	}
	return policy.Descriptions()[0]
}

// limitChanges says which limits, or formulas of limited metrics, differ, "" if none do.
func limitChanges(before, after []design.Constraint) string {
	var parts []string
	for j, c := range after {
		if was := before[j]; limitDiffers(was, c) {
			parts = append(parts, fmt.Sprintf("limit of %s from %s to %s", design.Name(c.Name), changedSign(was, c)+words.Quantity(was.Threshold, words.Either(was.Unit == c.Unit, "", was.Unit)), changedSign(c, was)+words.Quantity(c.Threshold, c.Unit)))
		}
		formula := fmt.Sprintf("formula of %s from %s to %s", design.Name(c.Metric), before[j].Expression, c.Expression)
		if before[j].Expression != c.Expression && !slices.Contains(parts, formula) { // limits of one metric share it
			parts = append(parts, formula)
		}
	}
	return strings.Join(parts, ", ")
}

// unitChanges says which units differ. Numbers are never converted.
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

// limitDiffers tells whether two versions of a limit differ in threshold or direction.
func limitDiffers(was, now design.Constraint) bool {
	return was.Threshold != now.Threshold || was.Op != now.Op
}

// limitsChanged tells whether any limit of the study was ever different.
func limitsChanged(revisions []ledger.Revision) bool {
	return slices.ContainsFunc(revisions, func(revision ledger.Revision) bool {
		return !slices.EqualFunc(revisions[0].Limits, revision.Limits, func(was, c design.Constraint) bool { return !limitDiffers(was, c) })
	})
}

// changedSign is the sign of a limit whose other version has the opposite one, "" if both are
// equal.
func changedSign(one, other design.Constraint) string {
	return words.Either(one.Op == other.Op, "", words.Sign(one.Op)+" ")
}
