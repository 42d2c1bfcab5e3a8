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
	"runtime"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

const rehearseHelp = `It needs -problem P[,P...] or -spec FILE, and plays studies as a lab would: rows drawn by seed are imported, then trials are asked for and told, and what came of it
is judged. Readings may be told with their standard deviation, right or wrong; trials may fail, and readings come late or never. Every decision
is the one the server would make. Problems are the simulator's, the made-up tables, and tables of your own: -spec names a JSON file with name,
table (a CSV file), where, parameters, objective and constraints, as in the definition of a study.
Writes report.md, report.json, games.csv, asks.csv and figure.svg to -out. Finished games are kept there: the same command goes on where it
was stopped, and other algorithms join those played before. All algorithms get the same rows and the same noise, so their differences are paired.
“headroom rehearse -list” names the problems and the algorithms; “headroom judge” plays the standard set of rehearsals.`

// defaultAlgorithm stands for the algorithm of a study that names none.
const defaultAlgorithm = "default"

// rehearsing is what the command line asks for.
type rehearsing struct {
	cases      []lab.Case
	algorithms []rehearsed
	base       lab.Game
	seeds      int
	first      uint64
	against    string
	workers    int
	folder     string
	anyBuild   bool
}

// rehearsed is one algorithm under the name that reports use.
type rehearsed struct {
	label     string
	algorithm design.Algorithm
	model     design.Model
	outside   *lab.Outside // plays instead, where there is one
}

func rehearse(set *flag.FlagSet) action {
	read := readRehearsal(set)
	return func(ctx context.Context, _ []string) error {
		r, done, err := read(ctx)
		if err != nil || done {
			return err
		}
		games, err := r.played(ctx)
		if err != nil {
			return err
		}
		return r.report(games)
	}
}

// played plays all games that are not kept yet.
func (r rehearsing) played(ctx context.Context) ([]planned, error) {
	program, err := r.program()
	if err != nil {
		return nil, err
	}
	games, err := r.games(program)
	if err != nil {
		return nil, err
	}
	if err := r.play(ctx, games); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted; finished games are kept in %s, and the same command goes on from there", r.folder)
		}
		return nil, err
	}
	return games, nil
}

// several is a flag that may be given more than once.
type several []string

func (s *several) String() string { return strings.Join(*s, " ") }

func (s *several) Set(text string) error {
	*s = append(*s, text)
	return nil
}

// readRehearsal declares the flags; what it returns makes the rehearsal of them. done tells that only a list was asked for.
func readRehearsal(set *flag.FlagSet) func(context.Context) (_ rehearsing, done bool, err error) {
	var r rehearsing
	names := set.String("problem", "", "problems by name, separated by commas")
	var specs several
	set.Var(&specs, "spec", "JSON file that says how a table becomes a study; may be given several times; - is standard input")
	table := set.String("table", "", "CSV file for the only -spec, - is standard input; absent: the one it names")
	algorithms := set.String("algorithm", defaultAlgorithm, "who plays: names, separated by commas, each perhaps as label=name; “default” is what a study gets that names none")
	var outside several
	set.Var(&outside, "outside", "another tool that plays, as label=command, its words separated by spaces; may be given several times")
	settings := set.String("settings", "{}", "the algorithms' settings as JSON, for all, or by label with \"all\" for the rest; @file reads a file, @- standard input")
	model := set.String("model", "{}", "the model as JSON, in the same way")
	horizon := set.Int("horizon", 0, "the algorithms' horizon; 0 = the server's default")
	set.IntVar(&r.base.Start, "start", 5, "rows drawn by seed and imported before the first ask")
	set.IntVar(&r.base.Asks, "asks", 40, "number of asks")
	set.IntVar(&r.seeds, "seeds", 20, "number of repetitions")
	set.Uint64Var(&r.first, "first-seed", 1, "the first seed")
	set.IntVar(&r.base.Batch, "batch", 1, "trials asked for at once")
	set.IntVar(&r.base.Delay, "delay", 0, "further requests before the results of one are told")
	set.StringVar(&r.base.Noise.Kind, "noise", lab.OwnNoise, strings.Join(lab.NoiseKinds, ", ")+": own draws a real reading of the setting, or the simulator's noise")
	set.Float64Var(&r.base.Noise.Size, "noise-size", 0.1, "of gaussian noise and outliers, in standard deviations of the metric over the settings")
	set.StringVar((*string)(&r.base.Told), "told", string(lab.ToldNone), "what is told of a reading's standard deviation: none, true, low (a third of it) or high (three times it)")
	where := set.String("fails-where", "", "every trial fails whose settings keep this comparison, as in \"x + z > 1.2\"")
	set.Float64Var(&r.base.Mishaps.Fail, "fails", 0, "share of the trials that fail by chance")
	set.Float64Var(&r.base.Mishaps.Late, "late", 0, "share of the readings that are told with the next results")
	set.Float64Var(&r.base.Mishaps.Unread, "unread", 0, "share of the readings that are never told")
	set.StringVar(&r.against, "against", "", "the label that the others are compared with; absent: the first")
	set.StringVar(&r.folder, "out", "rehearsal", "folder to write to")
	set.IntVar(&r.workers, "workers", runtime.GOMAXPROCS(0), "how many games to play at once")
	set.BoolVar(&r.anyBuild, "any-build", false, "name games by the engine alone, so that another build of it does not play them again")
	list := set.Bool("list", false, "name the problems and the algorithms, and stop")
	return func(ctx context.Context) (_ rehearsing, done bool, err error) {
		switch {
		case *list:
			return r, true, listRehearsals()
		case r.seeds < 1 || r.workers < 1:
			return r, false, errors.New("rehearse: -seeds and -workers must be at least 1")
		case !slices.Contains(lab.NoiseKinds, r.base.Noise.Kind):
			return r, false, fmt.Errorf("there is no noise %q; there are %s", r.base.Noise.Kind, strings.Join(lab.NoiseKinds, ", "))
		}
		if r.base.Noise.Kind == lab.OwnNoise || r.base.Noise.Kind == lab.NoNoise {
			r.base.Noise.Size = 0
		}
		problems, err := readProblems(*names, specs, *table)
		if err != nil {
			return r, false, err
		}
		for _, p := range problems {
			if *where != "" {
				if p, err = p.Failing(*where); err != nil {
					return r, false, err
				}
			}
			c := lab.Case{Name: p.Name, Game: r.base}
			c.Problem = p
			r.cases = append(r.cases, c)
		}
		if r.algorithms, err = labelAlgorithms(*algorithms, *settings, *model, *horizon); err != nil {
			return r, false, err
		}
		if err := r.invite(ctx, outside); err != nil {
			return r, false, err
		}
		if r.against == "" {
			r.against = r.algorithms[0].label
		}
		if !slices.ContainsFunc(r.algorithms, func(a rehearsed) bool { return a.label == r.against }) {
			return r, false, fmt.Errorf("-against %s: no algorithm has that label", r.against)
		}
		return r, false, nil
	}
}

