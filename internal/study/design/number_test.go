package design

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
)

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0.31": 0.31, "0,31": 0.31, "−4": -4, "- 4": -4, "1\u202f234,5": 1234.5, "2e-3": 0.002, "1,5e3": 1500, "1,200e3": 1200, "-0": 0, ".5": 0.5, "5,": 5,
		"1'200": 1200, "12’500.5": 12500.5, "1'200'000,25": 1200000.25, "\u200e-1.5\u200f": -1.5, "\u20667\u2069": 7, "1 200": 1200, "12 500.5": 12500.5, "1,234.5": 1234.5, "1.234,5": 1234.5, "1,200,000": 1.2e6, "1.200.000": 1.2e6,
		"１２．５": 12.5, "－０，３１": -0.31, "ー４": -4, "１　２００": 1200, "３ｅ２": 300,
		"0,125": 0.125, "1234,567": 1234.567, "012.345": 12.345, " 7 ": 7,
	} {
		if got, err := ReadNumber(text, Marks{}); err != nil || got != want {
			t.Errorf("%q is read as %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "abc", "1.2,3", "1,2,3", "NaN", "Inf", "1e999", "0x10", "1_000", "1,2345.6", "1.2.3", ".", "-", "e5", "1,200.000.000", "1'20", "'1200", "1'200 300", "0.123'456", "7\u200b8"} {
		if got, err := ReadNumber(text, Marks{}); err == nil {
			t.Errorf("%q is read as %v; want a refusal", text, got)
		}
	}
	for _, text := range []string{"1e999", "-1e400"} {
		if _, err := ReadNumber(text, Marks{}); err == nil || err.Error() != "write a number between -1e100 and 1e100" {
			t.Errorf("%q is refused by %v; want to be told how large numbers may be", text, err)
		}
	}
	for _, text := range []string{"72 73", "1 20", "0 200", "1 2000", "61.7 75.8", "0.123 456", "1 200,500 3"} {
		if got, err := ReadNumber(text, Marks{}); err == nil || !strings.Contains(err.Error(), "looks like more than one number") {
			t.Errorf("%q is read as %v, %v; want to be told that these are two", text, got, err)
		}
	}
}

func TestALoneMarkBeforeThreeDigitsIsAskedAbout(t *testing.T) {
	t.Parallel()
	for text, readings := range map[string][2]float64{"1,200": {1.2, 1200}, "1.200": {1.2, 1200}, "-61,725": {-61.725, -61725}, "100.000": {100, 100000}} {
		two := &AmbiguousNumber{}
		if _, err := ReadNumber(text, Marks{}); !errors.As(err, &two) || two.Decimal != readings[0] || two.Thousands != readings[1] {
			t.Errorf("%q: %+v, %v", text, two, err)
		}
	}
	for _, c := range []struct {
		text  string
		known Marks
		want  float64 // 0: asked
	}{
		{"1,200", PointDecimal, 1200}, {"1.200", PointDecimal, 1.2}, {"1,200", CommaDecimal, 1.2}, {"1.200", CommaDecimal, 1200},
		{"1.200", MarksBeside(','), 1.2}, {"1,200", MarksBeside(','), 0}, {"1,200", MarksBeside(';'), 1.2}, {"1.200", MarksBeside(';'), 0}, {"1.200", MarksBeside('\t'), 0},
	} {
		got, err := ReadNumber(c.text, c.known)
		if (err != nil) != (c.want == 0) || got != c.want {
			t.Errorf("%q beside %q: %v, %v; want %v", c.text, c.known, got, err, c.want)
		}
	}
}

func TestTheOtherNumbersOfATableDecide(t *testing.T) {
	t.Parallel()
	before := Marks{Decimal: ';'}
	for _, c := range []struct {
		texts []string
		want  Marks
	}{
		{[]string{"1,200", "7", "PENDING", "1 200"}, before},
		{[]string{"1,200", "12,5"}, CommaDecimal}, {[]string{"1,234.5"}, PointDecimal}, {[]string{"0.125"}, PointDecimal}, {[]string{"1.200.000"}, CommaDecimal},
		{[]string{"12,5", "12.5"}, Marks{}}, {[]string{"1,200", "１２，５"}, CommaDecimal},
	} {
		var h Habit
		for _, text := range c.texts {
			h.Note(text)
		}
		if said := h.Marks(DecimalComma, before); said != CommaDecimal {
			t.Errorf("%q, said to have decimal commas: %q", c.texts, said)
		}
		if got := h.Marks("", before); got != c.want {
			t.Errorf("%q show %q, want %q", c.texts, got, c.want)
		}
	}
}

// What the program itself writes is read back as it was, whichever mark the reader writes decimals
// with; or it is asked about.
func TestWrittenNumbersAreReadBackOrAskedAbout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e6, 1e6).Draw(t, "x")
		text, known, two := formatNumber(x), rapid.SampledFrom([]Marks{{}, {Decimal: '.'}, {Decimal: ','}, PointDecimal}).Draw(t, "known"), &AmbiguousNumber{}
		got, err := ReadNumber(text, known)
		if err == nil && got != x || err != nil && (!errors.As(err, &two) || two.Decimal != x || known.Decimal == '.') {
			t.Fatalf("%q is read as %v, %v", text, got, err)
		}
	})
}

func TestNumbersHaveTheDigitsThatMeanSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, sd float64
		want      string
	}{
		{82.13, 5.2, "82 ± 5"}, {0.4412, 0.0512, "0.44 ± 0.05"}, {0.4412, 0.0151, "0.441 ± 0.015"}, {79.64, 1.13, "79.6 ± 1.1"},
		{123456.7, 1234, "123500 ± 1200"}, {1.5e9, 3e7, "1500000000 ± 30000000"}, {1.5e-9, 2e-10, "0.00000000150 ± 0.00000000020"},
		{-0.001, 0.04, "0.00 ± 0.04"}, {math.Pi, 0, "3.14159 ± 0"}, {99.97, 0.96, "100.0 ± 1.0"}, {5, 0.0996, "5.00 ± 0.10"},
		{1e12, 1e-3, "1000000000000.000 ± 0.001"}, {1e12, 4e-6, "1000000000000.000 ± 0.000004"}, {1, 3e-16, "1.000000000000000 ± 0.00000000000000030"},
	} {
		number, deviation := FormatValue(c.value, c.sd)
		if got := number + " ± " + deviation; got != c.want {
			t.Errorf("%g ± %g: got %s, want %s", c.value, c.sd, got, c.want)
		}
	}
	for x, want := range map[float64]string{0: "0", 71.2: "71.2", 1e9: "1000000000", 1e-9: "0.000000001", 1234567: "1234567", -101325.43: "-101325.43", 1e7 / 9: "1111110", 0.1 + 0.2: "0.3", 1e21: "1000000000000000000000"} {
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
		{Parameter{Type: Integer, Low: new(1.0), High: new(1e9)}, NumberValue(12345678), "12345678"},
		{Parameter{Type: Real, Low: new(1000.0), High: new(2000.0), Step: new(0.001)}, NumberValue(1234.567), "1234.567"},
		{Parameter{Type: Real, Low: new(0.25), High: new(2.0), Step: new(0.5)}, NumberValue(1.2), "1.2"},
		{Parameter{Type: Categorical, Choices: []string{"A"}}, TextValue("A"), "A"},
	} {
		if got := FormatSetting(c.p, c.v); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

// TestCapitalised: a sentence or a title begins with a capital, whatever comes after its first
// word, unless that has capitals of its own or is a symbol: K is no k.
// TestSpreadsheetsRoundHalves away from 0 as they stand in decimals, whatever they are in binary.
func TestSpreadsheetsRoundHalves(t *testing.T) {
	t.Parallel()
	p := Parameter{Type: Real, Low: new(0.0), High: new(20.0)}
	for _, test := range []struct {
		written, x float64
		is         bool
	}{{0.13, 0.125, true}, {1.01, 1.005, true}, {2.7, 2.65, true}, {-0.13, -0.125, true}, {0.12, 0.125, true}, {0.14, 0.125, false}, {0.126, 0.125, false}} {
		if got := p.Rounds(NumberValue(test.written), NumberValue(test.x)); got != test.is {
			t.Errorf("%v rounds %v: %v", test.written, test.x, got)
		}
	}
}

func TestCapitalised(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"pressure (MPa)": "Pressure (MPa)", "yield": "Yield", "pH (1)": "pH (1)", "mRNA left": "mRNA left", "ähnlich": "Ähnlich",
		"pH of A": "pH of A", "number of Halton points": "Number of Halton points", "éluant": "Éluant", "HPLC area": "HPLC area", "": "",
		"k": "k", "t in all": "t in all", "k_cat": "k_cat", "x1": "x1", "λmax": "λmax", "ee: no sign": "Ee: no sign", "pre-heat": "Pre-heat", "выход": "Выход"} {
		if got := Capitalised(name); got != want {
			t.Errorf("%q begins as %q, want %q", name, got, want)
		}
	}
}

