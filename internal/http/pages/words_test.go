package pages

import "testing"

func TestNumbersAsPagesShowThem(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{
		0: "0", 71.25: "71.25", -3: "−3", 12345.6: "12\u202f345.6", 1.5e-7: "1.5\u202f×\u202f10⁻⁷", -2e12: "−2\u202f×\u202f10¹²", 0.0004: "0.0004", 999999: "999\u202f999",
	} {
		if got := number(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	if got, want := uncertain(3.14e-9, 2.6e-10, "m"), "(3.14 ± 0.26)\u202f×\u202f10⁻⁹\u202fm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := uncertain(71.23, 1.9, "%"), "71.2 ± 1.9\u202f%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestColumnsHaveEquallyManyDecimals: trailing zeros are kept, so that figures stand under each other.
func TestColumnsHaveEquallyManyDecimals(t *testing.T) {
	t.Parallel()
	show := column([]float64{60.25, 71.2, 80})
	for x, want := range map[float64]string{71.2: "71.20", 80: "80.00", 60.25: "60.25", 3e-8: "3\u202f×\u202f10⁻⁸", 0: "0.00"} {
		if got := show(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}
