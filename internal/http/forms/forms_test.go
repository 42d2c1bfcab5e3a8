package forms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/request"
	"headroom/internal/memory/memorytest"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
)

func TestSheetTellsChoicesAndRanges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"temp (°C)\tligand\tn\n20,5\tA\t1\n60\tB\t3\n\n",
		"temp (°C);ligand;n\r\n20,5;A;1\r\n60;B;3\r\n",
		"temp (°C),ligand,n\n20.5,A,1\n60,B,3",
	} {
		s, err := readSheet(text, nil, design.Marks{Decimal: '.'}, "")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.names[0] != "temp" || s.units[0] != "°C" {
			t.Errorf("%q: the first column is %q in %q", text, s.names[0], s.units[0])
		}
		want := []design.Settings{
			{"temp": design.NumberValue(20.5), "ligand": design.TextValue("A"), "n": design.NumberValue(1)},
			{"temp": design.NumberValue(60), "ligand": design.TextValue("B"), "n": design.NumberValue(3)},
		}
		if diff := cmp.Diff(want, s.candidates()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if kind, _, low, high := s.column(0); kind != design.Real || low != 20.5 || high != 60 {
			t.Errorf("%q: the first column is %s from %v to %v", text, kind, low, high)
		}
		if kind, choices, _, _ := s.column(1); kind != design.Categorical || len(choices) != 2 {
			t.Errorf("%q: the second column is %s %v", text, kind, choices)
		}
		if kind, _, _, _ := s.column(2); kind != design.Integer {
			t.Errorf("%q: the third column is %s", text, kind)
		}
	}
	for text, want := range map[string]string{
		"":                           "must name the parameters",
		"a,b\n":                      "at least one combination",
		"a,\n1,2":                    "has no name",
		"a,b\n1":                     "has 1 cell",
		"a,b\n1,\n":                  "nothing under b",
		"a\tb\tc\n1\t\t2\n":          "nothing under b",
		"a\tb\n1\t\t2\n":             "has 3 cells",
		"\na,b\n\n1,2\n,\n3,\n":      "row 6 has nothing under b",
		"a\tb\n\n1\t2\n\n1.125\t2\n": "row 5, a: “1.125” can be read",
		"t (°C)\tb\tT (K)\n1\t2\t3":  "two columns are called T",
	} {
		if _, err := readSheet(text, nil, design.Marks{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readSheet(%q) says %v, want %q", text, err, want)
		}
	}
	if _, err := readSheet("a\tb\n1.234.567\t2\n", nil, design.Marks{}, design.DecimalPoint); err == nil || !strings.HasPrefix(err.Error(), "row 2, a: “1.234.567” has a point between thousands") {
		t.Errorf("a mark that was said to be decimal gets %v", err)
	}
}

// TestATableIsOfTheParametersThatTheFormHas: a column is the parameter's whose whole title it has, and
// numbers are names where that is a choice; what a table says of its range is asked nobody again.
func TestATableIsOfTheParametersThatTheFormHas(t *testing.T) {
	t.Parallel()
	want := design.Definition{Name: "x", Objective: design.Objective{Metric: "y", Direction: "maximize"}, Parameters: []design.Parameter{
		{Name: "T (°C)", Type: design.Real, Low: new(0.0), High: new(9.0)}, {Name: "ligand", Type: design.Categorical, Choices: []string{"1", "2,6"}}},
		Candidates: []design.Settings{{"T (°C)": design.NumberValue(1.125), "ligand": design.TextValue("1")}, {"T (°C)": design.NumberValue(3.5), "ligand": design.TextValue("2,6")}}}
	form := newTyped(Showing(want), design.PointDecimal)
	got, _ := form.NewStudy()
	if diff := cmp.Diff(want.Parameters, got.Parameters) + cmp.Diff(want.Candidates, got.Candidates); diff != "" || !form.OK() {
		t.Errorf("%v %s", form.faults, diff)
	}
	for decimal, table := range map[rune]string{',': "\nT\tn\n1,125\t1\n2,5\t2", '.': "\r\nT\tn\r\n1.125\t1\r\n2.5\t2"} {
		form := newTyped(url.Values{"candidates": {table}}, design.Marks{Decimal: decimal})
		got, _ := form.NewStudy()
		if diff := cmp.Diff([]design.Parameter{{Name: "T", Type: design.Real, Low: new(1.125), High: new(2.5)}, {Name: "n", Type: design.Integer, Low: new(1.0), High: new(2.0)}}, got.Parameters); diff != "" || !form.OK() {
			t.Errorf("with decimals by %q: %v %s", decimal, form.faults, diff)
		}
	}
	form = newTyped(url.Values{"candidates": {"T\n1,5\n2,5"}}, design.CommaDecimal)
	if got, _ := form.NewStudy(); len(got.Candidates) != 2 || got.Candidates[1]["T"] != design.NumberValue(2.5) {
		t.Errorf("a column alone is read as %v, %v", got.Candidates, form.faults)
	}
	change := ShowingChanges(want, "")
	change.Set("algorithm.name", "stageopt")
	change.Set("settings.safe_seeds", "t (°c)\tligand\n1\t2,6")
	form = newTyped(change, design.PointDecimal)
	asked, _ := form.Changes(want)
	if seeds := string(asked.Algorithm.Settings["safe_seeds"]); seeds != `[{"T (°C)":1,"ligand":"2,6"}]` {
		t.Errorf("safe settings are read as %s, %v", seeds, form.faults)
	}
}

// TestFaultsFindTheirFields: a fault stands beside the field of the longest part of its path; what is
// about no field stands above the form.
func TestFaultsFindTheirFields(t *testing.T) {
	t.Parallel()
	values := Showing(rich())
	values.Set("algorithm.name", "ckb-ucb")
	_, fields := newTyped(values, design.PointDecimal).NewStudy()
	for location, want := range map[string]string{
		"name":                               "name",
		"parameters[1].high":                 "parameters.1.high",
		"parameters[1]":                      "parameters.1.name",
		"parameters[2].choices[1]":           "parameters.2.choices",
		"parameters[11]":                     "",
		"parameters":                         "",
		"constraints[0]":                     "constraints.0.metric",
		"constraints[0].plausible":           "constraints.0.plausible.0",
		"constraints[0].context[1]":          "constraints.0.context",
		"objective":                          "objective.metric",
		"algorithm.settings":                 "algorithm.name",
		"algorithm.settings.beta":            "settings.beta.schedule",
		"algorithm.settings.beta.value":      "settings.beta.value",
		"algorithm.settings.slater":          "settings.slater",
		"model.kernel.matrix[3]":             "model.kernel",
		"model.start.lambda":                 "model.start",
		"candidates[17].temperature":         "candidates",
		"nothing":                            "",
		"algorithm.settings.nothing.of.this": "algorithm.name",
	} {
		if got := fields.NameOf(location); got != want {
			t.Errorf("a fault at %s is shown at %q, want %q", location, got, want)
		}
	}
	_, fields = newTyped(ShowingChanges(rich(), ""), design.PointDecimal).Changes(rich())
	for location, want := range map[string]string{"parameters[0].low": "parameters.0.low", "parameters[0].step": "", "candidates[3].a": "", "name": ""} {
		if got := fields.NameOf(location); got != want {
			t.Errorf("of a change, a fault at %s is shown at %q, want %q", location, got, want)
		}
	}
}

// TestLinesComeAndGo: a line keeps its number while others come and go.
func TestLinesComeAndGo(t *testing.T) {
	t.Parallel()
	form := newTyped(url.Values{"name": {"x"}}, design.PointDecimal)
	press := func(do string) bool {
		form.Values.Set("do", do)
		return form.Rearrange()
	}
	focus := func(after, want string) {
		if got := form.Shown().First; got != want {
			t.Errorf("after %s the focus is on %q, want %q", after, got, want)
		}
	}
	lines := func(list string) []int { return rowsOf(form.Values, list).numbers() }
	setRows(form.Values, parameters, rows{0: {"name": "a", "type": "real"}, 1: {"type": "real"}, 2: {"name": "c", "type": "real"}})
	for range 2 { // pressed twice
		if !press("remove-parameters.0") || !slices.Equal(lines(parameters), []int{1, 2}) || form.Values.Get("parameters.2.name") != "c" {
			t.Errorf("removing the first line left %v", form.Values)
		}
		focus("removing the first line", "parameters.1.name")
	}
	if !press("add-parameters") || !slices.Equal(lines(parameters), []int{1, 2, 3}) {
		t.Errorf("adding a parameter left %v", form.Values)
	}
	focus("adding a parameter", "parameters.3.name")
	if !press("add-constraints") || form.Values.Get("constraints.0.op") != "<=" {
		t.Errorf("adding a limit left %v", form.Values)
	}
	focus("adding a limit", "constraints.0.metric")
	press("add-recorded_metrics")
	focus("adding a recorded metric", "recorded_metrics.0.metric")
	press("remove-recorded_metrics.0")
	focus("removing the only one", "add-recorded_metrics")
	form.Values.Set("objective.metric", "y")
	d, fields := form.NewStudy()
	if len(d.Parameters) != 1 || d.Parameters[0].Name != "c" || len(d.Constraints) != 0 {
		t.Errorf("with blank lines it reads %v and %v", d.Parameters, d.Constraints)
	}
	if got := fields.NameOf("parameters[0].low"); got != "parameters.2.low" {
		t.Errorf("a fault of the only parameter is shown at %q", got)
	}
	if !slices.Equal(lines(parameters), []int{1, 2, 3}) {
		t.Errorf("blank lines went: %v", form.Values)
	}
	for _, do := range []string{"", "save", "remove-nothing.0", "remove-parameters.", "add-nothing", "log-parameters.7"} {
		if press(do) {
			t.Errorf("%q rearranged lines", do)
		}
	}
	form.Values.Set("parameters."+strconv.Itoa(math.MaxInt)+".name", "no page drew this line")
	if !press("add-parameters") || !slices.Equal(lines(parameters), []int{1, 2, 3, 4}) {
		t.Errorf("beside a number from outside, adding a parameter left %v", form.Values)
	}
}

// TestWhatATableWouldHaveNamed: parameters that a table names are not said to be missing where the
// table cannot be read, and those that nobody names once.
func TestWhatATableWouldHaveNamed(t *testing.T) {
	t.Parallel()
	for table, at := range map[string]string{"": "parameters.0.name", "temperature\ttime\n30\n": "candidates"} {
		form := newTyped(url.Values{"name": {"x"}, "objective.metric": {"y"}, "candidates": {table}}, design.PointDecimal)
		_, fields := form.NewStudy()
		form.Place(design.Faults{{Field: "parameters", Message: "give at least one parameter"}}, fields)
		if shown := form.Shown(); len(shown.Errors) != 1 || shown.First != at || shown.General != "" {
			t.Errorf("%q: %v %s", table, shown.Errors, shown.General)
		}
		if form.Place(design.Faults{{Field: "name", Message: "must not be empty"}}, fields); form.Shown().First != "name" {
			t.Errorf("%q: the cursor is not put into the first field that is wrong", table)
		}
	}
}

// TestDefaultsAreInWords: a form says of a setting what it is when nothing is typed as people
// would, an object by its kind and what belongs to it.
func TestDefaultsAreInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`2.5`: "2.5", `{"kind": "constant", "value": 2}`: "constant, value 2"} {
		if got := plainSetting([]byte(text)); got != want {
			t.Errorf("%s is said as %q, want %q", text, got, want)
		}
	}
	for kind, want := range map[policy.SettingType]string{policy.Number: "number", policy.Boolean: "select", policy.Text: "select", policy.Points: "area"} {
		if got := settingFields(policy.Setting{Name: "a", Type: kind}, nil)[0].Kind; got != want {
			t.Errorf("a setting of type %s is typed into a field of kind %q, want %q", kind, got, want)
		}
	}
}

