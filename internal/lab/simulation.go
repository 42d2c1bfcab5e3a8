package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/view/chart"
)

// Simulation is an experiment as every entrant plays it, each with an algorithm and its settings.
type Simulation struct {
	Experiment
	Entrants []Entrant
	Seeds    int      // 1, 2, …
	Plot     []string // names of quantities, divided by t where they end in /t
}

// of returns the entrant's experiment, with its number of rounds.
func (s Simulation) of(entrant Entrant) Experiment {
	e := s.Experiment
	e.Algorithm, e.Settings, e.Horizon = entrant.Algorithm.Name, entrant.Algorithm.Settings, e.T()
	return e
}

// Games returns the games, checked, seed by seed and label by label. Their keys have the engine,
// but not the build of the program.
func (s Simulation) Games() ([]Planned, error) {
	for _, name := range s.Plot {
		if titleOf(strings.TrimSuffix(name, "/t")) == "" {
			known := lists.Map(Quantities, func(q Quantity) string { return q.Name })
			return nil, fmt.Errorf("%q cannot be plotted; there are %s, each also with /t", name, strings.Join(known, ", "))
		}
		if in, err := s.instance(1); strings.TrimSuffix(name, "/t") == "regret_plus" && err == nil && in.Arms == nil {
			return nil, fmt.Errorf("%q cannot be plotted: a continuous space has no best mixture of arms; -grid makes some", name)
		}
	}
	var all []Planned
	for seed := uint64(1); seed <= uint64(s.Seeds); seed++ {
		for _, entrant := range s.Entrants {
			e := s.of(entrant)
			if seed == 1 {
				if err := e.Check(); err != nil {
					return nil, err
				}
			}
			key, err := digest([]any{optimizer.Engine, e, seed})
			if err != nil {
				return nil, err
			}
			all = append(all, Planned{e.Problem, entrant.Label, seed, e.Horizon, key, func(ctx context.Context, step func()) (any, error) {
				curves, err := e.Play(ctx, seed, step)
				if err != nil {
					return nil, err
				}
				return curves.Thinned(), nil
			}})
		}
	}
	return all, nil
}

// simulatedEntrant has an entrant's finished seeds, and the estimates of each quantity at the
// rounds kept, under its name and, divided by t, under its name with /t.
type simulatedEntrant struct {
	Entrant
	all   []*Curves
	means map[string][]Estimate
}

// estimateQuantities returns means over seeds; a single one has no standard error.
func estimateQuantities(all []*Curves) map[string][]Estimate {
	means := map[string][]Estimate{}
	for _, q := range Quantities {
		sums, averages := make([][]float64, len(all)), make([][]float64, len(all))
		for i, c := range all {
			for k, t := range c.Rounds {
				sums[i] = append(sums[i], c.at(q.Name, k))
				averages[i] = append(averages[i], sums[i][k]/float64(t))
			}
		}
		means[q.Name], means[q.Name+"/t"] = estimatesByStep(sums), estimatesByStep(averages)
	}
	return means
}

// Report returns every seed at the rounds kept, means over the seeds at some of them and after the
// last, and a figure. Its page is a table of the last round's figures.
func (s Simulation) Report(folder string, games []Planned) (files map[string][]byte, page string, err error) {
	records, err := recordsOf[Curves](folder, games)
	if err != nil {
		return nil, "", err
	}
	var all []simulatedEntrant
	for _, e := range s.Entrants {
		curves := records[caseAndLabel{s.Problem, e.Label}]
		all = append(all, simulatedEntrant{e, curves, estimateQuantities(curves)})
	}
	files = map[string][]byte{"runs.csv": csvOf(runRows(all)), "summary.csv": csvOf(summaryRows(all)), "summary.txt": s.finalTable(all), "figure.svg": s.figure(all)}
	files["summary.json"], err = indented(s.summaries(all))
	return files, "summary.txt", err
}

func runRows(all []simulatedEntrant) [][]string {
	names := lists.Map(Quantities, func(q Quantity) string { return q.Name })
	rows := [][]string{slices.Concat([]string{"algorithm", "seed", "round"}, names, []string{"point"})}
	exact := func(v float64) string { return formatNumber(v, 8) }
	for _, e := range all {
		for _, c := range e.all {
			for i, t := range c.Rounds {
				place := []string{e.Label, strconv.FormatUint(c.Seed, 10), strconv.Itoa(t)}
				values := lists.Map(names, func(name string) string { return exact(c.at(name, i)) })
				point := strings.Join(lists.Map(c.Points[i], exact), " ")
				rows = append(rows, slices.Concat(place, values, []string{point}))
			}
		}
	}
	return rows
}

// summaryEvery is the spacing, among the rounds kept, of those in the summary.
const summaryEvery = 4

