package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/lab/problems"
)

const simulateHelp = `It needs -problem P and -algorithm A[,B...], plays over several seeds, and writes runs.csv, summary.csv, summary.json, figure.svg and
figure.png to -out. Finished seeds are kept there: the same command goes on where it was stopped. An algorithm can be given a
label, as in "a=ckb-ucb,b=ckb-ucb", to be played with different settings. “headroom simulate -list” names the problems and the algorithms.`

// simulation is what the command line asks for.
type simulation struct {
	base       lab.Experiment
	algorithms []labelled
	seeds      int
	workers    int
	fresh      bool
	folder     string
	plot       []string
}

// labelled is one algorithm under the name that tables and figures use.
type labelled struct {
	label      string
	experiment lab.Experiment
}

func simulate(set *flag.FlagSet) action {
	read := readSimulation(set)
	return func(ctx context.Context, _ []string) error {
		s, done, err := read()
		if err != nil || done {
			return err
		}
		return s.run(ctx)
	}
}

// run plays what is not played yet, and reports.
func (s simulation) run(ctx context.Context) error {
	folder, err := openFolder(s)
	if err != nil {
		return err
	}
	if err := s.play(ctx, folder); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted; finished seeds are kept in %s, and the same command goes on from there", s.folder)
		}
		return err
	}
	return s.report(folder)
}

// optionalNumber is a flag that may be absent.
type optionalNumber struct{ to **float64 }

func (o optionalNumber) String() string { return "" }

func (o optionalNumber) Set(text string) error {
	var v float64
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return errors.New("it must be a number")
	}
	*o.to = &v
	return nil
}

// readSimulation declares the flags; what it returns makes the simulation of them. done tells that only a list was asked for, or readings were written.
func readSimulation(set *flag.FlagSet) func() (_ simulation, done bool, err error) {
	var s simulation
	e := &s.base
	set.StringVar(&e.Problem, "problem", "", "what to play")
	names := set.String("algorithm", "", "who plays: names, separated by commas, each perhaps as label=name")
	settings := set.String("settings", "{}", "the algorithms' settings as JSON, for all, or by label with \"all\" for the rest; @file reads a file, @- standard input")
	set.IntVar(&e.Horizon, "horizon", 0, "number of rounds T; 0 = the problem's")
	set.IntVar(&s.seeds, "seeds", 10, "number of seeds: 1, 2, …")
	set.IntVar(&e.Grid, "grid", 0, "play on a grid of so many points along each continuous parameter, with exact maxima; 0 = search the continuous space")
	preset := set.String("preset", "", "paper: λ = 1 + 2/T, and absent settings as published")
	set.BoolVar(&e.Fit, "fit", false, "standardise outputs and fit hyperparameters, as a study does")
	set.StringVar(&e.Kernel, "kernel", "", "the model's kernel; absent: the problem's")
	set.Float64Var(&e.Lengthscale, "lengthscale", 0, "its lengthscale in the problem's units; 0 = the problem's")
	set.Float64Var(&e.KernelVariance, "kernel-variance", 0, "its variance; 0 = the problem's")
	set.Float64Var(&e.Lambda, "lambda", 0, "λ of every metric; 0 = its noise variance")
	set.StringVar(&e.Noise, "noise", "", strings.Join(problems.NoiseKinds, ", ")+"; absent: the problem's")
	set.Var(optionalNumber{&e.NoiseVariance}, "noise-variance", "of a reading of the reward")
	set.Var(optionalNumber{&e.CostNoise}, "cost-noise-variance", "of a reading of a cost; 0 = noiseless")
	set.Var(optionalNumber{&e.Delay}, "delay", "mean of the Poisson distributed delay in rounds")
	readings := set.String("readings", "", "CSV file of readings for sensors and finance, - is standard input; absent: the substitute")
	prior := set.String("prior-readings", "", "CSV file of readings with the same columns whose correlation is the prior; the readings played are then divided by their largest mean, and λ is 1 unless given")
	written := set.String("write-readings", "", "write the substitute readings of the problem to this file, and stop")
	list := set.Bool("list", false, "name the problems and the algorithms, and stop")
	set.StringVar(&s.folder, "out", "", "folder to write to; absent: simulation-PROBLEM")
	set.BoolVar(&s.fresh, "fresh", false, "start over: remove what the folder holds of an earlier simulation")
	set.IntVar(&s.workers, "workers", runtime.GOMAXPROCS(0), "how many seeds to play at once")
	plot := set.String("plot", "regret/t,hard/t", "what the figure shows, one panel each; with /t the average so far")
	return func() (_ simulation, done bool, err error) {
		switch {
		case *list:
			return s, true, listProblems()
		case *written != "":
			return s, true, writeReadings(e.Problem, *written)
		case *preset != "" && *preset != "paper":
			return s, false, fmt.Errorf("there is no preset %q; there is paper", *preset)
		case s.seeds < 1 || s.workers < 1:
			return s, false, errors.New("simulate: -seeds and -workers must be at least 1")
		}
		e.Paper = *preset == "paper"
		if _, err := problems.Find(e.Problem); err != nil {
			return s, false, err
		}
		if s.folder == "" {
			s.folder = "simulation-" + e.Problem
		}
		if s.plot, err = plotted(*plot); err != nil {
			return s, false, err
		}
		if *readings != "" {
			if e.Readings, err = readReadings(*readings); err != nil {
				return s, false, err
			}
		}
		if *prior != "" {
			if e.Prior, err = readReadings(*prior); err != nil {
				return s, false, err
			}
		}
		s.algorithms, err = s.label(*names, *settings)
		return s, false, err
	}
}

