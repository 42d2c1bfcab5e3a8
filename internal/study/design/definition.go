// Package design defines studies: the definition as a person writes it, the checks that it must
// pass, and its compiled form for computations, which converts settings to coordinates and back,
// constraints to costs, and the words of the model to priors. It knows nothing of what happens in a
// study.
package design

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
)

// Definition is a study as a person describes it. Its JSON is that of the API. A Definition that
// has passed Check is complete: names are unique and every setting in force is written out, so that
// reading it again needs no defaults.
type Definition struct {
	Name             string           `json:"name"`
	Description      string           `json:"description,omitempty"`
	Parameters       []Parameter      `json:"parameters"`
	InputConstraints []string         `json:"input_constraints,omitempty"`
	Candidates       []Settings       `json:"candidates,omitempty"`
	Objective        Objective        `json:"objective"`
	Constraints      []Constraint     `json:"constraints,omitempty"`
	RecordedMetrics  []RecordedMetric `json:"recorded_metrics,omitempty"`
	Algorithm        Algorithm        `json:"algorithm"`
	Model            Model            `json:"model"`
	Seed             uint64           `json:"seed"`
	// Stop says when little enough is left to gain.
	Stop *Stop `json:"stop,omitempty"`
	// Unavailable lists settings that have run out ("out of ligand X"), by parameter.
	Unavailable map[string][]Value `json:"unavailable,omitempty"`
	// SimulatedLab names the simulated problem that answers instead of a laboratory, "" for a real
	// one.
	SimulatedLab string `json:"simulated_lab,omitempty"`
}

// ParameterType is the kind of values that a parameter takes.
type ParameterType string

const (
	Real        ParameterType = "real"
	Integer     ParameterType = "integer"
	Categorical ParameterType = "categorical"
	Remainder   ParameterType = "remainder" // Total minus the parameters named in Of
)

// Parameter is one setting of the experiment.
type Parameter struct {
	Name    string        `json:"name"`
	Type    ParameterType `json:"type"`
	Low     *float64      `json:"low,omitempty"`
	High    *float64      `json:"high,omitempty"`
	Unit    string        `json:"unit,omitempty"`
	Scale   string        `json:"scale,omitempty"` // linear (default) or log
	Step    *float64      `json:"step,omitempty"`
	Choices []string      `json:"choices,omitempty"`
	Total   *float64      `json:"total,omitempty"`
	Of      []string      `json:"of,omitempty"`
}

// Value is a parameter's value: a finite number or the text of a choice. Its JSON is a number or a
// string.
type Value struct {
	Number float64
	Text   string
	IsText bool
}

// Settings are parameter values by parameter name.
type Settings map[string]Value

// Objective is the metric to improve.
type Objective struct {
	Metric    string `json:"metric"`
	Direction string `json:"direction"` // maximize or minimize
	Unit      string `json:"unit,omitempty"`
	// Plausible has the lowest and the highest value that need no second look. Forms ask about
	// others when they are entered; none is refused.
	Plausible []float64 `json:"plausible,omitempty"`
}

// Constraint is a limit on a metric. It holds if the metric is Op Threshold.
type Constraint struct {
	Name      string  `json:"name,omitempty"` // defaults to the metric
	Metric    string  `json:"metric"`
	Op        string  `json:"op"` // <= or >=
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
	// Plausible belongs to the metric, see Objective; limits on the same metric must agree.
	Plausible []float64 `json:"plausible,omitempty"`
	// Expression gives the metric's value as a function of the parameters and the decision's
	// Context, instead of readings.
	Expression string   `json:"expression,omitempty"`
	Context    []string `json:"context,omitempty"`
	// Sampled means that each decision brings the metric's value at every candidate.
	Sampled bool `json:"sampled,omitempty"`
}

// Given reports whether the metric's value is known when a decision is made and not learned.
func (c Constraint) Given() bool { return c.Expression != "" || c.Sampled }

// Foreseeable reports whether the values of known constraints follow from the settings alone,
// without anything that a decision brings.
func (d Definition) Foreseeable() bool {
	return !slices.ContainsFunc(d.Constraints, func(k Constraint) bool { return k.Sampled || len(k.Context) > 0 })
}

// Stop is the condition under which little enough is left to gain: with a chance of at most Risk
// more than Within of the recommended value is left.
type Stop struct {
	Within float64 `json:"within"` // share of the recommended value
	Risk   float64 `json:"risk"`
}

// DefaultStop is the default: at most one chance in twenty that more than one per cent is left.
func DefaultStop() Stop { return Stop{Within: 0.01, Risk: 0.05} }

// RecordedMetric is a metric that is kept but not modelled.
type RecordedMetric struct {
	Metric    string    `json:"metric"`
	Unit      string    `json:"unit,omitempty"`
	Plausible []float64 `json:"plausible,omitempty"` // see Objective
}

