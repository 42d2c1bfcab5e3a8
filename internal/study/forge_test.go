package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// honest are ledgers with every kind of event, of studies of several kinds.
func honest(t *testing.T) map[string]*bench {
	t.Helper()
	all := map[string]*bench{}

	b := newBench(t, oven())
	for i := range 7 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": 60 + float64(i*i%7), "impurity": 0.3 + 0.05*float64(i)})
	}
	b.must(b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 2))
	b.must(ruleClose(b.snap, ledger.Abandoned, ledger.ClosedData{Number: 8, Reason: "no sample left"}))
	b.must(ruleTell(b.snap, 8, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 61, StdDev: new(0.5)}}, ObservedAt: new(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)), Note: "found one"}))
	b.must(ruleTell(b.snap, 8, ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(62.5), "cycles": design.NumberValue(3)}}))
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Metrics: map[string]*ledger.Reading{"yield": {Value: 62}, "impurity": nil}, Reason: "typo"}))
	b.must(ruleCorrect(b.snap, Correction{Number: 3, Parameters: design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(3)}, Reason: "misread"}))
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 4, Reason: "contaminated"}))
	b.must(ruleClose(b.snap, ledger.Included, ledger.ClosedData{Number: 4, Reason: "it was not"}))
	b.ask(1)
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 9, Reason: "broke", Cause: ledger.BySettings}))
	b.ask(1)
	b.must(ruleTell(b.snap, 10, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 6.5}}}))
	b.must(ruleOf(ledger.Confirmed, 10, ledger.ConfirmedData{Number: 10}), nil)
	limit := b.snap.Definition.Constraints[0]
	limit.Threshold = 0.45
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{limit}, Reason: "stricter"}))
	b.must(ruleEdit(ledger.EditedData{Name: new("Oven 2"), Description: new("*hot*"), State: new(ledger.Paused)}))
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 61}}, ObservedAt: new(time.Date(2026, 3, 1, 8, 0, 0, 0, time.FixedZone("", 19800)))}))
	all["oven"] = b

	b = newBench(t, queue())
	brought := design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: map[string][]float64{"backlog": {0, 2, 3, 4}}}
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: b.snap.Definition.Candidates[1], Brought: brought, Note: "mine"}))
	b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Count: new(2), Brought: brought}))
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"rate": {Value: 3}}, Parameters: b.snap.Definition.Candidates[3]}))
	b.table(t, "x,mode,rate,load,backlog,note\n3,fast,4,-2,3,from before\n")
	b.table(t, "x,mode,rate,load,backlog,chosen x,chosen mode\n3,fast,4,-2,3,1,slow\n")
	all["queue"] = b

	b = newBench(t, mixture())
	b.ask(2)
	b.tell(1, map[string]float64{"strength": 4})
	b.table(t, "status,a,b,strength\ncompleted,20,30,5\npartial,40,30,6\ncompleted,-1.5,99,6\n")
	all["mixture"] = b

	d := bufferScreen()
	d.Algorithm.Name = "ckb-rand"
	b = newBench(t, d)
	b.ask(1)
	all["screen"] = b
	return all
}

// table takes in rows.
func (b *bench) table(t *testing.T, text string) {
	t.Helper()
	rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader(text), ImportOptions{}))(t)
	b.must(ruleImport(b.snap, b.snap, rows))
}

// rehashed makes the hashes of events fit again, from the i-th on.
func rehashed(t *testing.T, events []ledger.Event, i int) []ledger.Event {
	t.Helper()
	events = slices.Clone(events)
	for ; i < len(events); i++ {
		before := &ledger.Snapshot{Version: events[i].Seq - 1, Hash: strings.Repeat("0", 64)}
		if i > 0 {
			before.Hash = events[i-1].Hash
		}
		again, err := ledger.Next(before, events[i].At, events[i].By, ledger.Draft{Kind: events[i].Kind, Data: events[i].Data})
		if err != nil {
			return nil // what cannot be hashed cannot be forged
		}
		events[i].Hash = again[0].Hash
	}
	return events
}

