// Package design is what a study is and may be: its definition as a person describes it, the checks
// it must pass, and the definition made ready to compute with: settings to coordinates and back,
// constraints to costs, model words to priors. It knows nothing of what happens in a study.
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

// Definition is a study as a person describes it. Its JSON is that of the API; a Definition that
// passed Check is complete: names are unique, and every setting in force is written out, so that no
// default is taken when it is read again.
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
	// Stop is when little enough is left to gain.
	Stop *Stop `json:"stop,omitempty"`
	// Unavailable lists settings that have run out ("out of ligand X"), by parameter.
	Unavailable map[string][]Value `json:"unavailable,omitempty"`
	// SimulatedLab names the problem of the simulator that answers instead of a laboratory, "" for
	// a real one.
	SimulatedLab string `json:"simulated_lab,omitempty"`
}

// ParameterType is what values a parameter takes.
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

// Value is a parameter's value: a finite number, or the text of a choice. Its JSON is a number or a
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
	// Plausible are the lowest and the highest value that need no second look: what lies outside is
	// asked back when it is entered, and never refused.
	Plausible []float64 `json:"plausible,omitempty"`
}

// Constraint is a limit on a metric: it holds when the metric is Op Threshold.
type Constraint struct {
	Name      string  `json:"name,omitempty"` // defaults to the metric
	Metric    string  `json:"metric"`
	Op        string  `json:"op"` // <= or >=
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
	// Plausible is of the metric, see Objective; limits that share one agree on it.
	Plausible []float64 `json:"plausible,omitempty"`
	// Expression gives the metric's value from the parameters and the Context of the decision
	// instead of readings.
	Expression string   `json:"expression,omitempty"`
	Context    []string `json:"context,omitempty"`
	// Sampled: each decision brings the metric's value at every candidate.
	Sampled bool `json:"sampled,omitempty"`
}

// Given tells whether the constraint's value is known when a decision is made, instead of being
// learned.
func (c Constraint) Given() bool { return c.Expression != "" || c.Sampled }

// Foreseeable tells whether what a trial would be can be said before anybody brings what belongs to
// it.
func (d Definition) Foreseeable() bool {
	return !slices.ContainsFunc(d.Constraints, func(k Constraint) bool { return k.Sampled || len(k.Context) > 0 })
}

// Stop says when little enough is left to gain: when more than Within of the recommended value is
// left with a chance of at most Risk.
type Stop struct {
	Within float64 `json:"within"` // share of the recommended value
	Risk   float64 `json:"risk"`
}

// UsualStop is the stop of a study for which none was said, one in a hundred with a chance of one
// in twenty.
func UsualStop() Stop { return Stop{Within: 0.01, Risk: 0.05} }

// RecordedMetric is kept but not modelled.
type RecordedMetric struct {
	Metric    string    `json:"metric"`
	Unit      string    `json:"unit,omitempty"`
	Plausible []float64 `json:"plausible,omitempty"` // see Objective
}

// Algorithm names the algorithm and its settings.
type Algorithm struct {
	Name     string                     `json:"name"`
	Preset   string                     `json:"preset,omitempty"` // "" or "paper"
	Horizon  int                        `json:"horizon"`
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// Model says how metrics are modelled. Kernel, Lengthscales, Variance, Lambda and NoiseVariance may
// each be an object by metric name with "default", so they stay as written here; Check verifies
// them.
type Model struct {
	Kernel        json.RawMessage `json:"kernel,omitempty"`
	Inputs        string          `json:"inputs,omitempty"` // unit or raw
	Lengthscales  json.RawMessage `json:"lengthscales,omitempty"`
	Variance      json.RawMessage `json:"variance,omitempty"`
	Outputs       string          `json:"outputs,omitempty"` // raw or standardize
	Fit           string          `json:"fit,omitempty"`     // fixed or marginal_likelihood
	Warp          string          `json:"warp,omitempty"`    // yeo_johnson or none; only of standardised outputs whose model is fitted
	Lambda        json.RawMessage `json:"lambda,omitempty"`
	NoiseVariance json.RawMessage `json:"noise_variance,omitempty"`
	Start         *Start          `json:"start,omitempty"` // only where hyperparameters are fitted
}

// Start is what the hyperparameters that are fitted are before their first fit.
type Start struct {
	Lengthscale float64 `json:"lengthscale"` // of each parameter, as a share of its range
	Variance    float64 `json:"variance"`
	Lambda      float64 `json:"lambda"`
}

// ParameterNames lists the parameters.
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
	Plausible   []float64    // the lowest and the highest value that need no second look; nil where nobody said
}

