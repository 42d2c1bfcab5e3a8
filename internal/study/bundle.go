package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// BundleFormat names the form of Bundle.
const BundleFormat = "headroom-study/1"

// mostBundleBytes bounds an imported study.
const mostBundleBytes = 64 << 20

// Bundle is a study with its ledger, as export.json writes it and ImportBundle reads it. The events alone say everything; the rest
// is for people, and must agree with them.
type Bundle struct {
	Format     string     `json:"format"` // BundleFormat
	Definition Definition `json:"definition"`
	State      State      `json:"state"`
	Version    int64      `json:"version"` // of the last event
	Hash       string     `json:"hash"`    // of the last event
	Events     []Event    `json:"events"`
}

// Export returns the study as it was at the snapshot, with its ledger up to there.
func (s *Service) Export(ctx context.Context, snap *Snapshot) (Bundle, error) {
	events, err := s.Events(ctx, snap.ID, 0, int(snap.Version))
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{BundleFormat, snap.Definition, snap.State, snap.Version, snap.Hash, events}, nil
}

// ImportBundle makes a study of an exported one, with the same ledger, state and hashes.
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*Snapshot, error) {
	bundle, err := ReadBundle(file)
	if err != nil {
		return nil, err
	}
	first, err := appendEvents(cmd, newID(), nil, bundle.Events, nil)
	if err != nil {
		return nil, fault("body.events", err.Error(), nil)
	}
	if err := s.store.Create(ctx, first.After.ID, cmd, first); err != nil {
		return nil, err
	}
	return s.cache.put(first.After), nil
}

// ReadBundle reads an exported study and checks that it is whole: every hash follows from what stands before it. Errors are *Invalid or ErrTooLarge.
func ReadBundle(file io.Reader) (Bundle, error) {
	text, err := io.ReadAll(io.LimitReader(file, mostBundleBytes+1))
	if err != nil {
		return Bundle{}, err
	}
	if len(text) > mostBundleBytes {
		return Bundle{}, &refusal{fmt.Sprintf("A study of more than %d MiB cannot be imported.", mostBundleBytes>>20), ErrTooLarge}
	}
	if _, err := canonicalJSON(text); err != nil { // names used twice, numbers out of range
		return Bundle{}, fault("body", "this is not an exported study: "+err.Error(), nil)
	}
	var bundle Bundle
	if err := decodeExactly(text, &bundle); err != nil {
		return Bundle{}, fault("body", "this is not an exported study: "+err.Error(), nil)
	}
	if bundle.Format != BundleFormat {
		return Bundle{}, fault("body.format", fmt.Sprintf("%q is needed", BundleFormat), bundle.Format)
	}
	if err := bundle.check(); err != nil {
		return Bundle{}, fault("body.events", err.Error(), nil)
	}
	return bundle, nil
}

func (b Bundle) check() error {
	if len(b.Events) == 0 {
		return errors.New("the ledger is empty")
	}
	if err := CheckChain(b.Events); err != nil {
		return err
	}
	if last := b.Events[len(b.Events)-1]; b.Version != last.Seq || b.Hash != last.Hash {
		return fmt.Errorf("the ledger ends with event %d and hash %s, but should end with event %d and hash %s", last.Seq, last.Hash, b.Version, b.Hash)
	}
	return nil
}

// VerifyBundle checks an exported study offline: its hashes, and every decision replayed.
func VerifyBundle(ctx context.Context, text []byte) (Verification, error) {
	var bundle Bundle
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&bundle); err != nil {
		return Verification{}, fmt.Errorf("this is not an exported study: %w", err)
	}
	if bundle.Format != BundleFormat {
		return Verification{}, fmt.Errorf("this is not an exported study: its format is %q, not %q", bundle.Format, BundleFormat)
	}
	return verifyEvents(ctx, bundle.Events, bundle.check())
}
