package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

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
	Told      Told // of the standard deviation of a reading
	Mishaps   Mishaps
	Seed      uint64
	Outside   *Outside // plays in place of the service, whose algorithm and model it ignores
}

// Trial is one trial played.
type Trial struct {
	Settings  design.Settings `json:"settings"`
	Candidate *int            `json:"candidate,omitempty"`
	Read      Values          `json:"read"`
	Told      Values          `json:"told,omitempty"` // standard deviations told with it
	Truth     Values          `json:"truth"`
	Feasible  bool            `json:"feasible"` // in truth
	Failed    Cause           `json:"failed,omitempty"`
	Late      []string        `json:"late,omitempty"`   // metrics told with the next results
	Unread    []string        `json:"unread,omitempty"` // metrics never told
	Known     bool            `json:"known"`            // the setting, or one that is nearly the same, had been tried or asked for before
	Reason    string          `json:"reason,omitempty"`
	// Ahead is what was predicted of the reading, by metric, before the trial was chosen; nothing before there was a model.
	Ahead   map[string]study.Predicted `json:"ahead,omitempty"`
	Seconds float64                    `json:"seconds"` // its share of the request
}

// Record is a game played.
type Record struct {
	Seed  uint64  `json:"seed"`
	Start []Trial `json:"start"`
	Asks  []Trial `json:"asks"`
	Looks []Look  `json:"looks"` // at what the product says, the last at the end
	// Shown is the calibration that the product shows at the end, by metric.
	Shown map[string]study.Calibration `json:"shown"`
}

// trials are all trials by number, from 1.
func (r *Record) trials() []Trial { return slices.Concat(r.Start, r.Asks) }

// end is the last look.
func (r *Record) end() Look { return r.Looks[len(r.Looks)-1] }

