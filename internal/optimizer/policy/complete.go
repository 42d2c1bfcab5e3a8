package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Completed checks raw and returns it with every setting written out: one that was left out as the
// defaults have it now, null where it is not used. What was given as one value stays as it was
// written. Complete settings are complete already.
func (d Description) Completed(raw map[string]json.RawMessage, c Context) (map[string]json.RawMessage, []Fault) {
	r := d.resolve(raw, c, false)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	for _, s := range d.Settings {
		if words, left := s.Paper.(LeftToUser); left && c.Paper && len(r.faults) == 0 && !r.known(s) {
			r.fault(s.Name, "%s", words)
		}
	}
	if d.check != nil {
		r.faults = append(r.faults, d.check(c, r.out)...)
	}
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	whole := map[string]json.RawMessage{}
	for _, s := range d.Settings {
		r.workOut(s)
		whole[s.Name] = r.written(s, raw[s.Name])
	}
	return whole, r.faults
}

// known tells whether a setting has a value for every name, given or worked out.
func (r *resolver) known(s Setting) bool {
	r.workOut(s)
	return !slices.ContainsFunc(r.names(s), func(name string) bool { return r.out.values[s.Name].at(name) == nil })
}

// workOut gives an absent setting the value that follows from the others: one for all names where
// it is the same.
func (r *resolver) workOut(s Setting) {
	k := r.out.values[s.Name]
	if s.workOut == nil || k.rest != nil {
		return
	}
	by, alike := map[string]any{}, k.by == nil
	maps.Copy(by, k.by)
	var last any
	for _, name := range r.names(s) {
		if _, given := k.by[name]; given {
			continue
		}
		v, used := s.workOut(r.context, r.out, name)
		if !used {
			alike = false
			continue
		}
		if good := new(resolver); !good.sensible("", v) || !good.inRange(s, "", v) { // it must be what could be given
			r.fault(s.Name, "is worked out as %v from the others, which is out of range; give it, or change them", v)
		}
		alike = alike && (last == nil || last == v)
		by[name], last = v, v
	}
	switch {
	case len(by) == 0:
	case alike:
		k.rest = last
	default:
		k.by = by
	}
	r.out.values[s.Name] = k
}

// written is a setting as it is kept.
func (r *resolver) written(s Setting, raw json.RawMessage) json.RawMessage {
	k := r.out.values[s.Name]
	switch {
	case !absent(raw) && asObject(raw) == nil:
		return raw
	case k.by == nil:
		return asJSON(k.rest)
	}
	all := maps.Clone(k.by)
	if k.rest != nil {
		all["default"] = k.rest
	}
	return asJSON(all)
}

// asJSON writes checked values.
func asJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("policy: a setting has no JSON: %v", err)) // they are finite numbers, texts and flags
	}
	return text
}

// Chosen are those of whole settings that the defaults of now would not say: completed, they are
// whole again.
func (d Description) Chosen(whole map[string]json.RawMessage, c Context) map[string]json.RawMessage {
	chosen := maps.Clone(whole)
	for _, s := range d.Settings {
		kept := chosen[s.Name]
		delete(chosen, s.Name)
		if again, faults := d.Completed(chosen, c); len(faults) > 0 || !agree(again, whole) {
			chosen[s.Name] = kept
		}
	}
	return chosen
}

// agree tells whether settings say the same, however they are written.
func agree(a, b map[string]json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(asJSON(a), &x) == nil && json.Unmarshal(asJSON(b), &y) == nil && reflect.DeepEqual(x, y)
}
