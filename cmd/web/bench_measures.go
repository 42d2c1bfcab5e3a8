package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"headroom/internal/optimizer"
)

// measure is something that headroom bench measures; it may make more than one line.
type measure struct {
	name string
	run  func(ctx context.Context, s *site) ([]line, error)
}

// measures is everything that can be measured.
func (b *bench) measures() []measure {
	long := fmt.Sprintf(", %d trials", b.trials)
	list := []measure{
		b.single("rpol-ucb"+long+": first ask after a restart", b.askAfterRestart),
		b.single("rpol-ucb"+long+": tell and ask", b.tellAndAsk),
	}
	for _, trials := range slices.Compact([]int{45, 300, b.trials}) {
		if trials <= b.trials {
			list = append(list, b.single(fmt.Sprintf("default, %d trials: ask", trials), b.ask(trials)))
		}
	}
	return append(list,
		b.single("default"+long+": first ask after an import", b.askAfterImport),
		b.single("rpol-ucb"+long+": state after a tell", b.readAfterTell(fixedModel, "/state")),
		b.single("rpol-ucb"+long+": state without gain", b.readAfterTell(fixedModel, "/state?without_gain=true")),
		b.single("default"+long+": state after a tell", b.readAfterTell(defaults, "/state")),
		b.single("default"+long+": state without gain", b.readAfterTell(defaults, "/state?without_gain=true")),
		b.single("rpol-ucb"+long+": history after a tell", b.readAfterTell(fixedModel, "/history")),
		measure{fmt.Sprintf("default: %d clients on one study", b.clients), b.crowd},
	)
}

// single is a measure of one line.
func (b *bench) single(name string, run func(ctx context.Context, s *site) (took, error)) measure {
	return measure{name, func(ctx context.Context, s *site) ([]line, error) {
		times, err := run(ctx, s)
		return []line{{name, times}}, err
	}}
}

// What the studies differ in: rpol-ucb on a fixed model, and what a study gets that says nothing.
const (
	fixedModel = `, "algorithm": {"name": "rpol-ucb", "horizon": 2000},
		"model": {"fit": "fixed", "outputs": "standardize", "lambda": 0.01}`
	defaults = ``
)

// benchStudy is a study that a server has, of four parameters and two limits.
type benchStudy struct {
	*site
	id string
}

// askedTrial is a trial that was asked for.
type askedTrial struct {
	Number     int
	Parameters map[string]float64
}

