package study

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// mostDifferences is how many differences are kept; beyond it a ledger is broken enough.
const mostDifferences = 1000

// verifier walks a ledger once, as far as it is given events, and knows what it found up to each of
// them. Two places move along the ledger: the event it has walked to, and behind it the study as
// the last decision saw it.
type verifier struct {
	last      ledger.Event // the last one walked; its Seq is 0 before the first
	base      int64        // the event that the last decision had seen
	checked   []int64      // decisions replayed
	gone      []decided    // by other engines, whose rules the program no longer has
	different []found
	broken    int64 // the event from which on the hashes do not hold, 0 for none
	ended     int64 // the event at which the ledger could no longer be followed, 0 for none
	kept      replaying
}

// decided is a decision's event and the engine that made it.
type decided struct {
	seq    int64
	engine string
}

// found is a difference and the event at which it was found.
type found struct {
	seq        int64
	difference Difference
}

// replaying is what the verifier computes with. It can be made again from the ledger.
type replaying struct {
	snap    *ledger.Snapshot    // after event snap.Version, the one that the last decision had seen
	tail    []ledger.Event      // after snap.Version, up to walked
	fits    []ledger.FittedData // of all events walked
	pending []optimizer.Round   // chosen after snap
	history *optimizer.History  // of snap, nil until it is needed
	state   *optimizer.State
	under   *design.Compiled // what state was replayed under
	values  ledger.Resolver  // of all events walked
}

// outcome is what was found up to event version, which must have been walked.
func (v *verifier) outcome(version int64) Verification {
	out := Verification{Different: []Difference{}, LedgerIntact: v.broken == 0 || v.broken > version, Rules: RulesPresent,
		Checked: sort.Search(len(v.checked), func(i int) bool { return v.checked[i] > version })}
	for _, d := range v.gone {
		if d.seq > version {
			break
		}
		out.Rules, out.Unchecked = RulesGone, out.Unchecked+1
		if !slices.Contains(out.GoneEngines, d.engine) {
			out.GoneEngines = append(out.GoneEngines, d.engine)
		}
	}
	for _, f := range v.different {
		if f.seq <= version {
			out.Different = append(out.Different, f.difference)
		}
	}
	out.OK = len(out.Different) == 0
	return out
}

// breakAt notes that the hashes do not hold from an event on.
func (v *verifier) breakAt(seq int64, why error) {
	v.broken = seq
	v.note(seq, Difference{Field: "ledger", Replayed: why.Error()})
}

// walked is the number of the last event walked.
func (v *verifier) walked() int64 { return v.last.Seq }

// next goes on with the events that follow, hashes and decisions.
func (v *verifier) next(ctx context.Context, events []ledger.Event) error {
	if v.broken == 0 {
		v.checkHashes(events)
	}
	return v.walk(ctx, events)
}

// checkHashes looks for the first event that does not continue the chain.
func (v *verifier) checkHashes(events []ledger.Event) {
	check := func(count int) error {
		if v.last.Seq == 0 {
			return ledger.CheckChain(events[:count])
		}
		if events[0].At.Before(v.last.At) {
			return fmt.Errorf("event %d: is earlier than the one before it", events[0].Seq)
		}
		return ledger.CheckContinues(v.last.Seq, v.last.Hash, events[:count])
	}
	if check(len(events)) == nil {
		return
	}
	first := sort.Search(len(events), func(i int) bool { return check(i+1) != nil })
	v.breakAt(events[first].Seq, check(first+1))
}

// rest lets go of what the verifier computes with.
func (v *verifier) rest() { v.kept = replaying{} }

// walk goes on over the events that follow. It stops where ctx ends, to be called again with the
// events from there on; a ledger that cannot be followed is a difference, and the rest of it is not
// looked at.
func (v *verifier) walk(ctx context.Context, events []ledger.Event) error {
	for _, e := range events {
		if v.ended == 0 {
			if err := v.event(ctx, e); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				v.endAt(e.Seq, fmt.Errorf("event %d: %w", e.Seq, err))
			}
		}
		v.last = e
	}
	return ctx.Err()
}

func (v *verifier) endAt(seq int64, why error) {
	v.ended, v.kept = seq, replaying{}
	v.note(seq, Difference{Field: "ledger", Replayed: why.Error()})
}

func (v *verifier) note(seq int64, d Difference) {
	if len(v.different) < mostDifferences {
		v.different = append(v.different, found{seq, d})
	}
}

