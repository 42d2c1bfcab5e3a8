package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits on what a study is called and how it is described, in characters.
const (
	maximalName        = 200
	maximalDescription = 100000
)

// Create makes a study of a definition.
func (s *Service) Create(ctx context.Context, cmd Command, def Definition) (*Snapshot, error) {
	checked, err := def.Check()
	if err != nil {
		return nil, err
	}
	id := newID()
	first, err := s.append(cmd, id, nil, ruling{drafts: []draft{{Created, CreatedData{checked}}}})
	if err != nil {
		return nil, err
	}
	if err := s.store.Create(ctx, id, cmd, first); err != nil {
		return nil, err
	}
	return s.cache.put(first.After), nil
}

// Edit changes name, description or state.
func (s *Service) Edit(ctx context.Context, cmd Command, id string, edit EditedData) (*Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(*Snapshot) (ruling, error) { return ruleEdit(edit) })
	return after, err
}

func ruleEdit(edit EditedData) (ruling, error) {
	var faults []Fault
	if edit.Name == nil && edit.Description == nil && edit.State == nil {
		faults = append(faults, Fault{"body", "name, description or state is needed", nil})
	}
	if edit.Name != nil && (strings.TrimSpace(*edit.Name) == "" || utf8.RuneCountInString(*edit.Name) > maximalName) {
		faults = append(faults, Fault{"body.name", fmt.Sprintf("a name of 1 to %d characters is needed", maximalName), *edit.Name})
	}
	if edit.Description != nil && utf8.RuneCountInString(*edit.Description) > maximalDescription {
		faults = append(faults, Fault{"body.description", fmt.Sprintf("at most %d characters are kept", maximalDescription), nil})
	}
	if edit.State != nil && !edit.State.known() {
		faults = append(faults, Fault{"body.state", "open, paused, finished or archived is needed", *edit.State})
	}
	if err := invalid(faults); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []draft{{Edited, edit}}}, nil
}

// Reconfiguration changes parts of the definition; nil parts stay.
type Reconfiguration struct {
	Parameters       []Parameter        `json:"parameters,omitempty"`  // same names and types: units, bounds, choices
	Constraints      []Constraint       `json:"constraints,omitempty"` // thresholds, by name
	Objective        *Objective         `json:"objective,omitempty"`   // unit
	Algorithm        *Algorithm         `json:"algorithm,omitempty"`
	Model            *Model             `json:"model,omitempty"`
	InputConstraints *[]string          `json:"input_constraints,omitempty"`
	Unavailable      map[string][]Value `json:"unavailable,omitempty"`
	Reason           string             `json:"reason"`
}

// Reconfigure changes the definition from the next decision on. It waits until no decision is being made.
func (s *Service) Reconfigure(ctx context.Context, cmd Command, id string, change Reconfiguration) (*Snapshot, error) {
	var after *Snapshot
	err := s.store.Choosing(ctx, id, func(ctx context.Context) error {
		base, err := s.recent(ctx, id)
		if err != nil {
			return err
		}
		after, _, err = s.write(ctx, cmd, base, func(now *Snapshot) (ruling, error) { return ruleReconfigure(now, change) })
		return err
	})
	return after, err
}

func ruleReconfigure(snap *Snapshot, change Reconfiguration) (ruling, error) {
	if snap.State == Archived {
		return ruling{}, conflict("The study is archived. Set its state to open, paused or finished first.")
	}
	before := snap.Definition
	after, faults := change.apply(before)
	if err := invalid(append(faults, checkReason(change.Reason)...)); err != nil {
		return ruling{}, err
	}
	after, err := after.Check()
	if err != nil {
		return ruling{}, err
	}
	changes, err := differences(before, after)
	if err != nil {
		return ruling{}, err
	}
	if len(changes) == 0 {
		return ruling{}, conflict("The study is configured so already; nothing would change.")
	}
	if err := sameShape(before, after); err != nil {
		return ruling{}, fault("body", err.Error(), nil)
	}
	ruled := ruling{drafts: []draft{{Reconfigured, ReconfiguredData{Definition: after, Changes: changes, Reason: change.Reason}}}}
	for i := range snap.Trials { // limits decide which trials are feasible
		ruled.numbers = append(ruled.numbers, i+1)
	}
	return ruled, nil
}

