package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"headroom/internal/lab"
)

const judgeHelp = `The set: the demo as a newcomer makes it, the three simulated labs, a region that crashes, and
six continuous problems with noise of 1, 5 and 20 % of the spread, each told and not told how large it is. Writes table.txt, games.csv and
asks.csv to -out. Finished games are kept there: the same command goes on where it was stopped. The columns are explained in docs/rehearsal.md.`

// judge plays the standard set.
func judge(set *flag.FlagSet) action {
	read := readJudge(set)
	return func(ctx context.Context, _ []string) error {
		r, err := read(ctx)
		if err != nil {
			return err
		}
		return r.playStandard(ctx)
	}
}

// playStandard plays what is not played yet, and prints the table.
func (r rehearsing) playStandard(ctx context.Context) error {
	games, err := r.played(ctx)
	if err != nil {
		return err
	}
	all, err := r.read(games)
	if err != nil {
		return err
	}
	text := r.standardTable(all)
	for name, content := range map[string][]byte{"table.txt": text, "games.csv": table(r.gameRows(all)), "asks.csv": table(r.askRows(all))} {
		if err := replace(filepath.Join(r.folder, name), content); err != nil {
			return err
		}
	}
	_, err = fmt.Printf("%swritten to %s\n", text, r.folder)
	return err
}

// readJudge declares the flags; what it returns makes the rehearsal of them.
func readJudge(set *flag.FlagSet) func(context.Context) (rehearsing, error) {
	var r rehearsing
	algorithms := set.String("algorithm", defaultAlgorithm, "who plays: names, separated by commas, each perhaps as label=name")
	var outside several
	set.Var(&outside, "outside", "another tool that plays, as label=command, its words separated by spaces; all but the demo, which its own lab answers")
	asks := set.Int("asks", 40, "number of asks; where a region crashes at most 16")
	set.IntVar(&r.seeds, "seeds", 10, "number of repetitions")
	set.Uint64Var(&r.first, "first-seed", 1, "the first seed")
	only := set.String("only", "", "play only cases whose name contains this")
	set.StringVar(&r.folder, "out", "judge", "folder to write to")
	set.IntVar(&r.workers, "workers", runtime.GOMAXPROCS(0), "how many games to play at once")
	set.BoolVar(&r.anyBuild, "any-build", false, "name games by the engine alone, so that another build of it does not play them again")
	return func(ctx context.Context) (_ rehearsing, err error) {
		if r.seeds < 1 || r.workers < 1 {
			return r, errors.New("judge: -seeds and -workers must be at least 1")
		}
		if r.cases, err = lab.Standard(*asks); err != nil {
			return r, err
		}
		r.cases = slices.DeleteFunc(r.cases, func(c lab.Case) bool {
			return !strings.Contains(c.Name, *only) || len(outside) > 0 && c.Problem.Study.SimulatedLab != ""
		})
		if len(r.cases) == 0 {
			return r, fmt.Errorf("judge: no case has %q in its name", *only)
		}
		if r.algorithms, err = labelAlgorithms(*algorithms, "{}", "{}", 0); err != nil {
			return r, err
		}
		return r, r.invite(ctx, outside)
	}
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
func (r rehearsing) standardTable(all []contest) []byte {
	var out bytes.Buffer
	name := 0
	for _, c := range all {
		for _, a := range r.algorithms {
			name = max(name, len(r.lineName(c.Name, a.label)))
		}
	}
	r.standardHeadings(&out, name)
	for _, c := range all {
		for _, a := range r.algorithms {
			r.standardLine(&out, name, r.lineName(c.Name, a.label), a.label, []contest{c}, all)
		}
	}
	told := slices.DeleteFunc(slices.Clone(all), func(c contest) bool { return untoldOf(c, all) == nil })
	var untold []contest
	for _, c := range told {
		untold = append(untold, *untoldOf(c, all))
	}
	for _, a := range r.algorithms {
		for _, group := range []struct {
			name  string
			cases []contest
		}{{"all", all}, {"not told", untold}, {"told", told}} {
			if len(group.cases) > 1 {
				r.standardLine(&out, name, r.lineName(fmt.Sprintf("%s (%d)", group.name, len(group.cases)), a.label), a.label, group.cases, all)
			}
		}
	}
	return out.Bytes()
}

// lineName names the label only where there are several.
func (r rehearsing) lineName(name, label string) string {
	if len(r.algorithms) > 1 {
		return name + ", " + label
	}
	return name
}

func (r rehearsing) standardHeadings(out *bytes.Buffer, name int) {
	var below bytes.Buffer
	fmt.Fprintf(out, "%-*s", name, fmt.Sprintf("%d seeds", r.seeds))
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

func (r rehearsing) standardLine(out *bytes.Buffer, width int, name, label string, cases, all []contest) {
	var line bytes.Buffer
	fmt.Fprintf(&line, "%-*s", width, name)
	for _, column := range standardColumns {
		for _, figure := range column.figures {
			var each []lab.Estimate
			for _, c := range cases {
				each = append(each, lab.EstimateOf(figureNamed(figure).Values(c.Problem, c.records[label])))
			}
			value := lab.Over(each).Mean
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
	var gains []lab.Estimate
	for _, c := range cases {
		if untold := untoldOf(c, all); untold != nil {
			share := figureNamed("share")
			gains = append(gains, lab.Paired(share.Values(c.Problem, c.records[label]), share.Values(c.Problem, untold.records[label])))
		}
	}
	if gain := lab.Over(gains); gain.N > 0 {
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

func figureNamed(name string) lab.Figure {
	return lab.Figures[slices.IndexFunc(lab.Figures, func(f lab.Figure) bool { return f.Name == name })]
}
