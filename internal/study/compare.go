package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const mostCompared = 20

// Compare returns what each of the algorithms would choose next on the history of snap, after the
// fit that is due.
func (s *Models) Compare(ctx context.Context, snap *ledger.Snapshot, with []design.Algorithm) ([]Choice, error) {
	if len(with) == 0 || len(with) > mostCompared {
		return nil, design.NewInvalid("algorithms", fmt.Sprintf("give 1 to %d algorithms", mostCompared), len(with))
	}
	var brought design.Brought
	if lab, err := labOf(snap); err == nil {
		brought = broughtBy(lab, snap)
	}
	known, faults := snap.Compiled().Known(brought)
	if len(faults) > 0 {
		return nil, design.NewInvalid("algorithms", "a study whose constraints need a context or sampled values at each decision cannot be compared", nil)
	}
	others := make([]*design.Compiled, len(with))
	for i, algorithm := range with {
		var err error
		if others[i], err = compileWith(snap.Definition, algorithm); err != nil {
			return nil, relocate(err, "algorithm", fmt.Sprintf("algorithms[%d]", i))
		}
	}
	made, err := s.replay(ctx, snap)
	if err != nil && !errors.Is(err, ErrConflict) { // each algorithm reports below that its model cannot be computed
		return nil, err
	}
	choices := make([]Choice, len(with))
	for i, c := range others {
		history := snap.History(c)
		if made.fit != nil {
			history.Fits = append(history.Fits, ledger.FitsUnder(c, []ledger.FittedData{*made.fit})...)
		}
		if choices[i], err = s.choiceOf(ctx, snap, c, history, known, brought); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

func compileWith(d design.Definition, algorithm design.Algorithm) (*design.Compiled, error) {
	algorithm.Horizon = cmp.Or(algorithm.Horizon, d.Algorithm.Horizon)
	d.Algorithm = algorithm
	checked, err := d.Check()
	if err != nil {
		return nil, err
	}
	return design.Compile(checked)
}

func (s *Models) choiceOf(ctx context.Context, snap *ledger.Snapshot, c *design.Compiled, history *optimizer.History, known optimizer.Known, brought design.Brought) (Choice, error) {
	leave, err := s.memory.enter(ctx, snap)
	if err != nil {
		return Choice{}, err
	}
	defer leave()
	var state *optimizer.State
	var d optimizer.Decision
	err = s.Derived.Compute(scheduler.With(ctx, scheduler.Checking), snap.ID, func(ctx context.Context) (err error) {
		if state, err = optimizer.ReplayWithin(ctx, c.Config, history, optimizer.Resources{Room: s.memory.bytes}); err == nil {
			d, err = state.Suggest(ctx, known)
		}
		return err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Choice{}, ctx.Err()
	case errors.Is(err, optimizer.ErrNoneAllowed):
		return Choice{Name: c.Def.Algorithm.Name, Because: "It allows none of the settings."}, nil
	default:
		if refused := tooLarge(err, adviceOnChoosing); refused != nil {
			return Choice{Name: c.Def.Algorithm.Name, Because: refused.Error()}, nil
		}
		return Choice{Name: c.Def.Algorithm.Name, Because: fmt.Sprintf("Its model cannot be computed: %v.", err)}, nil
	}
	settings := c.Settings(d.Place)
	kept, faults := c.KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return Choice{}, err
	}
	decision := decisionRecord(c, state, d)
	chosen := ledger.ChosenData{Number: state.Round(), Parameters: settings, Decision: &decision, KnownValues: kept}
	return Choice{Name: c.Def.Algorithm.Name, Parameters: &settings, Because: explain(c.Def, chosen, backgroundOf("", snap, c, state))}, nil
}

// relocate moves the faults of an error from one place in the request to another.
func relocate(err error, from, to string) error {
	faulty, is := errors.AsType[*design.Invalid](err)
	if !is {
		return err
	}
	moved := slices.Clone(faulty.Faults)
	for i, f := range moved {
		if within, is := strings.CutPrefix(f.Field, from); is {
			moved[i].Field = to + within
		}
	}
	return moved.Err()
}

// The tolerances between a recorded decision and its replay.
const (
	numberTolerance = 1e-6 // relative to max(1, |recorded|)
	searchTolerance = 1e-3 // of the acquisition's range, below the replayed maximum
)

// comparison compares one recorded decision with its replay.
type comparison struct {
	chosen    ledger.ChosenData
	verifier  *verifier
	different []Difference
}

func (c *comparison) run(ctx context.Context) error {
	state, err := c.verifier.stateAt(ctx, c.chosen.Number)
	if err != nil {
		return err
	}
	compiled := c.verifier.snap.Compiled()
	place := compiled.Locate(c.chosen.Parameters, c.chosen.Candidate)
	want, wrong := Ask{Held: c.chosen.HeldSettings(), Brought: c.chosen.Brought}.requirements(compiled)
	if err := wrong.Err(); err != nil {
		return err
	}
	if state, err = want.apply(ctx, state); err != nil {
		return err
	}
	known := want.known
	if c.chosen.Decision.Reason != policy.Own {
		again, err := state.Suggest(ctx, known)
		switch {
		case errors.Is(err, optimizer.ErrNoneAllowed):
			c.differ("parameters", c.chosen.Parameters, nil)
			return nil
		case err != nil:
			return err
		// What was chosen is compared as it is written down: on a narrow range neighbouring
		// settings lie far apart in unit coordinates.
		case samePoint(compiled.Locate(compiled.Settings(again.Place), candidateOf(again.Place)), place):
			return c.compareNumbers(decisionRecord(compiled, state, again))
		}
		return c.compareOtherPoint(ctx, state, place, known, again)
	}
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	return c.compareNumbers(decisionRecord(compiled, state, own))
}

// compareOtherPoint compares a decision whose replay chooses another point.
func (c *comparison) compareOtherPoint(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known, again optimizer.Decision) error {
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	replayed := decisionRecord(c.verifier.snap.Compiled(), state, own)
	if replayed.Acquisition, err = scoreAt(ctx, state, place, known); err != nil {
		return err
	}
	if err := c.compareNumbers(replayed); err != nil {
		return err
	}
	return c.compareMaximum(ctx, state, replayed, again, known)
}

func samePoint(a, b optimizer.Place) bool {
	near := func(u, v float64) bool { return math.Abs(u-v) <= 1e-9 }
	return a.Arm == b.Arm && (a.Arm >= 0 || slices.EqualFunc(a.U, b.U, near))
}

// scoreAt returns the acquisition at a place, nil if it may not be chosen.
func scoreAt(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known) (*float64, error) {
	scores, err := state.Acquisition(ctx, []optimizer.Place{place}, known)
	if err != nil || scores.Allowed != nil && !scores.Allowed[0] {
		return nil, err
	}
	return design.FiniteOrNil(scores.Values[0]), nil
}

// compareMaximum accepts that the recorded point is not the replayed one if its acquisition is
// close enough to the maximum.
func (c *comparison) compareMaximum(ctx context.Context, state *optimizer.State, replayed ledger.Decision, again optimizer.Decision, known optimizer.Known) error {
	if replayed.Acquisition == nil || !again.HasScore {
		c.differ("parameters", c.chosen.Parameters, c.verifier.snap.Compiled().Settings(again.Place))
		return nil
	}
	spread, err := c.acquisitionRange(ctx, state, known, again.Acquisition)
	if err != nil {
		return err
	}
	if short := again.Acquisition - *replayed.Acquisition; short > searchTolerance*spread {
		c.differ("acquisition", c.chosen.Decision.Acquisition, again.Acquisition)
	}
	return nil
}

// logRange takes the place of the range for logarithmic scores, whose minimum means nothing. With
// the search tolerance it allows a difference of a twentieth of what is maximised.
const logRange = 50

// acquisitionRange returns the maximum less the smallest value among the candidates, or among the
// points tried and points spread over the space.
func (c *comparison) acquisitionRange(ctx context.Context, state *optimizer.State, known optimizer.Known, maximum float64) (float64, error) {
	places := c.verifier.snap.Compiled().Arms()
	if places == nil {
		places = c.verifier.snap.Compiled().Probes()
		places = append(places, lists.Map(c.verifier.history.Rounds, func(r optimizer.Round) optimizer.Place { return optimizer.Place{U: r.Point, Arm: r.Arm} })...)
	}
	if len(places) == 0 {
		return 0, nil
	}
	scores, err := state.Acquisition(ctx, places, known)
	if err != nil {
		return 0, err
	}
	if scores.Logarithmic {
		return logRange, nil
	}
	smallest := maximum
	for i, value := range scores.Values {
		if (scores.Allowed == nil || scores.Allowed[i]) && design.Finite(value) {
			smallest = min(smallest, value)
		}
	}
	return maximum - smallest, nil
}

// compareNumbers records every number that the replay does not reproduce.
func (c *comparison) compareNumbers(replayed ledger.Decision) error {
	if c.chosen.Decision.RandomSeed != replayed.RandomSeed {
		c.differ("random_seed", c.chosen.Decision.RandomSeed, replayed.RandomSeed)
	}
	stored, err := numbersOf(*c.chosen.Decision)
	if err != nil {
		return err
	}
	again, err := numbersOf(replayed)
	if err != nil {
		return err
	}
	both := maps.Clone(stored)
	maps.Copy(both, again)
	for _, field := range slices.Sorted(maps.Keys(both)) {
		a, b := stored[field], again[field]
		was, isNumber := a.(float64)
		is, isNumberToo := b.(float64)
		if same := isNumber && isNumberToo && closeTo(was, is) || !isNumber && a == b; !same {
			c.differ(field, a, b)
		}
	}
	return nil
}

// numbersOf returns the parts of a decision that follow from what it had seen, by path in its JSON
// and without nulls.
func numbersOf(d ledger.Decision) (map[string]any, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	for _, other := range []string{"seen", "engine", "algorithm", "runner_up", "random_seed", "draws", "reason", "because"} {
		delete(tree, other)
	}
	numbers := map[string]any{}
	for field, value := range tree {
		flatten(numbers, field, value)
	}
	return numbers, nil
}

func flatten(into map[string]any, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			flatten(into, path+"."+name, v)
		}
	case []any:
		for i, v := range value {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), v)
		}
	case nil:
	default:
		into[path] = value
	}
}

func closeTo(stored, replayed float64) bool {
	return math.Abs(stored-replayed) <= numberTolerance*max(1, math.Abs(stored))
}

func (c *comparison) differ(field string, stored, replayed any) {
	c.different = append(c.different, Difference{Number: c.chosen.Number, Field: field, Stored: stored, Replayed: replayed})
}