// Algorithm is the name of an algorithm with its settings.
type Algorithm struct {
	Name     string                     `json:"name"`
	Preset   string                     `json:"preset,omitempty"` // "" or "paper"
	Horizon  int                        `json:"horizon"`
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// Model says how metrics are modelled. Kernel, Lengthscales, Variance, Lambda and NoiseVariance may
// each be an object by metric name with "default", so they are kept as JSON here; Check verifies
// them.
type Model struct {
	Kernel        json.RawMessage `json:"kernel,omitempty"`
	Inputs        string          `json:"inputs,omitempty"` // unit or raw
	Lengthscales  json.RawMessage `json:"lengthscales,omitempty"`
	Variance      json.RawMessage `json:"variance,omitempty"`
	Outputs       string          `json:"outputs,omitempty"` // raw or standardize
	Fit           string          `json:"fit,omitempty"`     // fixed or marginal_likelihood
	Warp          string          `json:"warp,omitempty"`    // yeo_johnson or none; only for standardised outputs and fitted models
	Lambda        json.RawMessage `json:"lambda,omitempty"`
	NoiseVariance json.RawMessage `json:"noise_variance,omitempty"`
	Start         *Start          `json:"start,omitempty"` // only if hyperparameters are fitted
}

// Start has the initial values of hyperparameters that are fitted.
type Start struct {
	Lengthscale float64 `json:"lengthscale"` // of each parameter, as a share of its range
	Variance    float64 `json:"variance"`
	Lambda      float64 `json:"lambda"`
}

// ParameterNames returns the names of the parameters.
func (d Definition) ParameterNames() []string {
	return lists.Map(d.Parameters, func(p Parameter) string { return p.Name })
}

// MetricInfo describes one metric of a study.
type MetricInfo struct {
	Name        string
	Unit        string
	Modelled    bool
	Known       bool         // of known form or sampled: its value comes with the decision
	Constraints []Constraint // the limits on it
	Plausible   []float64    // see Objective
}

// Metrics returns the metrics of a checked definition: the objective, the constraints' metrics,
// then the recorded ones.
func (d Definition) Metrics() []MetricInfo {
	all := []MetricInfo{{Name: d.Objective.Metric, Unit: d.Objective.Unit, Modelled: true, Plausible: d.Objective.Plausible}}
	index := map[string]int{d.Objective.Metric: 0}
	for _, k := range d.Constraints {
		i, listed := index[k.Metric]
		if !listed {
			i = len(all)
			index[k.Metric] = i
			all = append(all, MetricInfo{Name: k.Metric, Modelled: !k.Given(), Known: k.Given()})
		}
		all[i].Unit = cmp.Or(all[i].Unit, k.Unit)
		if all[i].Plausible == nil {
			all[i].Plausible = k.Plausible
		}
		all[i].Constraints = append(all[i].Constraints, k)
	}
	return append(all, lists.Map(d.RecordedMetrics, func(r RecordedMetric) MetricInfo {
		return MetricInfo{Name: r.Metric, Unit: r.Unit, Plausible: r.Plausible}
	})...)
}

// Metric returns the metric of that name, the zero MetricInfo if there is none.
func (d Definition) Metric(name string) MetricInfo {
	found, _ := lists.Find(d.Metrics(), func(m MetricInfo) bool { return m.Name == name })
	return found
}

// Unit returns the unit of a metric or a parameter; the two never share a name.
func (d Definition) Unit(name string) string {
	if p, is := lists.Find(d.Parameters, func(p Parameter) bool { return p.Name == name }); is {
		return p.Unit
	}
	return d.Metric(name).Unit
}

// WithUnits returns d with the unit of its metric wherever the metric stands without one.
func (d Definition) WithUnits() Definition {
	d.Constraints, d.Objective.Unit = slices.Clone(d.Constraints), d.Metric(d.Objective.Metric).Unit
	for i, k := range d.Constraints {
		d.Constraints[i].Unit = cmp.Or(k.Unit, d.Metric(k.Metric).Unit)
	}
	return d
}

// MetricNames returns the name of every metric once, in the order of Metrics.
func (d Definition) MetricNames() []string {
	names := []string{}
	for _, m := range d.Metrics() {
		if m.Name != "" && !slices.Contains(names, m.Name) { // unchecked definitions may have such names
			names = append(names, m.Name)
		}
	}
	return names
}

// SearchedBytes is how much of a description is searched.
const SearchedBytes = 4000

// Words returns the case-folded text in which searches find the study: its name, the beginning of
// its description, and the names of its parameters and metrics.
func (d Definition) Words() string {
	described := strings.ToValidUTF8(d.Description[:min(len(d.Description), SearchedBytes)], "")
	return FoldCase(strings.Join(slices.Concat([]string{d.Name, described}, d.ParameterNames(), d.MetricNames()), "\n"))
}

const (
	presetPaper    = "paper"
	fitFixed       = "fixed"
	fitMAP         = "marginal_likelihood"
	warpYeoJohnson = "yeo_johnson"
	// WarpNone models readings as they are.
	WarpNone      = "none"
	outputsRaw    = "raw"
	outputsScaled = "standardize"
	inputsUnit    = "unit"
	inputsRaw     = "raw"
	defaultKernel = "matern52"
	// kernelOfChoices is the default kernel if some parameter is categorical and hyperparameters
	// are fitted.
	kernelOfChoices = kernel.Anova
	kernelOfMatrix  = "covariance"
)

// NumberValue returns a numeric setting. Minus zero becomes zero.
func NumberValue(x float64) Value { return Value{Number: x + 0} }

// TextValue returns the setting of a categorical parameter.
func TextValue(text string) Value { return Value{Text: text, IsText: true} }

var errNotAValue = errors.New("a setting is a finite number or a text")

// UnmarshalJSON reads a finite number or a string.
func (v *Value) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*v = TextValue(text)
		return nil
	}
	number, err := ParseNumber(string(data))
	if err != nil {
		return errNotAValue
	}
	*v = NumberValue(number)
	return nil
}

