package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

// contest is one case as every algorithm played it.
type contest struct {
	lab.Case
	records map[string][]*lab.Record // by label, in the order of the seeds
}

func (r rehearsing) read(games []planned) ([]contest, error) {
	all := make([]contest, len(r.cases))
	for i, c := range r.cases {
		all[i] = contest{c, map[string][]*lab.Record{}}
	}
	for _, g := range games {
		record, err := readRecord(g.file)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].Name == g.of {
				all[i].records[g.label] = append(all[i].records[g.label], record)
			}
		}
	}
	return all, nil
}

// report writes what came of the games, and prints the page.
func (r rehearsing) report(games []planned) error {
	all, err := r.read(games)
	if err != nil {
		return err
	}
	page := r.page(all)
	summary, err := r.rehearsalSummary(all)
	if err != nil {
		return err
	}
	files := map[string][]byte{"report.md": page, "report.json": summary, "games.csv": table(r.gameRows(all)), "asks.csv": table(r.askRows(all))}
	if shares := r.sharesFigure(all); len(shares.Panels) > 0 {
		if files["figure.svg"], err = shares.SVG(); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := replace(filepath.Join(r.folder, name), content); err != nil {
			return err
		}
	}
	_, err = fmt.Printf("%swritten to %s\n", page, r.folder)
	return err
}

// page is the report in Markdown.
func (r rehearsing) page(all []contest) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Rehearsal\n\n%d seeds from %d, %d rows at the start, %d asks, %d at once, told after %d further requests, noise %s %g, standard deviations told: %s.\n%sMean ± standard error over the seeds; settings are judged by their truth.\n",
		r.seeds, r.first, r.base.Start, r.base.Asks, r.base.Batch, r.base.Delay, r.base.Noise.Kind, r.base.Noise.Size, r.base.Told, mishapWords(r.base.Mishaps))
	for _, a := range r.algorithms {
		if a.outside != nil {
			fmt.Fprintf(&out, "\n%s: %s.\n", a.label, a.outside.Name)
		}
	}
	for _, c := range all {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", c.Name, scaleWords(c.Problem.Scale))
		r.tableOf(&out, slices.Concat(lab.Figures, c.Problem.LimitFigures()), []contest{c})
	}
	if len(all) > 1 {
		fmt.Fprintf(&out, "\n## All %d problems\n\nMeans over the problems, each of the same weight.\n\n", len(all))
		r.tableOf(&out, lab.Figures, all)
	}
	return out.Bytes()
}

func mishapWords(m lab.Mishaps) string {
	if m == (lab.Mishaps{}) {
		return ""
	}
	return fmt.Sprintf("Of the trials %g fail by chance; of the readings %g are late, %g never told.\n", m.Fail, m.Late, m.Unread)
}

func scaleWords(s lab.Scale) string {
	switch {
	case !s.Any:
		return "Nothing is feasible."
	case s.Kind == lab.Range:
		return fmt.Sprintf("Share is (value − worst)/(best − worst): best feasible reward %.6g, worst %.6g.", s.Best, s.Worst)
	}
	return fmt.Sprintf("Share is the %s to the best feasible reward %.6g.", s.Kind, s.Best)
}

// tableOf writes figures down and labels across, and leaves out figures that no label has.
func (r rehearsing) tableOf(out *bytes.Buffer, figures []lab.Figure, all []contest) {
	fmt.Fprint(out, "| |")
	for _, a := range r.algorithms {
		fmt.Fprintf(out, " %s |", a.label)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(r.algorithms)))
	for _, f := range figures {
		line, any := fmt.Sprintf("| %s |", f.Title), false
		for _, a := range r.algorithms {
			cell := r.cell(f, all, a.label)
			line, any = line+" "+cell+" |", any || cell != nothing
		}
		if any {
			fmt.Fprintln(out, line)
		}
	}
}

// estimates are a figure of a label over problems, and its paired difference from the label that it is compared with.
func (r rehearsing) estimates(f lab.Figure, all []contest, label string) (own, difference lab.Estimate) {
	var each, paired []lab.Estimate
	for _, c := range all {
		mine, theirs := f.Values(c.Problem, c.records[label]), f.Values(c.Problem, c.records[r.against])
		each = append(each, lab.EstimateOf(mine))
		paired = append(paired, lab.Paired(mine, theirs))
	}
	return lab.Over(each), lab.Over(paired)
}

// nothing stands where a figure has no meaning.
const nothing = "–"

func (r rehearsing) cell(f lab.Figure, all []contest, label string) string {
	if f.OwnUnit {
		return r.medianCell(f, all, label)
	}
	own, difference := r.estimates(f, all, label)
	text := estimated(own)
	if label != r.against && finiteOnly(difference.Mean) != nil {
		text += fmt.Sprintf(" (%+.3g%s)", difference.Mean, plusMinus(difference.Error))
	}
	return text
}

