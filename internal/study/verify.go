package study

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"headroom/internal/study/ledger"
	"headroom/internal/turns"
)

// Verification is POST …/verify.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
	// Rules tells whether the program still has the rules of every engine that decided; Unchecked counts the decisions of those it no longer has, which were not replayed,
	// and GoneEngines names them.
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

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it had seen, under the definition
// then in force. What was verified before is not verified again: the walk goes on from there, also where a caller left in the middle of it.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	ctx = turns.With(ctx, turns.Checking)
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
	return one.verifier.outcome(snap.Version), nil
}

// verifyTime bounds a verification behind requests; it can be asked for again, and goes on from where it was.
const verifyTime = 10 * time.Minute

// VerifyBehind verifies as Verify does, behind the request, and hands the outcome to ended. It reports false, and verifies nothing, when the service stops.
// Verified says how far it is.
func (s *Service) VerifyBehind(snap *ledger.Snapshot, ended func(Verification, error)) bool {
	var outcome Verification
	return s.Derived.Jobs.Go("verification", snap.ID, verifyTime, func(ctx context.Context) (err error) {
		outcome, err = s.Verify(ctx, snap)
		return err
	}, func(err error) { ended(outcome, err) })
}

// eventsAtOnce is how many events a verification reads at a time.
const eventsAtOnce = 500

// verifyUpTo lets the study's verifier walk to the snapshot's version. Only while it walks does it hold what it computes with.
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

// mostVerifications is how many studies' verifications are remembered, which takes some bytes a decision.
const mostVerifications = 1000

// verifications remember how far each study was verified. The one looked at longest ago goes first.
type verifications struct {
	mu     sync.Mutex
	recent *list.List // of *verification
	byID   map[string]*list.Element
}

// verification is one study's.
type verification struct {
	id       string
	turn     chan struct{} // held by whoever walks or reads the outcome
	verifier verifier

	mu     sync.Mutex
	walked int64
}

func newVerifications() *verifications {
	return &verifications{recent: list.New(), byID: map[string]*list.Element{}}
}

func (vs *verifications) of(id string) *verification {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if element, ok := vs.byID[id]; ok {
		vs.recent.MoveToFront(element)
		return element.Value.(*verification)
	}
	one := &verification{id: id, turn: make(chan struct{}, 1)}
	vs.byID[id] = vs.recent.PushFront(one)
	if vs.recent.Len() > mostVerifications {
		delete(vs.byID, vs.recent.Remove(vs.recent.Back()).(*verification).id)
	}
	return one
}

func (one *verification) progressed(v *verifier) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.walked = v.walked()
}

// Verified says how far the study has been verified, as an event's number, without waiting for a verification under way.
func (s *Service) Verified(id string) int64 {
	one := s.verifications.of(id)
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.walked
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
