package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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
		"table":     func() (any, error) { return nil, WriteCSV(io.Discard, snap.Definition, snap.Trials, snap.Chosen) },
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

// poisoned is a study as one could become before known values were bounded: two decisions made
// under a context of 1e308.
func poisoned(t *testing.T) *bench {
	d := oven()
	d.Constraints = append(d.Constraints, design.Constraint{Metric: "load", Op: "<=", Threshold: -1e30, Expression: "w + 0*temperature", Context: []string{"w"}})
	b := newBench(t, d)
	for i := range 3 {
		b.ask0(t, i+1, 1e308)
		b.tell(i+1, map[string]float64{"yield": float64(i), "impurity": 0.1})
	}
	b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"w": 1}}}))
	return b
}

// ask0 begins a trial whose known value is beyond what is accepted now.
func (b *bench) ask0(t *testing.T, number int, w float64) {
	t.Helper()
	asked, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"w": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	chosen := asked.drafts[len(asked.drafts)-1].Data.(ledger.ChosenData)
	chosen.Context, chosen.KnownValues = map[string]float64{"w": w}, map[string]float64{"load": w}
	chosen.Decision.Beta, chosen.Decision.Multipliers = nil, nil
	b.must(ruling{drafts: []ledger.Draft{{Kind: ledger.Chosen, Data: chosen}}, numbers: []int{number}}, nil)
}

// TestAPoisonedStudyOpensAgain: what was accepted once is counted as the largest that is accepted
// now, and that is said.
func TestAPoisonedStudyOpensAgain(t *testing.T) {
	t.Parallel()
	b := poisoned(t)
	s, ctx, snap := b.service, t.Context(), b.snap
	state, err := s.StateOf(ctx, snap)
	must(t, state, err)
	if v := state.Violation["load"]; v.Rounds != 4 || !(v.Hard >= 3e100 && v.Hard < 4e100) {
		t.Errorf("violation %+v", v)
	}
	if len(state.Notes) != 1 || !strings.Contains(state.Notes[0], "load") || !strings.Contains(state.Notes[0], "trials 1, 2 and 3") {
		t.Errorf("notes %q", state.Notes)
	}
	rows, err := s.HistoryOf(ctx, snap)
	must(t, rows, err)
	if rows[2].Values["load"] != 1e308 {
		t.Errorf("what was read is told as it is: %v", rows[2].Values)
	}
	for _, trial := range snap.Trials {
		must(t, trial, nil)
	}
	must(t, snap.ViolationSoFar(), nil)
	posterior, err := s.PosteriorAt(ctx, snap, []design.Settings{snap.Trial(1).Parameters})
	must(t, posterior, err)
	must(t, nil, WriteCSV(io.Discard, snap.Definition, snap.Trials, snap.Chosen))
	verified, err := verifyEvents(ctx, b.events, ledger.CheckChain(b.events))
	must(t, verified, err)
	if !verified.LedgerIntact || verified.Checked != 4 {
		t.Errorf("verified %+v", verified)
	}
	_, err = s.ruleReplicate(ctx, Command{}, snap, 1)
	b.refused(ruling{}, err, ErrConflict, "cannot be repeated")
}