// TestTheLargestFormIsReadInLittleMore: whatever a form of the largest size holds, reading it takes
// little more than its bytes; so do the sheets in it.
func TestTheLargestFormIsReadInLittleMore(t *testing.T) {
	upTo := func(before, text string) string {
		return before + strings.Repeat(text, (request.MaxBody-len(before))/len(text))
	}
	var names, parts bytes.Buffer
	for i := 0; names.Len() < request.MaxBody-20; i++ {
		fmt.Fprintf(&names, "%x=1&", i)
	}
	form := multipart.NewWriter(&parts)
	for i := 0; parts.Len() < request.MaxBody-200; i++ {
		form.WriteField(fmt.Sprintf("%x", i), "1")
	}
	form.Close()
	check := func(shape string, size int, read func() error) {
		var err error
		allocated := memorytest.Allocated(func() { err = read() })
		t.Logf("%s: %.1f times its size, %.200v", shape, float64(allocated)/float64(size), err)
		if allocated > 20*size {
			t.Errorf("%s: %d bytes took %d", shape, size, allocated)
		}
	}
	for shape, sent := range map[string]struct{ kind, text string }{
		"many names":   {"application/x-www-form-urlencoded", names.String()},
		"one name":     {"application/x-www-form-urlencoded", upTo("", "a=1&")},
		"a long value": {"application/x-www-form-urlencoded", upTo("text=", "1")},
		"escapes":      {"application/x-www-form-urlencoded", upTo("text=", "%00")},
		"many parts":   {form.FormDataContentType(), parts.String()},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(sent.text))
		r.Header.Set("Content-Type", sent.kind)
		check(shape, len(sent.text), func() error { _, err := Read(r); return err })
	}
	for shape, text := range map[string]string{
		"a sheet of commas":               upTo("", "a,"),
		"a sheet of semicolons":           upTo("", "a;"),
		"a sheet of quotes":               upTo("", `"a"b",`),
		"a sheet whose record goes on":    upTo("", "a,\"\n\","),
		"a sheet of rows":                 upTo("a\n", "1\n"),
		"a sheet of empty rows":           upTo("a,b\n", ",\n"),
		"a sheet with a row that is long": upTo("a,b\n", "1,"),
	} {
		check(shape, len(text), func() error {
			s, err := readSheet(text, nil, design.Marks{}, "")
			if err == nil {
				s.candidates()
			}
			return err
		})
	}
}

