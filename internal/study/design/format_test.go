package design

import "testing"

func TestNumbersHaveTheDigitsThatMeanSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, sd float64
		want      string
	}{
		{82.13, 5.2, "82 ± 5"}, {0.4412, 0.0512, "0.44 ± 0.05"}, {0.4412, 0.0151, "0.441 ± 0.015"}, {79.64, 1.13, "79.6 ± 1.1"},
		{123456.7, 1234, "123500 ± 1200"}, {1.5e9, 3e7, "1500000000 ± 30000000"}, {1.5e-9, 2e-10, "0.00000000150 ± 0.00000000020"},
		{-0.001, 0.04, "0.00 ± 0.04"}, {3.14159265, 0, "3.14159 ± 0"}, {99.97, 0.96, "100.0 ± 1.0"}, {5, 0.0996, "5.00 ± 0.10"},
	} {
		number, deviation := FormatValue(c.value, c.sd)
		if got := number + " ± " + deviation; got != c.want {
			t.Errorf("%g ± %g: got %s, want %s", c.value, c.sd, got, c.want)
		}
	}
	for x, want := range map[float64]string{0: "0", 71.2: "71.2", 1e9: "1000000000", 1e-9: "0.000000001", -1234567.8: "-1234570", 0.1 + 0.2: "0.3", 1e21: "1000000000000000000000"} {
		if got := FormatNumber(x); got != want {
			t.Errorf("%g: got %s, want %s", x, got, want)
		}
	}
	for number, want := range map[string]string{"1234": "1234", "-12345.678": "\u221212\u202f345.678", "1234567": "1\u202f234\u202f567", "0.000001": "0.000001"} {
		if got := Typeset(number); got != want {
			t.Errorf("%s: got %q, want %q", number, got, want)
		}
	}
	for p, want := range map[float64]string{0: "under 1 %", 0.001: "under 1 %", 0.876: "88 %", 0.999: "over 99 %", 1: "over 99 %"} {
		if got := FormatPercent(p); got != want {
			t.Errorf("%g: got %s, want %s", p, got, want)
		}
	}
}

func TestSettingsAreWrittenAsTheyCanBeSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    Parameter
		v    Value
		want string
	}{
		{Parameter{Type: Real, Low: new(20.0), High: new(60.0)}, NumberValue(36.8712345), "36.87"},
		{Parameter{Type: Real, Low: new(20.0), High: new(60.0)}, NumberValue(40), "40"},
		{Parameter{Type: Real, Low: new(0.0), High: new(1e9)}, NumberValue(123456789.4), "123456789"},
		{Parameter{Type: Real, Low: new(0.001), High: new(10.0), Scale: "log"}, NumberValue(0.00123456), "0.001235"},
		{Parameter{Type: Real, Low: new(0.5), High: new(2.0), Step: new(0.1)}, NumberValue(0.30000000000000004), "0.3"},
		{Parameter{Type: Integer, Low: new(1.0), High: new(12.0)}, NumberValue(7), "7"},
		{Parameter{Type: Categorical, Choices: []string{"A"}}, TextValue("A"), "A"},
	} {
		if got := FormatSetting(c.p, c.v); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

// TestCapitalised: a sentence or a title begins with a capital, whatever comes after its first
// word, unless that has capitals of its own.
func TestCapitalised(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"pressure (MPa)": "Pressure (MPa)", "yield": "Yield", "pH (1)": "pH (1)", "mRNA left": "mRNA left", "ähnlich": "Ähnlich",
		"pH of A": "pH of A", "number of Halton points": "Number of Halton points", "éluant": "Éluant", "HPLC area": "HPLC area", "": ""} {
		if got := Capitalised(name); got != want {
			t.Errorf("%q begins as %q, want %q", name, got, want)
		}
	}
}
