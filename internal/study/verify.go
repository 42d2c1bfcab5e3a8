package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// What Verification.Rules says.
const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

// Verified is how verifying a study ended, on whichever server.
type Verified struct {
	Verification
	Version int64     `json:"version"`
	Hash    string    `json:"hash"`   // of the ledger's last event then
	Engine  string    `json:"engine"` // of the program that verified it
	At      time.Time `json:"at"`
}

// Verification says how replaying a ledger ended.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
	// Rules tells whether the program still has the rules of every engine that decided; Unchecked
	// counts the decisions of those it no longer has, which were not replayed, and GoneEngines
	// names them.
	Rules       string   `json:"rules" enum:"present,gone"`
	Unchecked   int      `json:"unchecked"`
	GoneEngines []string `json:"gone_engines,omitempty"`
}

// Difference is what a replay does not give again.
type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}

// verifying is a verification behind requests; its progress counts events. It can be asked for
// again, and goes on from where it was.
var verifying = derived.Task{Kind: "verification", Limit: 10 * time.Minute}

// verifiedFor is for how long an outcome is told again instead of being looked for anew.
const verifiedFor = time.Second

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it
// had seen, under the definition then in force. Decisions that were replayed before, on whichever
// server, are not replayed again, nor are those that a caller who left waited for: outcomes are
// remembered as the walk goes on.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	return derived.Fresh(scheduler.With(ctx, scheduler.Checking), s.Derived, snap, verificationOf, verifiedFor, func(ctx context.Context) (Verification, error) {
		before, err := s.verifiedBefore(ctx, snap)
		if err != nil {
			return Verification{}, err
		}
		v := newVerifier(before)
		row, last, err := s.store.Ends(ctx, snap.ID)
		v.intact(row.Fits(last))
		for err == nil && v.last.Seq < snap.Version {
			err = s.verifyPart(ctx, v, snap)
		}
		return v.outcome(), err
	})
}

// verifiedBefore is the last outcome, if the snapshot's verification can go on from it: it found
// nothing wrong, by the rules of now, with what the ledger says still.
func (s *Service) verifiedBefore(ctx context.Context, snap *ledger.Snapshot) (*Verified, error) {
	last, err := s.store.Verified(ctx, snap.ID)
	if err != nil || last == nil || !last.OK || last.Engine != optimizer.Engine || last.Version > snap.Version {
		return nil, err
	}
	events, err := s.store.Events(ctx, snap.ID, last.Version-1, 1)
	if err != nil || len(events) == 0 || events[0].Hash != last.Hash {
		return nil, err
	}
	return last, nil
}

// verifyPart walks over the next events up to the snapshot, and has the outcome up to them
// remembered.
func (s *Service) verifyPart(ctx context.Context, v *verifier, snap *ledger.Snapshot) error {
	from := v.last.Seq
	events, err := s.eventsUpTo(ctx, snap, from)
	if gone, ok := errors.AsType[*Damaged](err); ok { // since the snapshot was read
		v.intact(gone.Why)
		v.last, err = ledger.Event{Seq: snap.Version, Hash: snap.Hash}, nil
	}
	if err != nil {
		return err
	}
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) error { return v.walk(ctx, events) })
	s.Derived.Advance(verifying, snap.ID, func(now Progress) int64 {
		if now.Wanted != snap.Version { // another version is verified meanwhile
			return now.Done
		}
		return v.last.Seq
	})
	if v.last.Seq == from || v.last.Seq < v.replayed {
		return err
	}
	s.remember(ctx, snap.ID, &Verified{v.outcome(), v.last.Seq, v.last.Hash, optimizer.Engine, s.now()})
	return err
}

// remember has the database keep an outcome. Where that takes no writes, as without its standby, this
// server tells it until it ends: verifying reads.
func (s *Service) remember(ctx context.Context, id string, outcome *Verified) {
	s.unkept.Store(id, outcome)
	if err := s.store.KeepVerified(context.WithoutCancel(ctx), id, *outcome); err != nil {
		s.log.WarnContext(ctx, "how a verification ended could not be kept", "study", id, "error", err)
		return
	}
	s.unkept.Delete(id)
}

// VerifyBehind verifies as Verify does, behind the request; one of a study at a time. Verifying
// says how far it is.
func (s *Service) VerifyBehind(snap *ledger.Snapshot) error {
	err := s.begin(verifying, snap.ID, snap.Version, func(ctx context.Context) error {
		_, err := s.Verify(ctx, snap)
		return err
	})
	if errors.Is(err, derived.ErrGoing) {
		return nil
	}
	return err
}

// Verifying says how the verification of a study stands that goes on behind requests on this
// server, without waiting for it, and how the last one ended, on whichever; nil if there was none.
func (s *Service) Verifying(ctx context.Context, id string) (Progress, *Verified, error) {
	now, _ := s.Derived.Progress(verifying, id) // before the outcome is read, which is kept before the work ends: one that ends meanwhile is seen
	last, err := s.store.Verified(ctx, id)
	if here, found := s.unkept.Load(id); err == nil && found {
		own := here.(*Verified)
		if last == nil || own.Version > last.Version || own.Version == last.Version && own.At.After(last.At) {
			last = own
		}
	}
	if last != nil && last.Version >= now.Wanted {
		now.Failed = nil // somebody has finished it
	}
	return now, last, err
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
	v := newVerifier(nil)
	if err := v.walk(ctx, bundle.Events); err != nil {
		return Verification{}, err
	}
	v.intact(bundle.EndsWith(v.last))
	return v.outcome(), nil
}

// mostDifferences is how many differences are kept; beyond it a ledger is broken enough.
const mostDifferences = 1000

