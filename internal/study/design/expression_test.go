package design

import (
	"math"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/mutation"
)

var twoNumbers = variables{index: map[string]int{"x": 0, "Größe_2": 1, "min": 2}, choices: map[string]bool{"catalyst": true}}

func TestFormulaValues(t *testing.T) {
	t.Parallel()
	row := []float64{3, 5, 7}
	for text, want := range map[string]float64{
		"1":                           1,
		"x + 2*Größe_2":               13,
		"x - 2 - 3":                   -2,
		"-x^2":                        -9,
		"2^3^2":                       512,
		"2^-1":                        0.5,
		"(x + 1) / 8":                 0.5,
		"7 / 2":                       3.5,
		"+x":                          3,
		"1e3 * .5":                    500,
		"min(x, Größe_2, 4)":          3,
		"max(x)":                      3,
		"min * min(1, 2)":             7,
		"abs(x - 5) + sqrt(16)":       6,
		"ln(exp(2)) + log10(1000)":    5,
		"3000000000 * 3000000000":     9e18,
		"  x\n + 1  ":                 4,
		"1 - (2 - (3 - (4 - (x))))":   1 - (2 - (3 - (4 - 3.0))),
		"x*x*x - 3*x*x + 3*x - 1":     8,
		"max(min(x, 1), min(x, 2.5))": 2.5,
	} {
		f, err := parseFormula(text, twoNumbers)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f(row); math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
			t.Errorf("%q = %v, want %v", text, got, want)
		}
	}
}

func TestFormulaRefusals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "empty",
		"   ":                           "empty",
		"x +":                           "missing at its end",
		"(x":                            "missing at its end",
		"x x":                           "at character",
		"1e999":                         "cannot be read",
		"99999999999999999999":          "cannot be read",
		"y + 1":                         `the name "y" is unknown; it may use x, Größe_2, min`,
		"größe_2":                       `did you mean "Größe_2"?`,
		"catalyst + 1":                  "is a choice, not a number",
		"x % 2":                         `"%" is not possible here`,
		"x ** 2":                        "powers are written with ^",
		"x // 2":                        "at character 3: // begins a comment",
		"x /* half */ / 2":              "at character 3: /* begins a comment",
		"x == 2":                        "remainder",
		"x <= 2":                        "not a comparison",
		"1 + (x <= 2)":                  "one too many",
		"x and x":                       "entry of its own",
		"not x":                         "is not possible here",
		"x ?? 1":                        "is not possible here",
		"x ? 1 : 2":                     "only numbers, names",
		"if x > 1 { 1 } else { 2 }":     "only numbers, names",
		"let y = 1; y":                  "only numbers, names",
		"1; 2":                          "only numbers, names",
		"\"text\"":                      "only numbers, names",
		"[1, 2]":                        "only numbers, names",
		"{a: 1}":                        "only numbers, names",
		"true":                          "only numbers, names",
		"x.y":                           "only numbers, names",
		"x[0]":                          "only numbers, names",
		"x.y()":                         "only numbers, names",
		"1..3":                          "is not possible here",
		"map([1], #)":                   `no function "map"`,
		"len(x)":                        `no function "len"`,
		"now()":                         `no function "now"`,
		"evil(x)":                       `no function "evil"`,
		"x | abs":                       "missing at its end",
		"sqrt(1, 2)":                    "takes one number",
		"min()":                         "at least one number",
		strings.Repeat("x+", 600) + "x": "at most 1000",
	} {
		_, err := parseFormula(text, twoNumbers)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cannot be used") {
			t.Errorf("%.40q: error %v, want one containing %q", text, err, want)
		}
	}
}

func TestComparisons(t *testing.T) {
	t.Parallel()
	row := []float64{3, 5, 7}
	for text, want := range map[string]bool{
		"x <= 3": true, "x < 3": false, "x >= 3": true, "x > 3": false, "Größe_2 - x < 2.5": true, "2*x >= 7": false,
		"x <= 2.99": false, "1/(x - 3) <= 5": false, "1/(x - 3) >= 5": false, "-1/(x-3) <= 0": false,
	} {
		c, err := parseComparison(text, twoNumbers)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := c.holds(row, 1e-9); got != want {
			t.Errorf("%q holds: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"x", "1 < x < 4", "x <= 4 and x >= 1", "x == 3", "x != 3", "(x <= 3) <= 1", "x in [1]"} {
		if _, err := parseComparison(text, twoNumbers); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// TestABrokenComparisonIsToldAsItIsWritten: with its sides where they stand, and in digits that differ.
func TestABrokenComparisonIsToldAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x >= 4": `"x >= 4": 3 is not ≥ 4`, "x > 4": `"x > 4": 3 is not > 4`, "2*x <= 5": `"2*x <= 5": 6 is not ≤ 5`, "x < 3": `"x < 3": 3 is not < 3`,
		"x + 0.0000001 <= 3": `"x + 0.0000001 <= 3": 3.0000001 is not ≤ 3`,
	} {
		c := must.Get(parseComparison(text, twoNumbers))(t)
		if got := c.explain([]float64{3, 5, 7}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Every identifier can be used in an expression, and nothing else that checkText allows parses as
// one name.
func TestIdentifiersAreThoseOfExpressions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x", "omega", "ω", "温度", "x_1", "_", "count", "len", "sum", "e", "duration", "größe"} {
		_, err := parseFormula(name+" + 1", variables{index: map[string]int{name: 0}})
		if !isIdentifier(name) || err != nil {
			t.Errorf("%q: identifier %v, in an expression: %v", name, isIdentifier(name), err)
		}
	}
	for _, name := range []string{"", "1x", "a b", "a-b", "in", "not", "and", "or", "true", "nil", "if", "let", "a.b", "é\u0301-"} {
		_, err := parseFormula(name, variables{index: map[string]int{name: 0}})
		if isIdentifier(name) || err == nil {
			t.Errorf("%q: identifier %v, in an expression: %v", name, isIdentifier(name), err)
		}
	}
}

func FuzzExpression(plain *testing.F) {
	f := mutation.Of(plain)
	for _, seed := range []string{"x + 1", "min(x, 2) <= 3", "1/x < ln(x)", "((((", "x^x^x^x >= 1e300", "\"", "x /* c */ + 1", "let", "::x", "x?.y", "a ? b", "0x1p", "not not x"} {
		f.Add(seed)
	}
	row := []float64{3, 5, 7}
	f.Fuzz(func(t *testing.T, text string) {
		if formula, err := parseFormula(text, twoNumbers); err == nil {
			formula(row)
		} else if err.Error() == "" {
			t.Errorf("%q is refused without a word", text)
		}
		if c, err := parseComparison(text, twoNumbers); err == nil {
			if _, _, defined := c.sides(row); c.holds(row, 0) && !defined {
				t.Errorf("%q holds where it has no value", text)
			}
		}
	})
}