func TestNumbersAsTheyAreShown(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{
		0: "0", 71.25: "71.25", -3: "−3", 12345.6: "12\u202f345.6", 1.5e-7: "1.5\u202f×\u202f10⁻⁷", -2e12: "−2\u202f×\u202f10¹²", 5e-324: "5\u202f×\u202f10⁻³²⁴", 1e100: "1\u202f×\u202f10¹⁰⁰",
		9.9999999e-9: "9.9999999\u202f×\u202f10⁻⁹", 9.9999999999e-9: "1\u202f×\u202f10⁻⁸", -9.9999999999e8: "−1\u202f×\u202f10⁹", 9.9999999999e-5: "0.0001", 9999999.99999: "1\u202f×\u202f10⁷",
		0.0004: "0.0004", math.NaN(): "–", math.Inf(1): "–", 999999: "999\u202f999",
	} {
		if got := WriteNumber(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	for _, at := range []struct {
		value, sd    float64
		beside, both string
	}{
		{9.96e-9, 4e-10, "1.00\u202f×\u202f10⁻⁸", "(1.00 ± 0.04)\u202f×\u202f10⁻⁸"}, {-9.96e-9, 4e-10, "−1.00\u202f×\u202f10⁻⁸", "(−1.00 ± 0.04)\u202f×\u202f10⁻⁸"},
		{1e-9, 9.96e-9, "0.1\u202f×\u202f10⁻⁸", "(0.1 ± 1.0)\u202f×\u202f10⁻⁸"}, {9.999e-5, 5e-7, "0.0001000", "0.0001000 ± 0.0000005"},
		{9999999.7, 4, "1.0000000\u202f×\u202f10⁷", "(1.0000000 ± 0.0000004)\u202f×\u202f10⁷"}, {2e-9, 3e-10, "2.00\u202f×\u202f10⁻⁹", "(2.00 ± 0.30)\u202f×\u202f10⁻⁹"},
		{math.NaN(), 1e-9, "–", "– ± 0"},
	} {
		if beside, both := WriteBeside(at.value, at.sd), WriteUncertain(at.value, at.sd); beside != at.beside || both != at.both {
			t.Errorf("%v ± %v is written %q and %q, want %q and %q", at.value, at.sd, beside, both, at.beside, at.both)
		}
	}
	p := Parameter{Name: "x", Type: Real, Low: new(1e-200), High: new(3e-200)}
	if got, want := WriteSetting(p, NumberValue(1.5e-200)), "1.5\u202f×\u202f10⁻²⁰⁰"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, at := range []struct {
		limit, sd float64
		want      string
	}{{0.5, 0.05, "0.50"}, {0.45, 3, "0.45"}, {1e12, 0.7, "1\u202f×\u202f10¹²"}, {20000, 300, "20\u202f000"}} {
		if got := WriteLimit(at.limit, at.sd); got != at.want {
			t.Errorf("the limit %v beside ± %v is written %q, want %q", at.limit, at.sd, got, at.want)
		}
	}
}

// TestSettingsAreReadAtAGlance: nobody counts the zeros of a concentration, and a whole number keeps
// its digits.
func TestSettingsAreReadAtAGlance(t *testing.T) {
	t.Parallel()
	low, high, step := 1e-9, 1e-3, 1e-6
	salt := Parameter{Name: "salt", Type: Real, Low: &low, High: &high, Scale: "log"}
	stepped := Parameter{Name: "dose", Type: Real, Low: new(0.0), High: &high, Step: &step}
	share := Parameter{Name: "share", Type: Real, Low: new(0.0), High: new(1.0)}
	cells := Parameter{Name: "cells", Type: Integer, Low: new(1.0), High: new(1e9)}
	for _, at := range []struct {
		p    Parameter
		x    float64
		want string
	}{
		{salt, 4.66055723872e-7, "4.661\u202f×\u202f10⁻⁷"}, {salt, 0.00012346, "0.0001235"}, {stepped, 4.7e-5, "4.7\u202f×\u202f10⁻⁵"}, {stepped, 0, "0"},
		{share, 0.00002, "0"}, {cells, 12345678, "12\u202f345\u202f678"},
	} {
		if got := WriteSetting(at.p, NumberValue(at.x)); got != at.want {
			t.Errorf("%s of %v is written %q, want %q", at.p.Name, at.x, got, at.want)
		}
	}
}

// TestTheEndsOfARangeHaveOnePower, be they on both sides of it.
func TestTheEndsOfARangeHaveOnePower(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		sd   float64
		all  []float64
		want string
	}{{1e-8, []float64{9.98e-7, 9.79e-7, 1.017e-6}, "0.998 × 10⁻⁶, 0.979 × 10⁻⁶, 1.017 × 10⁻⁶"}, {0.05, []float64{0.9, 1.1}, "0.90, 1.10"}, {2e-5, []float64{-3e-5, 1.2e-4}, "−0.000030, 0.000120"},
		{2e6, []float64{9e6, 1.2e7}, "0.90 × 10⁷, 1.20 × 10⁷"}, {0, []float64{5e-7}, "5 × 10⁻⁷"}} {
		write := WriteTogether(at.sd, at.all...)
		if got := strings.ReplaceAll(strings.Join(lists.Map(at.all, write), ", "), Thin, " "); got != at.want {
			t.Errorf("%v are written %s, not %s", at.all, got, at.want)
		}
	}
}
