package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/optimizer/policy"
)

const rehearseHelp = `It needs -problem P[,P...] or -spec FILE, and plays studies as a lab would: rows drawn by seed are imported, then trials are asked for and told, and what came of it
is judged. Readings may be told with their standard deviation, right or wrong; trials may fail, and readings come late or never. Every decision
is the one the server would make. Problems are the simulator's, the made-up tables, and tables of your own: -spec names a JSON file with name,
table (a CSV file), where, parameters, objective and constraints, as in the definition of a study.
Writes report.md, report.json, games.csv, asks.csv and figure.svg to -out. Finished games are kept there: the same command goes on where it
was stopped, and other algorithms join those played before. All algorithms get the same rows and the same noise, so their differences are paired.
“headroom rehearse -list” names the problems and the algorithms; “headroom judge” plays the standard set of rehearsals.`

const judgeHelp = `The set: the demo as a newcomer makes it, the three simulated labs, a region that crashes, and
six continuous problems with noise of 1, 5 and 20 % of the spread, each told and not told how large it is. Writes table.txt, games.csv and
asks.csv to -out. Finished games are kept there: the same command goes on where it was stopped. The columns are explained in docs/rehearsal.md.`

// defaultAlgorithm stands for the algorithm of a study that names none.
const defaultAlgorithm = "default"

type rehearsalFlags struct {
	contestFlags
	lab.Rehearsal
	algorithms string
	outside    []string
	anyBuild   bool
}

func (r *rehearsalFlags) flags(set *flag.FlagSet, seeds int, out string) {
	r.contestFlags.flags(set, seeds, out)
	set.StringVar(&r.algorithms, "algorithm", defaultAlgorithm, "who plays: names, separated by commas, each perhaps as label=name; “default” is what a study gets that names none")
	set.Func("outside", "another tool that plays, as label=command, its words separated by spaces; may be given several times. The demo is left to its own lab", appendTo(&r.outside))
	set.Uint64Var(&r.First, "first-seed", 1, "the first seed")
	set.BoolVar(&r.anyBuild, "any-build", false, "name games by the engine alone, so that another build of it does not play them again")
}

// enter reads who plays, with which settings and which model.
func (r *rehearsalFlags) enter(ctx context.Context, settings, model string, horizon int) (err error) {
	r.Seeds = r.seeds
	if err := r.check(); err != nil {
		return err
	}
	if !r.anyBuild {
		if r.Program, err = thisBuild(); err != nil {
			return err
		}
	}
	if r.Entrants, err = readEntrants(r.algorithms, settings, model, horizon); err != nil {
		return err
	}
	for _, text := range r.outside {
		label, command, _ := strings.Cut(text, "=")
		if err := checkLabel(label, r.Entrants); err != nil {
			return fmt.Errorf("-outside: %w", err)
		}
		outside, err := lab.NewOutside(ctx, command)
		if err != nil {
			return fmt.Errorf("-outside %s: %w", label, err)
		}
		r.Entrants = append(r.Entrants, lab.Entrant{Label: label, Outside: outside})
	}
	if r.Against == "" {
		r.Against = r.Entrants[0].Label
	}
	if !hasLabel(r.Against, r.Entrants) {
		return fmt.Errorf("-against %s: no algorithm has that label", r.Against)
	}
	return nil
}

func judge(set *flag.FlagSet) action {
	var r rehearsalFlags
	r.flags(set, 10, "judge")
	asks := set.Int("asks", 40, "number of asks; where a region crashes at most 16")
	var only string
	nonEmptyFlag(set, "only", "play only cases whose name contains this", func(text string) { only = text })
	return func(ctx context.Context, _ []string) (err error) {
		if r.Cases, err = lab.Standard(*asks); err != nil {
			return err
		}
		r.Cases = slices.DeleteFunc(r.Cases, func(c lab.Case) bool {
			return !strings.Contains(c.Name, only) || len(r.outside) > 0 && c.Problem.Study.SimulatedLab != ""
		})
		if len(r.Cases) == 0 {
			return fmt.Errorf("judge: no case has %q in its name", only)
		}
		if err := r.enter(ctx, "{}", "{}", 0); err != nil {
			return err
		}
		return r.run(ctx, lab.Judgement{Rehearsal: r.Rehearsal})
	}
}

