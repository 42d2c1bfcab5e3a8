package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Resolve completes raw and reads what comes of it.
func (d Description) Resolve(raw map[string]json.RawMessage, c Context) (Settings, []Fault) {
	whole, faults := d.Completed(raw, c)
	if len(faults) > 0 {
		return Settings{}, faults
	}
	return d.Read(whole, c)
}

// Read reads settings that Completed wrote. It takes nothing from defaults, so that they may change:
// a setting that is not written out is a fault.
func (d Description) Read(whole map[string]json.RawMessage, c Context) (Settings, []Fault) {
	r := d.resolve(whole, c, true)
	return r.out, r.faults
}

// resolve reads settings; those left out take the defaults, unless raw is whole.
func (d Description) resolve(raw map[string]json.RawMessage, c Context, whole bool) *resolver {
	r := &resolver{context: c, whole: whole, out: Settings{map[string]keyed{}}}
	var known []string
	for _, s := range d.Settings {
		known = append(known, s.Name)
		if _, written := raw[s.Name]; whole && !written {
			r.fault(s.Name, "is not written out")
			continue
		}
		r.out.values[s.Name] = r.resolve(s, raw[s.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(known, name) && len(r.faults) < mostFaults {
			r.fault(name, "%s has no such setting; it has %s", d.Name, strings.Join(known, ", "))
		}
	}
	return r
}

// resolver gathers what is wrong with settings; nothing becomes of any where something is.
type resolver struct {
	context Context
	whole   bool // every setting is written out
	out     Settings
	faults  []Fault
}

// mostFaults is how many faults of one algorithm's settings are told.
const mostFaults = 100

func (r *resolver) fault(path, format string, args ...any) {
	if len(r.faults) < mostFaults {
		r.faults = append(r.faults, Fault{path, fmt.Sprintf(format, args...)})
	}
}

func (r *resolver) want(ok bool, path, message string) bool {
	if !ok {
		r.fault(path, "%s", message)
	}
	return ok
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// fallback is the value of an absent setting, nil when it is worked out later or not used.
func (r *resolver) fallback(s Setting) any {
	value := s.Default
	if r.context.Paper && s.Paper != nil {
		value = s.Paper
	}
	switch v := value.(type) {
	case LeftToUser:
		return nil
	case int: // in descriptions they serve as numbers
		return float64(v)
	}
	return value
}

func (r *resolver) resolve(s Setting, raw json.RawMessage) (k keyed) {
	if !r.whole {
		k.rest = r.fallback(s)
	}
	if absent(raw) {
		return k
	}
	byName := asObject(raw)
	if _, schedule := byName["schedule"]; byName == nil || s.Per == PerStudy || schedule {
		k.rest = r.parse(s, s.Name, raw)
		return k
	}
	k.by = map[string]any{}
	names := r.names(s)
	for _, key := range slices.Sorted(maps.Keys(byName)) {
		if len(r.faults) >= mostFaults {
			break
		}
		path := s.Name + "." + key
		at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		switch {
		case key != "default" && at < 0:
			r.fault(path, "there is no %s of that name; there are %s", s.Per, strings.Join(names, ", "))
		case absent(byName[key]):
		case key == "default":
			k.rest = r.parse(s, path, byName[key])
		default:
			k.by[names[at]] = r.parse(s, path, byName[key])
		}
	}
	return k
}

// names are those that the setting may be keyed by.
func (r *resolver) names(s Setting) []string {
	switch s.Per {
	case PerConstraint:
		return r.context.Constraints
	case PerMetric:
		return r.context.Metrics
	}
	return []string{""}
}

func asObject(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// parse reads one value.
func (r *resolver) parse(s Setting, path string, raw json.RawMessage) any {
	switch s.Type {
	case Schedule:
		return r.parseBeta(s, path, raw)
	case Form:
		return r.parsePsi(path, raw)
	case Boolean:
		var v bool
		r.want(json.Unmarshal(raw, &v) == nil, path, "must be true or false")
		return v
	case Text:
		var v string
		r.want(json.Unmarshal(raw, &v) == nil && slices.Contains(s.Choices, v), path, "must be one of "+strings.Join(s.Choices, ", "))
		return v
	case Points: // what they are is the study's to say
		r.want(json.Unmarshal(raw, new([]json.RawMessage)) == nil, path, "must be a list of points, each an object of parameter values")
		return nil
	}
	var v float64
	switch {
	case json.Unmarshal(raw, &v) != nil:
		r.fault(path, "must be a number%s", rangeText(s))
	case !r.sensible(path, v):
	case s.Type == Integer && v != math.Trunc(v):
		r.fault(path, "must be a whole number%s", rangeText(s))
	default:
		r.inRange(s, path, v)
	}
	return v
}

func (r *resolver) inRange(s Setting, path string, v float64) bool {
	outside := s.Low != nil && (v < *s.Low || s.LowExclusive && v == *s.Low) || s.High != nil && v > *s.High
	return r.want(!outside, path, fmt.Sprintf("%v is out of range: it must be a number%s", v, rangeText(s)))
}

// sensible refuses numbers whose products and quotients could overflow.
func (r *resolver) sensible(path string, v float64) bool {
	size := math.Abs(v)
	return r.want(size == 0 || size >= 1e-12 && size <= 1e12, path, "a number other than 0 must have a size from 1e-12 to 1e12")
}

func rangeText(s Setting) string {
	low := "of at least"
	if s.LowExclusive {
		low = "above"
	}
	switch {
	case s.Low != nil && s.High != nil:
		return fmt.Sprintf(" %s %v and at most %v", low, *s.Low, *s.High)
	case s.Low != nil:
		return fmt.Sprintf(" %s %v", low, *s.Low)
	case s.High != nil:
		return fmt.Sprintf(" of at most %v", *s.High)
	}
	return ""
}

// object decodes a fixed set of numeric fields next to one word field and refuses anything else.
func (r *resolver) object(path string, raw json.RawMessage, word string, fields map[string]*float64) (chosen string, given map[string]bool, ok bool) {
	m := asObject(raw)
	if !r.want(m != nil, path, fmt.Sprintf("must be an object with %q", word)) {
		return "", nil, false
	}
	given, ok = map[string]bool{}, true
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := path + "." + key
		target, numeric := fields[key]
		switch {
		case key == word:
			ok = r.want(json.Unmarshal(m[key], &chosen) == nil, at, "must be a word") && ok
		case !r.want(numeric, at, "no such field here"):
			ok = false
		case !absent(m[key]):
			given[key] = true
			ok = r.want(json.Unmarshal(m[key], target) == nil, at, "must be a number") && r.sensible(at, *target) && ok
		}
	}
	return chosen, given, ok
}

func (r *resolver) parseBeta(s Setting, path string, raw json.RawMessage) Beta {
	const least = "a width of at least 0 is needed"
	b := Beta{Schedule: "constant"}
	if json.Unmarshal(raw, &b.Value) == nil {
		_ = r.sensible(path, b.Value) && r.want(b.Value >= 0, path, least)
		return b
	}
	b = Beta{P: 0.1}
	word, given, ok := r.object(path, raw, "schedule", map[string]*float64{"value": &b.Value, "B": &b.B, "R": &b.R, "p": &b.P})
	if !ok || !r.want(slices.Contains(s.Choices, word), path+".schedule", "must be one of "+strings.Join(s.Choices, ", ")) {
		return b
	}
	b.Schedule = word
	if !b.statesNorm() {
		_ = r.want(given["value"] && b.Value >= 0, path+".value", least) &&
			r.want(!given["B"] && !given["R"] && !given["p"], path, "B, R and p belong to the theory schedule")
		return b
	}
	bound := r.want(given["B"] && b.B >= 0, path+".B", "a bound on the function's norm is needed, at least 0")
	noise := word == "srinivas" && r.want(!given["R"], path+".R", "belongs to the theory schedule: this one is for noise of at most √λ") ||
		word == "theory" && r.want(given["R"] && b.R >= 0, path+".R", "the noise scale is needed, at least 0")
	_ = bound && noise &&
		r.want(b.P > 0 && b.P < 1, path+".p", "must be between 0 and 1") &&
		r.want(!given["value"], path+".value", "belongs to the constant and sqrt_log schedules")
	return b
}

func (r *resolver) parsePsi(path string, raw json.RawMessage) Psi {
	p := Psi{Rate: 1, Power: 2}
	word, given, ok := r.object(path, raw, "form", map[string]*float64{"rate": &p.Rate, "power": &p.Power})
	if !ok {
		return p
	}
	p.Form = word
	r.want(word == "exponential" || word == "polynomial", path+".form", "must be exponential or polynomial")
	r.want(p.Rate > 0, path+".rate", "must be above 0")
	r.want(p.Power > 1, path+".power", "must be above 1")
	if word == "exponential" {
		r.want(!given["power"], path+".power", "belongs to the polynomial form")
		p.Power = 0
	}
	return p
}
