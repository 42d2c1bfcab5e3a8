package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// How far a replayed decision may be from the recorded one.
const (
	numberTolerance = 1e-6 // relative to max(1, |recorded|)
	searchTolerance = 1e-3 // of the acquisition's range, below the replayed maximum
)

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it had seen, under the definition
// then in force.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	events, err := s.store.Events(ctx, snap.ID, 0, int(snap.Version))
	if err != nil {
		return Verification{}, err
	}
	release, err := s.computing(ctx)
	if err != nil {
		return Verification{}, err
	}
	defer release()
	return verifyEvents(ctx, events, ledger.CheckChain(events))
}

// verifyEvents replays the decisions of a ledger whose hashes were found broken or not.
func verifyEvents(ctx context.Context, events []ledger.Event, broken error) (Verification, error) {
	v := verifier{events: events, result: Verification{Different: []Difference{}, LedgerIntact: broken == nil}}
	if broken != nil {
		v.differ(0, "ledger", nil, broken.Error())
	}
	if err := v.walk(ctx); err != nil {
		if ctx.Err() != nil {
			return Verification{}, ctx.Err()
		}
		v.differ(0, "ledger", nil, err.Error())
	}
	v.result.OK = len(v.result.Different) == 0
	return v.result, nil
}

// verifier walks a ledger once. Two places move along it: the event it is at, and behind it the study as the decision there saw it.
type verifier struct {
	events []ledger.Event
	result Verification

	snap    *ledger.Snapshot // after event snap.Version, the one that the decision had seen
	state   *optimizer.State
	under   *design.Compiled    // what state was replayed under
	fits    []ledger.FittedData // of all events so far
	pending []optimizer.Round   // chosen after snap
	replay  *optimizer.History  // what state was made from
}

func (v *verifier) walk(ctx context.Context) error {
	for _, e := range v.events {
		switch e.Kind {
		case ledger.Fitted:
			var fit ledger.FittedData
			if err := e.Decode(&fit); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
			v.fits = append(v.fits, fit)
		case ledger.Chosen:
			var chosen ledger.ChosenData
			if err := e.Decode(&chosen); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
			if err := v.decision(ctx, chosen); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
		}
	}
	return v.advance(int64(len(v.events)))
}

// decision replays one, and adds it to what later ones with the same view see as pending.
func (v *verifier) decision(ctx context.Context, chosen ledger.ChosenData) error {
	if v.snap == nil || v.snap.Version != chosen.Seen {
		if err := v.advance(chosen.Seen); err != nil {
			return err
		}
	}
	c := v.snap.Compiled()
	place := c.Locate(chosen.Parameters, chosen.Candidate)
	if chosen.Decision != nil {
		if err := v.compare(ctx, chosen, place); err != nil {
			return err
		}
	}
	v.pending = append(v.pending, optimizer.Round{Point: place.U, Arm: place.Arm, Suggested: chosen.Origin == ledger.Suggested,
		Readings: make([]optimizer.Reading, len(c.MetricNames)), Costs: c.Def.KnownInOrder(chosen.KnownValues), Draw: chosen.Decision.Draw(c.Def.Algorithm.Name)})
	return nil
}

// advance folds the ledger up to event seq; what was chosen by then is part of it.
func (v *verifier) advance(seq int64) error {
	from := versionOf(v.snap)
	if seq < from || seq > int64(len(v.events)) {
		return fmt.Errorf("a decision made from event %d", seq)
	}
	snap, err := ledger.Fold("verified", v.snap, v.events[from:seq], nil)
	if err != nil {
		return err
	}
	v.snap, v.pending, v.replay = snap, nil, nil
	return nil
}

