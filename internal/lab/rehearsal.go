package lab

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/chart"
)

// Rehearsal is cases, each as every entrant plays it from the same seeds.
type Rehearsal struct {
	Cases    []Case
	Entrants []Entrant
	Seeds    int
	First    uint64 // seed
	Against  string // the label that the others are compared with
	Program  string // identifies the build, whose games alone are used; "" for any build's
}

// Entrant plays under the label that reports use.
type Entrant struct {
	Label     string
	Algorithm design.Algorithm
	Model     design.Model
	Outside   *Outside // plays instead, where there is one
}

// Games returns the games, checked, seed by seed, case by case, label by label.
func (r Rehearsal) Games() ([]Planned, error) {
	var all []Planned
	for seed := range uint64(r.Seeds) {
		for _, c := range r.Cases {
			for _, e := range r.Entrants {
				g := c.Game
				g.Algorithm, g.Model, g.Outside, g.Seed = e.Algorithm, e.Model, e.Outside, r.First+seed
				if err := g.Check(); err != nil {
					return nil, fmt.Errorf("%s on %s: %w", e.Label, c.Name, err)
				}
				key, err := g.Key(r.Program)
				if err != nil {
					return nil, err
				}
				all = append(all, Planned{c.Name, e.Label, g.Seed, g.Asks, key, func(ctx context.Context, step func()) (any, error) { return g.Play(ctx, step) }})
			}
		}
	}
	return all, nil
}

type playedCase struct {
	Case
	games map[string][]judgedGame // by label, in the order of the seeds
}

func (r Rehearsal) read(folder string, games []Planned) ([]playedCase, error) {
	records, err := recordsOf[Record](folder, games)
	var all []playedCase
	for _, c := range r.Cases {
		one := playedCase{c, map[string][]judgedGame{}}
		for _, e := range r.Entrants {
			one.games[e.Label] = lists.Map(records[caseAndLabel{c.Name, e.Label}], func(record *Record) judgedGame { return judgedGame{c.Problem, record} })
		}
		all = append(all, one)
	}
	return all, err
}

// Report returns the figures of all problems and of each, those of every game, and every ask. Its
// page is in Markdown.
func (r Rehearsal) Report(folder string, games []Planned) (files map[string][]byte, page string, err error) {
	all, err := r.read(folder, games)
	if err != nil {
		return nil, "", err
	}
	files = map[string][]byte{"report.md": r.page(all), "games.csv": csvOf(r.gameRows(all)), "asks.csv": csvOf(r.askRows(all))}
	if shares := r.sharesFigure(all); len(shares) > 0 {
		files["figure.svg"] = chart.Figure("share of the best feasible value found", shares)
	}
	files["report.json"], err = r.summary(all)
	return files, "report.md", err
}

// sharesFigure draws, for each problem where anything is feasible, the share of the best feasible
// value found after each ask: mean and standard error over the seeds.
func (r Rehearsal) sharesFigure(all []playedCase) []chart.Panel {
	var cells []chart.Panel
	for _, c := range all {
		if !c.Problem.Scale.Any {
			continue
		}
		var curves []curve
		for _, e := range r.Entrants {
			shares := lists.Map(c.games[e.Label], judgedGame.shares)
			at := lists.Of(len(shares[0]), func(i int) int { return i + 1 })
			curves = append(curves, curve{label: e.Label, at: at, means: estimatesByStep(shares)})
		}
		cells = append(cells, panelOf(c.Name, "asks", curves))
	}
	return cells
}