// MarshalJSON writes a number or a string.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsText {
		return json.Marshal(v.Text)
	}
	if !Finite(v.Number) {
		return nil, errNotAValue
	}
	return []byte(formatNumber(v.Number)), nil
}

// String returns the shortest decimal that parses to the same number, or the choice.
func (v Value) String() string {
	if v.IsText {
		return v.Text
	}
	return formatNumber(v.Number)
}

// Equal reports whether both set the same parameters to the same values.
func (s Settings) Equal(other Settings) bool { return maps.Equal(s, other) }

// Clone returns a copy that shares nothing.
func (s Settings) Clone() Settings { return maps.Clone(s) }

// Largest is the largest absolute value that a study accepts. Squares, products of two, and sums
// over a study stay within a float64.
const Largest = 1e100

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// FiniteOrNil returns a pointer to x, nil if JSON cannot represent it.
func FiniteOrNil(x float64) *float64 {
	if !Finite(x) {
		return nil
	}
	return &x
}

// Computable reports whether a study can compute with x.
func Computable(x float64) bool { return math.Abs(x) <= Largest }

// NotComputable says what is wrong with a number that is not.
const NotComputable = "must be a number between -1e100 and 1e100"

// formatNumber returns the shortest decimal that parses to x, with an exponent only for very large
// and very small numbers.
func formatNumber(x float64) string {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

var errNotANumber = errors.New("not a finite decimal number")

// ParseNumber reads a decimal number. Unlike strconv it refuses infinities, NaN, hexadecimal and
// underscores.
func ParseNumber(text string) (float64, error) {
	for _, r := range text {
		switch {
		case '0' <= r && r <= '9', r == '.', r == '-', r == '+', r == 'e', r == 'E':
		default:
			return 0, errNotANumber
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, ErrTooLarge
	case err != nil:
		return 0, errNotANumber
	}
	return x + 0, nil
}

// cost returns the limit in the optimizer's form, without the index of its metric.
func (c Constraint) cost() optimizer.Cost {
	sign := 1.0
	if c.Op == ">=" {
		sign = -1
	}
	return optimizer.Cost{Name: c.Name, Sign: sign, Threshold: c.Threshold}
}

// Excess returns g, which is value − threshold for ≤ and threshold − value for ≥: by how much value
// is beyond the limit, in the metric's units.
func (c Constraint) Excess(value float64) float64 { return c.cost().Excess(value) }

// Holds reports whether value is within the limit, g ≤ 0.
func (c Constraint) Holds(value float64) bool { return c.Excess(value) <= 0 }

// Headroom returns −g, the distance to the limit, negative beyond it.
func (c Constraint) Headroom(value float64) float64 { return 0 - c.Excess(value) }

// Exceeded returns the value that is beyond the limit by g.
func (c Constraint) Exceeded(g float64) float64 { return c.Threshold + c.cost().Sign*g }

// Headroom returns the distance of value to the nearest limit on metric, min_j −g_j, nil if there
// is no limit on it.
func (d Definition) Headroom(metric string, value float64) *float64 {
	var nearest *float64
	for _, c := range d.Constraints {
		if c.Metric != metric {
			continue
		}
		if room := c.Headroom(value); nearest == nil || room < *nearest {
			nearest = &room
		}
	}
	return nearest
}

// Better reports whether a is better than b.
func (o Objective) Better(a, b float64) bool {
	if o.Direction == "minimize" {
		return a < b
	}
	return a > b
}

// Fault is something wrong with an input. Field is the path to it, such as "parameters[1].high",
// and "" for the whole.
type Fault struct {
	Field   string `json:"location"`
	Message string `json:"message"`
	Value   any    `json:"value"` // what was sent; nil if nothing was or it is not repeated
}

// Invalid is the error for well-formed input that breaks rules. It lists up to MostFaults faults.
type Invalid struct{ Faults Faults }

func (e *Invalid) Error() string {
	first := e.Faults[0].String()
	switch n := len(e.Faults); {
	case n == 1:
		return first
	case n >= MostFaults:
		return fmt.Sprintf("%d things or more are wrong, first %s", n, first)
	default:
		return fmt.Sprintf("%d things are wrong, first %s", n, first)
	}
}

func (f Fault) String() string { return strings.TrimPrefix(f.Field+": "+f.Message, ": ") }

// NewInvalid returns an *Invalid with one fault.
func NewInvalid(field, message string, value any) error {
	return Faults{{Field: field, Message: message, Value: value}}.Err()
}

// Limits on the faults in an answer: enough to correct the request by, and never large, whatever
// was sent.
const (
	MostFaults     = 100
	longestMessage = 1000 // bytes
	longestField   = 2000 // bytes: two of the longest names and what surrounds them
	longestValue   = 1000 // bytes of JSON
)

// Faults collects faults, at most as many as an answer lists.
type Faults []Fault

// Add appends a fault unless f is full. value is what was sent, nil if nothing was.
func (f *Faults) Add(field string, value any, format string, args ...any) {
	if !f.Full() {
		*f = append(*f, Fault{field, fmt.Sprintf(format, args...), value}.bounded())
	}
}

// Full reports whether no more faults are accepted, so that the search for them can end.
func (f Faults) Full() bool { return len(f) >= MostFaults }

// Bounded returns the faults within the limits of an answer.
func (f Faults) Bounded() Faults {
	return lists.Map(f[:min(len(f), MostFaults)], Fault.bounded)
}

// Within returns the faults with path put before their fields.
func (f Faults) Within(path string) Faults {
	return lists.Map(f, func(fault Fault) Fault {
		if fault.Field != "" && fault.Field[0] != '[' {
			fault.Field = "." + fault.Field
		}
		fault.Field = path + fault.Field
		return fault
	})
}

// Err returns *Invalid if there are faults, else nil.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{Faults: f.Bounded()}
}

func (f Fault) bounded() Fault {
	return Fault{cutText(f.Field, longestField), cutText(f.Message, longestMessage), boundedValue(f.Value)}
}

// boundedValue returns what was sent if it is short: a long text is cut, any other long value is
// dropped.
func boundedValue(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return Shorten(v)
	case Value:
		if v.IsText {
			return TextValue(Shorten(v.Text))
		}
	}
	if text, err := json.Marshal(value); err != nil || len(text) > longestValue {
		return nil
	}
	return value
}

