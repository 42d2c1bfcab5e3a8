package design

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/mutation"
)

func TestCheckWritesOutDefaults(t *testing.T) {
	t.Parallel()
	given := bufferScreen()
	d := must.Get(given.Check())(t)
	if got := []string{d.Parameters[0].Scale, d.Constraints[0].Name, d.Algorithm.Name, d.Model.Inputs, d.Model.Outputs, d.Model.Fit, string(d.Model.Kernel)}; !slices.Equal(got,
		[]string{"linear", "impurity", "log-cei", "unit", "standardize", "marginal_likelihood", `"anova"`}) || d.Algorithm.Horizon != 100 || d.Seed != 0 {
		t.Errorf("defaults %v, horizon %d, seed %d", got, d.Algorithm.Horizon, d.Seed)
	}
	if diff := cmp.Diff(bufferScreen(), given); diff != "" {
		t.Errorf("Check changed what it was given:\n%s", diff)
	}
	again, err := d.Check()
	if diff := cmp.Diff(d, again); diff != "" || err != nil {
		t.Errorf("a checked definition changed when checked again: %v\n%s", err, diff)
	}
}

// TestDefaultKernel: one for choices where there are some and the model is fitted.
func TestDefaultKernel(t *testing.T) {
	t.Parallel()
	numbers := bufferScreen()
	numbers.Parameters = slices.DeleteFunc(slices.Clone(numbers.Parameters), func(p Parameter) bool { return p.Type == Categorical })
	numbers.Candidates = nil
	fixed, paper, chosen := bufferScreen(), bufferScreen(), bufferScreen()
	fixed.Model.Fit = "fixed"
	paper.Algorithm.Preset = "paper"
	chosen.Model.Kernel = rawJSON(`"matern52"`)
	for want, definitions := range map[string][]Definition{`"anova"`: {bufferScreen()}, `"matern52"`: {numbers, fixed, paper, chosen}} {
		for i, d := range definitions {
			d, err := d.Check()
			if err != nil || string(d.Model.Kernel) != want {
				t.Errorf("%d: kernel %s, want %s (%v)", i, d.Model.Kernel, want, err)
			}
		}
	}
}

func TestCheckDefaultsOfTheModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		preset         string
		model          Model
		outputs, fit   string
		lambda         float64
		free, standard bool
	}{
		{"", Model{}, "standardize", "marginal_likelihood", 1.02, true, true},
		{"", Model{Fit: "fixed"}, "raw", "fixed", 1.02, false, false},
		{"", Model{Fit: "fixed", Outputs: "standardize"}, "standardize", "fixed", 1.02, false, true},
		{"paper", Model{}, "raw", "fixed", 1.02, false, false},
		{"paper", Model{Fit: "marginal_likelihood", Lambda: rawJSON("0.5")}, "raw", "marginal_likelihood", 0.5, true, false},
	} {
		d := bufferScreen()
		d.Algorithm.Preset, d.Model = test.preset, test.model
		c := mustCompile(t, d)
		if c.Def.Model.Outputs != test.outputs || c.Def.Model.Fit != test.fit || c.Config.Fit != (test.fit == "marginal_likelihood") || c.Config.Standardize != test.standard {
			t.Errorf("%+v: %+v, config fit %v standardize %v", test, c.Def.Model, c.Config.Fit, c.Config.Standardize)
		}
		if m := c.Config.Metrics[0]; m.Lambda != test.lambda || m.FreeLengthscales != test.free {
			t.Errorf("%+v: metric %+v", test, m)
		}
	}
}

// TestWhatAFitMayMove lists, for models as written, whether the kernel's variance is fitted and
// readings are warped.
func TestWhatAFitMayMove(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		preset         string
		model          Model
		word           string
		variance, warp bool
	}{
		{"", Model{}, "yeo_johnson", true, true},
		{"", Model{Warp: "none"}, "none", true, false},
		{"", Model{Variance: rawJSON("2")}, "yeo_johnson", false, true},
		{"", Model{NoiseVariance: rawJSON("2")}, "yeo_johnson", true, false},
		{"", Model{Outputs: "raw"}, "", true, false},
		{"", Model{Fit: "fixed", Outputs: "standardize"}, "", false, false},
		{"", Model{Fit: "fixed", Warp: "none"}, "none", false, false},
		{"paper", Model{}, "", false, false},
	} {
		d := bufferScreen()
		d.Algorithm.Preset, d.Model = test.preset, test.model
		c := mustCompile(t, d)
		if m := c.Config.Metrics[0]; c.Def.Model.Warp != test.word || m.FreeVariance != test.variance || m.Warp != test.warp {
			t.Errorf("%+v: warp %q, variance free %v, warped %v", test, c.Def.Model.Warp, m.FreeVariance, m.Warp)
		}
	}
}

