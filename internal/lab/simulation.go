package lab

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"headroom/internal/figure"
)

// Simulation is experiments on one problem, of as many rounds each.
type Simulation struct {
	Entries []Entry
	Seeds   int      // 1, 2, …
	Plot    []string // names of quantities, divided by t where they end in /t
}

// Entry is an experiment under the name that tables and figures use.
type Entry struct {
	Label string
	Experiment
}

// Games are checked, seed by seed, label by label. The build of the program is not in their names.
func (s Simulation) Games() ([]Planned, error) {
	for _, name := range s.Plot {
		if titled(strings.TrimSuffix(name, "/t")) == "" {
			var known []string
			for _, q := range Quantities {
				known = append(known, q.Name)
			}
			return nil, fmt.Errorf("%q cannot be plotted; there are %s, each also with /t", name, strings.Join(known, ", "))
		}
	}
	var all []Planned
	for seed := uint64(1); seed <= uint64(s.Seeds); seed++ {
		for _, e := range s.Entries {
			if seed == 1 {
				if err := e.Check(); err != nil {
					return nil, err
				}
			}
			key, err := digest([]any{e.spelled(), seed})
			if err != nil {
				return nil, err
			}
			all = append(all, Planned{e.Problem, e.Label, seed, e.T(), key, func(ctx context.Context, step func()) (any, error) {
				curves, err := e.Play(ctx, seed, step)
				if err != nil {
					return nil, err
				}
				return curves.Few(), nil
			}})
		}
	}
	return all, nil
}

// Page is a table of the last round's figures.
func (s Simulation) Page() string { return "summary.txt" }

// Report has every seed at the rounds kept, means over the seeds at some of these and after the last, and a figure.
func (s Simulation) Report(folder string, games []Planned) (map[string][]byte, error) {
	all, err := kept[Curves](folder, games)
	if err != nil {
		return nil, err
	}
	played := func(e Entry) []*Curves { return all[who{e.Problem, e.Label}] }
	drawn := s.figure(played)
	out := map[string][]byte{"runs.csv": table(s.runRows(played)), "summary.csv": table(s.summaryRows(played)), "summary.txt": s.final(played)}
	if out["summary.json"], err = s.summary(played); err != nil {
		return nil, err
	}
	if out["figure.svg"], err = drawn.SVG(); err != nil {
		return nil, err
	}
	out["figure.png"], err = drawn.PNG()
	return out, err
}

// along estimates a quantity round by round, divided by t where its name ends in /t. A single seed has a standard error of 0.
func (q Quantity) along(all []*Curves, averaged bool) []Estimate {
	games := make([][]float64, len(all))
	for i, c := range all {
		games[i] = slices.Clone(c.Values[q.Name])
		for k, t := range c.Rounds {
			if averaged {
				games[i][k] /= float64(t)
			}
		}
	}
	list := along(games)
	for i := range list {
		if list[i].N < 2 {
			list[i].Error = 0
		}
	}
	return list
}

// titled is the title of a quantity, "" where there is none of that name.
func titled(name string) string {
	for _, q := range Quantities {
		if q.Name == name {
			return q.Title
		}
	}
	return ""
}

// runRows are the rounds kept of every seed.
func (s Simulation) runRows(played func(Entry) []*Curves) [][]string {
	header := []string{"algorithm", "seed", "round"}
	for _, q := range Quantities {
		header = append(header, q.Name)
	}
	rows := [][]string{append(header, "point")}
	for _, e := range s.Entries {
		for _, c := range played(e) {
			for i, t := range c.Rounds {
				row := []string{e.Label, strconv.FormatUint(c.Seed, 10), strconv.Itoa(t)}
				for _, q := range Quantities {
					row = append(row, number(c.Values[q.Name][i]))
				}
				var point []string
				for _, x := range c.Points[i] {
					point = append(point, number(x))
				}
				rows = append(rows, append(row, strings.Join(point, " ")))
			}
		}
	}
	return rows
}

// summaryEvery leaves out of the summary most of the rounds that are kept.
const summaryEvery = 4

// summaryRows are means and standard errors over seeds.
func (s Simulation) summaryRows(played func(Entry) []*Curves) [][]string {
	brief := func(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
	header := []string{"algorithm", "round", "seeds"}
	for _, q := range Quantities {
		header = append(header, q.Name, q.Name+"_se")
	}
	rows := [][]string{header}
	for _, e := range s.Entries {
		all := played(e)
		var columns [][]Estimate
		for _, q := range Quantities {
			columns = append(columns, q.along(all, false))
		}
		for i, t := range all[0].Rounds {
			if i%summaryEvery != 0 && i != len(all[0].Rounds)-1 {
				continue
			}
			row := []string{e.Label, strconv.Itoa(t), strconv.Itoa(len(all))}
			for _, column := range columns {
				row = append(row, brief(column[i].Mean), brief(column[i].Error))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// atEnd is a quantity after the last round.
func (q Quantity) atEnd(all []*Curves, averaged bool) Estimate {
	list := q.along(all, averaged)
	return list[len(list)-1]
}

// summary is what was played, and the last round's figures.
func (s Simulation) summary(played func(Entry) []*Curves) ([]byte, error) {
	type estimate struct {
		Mean  float64 `json:"mean"`
		Error float64 `json:"standard_error"`
	}
	type entry struct {
		Experiment  Experiment          `json:"experiment"`
		Seeds       int                 `json:"seeds"`
		MeanOptimum float64             `json:"mean_optimum"`
		Final       map[string]estimate `json:"final"`
	}
	out := map[string]entry{}
	for _, e := range s.Entries {
		all := played(e)
		one := entry{e.spelled(), len(all), 0, map[string]estimate{}}
		for _, c := range all {
			one.MeanOptimum += c.Optimum / float64(len(all))
		}
		for _, q := range Quantities {
			end := q.atEnd(all, false)
			one.Final[q.Name] = estimate{end.Mean, end.Error}
		}
		end := Quantities[0].atEnd(all, true)
		one.Final["regret/t"] = estimate{end.Mean, end.Error}
		out[e.Label] = one
	}
	return indented(out)
}

func (s Simulation) figure(played func(Entry) []*Curves) figure.Figure {
	first := s.Entries[0]
	f := figure.Figure{Title: fmt.Sprintf("%s, %d rounds, %d seeds", first.Problem, first.T(), s.Seeds)}
	for _, name := range s.Plot {
		quantity, averaged := strings.CutSuffix(name, "/t")
		panel := figure.Panel{X: "round t", Y: titled(quantity)}
		if averaged {
			panel.Y += " / t"
		}
		for _, e := range s.Entries {
			panel.Lines = append(panel.Lines, lineOf(e.Label, played(e)[0].Rounds, Quantity{Name: quantity}.along(played(e), averaged)))
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// final is a table of the last round's figures, mean ± standard error.
func (s Simulation) final(played func(Entry) []*Curves) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	first := s.Entries[0]
	fmt.Fprintf(w, "%s, T = %d, %d seeds\tregret/t\thard\tsoft\tsum of g\trounds in violation\t\n", first.Problem, first.T(), s.Seeds)
	for _, e := range s.Entries {
		fmt.Fprintf(w, "%s\t", e.Label)
		for _, name := range []string{"regret", "hard", "soft", "balance", "violated"} {
			last := Quantity{Name: name}.atEnd(played(e), name == "regret")
			fmt.Fprintf(w, "%.4g ± %.2g\t", last.Mean, last.Error)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a buffer never fails
	return out.Bytes()
}