// finish looks whether the events after the last decision can be followed too.
func (v *verifier) finish() {
	if v.ended != 0 || len(v.kept.tail) == 0 {
		return
	}
	if _, err := ledger.Fold("verified", v.kept.snap, v.kept.tail, nil); err != nil {
		v.endAt(v.last.Seq, err)
	}
}

func (v *verifier) event(ctx context.Context, e ledger.Event) error {
	err := v.kept.take(e, func(chosen ledger.ChosenData) error {
		if err := v.kept.advance(chosen.Seen); err != nil {
			return err
		}
		v.base = chosen.Seen
		switch {
		case chosen.Decision == nil:
		case chosen.Engine != optimizer.Engine:
			v.gone = append(v.gone, decided{e.Seq, chosen.Engine})
		default:
			replayed := comparison{chosen: chosen, seen: &v.kept}
			if err := replayed.run(ctx); err != nil {
				return err
			}
			for _, d := range replayed.different {
				v.note(e.Seq, d)
			}
			v.checked = append(v.checked, e.Seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.kept.tail = append(v.kept.tail, e)
	return nil
}

// resume prepares to go on with the study as it was after the event that the last decision had seen
// (nil before the first decision), and the events from there on to the last one walked, which were
// looked at before.
func (v *verifier) resume(snap *ledger.Snapshot, tail []ledger.Event) error {
	v.kept = replaying{snap: snap, tail: tail}
	if snap != nil {
		v.kept.fits, v.kept.values = append(v.kept.fits, snap.Fits...), snap.Resolver()
	}
	for _, e := range tail {
		if err := v.kept.take(e, func(ledger.ChosenData) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// take reads a fit or a decision; look has the decision before later ones see it as pending.
func (k *replaying) take(e ledger.Event, look func(ledger.ChosenData) error) error {
	switch e.Kind {
	case ledger.Fitted:
		var fit ledger.FittedData
		if err := e.Decode(&fit); err != nil {
			return err
		}
		k.fits = append(k.fits, fit)
	case ledger.Chosen:
		var chosen ledger.ChosenData
		if err := e.Decode(&chosen); err != nil {
			return err
		}
		chosen, err := k.values.Resolve(chosen)
		if err != nil {
			return err
		}
		if err := look(chosen); err != nil {
			return err
		}
		k.choose(chosen)
	}
	return nil
}

// choose adds a decision to what later ones with the same view see as pending.
func (k *replaying) choose(chosen ledger.ChosenData) {
	c := k.snap.Compiled()
	place := c.Locate(chosen.Parameters, chosen.Candidate)
	k.pending = append(k.pending, optimizer.Round{Point: place.U, Arm: place.Arm, Suggested: chosen.Origin == ledger.Suggested,
		Readings: make([]optimizer.Reading, len(c.MetricNames)), Costs: c.Def.KnownInOrder(chosen.KnownValues), Draw: chosen.Decision.Draw(c.Def.Algorithm.Name)})
}

// advance folds the ledger up to event seq; what was chosen by then is part of it.
func (k *replaying) advance(seq int64) error {
	count := seq - versionOf(k.snap)
	if k.snap != nil && count == 0 {
		return nil
	}
	if count < 0 || count > int64(len(k.tail)) {
		return fmt.Errorf("a decision made from event %d", seq)
	}
	snap, err := ledger.Fold("verified", k.snap, k.tail[:count], nil)
	if err != nil {
		return err
	}
	k.snap, k.tail, k.pending, k.history = snap, append([]ledger.Event{}, k.tail[count:]...), nil, nil
	return nil
}

// replayed is the state that decision number was made from.
func (k *replaying) replayed(ctx context.Context, number int) (*optimizer.State, error) {
	c := k.snap.Compiled()
	if k.history == nil {
		k.history = k.snap.History(c)
	}
	if len(k.history.Rounds)+len(k.pending) != number-1 {
		return nil, fmt.Errorf("trial %d was decided when %d were chosen", number, len(k.history.Rounds)+len(k.pending))
	}
	rounds := k.history.Rounds[:len(k.history.Rounds):len(k.history.Rounds)]
	h := &optimizer.History{Rounds: append(rounds, k.pending...), Fits: ledger.FitsUnder(c, k.fits)}
	var state *optimizer.State
	var err error
	if k.state != nil && k.under == c {
		state, err = k.state.Extend(ctx, h)
	} else {
		state, err = optimizer.Replay(ctx, c.Config, h)
	}
	if err == nil { // otherwise what was there may still be extended when the walk goes on
		k.state, k.under = state, c
	}
	return state, err
}