func TestCheckOfRemainderFillsInBounds(t *testing.T) {
	t.Parallel()
	d := mixture()
	d.Parameters[2].Low, d.Parameters[2].High = nil, nil
	checked, err := d.Check()
	if err != nil || *checked.Parameters[2].Low != 0 || *checked.Parameters[2].High != 100 {
		t.Errorf("remainder %+v, %v", checked.Parameters[2], err)
	}
}

// checkFault is a definition with one thing wrong, and what is said about it.
type checkFault struct {
	name              string
	change            func(*Definition)
	location, message string
}

// namesEach changes a definition in each of the ways, and holds what is said against it.
func namesEach(t *testing.T, of func() Definition, faults []checkFault) {
	t.Parallel()
	for _, test := range faults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := of()
			test.change(&d)
			_, err := d.Check()
			wantFault(t, faultsOf(t, err), test.location, test.message)
		})
	}
}

var checkFaults = []checkFault{
	{"no name", func(d *Definition) { d.Name = "" }, "name", "must not be empty"},
	{"long name", func(d *Definition) { d.Name = strings.Repeat("é", 201) }, "name", "201 characters; at most 200"},
	{"NUL in the description", func(d *Definition) { d.Description = "a\x00b" }, "description", "U+0000"},
	{"long description", func(d *Definition) { d.Description = strings.Repeat("x", 100_001) }, "description", "at most 100000"},
	{"large seed", func(d *Definition) { d.Seed = 1 << 53 }, "seed", "at most 9007199254740991"},

	{"no parameters", func(d *Definition) { d.Parameters, d.InputConstraints = nil, nil }, "parameters", "at least one"},
	{"too many parameters", func(d *Definition) {
		for i := len(d.Parameters); i < 51; i++ {
			d.Parameters = append(d.Parameters, Parameter{Name: fmt.Sprint("p", i), Type: Categorical, Choices: []string{"A"}})
		}
	}, "parameters", "51 parameters; at most 50"},
	{"more choices than decisions have room for", func(d *Definition) {
		var choices []string
		for i := range 1000 {
			choices = append(choices, fmt.Sprint("choice ", i))
		}
		for i := range 2 {
			d.Parameters = append(d.Parameters, Parameter{Name: fmt.Sprint("p", i), Type: Categorical, Choices: choices})
		}
	}, "parameters", "at most 2000"},
	{"same name in other case", func(d *Definition) { d.Parameters[2].Name = "TEMPERATURE" }, "parameters[2].name", "is taken by a parameter"},
	{"same name in other case, beyond ASCII", func(d *Definition) { d.Parameters[2].Name, d.Parameters[3].Name = "ſtraße ω", "STRAßE Ω" }, "parameters[3].name", "is taken"},
	{"same name, its accent encoded otherwise", func(d *Definition) { d.Parameters[2].Name, d.Parameters[3].Name = "débit", "De\u0301bit" }, "parameters[3].name", "is taken"},
	{"same name but for what nobody sees", func(d *Definition) { d.Parameters[2].Name, d.Parameters[3].Name = "debit", "de\u200bbit" }, "parameters[3].name", "is taken"},
	{"nothing that is seen", func(d *Definition) { d.Parameters[2].Name = "\ufeff" }, "parameters[2].name", "invisible character"},
	{"what is not seen at the end", func(d *Definition) { d.Name = "Salt\u200b" }, "name", "invisible character"},
	{"a name that turns what follows around", func(d *Definition) { d.Parameters[2].Name = "sa\u202elt" }, "parameters[2].name", "reverse the direction"},
	{"reserved word", func(d *Definition) { d.Parameters[2].Name = "Note" }, "parameters[2].name", "cannot be a name"},
	{"space at the end", func(d *Definition) { d.Parameters[2].Name = "salt " }, "parameters[2].name", "begin or end with a space"},
	{"control character", func(d *Definition) { d.Parameters[2].Name = "sa\nlt" }, "parameters[2].name", "control characters"},
	{"long parameter name", func(d *Definition) { d.Parameters[2].Name = strings.Repeat("s", 201) }, "parameters[2].name", "at most 200"},
	{"no type", func(d *Definition) { d.Parameters[2].Type = "" }, "parameters[2].type", "is missing"},
	{"unknown type", func(d *Definition) { d.Parameters[2].Type = "float" }, "parameters[2].type", `must be "real"`},
	{"low above high", func(d *Definition) { d.Parameters[0].Low, d.Parameters[0].High = new(60.0), new(20.0) }, "parameters[0].low", "low 60 must be below high 20"},
	{"low equals high", func(d *Definition) { d.Parameters[1].Low = new(12.0) }, "parameters[1].low", "low 12 must be below high 12"},
	{"no high", func(d *Definition) { d.Parameters[0].High = nil }, "parameters[0].high", "is missing"},
	{"huge bound", func(d *Definition) { d.Parameters[2].High = new(1e101) }, "parameters[2].high", "between -1e100 and 1e100"},
	{"huge log range", func(d *Definition) {
		d.Parameters[2].Scale, d.Parameters[2].Low, d.Parameters[2].High = "log", new(1e-300), new(1e30)
	}, "parameters[2].low", "raise low"},
	{"huge threshold", func(d *Definition) { d.Constraints[0].Threshold = -1e101 }, "constraints[0].threshold", "between -1e100 and 1e100"},
	{"indistinguishable bounds", func(d *Definition) { d.Parameters[2].Low, d.Parameters[2].High = new(1.0), new(1+1e-12) }, "parameters[2].high", "too close together"},
	{"log scale from 0", func(d *Definition) { d.Parameters[2].Low = new(0.0) }, "parameters[2].low", "low 0 must be above 0 for a log scale"},
	{"log scale from next to 0", func(d *Definition) { d.Parameters[2].Low = new(1e-310) }, "parameters[2].low", "too close to 0 for a log scale"},
	{"unknown warp", func(d *Definition) { d.Model.Warp = "log" }, "model.warp", `must be "yeo_johnson" or "none"`},
	{"a warp nobody fits", func(d *Definition) { d.Model.Warp, d.Model.Fit = "yeo_johnson", "fixed" }, "model.warp", `needs outputs "standardize" and fit "marginal_likelihood"`},
	{"unknown scale", func(d *Definition) { d.Parameters[2].Scale = "log10" }, "parameters[2].scale", `must be "linear" or "log"`},
	{"fractional bound of an integer", func(d *Definition) { d.Parameters[1].Low = new(1.5) }, "parameters[1].low", "1.5 must be a whole number"},
	{"whole numbers that are rounded when they are read", func(d *Definition) { d.Parameters[1].High = new(9007199254740993.0) }, "parameters[1].high", "must be at most 9007199254740991 in size"},
	{"step of an integer", func(d *Definition) { d.Parameters[1].Step = new(2.0) }, "parameters[1].step", "steps of 1; leave step out, or make the parameter real, with that step"},
	{"negative step", func(d *Definition) { d.Parameters[3].Step = new(-0.1) }, "parameters[3].step", "must be above 0"},
	{"a step without an end", func(d *Definition) { d.Parameters[3].Step, d.Parameters[3].High = new(0.1), nil }, "parameters[3].high", "is missing"},
	{"wide step", func(d *Definition) { d.Parameters[3].Step = new(2.0) }, "parameters[3].step", "step 2 is wider than the range from 0.5 to 2"},
	{"fine step", func(d *Definition) { d.Parameters[3].Step = new(1e-12) }, "parameters[3].step", "too fine"},
	{"choices of a real", func(d *Definition) { d.Parameters[0].Choices = []string{"A"} }, "parameters[0].choices", "has no meaning for a parameter of type real"},
	{"bounds of a category", func(d *Definition) { d.Parameters[4].Low = new(0.0) }, "parameters[4].low", "has no meaning"},
	{"no choices", func(d *Definition) { d.Parameters[4].Choices = nil }, "parameters[4].choices", "at least one choice"},
	{"a choice twice", func(d *Definition) { d.Parameters[4].Choices = []string{"A", "B", "A"} }, "parameters[4].choices[2]", "twice"},
	{"an empty choice", func(d *Definition) { d.Parameters[4].Choices = []string{"A", ""} }, "parameters[4].choices[1]", "must not be empty"},
	{"long unit", func(d *Definition) { d.Parameters[0].Unit = strings.Repeat("m", 51) }, "parameters[0].unit", "at most 50"},
	{"a unit of two lines", func(d *Definition) { d.Parameters[0].Unit = "m\nm" }, "parameters[0].unit", "control characters"},

	{"unreadable input constraint", func(d *Definition) { d.InputConstraints[0] = "temperature +* 2 <= 1" }, "input_constraints[0]", `cannot be read at character 14, from "* 2 <= 1" on`},
	{"a decimal comma in an input constraint", func(d *Definition) { d.InputConstraints[0] = "0,5*temperature <= 10" }, "input_constraints[0]", `from ",5*temperature <= 10" on; decimals have a point`},
	{"a sum in an input constraint", func(d *Definition) { d.InputConstraints[0] = "temperature + cycles = 30" }, "input_constraints[0]", `from "= 30" on; for settings that must add up to a total, make one of them a remainder`},
	{"an equation as an input constraint", func(d *Definition) { d.InputConstraints[0] = "temperature + cycles == 30" }, "input_constraints[0]", `== is not possible here; for settings that must add up to a total, make one of them a remainder`},
	{"an equation by two input constraints", func(d *Definition) {
		d.InputConstraints = []string{"cycles >= 2", "temperature + 2*cycles <= 60", "60 - 2*cycles <= temperature"}
	}, "input_constraints[2]",
		`with "temperature + 2*cycles <= 60" it holds only where both sides are equal; for settings that must add up to a total, make one of them a remainder`},
	{"an equation that corners keep", func(d *Definition) {
		d.Parameters = []Parameter{{Name: "a", Type: Real, Low: new(0.0), High: new(1.0)}, {Name: "b", Type: Real, Low: new(0.0), High: new(1.0)}, {Name: "c", Type: Real, Low: new(0.0), High: new(1.0)}}
		d.Unavailable, d.InputConstraints = nil, []string{"a + b + c <= 1", "a + b + c >= 1"}
	}, "input_constraints[1]", `with "a + b + c <= 1" it holds only where both sides are equal`},
	{"a name of two words in an input constraint", func(d *Definition) {
		d.Parameters[1].Name, d.InputConstraints[0] = "long cycles", "temperature + long cycles <= 50"
	}, "input_constraints[0]", `from "cycles <= 50" on; "long cycles" cannot be used in an expression; it must be letters, digits and _`},
	{"names that an input constraint may use", func(d *Definition) {
		d.Parameters[1].Name, d.InputConstraints[0] = "long cycles", "temperature + long_cyc <= 50"
	}, "input_constraints[0]", `the name "long_cyc" is unknown; it may use temperature, salt, time`},
	{"a sign in an input constraint", func(d *Definition) { d.InputConstraints[0] = "temperature ≤ 30" }, "input_constraints[0]", `from "≤ 30" on; at most is written <=, and at least >=`},
	{"half an input constraint", func(d *Definition) { d.InputConstraints[0] = "temperature <=" }, "input_constraints[0]", "something is missing at its end"},
	{"a category in an expression", func(d *Definition) { d.InputConstraints[0] = "catalyst <= 1" }, "input_constraints[0]", "is a choice, not a number"},
	{"division by zero at a corner", func(d *Definition) { d.InputConstraints[0] = "1/(temperature - 20) <= 1" }, "input_constraints[0]", "no finite value at temperature = 20"},
	{"division by zero inside", func(d *Definition) { d.InputConstraints[0] = "1/(temperature - 40) <= 1" }, "input_constraints[0]", "no finite value at temperature = 40"},
	{"overflow", func(d *Definition) { d.InputConstraints[0] = "exp(temperature^2) >= 1" }, "input_constraints[0]", "no finite value"},
	{"root of a negative number", func(d *Definition) { d.InputConstraints[0] = "sqrt(temperature - 30) >= 1" }, "input_constraints[0]", "no finite value"},
	{"nothing allowed", func(d *Definition) { d.InputConstraints = []string{"temperature >= 61"} }, "input_constraints", "no settings were found"},
	{"too many input constraints", func(d *Definition) { d.InputConstraints = slices.Repeat([]string{"cycles >= 1"}, 51) }, "input_constraints", "at most 50"},
	{"nothing left", func(d *Definition) {
		d.Unavailable = map[string][]Value{"catalyst": {TextValue("A"), TextValue("B"), TextValue("=C")}}
	}, "unavailable", "nothing is left"},
	{"more is to be left than there is", func(d *Definition) { d.Stop = &Stop{Within: 1.2, Risk: 0.05} }, "stop.within", "must be a share above 0 and at most 1"},
	{"a risk that is none", func(d *Definition) { d.Stop = &Stop{Within: 0.01, Risk: -0.1} }, "stop.risk", "must be a chance between 0 and 1"},
	{"an unknown choice has run out", func(d *Definition) { d.Unavailable = map[string][]Value{"catalyst": {TextValue("D")}} }, "unavailable.catalyst[0]", "must be one of"},
	{"an unknown parameter has run out", func(d *Definition) { d.Unavailable = map[string][]Value{"ligand": {TextValue("D")}} }, "unavailable.ligand", "there is no parameter"},
	{"a value between steps has run out", func(d *Definition) { d.Unavailable = map[string][]Value{"time": {NumberValue(0.55)}} }, "unavailable.time[0]", "its steps are 0.1 from 0.5"},
	{"a value beyond the range has run out", func(d *Definition) { d.Unavailable = map[string][]Value{"time": {NumberValue(0.05)}} }, "unavailable.time[0]", "below the lowest"},
	{"a point of a range has run out", func(d *Definition) { d.Unavailable = map[string][]Value{"temperature": {NumberValue(30)}} }, "unavailable.temperature", "any value in its range"},

	{"empty candidates", func(d *Definition) { d.Candidates = []Settings{} }, "candidates", "give 1 to 10000"},
	{"too many candidates", func(d *Definition) { d.Candidates = make([]Settings, 10_001) }, "candidates", "give 1 to 10000"},

	{"no objective", func(d *Definition) { d.Objective.Metric = "" }, "objective.metric", "must not be empty"},
	{"objective named like a parameter", func(d *Definition) { d.Objective.Metric = "Salt" }, "objective.metric", "is taken by a parameter"},
	{"no direction", func(d *Definition) { d.Objective.Direction = "" }, "objective.direction", `"maximize" or "minimize"`},
	{"no operator", func(d *Definition) { d.Constraints[0].Op = "<" }, "constraints[0].op", `"<=" or ">="`},
	{"metric named like a parameter", func(d *Definition) { d.Constraints[0].Metric = "cycles" }, "constraints[0].metric", "is taken"},
	{"metrics that differ in case", func(d *Definition) { d.Constraints[0].Metric, d.Constraints[0].Name = "Yield", "limit" }, "constraints[0].metric", "is taken by the objective's metric"},
	{"two limits without names", func(d *Definition) { d.Constraints[1].Name, d.Constraints[2].Name = "", "" }, "constraints[2].name", "a name of its own"},
	{"two limits of one name", func(d *Definition) { d.Constraints[2].Name = "PH LOW" }, "constraints[2].name", "is taken by the name of constraints[1]"},
	{"a limit named like another metric", func(d *Definition) { d.Constraints[1].Name = "colour" }, "recorded_metrics[0].metric", "is taken by the name of constraints[1]"},
	{"a limit with a reserved name", func(d *Definition) { d.Constraints[1].Name = "default" }, "constraints[1].name", "cannot be a name"},
	{"limits that no value keeps", func(d *Definition) { d.Constraints[1].Threshold = 8.5 }, "constraints[2].threshold", "no pH is at least 8.5 and at most 8, as pH low and pH high require"},
	{"a metric in two units", func(d *Definition) { d.Constraints[1].Unit, d.Constraints[2].Unit = "mV", "V" }, "constraints[2].unit", "pH is in mV elsewhere"},
	{"a metric with two plausible ranges", func(d *Definition) {
		d.Constraints[1].Plausible, d.Constraints[2].Plausible = []float64{2, 12}, []float64{3, 12}
	}, "constraints[2].plausible", "pH has another plausible range elsewhere"},
	{"recorded metric twice", func(d *Definition) { d.RecordedMetrics = append(d.RecordedMetrics, RecordedMetric{Metric: "Colour"}) }, "recorded_metrics[1].metric", "is taken"},
	{"recorded and constrained", func(d *Definition) { d.RecordedMetrics[0].Metric = "pH" }, "recorded_metrics[0].metric", "is taken by the metric of constraints[1]"},
	{"too many metrics", func(d *Definition) {
		for i := range 17 {
			d.RecordedMetrics = append(d.RecordedMetrics, RecordedMetric{Metric: fmt.Sprint("m", i)})
		}
	}, "recorded_metrics", "21 metrics in all; at most 20"},
	{"too many metrics with limits", func(d *Definition) {
		d.RecordedMetrics = nil
		for i := range 18 {
			d.Constraints = append(d.Constraints, Constraint{Metric: fmt.Sprint("m", i), Op: "<="})
		}
	}, "constraints", "21 metrics in all; at most 20"},

	{"known objective", func(d *Definition) { d.Constraints[0].Metric, d.Constraints[0].Expression = "yield", "cycles" }, "constraints[0].metric", "the objective's metric must be measured"},
	{"context without expression", func(d *Definition) { d.Constraints[0].Context = []string{"omega"} }, "constraints[0].context", "goes with an expression"},
	{"sampled without candidates", func(d *Definition) { d.Constraints[0].Sampled = true }, "constraints[0].sampled", "give candidates"},
	{"half known", func(d *Definition) { d.Constraints[1].Expression = "cycles" }, "constraints[2].metric", "must come from the same place"},
	{"a number too large to compute with", func(d *Definition) { d.InputConstraints[0] = "temperature <= 1e101" }, "input_constraints[0]", "1e+101 is too large; numbers up to 1e100 in size are possible"},
	{"unknown name in an expression", func(d *Definition) { d.Constraints[0].Expression = "omega + cycle" }, "constraints[0].expression", `the name "omega" is unknown`},
	{"misspelt name in an expression", func(d *Definition) { d.Constraints[0].Expression = "cycle" }, "constraints[0].expression", `did you mean "cycles"?`},
	{"a comparison as expression", func(d *Definition) { d.Constraints[0].Expression = "cycles <= 3" }, "constraints[0].expression", "goes in op and threshold"},
	{"expression without value", func(d *Definition) { d.Constraints[0].Expression = "1/(cycles - 1)" }, "constraints[0].expression", "no finite value at temperature"},
	{"context that is no identifier", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "cycles", []string{"outside temperature"}
	}, "constraints[0].context[0]", "cannot be used in an expression"},
	{"context that is a parameter", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "cycles", []string{"cycles"}
	}, "constraints[0].context[0]", "is a parameter"},
	{"context that is the objective's metric", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "Yield - 1", []string{"Yield"}
	}, "constraints[0].context[0]", `the name "Yield" is taken by the objective's metric`},
	{"context that is its own limit's metric", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "impurity - 1", []string{"impurity"}
	}, "constraints[0].context[0]", `the name "impurity" is taken by the metric of constraints[0]`},
	{"context that is a recorded metric", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "omega - 1", []string{"omega"}
		d.RecordedMetrics = []RecordedMetric{{Metric: "omega"}}
	}, "constraints[0].context[0]", `the name "omega" is taken by a recorded metric`},
	{"context twice", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "cycles", []string{"w", "w"}
	}, "constraints[0].context[1]", "twice"},
	{"a long context name", func(d *Definition) {
		d.Constraints[0].Expression, d.Constraints[0].Context = "cycles", []string{strings.Repeat("w", 201)}
	}, "constraints[0].context[0]", "at most 200"},
	{"more context names than decisions have room for", func(d *Definition) {
		for i := range d.Constraints { // two of them have one metric, and so the same context
			d.Constraints[i].Expression = "cycles"
			for j := range 26 {
				d.Constraints[i].Context = append(d.Constraints[i].Context, fmt.Sprintf("%s_%d", d.Constraints[i].Metric, j))
			}
		}
	}, "constraints", "52 context names; at most 50"},

	{"unknown algorithm", func(d *Definition) { d.Algorithm.Name = "rpol-ucp" }, "algorithm.name", `did you mean "rpol-ucb"?`},
	{"unheard-of algorithm", func(d *Definition) { d.Algorithm.Name = "gradient descent" }, "algorithm.name", "there are log-cei"},
	{"unknown preset", func(d *Definition) { d.Algorithm.Preset = "fast" }, "algorithm.preset", `must be "paper" or left out`},
	{"negative horizon", func(d *Definition) { d.Algorithm.Horizon = -1 }, "algorithm.horizon", "from 1 to 1000000"},
	{"unknown setting", func(d *Definition) { d.Algorithm.Settings = map[string]json.RawMessage{"speed": rawJSON("1")} }, "algorithm.settings.speed", "no such setting"},
	{"setting of a wrong kind", func(d *Definition) { d.Algorithm.Settings = map[string]json.RawMessage{"caution": rawJSON(`"x"`)} }, "algorithm.settings.caution", "must be a number"},
	{"margin of an unknown constraint", func(d *Definition) {
		d.Algorithm.Settings = map[string]json.RawMessage{"margin": rawJSON(`{"pH": 0.1}`)}
	}, "algorithm.settings.margin.pH", "there is no constraint"},

	{"unknown fit", func(d *Definition) { d.Model.Fit = "map" }, "model.fit", `must be "marginal_likelihood" or "fixed"`},
	{"unknown outputs", func(d *Definition) { d.Model.Outputs = "scaled" }, "model.outputs", `must be "standardize" or "raw"`},
	{"unknown inputs", func(d *Definition) { d.Model.Inputs = "cube" }, "model.inputs", `must be "unit" or "raw"`},
}