// medianCell is a median, since a game that found or recommends nothing feasible has no finite regret, and nothing over problems, whose units differ.
func (r rehearsing) medianCell(f lab.Figure, all []contest, label string) string {
	if len(all) > 1 {
		return nothing
	}
	values := f.Values(all[0].Problem, all[0].records[label])
	e := lab.EstimateOf(values)
	if e.N == 0 {
		return nothing
	}
	text := fmt.Sprintf("median %.3g", e.Median)
	if never := infinite(values); never > 0 {
		text += fmt.Sprintf(", nothing feasible in %d of %d games", never, len(values))
	}
	return text
}

func infinite(values []float64) int {
	count := 0
	for _, v := range values {
		if math.IsInf(v, 0) {
			count++
		}
	}
	return count
}

func estimated(e lab.Estimate) string {
	if e.N == 0 {
		return nothing
	}
	return fmt.Sprintf("%.3g%s", e.Mean, plusMinus(e.Error))
}

// plusMinus is nothing for a single game, which has no error.
func plusMinus(deviation float64) string {
	if math.IsNaN(deviation) {
		return ""
	}
	return fmt.Sprintf(" ± %.2g", deviation)
}

// estimate is an Estimate that JSON can hold.
type estimate struct {
	Mean   *float64 `json:"mean"`
	Error  *float64 `json:"error"`
	Median *float64 `json:"median"`
	N      int      `json:"n"`
}

func jsonOf(e lab.Estimate) estimate {
	return estimate{finiteOnly(e.Mean), finiteOnly(e.Error), finiteOnly(e.Median), e.N}
}

func finiteOnly(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// judged is a figure in report.json: by itself, and against the label compared with.
type judged struct {
	estimate
	Against *estimate `json:"against,omitempty"`
}

func (r rehearsing) rehearsalSummary(all []contest) ([]byte, error) {
	type part struct {
		Scale      string                       `json:"scale,omitempty"`
		Algorithms map[string]map[string]judged `json:"algorithms"`
	}
	out := struct {
		Seeds                     int
		Start, Asks, Batch, Delay int
		Noise                     lab.Noise
		Told                      lab.Told
		Mishaps                   lab.Mishaps
		Against                   string
		Problems                  map[string]part
		Overall                   part
	}{r.seeds, r.base.Start, r.base.Asks, r.base.Batch, r.base.Delay, r.base.Noise, r.base.Told, r.base.Mishaps, r.against, map[string]part{}, part{Algorithms: r.judge(lab.Figures, all)}}
	for _, c := range all {
		out.Problems[c.Name] = part{scaleWords(c.Problem.Scale), r.judge(slices.Concat(lab.Figures, c.Problem.LimitFigures()), []contest{c})}
	}
	content, err := json.MarshalIndent(out, "", "  ")
	return append(content, '\n'), err
}

func (r rehearsing) judge(figures []lab.Figure, all []contest) map[string]map[string]judged {
	out := map[string]map[string]judged{}
	for _, a := range r.algorithms {
		out[a.label] = map[string]judged{}
		for _, f := range figures {
			own, difference := r.estimates(f, all, a.label)
			j := judged{estimate: jsonOf(own)}
			if a.label != r.against {
				d := jsonOf(difference)
				j.Against = &d
			}
			out[a.label][f.Name] = j
		}
	}
	return out
}

// gameRows are the figures of every game.
func (r rehearsing) gameRows(all []contest) [][]string {
	header := []string{"problem", "algorithm", "seed"}
	for _, f := range lab.Figures {
		header = append(header, f.Name)
	}
	rows := [][]string{append(header, "recommendation")}
	for _, c := range all {
		for _, a := range r.algorithms {
			for _, record := range c.records[a.label] {
				row := []string{c.Name, a.label, strconv.FormatUint(record.Seed, 10)}
				for _, f := range lab.Figures {
					row = append(row, number(f.Of(c.Problem, record)))
				}
				rows = append(rows, append(row, string(lab.VerdictOf(c.Problem, record))))
			}
		}
	}
	return rows
}

// askRows are all asks.
func (r rehearsing) askRows(all []contest) [][]string {
	rows := [][]string{{"problem", "algorithm", "seed", "ask", "settings", "feasible", "known", "failed", "objective", "share", "reason"}}
	for _, c := range all {
		for _, a := range r.algorithms {
			for _, record := range c.records[a.label] {
				shares := lab.Shares(c.Problem, record)
				for i, t := range record.Asks {
					settings, _ := json.Marshal(t.Settings) // finite
					share := ""
					if shares != nil {
						share = number(shares[i])
					}
					rows = append(rows, []string{c.Name, a.label, strconv.FormatUint(record.Seed, 10), strconv.Itoa(i + 1), string(settings),
						strconv.FormatBool(t.Feasible), strconv.FormatBool(t.Known), string(t.Failed), number(t.Truth[c.Problem.Study.Objective.Metric]), share, t.Reason})
				}
			}
		}
	}
	return rows
}
