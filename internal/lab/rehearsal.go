package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/figure"
	"headroom/internal/study/design"
)

// Rehearsal is cases, each as every entrant plays it from the same seeds.
type Rehearsal struct {
	Cases    []Case
	Entrants []Entrant
	Base     Game // what all cases of a report have in common
	Seeds    int
	First    uint64 // seed
	Against  string // the label that the others are compared with
	Program  string // names the build, so that what another one played is not taken for its own; "" for any
}

// Entrant plays under the label that reports use.
type Entrant struct {
	Label     string
	Algorithm design.Algorithm
	Model     design.Model
	Outside   *Outside // plays instead, where there is one
}

// Games are checked, seed by seed, case by case, label by label.
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

// Page is the report in Markdown.
func (r Rehearsal) Page() string { return "report.md" }

// contest is one case as every entrant played it.
type contest struct {
	Case
	records map[string][]*Record // by label, in the order of the seeds
}

func (r Rehearsal) read(folder string, games []Planned) ([]contest, error) {
	records, err := kept[Record](folder, games)
	var all []contest
	for _, c := range r.Cases {
		one := contest{c, map[string][]*Record{}}
		for _, e := range r.Entrants {
			one.records[e.Label] = records[who{c.Name, e.Label}]
		}
		all = append(all, one)
	}
	return all, err
}

// Report has the figures of all problems and of each, those of every game, and every ask.
func (r Rehearsal) Report(folder string, games []Planned) (map[string][]byte, error) {
	all, err := r.read(folder, games)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{"report.md": r.page(all), "games.csv": table(r.gameRows(all)), "asks.csv": table(r.askRows(all))}
	if shares := r.sharesFigure(all); len(shares.Panels) > 0 {
		if out["figure.svg"], err = shares.SVG(); err != nil {
			return nil, err
		}
	}
	out["report.json"], err = r.summary(all)
	return out, err
}

// sharesFigure draws, for each problem where anything is feasible, the share of the best feasible value found after each ask: mean and standard error
// over the seeds.
func (r Rehearsal) sharesFigure(all []contest) figure.Figure {
	f := figure.Figure{Title: "share of the best feasible value found"}
	for _, c := range all {
		if !c.Problem.Scale.Any {
			continue
		}
		panel := figure.Panel{X: "asks", Y: c.Name}
		for _, e := range r.Entrants {
			var games [][]float64
			var asks []int
			for _, record := range c.records[e.Label] {
				games = append(games, Shares(c.Problem, record))
			}
			for i := range games[0] {
				asks = append(asks, i+1)
			}
			panel.Lines = append(panel.Lines, lineOf(e.Label, asks, along(games)))
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// page is the report in Markdown.
func (r Rehearsal) page(all []contest) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Rehearsal\n\n%d seeds from %d, %d rows at the start, %d asks, %d at once, told after %d further requests, noise %s %g, standard deviations told: %s.\n%sMean ± standard error over the seeds; settings are judged by their truth.\n",
		r.Seeds, r.First, r.Base.Start, r.Base.Asks, r.Base.Batch, r.Base.Delay, r.Base.Noise.Kind, r.Base.Noise.Size, r.Base.Told, mishapWords(r.Base.Mishaps))
	for _, a := range r.Entrants {
		if a.Outside != nil {
			fmt.Fprintf(&out, "\n%s: %s.\n", a.Label, a.Outside.Name)
		}
	}
	for _, c := range all {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", c.Name, scaleWords(c.Problem.Scale))
		r.tableOf(&out, slices.Concat(Figures, c.Problem.LimitFigures()), []contest{c})
	}
	if len(all) > 1 {
		fmt.Fprintf(&out, "\n## All %d problems\n\nMeans over the problems, each of the same weight.\n\n", len(all))
		r.tableOf(&out, Figures, all)
	}
	return out.Bytes()
}

func mishapWords(m Mishaps) string {
	if m == (Mishaps{}) {
		return ""
	}
	return fmt.Sprintf("Of the trials %g fail by chance; of the readings %g are late, %g never told.\n", m.Fail, m.Late, m.Unread)
}

func scaleWords(s Scale) string {
	switch {
	case !s.Any:
		return "Nothing is feasible."
	case s.Kind == Range:
		return fmt.Sprintf("Share is (value − worst)/(best − worst): best feasible reward %.6g, worst %.6g.", s.Best, s.Worst)
	}
	return fmt.Sprintf("Share is the %s to the best feasible reward %.6g.", s.Kind, s.Best)
}

// tableOf writes figures down and labels across, and leaves out figures that no label has.
func (r Rehearsal) tableOf(out *bytes.Buffer, figures []Figure, all []contest) {
	fmt.Fprint(out, "| |")
	for _, a := range r.Entrants {
		fmt.Fprintf(out, " %s |", a.Label)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(r.Entrants)))
	for _, f := range figures {
		line, any := fmt.Sprintf("| %s |", f.Title), false
		for _, a := range r.Entrants {
			cell := r.cell(f, all, a.Label)
			line, any = line+" "+cell+" |", any || cell != nothing
		}
		if any {
			fmt.Fprintln(out, line)
		}
	}
}