func TestCheckNamesEveryFault(t *testing.T) { namesEach(t, bufferScreen, checkFaults) }

func TestCheckListsAllFaults(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Name = ""
	d.Parameters[0].Low = new(70.0)
	d.Constraints[0].Op = "="
	d.Algorithm.Horizon = -5
	d.Model.Fit = "maybe"
	_, err := d.Check()
	got := lists.Map(faultsOf(t, err), func(f Fault) string { return f.Field })
	want := []string{"name", "parameters[0].low", "constraints[0].op", "algorithm.horizon", "model.fit"}
	if !slices.Equal(got, want) {
		t.Errorf("faults at %v, want %v", got, want)
	}
	d = bufferScreen()
	d.InputConstraints = []string{"x <= 1", "y <= 1"}
	d.Model.Lambda = rawJSON("-1")
	d.Algorithm.Settings = map[string]json.RawMessage{"speed": nil}
	_, err = d.Check()
	if got := faultsOf(t, err); len(got) != 4 {
		t.Errorf("faults %v, want four", got)
	}
}

func TestCheckOfRemainders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name              string
		change            func(*Parameter)
		location, message string
	}{
		{"no total", func(p *Parameter) { p.Total = nil }, "parameters[2].total", "is missing"},
		{"nothing to share with", func(p *Parameter) { p.Of = nil }, "parameters[2].of", "name the parameters"},
		{"an unknown part", func(p *Parameter) { p.Of[1] = "c" }, "parameters[2].of[1]", "there is no parameter"},
		{"itself", func(p *Parameter) { p.Of[1] = "water" }, "parameters[2].of[1]", "part of itself"},
		{"a part twice", func(p *Parameter) { p.Of[1] = "a" }, "parameters[2].of[1]", "twice"},
		{"a step", func(p *Parameter) { p.Step = new(1.0) }, "parameters[2].step", "has no meaning"},
		{"never within bounds", func(p *Parameter) { p.Total = new(300.0) }, "parameters", "keep every remainder within"},
	} {
		d := mixture()
		d.Parameters[2].Of = slices.Clone(d.Parameters[2].Of)
		test.change(&d.Parameters[2])
		_, err := d.Check()
		if t.Run(test.name, func(t *testing.T) { wantFault(t, faultsOf(t, err), test.location, test.message) }); err == nil {
			t.Errorf("%s was accepted", test.name)
		}
	}
}

