package design

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/mutation"
)

func TestValueJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Value{
		`1`: NumberValue(1), `-0`: NumberValue(0), `1.50`: NumberValue(1.5), `1e3`: NumberValue(1000), `2.5E-7`: NumberValue(2.5e-7),
		`"A"`: TextValue("A"), `""`: TextValue(""), `"5"`: TextValue("5"), `"\u00e9"`: TextValue("é"),
	} {
		var got Value
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
		if math.Signbit(got.Number) {
			t.Errorf("%s: minus zero was kept", text)
		}
	}
	for _, text := range []string{`null`, `true`, `[1]`, `{}`, `1e999`, `-1e400`} {
		var got Value
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %v", text, got)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if text, err := (Value{Number: x}).MarshalJSON(); err == nil {
			t.Errorf("%v was written as %s", x, text)
		}
	}
}

func TestValueRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := NumberValue(rapid.Float64().Draw(t, "number"))
		if rapid.Bool().Draw(t, "is text") {
			v = TextValue(rapid.String().Draw(t, "text"))
		}
		text := must.Get(json.Marshal(v))(t)
		var back Value
		if err := json.Unmarshal(text, &back); err != nil || back != v {
			t.Fatalf("%v became %s and then %v, %v", v, text, back, err)
		}
	})
}

func TestFormatNumber(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{
		"1000000": 1e6, "0.1": 0.1, "0.000001": 1e-6, "1e-07": 1e-7, "-71.2": -71.2, "0": 0, "1e+21": 1e21, "100000000000000000000": 1e20,
	} {
		if got := formatNumber(x); got != want {
			t.Errorf("formatNumber(%v) = %s, want %s", x, got, want)
		}
	}
	for want, x := range map[string]float64{"0.031": 0.0314, "0.5": 0.501, "2.5": 2.53, "31": 31.4, "1234": 1234.4, "0": 0} {
		if got := FormatBrief(x); got != want {
			t.Errorf("FormatBrief(%v) = %s, want %s", x, got, want)
		}
	}
}

func TestParseNumberRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "NaN", "Inf", "-Inf", "infinity", "0x10", "1_000", "1e999", "1,5", "1 000", "12%", "--1", "e", "."} {
		if x, err := ParseNumber(text); err == nil {
			t.Errorf("%q was read as %v", text, x)
		}
	}
}

func TestSettingsEqualAndClone(t *testing.T) {
	t.Parallel()
	s := Settings{"x": NumberValue(1), "c": TextValue("1")}
	clone := s.Clone()
	if !s.Equal(clone) {
		t.Error("a clone differs")
	}
	clone["x"] = NumberValue(2)
	if s.Equal(clone) || s["x"] != NumberValue(1) {
		t.Error("a clone shares its values")
	}
	if s.Equal(Settings{"x": NumberValue(1)}) || s.Equal(Settings{"x": NumberValue(1), "c": NumberValue(1)}) {
		t.Error("different settings are equal")
	}
}

// FuzzNumber: what is read is finite, and reads the same as it is written.
func FuzzNumber(plain *testing.F) {
	f := mutation.Of(plain)
	for _, seed := range []string{"", "0", "-0", "71.2", "1e308", "1e309", "0x1p4", "1_000", "NaN", "+Inf", "１", "1e-400", ".", "e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseNumber(text)
		if err != nil {
			return
		}
		if !Finite(x) {
			t.Fatalf("%q is read as %v", text, x)
		}
		if again, err := ParseNumber(formatNumber(x)); err != nil || again != x {
			t.Errorf("%q is read as %v, written as %q and read as %v, %v", text, x, formatNumber(x), again, err)
		}
	})
}

func TestOneDefinitionOfALimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		op     string
		value  float64
		excess float64
		holds  bool
	}{
		{"<=", 6, -1, true}, {"<=", 7, 0, true}, {"<=", 9, 2, false},
		{">=", 6, 1, false}, {">=", 7, 0, true}, {">=", 9, -2, true},
	} {
		c := Constraint{Metric: "pH", Op: test.op, Threshold: 7}
		if c.Excess(test.value) != test.excess || c.Holds(test.value) != test.holds {
			t.Errorf("%v against %s 7: excess %v, holds %v", test.value, test.op, c.Excess(test.value), c.Holds(test.value))
		}
	}
}

func TestHeadroomIsToTheNearestLimit(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	for value, want := range map[float64]float64{7.25: 0.25, 7.75: 0.25, 6.5: -0.5, 8.5: -0.5, 8: 0, 7: 0} {
		got := d.Headroom("pH", value)
		if got == nil || *got != want || math.Signbit(*got) && want == 0 { // −0 would be shown as "-0"
			t.Errorf("headroom of %v is %v", value, *got)
		}
	}
	if got := d.Headroom("yield", 3); got != nil {
		t.Errorf("nothing limits the yield, yet its headroom is %v", *got)
	}
}