// replayed is the state that decision number was made from.
func (v *verifier) replayed(ctx context.Context, number int) (*optimizer.State, error) {
	c := v.snap.Compiled()
	if v.replay == nil {
		v.replay = v.snap.History(c)
	}
	if len(v.replay.Rounds)+len(v.pending) != number-1 {
		return nil, fmt.Errorf("trial %d was decided when %d were chosen", number, len(v.replay.Rounds)+len(v.pending))
	}
	rounds := v.replay.Rounds[:len(v.replay.Rounds):len(v.replay.Rounds)]
	h := &optimizer.History{Rounds: append(rounds, v.pending...), Fits: ledger.FitsUnder(c, v.fits)}
	var err error
	if v.state != nil && v.under == c {
		v.state, err = v.state.Extend(ctx, h)
	} else {
		v.state, err = optimizer.Replay(ctx, c.Config, h)
	}
	v.under = c
	return v.state, err
}

// compare replays a recorded decision and notes what differs.
func (v *verifier) compare(ctx context.Context, chosen ledger.ChosenData, place optimizer.Place) error {
	v.result.Checked++
	number, stored := chosen.Number, chosen.Decision
	state, err := v.replayed(ctx, number)
	if err != nil {
		return err
	}
	c := v.snap.Compiled()
	known, err := c.KnownThen(chosen.Context, chosen.ConstraintValues)
	if err != nil {
		return err
	}
	if stored.Reason == string(optimizer.ReasonOwn) {
		own, err := state.Own(ctx, place, known)
		if err != nil {
			return err
		}
		v.compareNumbers(number, stored, decisionRecord(c, state, own))
		return nil
	}
	again, err := state.Suggest(ctx, known)
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		v.differ(number, "parameters", chosen.Parameters, nil)
		return nil
	}
	if err != nil {
		return err
	}
	// What was chosen is compared as it is written down: on a narrow range neighbouring settings lie far apart in unit coordinates.
	if samePoint(c.Locate(c.Settings(again.Place), candidateOf(again.Place)), place) {
		v.compareNumbers(number, stored, decisionRecord(c, state, again))
		return nil
	}
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	replayed := decisionRecord(c, state, own)
	if replayed.Acquisition, err = scoreAt(ctx, state, place, known); err != nil {
		return err
	}
	v.compareNumbers(number, stored, replayed)
	return v.compareMaximum(ctx, state, number, stored, replayed, again, chosen, known)
}

func samePoint(a, b optimizer.Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-9 {
			return false
		}
	}
	return true
}

// scoreAt is the acquisition at one place, nil where it may not be chosen.
func scoreAt(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known) (*float64, error) {
	scores, err := state.Acquisition(ctx, []optimizer.Place{place}, known)
	if err != nil || scores.Allowed != nil && !scores.Allowed[0] {
		return nil, err
	}
	return finiteOrNil(scores.Values[0]), nil
}

// compareMaximum accepts a recorded point other than the replayed one if its acquisition comes near enough to the maximum.
func (v *verifier) compareMaximum(ctx context.Context, state *optimizer.State, number int, stored *ledger.Decision, replayed ledger.Decision, again optimizer.Decision, chosen ledger.ChosenData, known optimizer.Known) error {
	if replayed.Acquisition == nil || !again.HasScore {
		v.differ(number, "parameters", chosen.Parameters, v.snap.Compiled().Settings(again.Place))
		return nil
	}
	spread, err := v.acquisitionRange(ctx, state, known, again.Acquisition)
	if err != nil {
		return err
	}
	if short := again.Acquisition - *replayed.Acquisition; short > searchTolerance*spread {
		v.differ(number, "acquisition", stored.Acquisition, again.Acquisition)
	}
	return nil
}

// acquisitionRange is the maximum less the smallest value among the candidates, or among the points tried and probes spread over the space.
func (v *verifier) acquisitionRange(ctx context.Context, state *optimizer.State, known optimizer.Known, maximum float64) (float64, error) {
	places := v.snap.Compiled().Arms()
	if places == nil {
		places = v.snap.Compiled().Probes()
		for _, r := range v.replay.Rounds {
			places = append(places, optimizer.Place{U: r.Point, Arm: r.Arm})
		}
	}
	if len(places) == 0 {
		return 0, nil
	}
	scores, err := state.Acquisition(ctx, places, known)
	if err != nil {
		return 0, err
	}
	smallest := maximum
	for i, value := range scores.Values {
		if (scores.Allowed == nil || scores.Allowed[i]) && design.Finite(value) {
			smallest = min(smallest, value)
		}
	}
	return maximum - smallest, nil
}

