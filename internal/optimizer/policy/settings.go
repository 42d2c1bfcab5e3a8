package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Settings are an algorithm's settings, checked and complete. The zero value is not useful.
type Settings struct {
	numbers map[string]keyed[float64]
	betas   keyed[Beta]
	texts   map[string]string
	flags   map[string]bool
	psi     Psi
}

// keyed is one value for all, or one for each name.
type keyed[T any] struct {
	rest T
	set  bool // rest was given or has a fixed default
	by   map[string]T
}

func (k keyed[T]) at(name string) (T, bool) {
	if v, ok := k.by[name]; ok {
		return v, true
	}
	return k.rest, k.set
}

// Number returns the setting for name (a metric or constraint; "" for settings of the study) and
// whether it is set.
func (s Settings) Number(setting, name string) (float64, bool) { return s.numbers[setting].at(name) }

// Value is Number, 0 for a setting that is not used.
func (s Settings) Value(setting, name string) float64 {
	v, _ := s.Number(setting, name)
	return v
}

// ByName tells whether a setting was given as an object by name, not as one value.
func (s Settings) ByName(setting string) bool { return s.numbers[setting].by != nil }

// Flag and Text return a setting that has a default.
func (s Settings) Flag(setting string) bool   { return s.flags[setting] }
func (s Settings) Text(setting string) string { return s.texts[setting] }

// Psi returns the penalty function.
func (s Settings) Psi() Psi { return s.psi }

// InitialDesign is the number of space-filling rounds.
func (s Settings) InitialDesign() int { return int(s.Value("initial_design", "")) }

// Margin is the distance kept from a constraint's limit, in scales.
func (s Settings) Margin(constraint string) float64 { return s.Value("margin", constraint) }

// PendingNarrows tells whether waiting trials enter the variance.
func (s Settings) PendingNarrows() bool { return s.Text("pending") != "ignore" }

// BetaFor returns the confidence width of a metric.
func (s Settings) BetaFor(metric string) Beta {
	b, _ := s.betas.at(metric)
	return b
}

// Resolve completes raw and reads what comes of it.
func Resolve(algorithm string, raw map[string]json.RawMessage, c Context) (Settings, []Fault) {
	whole, faults := Complete(algorithm, raw, c)
	if len(faults) > 0 {
		return Settings{}, faults
	}
	return Read(algorithm, whole, c)
}

// Read reads settings that Complete wrote. It takes nothing from defaults, so that they may change:
// a setting that is not written out is a fault.
func Read(algorithm string, whole map[string]json.RawMessage, c Context) (Settings, []Fault) {
	d, ok := Find(algorithm)
	if !ok {
		return Settings{}, noSuchAlgorithm(algorithm)
	}
	return d.read(whole, c)
}

func noSuchAlgorithm(name string) []Fault { return []Fault{{"", "there is no algorithm " + name}} }

func (d Description) read(whole map[string]json.RawMessage, c Context) (Settings, []Fault) {
	r := d.resolve(whole, c, true)
	return r.out, r.faults
}

// resolve reads settings; those left out take the defaults, unless raw is whole.
func (d Description) resolve(raw map[string]json.RawMessage, c Context, whole bool) *resolver {
	r := &resolver{context: c, whole: whole, out: Settings{numbers: map[string]keyed[float64]{}, texts: map[string]string{}, flags: map[string]bool{}}}
	for _, setting := range d.Settings {
		if _, written := raw[setting.Name]; whole && !written {
			r.fault(setting.Name, "is not written out")
			continue
		}
		r.resolve(setting, raw[setting.Name])
	}
	r.refuseUnknown(d, raw)
	return r
}

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

func (r *resolver) refuseUnknown(d Description, raw map[string]json.RawMessage) {
	for _, name := range sortedKeys(raw) {
		if !slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == name }) {
			var known []string
			for _, s := range d.Settings {
				known = append(known, s.Name)
			}
			if len(r.faults) >= mostFaults {
				return
			}
			r.fault(name, "%s has no such setting; it has %s", d.Name, strings.Join(known, ", "))
		}
	}
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (r *resolver) resolve(s Setting, raw json.RawMessage) {
	switch s.Type {
	case Number, Integer:
		r.out.numbers[s.Name] = resolveKeyed(r, s, raw, r.parseNumber)
	case Schedule:
		r.out.betas = resolveKeyed(r, s, raw, r.parseBeta)
	case Boolean:
		r.out.flags[s.Name] = r.resolveFlag(s, raw)
	case Text:
		r.out.texts[s.Name] = r.resolveText(s, raw)
	case Form:
		r.out.psi = r.resolvePsi(s, raw)
	case Points:
		r.checkList(s, raw)
	}
}

