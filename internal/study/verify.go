package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"headroom/internal/scheduler"
	"headroom/internal/study/ledger"
)

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

// What Verification.Rules says.
const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}

// Verified is how verifying a study ended, on whichever server.
type Verified struct {
	Verification
	Version int64     `json:"version"`
	Hash    string    `json:"hash"` // of the ledger's last event then
	At      time.Time `json:"at"`
}

// Verifying is how far the verification of a study is that goes on behind requests on this server,
// and how the last one ended.
type Verifying struct {
	Going  int64 // the version that is being verified, 0 for none
	Walked int64 // the event to which it has come
	Failed error // why the last attempt came to no outcome
}

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it
// had seen, under the definition then in force. What was verified before is not verified again: the
// walk goes on from there, also where a caller left in the middle of it. The outcome is remembered
// for all servers.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	ctx = scheduler.With(ctx, scheduler.Checking)
	one := s.verifications.of(snap.ID)
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return Verification{}, ctx.Err()
	}
	if err := s.verifyUpTo(ctx, one, snap); err != nil {
		return Verification{}, err
	}
	outcome := one.verifier.outcome(snap.Version)
	return outcome, s.store.KeepVerified(ctx, snap.ID, Verified{outcome, snap.Version, snap.Hash, s.options.Now()})
}

// verifyTime bounds a verification behind requests; it can be asked for again, and goes on from
// where it was.
const verifyTime = 10 * time.Minute

// VerifyBehind verifies as Verify does, behind the request; one of a study at a time. Verifying
// says how far it is.
func (s *Service) VerifyBehind(snap *ledger.Snapshot) error {
	one := s.verifications.of(snap.ID)
	if !one.begin(snap.Version) {
		return nil
	}
	begun := s.Derived.Jobs.Go("verification", snap.ID, verifyTime, func(ctx context.Context) error {
		_, err := s.Verify(ctx, snap)
		return err
	}, one.end)
	if !begun {
		one.end(ErrUnavailable)
		return fmt.Errorf("the server is stopping: %w", ErrUnavailable)
	}
	return nil
}

// Verifying says how the study's verification stands, without waiting for one under way, and how
// the last one ended; nil if there was none.
func (s *Service) Verifying(ctx context.Context, id string) (Verifying, *Verified, error) {
	now := s.verifications.of(id).stands() // before the outcome is read, which is kept before the work ends: one that ends meanwhile is seen
	last, err := s.store.Verified(ctx, id)
	return now, last, err
}

// eventsAtOnce is how many events a verification reads at a time.
const eventsAtOnce = 500

// verifyUpTo lets the study's verifier walk to the snapshot's version. Only while it walks does it
// hold what it computes with.
func (s *Service) verifyUpTo(ctx context.Context, one *verification, snap *ledger.Snapshot) error {
	v := &one.verifier
	if v.walked() >= snap.Version {
		return nil
	}
	defer v.rest()
	if err := s.resume(ctx, snap.ID, v); err != nil {
		return err
	}
	for v.walked() < snap.Version {
		events, err := s.store.Events(ctx, snap.ID, v.walked(), int(min(snap.Version-v.walked(), eventsAtOnce)))
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return fmt.Errorf("study %s: the ledger ends at event %d instead of %d", snap.ID, v.walked(), snap.Version)
		}
		err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) error { return v.next(ctx, events) })
		one.progressed(v)
		if err != nil {
			return err
		}
	}
	v.finish()
	return nil
}

// resume gives the verifier back what it computes with.
func (s *Service) resume(ctx context.Context, id string, v *verifier) error {
	if v.walked() == 0 || v.ended != 0 {
		return nil
	}
	var base *ledger.Snapshot
	if v.base > 0 {
		var err error
		if base, err = s.Snapshot(ctx, id, v.base); err != nil {
			return err
		}
	}
	var tail []ledger.Event
	if v.walked() > v.base {
		var err error
		if tail, err = s.store.Events(ctx, id, v.base, int(v.walked()-v.base)); err != nil {
			return err
		}
	}
	return v.resume(base, tail)
}

// mostVerifications is how many studies' verifications are remembered, which takes some bytes a
// decision.
const mostVerifications = 1000

// verifications remember how far each study was verified.
type verifications struct {
	mu   sync.Mutex
	byID map[string]*verification
}

// verification is one study's.
type verification struct {
	turn     chan struct{} // held by whoever walks or reads the outcome
	verifier verifier

	mu  sync.Mutex
	now Verifying
}

// of is what is remembered of a study. Where there is too much, others that nothing goes on with
// make room.
func (vs *verifications) of(id string) *verification {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	one := vs.byID[id]
	if one == nil {
		for other, v := range vs.byID {
			if len(vs.byID) >= mostVerifications && v.stands().Going == 0 {
				delete(vs.byID, other)
			}
		}
		one = &verification{turn: make(chan struct{}, 1)}
		vs.byID[id] = one
	}
	return one
}

func (one *verification) stands() Verifying {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.now
}

func (one *verification) progressed(v *verifier) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.now.Walked, one.now.Failed = v.walked(), nil
}

// begin tells whether a verification behind requests may begin: none of the study is under way.
func (one *verification) begin(version int64) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.now.Going != 0 {
		return false
	}
	one.now.Going, one.now.Failed = version, nil
	return true
}

func (one *verification) end(err error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.now.Going, one.now.Failed = 0, err
}

// verifyEvents verifies a whole ledger whose hashes were found broken or not.
func verifyEvents(ctx context.Context, events []ledger.Event, broken error) (Verification, error) {
	var v verifier
	if broken != nil {
		v.breakAt(1, broken)
	}
	if err := v.walk(ctx, events); err != nil {
		return Verification{}, err
	}
	v.finish()
	return v.outcome(int64(len(events))), nil
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