// compareNumbers notes every recorded number that the replay does not give again.
func (v *verifier) compareNumbers(number int, stored *ledger.Decision, replayed ledger.Decision) {
	v.compareMaps(number, "beta", stored.Beta, replayed.Beta)
	v.compareMaps(number, "multipliers", stored.Multipliers, replayed.Multipliers)
	v.compareMaps(number, "mean", stored.Mean, replayed.Mean)
	v.compareMaps(number, "sd", stored.SD, replayed.SD)
	v.compareMaps(number, "estimates", stored.Estimates, replayed.Estimates)
	v.compareMaps(number, "feasibility_probability",
		map[string]float64{"": stored.FeasibilityProbability}, map[string]float64{"": replayed.FeasibilityProbability})
	if stored.RandomSeed != replayed.RandomSeed {
		v.differ(number, "random_seed", stored.RandomSeed, replayed.RandomSeed)
	}
	switch {
	case stored.Acquisition == nil && replayed.Acquisition == nil:
	case stored.Acquisition == nil || replayed.Acquisition == nil || !agrees(*stored.Acquisition, *replayed.Acquisition):
		v.differ(number, "acquisition", stored.Acquisition, replayed.Acquisition)
	}
	v.compareModels(number, stored.Model, replayed.Model)
}

func (v *verifier) compareModels(number int, stored, replayed map[string]ledger.MetricModel) {
	for _, name := range sortedKeys(stored) {
		a, b := stored[name], replayed[name]
		at := "model." + name + "."
		if a.Kernel != b.Kernel {
			v.differ(number, at+"kernel", a.Kernel, b.Kernel)
		}
		v.compareMaps(number, at[:len(at)-1],
			map[string]float64{"variance": a.Variance, "lambda": a.Lambda, "centre": a.Centre, "scale": a.Scale},
			map[string]float64{"variance": b.Variance, "lambda": b.Lambda, "centre": b.Centre, "scale": b.Scale})
		if len(a.Lengthscales) != len(b.Lengthscales) {
			v.differ(number, at+"lengthscales", a.Lengthscales, b.Lengthscales)
			continue
		}
		for i := range a.Lengthscales {
			if !agrees(a.Lengthscales[i], b.Lengthscales[i]) {
				v.differ(number, at+"lengthscales", a.Lengthscales, b.Lengthscales)
				break
			}
		}
	}
}

func (v *verifier) compareMaps(number int, field string, stored, replayed map[string]float64) {
	names := map[string]bool{}
	for name := range stored {
		names[name] = true
	}
	for name := range replayed {
		names[name] = true
	}
	for _, name := range sortedKeys(names) {
		a, hasA := stored[name]
		b, hasB := replayed[name]
		if hasA && hasB && agrees(a, b) {
			continue
		}
		at := field
		if name != "" {
			at += "." + name
		}
		v.differ(number, at, numberOrNil(a, hasA), numberOrNil(b, hasB))
	}
}

func numberOrNil(x float64, there bool) any {
	if !there {
		return nil
	}
	return x
}

func agrees(stored, replayed float64) bool {
	stored, replayed = design.Saturated(stored), design.Saturated(replayed)
	return math.Abs(stored-replayed) <= numberTolerance*max(1, math.Abs(stored))
}

func (v *verifier) differ(number int, field string, stored, replayed any) {
	v.result.Different = append(v.result.Different, Difference{Number: number, Field: field, Stored: stored, Replayed: replayed})
}

// VerifyBundle checks an exported study offline: its hashes, and every decision replayed.
func VerifyBundle(ctx context.Context, text []byte) (Verification, error) {
	var bundle ledger.Bundle
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&bundle); err != nil {
		return Verification{}, fmt.Errorf("this is not an exported study: %w", err)
	}
	if bundle.Format != ledger.BundleFormat {
		return Verification{}, fmt.Errorf("this is not an exported study: its format is %q, not %q", bundle.Format, ledger.BundleFormat)
	}
	return verifyEvents(ctx, bundle.Events, bundle.Check())
}
