package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// LargestBundle bounds an imported study, in bytes.
const LargestBundle = 1 << 30

// importsAtOnce is how many studies are imported at once: each is folded in memory, and holds a
// connection as long as its file takes to come.
const importsAtOnce = 2

// Export writes the study as it was at the snapshot, with its ledger up to there, as a
// ledger.Bundle.
func (s *Service) Export(ctx context.Context, snap *ledger.Snapshot, w io.Writer) error {
	head, err := json.Marshal(ledger.Bundle{Format: ledger.BundleFormat, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash, Events: []ledger.Event{}})
	if err != nil {
		return err
	}
	tail := []byte("]}") // the events come between
	before := bytes.TrimSuffix(head, tail)
	for after := int64(0); after < snap.Version; {
		events, err := s.eventsUpTo(ctx, snap, after)
		if err != nil {
			return err
		}
		text, err := json.Marshal(events)
		if err != nil {
			return err
		}
		// Nothing is written before the first events are there, so that their absence can still be
		// told.
		if _, err := w.Write(slices.Concat(before, text[1:len(text)-1])); err != nil { // without the brackets of a list
			return err
		}
		before, after = []byte(","), after+int64(len(events))
	}
	_, err = w.Write(tail)
	return err
}

// ImportBundle makes a study of an exported one, with the same ledger, state and hashes. The file
// is read part by part, and each part is stored before the next is read: all of them in one
// transaction, which ends well only if the bundle does. cmd.Key.Body is asked for its sum after
// the last byte is read.
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*ledger.Snapshot, error) {
	leave, err := s.imports.Enter(ctx, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	id := newID()
	var after *ledger.Snapshot
	parts := func(yield func(Append, error) bool) {
		bundle := ledger.NewBundleReader(file)
		for {
			events, err := bundle.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			part, err := s.part(id, after, events, err)
			if after = part.After; !yield(part, err) || err != nil {
				return
			}
		}
		if err := bundle.Describes(after); err != nil {
			yield(Append{}, err)
			return
		}
		if cmd.Key != nil { // what was done is known when the whole file is
			yield(appendTo(after, nil, nil), nil)
		}
	}
	if err := s.store.Create(ctx, id, cmd, parts); err != nil {
		return nil, err
	}
	return s.Derived.Put(after), nil
}

// part adds events of a bundle, which were read with err, to the study as it is after those before
// them.
func (s *Service) part(id string, before *ledger.Snapshot, events []ledger.Event, err error) (Append, error) {
	if errors.Is(err, ledger.ErrMemberTooLarge) {
		return Append{}, &refusal{"The study cannot be imported: " + err.Error() + ".", ErrTooLarge}
	}
	if err != nil {
		return Append{}, err
	}
	after, err := s.takeIn(id, before, events)
	return Append{Events: events, After: after}, err
}

// takeIn adds events that may have been written by anybody: each must be what the rules make of a
// request.
func (s *Service) takeIn(id string, before *ledger.Snapshot, events []ledger.Event) (*ledger.Snapshot, error) {
	admit, at := s.admit(), int64(0)
	after, err := ledger.FoldAdmitted(id, before, events, func(now *ledger.Snapshot, e ledger.Event) error {
		at = e.Seq - 1
		return admit(now, e)
	})
	if err != nil {
		return nil, design.NewInvalid(fmt.Sprintf("events[%d]", at), err.Error(), nil)
	}
	return after, nil
}
