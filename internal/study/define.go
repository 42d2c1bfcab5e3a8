package study

import (
	"context"
	"errors"
	"fmt"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Create makes a study of a definition.
func (s *Service) Create(ctx context.Context, cmd Command, def design.Definition) (*ledger.Snapshot, error) {
	checked, err := def.Check()
	if err != nil {
		return nil, err
	}
	id := newID()
	first, err := s.append(cmd, id, nil, ruling{drafts: []ledger.Draft{{Kind: ledger.Created, Data: ledger.CreatedData{Definition: checked, Engine: optimizer.Engine}}}})
	if err != nil {
		return nil, err
	}
	if err := s.store.Create(ctx, id, cmd, InOnePart(first)); err != nil {
		return nil, err
	}
	return s.Derived.Put(first.After), nil
}

// Edit changes name, description or state.
func (s *Service) Edit(ctx context.Context, cmd Command, id string, edit ledger.EditedData) (*ledger.Snapshot, error) {
	ruled, err := ruleEdit(edit)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, cmd, id, always, func(*ledger.Snapshot) (ruling, error) { return ruled, nil })
}

func ruleEdit(edit ledger.EditedData) (ruling, error) {
	var faults design.Faults
	if edit.Name == nil && edit.Description == nil && edit.State == nil {
		faults.Add("", nil, "name, description or state is needed")
	}
	if edit.Name != nil {
		if wrong := design.CheckName(*edit.Name); wrong != "" {
			faults.Add("name", *edit.Name, "the study's name %s", wrong)
		}
	}
	if edit.Description != nil {
		if wrong := design.CheckDescription(*edit.Description); wrong != "" {
			faults.Add("description", nil, "%s", wrong)
		}
	}
	if edit.State != nil && !edit.State.Valid() {
		faults.Add("state", *edit.State, "open, paused, finished or archived is needed")
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Edited, Data: edit}}}, nil
}

// Reconfigure changes the definition from the next decision on. It waits until no decision is being
// made.
func (s *Service) Reconfigure(ctx context.Context, cmd Command, id string, change design.Reconfiguration) (*ledger.Snapshot, error) {
	var after *ledger.Snapshot
	err := s.store.Choosing(ctx, id, func(ctx context.Context) (err error) {
		after, err = s.change(ctx, cmd, id, always, func(now *ledger.Snapshot) (ruling, error) { return ruleReconfigure(now, change) })
		return err
	})
	return after, err
}

func ruleReconfigure(snap *ledger.Snapshot, change design.Reconfiguration) (ruling, error) {
	if snap.State == ledger.Archived {
		return ruling{}, conflict("The study is archived. Set its state to open, paused or finished first.")
	}
	before := snap.Definition
	after, faults := change.Apply(snap.Compiled().Chosen(before))
	if err := append(faults, checkReason(change.Reason)...).Err(); err != nil {
		return ruling{}, err
	}
	after, err := after.Check()
	if err == nil {
		err = append(design.SameShape(before, after), offScale(snap, after)...).Err()
	}
	if invalid, is := errors.AsType[*design.Invalid](err); is {
		err = change.Placed(after, invalid.Faults).Err()
	}
	if err != nil {
		return ruling{}, err
	}
	changes, err := design.Differences(before, after)
	if err != nil {
		return ruling{}, err
	}
	if len(changes) == 0 {
		return ruling{}, conflict("The study is configured so already; nothing would change.")
	}
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Reconfigured, Data: ledger.ReconfiguredData{Definition: after, Engine: optimizer.Engine, Changes: changes, Reason: change.Reason}}}}, nil
}

// offScale are the faults of logarithmic scales that past trials have no place on: what is not above
// 0 was run while the scale was linear, and no model can be worked out of it any more.
func offScale(snap *ledger.Snapshot, after design.Definition) (faults design.Faults) {
	for i, p := range after.Parameters {
		if t := notAboveZero(snap, p.Name); p.Logarithmic() && t != nil {
			faults.Add(fmt.Sprintf("parameters[%d].scale", i), p.Scale, "a logarithmic scale has numbers above 0, and trial %d was run at %s", t.Number, design.WriteSetting(p, t.Parameters[p.Name]))
		}
	}
	return faults
}