// rich is a definition with something in every field that a form has.
func rich() design.Definition {
	at := func(x float64) *float64 { return &x }
	return design.Definition{
		Name: "Rich", Description: "two\nlines",
		Parameters: []design.Parameter{
			{Name: "a", Type: design.Real, Low: at(0.5), High: at(60), Unit: "°C", Scale: "log", Step: at(0.5)},
			{Name: "b", Type: design.Integer, Low: at(1), High: at(9), Scale: "linear"},
			{Name: "c", Type: design.Categorical, Choices: []string{"x", "y", "z"}, Unit: "mM"},
			{Name: "d", Type: design.Real, Low: at(0), High: at(1)},
			{Name: "e", Type: design.Remainder, Total: at(1), Of: []string{"d"}, Low: at(0), High: at(1), Unit: "%"},
		},
		Objective:        design.Objective{Metric: "yield", Direction: "maximize", Unit: "%", Plausible: []float64{0, 100}},
		Constraints:      []design.Constraint{{Metric: "load", Name: "at most", Op: "<=", Threshold: 1.25, Unit: "kg", Expression: "a*w", Context: []string{"w", "v"}, Plausible: []float64{-1, 3}}, {Metric: "s", Op: ">=", Sampled: true}},
		RecordedMetrics:  []design.RecordedMetric{{Metric: "colour", Unit: "nm", Plausible: []float64{400, 700}}},
		Stop:             &design.Stop{Within: 0.007, Risk: 0.1},
		SimulatedLab:     "reaction",
		Algorithm:        design.Algorithm{Name: "rpol-sw-ucb", Preset: "paper", Horizon: 120, Settings: map[string]json.RawMessage{"window": json.RawMessage("30")}},
		Model:            design.Model{Kernel: json.RawMessage(`"se"`), Inputs: "unit", Outputs: "raw", Fit: "fixed", Lengthscales: json.RawMessage("[0.5,2]"), Warp: design.WarpNone, Start: &design.Start{Lengthscale: 0.25, Variance: 2, Lambda: 1e-3}, Variance: json.RawMessage("2.5"), NoiseVariance: json.RawMessage("0.25"), Lambda: json.RawMessage("1")},
		InputConstraints: []string{"a + b <= 60", "b <= 8"},
		Unavailable:      map[string][]design.Value{"a": {design.NumberValue(1), design.NumberValue(2.5)}, "b": {design.NumberValue(7)}, "c": {design.TextValue("z")}},
	}
}

