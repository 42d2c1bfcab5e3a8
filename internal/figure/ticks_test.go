package figure

import (
	"slices"
	"testing"

	"gonum.org/v1/plot"
)

func labels(ticks []plot.Tick) (list []string) {
	for _, tick := range ticks {
		if tick.Label != "" {
			list = append(list, tick.Label)
		}
	}
	return list
}

// Numbers on an axis have the same decimals, a true minus, and a power of ten where they are very large or small; none is written with an e.
func TestNumbersOnAnAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      []string
	}{
		{numbers{}, 40, 84, []string{"40", "50", "60", "70", "80"}},
		{numbers{}, -0.003, 0.061, []string{"0.00", "0.02", "0.04", "0.06"}},
		{numbers{}, -125, 130, []string{"−100", "−50", "0", "50", "100"}},
		{numbers{}, 0, 9.3e-7, []string{"0", "2×10⁻⁷", "4×10⁻⁷", "6×10⁻⁷", "8×10⁻⁷"}},
		{numbers{}, 1e20, 1e20 + 1e5, nil},
		{powers{}, 0.1, 10, []string{"0.1", "1", "10"}},
		{powers{}, 0.3, 3, []string{"0.5", "1", "2"}},
		{powers{}, 2, 5, []string{"2.0", "2.5", "3.0", "3.5", "4.0", "4.5", "5.0"}},
		{numbers{}, 0, 3e-307, []string{"0.0", "0.5×10⁻³⁰⁷", "1.0×10⁻³⁰⁷", "1.5×10⁻³⁰⁷", "2.0×10⁻³⁰⁷", "2.5×10⁻³⁰⁷", "3.0×10⁻³⁰⁷"}},
		{numbers{}, 0, 1e-322, []string{"0"}},
		{powers{}, 1e-200, 1e90, []string{"1×10⁻²⁰⁰", "1×10⁻¹⁷⁵", "1×10⁻¹⁵⁰", "1×10⁻¹²⁵", "1×10⁻¹⁰⁰", "1×10⁻⁷⁵", "1×10⁻⁵⁰", "1×10⁻²⁵", "1", "1×10²⁵", "1×10⁵⁰", "1×10⁷⁵"}},
		{powers{}, 1e-6, 1e-3, []string{"1×10⁻⁶", "1×10⁻⁵", "0.0001", "0.001"}},
	} {
		if got := labels(c.ticker.Ticks(c.low, c.high)); c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
