package lab

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

type servicePlayer struct {
	service *study.Service
	created *ledger.Snapshot
}

var rehearsalCommand = study.Command{By: "rehearsal"}

// begin imports the rows and then tells their results, since a table has no place for standard
// deviations.
func (s servicePlayer) begin(ctx context.Context, rows []*ledger.Trial, results []outcome) error {
	if len(rows) == 0 {
		return nil
	}
	table := bytes.NewReader(study.CSV(s.created.Definition, rows, nil, design.DecimalPoint))
	if _, err := s.service.ImportCSV(ctx, rehearsalCommand, s.created.ID, table, study.ImportOptions{}); err != nil {
		return err
	}
	return s.learn(ctx, results)
}

// choose asks in parts, as the page does, for more than one request can have.
func (s servicePlayer) choose(ctx context.Context, count int) ([]*ledger.Trial, error) {
	var chosen []*ledger.Trial
	for left := count; left > 0; left -= study.MostAsked {
		snap, numbers, err := s.service.Ask(ctx, rehearsalCommand, s.created.ID, study.Ask{Count: new(min(left, study.MostAsked))})
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, lists.Map(numbers, snap.Trial)...)
	}
	return chosen, nil
}

func (s servicePlayer) learn(ctx context.Context, told []outcome) error {
	var results []study.NumberedTelling
	for _, o := range told {
		if o.Failed == "" {
			results = append(results, o.NumberedTelling)
			continue
		}
		failed := ledger.ClosedData{Number: o.Number, Cause: o.Failed, Reason: "failed by " + string(o.Failed)}
		if _, err := s.service.Close(ctx, rehearsalCommand, s.created.ID, ledger.Failed, failed); err != nil {
			return err
		}
	}
	if len(results) == 0 {
		return nil
	}
	_, err := s.service.TellMany(ctx, rehearsalCommand, s.created.ID, results)
	return err
}

// simulatedLabPlayer plays a study whose own simulated lab answers each trial.
type simulatedLabPlayer struct{ servicePlayer }

func (a simulatedLabPlayer) choose(ctx context.Context, _ int) ([]*ledger.Trial, error) {
	lab, err := design.FindSimulatedLab(a.created.Definition.SimulatedLab)
	if err != nil {
		return nil, err
	}
	number, err := a.service.SimulateOne(ctx, rehearsalCommand, lab, a.created.ID, study.DemoMishaps...)
	if err != nil {
		return nil, err
	}
	snap, err := a.service.Snapshot(ctx, a.created.ID, 0)
	if err != nil {
		return nil, err
	}
	return []*ledger.Trial{snap.Trial(number)}, nil
}

// judge adds what the product says: at every look what it recommends and what is left to gain, and
// in the end how its predictions held. A look sees what the product said when the next trial was
// asked for.
func (s servicePlayer) judge(ctx context.Context, record *Record) error {
	end, err := s.service.Snapshot(ctx, s.created.ID, 0)
	if err != nil {
		return err
	}
	looks := slices.DeleteFunc(slices.Clone(lookAt), func(trials int) bool { return trials < len(record.Start) || trials >= len(end.Trials) })
	for _, trials := range append(looks, len(end.Trials)) {
		then := end
		if trials < len(end.Trials) {
			if then, err = s.service.Snapshot(ctx, s.created.ID, end.Trials[trials].Seen); err != nil {
				return err
			}
		}
		look, err := s.look(ctx, then, trials)
		if err != nil {
			return err
		}
		record.Looks = append(record.Looks, look)
	}
	state, err := s.service.StateOf(ctx, end)
	if err != nil {
		return err
	}
	record.Shown = map[string]optimizer.Calibration{}
	for metric, shown := range state.Calibration {
		if drift := study.DriftOf(shown); drift.Since > 0 || drift.Past != nil {
			record.Drifted = append(record.Drifted, metric)
		}
		shown.Innovations = nil // too many to keep
		record.Shown[metric] = shown
	}
	slices.Sort(record.Drifted)
	return nil
}

func (s servicePlayer) look(ctx context.Context, snap *ledger.Snapshot, trials int) (Look, error) {
	look := Look{Trials: trials}
	state, err := s.service.StateOf(ctx, snap)
	if err != nil {
		return look, err
	}
	if state.Recommendation != nil {
		look.Recommended, look.Risk = state.Recommendation.Number, new(1-state.Recommendation.FeasibilityProbability)
	}
	gain, err := s.service.GainOf(ctx, snap)
	if err != nil || gain == nil {
		return look, err
	}
	look.Best = &gain.Best
	if stop := study.StopNow(gain, *snap.Definition.Stop); stop != nil {
		look.Enough, look.Little = stop.Reached, stop.Within*gain.ChanceLeft[0].Of
	}
	return look, nil
}

// memoryStore is a study.Store of one study in memory, for a game that is played and forgotten. It
// ignores which study is asked for, keeps no idempotency keys, expects no version, and has nothing
// of what verifications need, which no game is.
type memoryStore struct {
	study.Store
	choosing, mutex sync.Mutex // the latter guards what follows
	events          []ledger.Event
	after           *ledger.Snapshot
}

func (b *memoryStore) Create(_ context.Context, _ string, _ study.Command, parts iter.Seq2[study.Append, error]) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for part, err := range parts {
		if err != nil {
			return err
		}
		b.events, b.after = append(b.events, part.Events...), part.After
	}
	return nil
}

func (b *memoryStore) Write(_ context.Context, _ string, _ study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	added, err := decide(b.events[known.Version:])
	if err == nil {
		b.events, b.after = append(b.events, added.Events...), added.After
	}
	return err
}

func (b *memoryStore) Choosing(ctx context.Context, _ string, choose func(ctx context.Context) error) error {
	b.choosing.Lock()
	defer b.choosing.Unlock()
	return choose(ctx)
}

func (b *memoryStore) Events(_ context.Context, _ string, after int64, limit int) ([]ledger.Event, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	events := slices.Clone(b.events[min(after, int64(len(b.events))):])
	if limit > 0 {
		events = events[:min(limit, len(events))]
	}
	return events, nil
}

func (b *memoryStore) Summaries(context.Context, study.Listing) ([]ledger.Summary, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return []ledger.Summary{b.after.Summary()}, nil
}