func TestHonestLedgersAreTakenIn(t *testing.T) {
	t.Parallel()
	kinds := map[ledger.Kind]bool{}
	for name, b := range honest(t) {
		after, err := b.service.foldImported(newID(), nil, b.events)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := readable(t.Context(), b.service, after); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after.Hash != b.snap.Hash || len(after.Trials) != len(b.snap.Trials) || after.Summary().Waiting != b.snap.Summary().Waiting {
			t.Errorf("%s became another study", name)
		}
		for _, e := range b.events {
			kinds[e.Kind] = true
		}
	}
	for _, kind := range []ledger.Kind{ledger.Created, ledger.Edited, ledger.Reconfigured, ledger.Chosen, ledger.Told, ledger.Corrected, ledger.Failed, ledger.Abandoned, ledger.Excluded, ledger.Included, ledger.Confirmed, ledger.Fitted} {
		if !kinds[kind] {
			t.Errorf("no %s event is among them", kind)
		}
	}
}

// TestNoPhaseIsLongerThanItsFirstTrialsNumber: the phase of trial t has a length of at most t.
func TestNoPhaseIsLongerThanItsFirstTrialsNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(3)
	next := *b.snap.Trial(3).Decision
	for horizon, good := range map[int]bool{-1: false, 0: true, 4: true, 5: false} {
		next.Horizon = horizon
		if err := admitDecision(b.snap, &next); (err == nil) != good {
			t.Errorf("a fourth trial with T = %d: %v", horizon, err)
		}
	}
}

// mutants are versions of a JSON value in which one thing differs.
func mutants(value any) []any {
	var all []any
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			for _, m := range mutants(v[name]) {
				all = append(all, with(v, name, m))
			}
			all = append(all, without(v, name), with(without(v, name), name+"x", v[name]))
		}
		all = append(all, with(v, "unheard of", 1.0))
	case []any:
		for i := range v {
			for _, m := range mutants(v[i]) {
				other := slices.Clone(v)
				other[i] = m
				all = append(all, other)
			}
			if i > 2 {
				break
			}
		}
		all = append(all, []any{}, append(slices.Clone(v), nil))
	case float64:
		all = append(all, v+1, -v-1, 0.0, 1e308, 1e101, 1e-320, fmt.Sprint(v))
	case string:
		all = append(all, "", v+"x", strings.Repeat("y", 300), "a\x00b", 1.0)
	case bool:
		all = append(all, !v)
	}
	return append(all, nil, map[string]any{})
}

func with(object map[string]any, name string, value any) map[string]any {
	other := without(object, name)
	other[name] = value
	return other
}

func without(object map[string]any, name string) map[string]any {
	other := map[string]any{}
	for n, v := range object {
		if n != name {
			other[n] = v
		}
	}
	return other
}

// TestGamesForgedAreRefused: whatever is changed in a ledger whose hashes are made to fit again,
// it is refused with the number of an event, or it is such a study as one could have come to.
func TestGamesForgedAreRefused(t *testing.T) {
	t.Parallel()
	for name, b := range honest(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := mutation.Random(t.Name()) // a third of all at each commit
			tried, taken := 0, map[string]int{}
			seen := map[ledger.Kind]int{}
			for i, e := range b.events {
				if seen[e.Kind]++; seen[e.Kind] > 1 { // the others of a kind are alike
					continue
				}
				var data any
				must.Do(t, json.Unmarshal(e.Data, &data))
				before := b.upTo(t, i)
				all := mutants(data)
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				for _, m := range all[:(len(all)+2)/3] {
					text := must.Get(json.Marshal(m))(t)
					what := fmt.Sprintf("event %d %s: %.200s", e.Seq, e.Kind, text)
					forged, refused := b.forged(t, before, i, func(e *ledger.Event) { e.Data = text })
					if forged == nil {
						continue
					}
					tried++
					switch {
					case refused != nil && !strings.HasPrefix(refused.Error(), "event "):
						t.Errorf("%s: %v", what, refused)
					case refused != nil:
					case e.Kind == ledger.Chosen && tried%9 != 0:
						taken["chosen, not read"]++ // most are numbers that a decision records and nothing computes with
					default:
						taken[string(e.Kind)]++
						wantUsable(t, b, before, forged, what)
					}
				}
			}
			for i, e := range b.events {
				before := b.upTo(t, i)
				for what, change := range map[string]func(*ledger.Event){
					"kind": func(e *ledger.Event) { e.Kind = "invented" },
					"other kind": func(e *ledger.Event) {
						if e.Kind != ledger.Reconfigured {
							e.Kind = ledger.Reconfigured
						} else {
							e.Kind = ledger.Told
						}
					},
					"far future":  func(e *ledger.Event) { e.At = time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC) },
					"long ago":    func(e *ledger.Event) { e.At = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) },
					"by a crowd":  func(e *ledger.Event) { e.By = strings.Repeat("Ana ", 1000) },
					"by a title":  func(e *ledger.Event) { e.By = "Ana\x1b]0;of a terminal\a" },
					"another seq": func(e *ledger.Event) { e.Seq += 5 },
				} {
					forged, refused := b.forged(t, before, i, change)
					if forged == nil {
						continue
					}
					tried++
					if refused == nil {
						t.Errorf("event %d, %s: taken in", e.Seq, what)
					}
				}
			}
			t.Logf("%d forged ledgers, taken in %v", tried, taken)
		})
	}
}