// Metrics lists the metrics of a checked definition: the objective, the constraints' metrics, the
// recorded ones.
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

// Metric describes the metric of that name, with nothing where there is none.
func (d Definition) Metric(name string) MetricInfo {
	found, _ := lists.Find(d.Metrics(), func(m MetricInfo) bool { return m.Name == name })
	return found
}

// Unit is that of a metric or a parameter, of which none has the name of another.
func (d Definition) Unit(name string) string {
	if p, is := lists.Find(d.Parameters, func(p Parameter) bool { return p.Name == name }); is {
		return p.Unit
	}
	return d.Metric(name).Unit
}

// MetricNames lists every metric once: the objective's, the constraints', the recorded ones.
func (d Definition) MetricNames() []string {
	names := []string{}
	for _, m := range d.Metrics() {
		if m.Name != "" && !slices.Contains(names, m.Name) { // as in a definition that is not checked
			names = append(names, m.Name)
		}
	}
	return names
}

// mostFound is how many bytes of a description a study is found by.
const mostFound = 4000

// Words are what a study is found by, case folded: its name, the beginning of its description, and
// the names of its parameters and metrics.
func (d Definition) Words() string {
	described := strings.ToValidUTF8(d.Description[:min(len(d.Description), mostFound)], "")
	return FoldCase(strings.Join(slices.Concat([]string{d.Name, described}, d.ParameterNames(), d.MetricNames()), "\n"))
}

// The words of a definition.
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
	// kernelOfChoices is the default where some parameter is a category and hyperparameters are
	// fitted.
	kernelOfChoices = kernel.Anova
	kernelOfMatrix  = "covariance"
)

// NumberValue is a numeric setting. Minus zero becomes zero.
func NumberValue(x float64) Value { return Value{Number: x + 0} }

// TextValue is a chosen category.
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

// String is the value as people read it: the shortest text that gives the same number back, or the
// choice.
func (v Value) String() string {
	if v.IsText {
		return v.Text
	}
	return formatNumber(v.Number)
}

// Equal tells whether both set the same parameters to the same values.
func (s Settings) Equal(other Settings) bool { return maps.Equal(s, other) }

// Clone returns a copy that shares nothing.
func (s Settings) Clone() Settings { return maps.Clone(s) }

// Largest is the largest size of a number that enters a study: squares of it, products of two and
// sums of a study's worth of them stay within what a float64 can hold.
const Largest = 1e100

// Finite tells whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// FiniteOrNil is x as JSON can hold it.
func FiniteOrNil(x float64) *float64 {
	if !Finite(x) {
		return nil
	}
	return &x
}

// Computable tells whether x is a number that a study can compute with.
func Computable(x float64) bool { return math.Abs(x) <= Largest }

// formatNumber writes the shortest decimal that reads back as x, without an exponent where people
// would write none.
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
	if err != nil {
		return 0, errNotANumber
	}
	return x + 0, nil
}

// cost is the limit as the optimizer has it, but for the metric's place among the others.
func (c Constraint) cost() optimizer.Cost {
	sign := 1.0
	if c.Op == ">=" {
		sign = -1
	}
	return optimizer.Cost{Name: c.Name, Sign: sign, Threshold: c.Threshold}
}

// Excess is g = value − threshold for ≤ and threshold − value for ≥, in the metric's units: how far
// value is beyond the limit.
func (c Constraint) Excess(value float64) float64 { return c.cost().Excess(value) }

// Holds tells whether value is within the limit, g ≤ 0.
func (c Constraint) Holds(value float64) bool { return c.Excess(value) <= 0 }

// Headroom is −g, how far value is within the limit, negative beyond it.
func (c Constraint) Headroom(value float64) float64 { return 0 - c.Excess(value) }