func TestCheckOfCandidates(t *testing.T) {
	namesEach(t, queue, []checkFault{
		{"a value out of range", func(d *Definition) { d.Candidates[2]["x"] = NumberValue(4) }, "candidates[2].x", "4 is above the highest, 3"},
		{"a missing value", func(d *Definition) { delete(d.Candidates[3], "mode") }, "candidates[3].mode", "is missing"},
		{"an unknown parameter", func(d *Definition) { d.Candidates[3]["y"] = NumberValue(1) }, "candidates[3].y", "there is no parameter"},
		{"all forbidden", func(d *Definition) { d.InputConstraints = []string{"x >= 10"} }, "input_constraints", "no candidate is within"},
		{"what no candidate has ran out", func(d *Definition) { d.Unavailable = map[string][]Value{"x": {NumberValue(0.5)}} }, "unavailable.x[0]", "no candidate has this x; they have 0, 1 or 3"},
		{"none available", func(d *Definition) {
			d.Unavailable = map[string][]Value{"mode": {TextValue("slow"), TextValue("fast")}}
		}, "unavailable", "nothing is left"},
		{"no value at a candidate", func(d *Definition) { d.Constraints[0].Expression = "omega/(x - 3)" }, "constraints[0].expression", `no finite value at x = 3, mode = fast`},
		{"expression and sampled", func(d *Definition) { d.Constraints[0].Sampled = true }, "constraints[0].sampled", "not both"},
	})
}

