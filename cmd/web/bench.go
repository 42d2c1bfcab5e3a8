package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/factor"
)

const benchHelp = `It runs a server and a PostgreSQL of its own, which keep what they commit and are gone
afterwards, makes studies of four parameters and two limits there, and measures requests to its API
over HTTP, client, server and PostgreSQL on this machine. Prints one table: the least time, the
median, the 99th percentile and the slowest, in milliseconds, and least, median and slowest in R.
R is the median time of one Cholesky factor of 1000 rows on one thread, this program's own
(internal/optimizer/factor), measured before each line. Let nothing else run beside it.`

// bench is what is measured, how often, and the results.
type bench struct {
	trials, times, clients int
	only                   string

	reference durations
	lines     []line
}

// durations are the times that something took, one each time.
type durations []time.Duration

type line struct {
	what string
	took durations
}

func benchmark(set *flag.FlagSet) action {
	var b bench
	nonEmptyFlag(set, "only", "measure only what has this in its name, as in ask, restart, import, state, history, clients",
		func(text string) { b.only = text })
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

func (b *bench) run(ctx context.Context, measures []measure) error {
	quiet := &slog.HandlerOptions{Level: slog.LevelWarn}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, quiet)))
	return withSite(ctx, func(s *benchServer) error {
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

const referenceRows = 1000

// measureReference measures five such factors on one thread each.
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
	runtime.GC() // of what was measured before
	for range 5 {
		err := b.reference.time(func() error { _, err := factor.New(rows); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *durations) time(do func() error) error {
	began := time.Now()
	err := do()
	*t = append(*t, time.Since(began))
	return err
}

// quantile returns the time that this share of the times did not exceed; the median of an even
// number is the later of the two.
func (t durations) quantile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (b *bench) write(out io.Writer) error {
	const row = "| %-50s | %5s | %7s | %7s | %7s | %7s | %6s | %6s | %7s |\n"
	var table strings.Builder
	fmt.Fprintf(&table, row, "milliseconds, and in R", "times",
		"least", "median", "99 %", "slowest", "least", "median", "slowest")
	table.WriteString("|---|" + strings.Repeat("---:|", 8) + "\n")
	r := b.reference.quantile(0.5)
	reference := line{"R: Cholesky factor of 1000 rows, one thread", b.reference}
	for _, l := range slices.Concat([]line{reference}, b.lines) {
		in := func(unit time.Duration, share float64) string {
			return threeDigits(float64(l.took.quantile(share)) / float64(unit))
		}
		ms := func(share float64) string { return in(time.Millisecond, share) }
		inR := func(share float64) string { return in(r, share) }
		fmt.Fprintf(&table, row, l.what, fmt.Sprint(len(l.took)),
			ms(0), ms(0.5), ms(0.99), ms(1), inR(0), inR(0.5), inR(1))
	}
	_, err := io.WriteString(out, table.String())
	return err
}

// threeDigits writes a number with three digits, or all of those before its point.
func threeDigits(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// measure is something that headroom bench measures, in one line or several.
type measure struct {
	name string
	run  func(ctx context.Context, s *benchServer) ([]line, error)
}

func (b *bench) measures() []measure {
	list := []measure{
		b.repeated(fixedModel, b.trials, "first ask after a restart", b.askAfterRestart),
		b.repeated(fixedModel, b.trials, "tell and ask", tellAndAsk),
	}
	for _, trials := range slices.Compact([]int{min(45, b.trials), min(300, b.trials), b.trials}) {
		list = append(list, b.repeated(defaults, trials, "ask", ask))
	}
	return append(list,
		measure{defaults.titled(b.trials, "first ask after an import"), b.askAfterImport},
		b.repeated(fixedModel, b.trials, "state after a tell", readAfterTell("/state")),
		b.repeated(fixedModel, b.trials, "state without gain", readAfterTell("/state?without_gain=true")),
		b.repeated(defaults, b.trials, "state after a tell", readAfterTell("/state")),
		b.repeated(defaults, b.trials, "state without gain", readAfterTell("/state?without_gain=true")),
		b.repeated(fixedModel, b.trials, "history after a tell", readAfterTell("/history")),
		measure{fmt.Sprintf("default: %d clients on one study", b.clients), b.crowd},
	)
}

// benchKind is a kind of study: its name, and the end of its definition.
type benchKind struct{ name, differing string }

var (
	fixedModel = benchKind{"rpol-ucb", `, "algorithm": {"name": "rpol-ucb", "horizon": 2000},
		"model": {"fit": "fixed", "outputs": "standardize", "lambda": 0.01}`}
	defaults = benchKind{name: "default"}
)

func (k benchKind) titled(trials int, what string) string {
	return fmt.Sprintf("%s, %d trials: %s", k.name, trials, what)
}

// benchStudy is a study on a server, of four parameters and two limits.
type benchStudy struct {
	*benchServer
	id      string
	waiting askedTrial // the last one asked for; its number is 0 if there is none
}

type askedTrial struct {
	Number     int
	Parameters map[string]float64
}

func makeStudy(ctx context.Context, s *benchServer, kind benchKind, trials int) (*benchStudy, error) {
	parameters := lists.Map([]string{"a", "b", "c", "d"}, func(name string) string {
		return fmt.Sprintf(`{"name": %q, "type": "real", "low": 0, "high": 1}`, name)
	})
	definition := `{"name": "Bench", "parameters": [` + strings.Join(parameters, ",") + `],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [
		{"metric": "impurity", "op": "<=", "threshold": 0.5},
		{"metric": "pressure", "op": "<=", "threshold": 0.7}], "seed": 1` + kind.differing + `}`
	made := &benchStudy{benchServer: s}
	var answer struct{ ID string }
	if err := s.call(ctx, http.MethodPost, "", jsonKind, definition, &answer); err != nil {
		return made, err
	}
	made.id = answer.ID
	if trials == 0 {
		return made, nil
	}
	path := "/" + made.id + "/import"
	return made, made.call(ctx, http.MethodPost, path, "text/csv", table(trials), nil)
}

const jsonKind = "application/json"

// table returns a CSV file of trials spread evenly over the parameters, by the multiples of the
// powers of 1/1.1673, the root of x⁵ = x + 1.
func table(trials int) string {
	var rows strings.Builder
	rows.WriteString("a,b,c,d,yield,impurity,pressure\n")
	for i := range trials {
		var x [4]float64
		for k, step := range []float64{0.8567, 0.7339, 0.6287, 0.5386} {
			_, x[k] = math.Modf(float64(i+1) * step)
		}
		yield, impurity, pressure := outcome(x[0], x[1], x[2], x[3])
		fmt.Fprintf(&rows, "%.4f,%.4f,%.4f,%.4f,%.5f,%.5f,%.5f\n",
			x[0], x[1], x[2], x[3], yield, impurity, pressure)
	}
	return rows.String()
}

func outcome(a, b, c, d float64) (yield, impurity, pressure float64) {
	return math.Sin(3*a) + b, a * c, d * math.Cos(b)
}

func (s *benchStudy) ask(ctx context.Context) error {
	var answer struct{ Trials []askedTrial }
	err := s.call(ctx, http.MethodPost, "/"+s.id+"/ask", jsonKind, "{}", &answer)
	if err == nil && len(answer.Trials) != 1 {
		err = fmt.Errorf("one trial was asked for, and %d came", len(answer.Trials))
	}
	if err == nil {
		s.waiting = answer.Trials[0]
	}
	return err
}

func (s *benchStudy) tell(ctx context.Context) error {
	x := s.waiting.Parameters
	yield, impurity, pressure := outcome(x["a"], x["b"], x["c"], x["d"])
	body := fmt.Sprintf(`{"metrics": {"yield": %g, "impurity": %g, "pressure": %g}}`,
		yield, impurity, pressure)
	path := fmt.Sprintf("/%s/trials/%d/tell", s.id, s.waiting.Number)
	s.waiting.Number = 0
	return s.call(ctx, http.MethodPost, path, jsonKind, body, nil)
}

func (s *benchStudy) round(ctx context.Context, asks, tells *durations) error {
	if err := asks.time(func() error { return s.ask(ctx) }); err != nil {
		return err
	}
	return tells.time(func() error { return s.tell(ctx) })
}

func (s *benchStudy) read(ctx context.Context, path string) error {
	return s.call(ctx, http.MethodGet, "/"+s.id+path, jsonKind, "", nil)
}

// repeated returns a measure of one line: do is called b.times times on a study whose first
// decision and readout are not measured.
func (b *bench) repeated(
	kind benchKind, trials int, what string,
	do func(ctx context.Context, study *benchStudy, t *durations) error,
) measure {
	name := kind.titled(trials, what)
	return measure{name, func(ctx context.Context, s *benchServer) ([]line, error) {
		study, err := makeStudy(ctx, s, kind, trials)
		if err != nil {
			return nil, err
		}
		if err := study.round(ctx, new(durations), new(durations)); err != nil {
			return nil, err
		}
		for _, path := range []string{"/state", "/history"} {
			if err := study.read(ctx, path); err != nil {
				return nil, err
			}
		}
		var times durations
		for range b.times {
			if err := do(ctx, study, &times); err != nil {
				return nil, err
			}
		}
		return []line{{name, times}}, nil
	}}
}

// ask asks for a trial, and tells its results before the next.
func ask(ctx context.Context, study *benchStudy, t *durations) error {
	return study.round(ctx, t, new(durations))
}

// quiet is how long a server is left alone before it is replaced, so that it has stored what it
// keeps of a long study.
const quiet = 8 * time.Second

func (b *bench) askAfterRestart(ctx context.Context, study *benchStudy, t *durations) error {
	if b.trials >= optimizer.KeptFrom {
		time.Sleep(quiet)
	}
	if err := study.restart(ctx); err != nil {
		return err
	}
	return ask(ctx, study, t)
}

func tellAndAsk(ctx context.Context, study *benchStudy, t *durations) error {
	if study.waiting.Number == 0 {
		if err := study.ask(ctx); err != nil {
			return err
		}
	}
	return t.time(func() error {
		if err := study.tell(ctx); err != nil {
			return err
		}
		return study.ask(ctx)
	})
}

// readAfterTell reads a path of a study in which a trial was just asked for and told.
func readAfterTell(path string) func(ctx context.Context, study *benchStudy, t *durations) error {
	return func(ctx context.Context, study *benchStudy, t *durations) error {
		if err := study.round(ctx, new(durations), new(durations)); err != nil {
			return err
		}
		return t.time(func() error { return study.read(ctx, path) })
	}
}

// mostImports is how often imports are measured at most: each is of a study of its own.
const mostImports = 5

// askAfterImport asks default studies that were just imported, so that the first fits of all
// metrics are waited for.
func (b *bench) askAfterImport(ctx context.Context, s *benchServer) ([]line, error) {
	var times durations
	for range min(b.times, mostImports) {
		study, err := makeStudy(ctx, s, defaults, b.trials)
		if err != nil {
			return nil, err
		}
		if err := ask(ctx, study, &times); err != nil {
			return nil, err
		}
	}
	return []line{{defaults.titled(b.trials, "first ask after an import"), times}}, nil
}

const trialsOfClient = 5

// crowd has many clients work on one default study, each asking for a trial, telling its results
// and asking again at once.
func (b *bench) crowd(ctx context.Context, s *benchServer) ([]line, error) {
	study, err := makeStudy(ctx, s, defaults, 0)
	if err != nil {
		return nil, err
	}
	asks, tells := make([]durations, b.clients), make([]durations, b.clients)
	var clients errgroup.Group
	for client := range b.clients {
		own := *study
		clients.Go(func() error {
			for range trialsOfClient {
				if err := own.round(ctx, &asks[client], &tells[client]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := clients.Wait(); err != nil {
		return nil, err
	}
	with := fmt.Sprintf("default, %d clients on one study: ", b.clients)
	return []line{
		{with + "ask", slices.Concat(asks...)}, {with + "tell", slices.Concat(tells...)},
	}, nil
}

// benchServer is a server on a database of its own.
type benchServer struct {
	store  *db.DB
	token  string
	client *http.Client

	address string
	stop    func() error
}

// withSite calls do with such a server, whose database is removed afterwards.
func withSite(ctx context.Context, do func(s *benchServer) error) error {
	folder, err := os.MkdirTemp("", "headroom-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	return withStore(ctx, config{dataDir: folder}, func(store *db.DB) error {
		if err := store.Keep(); err != nil {
			return err
		}
		// Answers come as they are, which is how the Python client asks.
		transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
		s := &benchServer{store: store, client: &http.Client{Transport: transport}}
		bench := account.Identity{Kind: account.BySession, Name: "headroom bench", Role: account.Admin}
		want := account.NewToken{Name: bench.Name, Role: account.Admin}
		if _, s.token, err = store.Accounts.CreateToken(ctx, bench, want); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		return errors.Join(do(s), s.stop())
	})
}

func (s *benchServer) start(ctx context.Context) error {
	c := config{listen: "127.0.0.1:0"}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	s.address = c.public(listener.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serveRequests(ctx, c, listener, s.store, s.address) }()
	s.stop = func() error {
		cancel()
		s.client.CloseIdleConnections()
		return <-ended
	}
	return ready(ctx, s.client, s.address)
}

// restart replaces the server by one with nothing cached, and collects the garbage, which a new
// process would not have.
func (s *benchServer) restart(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	runtime.GC()
	return nil
}

// call makes a request, with a body of that type, and decodes the answer into answer unless that is
// nil.
func (s *benchServer) call(ctx context.Context, method, path, kind, body string, answer any) error {
	address := s.address + "/api/v1/studies" + path
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", kind)
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	if err := refusal(response); err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