func summaryRows(all []simulatedEntrant) [][]string {
	brief := func(v float64) string { return formatNumber(v, 5) }
	header := []string{"algorithm", "round", "seeds"}
	for _, q := range Quantities {
		header = append(header, q.Name, q.Name+"_se")
	}
	rows := [][]string{header}
	for _, e := range all {
		rounds := e.all[0].Rounds
		for i, t := range rounds {
			if i%summaryEvery != 0 && i != len(rounds)-1 {
				continue
			}
			row := []string{e.Label, strconv.Itoa(t), strconv.Itoa(len(e.all))}
			for _, q := range Quantities {
				row = append(row, brief(e.means[q.Name][i].Mean), brief(e.means[q.Name][i].Error))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// simulationSummary is what was played, and its figures after the last round.
type simulationSummary struct {
	Experiment  Experiment                     `json:"experiment"`
	Seeds       int                            `json:"seeds"`
	MeanOptimum float64                        `json:"mean_optimum"`
	Final       map[string]map[string]*float64 `json:"final"`
}

func (s Simulation) summaries(all []simulatedEntrant) map[string]simulationSummary {
	out := map[string]simulationSummary{}
	for _, e := range all {
		one := simulationSummary{s.of(e.Entrant), len(e.all), 0, map[string]map[string]*float64{}}
		for _, c := range e.all {
			one.MeanOptimum += c.Optimum / float64(len(e.all))
		}
		for _, q := range append(slices.Clone(Quantities), Quantity{Name: "regret/t"}, Quantity{Name: "regret_plus/t"}) {
			last := e.atEnd(q.Name)
			if last.N == 0 {
				continue
			}
			one.Final[q.Name] = map[string]*float64{"mean": &last.Mean, "standard_error": design.FiniteOrNil(last.Error)}
		}
		out[e.Label] = one
	}
	return out
}

func (e simulatedEntrant) atEnd(name string) Estimate { return e.means[name][len(e.means[name])-1] }

func (s Simulation) figure(all []simulatedEntrant) []byte {
	var cells []chart.Panel
	for _, name := range s.Plot {
		quantity, averaged := strings.CutSuffix(name, "/t")
		title := titleOf(quantity)
		if averaged {
			title += " / t"
		}
		curves := lists.Map(all, func(e simulatedEntrant) curve { return curve{e.Label, e.all[0].Rounds, e.means[name]} })
		cells = append(cells, panelOf(title, "round t", curves))
	}
	return chart.Figure(fmt.Sprintf("%s, %d rounds, %s", s.Problem, s.T(), design.Count(s.Seeds, "seed", "seeds")), cells)
}

// titleOf returns the title of a quantity, "" if there is none of that name.
func titleOf(name string) string {
	found, _ := lists.Find(Quantities, func(q Quantity) bool { return q.Name == name })
	return found.Title
}

func (s Simulation) finalTable(all []simulatedEntrant) []byte {
	rows := [][]string{{fmt.Sprintf("%s, T = %d, %s", s.Problem, s.T(), design.Count(s.Seeds, "seed", "seeds")), "regret/t", "R₊/t", "hard", "soft", "sum of g", "rounds in violation"}}
	for _, e := range all {
		row := []string{e.Label}
		for _, name := range []string{"regret/t", "regret_plus/t", "hard", "soft", "balance", "violated"} {
			cell := noValue // a space that is continuous has no mixture of arms
			if last := e.atEnd(name); last.N > 0 {
				cell = fmt.Sprintf("%.4g%s", last.Mean, plusMinus(last.Error))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return aligned(2, rows)
}

// Algorithms lists what can be played: every algorithm of a study, and the opponents that only the
// simulator plays.
func Algorithms() []string {
	return append(policy.Names(), slices.Sorted(maps.Keys(opponents))...)
}

// Check reports what is wrong with an experiment.
func (e Experiment) Check() error {
	in, err := e.instance(1)
	if err != nil {
		return err
	}
	if !slices.Contains(Algorithms(), e.Algorithm) {
		return fmt.Errorf("there is no algorithm %q; there are %s", e.Algorithm, strings.Join(Algorithms(), ", "))
	}
	_, err = e.player(newRounds(in, 1), 1)
	return err
}

// Play plays the experiment once. The seed decides the problem, the noise, the delays and the
// algorithm's draws, so that algorithms played with the same seed meet the same problem, noise and
// delays. progress, if not nil, is called after every round.
func (e Experiment) Play(ctx context.Context, seed uint64, progress func()) (*Curves, error) {
	in, err := e.instance(seed)
	if err != nil {
		return nil, err
	}
	w := newRounds(in, seed)
	if err := w.findBestMixtures(); err != nil {
		return nil, err
	}
	p, err := e.player(w, seed)
	if err != nil {
		return nil, err
	}
	if _, err := play(ctx, w, p, e.T(), 1, progress); err != nil {
		return nil, fmt.Errorf("round %d: %w", len(w.curves.Rounds)+1, err)
	}
	w.curves.Optimum = in.Optimum(e.T()).Value
	return w.curves, nil
}

func (e Experiment) player(w *roundsWorld, seed uint64) (player[decision], error) {
	if opponent, ok := opponents[e.Algorithm]; ok {
		settings, err := opponent.check(e, w.in)
		if err != nil {
			return nil, err
		}
		return opponent.make(e, w.in, seed, settings)
	}
	cfg, err := e.config(w.in, seed)
	if err != nil {
		return nil, err
	}
	state, err := optimizer.Replay(context.Background(), cfg, &optimizer.History{})
	return &engine{world: w, state: state, metrics: lists.Map(cfg.Metrics, func(m optimizer.Metric) string { return m.Name })}, err
}
