package warp

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a warp of any power from 0 to 2.
func drawn(t *rapid.T) Warp {
	if rapid.Bool().Draw(t, "logarithmic") {
		return Warp{Centre: rapid.Float64Range(-3, 3).Draw(t, "centre"), Scale: rapid.Float64Range(0.1, 3).Draw(t, "scale"),
			Origin: rapid.Float64Range(-3, 3).Draw(t, "origin"), Unit: rapid.Float64Range(0.1, 3).Draw(t, "unit")}
	}
	return Warp{Power: rapid.OneOf(rapid.Float64Range(0, 2), rapid.SampledFrom([]float64{0, 1, 2})).Draw(t, "power"),
		Centre: rapid.Float64Range(-3, 3).Draw(t, "centre"), Scale: rapid.Float64Range(0.1, 10).Draw(t, "scale")}
}

// nowhere is the zero of readings that have none.
var nowhere = math.Inf(-1)

func TestPublishedValues(t *testing.T) {
	t.Parallel()
	// Written out from the definition of Yeo and Johnson.
	for _, c := range []struct{ z, power, want float64 }{
		{3, 0.5, 2}, {-3, 0.5, -14.0 / 3}, {3, 1.5, 14.0 / 3}, {-3, 1.5, -2}, {3, 0, math.Log(4)}, {-3, 2, -math.Log(4)}, {3, 2, 7.5}, {-3, 0, -7.5}, {-2, 1, -2},
	} {
		if got := psi(c.z, c.power); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("ψ of %g with power %g is %.15g, want %.15g", c.z, c.power, got, c.want)
		}
	}
}

func TestFromUndoesTo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, z := drawn(t), rapid.Float64Range(-1e3, 1e3).Draw(t, "z")
		if back := w.From(w.To(z)); math.Abs(back-z) > 1e-8*(1+math.Abs(z)) {
			t.Fatalf("%v takes %g to %g and back to %g", w, z, w.To(z), back)
		}
		if other := z + rapid.Float64Range(1e-3, 10).Draw(t, "more"); !(w.To(other) > w.To(z)) {
			t.Fatalf("%v does not rise from %g to %g", w, z, other)
		}
		const step = 1e-5
		slope := (w.To(z+step) - w.To(z-step)) / (2 * step)
		if got := w.Slope(z); math.Abs(got-slope) > 1e-4*(got+slope) {
			t.Fatalf("%v: slope at %g is %g, finite difference %g", w, z, got, slope)
		}
	})
}