func (r Rehearsal) page(all []playedCase) []byte {
	var out bytes.Buffer
	b := r.Cases[0].Game // the cases differ in their problems only
	fmt.Fprintf(&out, "# Rehearsal\n\n%s from %d, %s at the start, %s, %d at once, told after %s, noise %s %g, standard deviations told: %s.\n",
		design.Count(r.Seeds, "seed", "seeds"), r.First, design.Count(b.Start, "row", "rows"), design.Count(b.Asks, "ask", "asks"), b.Batch,
		design.Count(b.Delay, "further request", "further requests"), b.Noise.Kind, b.Noise.Size, b.Told)
	if m := b.Mishaps; m != (Mishaps{}) {
		fmt.Fprintf(&out, "Of the trials %g fail by chance; of the readings %g are late, %g never told; every number is set %g of its range too high.\n", m.Fail, m.Late, m.Unread, m.Offset)
	}
	fmt.Fprint(&out, "Mean ± standard error over the seeds; settings are judged by their truth.\n")
	for _, e := range r.Entrants {
		if e.Outside != nil {
			fmt.Fprintf(&out, "\n%s: %s.\n", e.Label, e.Outside.Name)
		}
	}
	for _, c := range all {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", c.Name, c.Problem.Scale)
		out.WriteString(r.tableOf(c.allFigures(), c))
	}
	if len(all) > 1 {
		fmt.Fprintf(&out, "\n## All %d problems\n\nMeans over the problems, each of the same weight.\n\n", len(all))
		out.WriteString(r.tableOf(Figures, all...))
	}
	return out.Bytes()
}

// allFigures returns those of all problems and the problem's own.
func (c playedCase) allFigures() []Figure { return slices.Concat(Figures, c.Problem.LimitFigures()) }

// tableOf returns a table with figures down and labels across, without figures that no label has.
func (r Rehearsal) tableOf(figures []Figure, all ...playedCase) string {
	labels := lists.Map(r.Entrants, func(e Entrant) string { return e.Label })
	rows := [][]string{append([]string{""}, labels...)}
	for _, f := range figures {
		row := append([]string{f.Title}, lists.Map(labels, func(label string) string { return r.cell(f, all, label) })...)
		if slices.ContainsFunc(row[1:], func(cell string) bool { return cell != noValue }) {
			rows = append(rows, row)
		}
	}
	return markdown(rows)
}

// estimates returns a figure of a label over problems, and its paired difference from the label
// that it is compared with.
func (r Rehearsal) estimates(f Figure, all []playedCase, label string) (own, difference Estimate) {
	against := func(c playedCase) Estimate {
		return pairedDifference(f.values(c.games[label]), f.values(c.games[r.Against]))
	}
	return f.meanOver(all, label), meanOver(lists.Map(all, against))
}

func (f Figure) meanOver(all []playedCase, label string) Estimate {
	return meanOver(lists.Map(all, func(c playedCase) Estimate { return estimateOf(f.values(c.games[label])) }))
}

// cell returns a mean with its error, and the paired difference. In a metric's own unit it is a
// median, since a game that found or recommends nothing feasible has no finite regret, and empty
// over several problems, whose units differ.
func (r Rehearsal) cell(f Figure, all []playedCase, label string) string {
	own, difference := r.estimates(f, all, label)
	switch {
	case own.N == 0 || f.OwnUnit && len(all) > 1:
		return noValue
	case !f.OwnUnit:
		text := fmt.Sprintf("%.3g%s", own.Mean, plusMinus(own.Error))
		if label != r.Against && design.FiniteOrNil(difference.Mean) != nil {
			text += fmt.Sprintf(" (%+.3g%s)", difference.Mean, plusMinus(difference.Error))
		}
		return text
	}
	values := f.values(all[0].games[label])
	text := fmt.Sprintf("median %.3g", own.Median)
	if finite := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsInf(v, 0) }); len(finite) < len(values) {
		text += fmt.Sprintf(", nothing feasible in %d of %d games", len(values)-len(finite), len(values))
	}
	return text
}

// estimate is an Estimate that JSON can hold: by itself, and against the label compared with.
type estimate struct {
	Mean    *float64  `json:"mean"`
	Error   *float64  `json:"error"`
	Median  *float64  `json:"median"`
	N       int       `json:"n"`
	Against *estimate `json:"against,omitempty"`
}