// copied is what the form of a new study that is like d reads of what it has fields for.
func copied(t *testing.T, d design.Definition) design.Definition {
	t.Helper()
	shown, sent := Showing(d), url.Values{}
	_, fields := newTyped(maps.Clone(shown), design.PointDecimal).NewStudy()
	for _, f := range fields {
		sent.Set(f.Name, shown.Get(f.Name))
	}
	form := newTyped(sent, design.PointDecimal)
	got, _ := form.NewStudy()
	if !form.OK() {
		t.Errorf("%v", form.faults)
	}
	got.Seed = d.Seed
	return got
}

// What a form shows of a study is what it reads again.
func TestAFormReadsWhatItShows(t *testing.T) {
	t.Parallel()
	want := rich()
	if diff := cmp.Diff(want, copied(t, want)); diff != "" {
		t.Error(diff)
	}
	for _, kernel := range []string{`"mixed"`, `{"default":"se","s":"linear"}`} {
		want.Model.Kernel = json.RawMessage(kernel)
		if got := copied(t, want); string(got.Model.Kernel) != kernel {
			t.Errorf("the kernel %s is read as %s", kernel, got.Model.Kernel)
		}
	}
	for _, name := range []string{"a", "flow, main", `"c"`} {
		listed := rich()
		listed.Unavailable = nil
		listed.Parameters = []design.Parameter{{Name: name, Type: design.Categorical, Choices: []string{`"A"`, `5", coarse`, "1,5", "B"}}, {Name: "d; e", Type: design.Categorical, Choices: []string{`x"`, "y"}}}
		for _, choice := range listed.Parameters[0].Choices {
			listed.Candidates = append(listed.Candidates, design.Settings{name: design.TextValue(choice), "d; e": design.TextValue(`x"`)})
		}
		if diff := cmp.Diff(listed, copied(t, listed)); diff != "" {
			t.Errorf("two columns: %s", diff)
		}
		for _, candidate := range listed.Candidates {
			delete(candidate, "d; e")
		}
		if listed.Parameters = listed.Parameters[:1]; cmp.Diff(listed, copied(t, listed)) != "" {
			t.Errorf("one column: %s", cmp.Diff(listed, copied(t, listed)))
		}
	}
	want.InputConstraints = []string{" a +\n  b <= 60"}
	if got := copied(t, want).InputConstraints; !slices.Equal(got, []string{"a + b <= 60"}) {
		t.Errorf("a rule of two lines is read as %q", got)
	}
	for was, is := range map[string]string{design.WarpNone: design.WarpNone, "yeo_johnson": "", "": ""} { // follows from fit and outputs, unless declined
		if want.Model.Warp = was; copied(t, want).Model.Warp != is {
			t.Errorf("the warp %q is read as %q", was, copied(t, want).Model.Warp)
		}
	}
	want.Algorithm.Settings["beta"] = json.RawMessage("2.5")
	if got := copied(t, want).Algorithm.Settings; string(got["beta"]) != `{"schedule":"constant","value":2.5}` {
		t.Errorf("a width of 2.5 is read as %s", got["beta"])
	}
}