// makeStudy makes a study with so many trials, which are imported.
func makeStudy(ctx context.Context, s *site, differing string, trials int) (benchStudy, error) {
	var parameters []string
	for _, name := range []string{"a", "b", "c", "d"} {
		parameters = append(parameters, fmt.Sprintf(
			`{"name": %q, "type": "real", "low": 0, "high": 1}`, name))
	}
	definition := `{"name": "Bench", "parameters": [` + strings.Join(parameters, ",") + `],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [
		{"metric": "impurity", "op": "<=", "threshold": 0.5},
		{"metric": "pressure", "op": "<=", "threshold": 0.7}], "seed": 1` + differing + `}`
	made := benchStudy{site: s}
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

// table is a CSV file of trials spread evenly over the parameters, by the multiples of the powers
// of 1/1.1673, the root of x⁵ = x + 1.
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

// outcome is what comes of a trial.
func outcome(a, b, c, d float64) (yield, impurity, pressure float64) {
	return math.Sin(3*a) + b, a * c, d * math.Cos(b)
}

// ask asks for a trial.
func (s benchStudy) ask(ctx context.Context) (askedTrial, error) {
	var answer struct{ Trials []askedTrial }
	err := s.call(ctx, http.MethodPost, "/"+s.id+"/ask", jsonKind, "{}", &answer)
	if err == nil && len(answer.Trials) != 1 {
		err = fmt.Errorf("one trial was asked for, and %d came", len(answer.Trials))
	}
	if err != nil {
		return askedTrial{}, err
	}
	return answer.Trials[0], nil
}

// askTimed asks for a trial, and takes down how long that took.
func (s benchStudy) askTimed(ctx context.Context, t *took) (trial askedTrial, err error) {
	err = t.time(func() error { trial, err = s.ask(ctx); return err })
	return trial, err
}

// tell tells what came of a trial.
func (s benchStudy) tell(ctx context.Context, trial askedTrial) error {
	x := trial.Parameters
	yield, impurity, pressure := outcome(x["a"], x["b"], x["c"], x["d"])
	body := fmt.Sprintf(`{"metrics": {"yield": %g, "impurity": %g, "pressure": %g}}`,
		yield, impurity, pressure)
	path := fmt.Sprintf("/%s/trials/%d/tell", s.id, trial.Number)
	return s.call(ctx, http.MethodPost, path, jsonKind, body, nil)
}

// read reads what the API says of the study.
func (s benchStudy) read(ctx context.Context, path string) error {
	return s.call(ctx, http.MethodGet, "/"+s.id+path, jsonKind, "", nil)
}

// quiet is how long a server is left alone before it is replaced, so that it has kept what it keeps
// of a long study behind the requests.
const quiet = 8 * time.Second

// askAfterRestart asks a server that has nothing at hand, as often as the bench is told to; each
// trial is told before the next.
func (b *bench) askAfterRestart(ctx context.Context, s *site) (took, error) {
	return b.rounds(ctx, s, fixedModel, b.trials, func(t *took, study benchStudy) error {
		if b.trials >= optimizer.KeptFrom {
			time.Sleep(quiet)
		}
		if err := s.restart(ctx); err != nil {
			return err
		}
		trial, err := study.askTimed(ctx, t)
		if err != nil {
			return err
		}
		return study.tell(ctx, trial)
	})
}

// tellAndAsk tells the results of a trial and asks for the next, one after the other.
func (b *bench) tellAndAsk(ctx context.Context, s *site) (took, error) {
	var trial askedTrial
	return b.rounds(ctx, s, fixedModel, b.trials, func(t *took, study benchStudy) (err error) {
		if trial.Number == 0 {
			if trial, err = study.ask(ctx); err != nil {
				return err
			}
		}
		return t.time(func() error {
			if err := study.tell(ctx, trial); err != nil {
				return err
			}
			trial, err = study.ask(ctx)
			return err
		})
	})
}

// ask asks a default study that begins with so many trials; the first of its fits were made before.
func (b *bench) ask(trials int) func(ctx context.Context, s *site) (took, error) {
	return func(ctx context.Context, s *site) (took, error) {
		return b.rounds(ctx, s, defaults, trials, func(t *took, study benchStudy) error {
			trial, err := study.askTimed(ctx, t)
			if err != nil {
				return err
			}
			return study.tell(ctx, trial)
		})
	}
}

// mostImports is how often imports are measured at most: each is of a study of its own.
const mostImports = 5

// askAfterImport asks default studies that were just imported, so that the first fits of all
// metrics are waited for.
func (b *bench) askAfterImport(ctx context.Context, s *site) (times took, err error) {
	for range min(b.times, mostImports) {
		study, err := makeStudy(ctx, s, defaults, b.trials)
		if err != nil {
			return nil, err
		}
		if _, err := study.askTimed(ctx, &times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// readAfterTell reads what the API says at path of a study in which a trial was just asked for and
// told.
func (b *bench) readAfterTell(
	differing, path string,
) func(ctx context.Context, s *site) (took, error) {
	return func(ctx context.Context, s *site) (took, error) {
		return b.rounds(ctx, s, differing, b.trials, func(t *took, study benchStudy) error {
			trial, err := study.ask(ctx)
			if err != nil {
				return err
			}
			if err := study.tell(ctx, trial); err != nil {
				return err
			}
			return t.time(func() error { return study.read(ctx, path) })
		})
	}
}

// rounds makes a study, whose first decision and readout are not measured, and does something in it
// as often as the bench is told to.
func (b *bench) rounds(
	ctx context.Context, s *site, differing string, trials int,
	do func(t *took, study benchStudy) error,
) (times took, err error) {
	study, err := makeStudy(ctx, s, differing, trials)
	if err != nil {
		return nil, err
	}
	trial, err := study.ask(ctx)
	if err != nil {
		return nil, err
	}
	if err := study.tell(ctx, trial); err != nil {
		return nil, err
	}
	for _, path := range []string{"/state", "/history"} {
		if err := study.read(ctx, path); err != nil {
			return nil, err
		}
	}
	for range b.times {
		if err := do(&times, study); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// trialsOfClient is how many trials each of many clients asks for and tells.
const trialsOfClient = 5

// crowd has many clients work on one default study, each asking for a trial, telling its results
// and asking again at once.
func (b *bench) crowd(ctx context.Context, s *site) ([]line, error) {
	study, err := makeStudy(ctx, s, defaults, 0)
	if err != nil {
		return nil, err
	}
	asks, tells := make([]took, b.clients), make([]took, b.clients)
	var clients errgroup.Group
	for client := range b.clients {
		clients.Go(func() error {
			for range trialsOfClient {
				trial, err := study.askTimed(ctx, &asks[client])
				if err != nil {
					return err
				}
				if err := tells[client].time(func() error { return study.tell(ctx, trial) }); err != nil {
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
