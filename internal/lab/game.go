package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Game is one study to be played to its end.
type Game struct {
	Problem   *Problem
	Algorithm design.Algorithm // the server's default where it is left out
	Model     design.Model
	Start     int // rows drawn by seed and imported before the first ask
	Asks      int
	Batch     int // trials asked for at once; their results are told before the next request
	Delay     int // further requests before the results of one are told
	Noise     Noise
	Told      Told
	Mishaps   Mishaps
	Seed      uint64
	Outside   *Outside // plays in place of the service, and ignores Algorithm and Model
}

// Key identifies a game by everything that decides how it goes: its configuration, the truth, the
// engine, and the program, which distinguishes builds with the same engine.
func (g Game) Key(program string) (string, error) {
	engine := optimizer.Engine
	if g.Outside != nil {
		_, start := g.newWorld().rows()
		engine, program = "", g.Outside.key(start)
	}
	return digest(struct {
		Engine, Program, Truth                 string
		Study                                  design.Definition
		Start, Asks, Batch, Delay, Noise, Told any
		Mishaps                                Mishaps
	}{engine, program, g.Problem.fingerprint, g.definition(), g.Start, g.Asks, g.Batch, g.Delay, g.Noise, g.Told, g.Mishaps})
}

func (g Game) definition() design.Definition {
	d := g.Problem.Study
	horizon := d.Algorithm.Horizon
	d.Algorithm, d.Model, d.Seed = g.Algorithm, g.Model, g.Seed
	if d.SimulatedLab != "" && d.Algorithm.Horizon == 0 {
		d.Algorithm.Horizon = horizon
	}
	return d
}

// mostWells is how many wells the largest plate has.
const mostWells = 384

func (g Game) Check() error {
	switch {
	case g.Start < 0 || g.Start > 1000:
		return fmt.Errorf("%d rows to start with are impossible; 0 to 1000 are allowed", g.Start)
	case g.Asks < 1:
		return fmt.Errorf("%d asks are impossible; at least 1 is needed", g.Asks)
	case g.Batch < 1 || g.Batch > mostWells:
		return fmt.Errorf("%d trials at once are impossible; 1 to %d can be asked for", g.Batch, mostWells)
	case g.Delay < 0:
		return fmt.Errorf("a delay of %d requests is impossible; it must be at least 0", g.Delay)
	case !slices.Contains(NoiseKinds, g.Noise.Kind):
		return fmt.Errorf("there is no noise %q; there are %s", g.Noise.Kind, strings.Join(NoiseKinds, ", "))
	case !(g.Noise.Size >= 0) || math.IsInf(g.Noise.Size, 1):
		return fmt.Errorf("a noise of %g standard deviations is impossible; it must be at least 0", g.Noise.Size)
	case g.Seed > design.MaxSeed:
		return fmt.Errorf("seed %d is too large; it must be at most %d", g.Seed, uint64(design.MaxSeed))
	}
	if err := g.Told.check(g.Problem, g.Noise); err != nil {
		return err
	}
	if err := g.Mishaps.check(); err != nil {
		return err
	}
	if g.Mishaps.Offset > 0 && (g.Outside != nil || g.Problem.optimum == nil || slices.ContainsFunc(g.Problem.Study.Parameters, func(q design.Parameter) bool { return q.Type == design.Remainder })) {
		return errors.New("an offset needs numbers that can be set to anything in their range, and a study that is told what was set: no table, no mixture, and no program outside")
	}
	if err := g.checkDemo(); err != nil {
		return err
	}
	_, err := g.definition().Check()
	return err
}

// checkDemo refuses what the demo's simulated lab does not do.
func (g Game) checkDemo() error {
	if g.Problem.Study.SimulatedLab == "" {
		return nil
	}
	if g.Outside != nil || g.Start != 0 || g.Batch != 1 || g.Delay != 0 || g.Noise.Kind != OwnNoise || g.Told != ToldTrue || g.Mishaps != (Mishaps{}) {
		return errors.New("the demo's own lab answers it, and no tool outside: it starts from nothing (-start 0), one trial at a time, with its own noise, tells it (-told true), and nothing fails or is late")
	}
	return nil
}