// A formula is not at fault for a context that nobody has brought yet, unless no context could
// help.
func TestCheckTriesContexts(t *testing.T) {
	t.Parallel()
	for expression, good := range map[string]bool{"x/omega": true, "sqrt(omega - 50)": true, "ln(omega)*x": true, "omega + 1/x": false, "omega*ln(-1 - x)": false} {
		d := queue()
		d.Constraints[0].Expression = expression
		if _, err := d.Check(); (err == nil) != good {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Candidates = slices.Repeat([]Settings{{}}, 5000)
	_, err := d.Check()
	if n := len(faultsOf(t, err)); n != MostFaults {
		t.Errorf("%d faults are listed", n)
	}
}

func TestNamesOfAnyScript(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Parameters[2].Name = "盐 (mmol·L⁻¹) 🧂, “half”; 'quoted'"
	d.Constraints[0].Metric = strings.Repeat("ж", 200)
	if _, err := d.Check(); err != nil {
		t.Error(err)
	}
}

func FuzzDefinition(plain *testing.F) {
	f := mutation.Of(plain)
	for _, d := range []Definition{bufferScreen(), mixture(), queue()} {
		text := must.Get(json.Marshal(d))(f)
		f.Add(string(text))
	}
	f.Add(`{"name":"n","parameters":[{"name":"x","type":"real","low":-1e30,"high":1e30}],"objective":{"metric":"y","direction":"minimize"},"model":{"inputs":"raw","lengthscales":{"x":1e28},"kernel":{"default":"se","y":{"name":"linear"}}}}`)
	f.Add(`{"name":"n","parameters":[{"name":"x","type":"integer","low":0,"high":3,"scale":"linear"}],"candidates":[{"x":0},{"x":1}],"objective":{"metric":"y","direction":"minimize"},"model":{"fit":"fixed","kernel":{"matrix":[[1,0],[0,1]]},"noise_variance":{"y":1e-3}},"unavailable":{"x":[1]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var d Definition
		if json.Unmarshal([]byte(text), &d) != nil {
			return
		}
		checked, err := d.Check()
		if err != nil {
			if _, err := json.Marshal(faultsOf(t, err)); err != nil {
				t.Fatalf("the faults cannot be told: %v", err)
			}
			return
		}
		if _, err := Compile(checked); err != nil {
			t.Fatalf("a checked definition does not compile: %v", err)
		}
		stored := must.Get(json.Marshal(checked))(t)
		var back Definition
		must.Do(t, json.Unmarshal(stored, &back))
		again, err := back.Check()
		if err != nil {
			t.Fatalf("a stored definition is refused: %v", err)
		}
		if text, _ := json.Marshal(again); string(text) != string(stored) {
			t.Fatalf("stored %s\nchecked again %s", stored, text)
		}
	})
}