func TestTheIdentityChangesNoBit(t *testing.T) {
	t.Parallel()
	for _, z := range []float64{-1e300, -0.1, 0, 1.0 / 3, 7e22} {
		if m, s := Identity.Moments(z, 0.3); Identity.To(z) != z || Identity.From(z) != z || Identity.Slope(z) != 1 || m != z || s != 0.3 {
			t.Errorf("%g does not stay", z)
		}
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	// With power 0 and a mean far above 0, w⁻¹ is e^u − 1 of a normal u: the moments of a
	// log-normal variable.
	m, s := Warp{Power: 0, Scale: 1}.Moments(4, 0.5)
	mean := math.Exp(4 + 0.125)
	if sd := mean * math.Sqrt(math.Exp(0.25)-1); math.Abs(m+1-mean) > 1e-9*mean || math.Abs(s-sd) > 1e-9*sd {
		t.Errorf("moments %g and %g, want %g and %g", m, s, mean-1, sd)
	}
	if m, s := (Warp{Power: 1, Centre: 0.2, Scale: 1.3}).Moments(0.7, 0.5); math.Abs(m-1.11) > 1e-12 || math.Abs(s-0.65) > 1e-12 {
		t.Errorf("moments of a straight line %g and %g, want 1.11 and 0.65", m, s)
	}
	// Against many draws, across the bend at 0.
	w := Warp{Power: 0.6, Centre: 0.2, Scale: 1.3}
	random := rand.New(rand.NewPCG(1, 2))
	const n = 400_000
	sum, squares := 0.0, 0.0
	for range n {
		z := w.From(-0.3 + 1.1*random.NormFloat64())
		sum += z / n
		squares += z * z / n
	}
	m, s = w.Moments(-0.3, 1.1)
	if sd := math.Sqrt(squares - sum*sum); math.Abs(m-sum) > 0.01 || math.Abs(s-sd) > 0.01 {
		t.Errorf("moments %g and %g, of many draws %g and %g", m, s, sum, sd)
	}
	if m, s := w.Moments(0.7, 0); math.Abs(m-w.From(0.7)) > 1e-12 || s > 1e-7 {
		t.Errorf("moments of a certain value %g and %g", m, s)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	bend := func(power float64) []float64 {
		z := make([]float64, 2000)
		for i := range z {
			z[i] = Warp{Power: power, Scale: 1}.From(random.NormFloat64())
		}
		return z
	}
	for _, power := range []float64{0.5, 0.8, 1, 1.3, 1.5} {
		z := bend(power)
		w := Fit(z, nowhere)
		if math.Abs(w.Power-power) > 0.15 {
			t.Errorf("readings bent with power %g are fitted with %g", power, w.Power)
		}
		mean, square := 0.0, 0.0
		for _, v := range z {
			mean += w.To(v) / 2000
			square += w.To(v) * w.To(v) / 2000
		}
		if math.Abs(mean) > 1e-12 || math.Abs(square-1) > 1e-12 {
			t.Errorf("warped readings have mean %g and mean square %g, want 0 and 1", mean, square)
		}
	}
	// Limits of the search, the prior, and readings that say nothing.
	if w := Fit(bend(0.1), nowhere); w.Power != 0.5 {
		t.Errorf("very skew readings are fitted with power %g, want the limit 0.5", w.Power)
	}
	if w := Fit([]float64{-1, 1}, nowhere); w.Power != 1 {
		t.Errorf("two readings are fitted with power %g, want 1", w.Power)
	}
	if w := Fit([]float64{-0.7, -0.7, 1.4}, nowhere); w.Power != 0.8 { // 0.5 without the prior
		t.Errorf("three readings, one apart, are fitted with power %g, want 0.8", w.Power)
	}
	if w := Fit([]float64{2, 2, 2}, nowhere); w != Identity {
		t.Errorf("equal readings are fitted with %v", w)
	}
}

// TestDecadesAreALogarithm: readings above zero that reach over decades are compared by their
// ratios, in any unit; readings of a narrow range, or of which one lies below zero, are not.
func TestDecadesAreALogarithm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var decades, narrow []float64
	for range 20 {
		decades = append(decades, math.Exp(4*random.NormFloat64()))
		narrow = append(narrow, 40+5*random.NormFloat64())
	}
	standard := func(values []float64) (z []float64, zero float64) {
		mean, square := 0.0, 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		for _, v := range values {
			square += (v - mean) * (v - mean) / float64(len(values))
		}
		for _, v := range values {
			z = append(z, (v-mean)/math.Sqrt(square))
		}
		return z, -mean / math.Sqrt(square)
	}
	for _, unit := range []float64{1, 1000, 1e-9} {
		values := make([]float64, len(decades))
		for i, v := range decades {
			values[i] = unit * v
		}
		z, zero := standard(values)
		w := Fit(z, zero)
		if !w.Logarithmic() {
			t.Fatalf("readings over decades are fitted with %+v", w)
		}
		for i := range z[1:] {
			if got, want := (w.To(z[i+1])-w.To(z[i]))*w.Scale, math.Log(values[i+1]/values[i]); math.Abs(got-want) > 1e-6 {
				t.Errorf("%g and %g lie %g apart, their logarithms %g", values[i], values[i+1], got, want)
			}
		}
		m, s := w.Moments(0.5, 0.25)
		if low, high := w.From(0.25), w.From(0.75); m != w.From(0.5) || math.Abs(s-(high-low)/2) > 1e-12*s {
			t.Errorf("a belief is said to be %g ± %g, its median is %g and the interval of two deviations from %g to %g", m, s, w.From(0.5), low, high)
		}
	}
	if z, zero := standard(narrow); Fit(z, zero).Logarithmic() {
		t.Error("a narrow range is compared by ratios")
	}
	if z, zero := standard(append(decades, -1e-3)); Fit(z, zero).Logarithmic() {
		t.Error("the logarithm of a reading below zero is taken")
	}
}

func TestNothingLeavesTheNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 20).Draw(t, "z")
		w := Fit(z, rapid.Float64Range(-2e3, 0).Draw(t, "zero"))
		mean, sd := rapid.Float64Range(-50, 50).Draw(t, "mean"), rapid.Float64Range(0, 20).Draw(t, "sd")
		m, s := w.Moments(mean, sd)
		for _, v := range []float64{w.Power, w.Centre, w.Scale, w.To(z[0]), w.From(mean), w.Slope(z[0]), m, s} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%v of %v: %g", w, z, v)
			}
		}
	})
}