const cacheBytes = 64 << 20

// Play plays the game with the service on a ledger in memory, or with the program outside. asked,
// if not nil, is called after every ask.
func (g Game) Play(ctx context.Context, asked func()) (*Record, error) {
	if g.Outside != nil {
		return g.playOutside(ctx, asked)
	}
	service := study.NewService(new(memoryStore), study.Options{CacheBytes: cacheBytes})
	defer service.Stop()
	return g.PlayOn(ctx, service, asked)
}

// PlayOn plays the game on a service.
func (g Game) PlayOn(ctx context.Context, service *study.Service, asked func()) (*Record, error) {
	snap, err := service.Create(ctx, rehearsalCommand, g.definition())
	if err != nil {
		return nil, err
	}
	s := servicePlayer{service, snap}
	if g.Problem.Study.SimulatedLab != "" {
		return g.playWith(ctx, simulatedLabPlayer{s}, asked)
	}
	return g.playWith(ctx, s, asked)
}

type studyPlayer interface {
	player[*ledger.Trial]
	// begin takes the rows that were measured before the first ask, and their results.
	begin(ctx context.Context, rows []*ledger.Trial, results []outcome) error
	// judge adds what the player says in the end to the record.
	judge(ctx context.Context, record *Record) error
}

func (g Game) playWith(ctx context.Context, p studyPlayer, asked func()) (*Record, error) {
	b := g.newWorld()
	rows, results := b.rows()
	if err := p.begin(ctx, rows, results); err != nil {
		return nil, err
	}
	rest, err := play(ctx, b, p, g.Asks, g.Batch, asked)
	if err != nil {
		return nil, err
	}
	for _, told := range rest {
		if err := p.learn(ctx, told); err != nil {
			return nil, err
		}
	}
	return b.record, p.judge(ctx, b.record)
}

// studyWorld is the laboratory of a game under way.
type studyWorld struct {
	Game
	visits map[string]int // by keyOf, how often settings were measured
	tried  []design.Settings
	record *Record
}

func (g Game) newWorld() *studyWorld {
	return &studyWorld{Game: g, visits: map[string]int{}, record: &Record{Seed: g.Seed}}
}

func (b *studyWorld) measure(at design.Settings) Trial {
	key := keyOf(at)
	truth := b.Problem.truth(at)
	t := Trial{
		Settings: at, Known: slices.ContainsFunc(b.tried, func(other design.Settings) bool { return b.Problem.near(at, other) }),
		Truth: truth, Feasible: b.Problem.feasible(truth),
	}
	t.Read = b.Problem.reading(at, b.visits[key], b.Noise, b.Seed)
	t.Told = b.Game.Told.of(b.Problem.deviation(at, b.Noise))
	b.visits[key]++
	b.tried = append(b.tried, at)
	return t
}

// rows measures rows drawn by the seed, as a lab brings what it has measured before.
func (b *studyWorld) rows() (rows []*ledger.Trial, results []outcome) {
	for _, at := range b.Problem.draw(b.Start, rand.New(rand.NewPCG(b.Seed, 0))) {
		t := b.measure(at)
		b.record.Start = append(b.record.Start, t)
		rows = append(rows, &ledger.Trial{Parameters: at})
		results = append(results, resultsOf(len(rows), t, b.Problem.metrics))
	}
	return rows, results
}