// fallback is the value of an absent setting, nil when it is worked out later or not used.
func (r *resolver) fallback(s Setting) any {
	if r.whole {
		return nil
	}
	if r.context.Paper && s.Paper != nil {
		if _, left := s.Paper.(LeftToUser); left {
			return nil
		}
		return s.Paper
	}
	return s.Default
}

func resolveKeyed[T any](r *resolver, s Setting, raw json.RawMessage, parse func(Setting, string, json.RawMessage) (T, bool)) keyed[T] {
	var k keyed[T]
	if v := r.fallback(s); v != nil {
		k.rest, k.set = as[T](v), true
	}
	if absent(raw) {
		return k
	}
	byName := asObject(raw)
	if byName == nil || s.Per == PerStudy || isOneValue(byName) {
		if v, ok := parse(s, s.Name, raw); ok {
			k.rest, k.set = v, true
		}
		return k
	}
	k.by = map[string]T{}
	names := r.names(s)
	for _, key := range sortedKeys(byName) {
		if len(r.faults) >= mostFaults {
			break
		}
		path := s.Name + "." + key
		name, known := matchName(names, key)
		if key != "default" && !known {
			r.fault(path, "there is no %s of that name; there are %s", s.Per, strings.Join(names, ", "))
			continue
		}
		if absent(byName[key]) {
			continue
		}
		v, ok := parse(s, path, byName[key])
		switch {
		case !ok:
		case key == "default":
			k.rest, k.set = v, true
		default:
			k.by[name] = v
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

// as converts a described default; integers in descriptions serve as numbers.
func as[T any](v any) T {
	if i, ok := v.(int); ok {
		v = float64(i)
	}
	return v.(T)
}

func asObject(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// isOneValue tells a value written as an object from an object of values by name.
func isOneValue(m map[string]json.RawMessage) bool {
	for _, word := range []string{"schedule", "name", "form"} {
		if _, ok := m[word]; ok {
			return true
		}
	}
	return false
}

func matchName(names []string, key string) (string, bool) {
	for _, n := range names {
		if strings.EqualFold(n, key) {
			return n, true
		}
	}
	return "", false
}

func (r *resolver) parseNumber(s Setting, path string, raw json.RawMessage) (float64, bool) {
	var v float64
	if err := json.Unmarshal(raw, &v); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		r.fault(path, "must be a number%s", rangeText(s))
		return 0, false
	}
	if !r.sensible(path, v) {
		return 0, false
	}
	if s.Type == Integer && v != math.Trunc(v) {
		r.fault(path, "must be a whole number%s", rangeText(s))
		return 0, false
	}
	return v, r.inRange(s, path, v)
}

func (r *resolver) inRange(s Setting, path string, v float64) bool {
	if (s.Low != nil && (v < *s.Low || s.LowExclusive && v == *s.Low)) || (s.High != nil && v > *s.High) {
		r.fault(path, "%v is out of range: it must be a number%s", v, rangeText(s))
		return false
	}
	return true
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

func (r *resolver) resolveFlag(s Setting, raw json.RawMessage) bool {
	v, _ := r.fallback(s).(bool)
	if !absent(raw) && json.Unmarshal(raw, &v) != nil {
		r.fault(s.Name, "must be true or false")
	}
	return v
}

func (r *resolver) resolveText(s Setting, raw json.RawMessage) string {
	v, _ := r.fallback(s).(string)
	if absent(raw) {
		return v
	}
	if json.Unmarshal(raw, &v) != nil || !slices.Contains(s.Choices, v) {
		r.fault(s.Name, "must be one of %s", strings.Join(s.Choices, ", "))
	}
	return v
}

func (r *resolver) checkList(s Setting, raw json.RawMessage) {
	var list []json.RawMessage
	if !absent(raw) && json.Unmarshal(raw, &list) != nil {
		r.fault(s.Name, "must be a list of points, each an object of parameter values")
	}
}

// object decodes a fixed set of numeric fields next to one word field and refuses anything else.
func (r *resolver) object(path string, raw json.RawMessage, word string, fields map[string]*float64) (string, map[string]bool, bool) {
	m := asObject(raw)
	if m == nil {
		r.fault(path, "must be an object with %q", word)
		return "", nil, false
	}
	var chosen string
	given := map[string]bool{}
	good := true
	for _, key := range sortedKeys(m) {
		if key == word {
			if json.Unmarshal(m[key], &chosen) != nil {
				r.fault(path+"."+key, "must be a word")
				good = false
			}
			continue
		}
		target, ok := fields[key]
		if !ok {
			r.fault(path+"."+key, "no such field here")
			good = false
			continue
		}
		if absent(m[key]) {
			continue
		}
		if json.Unmarshal(m[key], target) != nil {
			r.fault(path+"."+key, "must be a number")
			good = false
		} else if !r.sensible(path+"."+key, *target) {
			good = false
		}
		given[key] = true
	}
	return chosen, given, good
}
