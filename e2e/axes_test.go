package e2e

import (
	"fmt"
	"slices"
	"testing"
)

// checkTicks asks a page whose charts are drawn how it writes the ticks of logarithmic axes: also where no power of ten lies between their ends.
func checkTicks(t *testing.T, p *tab) {
	t.Helper()
	for axis, want := range map[string][]string{
		`{domain: [6, 9]}`:                   {"6", "7", "8", "9"},
		`{domain: [1, 10]}`:                  {"1", "2", "5", "10"},
		`{domain: [1e-6, 1e-2]}`:             {"10⁻⁶", "10⁻⁴", "10⁻²"},
		`{domain: [1e-4, 1e-2], plain: 1}`:   {"0.0001", "0.001", "0.01"},
		`{domain: [1e-7, 1.5e-6]}`:           {"1×10⁻⁷", "2×10⁻⁷", "5×10⁻⁷", "1×10⁻⁶"},
		`{domain: [20000, 60000]}`:           {"20\u202f000", "50\u202f000"},
		`{domain: [2.4e7, 2.6e7], ticks: 2}`: {"2.4×10⁷", "2.5×10⁷", "2.6×10⁷"},
	} {
		got := ask[[]string](p, fmt.Sprintf(`((axis) => plots.ticksOf(axis, plots.scaleOf(axis, axis.domain, [0, 300]), axis.ticks ?? 4).map(([, words]) => words))({log: true, ...%s})`, axis))
		if !slices.Equal(got, want) {
			t.Errorf("an axis %s has the ticks %q, want %q", axis, got, want)
		}
	}
}