func rehearse(set *flag.FlagSet) action {
	var r rehearsalFlags
	names := set.String("problem", "", "problems by name, separated by commas")
	var specs []string
	set.Func("spec", "JSON file that says how a table becomes a study; may be given several times; - is standard input", appendTo(&specs))
	table := set.String("table", "", "CSV file for the only -spec, - is standard input; absent: the one it names")
	settings := set.String("settings", "{}", "the algorithms' settings as JSON, for all, or by label with \"all\" for the rest; @file reads a file, @- standard input")
	model := set.String("model", "{}", "the model as JSON, in the same way")
	horizon := set.Int("horizon", 0, "the algorithms' horizon; 0 = the server's default")
	r.flags(set, 20, "rehearsal")
	var g lab.Game
	set.IntVar(&g.Start, "start", 5, "rows drawn by seed and imported before the first ask")
	set.IntVar(&g.Asks, "asks", 40, "number of asks")
	set.IntVar(&g.Batch, "batch", 1, "trials asked for at once")
	set.IntVar(&g.Delay, "delay", 0, "further requests before the results of one are told")
	set.StringVar(&g.Noise.Kind, "noise", lab.OwnNoise, strings.Join(lab.NoiseKinds, ", ")+": own draws a real reading of the setting, or the simulator's noise")
	set.Float64Var(&g.Noise.Size, "noise-size", 0.1, "of gaussian noise, outliers and slips, in standard deviations of the metric over the settings")
	set.StringVar((*string)(&g.Told), "told", string(lab.ToldNone), "what is told of a reading's standard deviation: none, true, low (a third of it), high (three times it), or a number that it is multiplied by")
	where := set.String("fails-where", "", "every trial fails whose settings keep this comparison, as in \"x + z > 1.2\"")
	set.Float64Var(&g.Mishaps.Fail, "fails", 0, "share of the trials that fail by chance")
	set.Float64Var(&g.Mishaps.Late, "late", 0, "share of the readings that are told with the next results")
	set.Float64Var(&g.Mishaps.Unread, "unread", 0, "share of the readings that are never told")
	set.Float64Var(&g.Mishaps.Offset, "offset", 0, "share of its range by which each number is set higher than asked, at most at its highest; what was set is told")
	set.StringVar(&r.Against, "against", "", "the label that the others are compared with; absent: the first")
	list := set.Bool("list", false, "name the problems and the algorithms, and stop")
	return func(ctx context.Context, _ []string) error {
		if *list {
			return listRehearsals()
		}
		if g.Noise.Kind == lab.OwnNoise || g.Noise.Kind == lab.NoNoise {
			g.Noise.Size = 0
		}
		all, err := readProblems(*names, specs, *table)
		if err != nil {
			return err
		}
		for _, p := range all {
			if *where != "" {
				if p, err = p.Failing(*where); err != nil {
					return err
				}
			}
			g.Problem = p
			r.Cases = append(r.Cases, lab.Case{Name: p.Name, Game: g})
		}
		if err := r.enter(ctx, *settings, *model, *horizon); err != nil {
			return err
		}
		return r.run(ctx, r.Rehearsal)
	}
}

func appendTo(list *[]string) func(text string) error {
	return func(text string) error { *list = append(*list, text); return nil }
}

func readEntrants(names, settings, model string, horizon int) ([]lab.Entrant, error) {
	list, err := readPlayers(names, settings)
	if err != nil {
		return nil, err
	}
	models, err := byLabel(list, "-model", model)
	if err != nil {
		return nil, err
	}
	for i := range list {
		e := &list[i]
		e.Algorithm.Horizon = horizon
		if e.Algorithm.Name == defaultAlgorithm {
			e.Algorithm.Name = ""
		}
		text, err := json.Marshal(models[i])
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e.Model); err != nil {
			return nil, fmt.Errorf("-model of %s: %w", e.Label, err)
		}
	}
	return list, nil
}

func listRehearsals() error {
	var list strings.Builder
	for _, p := range lab.Menu() {
		fmt.Fprintf(&list, "%-20s %s\n", p.Name, p.Summary)
	}
	fmt.Fprintln(&list, "A made-up table can be drawn again: made-mixed-2, made-mixed-3, …")
	fmt.Fprintln(&list, "\nalgorithms:", strings.Join(append([]string{defaultAlgorithm}, policy.Names()...), ", "))
	return say(list.String())
}

func readProblems(names string, specs []string, table string) ([]*lab.Problem, error) {
	if strings.Trim(names, ",") == "" && len(specs) == 0 {
		return nil, errors.New("say what to play with -problem or -spec; -list names the problems")
	}
	if table != "" && len(specs) != 1 {
		return nil, errors.New("-table goes with exactly one -spec")
	}
	var all []*lab.Problem
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		p, err := lab.Find(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for _, path := range specs {
		p, err := readSpec(path, table)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(other *lab.Problem) bool { return other.Name == p.Name }) {
			return nil, fmt.Errorf("two problems are called %s", p.Name)
		}
	}
	return all, nil
}

func readSpec(path, table string) (*lab.Problem, error) {
	spec, err := fromFile(path, lab.ReadSpec)
	if err != nil {
		return nil, err
	}
	if table == "" {
		if spec.Table == "" {
			return nil, fmt.Errorf("%s: it names no table; give -table", path)
		}
		if table = spec.Table; !filepath.IsAbs(table) {
			table = filepath.Join(filepath.Dir(path), table)
		}
	}
	return fromFile(table, func(rows io.Reader) (*lab.Problem, error) { return lab.ReadTable(rows, spec) })
}

// thisBuild identifies this build, so that another one's games are not taken for its own.
func thisBuild() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = fromFile(path, func(program io.Reader) (int64, error) { return io.Copy(sum, program) })
	return hex.EncodeToString(sum.Sum(nil)), err
}
