package design

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer"
)

// drawDefinition draws a study with some parameters of every type.
func drawDefinition(t *rapid.T) Definition {
	d := Definition{Name: "drawn", Objective: Objective{Metric: "objective metric", Direction: "maximize"}}
	n := rapid.IntRange(1, 6).Draw(t, "parameters")
	for i := range n {
		p := Parameter{Name: "p" + string(rune('a'+i))}
		low := float64(rapid.IntRange(-1000, 1000).Draw(t, "low")) / 10
		width := float64(rapid.IntRange(1, 5000).Draw(t, "width")) / 10
		p.Type = rapid.SampledFrom([]ParameterType{Real, Integer, Categorical}).Draw(t, "type")
		switch p.Type {
		case Real:
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 3: // as large, as small, as close together and in as fine steps as may be
				size := rapid.SampledFrom([]float64{1e98, 1e9, 1, 1e-9, 1e-150, 1e-280}).Draw(t, "size")
				low, width = low*size/100, width*size/rapid.SampledFrom([]float64{500, 1e4}).Draw(t, "closeness")
				if low > 0 && rapid.Bool().Draw(t, "log") {
					p.Scale = "log"
				}
				if rapid.Bool().Draw(t, "stepped") {
					p.Step = new(width / rapid.SampledFrom([]float64{7, 1e5, 999_999_937, 1e9}).Draw(t, "steps"))
				}
			case 1:
				p.Step = new(float64(rapid.IntRange(1, int(width*10)).Draw(t, "step")) / 10)
			case 2:
				p.Scale = "log"
				low = math.Abs(low) + 0.001
			}
			p.Low, p.High = new(low), new(low+width)
		case Integer:
			p.Low, p.High = new(math.Round(low)), new(math.Round(low)+math.Ceil(width))
		case Categorical:
			p.Choices = []string{"A", "B", "C", "D", "E"}[:rapid.IntRange(1, 5).Draw(t, "choices")]
		}
		d.Parameters = append(d.Parameters, p)
	}
	if rapid.Bool().Draw(t, "raw inputs") {
		d.Model.Inputs = "raw"
	}
	return d
}

func drawUnits(t *rapid.T, n int) []float64 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.5, 1})), n, n).Draw(t, "u")
}

// TestSpreadCanBeSet: what charts look at along a parameter is what a trial could have there, and
// nothing twice.
func TestSpreadCanBeSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := mustCompile(t, drawDefinition(t))
		settings, most := c.Settings(c.Probes()[0]), rapid.IntRange(2, 61).Draw(t, "most")
		for _, p := range c.Def.Parameters {
			values := p.Spread(most)
			if p.Type != Categorical && len(values) > most || len(values) == 0 {
				t.Fatalf("%d values of %+v, not %d", len(values), p, most)
			}
			for i, v := range values {
				settings[p.Name] = v
				if kept, _, faults := c.Place(settings, ""); len(faults) > 0 || kept[p.Name] != v || i > 0 && p.Type != Categorical && v.Number <= values[i-1].Number {
					t.Fatalf("%v of %+v is kept as %v: %v", values, p, kept[p.Name], faults)
				}
			}
		}
	})
}

// TestSpreadGoesFromEndToEnd in as many values as there are, or as are asked for.
func TestSpreadGoesFromEndToEnd(t *testing.T) {
	t.Parallel()
	number := func(kind ParameterType, low, high, step float64) Parameter {
		p := Parameter{Name: "x", Type: kind, Low: &low, High: &high}
		if step > 0 {
			p.Step = &step
		}
		return p
	}
	ratios := number(Integer, 1, 1000, 0)
	ratios.Scale = "log"
	for name, c := range map[string]struct {
		p     Parameter
		count int
		last  float64
	}{
		"all steps":            {number(Real, 1, 3, 0.1), 21, 3},
		"a step that overlaps": {number(Real, 0, 10, 3), 4, 9},
		"many steps":           {number(Real, 0, 1, 0.001), 31, 1},
		"integers":             {number(Integer, 2, 7, 0), 6, 7},
		"integers by ratios":   {ratios, 28, 1000},
		"reals":                {number(Real, 20, 90, 0), 31, 90},
	} {
		if values := c.p.Spread(31); len(values) != c.count || values[0].Number != *c.p.Low || values[c.count-1].Number != c.last {
			t.Errorf("%s: %d values, %v", name, len(values), values)
		}
	}
}

