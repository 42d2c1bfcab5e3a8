package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"headroom/internal/optimizer/factor"
)

const benchHelp = `It runs a server and a PostgreSQL of its own, which keep what they commit and are gone
afterwards, makes studies of four parameters and two limits there, and measures requests to its API
over HTTP, client, server and PostgreSQL on this machine. Prints one table: the least time, the
median, the 99th percentile and the slowest, in milliseconds, and least, median and slowest in R.
R is the median time of one Cholesky factor of 1000 rows on one thread, this program's own
(internal/optimizer/factor), measured before each line. Let nothing else run beside it.`

// bench is what is measured, how often, and what came of it.
type bench struct {
	trials, times, clients int
	only                   string

	reference took
	lines     []line
}

// took are the times that something took, one for each time it was done.
type took []time.Duration

// line is a line of the table.
type line struct {
	what string
	took took
}

// benchmark declares the flags and measures what they ask for.
func benchmark(set *flag.FlagSet) action {
	var b bench
	set.StringVar(&b.only, "only", "",
		"measure only what contains this, as in ask, restart, import, state, history, clients")
	set.IntVar(&b.trials, "trials", 1000, "how many trials the long studies have")
	set.IntVar(&b.times, "times", 25, "how often each is measured; an import is at most five times")
	set.IntVar(&b.clients, "clients", 200,
		"how many clients work on one study at once, each asking and telling five times")
	return func(ctx context.Context, _ []string) error {
		if b.trials < 1 || b.times < 1 || b.clients < 1 {
			return fmt.Errorf("%s: -trials, -times and -clients must be at least 1", set.Name())
		}
		measures := slices.DeleteFunc(b.measures(), func(m measure) bool {
			return !strings.Contains(m.name, b.only)
		})
		if len(measures) == 0 {
			return fmt.Errorf("%s: nothing that is measured has %q in its name", set.Name(), b.only)
		}
		if err := b.run(ctx, measures); err != nil {
			return err
		}
		return b.write(os.Stdout)
	}
}

// run measures on a server that is there for it alone.
func (b *bench) run(ctx context.Context, measures []measure) error {
	quiet := &slog.HandlerOptions{Level: slog.LevelWarn}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, quiet)))
	return withSite(ctx, func(s *site) error {
		for _, m := range measures {
			if err := b.measureReference(); err != nil {
				return err
			}
			lines, err := m.run(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			b.lines = append(b.lines, lines...)
		}
		return nil
	})
}

// referenceRows is the size of the factor that times are compared with.
const referenceRows = 1000

// measureReference measures five such factors, one thread each.
func (b *bench) measureReference() error {
	random := rand.New(rand.NewPCG(1, 0))
	rows := make([][]float64, referenceRows)
	for i := range rows {
		rows[i] = make([]float64, i+1)
		for j := range i {
			rows[i][j] = random.Float64() / referenceRows
		}
		rows[i][i] = 2
	}
	runtime.GC() // what was measured before leaves its garbage to nobody
	for range 5 {
		err := b.reference.time(func() error { _, err := factor.New(rows); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// time does something and takes down how long it took.
func (t *took) time(do func() error) error {
	began := time.Now()
	err := do()
	*t = append(*t, time.Since(began))
	return err
}

// part is the time that this share of the times did not exceed; the median of an even number is the
// later of the two.
func (t took) part(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// write writes the table.
func (b *bench) write(out io.Writer) error {
	const row = "| %-50s | %5s | %7s | %7s | %7s | %7s | %6s | %6s | %7s |\n"
	var table strings.Builder
	fmt.Fprintf(&table, row, "milliseconds, and in R", "times",
		"least", "median", "99 %", "slowest", "least", "median", "slowest")
	table.WriteString("|---|" + strings.Repeat("---:|", 8) + "\n")
	r := b.reference.part(0.5)
	reference := line{"R: Cholesky factor of 1000 rows, one thread", b.reference}
	for _, l := range slices.Concat([]line{reference}, b.lines) {
		in := func(unit time.Duration, share float64) string {
			return short(float64(l.took.part(share)) / float64(unit))
		}
		ms := func(share float64) string { return in(time.Millisecond, share) }
		inR := func(share float64) string { return in(r, share) }
		fmt.Fprintf(&table, row, l.what, fmt.Sprint(len(l.took)),
			ms(0), ms(0.5), ms(0.99), ms(1), inR(0), inR(0.5), inR(1))
	}
	_, err := io.WriteString(out, table.String())
	return err
}

// short writes a number with three digits, or all of those before its point.
func short(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