// cutText cuts text to at most longest bytes, between two characters.
func cutText(text string, longest int) string {
	const more = "…"
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

const maxName = 200 // characters

// Shorten cuts a text to the length of the longest possible name, for use in messages.
func Shorten(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxName {
			return text[:i] + "…"
		}
	}
	return text
}

// listed returns names for a message, only the first of them if there are many.
func listed(names []string) string {
	const room = 600 // bytes of a message
	shown := 0
	for used := 0; shown < len(names) && (shown == 0 || used+len(names[shown]) <= room); shown++ {
		used += len(names[shown])
	}
	text := strings.Join(names[:shown], ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// orList joins the non-empty words as a sentence does: "a", "b" or "c".
func orList(words []string) string {
	return Listed(lists.Pick(words, func(w string) (string, bool) { return `"` + w + `"`, w != "" }), "or")
}

// Listed joins names as a sentence does, with last, such as "and", before the last one.
func Listed(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

func constraintAt(i int) string { return fmt.Sprintf("constraints[%d]", i) }

// Rounds reports whether a value is another one or, as spreadsheets write numbers, that one rounded to
// the decimals of the first, by less than a two-hundredth of the range, or on a log scale of itself.
func (p Parameter) Rounds(v, other Value) bool {
	near := math.Abs(other.Number)
	if !p.Logarithmic() && p.Low != nil && p.High != nil {
		near = *p.High - *p.Low
	}
	return v == other || !v.IsText && !other.IsText && math.Abs(v.Number-other.Number) < near/200 && roundsTo(v.Number, other.Number, decimalsOf(v.Number))
}

// Logarithmic reports whether the parameter is on a logarithmic scale.
func (p Parameter) Logarithmic() bool { return p.Scale == ScaleLog }