// TestMayChoose asks everything that stands against a choice.
func TestMayChoose(t *testing.T) {
	t.Parallel()
	d := Definition{Name: "Ligands", Objective: Objective{Metric: "yield", Direction: "maximize"}, Parameters: []Parameter{
		{Name: "x", Type: Real, Low: new(0.0), High: new(1.0)}, {Name: "ligand", Type: Categorical, Choices: []string{"A", "B"}}}}
	d.InputConstraints, d.Unavailable = []string{"x <= 0.8"}, map[string][]Value{"ligand": {TextValue("B")}}
	listed := d
	listed.InputConstraints = nil
	at := func(x float64, ligand string) Settings {
		return Settings{"x": NumberValue(x), "ligand": TextValue(ligand)}
	}
	listed.Candidates = []Settings{at(0.5, "A"), at(0.5, "B")}
	for name, study := range map[string]*Compiled{"anywhere": mustCompile(t, d), "of a list": mustCompile(t, listed)} {
		for _, c := range []struct {
			x      float64
			ligand string
			may    bool
		}{{0.5, "A", true}, {0.7, "A", name == "anywhere"}, {0.9, "A", false}, {1.5, "A", false}, {0.5, "B", false}} {
			if got := study.MayChoose(at(c.x, c.ligand)); got != c.may {
				t.Errorf("%s, %g with %s may be chosen: %v", name, c.x, c.ligand, got)
			}
		}
	}
}

// What a search settles on can be written down, and means the same place when it is read again.
func TestSettingsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := mustCompile(t, drawDefinition(t))
		u := drawUnits(t, len(c.space.axes))
		if !c.Config.Space.Settle(u) {
			t.Fatalf("%v is not allowed in a space without limits", u)
		}
		again := slices.Clone(u)
		if !c.Config.Space.Settle(again) || !allNear(u, again, 1e-12) {
			t.Fatalf("%v settles further, to %v", u, again)
		}
		settings := c.Settings(optimizer.Place{U: u, Arm: -1})
		kept, place, wrong := c.Place(settings, "parameters")
		if len(wrong) > 0 {
			t.Fatalf("settled settings %v are refused: %v", settings, wrong)
		}
		if !kept.Equal(settings) || !allNear(place.U, u, 1e-9) {
			t.Fatalf("%v at %v became %v at %v", settings, u, kept, place.U)
		}
		if back := c.Settings(place); !back.Equal(settings) {
			t.Fatalf("%v came back as %v", settings, back)
		}
	})
}

// TestLargeSettingsAreClean: where a unit is finer than floating point is, decimals are counted
// before the point.
func TestLargeSettingsAreClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := mustCompile(t, Definition{Name: "large", Objective: Objective{Metric: "yield", Direction: "maximize"},
			Parameters: []Parameter{{Name: "a", Type: Real, Low: new(1e95), High: new(8.79e95)}}})
		u := rapid.Float64Range(0, 1).Draw(t, "u")
		settings := c.Settings(optimizer.Place{U: []float64{u}, Arm: -1})
		_, place, _ := c.Place(settings, "parameters")
		if digits, _ := decimal(settings["a"].Number); len(digits) > 16 || !c.Settings(place).Equal(settings) {
			t.Fatalf("%v came back as %v", settings, c.Settings(place))
		}
	})
}

func allNear(a, b []float64, tolerance float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= tolerance })
}

// A suggestion on the edge of a mixture is still allowed once it is written in decimals.
func TestMixtureRoundTrip(t *testing.T) {
	t.Parallel()
	d := mixture()
	d.InputConstraints = []string{"a + b <= 70", "a >= 0.3*b"}
	c := mustCompile(t, d)
	allowed := rapid.Custom(func(t *rapid.T) []float64 {
		u := drawUnits(t, 3)
		if rapid.Bool().Draw(t, "on the edge") {
			u[1] = 70.0/80 - u[0]
		}
		return u
	}).Filter(c.Config.Space.Settle)
	rapid.Check(t, func(t *rapid.T) {
		u := allowed.Draw(t, "allowed")
		s := c.Settings(optimizer.Place{U: u, Arm: -1})
		if sum := s["a"].Number + s["b"].Number + s["water"].Number; math.Abs(sum-100) > 1e-9 {
			t.Fatalf("%v adds up to %v", s, sum)
		}
		kept, _, wrong := c.Place(s, "parameters")
		if len(wrong) > 0 || !kept.Equal(s) {
			t.Fatalf("%v became %v, %v", s, kept, wrong)
		}
	})
}