// apply returns d with the changes. A list of parameters or constraints may leave out those that stay.
func (change Reconfiguration) apply(d Definition) (Definition, []Fault) {
	var faults []Fault
	d.Parameters, d.Constraints = slices.Clone(d.Parameters), slices.Clone(d.Constraints)
	for i, p := range change.Parameters {
		at := slices.IndexFunc(d.Parameters, func(q Parameter) bool { return q.Name == p.Name })
		if at < 0 {
			faults = append(faults, Fault{fmt.Sprintf("body.parameters[%d].name", i), "the study has no such parameter; parameters cannot be added or renamed", p.Name})
			continue
		}
		d.Parameters[at] = p
	}
	for i, c := range change.Constraints {
		name := c.Name
		if name == "" {
			name = c.Metric
		}
		at := slices.IndexFunc(d.Constraints, func(q Constraint) bool { return q.Name == name })
		if at < 0 {
			faults = append(faults, Fault{fmt.Sprintf("body.constraints[%d].name", i), "the study has no such constraint; constraints cannot be added or renamed", name})
			continue
		}
		c.Name = name
		d.Constraints[at] = c
	}
	if change.Objective != nil {
		d.Objective = *change.Objective
	}
	if change.Algorithm != nil {
		d.Algorithm = *change.Algorithm
	}
	if change.Model != nil {
		d.Model = *change.Model
	}
	if change.InputConstraints != nil {
		d.InputConstraints = *change.InputConstraints
	}
	if change.Unavailable != nil {
		d.Unavailable = change.Unavailable
	}
	return d, faults
}

// sameShape refuses a definition that past trials would not fit: other parameters, types, choices taken away, other metrics.
func sameShape(before, after Definition) error {
	if len(before.Parameters) != len(after.Parameters) || len(before.Constraints) != len(after.Constraints) ||
		len(before.Candidates) != len(after.Candidates) {
		return errors.New("parameters, constraints and candidates cannot be added or taken away")
	}
	for i, p := range before.Parameters {
		q := after.Parameters[i]
		if p.Name != q.Name || p.Type != q.Type {
			return fmt.Errorf("parameter %q cannot get another name or type", p.Name)
		}
		for _, choice := range p.Choices {
			if !slices.Contains(q.Choices, choice) {
				return fmt.Errorf("choice %q of %q cannot be taken away; list it under unavailable instead", choice, p.Name)
			}
		}
	}
	for i, c := range before.Constraints {
		if q := after.Constraints[i]; c.Name != q.Name || c.Metric != q.Metric || c.given() != q.given() {
			return fmt.Errorf("constraint %q cannot get another name, metric or kind", c.Name)
		}
	}
	if before.Objective.Metric != after.Objective.Metric {
		return fmt.Errorf("the objective's metric %q cannot be replaced", before.Objective.Metric)
	}
	for i, candidate := range before.Candidates {
		if !maps.Equal(candidate, after.Candidates[i]) {
			return fmt.Errorf("candidate %d cannot be replaced", i)
		}
	}
	return nil
}

// differences lists what differs in the JSON of two definitions, by path.
func differences(before, after Definition) ([]Change, error) {
	a, err := asTree(before)
	if err != nil {
		return nil, err
	}
	b, err := asTree(after)
	if err != nil {
		return nil, err
	}
	return appendDifferences(nil, "", a, b)
}

func asTree(d Definition) (tree any, err error) {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	return tree, err
}

func appendDifferences(changes []Change, path string, a, b any) ([]Change, error) {
	before, isObject := a.(map[string]any)
	after, isObjectToo := b.(map[string]any)
	if isObject && isObjectToo {
		return differencesByName(changes, path, before, after)
	}
	if list, other, ok := sameLists(a, b); ok {
		var err error
		for i := range list {
			if changes, err = appendDifferences(changes, fmt.Sprintf("%s[%s]", path, itemName(list[i], i)), list[i], other[i]); err != nil {
				return nil, err
			}
		}
		return changes, nil
	}
	was, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(was, is) {
		return changes, nil
	}
	return append(changes, Change{Path: path, Before: was, After: is}), nil
}

func differencesByName(changes []Change, path string, before, after map[string]any) ([]Change, error) {
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var err error
	for _, name := range sortedKeys(names) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		if changes, err = appendDifferences(changes, at, before[name], after[name]); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// sameLists tells whether a and b are lists of equally many objects, which are compared one by one.
func sameLists(a, b any) (before, after []any, ok bool) {
	before, isList := a.([]any)
	after, isListToo := b.([]any)
	if !isList || !isListToo || len(before) != len(after) {
		return nil, nil, false
	}
	for i := range before {
		_, isObject := before[i].(map[string]any)
		_, isObjectToo := after[i].(map[string]any)
		if !isObject || !isObjectToo {
			return nil, nil, false
		}
	}
	return before, after, true
}

// itemName is the name of a listed object, or its place.
func itemName(item any, i int) string {
	if object, ok := item.(map[string]any); ok {
		if name, ok := object["name"].(string); ok {
			return name
		}
	}
	return fmt.Sprint(i)
}
