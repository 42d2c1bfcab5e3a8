package optimizer

import (
	"slices"
	"testing"
)

// What is free takes the values of a fit, what is given stays, and a model counts as fitted when
// nothing free was left out.
func TestAFitTakesForceWhereHyperparametersAreFree(t *testing.T) {
	t.Parallel()
	const given, fitted = 0.5, 0.1
	for _, c := range []struct {
		freeLengthscales, freeNoise bool
		fit                         FittedMetric
		lengthscale, lambda         float64
		fitted                      bool
	}{
		{true, true, FittedMetric{Lengthscales: []float64{fitted}, Lambda: fitted}, fitted, fitted, true},
		{true, false, FittedMetric{Lengthscales: []float64{fitted}, Lambda: fitted}, fitted, given, true},
		{true, false, FittedMetric{Lengthscales: []float64{fitted}}, fitted, given, true},
		{false, true, FittedMetric{Lengthscales: []float64{fitted}, Lambda: fitted}, given, fitted, true},
		{false, true, FittedMetric{Lambda: fitted}, given, fitted, true},
		{true, true, FittedMetric{Lambda: fitted}, given, fitted, false},
		{true, true, FittedMetric{Lengthscales: []float64{fitted}}, fitted, given, false},
		{true, true, FittedMetric{}, given, given, false},
		{true, false, FittedMetric{Lambda: fitted}, given, given, false},
		{false, false, FittedMetric{Lengthscales: []float64{fitted}, Lambda: fitted}, given, given, false},
	} {
		m := metricModel{kernel: Kernel{Lengthscales: []float64{given}}, lambda: given}
		m.apply(c.fit, Metric{FreeLengthscales: c.freeLengthscales, FreeNoise: c.freeNoise})
		if !slices.Equal(m.kernel.Lengthscales, []float64{c.lengthscale}) || m.lambda != c.lambda || m.fitted != c.fitted {
			t.Errorf("%+v\nℓ %v, λ %v, fitted %v", c, m.kernel.Lengthscales, m.lambda, m.fitted)
		}
	}
}

// TestTheInteractionOfAFit: one without it, since too little was read, leaves it as it was.
func TestTheInteractionOfAFit(t *testing.T) {
	t.Parallel()
	m, free := metricModel{kernel: Kernel{Name: "anova", Lengthscales: []float64{1}}}, Metric{FreeLengthscales: true}
	for i, c := range []struct{ fitted, want float64 }{{0, 0}, {0.3, 0.3}, {0, 0.3}, {0.6, 0.6}} {
		m.apply(FittedMetric{Lengthscales: []float64{1}, Interaction: c.fitted}, free)
		if m.kernel.Interaction != c.want {
			t.Errorf("after fit %d, with interaction %g, it is %g, want %g", i+1, c.fitted, m.kernel.Interaction, c.want)
		}
	}
	one, other := m.kernel, m.kernel
	if other.Interaction = 0.7; sameKernel(one, other) || !sameKernel(one, one) {
		t.Error("kernels of other interactions pass for the same")
	}
}
