package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"headroom/internal/lab"
	"headroom/internal/study/design"
)

type contestFlags struct {
	command, folder string
	seeds, workers  int
}

func (p *contestFlags) flags(set *flag.FlagSet, seeds int, out string) {
	p.command = set.Name()
	set.IntVar(&p.seeds, "seeds", seeds, "number of seeds, each a game of every player")
	set.IntVar(&p.workers, "workers", runtime.GOMAXPROCS(0), "how many games to play at once")
	set.StringVar(&p.folder, "out", out, "folder to write to")
}

func (p *contestFlags) check() error {
	if p.seeds < 1 || p.workers < 1 {
		return fmt.Errorf("%s: -seeds and -workers must be at least 1", p.command)
	}
	return nil
}

// run plays what the folder does not have yet, writes the report of all games, and prints its page.
func (p *contestFlags) run(ctx context.Context, c lab.Contest) error {
	games, err := c.Games()
	if err != nil {
		return err
	}
	if err := p.play(ctx, games); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted; finished games are kept in %s, and the same command goes on from there", p.folder)
		}
		return err
	}
	files, page, err := c.Report(p.folder, games)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := lab.Write(filepath.Join(p.folder, name), content); err != nil {
			return err
		}
	}
	_, err = fmt.Printf("%swritten to %s\n", files[page], p.folder)
	return err
}

func (p *contestFlags) play(ctx context.Context, games []lab.Planned) error {
	if err := os.MkdirAll(lab.GamesFolder(p.folder), 0o755); err != nil {
		return err
	}
	todo := slices.DeleteFunc(slices.Clone(games), func(g lab.Planned) bool { return g.Kept(p.folder) })
	steps := 0
	for _, g := range todo {
		steps += g.Steps
	}
	bar := &progress{terminal: onTerminal(os.Stderr), games: len(todo), rounds: steps, kept: len(games) - len(todo), started: time.Now()}
	defer bar.finish()
	atOnce, ctx := errgroup.WithContext(ctx)
	atOnce.SetLimit(p.workers)
	for _, g := range todo {
		atOnce.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return g.Play(ctx, p.folder, bar.round)
		})
	}
	return atOnce.Wait()
}

// readPlayers reads names separated by commas, each perhaps as label=name, and their settings.
func readPlayers(names, settings string) ([]lab.Entrant, error) {
	var list []lab.Entrant
	for _, part := range strings.Split(names, ",") {
		label, name, given := strings.Cut(part, "=")
		if !given {
			name = label
		}
		if err := checkLabel(label, list); err != nil {
			return nil, err
		}
		list = append(list, lab.Entrant{Label: label, Algorithm: design.Algorithm{Name: name}})
	}
	own, err := byLabel(list, "-settings", settings)
	for i := range own {
		list[i].Algorithm.Settings = own[i]
	}
	return list, err
}

func hasLabel(label string, players []lab.Entrant) bool {
	return slices.ContainsFunc(players, func(e lab.Entrant) bool { return e.Label == label })
}

func checkLabel(label string, others []lab.Entrant) error {
	if label == "" || strings.ContainsAny(label, `/\. |`) || hasLabel(label, others) {
		return fmt.Errorf("%q is no label to tell algorithms apart: it needs letters, digits or -, and to be used once", label)
	}
	return nil
}

// byLabel returns the object that each player gets from a flag: one for all, or one by label with
// "all" for the rest. It is by label if a key is "all" or a player's label. @file reads a file,
// which may also have players that do not play.
func byLabel(players []lab.Entrant, flag, text string) ([]map[string]json.RawMessage, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		content, err := fromFile(path, io.ReadAll)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object: %w", flag, err)
	}
	absent := slices.DeleteFunc(slices.Sorted(maps.Keys(object)), func(key string) bool { return key == "all" || hasLabel(key, players) })
	labelled := len(absent) < len(object)
	if labelled && len(absent) > 0 {
		fmt.Fprintf(os.Stderr, "%s is also of %s, which does not play\n", flag, strings.Join(absent, ", "))
	}
	list := make([]map[string]json.RawMessage, len(players))
	for i, p := range players {
		list[i] = map[string]json.RawMessage{}
		if !labelled {
			maps.Copy(list[i], object)
			continue
		}
		for _, key := range []string{"all", p.Label} {
			var own map[string]json.RawMessage
			if err := json.Unmarshal(object[key], &own); len(object[key]) > 0 && err != nil {
				return nil, fmt.Errorf("%s of %s must be a JSON object: %w", flag, key, err)
			}
			maps.Copy(list[i], own)
		}
	}
	return list, nil
}

// progress draws a bar on standard error if that is a terminal.
type progress struct {
	terminal bool
	games    int // to play
	rounds   int // in all of them
	kept     int // games that were finished before
	started  time.Time

	mutex  sync.Mutex
	played int       // rounds
	drawn  time.Time // the last time
}

const redrawInterval = 200 * time.Millisecond

func (p *progress) round() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.played++
	if !p.terminal || time.Since(p.drawn) < redrawInterval {
		return
	}
	p.drawn = time.Now()
	share := float64(p.played) / float64(p.rounds)
	left := time.Duration(float64(time.Since(p.started)) * (1 - share) / share).Round(time.Second)
	const width = 30
	full := int(share * width)
	fmt.Fprintf(os.Stderr, "\r[%s%s] %3.0f %% of %d games, %v left ", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share, p.games, left)
}

func (p *progress) finish() {
	if !p.drawn.IsZero() {
		fmt.Fprintln(os.Stderr)
	}
	if p.kept > 0 {
		fmt.Fprintf(os.Stderr, "%d games were finished before and kept\n", p.kept)
	}
}