// 0.1 + 69.9 and the like are not exactly 70 in floating point; on paper they are.
func TestEdgesForgiveRounding(t *testing.T) {
	t.Parallel()
	d := mixture()
	d.InputConstraints = []string{"a + b <= 70", "a - 70 + b <= 0"}
	d.Parameters[2].Low = new(30.0)
	c := mustCompile(t, d)
	dust := 0
	for k := range 701 {
		a, b := float64(k)/10, float64(700-k)/10
		if a+b > 70 || a-70+b > 0 || 100-a-b < 30 {
			dust++
		}
		if _, _, wrong := c.Place(Settings{"a": NumberValue(a), "b": NumberValue(b)}, "at"); len(wrong) > 0 {
			t.Errorf("%v and %v: %v", a, b, wrong)
		}
		if u := []float64{a / 80, b / 80, 0}; !c.Config.Space.Settle(u) {
			t.Errorf("%v and %v are not settled on", a, b)
		}
	}
	if dust == 0 {
		t.Error("no sum is off by rounding; the test says nothing")
	}
	_, _, wrong := c.Place(Settings{"a": NumberValue(35), "b": NumberValue(35.001)}, "at")
	if len(wrong) == 0 {
		t.Error("35 and 35.001 are allowed")
	}
}

func TestUnitCoordinates(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	s := Settings{"temperature": NumberValue(30), "cycles": NumberValue(3), "salt": NumberValue(0.1), "time": NumberValue(0.8), "catalyst": TextValue("B")}
	_, place, wrong := c.Place(s, "parameters")
	want := []float64{0.25, 2.0 / 11, 0.5, 0.2, 0.5}
	if len(wrong) > 0 || place.Arm != -1 || !allNear(place.U, want, 1e-12) {
		t.Errorf("place %v %v, want %v", place, wrong, want)
	}
	dims := c.Config.Space.Dims
	if dims[0] != (optimizer.Dim{Low: 0, High: 1}) || dims[1].Levels != 12 || dims[2].Kind != optimizer.Linear || dims[3].Levels != 16 || dims[4].Kind != optimizer.Categorical || dims[4].Choices != 3 || dims[4].Levels != 0 {
		t.Errorf("unit dimensions %+v", dims)
	}
	d := bufferScreen()
	d.Model.Inputs = "raw"
	dims = mustCompile(t, d).Config.Space.Dims
	if dims[0] != (optimizer.Dim{Low: 20, High: 60}) || dims[2] != (optimizer.Dim{Kind: optimizer.Logarithmic, Low: 0.001, High: 10}) || dims[4].Kind != optimizer.Categorical {
		t.Errorf("raw dimensions %+v", dims)
	}
	if mix := mustCompile(t, mixture()).Config.Space.Dims; !mix[2].Derived || mix[0].Derived {
		t.Errorf("dimensions of a mixture %+v", mix)
	}
}

func TestSettleObeysEverything(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Unavailable = map[string][]Value{"catalyst": {TextValue("A")}, "cycles": {NumberValue(2)}, "time": {NumberValue(0.8)}}
	c := mustCompile(t, d)
	for _, test := range []struct {
		name    string
		u, want []float64
		allowed bool
	}{
		{"steps, choices and outside the cube", []float64{-1, 0.2, 2, 0.03, 0.9}, []float64{0, 2.0 / 11, 1, 0, 5.0 / 6}, true},
		{"an input constraint", []float64{1, 1, 0.5, 0.5, 0.5}, []float64{1, 1, 0.5, 8.0 / 15, 0.5}, false},
		{"on an input constraint", []float64{0.75, 0.8, 0.5, 0, 0.5}, []float64{0.75, 9.0 / 11, 0.5, 0, 0.5}, true},
		{"a choice that has run out", []float64{0, 0.3, 0.5, 0, 0}, []float64{0, 3.0 / 11, 0.5, 0, 1.0 / 6}, false},
		{"a step that has run out", []float64{0, 0.3, 0.5, 0.2, 0.5}, []float64{0, 3.0 / 11, 0.5, 0.2, 0.5}, false},
		{"a whole number that has run out", []float64{0, 0.09, 0.5, 0, 0.5}, []float64{0, 1.0 / 11, 0.5, 0, 0.5}, false},
	} {
		u := slices.Clone(test.u)
		if got := c.Config.Space.Settle(u); got != test.allowed || !allNear(u, test.want, 1e-12) {
			t.Errorf("%s: %v settles to %v, %v; want %v, %v", test.name, test.u, u, got, test.want, test.allowed)
		}
	}
	s := Settings{"temperature": NumberValue(30), "cycles": NumberValue(2), "salt": NumberValue(1), "time": NumberValue(0.8), "catalyst": TextValue("A")}
	if _, _, wrong := c.Place(s, ""); len(wrong) > 0 {
		t.Errorf("what has run out was used before it did, yet cannot be recorded: %v", wrong)
	}
}

func TestSettleIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, mixture())
	done := make(chan bool)
	for worker := range 4 {
		go func() {
			good := true
			for k := range 2000 {
				u := []float64{float64(k%97) / 97, float64((k+worker)%89) / 89, 0}
				v := slices.Clone(u)
				good = good && c.Config.Space.Settle(u) == c.Config.Space.Settle(v) && slices.Equal(u, v)
			}
			done <- good
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("the same point settled in two ways")
		}
	}
}

func TestPlaceFaults(t *testing.T) {
	t.Parallel()
	screen, mix := mustCompile(t, bufferScreen()), mustCompile(t, mixture())
	good := Settings{"temperature": NumberValue(50), "cycles": NumberValue(3), "salt": NumberValue(0.1), "time": NumberValue(0.8), "catalyst": TextValue("B")}
	with := func(name string, v Value) Settings { s := good.Clone(); s[name] = v; return s }
	for _, test := range []struct {
		c                 *Compiled
		s                 Settings
		location, message string
	}{
		{screen, with("temperature", NumberValue(61)), "at.temperature", "61 is above the highest, 60"},
		{screen, with("temperature", NumberValue(-3)), "at.temperature", "-3 is below the lowest, 20"},
		{screen, with("temperature", TextValue("30")), "at.temperature", "must be a number from 20 to 60"},
		{screen, with("cycles", NumberValue(2.5)), "at.cycles", "must be a whole number from 1 to 12"},
		{screen, with("catalyst", TextValue("D")), "at.catalyst", `must be one of "A", "B", "=C"`},
		{screen, with("catalyst", NumberValue(0)), "at.catalyst", "must be one of"},
		{screen, with("Temperature", NumberValue(30)), "at.Temperature", `did you mean "temperature"?`},
		{screen, with("temperature", Value{Number: math.NaN()}), "at.temperature", "must be a number"},
		{screen, with("cycles", Value{Number: math.Inf(1)}), "at.cycles", "must be a whole number"},
		{screen, with("cycles", NumberValue(12)), "at", `breaks the input constraint "temperature + 2*cycles <= 70"`},
		{mix, Settings{"a": NumberValue(30)}, "at.b", "is missing; give a number from 0 to 80"},
		{mix, Settings{"a": NumberValue(30), "b": NumberValue(30), "water": NumberValue(30)}, "at.water", "must be 40, what the others leave of 100"},
		{mix, Settings{"a": NumberValue(60), "b": NumberValue(35)}, "at.water", "leave 5 of 100, below the lowest, 10"},
		{mix, Settings{"a": NumberValue(2), "b": NumberValue(3)}, "at.water", "leave 95 of 100, above the highest, 90"},
	} {
		s, place, wrong := test.c.Place(test.s, "at")
		wantFault(t, wrong, test.location, test.message)
		if s != nil || place.U != nil {
			t.Errorf("%v is refused and yet placed at %v", test.s, place)
		}
		if _, text := wrong[0].Value.(string); text {
			t.Errorf("%s: the value %q is text", wrong[0].Message, wrong[0].Value)
		}
	}
}

func TestPlaceKeepsWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	s := Settings{"temperature": NumberValue(30.123456789012345), "cycles": NumberValue(3), "salt": NumberValue(0.12345678901234567), "time": NumberValue(0.8499), "catalyst": TextValue("=C")}
	kept, place, wrong := c.Place(s, "at")
	want := s.Clone()
	want["time"] = NumberValue(0.8)
	if len(wrong) > 0 || !kept.Equal(want) {
		t.Errorf("%v became %v, %v", s, kept, wrong)
	}
	if located := c.Locate(kept, nil); !slices.Equal(located.U, place.U) {
		t.Errorf("located at %v, placed at %v", located.U, place.U)
	}
	if kept, _, _ := mustCompile(t, mixture()).Place(Settings{"a": NumberValue(33.3), "b": NumberValue(33.3)}, "at"); kept["water"] != NumberValue(33.4) {
		t.Errorf("the remainder of 33.3 and 33.3 is %v", kept["water"])
	}
}

