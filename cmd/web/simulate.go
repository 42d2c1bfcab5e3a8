package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/lab/problems"
)

const simulateHelp = `It needs -problem P and -algorithm A[,B...], plays over several seeds, and writes runs.csv, summary.csv, summary.json,
summary.txt and figure.svg to -out. Finished seeds are kept there: the same command goes on where it was stopped. An algorithm can be given a
label, as in "a=ckb-ucb,b=ckb-ucb", to be played with different settings. “headroom simulate -list” names the problems and the algorithms.`

func simulate(set *flag.FlagSet) action {
	var p contestFlags
	var e lab.Experiment
	set.StringVar(&e.Problem, "problem", "", "what to play")
	names := set.String("algorithm", "", "who plays: names, separated by commas, each perhaps as label=name")
	settings := set.String("settings", "{}", "the algorithms' settings as JSON, for all, or by label with \"all\" for the rest; @file reads a file, @- standard input")
	set.IntVar(&e.Horizon, "horizon", 0, "number of rounds T; 0 = the problem's")
	p.flags(set, 10, "simulation-PROBLEM")
	set.IntVar(&e.Grid, "grid", 0, "play on a grid of so many points along each continuous parameter, with exact maxima; 0 = search the continuous space")
	preset := set.String("preset", "", "paper: λ = 1 + 2/T, and absent settings as published")
	set.BoolVar(&e.Fit, "fit", false, "standardise outputs and fit hyperparameters, as a study does")
	set.StringVar(&e.Kernel, "kernel", "", "the model's kernel; absent: the problem's")
	set.Float64Var(&e.Lengthscale, "lengthscale", 0, "its lengthscale in the problem's units; 0 = the problem's")
	set.Float64Var(&e.KernelVariance, "kernel-variance", 0, "its variance; 0 = the problem's")
	set.Float64Var(&e.Lambda, "lambda", 0, "λ of every metric; 0 = its noise variance")
	set.StringVar(&e.Noise, "noise", "", strings.Join(problems.NoiseKinds, ", ")+"; absent: the problem's")
	set.Func("noise-variance", "of a reading of the reward", optionalNumber(&e.NoiseVariance))
	set.Func("cost-noise-variance", "of a reading of a cost; 0 = noiseless", optionalNumber(&e.CostNoise))
	set.Func("delay", "mean of the Poisson distributed delay in rounds", optionalNumber(&e.Delay))
	readings := set.String("readings", "", "CSV file of readings for sensors and finance, - is standard input; absent: the substitute")
	prior := set.String("prior-readings", "", "CSV file of readings with the same columns whose correlation is the prior; the readings played are then divided by their largest mean, and λ is 1 unless given")
	written := set.String("write-readings", "", "write the substitute readings of the problem to this file, and stop")
	list := set.Bool("list", false, "name the problems and the algorithms, and stop")
	plot := set.String("plot", "regret/t,hard/t", "what the figure shows, one panel each; with /t the average so far")
	return func(ctx context.Context, _ []string) error {
		switch {
		case *list:
			return listProblems()
		case *written != "":
			return writeReadings(e.Problem, *written)
		case *preset != "" && *preset != "paper":
			return fmt.Errorf("there is no preset %q; there is paper", *preset)
		}
		if err := p.check(); err != nil {
			return err
		}
		e.Paper = *preset == "paper"
		p.folder = strings.Replace(p.folder, "PROBLEM", e.Problem, 1)
		for table, path := range map[**problems.Readings]string{&e.Readings: *readings, &e.Prior: *prior} {
			if path == "" {
				continue
			}
			var err error
			if *table, err = fromFile(path, problems.ReadReadings); err != nil {
				return err
			}
		}
		if e.Problem == "" {
			return errors.New("say what to play with -problem; -list names the problems")
		}
		if _, err := problems.Find(e.Problem); err != nil {
			return err
		}
		if *names == "" {
			return fmt.Errorf("say who plays with -algorithm; there are %s", strings.Join(lab.Algorithms(), ", "))
		}
		entrants, err := readPlayers(*names, *settings)
		if err != nil {
			return err
		}
		return p.run(ctx, lab.Simulation{Experiment: e, Entrants: entrants, Seeds: p.seeds, Plot: strings.Split(*plot, ",")})
	}
}

func optionalNumber(to **float64) func(text string) error {
	return func(text string) error {
		if json.Unmarshal([]byte(text), to) != nil || *to == nil {
			return errors.New("it must be a number")
		}
		return nil
	}
}

func listProblems() error {
	var list strings.Builder
	for _, p := range problems.Menu() {
		fmt.Fprintf(&list, "%-20s T = %-6d %s (%s)\n", p.Name, p.Horizon, p.Summary, p.Source)
	}
	fmt.Fprintln(&list, "\nalgorithms:", strings.Join(lab.Algorithms(), ", "))
	return say(list.String())
}

func writeReadings(problem, path string) error {
	p, _ := problems.Find(problem)
	if p.Substitute == nil {
		return fmt.Errorf("there are readings to write for -problem sensors and finance, not for %q", problem)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(p.Substitute().Write(file), file.Close())
}
