package words

import (
	"math"
	"testing"

	"headroom/internal/study/design"
)

func TestNumbersAsPagesShowThem(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{
		0: "0", 71.25: "71.25", -3: "−3", 12345.6: "12\u202f345.6", 1.5e-7: "1.5\u202f×\u202f10⁻⁷", -2e12: "−2\u202f×\u202f10¹²", 5e-324: "5\u202f×\u202f10⁻³²⁴", 1e100: "1\u202f×\u202f10¹⁰⁰",
		0.0004: "0.0004", math.NaN(): "–", math.Inf(1): "–", 999999: "999\u202f999",
	} {
		if got := Number(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	if got, want := Uncertain(3.14e-9, 2.6e-10, "m"), "(3.14 ± 0.26)\u202f×\u202f10⁻⁹\u202fm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Uncertain(1e-300, 2e10, "m"), "(0.0 ± 2.0)\u202f×\u202f10¹⁰\u202fm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Rough(1.2345e-307), "1.23\u202f×\u202f10⁻³⁰⁷"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p := design.Parameter{Name: "x", Type: design.Real, Low: new(1e-200), High: new(3e-200)}
	if got, want := Setting(p, design.NumberValue(1.5e-200)), "1.5\u202f×\u202f10⁻²⁰⁰"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, at := range []struct {
		x, sd float64
		want  string
	}{
		{0.5, 1e-300, "0.5000000000000000"}, {71.23, 1.9, "71.2"}, {1.67055e11, 2.2e10, "1.67\u202f×\u202f10¹¹"}, {2.17479e10, 2.17479e10, "2.2\u202f×\u202f10¹⁰"},
		{-4e-6, 0.5, "0.0"}, {3e-7, 5e-6, "0\u202f×\u202f10⁻⁶"}, {1.67055e11, 0, "1.67055\u202f×\u202f10¹¹"},
	} {
		if got := Alike(at.sd)(at.x); got != at.want {
			t.Errorf("%v ± %v is written %q, want %q", at.x, at.sd, got, at.want)
		}
	}
	if got := Unsubtracted(3e-324, 5e-324); got != 5e-324 {
		t.Errorf("the smallest difference became %v", got)
	}
	if got, want := Uncertain(71.23, 1.9, "%"), "71.2 ± 1.9\u202f%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSettingsAreReadAtAGlance: nobody counts the zeros of a concentration, and a whole number keeps
// its digits.
func TestSettingsAreReadAtAGlance(t *testing.T) {
	t.Parallel()
	low, high, step := 1e-9, 1e-3, 1e-6
	salt := design.Parameter{Name: "salt", Type: design.Real, Low: &low, High: &high, Scale: "log"}
	stepped := design.Parameter{Name: "dose", Type: design.Real, Low: new(0.0), High: &high, Step: &step}
	share := design.Parameter{Name: "share", Type: design.Real, Low: new(0.0), High: new(1.0)}
	cells := design.Parameter{Name: "cells", Type: design.Integer, Low: new(1.0), High: new(1e9)}
	for _, at := range []struct {
		p    design.Parameter
		x    float64
		want string
	}{
		{salt, 4.66055723872e-7, "4.661\u202f×\u202f10⁻⁷"}, {salt, 0.00012346, "0.0001235"}, {stepped, 4.7e-5, "4.7\u202f×\u202f10⁻⁵"}, {stepped, 0, "0"},
		{share, 0.00002, "0"}, {cells, 12345678, "12\u202f345\u202f678"},
	} {
		if got := Setting(at.p, design.NumberValue(at.x)); got != at.want {
			t.Errorf("%s of %v is written %q, want %q", at.p.Name, at.x, got, at.want)
		}
	}
}

// TestColumnsHaveEquallyManyDecimals: trailing zeros are kept, so that figures stand under each
// other.
func TestColumnsHaveEquallyManyDecimals(t *testing.T) {
	t.Parallel()
	show := Column([]float64{60.25, 71.2, 80})
	for x, want := range map[float64]string{71.2: "71.20", 80: "80.00", 60.25: "60.25", 3e-8: "3\u202f×\u202f10⁻⁸", 0: "0.00"} {
		if got := show(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}

// TestColumnsOfALogScaleHaveEquallyManyDigits: trailing zeros are kept there, too.
func TestColumnsOfALogScaleHaveEquallyManyDigits(t *testing.T) {
	t.Parallel()
	low, high := 0.01, 1000.0
	p := design.Parameter{Name: "flow", Type: design.Real, Low: &low, High: &high, Scale: "log"}
	show := Settings(p, nil)
	for x, want := range map[float64]string{1.9: "1.900", 0.1306: "0.1306", 52.5: "52.50", 100: "100.0"} {
		if got := show(design.Value{Number: x}); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}
