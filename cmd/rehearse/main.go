// Rehearse plays a recorded experiment against a running Headroom as a lab would: it makes a study with the table's rows as candidates,
// imports a few rows drawn by seed, then asks and tells back what the table says, and reports how soon and how well it found
// good rows, with random choice on the same budget beside it.
//
//	go run ./cmd/rehearse -url http://127.0.0.1:8080 -token TOKEN -table cmd/rehearse/example.csv \
//	    -parameters catalyst,solvent,temperature -objective yield -limit "cost<=0.5" -target 80
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

type options struct {
	url, token, table, parameters, objective, algorithm string
	limits                                              limits
	minimize                                            bool
	start, asks, seeds                                  int
	target                                              float64
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

func parseOptions(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080", "address of the running server")
	f.StringVar(&o.token, "token", os.Getenv("HEADROOM_TOKEN"), "API token of an operator (default: $HEADROOM_TOKEN)")
	f.StringVar(&o.table, "table", "", "CSV file of recorded rows with a header")
	f.StringVar(&o.parameters, "parameters", "", "columns that are settings, separated by commas")
	f.StringVar(&o.objective, "objective", "", "column to improve")
	f.BoolVar(&o.minimize, "minimize", false, "the objective is to be made small")
	f.Var(&o.limits, "limit", `a limit such as "cost<=0.04"; may be given several times`)
	f.StringVar(&o.algorithm, "algorithm", "", "algorithm name (default: the server's)")
	f.IntVar(&o.start, "start", 8, "rows drawn by seed and imported before the first ask")
	f.IntVar(&o.asks, "asks", 40, "number of asks")
	f.IntVar(&o.seeds, "seeds", 20, "number of repetitions")
	f.Float64Var(&o.target, "target", math.NaN(), "count the asks until a row within the limits is at least this good")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.table == "" || o.parameters == "" || o.objective == "":
		return o, errors.New("-table, -parameters and -objective are needed")
	case o.token == "":
		return o, errors.New("-token or HEADROOM_TOKEN is needed")
	case o.start < 0 || o.asks < 1 || o.seeds < 1:
		return o, errors.New("-start must be at least 0, -asks and -seeds at least 1")
	}
	return o, nil
}

func run(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	t, err := readTable(o)
	if err != nil {
		return err
	}
	if o.start+o.asks > len(t.rows) {
		return fmt.Errorf("the table has %d rows: too few for %d at the start and %d asks", len(t.rows), o.start, o.asks)
	}
	server := client{base: strings.TrimRight(o.url, "/"), token: o.token}
	var suggested, random []outcome
	for seed := 1; seed <= o.seeds; seed++ {
		order := rand.New(rand.NewPCG(uint64(seed), 0)).Perm(len(t.rows))
		played, err := play(server, o, t, seed, order[:o.start])
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		suggested = append(suggested, t.judge(o, order[:o.start], played))
		random = append(random, t.judge(o, order[:o.start], order[o.start:o.start+o.asks]))
		fmt.Fprintf(os.Stderr, "seed %d of %d: best within the limits %s, by random choice %s\n", seed, o.seeds,
			suggested[seed-1].text(), random[seed-1].text())
	}
	report(o, suggested, random)
	return nil
}

// play runs one study: import, then ask and tell. It returns the rows that were asked for.
func play(server client, o options, t *table, seed int, start []int) ([]int, error) {
	id, err := server.createStudy(t.definition(o, seed))
	if err != nil {
		return nil, err
	}
	if len(start) > 0 {
		if err := server.importRows(id, t.csv(start)); err != nil {
			return nil, err
		}
	}
	var rows []int
	for range o.asks {
		number, candidate, err := server.ask(id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, candidate)
		if err := server.tell(id, number, t.readings(o, candidate)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// outcome is how well one repetition did.
type outcome struct {
	best    float64 // best objective within the limits; NaN if none
	until   int     // asks until the target was met within the limits; 0 = never
	outside int     // asks that broke a limit
}

func (o outcome) text() string {
	if math.IsNaN(o.best) {
		return "none"
	}
	return fmt.Sprintf("%.4g", o.best)
}

// judge looks at the imported rows and then the asked ones.
func (t *table) judge(o options, start, asked []int) outcome {
	result := outcome{best: math.NaN()}
	better := func(a, b float64) bool { return math.IsNaN(b) || (a > b) != o.minimize && a != b }
	for _, row := range start {
		if v := t.objective(row); t.within(o, row) && better(v, result.best) {
			result.best = v
		}
	}
	for i, row := range asked {
		if !t.within(o, row) {
			result.outside++
			continue
		}
		v := t.objective(row)
		if better(v, result.best) {
			result.best = v
		}
		if result.until == 0 && (v == o.target || better(v, o.target)) {
			result.until = i + 1
		}
	}
	return result
}

func report(o options, suggested, random []outcome) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%d repetitions, %d rows imported, %d asks\tmedian\trange\n", o.seeds, o.start, o.asks)
	for _, line := range []struct {
		who  string
		list []outcome
	}{{"suggested", suggested}, {"random", random}} {
		var best, until, outside []float64
		for _, r := range line.list {
			best = append(best, r.best)
			outside = append(outside, float64(r.outside))
			if r.until == 0 {
				until = append(until, math.Inf(1))
			} else {
				until = append(until, float64(r.until))
			}
		}
		fmt.Fprintf(w, "best %s within the limits, %s\t%s\n", o.objective, line.who, spread(best))
		if !math.IsNaN(o.target) {
			fmt.Fprintf(w, "asks until %s reaches %g within the limits, %s\t%s\n", o.objective, o.target, line.who, spread(until))
		}
		fmt.Fprintf(w, "asks outside a limit, %s\t%s\n", line.who, spread(outside))
	}
	w.Flush()
}

// spread is the median and the range; an infinite number of asks reads "never", no value at all "none".
func spread(values []float64) string {
	slices.SortFunc(values, func(a, b float64) int {
		switch {
		case math.IsNaN(a) && !math.IsNaN(b), a < b:
			return -1
		case math.IsNaN(b) && !math.IsNaN(a), a > b:
			return 1
		}
		return 0
	})
	n := len(values)
	return fmt.Sprintf("%s\t%s to %s", word((values[(n-1)/2]+values[n/2])/2), word(values[0]), word(values[n-1]))
}

func word(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "never"
	case math.IsNaN(v):
		return "none"
	}
	return fmt.Sprintf("%.4g", v)
}
