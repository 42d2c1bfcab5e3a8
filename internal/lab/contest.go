package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"headroom/internal/view/chart"
)

// Contest is games of several players, who all meet the same in the same seeds, and a report of
// them.
type Contest interface {
	// Games are all games, checked.
	Games() ([]Planned, error)
	// Report says what came of the games kept in a folder, in files by name; the one named page is
	// to be shown.
	Report(folder string, games []Planned) (files map[string][]byte, page string, err error)
}

// Planned is a game to be played and kept.
type Planned struct {
	Case, Label string
	Seed        uint64
	Steps       int // rounds or asks

	key  string // names it by everything that decides how it goes
	play func(ctx context.Context, step func()) (any, error)
}

// Games is the folder of the games in a contest's folder.
func Games(folder string) string { return filepath.Join(folder, "games") }

func (p Planned) file(folder string) string { return filepath.Join(Games(folder), p.key+".json") }

// Kept tells whether the game is finished.
func (p Planned) Kept(folder string) bool {
	_, err := os.Stat(p.file(folder))
	return err == nil
}

// Play plays the game and keeps its record. step is called after every round or ask.
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

// who played what.
type who struct{ of, label string }

// recordsOf reads the records of games, in their order.
func recordsOf[Record any](folder string, games []Planned) (map[who][]*Record, error) {
	all := map[who][]*Record{}
	for _, p := range games {
		content, err := os.ReadFile(p.file(folder))
		if err != nil {
			return nil, err
		}
		record := new(Record)
		if err := json.Unmarshal(content, record); err != nil {
			return nil, fmt.Errorf("%s: %w; remove it to play the game again", p.file(folder), err)
		}
		of := who{p.Case, p.Label}
		all[of] = append(all[of], record)
	}
	return all, nil
}

// curve is what a label came to, step by step.
type curve struct {
	label string
	at    []int
	means []Estimate
}

// cellOf draws curves, with bands of their standard errors behind them where there are several
// games.
func cellOf(title, x string, curves []curve) chart.Panel {
	cell := chart.Panel{Title: title, X: chart.Axis{Title: x, Whole: true}}
	var lines []chart.Trace
	for i, c := range curves {
		line := chart.Trace{Name: c.label, Style: chart.Series(i)}
		band := line
		for k, e := range c.means {
			line.X, line.Y = append(line.X, c.at[k]), append(line.Y, e.Mean)
			if e.N > 1 {
				band.X, band.Low, band.High = append(band.X, c.at[k]), append(band.Low, e.Mean-e.Error), append(band.High, e.Mean+e.Error)
			}
		}
		cell.Traces, lines = append(cell.Traces, band), append(lines, line)
	}
	cell.Traces = append(cell.Traces, lines...)
	return cell
}