func TestLocateOutsideTheBounds(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Parameters[0].High = new(40.0)
	c := mustCompile(t, d)
	s := Settings{"temperature": NumberValue(60), "cycles": NumberValue(12), "salt": NumberValue(0.1), "time": NumberValue(0.8), "catalyst": TextValue("B")}
	if u := c.Locate(s, nil).U; u[0] != 2 {
		t.Errorf("a trial from before the bounds were narrowed lies at %v", u)
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	d := queue()
	d.InputConstraints = []string{"x <= 2"}
	d.Unavailable = map[string][]Value{"x": {NumberValue(0)}}
	c := mustCompile(t, d)
	space := c.Config.Space
	if !slices.Equal(space.Available, []bool{false, true, true, false}) {
		t.Errorf("available %v", space.Available)
	}
	if !allNear(space.Arms[3], []float64{1, 0.75}, 1e-15) {
		t.Errorf("arm 3 is at %v", space.Arms[3])
	}
	s, place, wrong := c.Place(Settings{"x": NumberValue(1), "mode": TextValue("slow")}, "at")
	if len(wrong) > 0 || place.Arm != 1 || !s.Equal(d.Candidates[1]) {
		t.Errorf("the first of equal candidates: %v %v %v", s, place, wrong)
	}
	if got := c.Settings(optimizer.Place{Arm: 3}); !got.Equal(d.Candidates[3]) {
		t.Errorf("candidate 3 is %v", got)
	}
	_, _, wrong = c.Place(Settings{"x": NumberValue(2), "mode": TextValue("slow")}, "at")
	wantFault(t, wrong, "at.x", "is not one of the 4 candidates; those with the other settings have 0 or 1")
	_, _, wrong = c.Place(Settings{"x": NumberValue(3), "mode": TextValue("slow")}, "at")
	if len(wrong) != 2 || wrong[0].Field != "at.x" || wrong[1].Field != "at.mode" || !strings.HasSuffix(wrong[1].Message, "have fast") {
		t.Errorf("where either setting may be wrong: %v", wrong)
	}
	d.Candidates, d.Unavailable = d.Candidates[:2], nil
	_, _, wrong = mustCompile(t, d).Place(Settings{"x": NumberValue(3), "mode": TextValue("fast")}, "at")
	wantFault(t, wrong, "at", "is not one of the 2 candidates")
	for i := range 9 {
		d.Candidates = append(d.Candidates, Settings{"x": NumberValue(float64(i) / 4), "mode": TextValue("slow")})
	}
	_, _, wrong = mustCompile(t, d).Place(Settings{"x": NumberValue(3), "mode": TextValue("slow")}, "at")
	wantFault(t, wrong, "at.x", "have 0, 1, 0.25, 0.5, 0.75 or 4 other values")
	d.Candidates = []Settings{{"x": NumberValue(0.0004), "mode": TextValue("slow")}}
	_, _, wrong = mustCompile(t, d).Place(Settings{"x": NumberValue(0), "mode": TextValue("slow")}, "at")
	wantFault(t, wrong, "at.x", "have 0.0004")
	if located := c.Locate(nil, new(3)); located.Arm != 3 || !slices.Equal(located.U, space.Arms[3]) {
		t.Errorf("candidate 3 located at %v", located)
	}
}

func TestCandidatesNeedNoSteps(t *testing.T) {
	t.Parallel()
	d := mixture()
	d.Parameters[0].Step = new(5.0)
	d.Candidates = []Settings{{"a": NumberValue(12), "b": NumberValue(1)}, {"a": NumberValue(0), "b": NumberValue(20), "water": NumberValue(80)}}
	c := mustCompile(t, d)
	d.Unavailable = map[string][]Value{"a": {NumberValue(12)}}
	if available := mustCompile(t, d).Config.Space.Available; !slices.Equal(available, []bool{false, true}) {
		t.Errorf("without a = 12, available: %v", available)
	}
	if c.Def.Candidates[0]["water"] != NumberValue(87) || c.Def.Candidates[0]["a"] != NumberValue(12) {
		t.Errorf("candidate 0 is %v", c.Def.Candidates[0])
	}
	if !slices.Equal(c.Config.Space.Available, []bool{true, true}) {
		t.Errorf("available: %v", c.Config.Space.Available)
	}
}

// Settling happens some ten thousand times an ask.
func BenchmarkSettle(b *testing.B) {
	checked := must.Get(bufferScreen().Check())(b)
	c := must.Get(Compile(checked))(b)
	u := []float64{0.3, 0.4, 0.5, 0.6, 0.7}
	b.ReportAllocs()
	for b.Loop() {
		c.Config.Space.Settle(u)
	}
}

func TestDescribeIsShort(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	if got := c.space.describe([]float64{20, 1, 1, 1, 2}); !strings.HasPrefix(got, "temperature = 20, cycles = 1") || !strings.HasSuffix(got, "…") {
		t.Errorf("described as %q", got)
	}
}

// TestAnUnknownNameIsToldWhichThereAre, also where there is one, or none was given.
func TestAnUnknownNameIsToldWhichThereAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"temp", nil, `there is no limit "temp"; the study has none`}, {"temp", []string{"pH", "load"}, `there is no limit "temp"; there are pH, load`}, {"temp", []string{"pH"}, `there is no limit "temp"; there is only pH`},
		{"loads", []string{"pH", "load"}, `there is no limit "loads"; did you mean "load"?`}, {"", []string{"pH", "load"}, "no limit is named; there are pH, load"}, {"", []string{"pH"}, "no limit is named; there is only pH"},
	} {
		if got := UnknownName("limit", c.name, c.names); got != c.want {
			t.Errorf("%q of %v: %s, want %s", c.name, c.names, got, c.want)
		}
	}
}