func jsonOf(e Estimate) *estimate {
	return &estimate{design.FiniteOrNil(e.Mean), design.FiniteOrNil(e.Error), design.FiniteOrNil(e.Median), e.N, nil}
}

func (r Rehearsal) summary(all []playedCase) ([]byte, error) {
	type part struct {
		Scale      string                          `json:"scale,omitempty"`
		Algorithms map[string]map[string]*estimate `json:"algorithms"`
	}
	b := r.Cases[0].Game
	out := struct {
		Seeds                     int
		Start, Asks, Batch, Delay int
		Noise                     Noise
		Told                      Told
		Mishaps                   Mishaps
		Against                   string
		Problems                  map[string]part
		Overall                   part
	}{r.Seeds, b.Start, b.Asks, b.Batch, b.Delay, b.Noise, b.Told, b.Mishaps, r.Against, map[string]part{}, part{Algorithms: r.estimatesByLabel(Figures, all...)}}
	for _, c := range all {
		out.Problems[c.Name] = part{c.Problem.Scale.String(), r.estimatesByLabel(c.allFigures(), c)}
	}
	return indented(out)
}

func (r Rehearsal) estimatesByLabel(figures []Figure, all ...playedCase) map[string]map[string]*estimate {
	out := map[string]map[string]*estimate{}
	for _, e := range r.Entrants {
		out[e.Label] = map[string]*estimate{}
		for _, f := range figures {
			own, difference := r.estimates(f, all, e.Label)
			one := jsonOf(own)
			if e.Label != r.Against {
				one.Against = jsonOf(difference)
			}
			out[e.Label][f.Name] = one
		}
	}
	return out
}

// each calls do with every game of a rehearsal and the first cells of its rows in a table.
func (r Rehearsal) each(all []playedCase, do func(g judgedGame, cells []string)) {
	for _, c := range all {
		for _, e := range r.Entrants {
			for _, g := range c.games[e.Label] {
				do(g, []string{c.Name, e.Label, strconv.FormatUint(g.Seed, 10)})
			}
		}
	}
}

func (r Rehearsal) gameRows(all []playedCase) [][]string {
	names := lists.Map(Figures, func(f Figure) string { return f.Name })
	rows := [][]string{slices.Concat([]string{"problem", "algorithm", "seed"}, names, []string{"recommendation"})}
	r.each(all, func(g judgedGame, row []string) {
		figures := lists.Map(Figures, func(f Figure) string { return formatNumber(f.Of(g), 8) })
		rows = append(rows, slices.Concat(row, figures, []string{string(g.verdict(g.end()))}))
	})
	return rows
}

func (r Rehearsal) askRows(all []playedCase) [][]string {
	rows := [][]string{{"problem", "algorithm", "seed", "ask", "settings", "feasible", "known", "failed", "objective", "share", "reason"}}
	r.each(all, func(g judgedGame, cells []string) {
		shares := g.shares()
		for i, t := range g.Asks {
			share := ""
			if shares != nil {
				share = formatNumber(shares[i], 8)
			}
			rows = append(rows, slices.Concat(cells, []string{strconv.Itoa(i + 1), keyOf(t.Settings), strconv.FormatBool(t.Feasible), strconv.FormatBool(t.Known),
				string(t.Failed), formatNumber(t.Truth[g.Study.Objective.Metric], 8), share, t.Reason}))
		}
	})
	return rows
}

// Judgement is a rehearsal of the standard set, reported in one table.
type Judgement struct{ Rehearsal }

// Report returns the table, the figures of every game, and every ask.
func (j Judgement) Report(folder string, games []Planned) (files map[string][]byte, page string, err error) {
	all, err := j.read(folder, games)
	if err != nil {
		return nil, "", err
	}
	return map[string][]byte{"table.txt": j.standardTable(all), "games.csv": csvOf(j.gameRows(all)), "asks.csv": csvOf(j.askRows(all))}, "table.txt", nil
}

