package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"headroom/internal/figure"
	"headroom/internal/lab"
)

// played is a label with its finished seeds.
type played struct {
	labelled
	records []*lab.Curves
}

// report writes the tables and the figure, and prints the last round's figures.
func (s simulation) report(f *folder) error {
	var all []played
	for _, l := range s.algorithms {
		records, err := f.read(l.label, s.seeds)
		if err != nil {
			return err
		}
		all = append(all, played{l, records})
	}
	drawn := s.figure(all)
	vectors, err := drawn.SVG()
	if err != nil {
		return err
	}
	image, err := drawn.PNG()
	if err != nil {
		return err
	}
	summary, err := s.summary(all)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"runs.csv": table(runRows(all)), "summary.csv": table(summaryRows(all)),
		"summary.json": summary, "summary.txt": s.final(all), "figure.svg": vectors, "figure.png": image} {
		if err := replace(f.file(name), content); err != nil {
			return err
		}
	}
	_, err = fmt.Printf("%swritten to %s\n", s.final(all), s.folder)
	return err
}

func table(rows [][]string) []byte {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(rows) // a buffer never fails
	return out.Bytes()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// runRows are the rounds kept of every seed.
func runRows(all []played) [][]string {
	header := []string{"algorithm", "seed", "round"}
	for _, q := range lab.Quantities {
		header = append(header, q.Name)
	}
	rows := [][]string{append(header, "point")}
	for _, p := range all {
		for _, r := range p.records {
			for i, t := range r.Rounds {
				row := []string{p.label, strconv.FormatUint(r.Seed, 10), strconv.Itoa(t)}
				for _, q := range lab.Quantities {
					row = append(row, number(r.Values[q.Name][i]))
				}
				var point []string
				for _, x := range r.Points[i] {
					point = append(point, number(x))
				}
				rows = append(rows, append(row, strings.Join(point, " ")))
			}
		}
	}
	return rows
}

// summaryEvery leaves out of the summary most of the rounds that the runs keep.
const summaryEvery = 4

func brief(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// summaryRows are means and standard errors over seeds.
func summaryRows(all []played) [][]string {
	header := []string{"algorithm", "round", "seeds"}
	for _, q := range lab.Quantities {
		header = append(header, q.Name, q.Name+"_se")
	}
	rows := [][]string{header}
	for _, p := range all {
		var series []lab.Series
		for _, q := range lab.Quantities {
			series = append(series, lab.Summarise(p.records, q.Name, false))
		}
		rounds := p.records[0].Rounds
		for i, t := range rounds {
			if i%summaryEvery != 0 && i != len(rounds)-1 {
				continue
			}
			row := []string{p.label, strconv.Itoa(t), strconv.Itoa(len(p.records))}
			for _, s := range series {
				row = append(row, brief(s.Mean[i]), brief(s.Error[i]))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// outcome is a mean with its standard error after the last round.
type outcome struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"standard_error"`
}

func finalOf(p played, quantity string, averaged bool) outcome {
	s := lab.Summarise(p.records, quantity, averaged)
	return outcome{s.Mean[len(s.Mean)-1], s.Error[len(s.Error)-1]}
}

// summary is the plan and the last round's figures.
func (s simulation) summary(all []played) ([]byte, error) {
	type entry struct {
		Experiment  json.RawMessage    `json:"experiment"`
		Seeds       int                `json:"seeds"`
		MeanOptimum float64            `json:"mean_optimum"`
		Final       map[string]outcome `json:"final"`
	}
	out := map[string]entry{}
	for _, p := range all {
		plan, err := describe(p.experiment)
		if err != nil {
			return nil, err
		}
		e := entry{plan, len(p.records), 0, map[string]outcome{"regret/t": finalOf(p, "regret", true)}}
		for _, r := range p.records {
			e.MeanOptimum += r.Optimum / float64(len(p.records))
		}
		for _, q := range lab.Quantities {
			e.Final[q.Name] = finalOf(p, q.Name, false)
		}
		out[p.label] = e
	}
	content, err := json.MarshalIndent(out, "", "  ")
	return append(content, '\n'), err
}

func (s simulation) figure(all []played) figure.Figure {
	f := figure.Figure{Title: fmt.Sprintf("%s, %d rounds, %d seeds", s.base.Problem, s.base.T(), s.seeds)}
	for _, name := range s.plot {
		quantity, averaged := strings.CutSuffix(name, "/t")
		panel := figure.Panel{X: "round t", Y: title(quantity)}
		if averaged {
			panel.Y += " / t"
		}
		for _, p := range all {
			series := lab.Summarise(p.records, quantity, averaged)
			line := figure.Line{Name: p.label, Y: series.Mean}
			if s.seeds > 1 {
				line.Band = series.Error
			}
			for _, t := range p.records[0].Rounds {
				line.X = append(line.X, float64(t))
			}
			panel.Lines = append(panel.Lines, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

func title(quantity string) string {
	for _, q := range lab.Quantities {
		if q.Name == quantity {
			return q.Title
		}
	}
	return quantity
}

// final is a table of the last round's figures, mean ± standard error.
func (s simulation) final(all []played) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s, T = %d, %d seeds\tregret/t\thard\tsoft\tsum of g\trounds in violation\t\n", s.base.Problem, s.base.T(), s.seeds)
	for _, p := range all {
		fmt.Fprintf(w, "%s\t", p.label)
		for _, q := range []string{"regret", "hard", "soft", "balance", "violated"} {
			f := finalOf(p, q, q == "regret")
			fmt.Fprintf(w, "%.4g ± %.2g\t", f.Mean, f.Error)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a buffer never fails
	return out.Bytes()
}
