package lab

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
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
	return map[string][]byte{"table.txt": j.standardTable(all), "games.csv": table(j.gameRows(all)), "asks.csv": table(j.askRows(all))}, nil
}

// standardColumn is a column of the table: figures beside each other under one heading.
type standardColumn struct {
	heading string
	figures []string
	below   []string // a heading for each
	format  string
}

var standardColumns = []standardColumn{
	{"share", []string{"share"}, nil, "%6.3f"},
	{"in 2%", []string{"in2"}, nil, "%6.2f"},
	{"asks", []string{"to2"}, nil, "%5.1f"},
	{"outside", []string{"infeasible", "seeking"}, []string{"all", "till"}, "%5.1f"},
	{"excess", []string{"excesses"}, nil, "%7.2f"},
	{"repeats", []string{"repeats", "rereading"}, []string{"all", "till"}, "%5.1f"},
	{"failed", []string{"failed", "again"}, []string{"all", "same"}, "%5.1f"},
	{"kept at", []string{"kept12", "kept24", "kept"}, []string{"12", "24", "end"}, "%5.2f"},
	{"wrong", []string{"wrong"}, nil, "%6.2f"},
	{"held", []string{"held"}, nil, "%5.2f"},
	{"little left", []string{"enough", "mistaken"}, []string{"said", "wrong"}, "%6.2f"},
}

// standardTable has a line a case and label, and the means over the cases below.
func (j Judgement) standardTable(all []contest) []byte {
	told := slices.DeleteFunc(slices.Clone(all), func(c contest) bool { return untoldOf(c, all) == nil })
	var untold []contest
	for _, c := range told {
		untold = append(untold, *untoldOf(c, all))
	}
	type line struct {
		name, label string
		cases       []contest
	}
	var lines []line
	width := 0
	add := func(name, label string, cases []contest) {
		if len(j.Entrants) > 1 {
			name += ", " + label
		}
		lines = append(lines, line{name, label, cases})
	}
	for _, c := range all {
		for _, e := range j.Entrants {
			add(c.Name, e.Label, []contest{c})
			width = max(width, len(lines[len(lines)-1].name))
		}
	}
	for _, e := range j.Entrants {
		for i, cases := range [][]contest{all, untold, told} {
			if len(cases) > 1 {
				add(fmt.Sprintf("%s (%d)", []string{"all", "not told", "told"}[i], len(cases)), e.Label, cases)
			}
		}
	}
	var out, below bytes.Buffer
	fmt.Fprintf(&out, "%-*s", width, fmt.Sprintf("%d seeds", j.Seeds))
	fmt.Fprintf(&below, "%-*s", width, "")
	for _, c := range standardColumns {
		each := len(fmt.Sprintf(c.format, 0.))
		fmt.Fprintf(&out, "%*s", each*len(c.figures), c.heading)
		for i := range c.figures {
			fmt.Fprintf(&below, "%*s", each, append(c.below, "")[min(i, len(c.below))])
		}
	}
	fmt.Fprintf(&out, "%15s\n%s\n", "told gains", strings.TrimRight(below.String(), " "))
	for _, l := range lines {
		fmt.Fprintf(&out, "%-*s%s\n", width, l.name, standardCells(l.cases, all, l.label))
	}
	return out.Bytes()
}

// standardCells are the figures of a label over cases, and what telling gains in them.
func standardCells(cases, all []contest, label string) string {
	var line strings.Builder
	for _, column := range standardColumns {
		for _, name := range column.figures {
			var each []Estimate
			for _, c := range cases {
				each = append(each, estimateOf(figureNamed(name).values(c.games[label])))
			}
			value := Over(each).Mean
			text := fmt.Sprintf(column.format, value)
			switch {
			case math.IsNaN(value):
				text = fmt.Sprintf("%*s", len(text), nothing)
			case value == 0:
				text = fmt.Sprintf("%*d", len(text), 0)
			}
			line.WriteString(text)
		}
	}
	var gains []Estimate
	for _, c := range cases {
		if untold := untoldOf(c, all); untold != nil {
			share := figureNamed("share")
			gains = append(gains, Paired(share.values(c.games[label]), share.values(untold.games[label])))
		}
	}
	if gain := Over(gains); gain.N > 0 {
		fmt.Fprintf(&line, " %+.3f", gain.Mean)
		if !math.IsNaN(gain.Error) {
			fmt.Fprintf(&line, " ± %.3f", gain.Error)
		}
	}
	return line.String()
}

// untoldOf is the same case where nothing is told; nil where it is not played.
func untoldOf(c contest, all []contest) *contest {
	if at := slices.IndexFunc(all, func(other contest) bool { return other.Name == c.Untold }); at >= 0 {
		return &all[at]
	}
	return nil
}

func figureNamed(name string) Figure {
	return Figures[slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == name })]
}