// standardColumns are the figures of the table under their headings, some of them side by side
// under one.
var standardColumns = []struct{ heading, below, figure, format string }{
	{"share", "", "share", "%.3f"},
	{"in 2%", "", "in2", "%.2f"},
	{"asks", "", "to2", "%.1f"},
	{"outside", "all", "infeasible", "%.1f"},
	{"", "till", "seeking", "%.1f"},
	{"excess", "", "excesses", "%.2f"},
	{"repeats", "all", "repeats", "%.1f"},
	{"", "till", "rereading", "%.1f"},
	{"failed", "all", "failed", "%.1f"},
	{"", "same", "again", "%.1f"},
	{"kept at", "12", "kept12", "%.2f"},
	{"", "24", "kept24", "%.2f"},
	{"", "end", "kept", "%.2f"},
	{"wrong", "", "wrong", "%.2f"},
	{"held", "", "held", "%.2f"},
	{"enough", "said", "enough", "%.2f"},
	{"", "wrong", "mistaken", "%.2f"},
}

// standardTable has a line for each case and label, and the means over the cases below.
func (j Judgement) standardTable(all []playedCase) []byte {
	headings, below := []string{design.Count(j.Seeds, "seed", "seeds")}, []string{""}
	for _, c := range standardColumns {
		headings, below = append(headings, c.heading), append(below, c.below)
	}
	rows := [][]string{append(headings, "told gains"), append(below, "")}
	add := func(name, label string, cases []playedCase) {
		if len(j.Entrants) > 1 {
			name += ", " + label
		}
		rows = append(rows, append([]string{name}, standardCells(cases, all, label)...))
	}
	var told, untold []playedCase
	for _, c := range all {
		for _, e := range j.Entrants {
			add(c.Name, e.Label, []playedCase{c})
		}
		if without := untoldCase(c, all); without != nil {
			told, untold = append(told, c), append(untold, *without)
		}
	}
	for _, e := range j.Entrants {
		for i, cases := range [][]playedCase{all, untold, told} {
			if len(cases) > 1 {
				add(fmt.Sprintf("%s (%d)", []string{"all", "not told", "told"}[i], len(cases)), e.Label, cases)
			}
		}
	}
	return aligned(1, rows)
}

// standardCells returns the figures of a label over cases, and what telling gains in them.
func standardCells(cases, all []playedCase, label string) []string {
	var row []string
	for _, column := range standardColumns {
		cell := noValue
		switch value := figureNamed(column.figure).meanOver(cases, label).Mean; {
		case value == 0:
			cell = "0"
		case !math.IsNaN(value):
			cell = fmt.Sprintf(column.format, value)
		}
		row = append(row, cell)
	}
	return append(row, gainWords(gainOfTelling(cases, all, label)))
}

// gainOfTelling returns by how much the share of a label is larger where standard deviations are
// told.
func gainOfTelling(cases, all []playedCase, label string) Estimate {
	share := figureNamed("share")
	return meanOver(lists.Map(cases, func(c playedCase) Estimate {
		untold := untoldCase(c, all)
		if untold == nil {
			return estimateOf(nil)
		}
		return pairedDifference(share.values(c.games[label]), share.values(untold.games[label]))
	}))
}

func gainWords(gain Estimate) string {
	switch {
	case gain.N == 0:
		return ""
	case math.IsNaN(gain.Error):
		return fmt.Sprintf("%+.3f", gain.Mean)
	}
	return fmt.Sprintf("%+.3f ± %.3f", gain.Mean, gain.Error)
}

// untoldCase returns the same case where nothing is told; nil if it is not played.
func untoldCase(c playedCase, all []playedCase) *playedCase {
	if at := slices.IndexFunc(all, func(other playedCase) bool { return other.Name == c.Untold }); at >= 0 {
		return &all[at]
	}
	return nil
}

func figureNamed(name string) Figure {
	return Figures[slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == name })]
}
