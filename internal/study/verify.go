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

const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

// Verified is the outcome of verifying a study, on any server.
type Verified struct {
	Verification
	Version int64     `json:"version"`
	Hash    string    `json:"hash"`   // of the ledger's last event at the time
	Engine  string    `json:"engine"` // of the verifying program
	At      time.Time `json:"at"`
}

// Verification is the outcome of replaying a ledger.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
	// Rules tells whether the program still has the rules of every engine that made decisions.
	// Unchecked counts the decisions of engines whose rules are gone, which were not replayed, and
	// GoneEngines names those engines.
	Rules       string   `json:"rules" enum:"present,gone"`
	Unchecked   int      `json:"unchecked"`
	GoneEngines []string `json:"gone_engines,omitempty"`
}

// Difference is something that a replay does not reproduce.
type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}

// verifying is a verification in the background; its progress counts events. After an interruption
// it can be started again and continues.
var verifying = derived.Task{Kind: "verification", Limit: 10 * time.Minute}

// verifiedFor is for how long an outcome is reused instead of being computed again.
const verifiedFor = time.Second

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it
// had seen, under the definition then in force. Outcomes are stored along the way: a decision that
// was replayed before, on any server and even for a caller who left, is not replayed again.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	return derived.Fresh(scheduler.With(ctx, scheduler.Checking), s.Derived, snap, verificationOf, verifiedFor, func(ctx context.Context) (Verification, error) {
		before, err := s.verifiedBefore(ctx, snap)
		if err != nil {
			return Verification{}, err
		}
		leave, err := s.verifyMemory.enter(ctx, snap)
		if err != nil {
			return Verification{}, err
		}
		defer leave()
		v := newVerifier(before)
		v.with.Room = s.verifyMemory.bytes
		row, last, err := s.store.Ends(ctx, snap.ID)
		v.checkIntact(row.Fits(last))
		for err == nil && v.last.Seq < snap.Version {
			err = s.verifyPart(ctx, v, snap)
		}
		if refused := tooLarge(err, adviceOnVerifying); refused != nil {
			err = refused
		}
		return v.outcome(), err
	})
}

const adviceOnVerifying = "A program with more memory can verify it, as with headroom verify on an export of the study."

// verifiedBefore returns the last outcome if the verification can continue from it: it found no
// fault under the present rules, and the ledger still has the event at which it ended.
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

// verifyPart verifies the next events up to the snapshot and stores the outcome up to them.
func (s *Service) verifyPart(ctx context.Context, v *verifier, snap *ledger.Snapshot) error {
	from := v.last.Seq
	events, err := s.eventsUpTo(ctx, snap, from)
	if gone, ok := errors.AsType[*Damaged](err); ok { // after the snapshot was read
		v.checkIntact(gone.Why)
		v.last, err = ledger.Event{Seq: snap.Version, Hash: snap.Hash}, nil
	}
	if err != nil {
		return err
	}
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) error { return v.walk(ctx, events) })
	s.Derived.Advance(verifying, snap.ID, func(now Progress) int64 {
		if now.Wanted != snap.Version { // another version is being verified meanwhile
			return now.Done
		}
		return v.last.Seq
	})
	if v.last.Seq == from || v.last.Seq < v.replayed {
		return err
	}
	s.keepOutcome(ctx, snap.ID, &Verified{v.outcome(), v.last.Seq, v.last.Hash, optimizer.Engine, s.now()})
	return err
}

// keepOutcome stores an outcome in the database. If that takes no writes, as without its standby,
// this server keeps the outcome in memory, since verifying is a read.
func (s *Service) keepOutcome(ctx context.Context, id string, outcome *Verified) {
	s.unkept.Store(id, outcome)
	if err := s.store.KeepVerified(context.WithoutCancel(ctx), id, *outcome); err != nil {
		s.log.WarnContext(ctx, "how a verification ended could not be kept", "study", id, "error", err)
		return
	}
	s.unkept.Delete(id)
}

// VerifyBehind runs Verify in the background, once at a time for each study; see Verifying.
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

// Verifying returns the progress of a study's background verification on this server, without
// waiting for it, and the last outcome on any server, nil if there is none.
func (s *Service) Verifying(ctx context.Context, id string) (Progress, *Verified, error) {
	now, _ := s.Derived.Progress(verifying, id) // read before the outcome, which is stored before the work ends, so that none is missed
	last, err := s.store.Verified(ctx, id)
	if here, found := s.unkept.Load(id); err == nil && found {
		own := here.(*Verified)
		if last == nil || own.Version > last.Version || own.Version == last.Version && own.At.After(last.At) {
			last = own
		}
	}
	if last != nil && last.Version >= now.Wanted {
		now.Failed = nil // another run has succeeded since
	}
	return now, last, err
}

