package study

import (
	"context"
	"fmt"
	"io"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// mostBundleBytes bounds an imported study.
const mostBundleBytes = 64 << 20

// Export returns the study as it was at the snapshot, with its ledger up to there.
func (s *Service) Export(ctx context.Context, snap *ledger.Snapshot) (ledger.Bundle, error) {
	events, err := s.Events(ctx, snap.ID, 0, int(snap.Version))
	if err != nil {
		return ledger.Bundle{}, err
	}
	return ledger.Bundle{Format: ledger.BundleFormat, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash, Events: events}, nil
}

// ImportBundle makes a study of an exported one, with the same ledger, state and hashes.
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*ledger.Snapshot, error) {
	text, err := io.ReadAll(io.LimitReader(file, mostBundleBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostBundleBytes {
		return nil, &refusal{fmt.Sprintf("A study of more than %d MiB cannot be imported.", mostBundleBytes>>20), ErrTooLarge}
	}
	bundle, err := ledger.ReadBundle(text)
	if err != nil {
		return nil, err
	}
	first, err := appendEvents(cmd, newID(), nil, bundle.Events, nil)
	if err != nil {
		return nil, design.NewInvalid("body.events", err.Error(), nil)
	}
	if err := s.store.Create(ctx, first.After.ID, cmd, first); err != nil {
		return nil, err
	}
	return s.cache.put(first.After), nil
}
