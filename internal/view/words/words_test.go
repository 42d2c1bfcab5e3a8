package words

import (
	"strings"
	"testing"
	"time"

	"headroom/internal/study/design"
)

func TestNumbersAsPagesShowThem(t *testing.T) {
	t.Parallel()
	if got, want := Uncertain(3.14e-9, 2.6e-10, "m"), "(3.14\u202f±\u202f0.26)\u202f×\u202f10⁻⁹\u202fm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Uncertain(1e-300, 2e10, "m"), "(0.0\u202f±\u202f2.0)\u202f×\u202f10¹⁰\u202fm"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Rough(1.2345e-307), "1.23\u202f×\u202f10⁻³⁰⁷"; got != want {
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
	for unit, want := range map[string]string{"%": "1.5\u202fpoints, 1\u202fpoint, −1\u202fpoint", "bar": "1.5\u202fbar, 1\u202fbar, −1\u202fbar", "": "1.5, 1, −1"} {
		if got := RoughlyApart(1.5, unit) + ", " + Apart("1", unit) + ", " + Apart("−1", unit); got != want {
			t.Errorf("what lies apart in %s is written %q, want %q", unit, got, want)
		}
	}
	if got, want := Uncertain(71.23, 1.9, "%"), "71.2\u202f±\u202f1.9\u202f%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAValueStaysWithItsUnit: no line ends between them, nor at its ±, also in sentences that
// decisions have kept; only a unit of many letters may be below its value.
func TestAValueStaysWithItsUnit(t *testing.T) {
	t.Parallel()
	units := []string{"", "%", "°C", "mol %", "h", "1/m³", "micromole per litre and minute"}
	for sentence, want := range map[string]string{
		"Trial 2 tries 47 °C: yield 80 ± 7 % (limit 5 mol %), as (1.9 ± 1.3)\u202f×\u202f10¹¹ 1/m³.": "Trial 2 tries 47_°C: yield 80_±_7_% (limit 5_mol_%), as (1.9_±_1.3)_×_10¹¹_1/m³.",
		"Trial 5 has 3 h, trial 12 3 hours.":                                                  "Trial 5 has 3_h, trial 12 3 hours.",
		"It is over 99 %, 3 micromole per litre and minute. Here ± holds two times in three.": "It is over 99_%, 3_micromole per litre and minute. Here ± holds two times in three.",
	} {
		if got := strings.ReplaceAll(Whole(sentence, units), Thin, "_"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := Limit(design.Constraint{Op: "<=", Threshold: 0.5, Unit: "%"}), "≤\u202f0.5\u202f%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Quantity(0.37, "mol %"), "0.37\u202fmol\u202f%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestColumnsHaveEquallyManyDecimals: trailing zeros are kept, so that figures stand under each
// other.
func TestColumnsHaveEquallyManyDecimals(t *testing.T) {
	t.Parallel()
	show := Column([]float64{60.25, 71.2, 80, 3e-8, 2.75e-9})
	for x, want := range map[float64]string{71.2: "71.20", 80: "80.00", 60.25: "60.25", 3e-8: "3.00\u202f×\u202f10⁻⁸", 2.75e-9: "2.75\u202f×\u202f10⁻⁹", 0: "0.00"} {
		if got := show(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	for _, close := range [][3]float64{{1e12, 1e12 + 0.001, 1e12 + 0.003}, {10.00000123456, 10.00000123461, 10.00000123459}, {123456.7891234, 123456.7892345, 123456.7901}} {
		show := Column(close[:])
		if show(close[0]) == show(close[1]) || show(close[1]) == show(close[2]) {
			t.Errorf("%v are written %s, %s and %s", close, show(close[0]), show(close[1]), show(close[2]))
		}
	}
	if got := Column([]float64{1.0 / 3, 2.0 / 3, 100.25})(1.0 / 3); got != "0.333333" {
		t.Errorf("a third is written %s beside others that differ", got)
	}
	if got := Terse(Percent(0.9999) + ", " + Percent(0.0001)); got != ">99\u202f%, <1\u202f%" {
		t.Errorf("chances in a cell are written %q", got)
	}
	low, high := 0.0, 1e-4
	p := design.Parameter{Name: "salt", Type: design.Real, Low: &low, High: &high}
	if got, want := Settings(p, []design.Value{{Number: 5e-5}, {Number: 1.25e-5}, {Number: 0.0001234}})(design.Value{Number: 5e-5}), "5.00\u202f×\u202f10⁻⁵"; got != want {
		t.Errorf("a setting is written %q, want %q", got, want)
	}
}

// TestColumnsOfALogScaleHaveEquallyManyDigits: trailing zeros are kept there, too.
func TestColumnsOfALogScaleHaveEquallyManyDigits(t *testing.T) {
	t.Parallel()
	low, high := 0.01, 1000.0
	p := design.Parameter{Name: "flow", Type: design.Real, Low: &low, High: &high, Scale: "log"}
	show := Settings(p, nil)
	for x, want := range map[float64]string{1.9: "1.900", 0.1306: "0.1306", 52.5: "52.50", 100: "100.0", 2e-5: "2.000\u202f×\u202f10⁻⁵"} {
		if got := show(design.Value{Number: x}); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}

// TestAgo: what has happened is not to come, whichever clock wrote when; and what ends in so long is not a
// minute short of it a moment later.
func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 14, 2, 0, 0, time.UTC)
	for away, want := range map[time.Duration]string{
		-2 * time.Minute: "just now", -time.Millisecond: "just now", 10 * time.Second: "just now", 90 * time.Minute: "1\u202fh ago",
	} {
		if got := Ago(now.Add(-away), now); got != want {
			t.Errorf("%v ago: %q, want %q", away, got, want)
		}
	}
	for away, want := range map[time.Duration]string{
		7*24*time.Hour - time.Second: "in 7\u202fd", 10*time.Minute - 5*time.Second: "in 10\u202fmin", 30 * time.Second: "in 1\u202fmin",
		-90 * time.Minute: "1\u202fh ago",
	} {
		if got := Until(now.Add(away), now); got != want {
			t.Errorf("%v ahead: %q, want %q", away, got, want)
		}
	}
}

// TestClock: what stands in a list says its day where that is another, and of another year the year.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{"08:15 UTC": now.Add(-45 * time.Minute), "28 Feb 23:59 UTC": now.Add(-9*time.Hour - time.Minute), "1 Mar 2025 09:00 UTC": now.AddDate(-1, 0, 0)} {
		if got := Clock(at.In(time.FixedZone("", 7200)), now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