// TestHolding: what may be held is what could be set; the rest is to be chosen.
func TestHolding(t *testing.T) {
	t.Parallel()
	short := bufferScreen()
	short.Unavailable = map[string][]Value{"catalyst": {TextValue("A")}}
	screen, mix, listed := mustCompile(t, short), mustCompile(t, mixture()), mustCompile(t, queue())
	arm := listed.Def.Candidates[1]
	all := arm.Clone()
	for _, test := range []struct {
		c                 *Compiled
		held              Settings
		location, message string
	}{
		{screen, Settings{"temperature": NumberValue(61)}, "held.temperature", "61 is above the highest, 60"},
		{screen, Settings{"catalyst": TextValue("D")}, "held.catalyst", `must be one of "A", "B", "=C"`},
		{screen, Settings{"catalyst": TextValue("A")}, "held.catalyst", "is not available now; hold another value, or say that it is available again"},
		{screen, Settings{"Temperature": NumberValue(30)}, "held.Temperature", `did you mean "temperature"?`},
		{screen, Settings{"cycles": NumberValue(2.5)}, "held.cycles", "must be a whole number"},
		{mix, Settings{"water": NumberValue(40)}, "held.water", "is what the others leave of 100; hold the others instead"},
		{mix, Settings{"a": NumberValue(30), "b": NumberValue(30)}, "held", "leaves nothing to be chosen"},
		{listed, all, "held", "leaves nothing to be chosen"},
		{listed, Settings{listed.Def.Parameters[0].Name: NumberValue(arm[listed.Def.Parameters[0].Name].Number + 0.001)}, "held." + listed.Def.Parameters[0].Name, "no candidate has this x; they have 0, 1 or 3"},
	} {
		_, _, wrong := test.c.Holding(test.held, "held")
		wantFault(t, wrong, test.location, test.message)
	}
	if config, names, wrong := screen.Holding(nil, "held"); config != screen.Config || names != nil || wrong != nil {
		t.Error("where nothing is held something is otherwise")
	}
	held := Settings{"time": NumberValue(0.8499), "catalyst": TextValue("B"), "temperature": NumberValue(41.3)}
	config, names, wrong := screen.Holding(held, "held")
	if len(wrong) > 0 || !slices.Equal(names, []string{"temperature", "time", "catalyst"}) {
		t.Fatal(names, wrong)
	}
	u := []float64{0.1, 0.2, 0.3, 0.4, 0.1}
	if !config.Space.Settle(u) {
		t.Fatalf("%v cannot be set", u)
	}
	got := screen.Settings(optimizer.Place{U: u, Arm: -1})
	if got["temperature"].Number != 41.3 || got["time"].Number != 0.8 || got["catalyst"].Text != "B" || got["cycles"].Number != 3 {
		t.Errorf("%v holds %v", got, held)
	}
}