// visit measures a trial, unless the study's own simulated lab has answered it.
func (b *studyWorld) visit(chosen *ledger.Trial, seconds float64, tell func(late int, o outcome)) {
	used := b.Mishaps.offset(chosen.Parameters, b.Problem)
	nth := b.visits[keyOf(used)]
	t := b.measure(used)
	b.Mishaps.apply(&t, b.Problem, nth, b.Seed)
	t.Seconds = seconds
	if chosen.Decision != nil {
		t.Reason, t.Chance, t.Improvement = chosen.Decision.Reason, chosen.Decision.FeasibilityProbability, b.improvement(chosen.Decision, t.Truth)
	}
	switch {
	case b.Problem.Study.SimulatedLab != "":
		t.Read, t.Told = Values{}, Values{}
		for name, m := range chosen.Metrics {
			t.Read[name], t.Told[name] = m.Value, *m.StdDev
		}
	case t.Failed != "":
		tell(b.Delay, outcome{study.NumberedTelling{Number: chosen.Number}, t.Failed})
	default:
		results := func(of []string) outcome {
			o := resultsOf(chosen.Number, t, of)
			if b.Mishaps.Offset > 0 {
				o.Parameters = used
			}
			return o
		}
		if now := t.toldAtOnce(b.Problem.metrics); len(now) > 0 {
			tell(b.Delay, results(now))
		}
		if len(t.Late) > 0 {
			tell(b.Delay+1, results(t.Late))
		}
	}
	b.record.Asks = append(b.record.Asks, t)
}

// improvement returns that of a decision, nil if it has none or the objective is the same
// everywhere.
func (b *studyWorld) improvement(d *ledger.Decision, here Values) *Improvement {
	spread := b.Problem.Spread[b.Problem.Study.Objective.Metric]
	if d.ExpectedImprovement == nil || spread == 0 {
		return nil
	}
	best := b.Problem.truth(b.tried[d.Incumbent-1])
	return &Improvement{Said: *d.ExpectedImprovement / spread, True: max(0, b.Problem.reward(here)-b.Problem.reward(best)) / spread}
}

func resultsOf(number int, t Trial, of []string) outcome {
	metrics := map[string]ledger.Reading{}
	for _, name := range of {
		reading := ledger.Reading{Value: t.Read[name]}
		if sd, told := t.Told[name]; told {
			reading.StdDev = &sd
		}
		metrics[name] = reading
	}
	return outcomeWith(number, metrics)
}

func (g Game) playOutside(ctx context.Context, asked func()) (*Record, error) {
	checked, err := g.definition().Check()
	if err != nil {
		return nil, err
	}
	compiled, err := design.Compile(checked)
	if err != nil {
		return nil, err
	}
	c, err := g.Outside.start(ctx)
	if err != nil {
		return nil, err
	}
	defer c.kill()
	if c.name != g.Outside.Name {
		return nil, fmt.Errorf("it calls itself %q now, and %q before", c.name, g.Outside.Name)
	}
	record, err := g.playWith(ctx, &outsidePlayer{conversation: c, compiled: compiled, next: message{Study: &compiled.Def, Trials: []outcome{}}}, asked)
	if err != nil {
		return nil, err
	}
	return record, c.end()
}

// Case is a game without algorithm and seed.
type Case struct {
	Name string
	Game
	// Untold names the same case without told standard deviations, "" if there is none.
	Untold string
}

// player chooses what to measure: the optimizer, a study on the service, a program outside, or an
// opponent that only simulations have.
type player[Choice any] interface {
	choose(ctx context.Context, count int) ([]Choice, error)
	// learn takes the outcomes since the request before, perhaps none.
	learn(ctx context.Context, told []outcome) error
}

// world is what is measured. visit carries out a choice, which took so many seconds, and reports
// outcomes, each so many requests late.
type world[Choice any] interface {
	visit(at Choice, seconds float64, tell func(late int, o outcome))
}

// play requests trials, batch at once, until there are as many as wanted, and tells the player the
// outcomes when they are due. It returns those that are still to be told, in their order. step, if
// not nil, is called after every trial.
func play[Choice any](ctx context.Context, w world[Choice], p player[Choice], trials, batch int, step func()) ([][]outcome, error) {
	due := map[int][]outcome{}
	for request, asked := 0, 0; asked < trials; request++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		chosen, err := p.choose(ctx, min(batch, trials-asked))
		if err != nil {
			return nil, err
		}
		seconds := time.Since(began).Seconds() / float64(len(chosen))
		for _, at := range chosen {
			w.visit(at, seconds, func(late int, o outcome) { due[request+late] = append(due[request+late], o) })
		}
		if err := p.learn(ctx, due[request]); err != nil {
			return nil, err
		}
		delete(due, request)
		for range chosen {
			if asked++; step != nil {
				step()
			}
		}
	}
	return lists.Map(slices.Sorted(maps.Keys(due)), func(request int) []outcome { return due[request] }), nil
}