// Key names a game by everything that decides how it goes: its configuration, the truth it plays against, the engine, and the program, which tells
// builds of one engine apart.
func (g Game) Key(program string) (string, error) {
	engine := optimizer.Engine
	if g.Outside != nil {
		engine, program = "", g.Outside.key(g)
	}
	text, err := json.Marshal(struct {
		Engine, Program, Truth                 string
		Study                                  design.Definition
		Start, Asks, Batch, Delay, Noise, Told any
		Mishaps                                Mishaps
	}{engine, program, g.Problem.fingerprint, g.definition(), g.Start, g.Asks, g.Batch, g.Delay, g.Noise, g.Told, g.Mishaps})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// definition is the study that is played.
func (g Game) definition() design.Definition {
	d := g.Problem.Study
	horizon := d.Algorithm.Horizon
	d.Algorithm, d.Model, d.Seed = g.Algorithm, g.Model, g.Seed
	if d.SimulatedLab != "" && d.Algorithm.Horizon == 0 {
		d.Algorithm.Horizon = horizon
	}
	return d
}

// Check tells what is wrong with a game without playing it.
func (g Game) Check() error {
	switch {
	case g.Start < 0 || g.Start > 1000:
		return fmt.Errorf("%d rows to start with are impossible; 0 to 1000 are allowed", g.Start)
	case g.Asks < 1:
		return fmt.Errorf("%d asks are impossible; at least 1 is needed", g.Asks)
	case g.Batch < 1 || g.Batch > 50:
		return fmt.Errorf("%d trials at once are impossible; 1 to 50 can be asked for", g.Batch)
	case g.Delay < 0:
		return fmt.Errorf("a delay of %d requests is impossible; it must be at least 0", g.Delay)
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
	if err := g.checkDemo(); err != nil {
		return err
	}
	_, err := g.definition().Check()
	return err
}

// cacheBytes bounds what one game keeps of its past.
const cacheBytes = 64 << 20

// Play plays the game on a ledger in memory, or with the program outside.
func (g Game) Play(ctx context.Context, asked func()) (*Record, error) {
	if g.Outside != nil {
		return g.playOutside(ctx, asked)
	}
	service := study.NewService(newLedgers(), study.Options{CacheBytes: cacheBytes})
	defer service.Stop()
	return g.PlayOn(ctx, service, asked)
}

// PlayOn plays the game on a service. asked, when not nil, is called after every ask.
func (g Game) PlayOn(ctx context.Context, service *study.Service, asked func()) (*Record, error) {
	snap, err := service.Create(ctx, by, g.definition())
	if err != nil {
		return nil, err
	}
	return g.playWith(ctx, &served{service, snap}, asked)
}

func (g Game) playWith(ctx context.Context, chooser chooser, asked func()) (*Record, error) {
	p := g.session()
	p.chooser = chooser
	rows, results := p.rows()
	if err := p.begin(ctx, rows, results); err != nil {
		return nil, err
	}
	for len(p.record.Asks) < g.Asks {
		before := len(p.record.Asks)
		if err := p.step(ctx); err != nil {
			return nil, err
		}
		if err := p.tell(ctx, g.Delay); err != nil {
			return nil, err
		}
		for range len(p.record.Asks) - before {
			if asked != nil {
				asked()
			}
		}
	}
	if err := p.tell(ctx, 0); err != nil {
		return nil, err
	}
	if err := p.report(ctx, nil); err != nil {
		return nil, err
	}
	return p.record, p.judge(ctx, p.record)
}

// chooser decides where to measure: the service, or a program outside.
type chooser interface {
	// begin takes the rows that were measured before the first ask, and what was read in them.
	begin(ctx context.Context, rows []*ledger.Trial, results []study.NumberedTelling) error
	choose(ctx context.Context, count int) ([]*ledger.Trial, error)
	learn(ctx context.Context, results []study.NumberedTelling) error
	fail(ctx context.Context, number int, cause Cause) error
	// judge adds what is said of the game at its end.
	judge(ctx context.Context, record *Record) error
}

// served is a study on the service.
type served struct {
	service *study.Service
	created *ledger.Snapshot
}

var by = study.Command{By: "rehearsal"}

// session is a game under way.
type session struct {
	Game
	chooser
	visits  map[string]int // how often a setting was tried or asked for
	tried   []design.Settings
	record  *Record
	waiting [][]int // trials by request, oldest first
	late    []study.NumberedTelling
}

func (g Game) session() *session {
	return &session{Game: g, visits: map[string]int{}, record: &Record{Seed: g.Seed}}
}

// visit reads a setting once more.
func (p *session) visit(at design.Settings, candidate *int) Trial {
	key := keyOf(at)
	truth := p.Problem.truth(at, candidate)
	t := Trial{
		Settings: at, Candidate: candidate, Known: slices.ContainsFunc(p.tried, func(other design.Settings) bool { return p.Problem.near(at, other) }),
		Truth: truth, Feasible: p.Problem.feasible(truth),
	}
	t.Read = p.Problem.reading(at, candidate, p.visits[key], p.Noise, p.Seed)
	t.Told = p.Game.Told.of(p.Problem.deviation(at, candidate, p.Noise))
	p.visits[key]++
	p.tried = append(p.tried, at)
	return t
}

// rows measures rows drawn by seed, as a lab brings what it has measured before.
func (p *session) rows() (rows []*ledger.Trial, results []study.NumberedTelling) {
	for _, at := range p.Problem.draw(p.Start, rand.New(rand.NewPCG(p.Seed, 0))) {
		t := p.visit(at, p.Problem.candidate(at))
		p.record.Start = append(p.record.Start, t)
		rows = append(rows, &ledger.Trial{Parameters: at})
		results = append(results, telling(len(rows), t, p.Problem.metrics))
	}
	return rows, results
}

// begin imports the rows and tells what was read in them: a table has no place for standard deviations.
func (s *served) begin(ctx context.Context, rows []*ledger.Trial, results []study.NumberedTelling) error {
	if len(rows) == 0 {
		return nil
	}
	var table bytes.Buffer
	if err := study.WriteCSV(&table, s.created.Definition, rows, nil); err != nil {
		return err
	}
	if _, err := s.service.ImportCSV(ctx, by, s.created.ID, &table, study.ImportOptions{}); err != nil {
		return err
	}
	return s.learn(ctx, results)
}

// step makes one request, or lets the study's own simulated lab do so and answer it.
func (p *session) step(ctx context.Context) error {
	if s, ok := p.chooser.(*served); ok && p.Problem.Study.SimulatedLab != "" {
		return p.simulate(ctx, s)
	}
	return p.ask(ctx)
}

// ask makes one request.
func (p *session) ask(ctx context.Context) error {
	count := min(p.Batch, p.Asks-len(p.record.Asks))
	began := time.Now()
	trials, err := p.choose(ctx, count)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds() / float64(count)
	var numbers []int
	for _, chosen := range trials {
		nth := p.visits[keyOf(chosen.Parameters)]
		t := p.visit(chosen.Parameters, chosen.Candidate)
		p.Mishaps.befall(&t, p.Problem, nth, p.Seed)
		t.Seconds = took
		if chosen.Decision != nil {
			t.Reason = chosen.Decision.Reason
		}
		p.record.Asks = append(p.record.Asks, t)
		numbers = append(numbers, chosen.Number)
	}
	p.waiting = append(p.waiting, numbers)
	return nil
}

func (s *served) choose(ctx context.Context, count int) ([]*ledger.Trial, error) {
	snap, numbers, err := s.service.Ask(ctx, by, s.created.ID, study.Ask{Count: &count})
	var trials []*ledger.Trial
	for _, n := range numbers {
		trials = append(trials, snap.Trial(n))
	}
	return trials, err
}

// telling is what a lab says of some metrics of a trial.
func telling(number int, t Trial, of []string) study.NumberedTelling {
	metrics := map[string]ledger.Reading{}
	for _, name := range of {
		reading := ledger.Reading{Value: t.Read[name]}
		if sd, told := t.Told[name]; told {
			reading.StdDev = &sd
		}
		metrics[name] = reading
	}
	return study.NumberedTelling{Number: number, Telling: ledger.Telling{Metrics: metrics}}
}

// tell reports the results of all requests but the last few.
func (p *session) tell(ctx context.Context, keep int) error {
	for len(p.waiting) > keep {
		if err := p.report(ctx, p.waiting[0]); err != nil {
			return err
		}
		p.waiting = p.waiting[1:]
	}
	return nil
}

// report tells what came of trials, and what is late of those before.
func (p *session) report(ctx context.Context, numbers []int) error {
	results, late := p.late, []study.NumberedTelling(nil)
	trials := p.record.trials()
	for _, n := range numbers {
		t := trials[n-1]
		if t.Failed != "" {
			if err := p.fail(ctx, n, t.Failed); err != nil {
				return err
			}
			continue
		}
		if now := t.toldAtOnce(p.Problem.metrics); len(now) > 0 {
			results = append(results, telling(n, t, now))
		}
		if len(t.Late) > 0 {
			late = append(late, telling(n, t, t.Late))
		}
	}
	p.late = late
	if len(results) == 0 {
		return nil
	}
	return p.learn(ctx, results)
}

func (s *served) learn(ctx context.Context, results []study.NumberedTelling) error {
	_, err := s.service.TellMany(ctx, by, s.created.ID, results)
	return err
}

// judge adds what the product says: its recommendations, how its predictions held, and what it had predicted of every trial.
func (s *served) judge(ctx context.Context, record *Record) error {
	snap, err := s.service.Snapshot(ctx, s.created.ID, 0)
	if err != nil {
		return err
	}
	state, err := s.service.StateOf(ctx, snap)
	if err != nil {
		return err
	}
	record.Shown = map[string]study.Calibration{}
	for metric, shown := range state.Calibration {
		shown.Residuals = nil // one by one they belong to the page
		record.Shown[metric] = shown
	}
	for _, at := range lookAt {
		if len(record.Start) <= at && at < len(snap.Trials) {
			if err := s.look(ctx, record, snap, at); err != nil {
				return err
			}
		}
	}
	last, err := s.lookAt(ctx, snap, len(snap.Trials))
	if err != nil {
		return err
	}
	record.Looks = append(record.Looks, last)
	rows, err := s.service.HistoryOf(ctx, snap)
	if err != nil {
		return err
	}
	for i := range record.Asks {
		number := len(record.Start) + i + 1
		record.Asks[i].Ahead = predictions(snap, rows[number-1])
	}
	return nil
}

// predictions are what was predicted of a trial before it was chosen; nil where there was no model yet.
func predictions(snap *ledger.Snapshot, row study.HistoryRow) map[string]study.Predicted {
	var ahead map[string]study.Predicted
	for name, predicted := range row.Ahead {
		if predicted == nil || !modelled(snap, name, row.Number) {
			continue
		}
		if ahead == nil {
			ahead = map[string]study.Predicted{}
		}
		ahead[name] = *predicted
	}
	return ahead
}

// modelled tells whether predictions of the metric were made in its own units when the trial was chosen: with standardised outputs, none are before
// the first scale.
func modelled(snap *ledger.Snapshot, metric string, number int) bool {
	if snap.Definition.Model.Outputs != "standardize" {
		return true
	}
	for _, f := range snap.Fits {
		if f.From <= number && f.Metrics[metric].Count > 0 {
			return true
		}
	}
	return false
}

// candidate is the index of a setting among the candidates, nil where there are none.
func (p *Problem) candidate(at design.Settings) *int {
	for i, c := range p.Study.Candidates {
		if c.Equal(at) {
			return &i
		}
	}
	return nil
}
