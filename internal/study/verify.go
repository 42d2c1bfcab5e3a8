package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/ledger"
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

// What Verification.Rules says.
const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

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
	events, err := s.eventsUpTo(ctx, snap, v.last.Seq)
	if err != nil {
		return err
	}
	from := v.last.Seq
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) error { return v.walk(ctx, events) })
	s.Derived.Advance(verifying, snap.ID, v.last.Seq-from)
	if v.last.Seq == from || v.last.Seq < v.replayed {
		return err
	}
	kept := Verified{v.outcome(), v.last.Seq, v.last.Hash, optimizer.Engine, s.options.Now()}
	return errors.Join(err, s.store.KeepVerified(context.WithoutCancel(ctx), snap.ID, kept))
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