func listRehearsals() error {
	for _, p := range lab.Menu() {
		fmt.Printf("%-20s %s\n", p.Name, p.Summary)
	}
	fmt.Println("A made-up table can be drawn again: made-mixed-2, made-mixed-3, …")
	names := []string{defaultAlgorithm}
	for _, a := range optimizer.Algorithms() {
		names = append(names, a.Name)
	}
	fmt.Println("\nalgorithms:", strings.Join(names, ", "))
	return nil
}

func readProblems(names string, specs []string, table string) ([]*lab.Problem, error) {
	if names == "" && len(specs) == 0 {
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
			return nil, fmt.Errorf("%s: %w", path, err)
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
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	spec, err := lab.ReadSpec(file)
	if err != nil {
		return nil, err
	}
	if table == "" {
		if spec.Table == "" {
			return nil, errors.New("it names no table; give -table")
		}
		if table = spec.Table; !filepath.IsAbs(table) {
			table = filepath.Join(filepath.Dir(path), table)
		}
	}
	rows, err := openFile(table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	p, err := lab.ReadTable(rows, spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	return p, nil
}

// labelAlgorithms reads who plays with which settings and which model.
func labelAlgorithms(names, settings, model string, horizon int) ([]rehearsed, error) {
	players, err := readPlayers(names)
	if err != nil {
		return nil, err
	}
	own, err := byLabel(players, "-settings", settings)
	if err != nil {
		return nil, err
	}
	models, err := byLabel(players, "-model", model)
	if err != nil {
		return nil, err
	}
	list := make([]rehearsed, len(players))
	for i, p := range players {
		if p.name == defaultAlgorithm {
			p.name = ""
		}
		list[i] = rehearsed{label: p.label, algorithm: design.Algorithm{Name: p.name, Horizon: horizon}}
		if len(own[i]) > 0 {
			list[i].algorithm.Settings = own[i]
		}
		text, err := json.Marshal(models[i])
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&list[i].model); err != nil {
			return nil, fmt.Errorf("-model of %s: %w", p.label, err)
		}
	}
	return list, nil
}

// program names this build, so that what another one played is not taken for its own.
func (r rehearsing) program() (string, error) {
	if r.anyBuild {
		return "", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// planned is a game with where its record is kept.
type planned struct {
	lab.Game
	of, label, file string // of which case, by whom
}

// games are all games asked for, seed by seed, case by case, label by label.
func (r rehearsing) games(program string) ([]planned, error) {
	var all []planned
	for seed := range uint64(r.seeds) {
		for _, c := range r.cases {
			for _, a := range r.algorithms {
				g := c.Game
				g.Algorithm, g.Model, g.Outside, g.Seed = a.algorithm, a.model, a.outside, r.first+seed
				if err := g.Check(); err != nil {
					return nil, fmt.Errorf("%s on %s: %w", a.label, c.Name, err)
				}
				key, err := g.Key(program)
				if err != nil {
					return nil, err
				}
				all = append(all, planned{g, c.Name, a.label, filepath.Join(r.folder, "games", key+".json")})
			}
		}
	}
	return all, nil
}

// play plays what the folder does not hold yet.
func (r rehearsing) play(ctx context.Context, games []planned) error {
	if err := os.MkdirAll(filepath.Join(r.folder, "games"), 0o755); err != nil {
		return err
	}
	todo := slices.DeleteFunc(slices.Clone(games), func(g planned) bool {
		_, err := os.Stat(g.file)
		return err == nil
	})
	asks := 0
	for _, g := range todo {
		asks += g.Asks
	}
	bar := newProgress(len(todo), asks, len(games)-len(todo))
	defer bar.finish()
	return inParallel(ctx, r.workers, todo, func(ctx context.Context, g planned) error {
		if err := playGame(ctx, g, bar); err != nil {
			return fmt.Errorf("%s on %s, seed %d: %w", g.label, g.of, g.Seed, err)
		}
		return nil
	})
}

func playGame(ctx context.Context, g planned, bar *progress) error {
	record, err := g.Play(ctx, bar.round)
	if err != nil {
		return err
	}
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return replace(g.file, content)
}

func readRecord(path string) (*lab.Record, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	record := new(lab.Record)
	if err := json.Unmarshal(content, record); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to play the game again", path, err)
	}
	return record, nil
}
