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
	var out bytes.Buffer
	name := 0
	for _, c := range all {
		for _, a := range j.Entrants {
			name = max(name, len(j.lineName(c.Name, a.Label)))
		}
	}
	j.standardHeadings(&out, name)
	for _, c := range all {
		for _, a := range j.Entrants {
			j.standardLine(&out, name, j.lineName(c.Name, a.Label), a.Label, []contest{c}, all)
		}
	}
	told := slices.DeleteFunc(slices.Clone(all), func(c contest) bool { return untoldOf(c, all) == nil })
	var untold []contest
	for _, c := range told {
		untold = append(untold, *untoldOf(c, all))
	}
	for _, a := range j.Entrants {
		for _, group := range []struct {
			name  string
			cases []contest
		}{{"all", all}, {"not told", untold}, {"told", told}} {
			if len(group.cases) > 1 {
				j.standardLine(&out, name, j.lineName(fmt.Sprintf("%s (%d)", group.name, len(group.cases)), a.Label), a.Label, group.cases, all)
			}
		}
	}
	return out.Bytes()
}

// lineName names the label only where there are several.
func (j Judgement) lineName(name, label string) string {
	if len(j.Entrants) > 1 {
		return name + ", " + label
	}
	return name
}

func (j Judgement) standardHeadings(out *bytes.Buffer, name int) {
	var below bytes.Buffer
	fmt.Fprintf(out, "%-*s", name, fmt.Sprintf("%d seeds", j.Seeds))
	fmt.Fprintf(&below, "%-*s", name, "")
	for _, c := range standardColumns {
		each := len(fmt.Sprintf(c.format, 0.))
		fmt.Fprintf(out, "%*s", each*len(c.figures), c.heading)
		for i := range c.figures {
			var heading string
			if c.below != nil {
				heading = c.below[i]
			}
			fmt.Fprintf(&below, "%*s", each, heading)
		}
	}
	fmt.Fprintf(out, "%15s\n%s\n", "told gains", strings.TrimRight(below.String(), " "))
}

func (j Judgement) standardLine(out *bytes.Buffer, width int, name, label string, cases, all []contest) {
	var line bytes.Buffer
	fmt.Fprintf(&line, "%-*s", width, name)
	for _, column := range standardColumns {
		for _, figure := range column.figures {
			var each []Estimate
			for _, c := range cases {
				each = append(each, EstimateOf(figureNamed(figure).Values(c.Problem, c.records[label])))
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
			gains = append(gains, Paired(share.Values(c.Problem, c.records[label]), share.Values(c.Problem, untold.records[label])))
		}
	}
	if gain := Over(gains); gain.N > 0 {
		fmt.Fprintf(&line, " %+.3f", gain.Mean)
		if !math.IsNaN(gain.Error) {
			fmt.Fprintf(&line, " ± %.3f", gain.Error)
		}
	}
	fmt.Fprintln(out, line.String())
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