// Trial is one trial played.
type Trial struct {
	Settings design.Settings `json:"settings"`
	Read     Values          `json:"read"`
	Told     Values          `json:"told,omitempty"` // standard deviations
	Truth    Values          `json:"truth"`
	Feasible bool            `json:"feasible"`         // in truth
	Failed   ledger.Cause    `json:"failed,omitempty"` // "" where it did not
	Late     []string        `json:"late,omitempty"`   // metrics told with the next results
	Unread   []string        `json:"unread,omitempty"` // metrics never told
	Known    bool            `json:"known"`            // the same settings, or nearly the same, were measured before
	Reason   string          `json:"reason,omitempty"`
	Chance   *float64        `json:"chance,omitempty"` // predicted probability that every limit is kept
	Seconds  float64         `json:"seconds"`          // its share of the request
	// Improvement is over the trial that it was compared with, if one was predicted.
	Improvement *Improvement `json:"improvement,omitempty"`
}

// Improvement is the expected improvement of the objective that was predicted for a trial, and the
// true one, 0 if there is none, in standard deviations of the objective over the settings.
type Improvement struct {
	Said float64 `json:"said"`
	True float64 `json:"true"`
}

// found reports whether the trial's settings can be used.
func (t Trial) found() bool { return t.Feasible && t.Failed == "" }

// outside reports whether the trial ran outside a limit; nothing is measured in one that fails.
func (t Trial) outside() bool { return !t.Feasible && t.Failed == "" }

func (t Trial) repeats() bool { return t.Known }

func (t Trial) fails() bool { return t.Failed != "" }

// toldAtOnce returns the metrics that are neither late nor lost.
func (t Trial) toldAtOnce(metrics []string) []string {
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return slices.Contains(t.Late, m) || slices.Contains(t.Unread, m) })
}

// Record is a finished game.
type Record struct {
	Seed  uint64  `json:"seed"`
	Start []Trial `json:"start"`
	Asks  []Trial `json:"asks"`
	Looks []Look  `json:"looks"` // the last at the end
	// Shown is the calibration that the product shows at the end, by metric.
	Shown   map[string]optimizer.Calibration `json:"shown"`
	Drifted []string                         `json:"drifted,omitempty"` // metrics of which a drift was signalled at some time
}

// trials returns all trials by number, from 1.
func (r *Record) trials() []Trial { return slices.Concat(r.Start, r.Asks) }

func (r *Record) end() Look { return r.Looks[len(r.Looks)-1] }

// lookAt lists the numbers of trials after which somebody looks at the study, besides the end.
var lookAt = []int{12, 24, 40}

// Look is what the product says when a study has so many trials, including those that are waiting.
type Look struct {
	Trials int `json:"trials"`
	// Recommended is the number of the recommended trial, counted from 1 with the start's first; 0
	// for none.
	Recommended int                  `json:"recommended"`
	Risk        *float64             `json:"risk,omitempty"` // predicted probability that it breaks a limit
	Best        *optimizer.BestRange `json:"best,omitempty"` // interval of the best value within the limits
	// Enough tells that no more than Little, in the objective's unit, was said to be left to gain.
	Enough bool    `json:"enough,omitempty"`
	Little float64 `json:"little,omitempty"`
}

// outcome is what came of a trial: readings, of which some may come later than others, or a
// failure.
type outcome struct {
	study.NumberedTelling
	Failed ledger.Cause `json:"failed,omitempty"`
}

func outcomeWith(number int, metrics map[string]ledger.Reading) outcome {
	return outcome{NumberedTelling: study.NumberedTelling{Number: number, Telling: ledger.Telling{Metrics: metrics}}}
}

func readingsIn(told []outcome) Values {
	all := Values{}
	for _, o := range told {
		for name, reading := range o.Metrics {
			all[name] = reading.Value
		}
	}
	return all
}