// A form of changes changes what it has fields for; the rest stays as the study has it, whatever is
// sent.
func TestAFormOfChangesKeepsWhatIsFixed(t *testing.T) {
	t.Parallel()
	study := rich()
	other := ShowingChanges(study, "")
	for _, name := range []string{"name", "parameters.0.name", "parameters.2.choices", "objective.metric", "constraints.0.metric", "constraints.0.expression", "constraints.0.name", "recorded_metrics.0.unit", "simulated_lab"} {
		other.Set(name, "something else")
	}
	for name, text := range map[string]string{"parameters.0.type": "integer", "parameters.0.step": "7", "parameters.0.high": "70", "constraints.0.threshold": "2", "model.fit": "marginal_likelihood", "stop.within": "", "reason": "x"} {
		other.Set(name, text)
	}
	form := newTyped(other, design.PointDecimal)
	change, _ := form.Changes(study)
	if !form.OK() {
		t.Fatalf("%v", form.faults)
	}
	want := rich()
	seventy := 70.0
	want.Parameters[0].High, want.Constraints[0].Threshold, want.Model.Fit, want.Stop.Within = &seventy, 2, "marginal_likelihood", design.DefaultStop().Within
	got := study
	got.Parameters, got.Constraints, got.RecordedMetrics, got.Objective = change.Parameters, change.Constraints, change.RecordedMetrics, *change.Objective
	got.Algorithm, got.Model, got.InputConstraints, got.Stop = *change.Algorithm, *change.Model, *change.InputConstraints, change.Stop
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(rich(), study); diff != "" {
		t.Errorf("the study itself was changed: %s", diff)
	}
}