// forged are the events from the i-th on, which is changed, with hashes that fit again, and why
// they are not taken in; none where the change cannot be hashed. What is refused at that event is
// hashed no further.
func (b *bench) forged(t *testing.T, before *ledger.Snapshot, i int, change func(*ledger.Event)) (events []ledger.Event, refused error) {
	t.Helper()
	events = slices.Clone(b.events[:i+1])
	change(&events[i])
	if events = rehashed(t, events, i); events == nil {
		return nil, nil
	}
	if refused = refusedAs(b, before, events[i:]); refused != nil {
		return events[i:], refused
	}
	if events = rehashed(t, append(events, b.events[i+1:]...), i+1); events == nil {
		return nil, nil
	}
	return events[i:], refusedAs(b, before, events[i:])
}

// wantUsable fails unless the study of a forged ledger that was taken in is one that can be read
// and gone on with.
func wantUsable(t *testing.T, b *bench, before *ledger.Snapshot, forged []ledger.Event, what string) {
	t.Helper()
	after, err := ledger.Fold(b.snap.ID, before, forged, nil)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	renamed := *after
	renamed.ID = newID()
	after = b.service.Derived.Put(&renamed) // so that its model is worked out once
	if err := readable(t.Context(), b.service, after); err != nil {
		t.Errorf("%s: taken in, then %v", what, err)
	}
	if after.State == ledger.Open {
		brought := design.Brought{}
		if len(after.Definition.Constraints) > 0 && after.Definition.Constraints[0].Expression != "" {
			brought = design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: map[string][]float64{"backlog": {0, 2, 3, 4}}}
		}
		if _, err := b.service.ruleAsk(t.Context(), Command{By: "Bo"}, after, Ask{Brought: brought}); !callers(err) {
			t.Errorf("%s: taken in, then %v", what, err)
		}
	}
}

// refusedAs is why a ledger is not taken in.
func refusedAs(b *bench, before *ledger.Snapshot, events []ledger.Event) error {
	_, err := ledger.FoldAdmitted(b.snap.ID, before, events, b.service.admit())
	return err
}

// upTo is the study before its i-th event, nil before the first.
func (b *bench) upTo(t *testing.T, i int) *ledger.Snapshot {
	t.Helper()
	if i == 0 {
		return nil
	}
	return must.Get(ledger.Fold(b.snap.ID, nil, b.events[:i], b.snap))(t)
}

// callers tells whether err is none, or one that a caller is told of as their own.
func callers(err error) bool {
	var invalid *design.Invalid
	return err == nil || errors.As(err, &invalid) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound)
}

// readable reads what is shown of a study; the error is one that no caller should meet. What cannot
// be computed may be refused.
func readable(ctx context.Context, s *Service, snap *ledger.Snapshot) error {
	settings := snap.Compiled().Settings(snap.Compiled().Probes()[0])
	for what, read := range map[string]func() (any, error){
		"state":     func() (any, error) { return s.StateOf(ctx, snap) },
		"history":   func() (any, error) { return s.HistoryOf(ctx, snap) },
		"posterior": func() (any, error) { return s.PosteriorAt(ctx, snap, []design.Settings{settings}) },
		"slices":    func() (any, error) { return s.Slices(ctx, snap, settings, 3) },
		"acquisition": func() (any, error) {
			return s.AcquisitionAt(ctx, snap, AcquisitionQuery{Points: []design.Settings{settings}, Brought: design.Brought{Context: map[string]float64{"w": 1}}})
		},
		"trials":    func() (any, error) { return snap.Trials, nil },
		"summary":   func() (any, error) { return snap.Summary(), nil },
		"violation": func() (any, error) { return snap.ViolationSoFar(), nil },
		"best":      func() (any, error) { return snap.BestSoFar(), nil },
		"table": func() (any, error) {
			return CSV(snap.Definition, snap.Trials, snap.Chosen, design.DecimalPoint), nil
		},
	} {
		value, err := read()
		if errors.Is(err, ErrConflict) && !strings.Contains(err.Error(), "cannot be computed") || err != nil && !callers(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if _, err := json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}
