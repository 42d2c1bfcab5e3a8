package design

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0.31": 0.31, "0,31": 0.31, "−4": -4, "- 4": -4, "1\u202f234,5": 1234.5, "2e-3": 0.002, "1,5e3": 1500, "1,200e3": 1200, "-0": 0, ".5": 0.5, "5,": 5,
		"1 200": 1200, "12 500.5": 12500.5, "1,234.5": 1234.5, "1.234,5": 1234.5, "1,200,000": 1.2e6, "1.200.000": 1.2e6,
		"0,125": 0.125, "1234,567": 1234.567, "012.345": 12.345, " 7 ": 7,
	} {
		if got, err := ReadNumber(text, Marks{}); err != nil || got != want {
			t.Errorf("%q is read as %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "abc", "1.2,3", "1,2,3", "NaN", "Inf", "1e999", "0x10", "1_000", "1,2345.6", "1.2.3", ".", "-", "e5", "1,200.000.000"} {
		if got, err := ReadNumber(text, Marks{}); err == nil {
			t.Errorf("%q is read as %v; want a refusal", text, got)
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
		{[]string{"12,5", "12.5"}, Marks{}},
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
