package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"headroom/internal/lists"
)

// SettingType is how a setting is written.
type SettingType string

const (
	Number   SettingType = "number"
	Integer  SettingType = "integer"
	Boolean  SettingType = "boolean"
	Text     SettingType = "text"     // one of Choices
	Schedule SettingType = "schedule" // {"schedule": "constant", "value": 2} and the like
	Form     SettingType = "form"     // {"form": "exponential", "rate": 1} and the like
	Points   SettingType = "points"   // a list of parameter objects
)

// Per says whether a setting may be an object keyed by metric or constraint name, with "default"
// for the rest.
type Per string

const (
	PerStudy      Per = ""
	PerMetric     Per = "metric"
	PerConstraint Per = "constraint"
)

// Setting is one setting of an algorithm. Low and High are nil where there is no limit.
type Setting struct {
	Name         string      `json:"name"`
	Type         SettingType `json:"type"`
	Per          Per         `json:"per,omitempty"`           // may be an object by its name
	Default      any         `json:"default"`                 // nil: computed or not used, as DefaultMeans says
	DefaultMeans string      `json:"default_means,omitempty"` // how an absent value is computed
	Low, High    *float64    `json:"-"`
	LowExclusive bool        `json:"-"`
	Choices      []string    `json:"-"`
	Meaning      string      `json:"meaning"`
	Paper        any         `json:"-"` // the value with preset "paper"; nil = Default

	// workOut computes an absent setting without Default, for each name that it may be keyed by (""
	// for one of the study), from settings that have a value or precede it; false where it is not
	// used. Nil where an absent setting is never used.
	workOut func(c Context, s Settings, name string) (float64, bool)
}

// LeftToUser is the Paper value of a setting for which the papers have none. It is the message that
// asks for the setting, unless it follows from what was given.
type LeftToUser string

// Context is what the default of an absent setting depends on.
type Context struct {
	Metrics      []string // the modelled metrics; the objective's first
	Constraints  []string // names, in order
	CostMetrics  []string // the metric of each constraint
	Horizon      int      // T
	Dimensions   int      // number of parameters searched
	Paper        bool     // preset "paper"
	Standardized bool     // outputs are standardised
	Fitted       bool     // hyperparameters are fitted
	Listed       bool     // only candidates may be chosen
}

// targets are the metrics of all targets.
func (c Context) targets() []string { return append([]string{c.Metrics[0]}, c.CostMetrics...) }

// Fault is one error in settings; Path is relative to the settings, like "beta.value".
type Fault struct{ Path, Message string }

// Settings are an algorithm's settings, checked and complete. The zero value is not useful.
type Settings struct{ values map[string]keyed }

// keyed is one value for all names, or one for each: a float64, Beta, bool, string or Psi.
type keyed struct {
	rest any // for names not in by; nil for none
	by   map[string]any
}

func (k keyed) at(name string) any {
	if v, ok := k.by[name]; ok {
		return v
	}
	return k.rest
}

// settingOf is the setting for name; the zero value and false where it is not set.
func settingOf[T any](s Settings, setting, name string) (T, bool) {
	v, set := s.values[setting].at(name).(T)
	return v, set
}

// Number returns the setting for name (a metric or constraint; "" for settings of the study) and
// whether it is set.
func (s Settings) Number(setting, name string) (float64, bool) {
	return settingOf[float64](s, setting, name)
}

// Value is Number, 0 for a setting that is not used.
func (s Settings) Value(setting, name string) float64 {
	v, _ := s.Number(setting, name)
	return v
}

// has tells whether a setting of the study is set.
func (s Settings) has(setting string) bool { _, set := s.Number(setting, ""); return set }

// each is the setting for each of some names.
func (s Settings) each(setting string, names []string) []float64 {
	return lists.Map(names, func(name string) float64 { return s.Value(setting, name) })
}

// ByName tells whether a setting was given as an object by name, not as one value.
func (s Settings) ByName(setting string) bool { return s.values[setting].by != nil }

// Flag returns a setting that is true or false.
func (s Settings) Flag(setting string) bool {
	v, _ := settingOf[bool](s, setting, "")
	return v
}

// Text returns a setting of some choices.
func (s Settings) Text(setting string) string {
	v, _ := settingOf[string](s, setting, "")
	return v
}