// VerifyBundle verifies an exported study without a database: its hashes and every decision.
func VerifyBundle(ctx context.Context, text []byte) (Verification, error) {
	var bundle ledger.Bundle
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&bundle); err != nil {
		return Verification{}, fmt.Errorf("this is not an exported study: %w", ledger.InWords(err))
	}
	if bundle.Format != ledger.BundleFormat {
		return Verification{}, fmt.Errorf("this is not an exported study: its format is %q, not %q", bundle.Format, ledger.BundleFormat)
	}
	v := newVerifier(nil)
	if err := v.walk(ctx, bundle.Events); err != nil {
		return Verification{}, err
	}
	v.checkIntact(bundle.EndsWith(v.last))
	return v.outcome(), nil
}

// mostDifferences is how many differences are kept; a ledger with more is broken anyway.
const mostDifferences = 1000

// verifier reads a ledger once from its first event on. It keeps two positions: the last event
// read, and behind it the study as the last decision had seen it.
type verifier struct {
	found    Verification
	replayed int64               // decisions up to this event were replayed earlier
	last     ledger.Event        // the last one read; its Seq is 0 before the first
	gaveUp   bool                // an event could not be applied
	with     optimizer.Resources // of a replay

	snap    *ledger.Snapshot    // as the last decision had seen it
	tail    []ledger.Event      // after snap.Version, up to last
	fits    []ledger.FittedData // of all events read
	pending []optimizer.Round   // chosen after snap
	history *optimizer.History  // of snap, nil until it is needed
	state   *optimizer.State
	under   *design.Compiled // what state was replayed under
	values  ledger.Resolver  // of all events read
}

// newVerifier returns a verifier. Given an earlier outcome, it reads all events again but replays
// only the decisions made since.
func newVerifier(before *Verified) *verifier {
	v := &verifier{found: Verification{Different: []Difference{}, LedgerIntact: true, Rules: RulesPresent}}
	if before != nil {
		v.found, v.replayed = before.Verification, before.Version
	}
	return v
}

// outcome returns what was found up to the last event read. It first checks that the events after
// the last decision can be folded.
func (v *verifier) outcome() Verification {
	if !v.gaveUp && len(v.tail) > 0 {
		if _, err := ledger.Fold("verified", v.snap, v.tail, nil); err != nil {
			v.giveUp(err)
		}
	}
	out := v.found
	out.OK = len(out.Different) == 0
	return out
}

// walk reads the next events until ctx ends or a model is too large. An event that cannot be applied
// is a difference; of the events after it only the hashes are checked.
func (v *verifier) walk(ctx context.Context, events []ledger.Event) error {
	for _, e := range events {
		if !v.gaveUp {
			err := v.apply(ctx, e)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, tooLarge := errors.AsType[*optimizer.TooLarge](err); tooLarge {
				return err
			}
			if err != nil {
				v.giveUp(fmt.Errorf("event %d: %w", e.Seq, err))
			}
		}
		v.checkIntact(ledger.CheckContinues(v.last, []ledger.Event{e}))
		v.last = e
	}
	return nil
}

// checkIntact records the first fault of the hash chain; err may be nil.
func (v *verifier) checkIntact(err error) {
	if err != nil && v.found.LedgerIntact {
		v.found.LedgerIntact = false
		v.note(Difference{Field: "ledger", Replayed: err.Error()})
	}
}

func (v *verifier) giveUp(why error) {
	v.gaveUp = true
	v.note(Difference{Field: "ledger", Replayed: why.Error()})
}

func (v *verifier) note(differences ...Difference) {
	room := mostDifferences - len(v.found.Different)
	v.found.Different = append(v.found.Different, differences[:min(len(differences), room)]...)
}

func (v *verifier) apply(ctx context.Context, e ledger.Event) error {
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

// chosen replays a decision, then makes it pending for later ones.
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
		replayed := comparison{chosen: chosen, verifier: v}
		if err := replayed.run(ctx); err != nil {
			return err
		}
		v.note(replayed.different...)
		v.found.Checked++
	}
	v.pending = append(v.pending, pendingRound(v.snap.Compiled(), chosen))
	return nil
}

// advance moves snap on to event seq. What was chosen by then is part of it and pending no more.
func (v *verifier) advance(seq int64) error {
	count := seq - v.snap.End().Seq
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

// stateAt returns the state from which decision number was made.
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
		v.state, err = optimizer.ReplayWithin(ctx, c.Config, h, v.with)
	}
	v.under = c
	return v.state, err
}
