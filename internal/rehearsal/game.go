package rehearsal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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
	Seed      uint64
}

// Trial is one trial played.
type Trial struct {
	Settings  design.Settings `json:"settings"`
	Candidate *int            `json:"candidate,omitempty"`
	Read      Values          `json:"read"`
	Truth     Values          `json:"truth"`
	Feasible  bool            `json:"feasible"` // in truth
	Known     bool            `json:"known"`    // the setting had been tried or asked for before
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
	// Recommended is the trial recommended at the end: the start's come first, counted from 1; 0 for none.
	Recommended int `json:"recommended"`
	// Shown is the calibration that the product shows at the end, by metric.
	Shown map[string]study.Calibration `json:"shown"`
}

// Key names a game by everything that decides how it goes: its configuration, the truth it plays against, the engine, and the program, which tells
// builds of one engine apart.
func (g Game) Key(program string) (string, error) {
	text, err := json.Marshal(struct {
		Engine, Program, Truth           string
		Study                            design.Definition
		Start, Asks, Batch, Delay, Noise any
	}{optimizer.Engine, program, g.Problem.fingerprint, g.definition(), g.Start, g.Asks, g.Batch, g.Delay, g.Noise})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// definition is the study that is played.
func (g Game) definition() design.Definition {
	d := g.Problem.Study
	d.Algorithm, d.Model, d.Seed = g.Algorithm, g.Model, g.Seed
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
	_, err := g.definition().Check()
	return err
}

// cacheBytes bounds what one game keeps of its past.
const cacheBytes = 64 << 20

// Play plays the game on a ledger in memory.
func (g Game) Play(ctx context.Context, asked func()) (*Record, error) {
	service := study.NewService(newLedgers(), study.Options{CacheBytes: cacheBytes})
	defer service.Stop()
	return g.PlayOn(ctx, service, asked)
}

// PlayOn plays the game on a service. asked, when not nil, is called after every ask.
func (g Game) PlayOn(ctx context.Context, service *study.Service, asked func()) (*Record, error) {
	p := &player{Game: g, service: service, visits: map[string]int{}, record: &Record{Seed: g.Seed}}
	snap, err := service.Create(ctx, p.by(), g.definition())
	if err != nil {
		return nil, err
	}
	p.id = snap.ID
	if err := p.start(ctx, snap); err != nil {
		return nil, err
	}
	for len(p.record.Asks) < g.Asks {
		before := len(p.record.Asks)
		if err := p.ask(ctx); err != nil {
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
	return p.record, p.judge(ctx)
}

// player is a game under way.
type player struct {
	Game
	service *study.Service
	id      string
	visits  map[string]int // how often a setting was tried or asked for
	record  *Record
	waiting [][]study.NumberedTelling // results by request, oldest first
}

func (p *player) by() study.Command { return study.Command{By: "rehearsal"} }

// visit reads a setting once more.
func (p *player) visit(at design.Settings, candidate *int) Trial {
	key := keyOf(at)
	truth := p.Problem.truth(at, candidate)
	t := Trial{
		Settings: at, Candidate: candidate, Known: p.visits[key] > 0,
		Truth: truth, Feasible: p.Problem.feasible(truth),
	}
	t.Read = p.Problem.reading(at, candidate, p.visits[key], p.Noise, p.Seed)
	p.visits[key]++
	return t
}

// start imports rows drawn by seed, as a lab brings what it has measured before.
func (p *player) start(ctx context.Context, snap *ledger.Snapshot) error {
	if p.Start == 0 {
		return nil
	}
	var trials []*ledger.Trial
	for _, at := range p.Problem.draw(p.Start, rand.New(rand.NewPCG(p.Seed, 0))) {
		trials = append(trials, &ledger.Trial{Parameters: at, Metrics: map[string]ledger.Measurement{}})
		t := p.visit(at, p.Problem.candidate(at))
		p.record.Start = append(p.record.Start, t)
		for name, x := range t.Read {
			trials[len(trials)-1].Metrics[name] = ledger.Measurement{Value: x}
		}
	}
	var table bytes.Buffer
	if err := study.WriteCSV(&table, snap.Definition, trials, nil); err != nil {
		return err
	}
	_, err := p.service.ImportCSV(ctx, p.by(), p.id, &table, study.ImportOptions{})
	return err
}

// ask makes one request.
func (p *player) ask(ctx context.Context) error {
	count := min(p.Batch, p.Asks-len(p.record.Asks))
	began := time.Now()
	snap, numbers, err := p.service.Ask(ctx, p.by(), p.id, study.Ask{Count: &count})
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds() / float64(count)
	var results []study.NumberedTelling
	for _, n := range numbers {
		chosen := snap.Trial(n)
		t := p.visit(chosen.Parameters, chosen.Candidate)
		t.Reason, t.Seconds = chosen.Decision.Reason, took
		p.record.Asks = append(p.record.Asks, t)
		results = append(results, study.NumberedTelling{Number: n, Telling: ledger.Telling{Metrics: readings(t.Read)}})
	}
	p.waiting = append(p.waiting, results)
	return nil
}

func readings(v Values) map[string]ledger.Reading {
	out := map[string]ledger.Reading{}
	for name, x := range v {
		out[name] = ledger.Reading{Value: x}
	}
	return out
}

// tell reports the results of all requests but the last few.
func (p *player) tell(ctx context.Context, keep int) error {
	for len(p.waiting) > keep {
		if _, err := p.service.TellMany(ctx, p.by(), p.id, p.waiting[0]); err != nil {
			return err
		}
		p.waiting = p.waiting[1:]
	}
	return nil
}

// judge adds what the product says at the end: its recommendation, and what it had predicted of every trial.
func (p *player) judge(ctx context.Context) error {
	snap, err := p.service.Snapshot(ctx, p.id, 0)
	if err != nil {
		return err
	}
	state, err := p.service.StateOf(ctx, snap)
	if err != nil {
		return err
	}
	p.record.Shown = map[string]study.Calibration{}
	for metric, shown := range state.Calibration {
		shown.Residuals = nil // one by one they belong to the page
		p.record.Shown[metric] = shown
	}
	if state.Recommendation != nil {
		p.record.Recommended = state.Recommendation.Number
	}
	rows, err := p.service.HistoryOf(ctx, snap)
	if err != nil {
		return err
	}
	for i := range p.record.Asks {
		number := len(p.record.Start) + i + 1
		p.record.Asks[i].Ahead = predictions(snap, rows[number-1])
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