// verifier walks a ledger once, from its first event on. Two places move along it: the event that
// it has walked to, and behind it the study as the last decision saw it.
type verifier struct {
	found    Verification
	replayed int64        // decisions up to this event were replayed by an earlier verification
	last     ledger.Event // the last one walked; its Seq is 0 before the first
	ended    bool         // the ledger could no longer be followed

	snap    *ledger.Snapshot    // after event snap.Version, the one that the last decision had seen
	tail    []ledger.Event      // after snap.Version, up to last
	fits    []ledger.FittedData // of all events walked
	pending []optimizer.Round   // chosen after snap
	history *optimizer.History  // of snap, nil until it is needed
	state   *optimizer.State
	under   *design.Compiled // what state was replayed under
	values  ledger.Resolver  // of all events walked
}

// newVerifier goes on from an earlier outcome, which may be nil: all is walked again, and what was
// decided since is replayed.
func newVerifier(before *Verified) *verifier {
	v := &verifier{found: Verification{Different: []Difference{}, LedgerIntact: true, Rules: RulesPresent}}
	if before != nil {
		v.found, v.replayed = before.Verification, before.Version
	}
	return v
}

// outcome is what was found up to the last event walked, also of whether those after the last
// decision can be followed.
func (v *verifier) outcome() Verification {
	if !v.ended && len(v.tail) > 0 {
		if _, err := ledger.Fold("verified", v.snap, v.tail, nil); err != nil {
			v.end(err)
		}
	}
	out := v.found
	out.OK = len(out.Different) == 0
	return out
}

// walk goes on over the events that follow, as far as ctx lets it. A ledger that cannot be followed
// is a difference, and only the hashes of the rest of it are looked at.
func (v *verifier) walk(ctx context.Context, events []ledger.Event) error {
	for _, e := range events {
		if !v.ended {
			err := v.event(ctx, e)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				v.end(fmt.Errorf("event %d: %w", e.Seq, err))
			}
		}
		v.intact(ledger.CheckContinues(v.last, []ledger.Event{e}))
		v.last = e
	}
	return nil
}

// intact notes the first place from which on the hashes do not hold.
func (v *verifier) intact(err error) {
	if err != nil && v.found.LedgerIntact {
		v.found.LedgerIntact = false
		v.note(Difference{Field: "ledger", Replayed: err.Error()})
	}
}

func (v *verifier) end(why error) {
	v.ended = true
	v.note(Difference{Field: "ledger", Replayed: why.Error()})
}

func (v *verifier) note(differences ...Difference) {
	room := mostDifferences - len(v.found.Different)
	v.found.Different = append(v.found.Different, differences[:min(len(differences), room)]...)
}

func (v *verifier) event(ctx context.Context, e ledger.Event) error {
	switch e.Kind {
	case ledger.Fitted:
		var fit ledger.FittedData
		if err := e.Decode(&fit); err != nil {
			return err
		}
		v.fits = append(v.fits, fit)
	case ledger.Chosen:
		if err := v.chosen(ctx, e); err != nil {
			return err
		}
	}
	v.tail = append(v.tail, e)
	return nil
}

// chosen replays a decision, before later ones see it as pending.
func (v *verifier) chosen(ctx context.Context, e ledger.Event) error {
	var chosen ledger.ChosenData
	if err := e.Decode(&chosen); err != nil {
		return err
	}
	chosen, err := v.values.Resolve(chosen)
	if err != nil {
		return err
	}
	if err := v.advance(chosen.Seen); err != nil {
		return err
	}
	switch {
	case chosen.Decision == nil || e.Seq <= v.replayed:
	case chosen.Engine != optimizer.Engine:
		v.found.Rules, v.found.Unchecked = RulesGone, v.found.Unchecked+1
		if !slices.Contains(v.found.GoneEngines, chosen.Engine) {
			v.found.GoneEngines = append(v.found.GoneEngines, chosen.Engine)
		}
	default:
		replayed := comparison{chosen: chosen, seen: v}
		if err := replayed.run(ctx); err != nil {
			return err
		}
		v.note(replayed.different...)
		v.found.Checked++
	}
	v.pending = append(v.pending, pendingRound(v.snap.Compiled(), chosen))
	return nil
}

// advance folds the ledger up to event seq; what was chosen by then is part of it.
func (v *verifier) advance(seq int64) error {
	count := seq - versionOf(v.snap)
	if v.snap != nil && count == 0 {
		return nil
	}
	if count < 0 || count > int64(len(v.tail)) {
		return fmt.Errorf("a decision made from event %d", seq)
	}
	snap, err := ledger.Fold("verified", v.snap, v.tail[:count], nil)
	if err != nil {
		return err
	}
	v.snap, v.tail, v.pending, v.history = snap, slices.Clone(v.tail[count:]), nil, nil
	return nil
}

// stateAt is the state that decision number was made from.
func (v *verifier) stateAt(ctx context.Context, number int) (*optimizer.State, error) {
	c := v.snap.Compiled()
	if v.history == nil {
		v.history = v.snap.History(c)
	}
	if chosen := len(v.history.Rounds) + len(v.pending); chosen != number-1 {
		return nil, fmt.Errorf("trial %d was decided when %d were chosen", number, chosen)
	}
	h := &optimizer.History{Rounds: append(slices.Clip(v.history.Rounds), v.pending...), Fits: ledger.FitsUnder(c, v.fits)}
	var err error
	if v.state != nil && v.under == c {
		v.state, err = v.state.Extend(ctx, h)
	} else {
		v.state, err = optimizer.Replay(ctx, c.Config, h)
	}
	v.under = c
	return v.state, err
}
