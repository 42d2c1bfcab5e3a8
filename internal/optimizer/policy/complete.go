package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
)

// Complete checks raw against the algorithm's description and returns it with every setting written
// out: one that was left out as the defaults have it now, null where it is not used. What was given
// as one value stays as it was written. Complete settings are complete already.
func Complete(algorithm string, raw map[string]json.RawMessage, c Context) (map[string]json.RawMessage, []Fault) {
	d, ok := Find(algorithm)
	if !ok {
		return nil, noSuchAlgorithm(algorithm)
	}
	return d.complete(raw, c)
}

func (d Description) complete(raw map[string]json.RawMessage, c Context) (map[string]json.RawMessage, []Fault) {
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
	for _, name := range r.names(s) {
		_, number := r.out.Number(s.Name, name)
		_, width := r.out.betas.at(name)
		if !number && (s.Type != Schedule || !width) {
			return false
		}
	}
	return true
}

// workOut gives an absent setting the value that follows from the others.
func (r *resolver) workOut(s Setting) {
	k := r.out.numbers[s.Name]
	if s.workOut == nil || k.set {
		return
	}
	if s.Per == PerStudy {
		if v, used := s.workOut(r.context, r.out, ""); used {
			k.rest, k.set = r.workedOut(s, v), true
		}
		r.out.numbers[s.Name] = k
		return
	}
	by, alike := maps.Clone(k.by), k.by == nil
	if by == nil {
		by = map[string]float64{}
	}
	for _, name := range r.names(s) {
		if _, given := by[name]; given {
			continue
		}
		v, used := s.workOut(r.context, r.out, name)
		if !used {
			alike = false
			continue
		}
		alike = alike && (len(by) == 0 || v == k.rest)
		by[name], k.rest = r.workedOut(s, v), v
	}
	switch {
	case len(by) == 0:
	case alike: // one value for all
		k.set = true
	default:
		k.by, k.rest = by, 0
	}
	r.out.numbers[s.Name] = k
}

// workedOut is v, which must be what could be given.
func (r *resolver) workedOut(s Setting, v float64) float64 {
	if good := new(resolver); !good.sensible("", v) || !good.inRange(s, "", v) {
		r.fault(s.Name, "is worked out as %v from the others, which is out of range; give it, or change them", v)
	}
	return v
}

// written is a setting as it is kept.
func (r *resolver) written(s Setting, raw json.RawMessage) json.RawMessage {
	if !absent(raw) && asObject(raw) == nil {
		return raw
	}
	switch s.Type {
	case Number, Integer:
		return writtenKeyed(r.out.numbers[s.Name])
	case Schedule:
		return writtenKeyed(r.out.betas)
	case Boolean:
		return asJSON(r.out.flags[s.Name])
	case Text:
		return asJSON(r.out.texts[s.Name])
	case Form:
		return asJSON(r.out.psi)
	}
	return asJSON(nil)
}

func writtenKeyed[T any](k keyed[T]) json.RawMessage {
	switch {
	case k.by != nil:
		all := map[string]T{}
		if k.set {
			all["default"] = k.rest
		}
		maps.Copy(all, k.by)
		return asJSON(all)
	case k.set:
		return asJSON(k.rest)
	}
	return asJSON(nil)
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
func Chosen(algorithm string, whole map[string]json.RawMessage, c Context) map[string]json.RawMessage {
	d, _ := Find(algorithm)
	chosen := maps.Clone(whole)
	for _, s := range d.Settings {
		kept := chosen[s.Name]
		delete(chosen, s.Name)
		if again, faults := d.complete(chosen, c); len(faults) > 0 || !agree(again, whole) {
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