// TestAFormOfChangesSavedAsItWasOpened changes nothing, whatever a program said that its fields cannot
// show: spaces around a unit, a share of more digits than a per cent is shown with, a rule of two lines.
func TestAFormOfChangesSavedAsItWasOpened(t *testing.T) {
	t.Parallel()
	there := rich()
	there.Parameters[0].Unit, there.Objective.Unit, there.Constraints[0].Unit = " °C", "% ", " kg "
	there.Stop = &design.Stop{Within: 0.41085148764729884, Risk: 1.0 / 3}
	there.Unavailable = map[string][]design.Value{"c": {}}
	there.InputConstraints = []string{"  b <= 8", "a +\n b <= 60"}
	there.Model.Lengthscales, there.Model.Variance = json.RawMessage("[0.5]"), json.RawMessage(`{"default": 2.50}`)
	sent := ShowingChanges(there, "")
	for name, text := range sent {
		sent.Set(name, strings.ReplaceAll(text[0], "\n", "\r\n"))
	}
	form := newTyped(sent, design.PointDecimal)
	change, _ := form.Changes(there)
	got := there
	got.Parameters, got.Constraints, got.RecordedMetrics, got.Objective = change.Parameters, change.Constraints, change.RecordedMetrics, *change.Objective
	got.Algorithm, got.Model, got.InputConstraints, got.Stop, got.Unavailable = *change.Algorithm, *change.Model, *change.InputConstraints, change.Stop, change.Unavailable
	if diff := cmp.Diff(there, got); diff != "" {
		t.Errorf("%s, %v", diff, form.faults)
	}
}

// TestNumbersByCommas: a comma is a decimal one for whoever writes it so, and else stands between
// two numbers.
func TestNumbersByCommas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		marks design.Marks
		want  string
	}{
		{"0,5", design.CommaDecimal, "0.5"},
		{"0,5", design.PointDecimal, "[0,5]"},
		{"0.5,2", design.PointDecimal, "[0.5,2]"},
		{"0.5,2", design.CommaDecimal, "[0.5,2]"},
		{"0,5; 2", design.CommaDecimal, "[0.5,2]"},
		{"0,5, 2", design.CommaDecimal, "[0.5,2]"},
		{"1,2,3", design.CommaDecimal, "[1,2,3]"},
	} {
		form := newTyped(url.Values{"model.lengthscales": {c.typed}}, c.marks)
		if got := form.numbersJSON("model.lengthscales"); string(got) != c.want {
			t.Errorf("%q is read as %s, want %s", c.typed, got, c.want)
		}
	}
}

// TestListsOfNames are read as chemists write them, and shown so that they are read as the same.
func TestListsOfNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"A, B,C;D\nE\r\n":            {"A", "B", "C", "D", "E"},
		"1,4-dioxane, 2-MeTHF,EtOH":  {"1,4-dioxane", "2-MeTHF", "EtOH"},
		"EtOH,1,4-dioxane; 1,2-DCE":  {"EtOH", "1,4-dioxane", "1,2-DCE"},
		`"1,4-dioxane", "a, b" ,THF`: {"1,4-dioxane", "a, b", "THF"},
		"1,2,3":                      {"1", "2", "3"},
		"A, B2,":                     {"A", "B2"},
		"5\" column, 10\" column":    {`5" column`, `10" column`},
		` "open, B`:                  {`"open`, "B"},
		`"5"", coarse", """A"""; B`:  {`5", coarse`, `"A"`, "B"},
		`"A" or B, ""C"", "`:         {`"A" or B`, `""C""`, `"`},
		"":                           nil,
		"Ωmega, 2,6-Di-tert-butyl-4-methylphenol, ": {"Ωmega", "2,6-Di-tert-butyl-4-methylphenol"},
	} {
		got := separated(text)
		if !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
		if again := separated(joined(got)); !slices.Equal(again, got) {
			t.Errorf("%q is shown as %q, which is read as %q", got, joined(got), again)
		}
	}
}

// TestTheUnitBesideTheFieldMayBeTyped after the number, and is no part of it; another one is none.
func TestTheUnitBesideTheFieldMayBeTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ unit, text, left string }{
		{"%", "71,2 %", "71,2"},
		{"%", "71.2%", "71.2"},
		{"mg/L", "0.31 ± 0.02 mg/L", "0.31 ± 0.02"},
		{"%", "0,31 mg/L", "0,31 mg/L"},
		{"g/L", "0,31 mg/L", "0,31 mg/L"},
		{"", "71", "71"},
		{"%", "%", "%"},
		{"10", "710", "710"},
		{"10", "7 10", "7"},
		{"°C", " 25 °C ", "25"},
		{"%", "７１．２％", "71.2"},
	} {
		typed := newTyped(url.Values{"x": {c.text}}, design.PointDecimal)
		if typed.cutUnit(c.unit, "x"); typed.Text("x") != c.left {
			t.Errorf("of %q with the unit %q %q is left, want %q", c.text, c.unit, typed.Text("x"), c.left)
		}
	}
}