// estimates are a figure of a label over problems, and its paired difference from the label that it is compared with.
func (r Rehearsal) estimates(f Figure, all []contest, label string) (own, difference Estimate) {
	var each, paired []Estimate
	for _, c := range all {
		mine, theirs := f.Values(c.Problem, c.records[label]), f.Values(c.Problem, c.records[r.Against])
		each = append(each, EstimateOf(mine))
		paired = append(paired, Paired(mine, theirs))
	}
	return Over(each), Over(paired)
}

// nothing stands where a figure has no meaning.
const nothing = "–"

func (r Rehearsal) cell(f Figure, all []contest, label string) string {
	if f.OwnUnit {
		return r.medianCell(f, all, label)
	}
	own, difference := r.estimates(f, all, label)
	text := estimated(own)
	if label != r.Against && finiteOnly(difference.Mean) != nil {
		text += fmt.Sprintf(" (%+.3g%s)", difference.Mean, plusMinus(difference.Error))
	}
	return text
}

// medianCell is a median, since a game that found or recommends nothing feasible has no finite regret, and nothing over problems, whose units differ.
func (r Rehearsal) medianCell(f Figure, all []contest, label string) string {
	if len(all) > 1 {
		return nothing
	}
	values := f.Values(all[0].Problem, all[0].records[label])
	e := EstimateOf(values)
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

func estimated(e Estimate) string {
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

func jsonOf(e Estimate) estimate {
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

func (r Rehearsal) summary(all []contest) ([]byte, error) {
	type part struct {
		Scale      string                       `json:"scale,omitempty"`
		Algorithms map[string]map[string]judged `json:"algorithms"`
	}
	out := struct {
		Seeds                     int
		Start, Asks, Batch, Delay int
		Noise                     Noise
		Told                      Told
		Mishaps                   Mishaps
		Against                   string
		Problems                  map[string]part
		Overall                   part
	}{r.Seeds, r.Base.Start, r.Base.Asks, r.Base.Batch, r.Base.Delay, r.Base.Noise, r.Base.Told, r.Base.Mishaps, r.Against, map[string]part{}, part{Algorithms: r.judge(Figures, all)}}
	for _, c := range all {
		out.Problems[c.Name] = part{scaleWords(c.Problem.Scale), r.judge(slices.Concat(Figures, c.Problem.LimitFigures()), []contest{c})}
	}
	return indented(out)
}

func (r Rehearsal) judge(figures []Figure, all []contest) map[string]map[string]judged {
	out := map[string]map[string]judged{}
	for _, a := range r.Entrants {
		out[a.Label] = map[string]judged{}
		for _, f := range figures {
			own, difference := r.estimates(f, all, a.Label)
			j := judged{estimate: jsonOf(own)}
			if a.Label != r.Against {
				d := jsonOf(difference)
				j.Against = &d
			}
			out[a.Label][f.Name] = j
		}
	}
	return out
}

// gameRows are the figures of every game.
func (r Rehearsal) gameRows(all []contest) [][]string {
	header := []string{"problem", "algorithm", "seed"}
	for _, f := range Figures {
		header = append(header, f.Name)
	}
	rows := [][]string{append(header, "recommendation")}
	for _, c := range all {
		for _, a := range r.Entrants {
			for _, record := range c.records[a.Label] {
				row := []string{c.Name, a.Label, strconv.FormatUint(record.Seed, 10)}
				for _, f := range Figures {
					row = append(row, number(f.Of(c.Problem, record)))
				}
				rows = append(rows, append(row, string(VerdictOf(c.Problem, record))))
			}
		}
	}
	return rows
}

// askRows are all asks.
func (r Rehearsal) askRows(all []contest) [][]string {
	rows := [][]string{{"problem", "algorithm", "seed", "ask", "settings", "feasible", "known", "failed", "objective", "share", "reason"}}
	for _, c := range all {
		for _, a := range r.Entrants {
			for _, record := range c.records[a.Label] {
				shares := Shares(c.Problem, record)
				for i, t := range record.Asks {
					settings, _ := json.Marshal(t.Settings) // finite
					share := ""
					if shares != nil {
						share = number(shares[i])
					}
					rows = append(rows, []string{c.Name, a.Label, strconv.FormatUint(record.Seed, 10), strconv.Itoa(i + 1), string(settings),
						strconv.FormatBool(t.Feasible), strconv.FormatBool(t.Known), string(t.Failed), number(t.Truth[c.Problem.Study.Objective.Metric]), share, t.Reason})
				}
			}
		}
	}
	return rows
}