// Exceeded is the value that is beyond the limit by g.
func (c Constraint) Exceeded(g float64) float64 { return c.Threshold + c.cost().Sign*g }

// Headroom is the distance of value to the nearest limit on metric, min_j −g_j; nil when nothing
// limits it.
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

// Better tells whether value a improves on b.
func (o Objective) Better(a, b float64) bool {
	if o.Direction == "minimize" {
		return a < b
	}
	return a > b
}

// Fault is one thing wrong with what was given. Field is a path in it such as "parameters[1].high",
// "" for the whole.
type Fault struct {
	Field   string `json:"location"`
	Message string `json:"message"`
	Value   any    `json:"value"` // what was sent; nil where nothing was, or where it is not repeated
}

// Invalid is well-formed input that breaks rules; it names what is wrong, up to MostFaults things.
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

// NewInvalid is one thing wrong with what was sent.
func NewInvalid(field, message string, value any) error {
	return Faults{{Field: field, Message: message, Value: value}}.Err()
}

// What an answer tells of faults is enough to mend the request by, and never large, whatever was
// sent.
const (
	MostFaults     = 100
	longestMessage = 1000 // bytes
	longestField   = 2000 // bytes: two names of the longest and what stands around them
	longestValue   = 1000 // bytes of JSON
)

// Faults collects what is wrong, as much of it as an answer tells.
type Faults []Fault

// Add notes a fault; value is what was sent, nil if nothing was.
func (f *Faults) Add(field string, value any, format string, args ...any) {
	if !f.Full() {
		*f = append(*f, Fault{field, fmt.Sprintf(format, args...), value}.bounded())
	}
}

// Full tells whether no more faults are told, so that looking for them can end.
func (f Faults) Full() bool { return len(f) >= MostFaults }

// Bounded is as much of the faults as an answer tells.
func (f Faults) Bounded() Faults {
	return lists.Map(f[:min(len(f), MostFaults)], Fault.bounded)
}

// Within are the faults of what stood at a path in something larger.
func (f Faults) Within(path string) Faults {
	return lists.Map(f, func(fault Fault) Fault {
		if fault.Field != "" && fault.Field[0] != '[' {
			fault.Field = "." + fault.Field
		}
		fault.Field = path + fault.Field
		return fault
	})
}

// Err returns *Invalid if there is anything wrong.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{Faults: f.Bounded()}
}

func (f Fault) bounded() Fault {
	return Fault{cutText(f.Field, longestField), cutText(f.Message, longestMessage), boundedValue(f.Value)}
}

// boundedValue is what was sent as far as it is short: a long text is cut, and what else is long is
// left out.
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
	case json.RawMessage:
		if len(v) > longestValue {
			return nil
		}
	}
	if text, err := json.Marshal(value); err != nil || len(text) > longestValue {
		return nil
	}
	return value
}

// cutText is text, cut to at most longest bytes between two characters.
func cutText(text string, longest int) string {
	const more = "…"
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

const maxName = 200 // characters

// Shorten keeps what is told of a name readable: names of the longest are told whole, longer texts
// are cut.
func Shorten(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxName {
			return text[:i] + "…"
		}
	}
	return text
}

// listed writes names for a message, the first of them when there are many.
func listed(names []string) string {
	const room = 600 // bytes, of a message's
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

// orList writes choices for a sentence: "a", "b" or "c"; an empty word is not mentioned.
func orList(words []string) string {
	return Listed(lists.Pick(words, func(w string) (string, bool) { return `"` + w + `"`, w != "" }), "or")
}

// Listed joins names as a sentence does, with a word such as "and" before the last.
func Listed(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

func constraintAt(i int) string { return fmt.Sprintf("constraints[%d]", i) }

// Logarithmic tells whether a number's scale is.
func (p Parameter) Logarithmic() bool { return p.Scale == ScaleLog }

// MostMapped is how many values a map has at most along each of its two parameters.
const MostMapped = 100

// Mapped tells whether a map can have the parameter for an axis. Of two with a thousand choices each a
// million points would be worked out, for which no machine has the memory.
func (p Parameter) Mapped() bool { return p.Type != Remainder && len(p.Choices) <= MostMapped }
