package policy

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

// Setting is one thing that can be set about an algorithm. Low and High are nil where there is no
// limit.
type Setting struct {
	Name         string
	Type         SettingType
	Per          Per
	Default      any    // nil: worked out or not used, as DefaultMeans says
	DefaultMeans string // how an absent value is worked out
	Low, High    *float64
	LowExclusive bool
	Choices      []string
	Meaning      string
	Paper        any // the value with preset "paper"; nil = Default

	// workOut is the value of an absent setting without Default, for each name that it may be keyed
	// by ("" for one of the study), from settings that have one or stand before it; false where it
	// is not used. Nil where an absent setting never is.
	workOut func(c Context, s Settings, name string) (float64, bool)
}

// LeftToUser is the Paper of a setting for which the papers have no value: it is asked for, in
// these words, unless it follows from what was given.
type LeftToUser string

// Context is what the meaning of an absent setting depends on.
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

// Fault is one thing wrong; Path is relative to the settings, like "beta.value".
type Fault struct{ Path, Message string }

// Settings are an algorithm's settings, checked and complete. The zero value is not useful.
type Settings struct{ values map[string]keyed }

// keyed is one value for all, or one for each name: a float64, Beta, bool, string or Psi.
type keyed struct {
	rest any // nil where none was given and none is fixed
	by   map[string]any
}

func (k keyed) at(name string) any {
	if v, ok := k.by[name]; ok {
		return v
	}
	return k.rest
}

// settingOf is the setting for name, the zero value and false where it is not set.
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
	values := make([]float64, len(names))
	for i, name := range names {
		values[i] = s.Value(setting, name)
	}
	return values
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

// PendingNarrows tells whether waiting trials enter the variance.
func (s Settings) PendingNarrows() bool { return s.Text("pending") != "ignore" }

// BetaFor returns the confidence width of a metric.
func (s Settings) BetaFor(metric string) Beta {
	b, _ := settingOf[Beta](s, betaSetting.Name, metric)
	return b
}

// required is the fault of a setting that must be given and was not.
func required(s Settings, name, message string) []Fault {
	if s.has(name) {
		return nil
	}
	return []Fault{{name, message}}
}

func limit(v float64) *float64 { return &v }