// InitialDesign is the number of space-filling rounds.
func (s Settings) InitialDesign() int { return int(s.Value("initial_design", "")) }

// Margin is the distance kept from a constraint's limit, in scales.
func (s Settings) Margin(constraint string) float64 { return s.Value("margin", constraint) }

// PendingNarrows tells whether pending trials narrow the variance.
func (s Settings) PendingNarrows() bool { return s.Text("pending") != "ignore" }

// BetaFor returns the confidence width of a metric.
func (s Settings) BetaFor(metric string) Beta {
	b, _ := settingOf[Beta](s, betaSetting.Name, metric)
	return b
}

// required is the fault of a setting that is missing but must be given.
func required(s Settings, name, message string) []Fault {
	if s.has(name) {
		return nil
	}
	return []Fault{{name, message}}
}

// Resolve completes raw and reads the result.
func (d Description) Resolve(raw map[string]json.RawMessage, c Context) (Settings, []Fault) {
	whole, faults := d.Completed(raw, c)
	if len(faults) > 0 {
		return Settings{}, faults
	}
	return d.Read(whole, c)
}

// Read reads settings that Completed wrote. It uses no defaults, so that these may change: a
// setting that is not written out is a fault.
func (d Description) Read(whole map[string]json.RawMessage, c Context) (Settings, []Fault) {
	r := d.resolve(whole, c, true)
	return r.out, r.faults
}

// resolve reads settings; those left out take the defaults, unless raw is whole.
func (d Description) resolve(raw map[string]json.RawMessage, c Context, whole bool) *resolver {
	r := &resolver{context: c, whole: whole, out: Settings{map[string]keyed{}}}
	known := lists.Map(d.Settings, func(s Setting) string { return s.Name })
	for _, s := range d.Settings {
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

// resolver reads settings and collects their faults. Its result is useless if there are any.
type resolver struct {
	context Context
	whole   bool // every setting is written out
	out     Settings
	faults  []Fault
}

// mostFaults is the largest number of faults reported.
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

// Absent tells whether an optional JSON value was left out.
func Absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// fallback is the value of an absent setting, nil when it is computed later or not used.
func (r *resolver) fallback(s Setting) any {
	value := s.Default
	if r.context.Paper && s.Paper != nil {
		value = s.Paper
	}
	if _, left := value.(LeftToUser); left {
		return nil
	}
	return value
}

func (r *resolver) resolve(s Setting, raw json.RawMessage) (k keyed) {
	if !r.whole {
		k.rest = r.fallback(s)
	}
	if Absent(raw) {
		return k
	}
	byName := AsObject(raw)
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
		case Absent(byName[key]):
		case key == "default":
			k.rest = r.parse(s, path, byName[key])
		case k.by[names[at]] != nil:
			r.fault(path, "is given twice, ignoring case")
		default:
			k.by[names[at]] = r.parse(s, path, byName[key])
		}
	}
	return k
}

// names are the names that the setting may be keyed by.
func (r *resolver) names(s Setting) []string {
	switch s.Per {
	case PerConstraint:
		return r.context.Constraints
	case PerMetric:
		return r.context.Metrics
	}
	return []string{""}
}

// AsObject returns the members of a JSON object; nil where raw is none.
func AsObject(raw json.RawMessage) map[string]json.RawMessage {
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
	case Points: // the study reads them
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
	m := AsObject(raw)
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
		case !Absent(m[key]):
			given[key] = true
			ok = r.want(json.Unmarshal(m[key], target) == nil, at, "must be a number") && r.sensible(at, *target) && ok
		}
	}
	return chosen, given, ok
}

