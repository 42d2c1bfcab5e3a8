package lab

import (
	"fmt"
	"math"
	"slices"
)

// Judgement is a rehearsal of the standard set, in one table.
type Judgement struct{ Rehearsal }

// Page is the table.
func (j Judgement) Page() string { return "table.txt" }

// Report has the table, the figures of every game, and every ask.
func (j Judgement) Report(folder string, games []Planned) (map[string][]byte, error) {
	all, err := j.read(folder, games)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"table.txt": j.standardTable(all), "games.csv": csvOf(j.gameRows(all)), "asks.csv": csvOf(j.askRows(all))}, nil
}

// standardColumns are the figures of the table under their headings, some beside each other under
// one.
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

// standardTable has a line a case and label, and the means over the cases below.
func (j Judgement) standardTable(all []playedCase) []byte {
	headings, below := []string{fmt.Sprintf("%d seeds", j.Seeds)}, []string{""}
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
		if without := untoldOf(c, all); without != nil {
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

// standardCells are the figures of a label over cases, and what telling gains in them.
func standardCells(cases, all []playedCase, label string) []string {
	var row []string
	for _, column := range standardColumns {
		cell := nothing
		switch value := figureNamed(column.figure).over(cases, label).Mean; {
		case value == 0:
			cell = "0"
		case !math.IsNaN(value):
			cell = fmt.Sprintf(column.format, value)
		}
		row = append(row, cell)
	}
	return append(row, gainWords(gained(cases, all, label)))
}

// gained is by how much the share of a label is larger where something is told.
func gained(cases, all []playedCase, label string) Estimate {
	share := figureNamed("share")
	return over(cases, func(c playedCase) Estimate {
		untold := untoldOf(c, all)
		if untold == nil {
			return estimateOf(nil)
		}
		return Paired(share.values(c.games[label]), share.values(untold.games[label]))
	})
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

// untoldOf is the same case where nothing is told; nil where it is not played.
func untoldOf(c playedCase, all []playedCase) *playedCase {
	if at := slices.IndexFunc(all, func(other playedCase) bool { return other.Name == c.Untold }); at >= 0 {
		return &all[at]
	}
	return nil
}

func figureNamed(name string) Figure {
	return Figures[slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == name })]
}