func listProblems() error {
	for _, p := range problems.Menu() {
		fmt.Printf("%-20s T = %-6d %s (%s)\n", p.Name, p.Horizon, p.Summary, p.Source)
	}
	fmt.Println("\nalgorithms:", strings.Join(lab.Algorithms(), ", "))
	return nil
}

func readReadings(path string) (*problems.Readings, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	table, err := problems.ReadReadings(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

func writeReadings(problem, path string) error {
	substitutes := map[string]func() *problems.Readings{"sensors": problems.SubstituteSensors, "finance": problems.SubstitutePrices}
	make, ok := substitutes[problem]
	if !ok {
		return fmt.Errorf("there are readings to write for -problem sensors and finance, not for %q", problem)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(make().Write(file), file.Close())
}

func plotted(list string) ([]string, error) {
	var known []string
	for _, q := range lab.Quantities {
		known = append(known, q.Name)
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, strings.TrimSuffix(name, "/t")) {
			return nil, fmt.Errorf("%q cannot be plotted; there are %s, each also with /t", name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// label reads who plays with which settings, and checks every experiment.
func (s simulation) label(names, settings string) ([]labelled, error) {
	if names == "" {
		return nil, fmt.Errorf("say who plays with -algorithm; there are %s", strings.Join(lab.Algorithms(), ", "))
	}
	players, err := readPlayers(names)
	if err != nil {
		return nil, err
	}
	own, err := byLabel(players, "-settings", settings)
	if err != nil {
		return nil, err
	}
	list := make([]labelled, len(players))
	for i, p := range players {
		e := s.base
		e.Algorithm, e.Settings = p.name, own[i]
		list[i] = labelled{p.label, e}
	}
	for _, l := range list {
		if err := l.experiment.Check(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// task is one game to play.
type task struct {
	labelled
	seed uint64
}

// play plays what the folder does not hold yet.
func (s simulation) play(ctx context.Context, f *folder) error {
	var tasks []task
	for seed := 1; seed <= s.seeds; seed++ {
		for _, l := range s.algorithms {
			if !f.has(l.label, uint64(seed)) {
				tasks = append(tasks, task{l, uint64(seed)})
			}
		}
	}
	bar := newProgress(len(tasks), len(tasks)*s.base.T(), s.seeds*len(s.algorithms)-len(tasks))
	defer bar.finish()
	return inParallel(ctx, s.workers, tasks, func(ctx context.Context, t task) error { return playOne(ctx, f, t, bar) })
}

func playOne(ctx context.Context, f *folder, t task, bar *progress) error {
	run, err := t.experiment.Play(ctx, t.seed, bar.round)
	if err != nil {
		return err
	}
	return f.keep(t.label, run.Few())
}