func (r *resolver) parseBeta(s Setting, path string, raw json.RawMessage) Beta {
	const least = "must be a width of at least 0"
	b := Beta{Schedule: "constant"}
	if json.Unmarshal(raw, &b.Value) == nil {
		_ = r.sensible(path, b.Value) && r.want(b.Value >= 0, path, least)
		return b
	}
	b = Beta{P: 0.1}
	if !r.want(AsObject(raw) != nil, path, fmt.Sprintf(`must be a number, or {"schedule": …} with one of %s`, strings.Join(s.Choices, ", "))) {
		return b
	}
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
	bound := r.want(given["B"] && b.B >= 0, path+".B", "must be a bound on the function's norm, at least 0")
	noise := word == "srinivas" && r.want(!given["R"], path+".R", "belongs to the theory schedule: this one is for noise of at most √λ") ||
		word == "theory" && r.want(given["R"] && b.R >= 0, path+".R", "must be the noise scale, at least 0")
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

// Completed checks raw and returns it with every setting written out: absent ones with their
// present defaults, null where they are not used. Single values stay as they were written. Complete
// settings stay unchanged.
func (d Description) Completed(raw map[string]json.RawMessage, c Context) (map[string]json.RawMessage, []Fault) {
	r := d.resolve(raw, c, false)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	for _, s := range d.Settings {
		words, left := s.Paper.(LeftToUser)
		if !left || !c.Paper || len(r.faults) > 0 {
			continue
		}
		switch lacking := r.lacking(s); {
		case len(lacking) == 0:
		case len(lacking) == len(r.names(s)):
			r.fault(s.Name, "%s", words)
		default:
			r.fault(s.Name, "%s; %s has none yet: give {%q: …}", words, lacking[0], lacking[0])
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

// lacking are the names for which a setting has no value, neither given nor computed.
func (r *resolver) lacking(s Setting) []string {
	r.workOut(s)
	return slices.DeleteFunc(slices.Clone(r.names(s)), func(name string) bool { return r.out.values[s.Name].at(name) != nil })
}

// workOut computes an absent setting from the others: one value for all names where they are equal.
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
		if good := new(resolver); !good.sensible("", v) || !good.inRange(s, "", v) { // like a value that is given
			r.fault(s.Name, "follows from the others as %v, which is out of range; give it, or change them", v)
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

// written is a setting as it is stored.
func (r *resolver) written(s Setting, raw json.RawMessage) json.RawMessage {
	k := r.out.values[s.Name]
	switch {
	case !Absent(raw) && AsObject(raw) == nil:
		return raw
	case k.by == nil:
		return AsJSON(k.rest)
	}
	all := maps.Clone(k.by)
	if k.rest != nil {
		all["default"] = k.rest
	}
	return AsJSON(all)
}

// AsJSON writes a checked value of a definition.
func AsJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("policy: a value of a definition has no JSON: %v", err)) // they are finite numbers, names, flags and what came from JSON
	}
	return text
}

// Chosen are those of complete settings that differ from the present defaults: completed, they are
// the same again.
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

// agree tells whether settings are equal, however they are written.
func agree(a, b map[string]json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(AsJSON(a), &x) == nil && json.Unmarshal(AsJSON(b), &y) == nil && reflect.DeepEqual(x, y)
}

// Beta is how a confidence width β_t is set for one metric.
//
//	constant: Value;  sqrt_log: Value·√ln(1+t);  theory: the algorithm's own formula with B, R and p;
//	srinivas: √(2B² + 300 γ_t ln³((m+1)t/p)), m the number of constraints.
//
// The last is the width of Srinivas, Krause, Kakade and Seeger (2010), Theorems 3 and 6, whose β_t
// is its square, over m+1 functions: it holds for a norm of at most B and noise of at most √λ in
// size.
type Beta struct {
	Schedule string
	Value    float64
	B        float64 // bound on the function's norm
	R        float64 // the noise is R-sub-Gaussian
	P        float64 // failure probability
}

// MarshalJSON writes all fields of the schedule.
func (b Beta) MarshalJSON() ([]byte, error) {
	switch b.Schedule {
	case "theory":
		return json.Marshal(map[string]any{"schedule": b.Schedule, "B": b.B, "R": b.R, "p": b.P})
	case "srinivas":
		return json.Marshal(map[string]any{"schedule": b.Schedule, "B": b.B, "p": b.P})
	}
	return json.Marshal(map[string]any{"schedule": b.Schedule, "value": b.Value})
}

// statesNorm tells whether the schedule has a B.
func (b Beta) statesNorm() bool { return b.Schedule == "theory" || b.Schedule == "srinivas" }

// Psi is the penalty function of penalty-noiseless: ψ(x) = 1 for x ≤ 0, else e^{ax} or (ax+1)ⁿ, up
// to 10¹².
type Psi struct {
	Form  string  `json:"form"`
	Rate  float64 `json:"rate"`            // a > 0
	Power float64 `json:"power,omitempty"` // n > 1
}
