package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"headroom/internal/lists"
	"headroom/internal/view/chart"
)

// Contest is games of several players, who all meet the same in the same seeds, and a report of
// them.
type Contest interface {
	// Games are all games, checked.
	Games() ([]Planned, error)
	// Report returns files by name about the games kept in a folder; page names the one to show.
	Report(folder string, games []Planned) (files map[string][]byte, page string, err error)
}

// Planned is a game to be played and kept.
type Planned struct {
	Case, Label string
	Seed        uint64
	Steps       int // rounds or asks

	key  string // identifies it by everything that decides how it goes
	play func(ctx context.Context, step func()) (any, error)
}

// GamesFolder returns the folder of the games in a contest's folder.
func GamesFolder(folder string) string { return filepath.Join(folder, "games") }

func (p Planned) file(folder string) string { return filepath.Join(GamesFolder(folder), p.key+".json") }

// Kept reports whether the game is finished.
func (p Planned) Kept(folder string) bool {
	_, err := os.Stat(p.file(folder))
	return err == nil
}

// Play plays the game and writes its record. step is called after every round or ask.
func (p Planned) Play(ctx context.Context, folder string, step func()) error {
	record, err := p.play(ctx, step)
	if err != nil {
		return fmt.Errorf("%s on %s, seed %d: %w", p.Label, p.Case, p.Seed, err)
	}
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return Write(p.file(folder), content)
}

// caseAndLabel says on what a game is played, and by whom.
type caseAndLabel struct{ problem, label string }

func recordsOf[Record any](folder string, games []Planned) (map[caseAndLabel][]*Record, error) {
	all := map[caseAndLabel][]*Record{}
	for _, p := range games {
		content, err := os.ReadFile(p.file(folder))
		if err != nil {
			return nil, err
		}
		record := new(Record)
		if err := json.Unmarshal(content, record); err != nil {
			return nil, fmt.Errorf("%s: %w; remove it to play the game again", p.file(folder), err)
		}
		of := caseAndLabel{p.Case, p.Label}
		all[of] = append(all[of], record)
	}
	return all, nil
}

// curve is a label's estimates, step by step.
type curve struct {
	label string
	at    []int
	means []Estimate
}

// panelOf draws curves, over bands of their standard errors where there are several games.
func panelOf(title, x string, curves []curve) chart.Panel {
	cell := chart.Panel{Title: title, X: chart.Axis{Title: x, Whole: true}}
	var lines []chart.Trace
	for i, c := range curves {
		line := chart.Trace{Name: c.label, Style: chart.Series(i)}
		band := line
		for k, e := range c.means {
			line.Add(c.at[k], e.Mean)
			if e.N > 1 {
				band.AddRange(c.at[k], e.Mean-e.Error, e.Mean+e.Error)
			}
		}
		cell.Traces, lines = append(cell.Traces, band), append(lines, line)
	}
	cell.Traces = append(cell.Traces, lines...)
	return cell
}

// Estimate is a mean over games with its standard error, s/√n, and the median. Games in which a
// figure has no meaning (NaN) are left out; N counts the others.
type Estimate struct {
	Mean, Error, Median float64
	N                   int
}

func estimateOf(values []float64) Estimate {
	kept := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	n := len(kept)
	if n == 0 {
		return Estimate{Mean: math.NaN(), Error: math.NaN(), Median: math.NaN()}
	}
	mean, deviation := stat.MeanStdDev(kept, nil)
	slices.Sort(kept)
	return Estimate{mean, stat.StdErr(deviation, float64(n)), (kept[(n-1)/2] + kept[n/2]) / 2, n}
}

// pairedDifference estimates the difference a − b of games played from the same seeds, in the same
// order: the start rows and the noise, which they share, cancel.
func pairedDifference(a, b []float64) Estimate {
	return estimateOf(lists.Of(len(a), func(i int) float64 { return a[i] - b[i] }))
}

// meanOver returns the mean of independent estimates of equal weight, one a problem; its error is
// √(Σ s²) over their number. Problems in which a figure has no meaning are left out.
func meanOver(estimates []Estimate) Estimate {
	kept := slices.DeleteFunc(slices.Clone(estimates), func(e Estimate) bool { return math.IsNaN(e.Mean) })
	var all Estimate
	square, n := 0.0, float64(len(kept))
	for _, e := range kept {
		all.N += e.N
		all.Mean += e.Mean / n
		all.Median += e.Median / n
		square += e.Error * e.Error
	}
	if n == 0 {
		return estimateOf(nil)
	}
	all.Error = math.Sqrt(square) / n
	return all
}

// estimatesByStep returns an estimate for each step of lists of as many steps, one a game.
func estimatesByStep(games [][]float64) []Estimate {
	return lists.Of(len(games[0]), func(t int) Estimate {
		return estimateOf(lists.Map(games, func(steps []float64) float64 { return steps[t] }))
	})
}

// mean returns NaN for no values.
func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

func last(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)-1]
}

// deviation returns the standard deviation of the whole population.
func deviation(of []float64) float64 {
	mean, square := 0.0, 0.0
	for i, v := range of {
		step := v - mean
		mean += step / float64(i+1)
		square += step * (v - mean)
	}
	return math.Sqrt(square / float64(max(1, len(of))))
}
