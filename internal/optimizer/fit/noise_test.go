package fit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/fit"
)

// replicated draws n readings at each setting, whose noise has these standard deviations.
func replicated(seed uint64, n int, deviations ...float64) (y []float64, settings []int) {
	random := rand.New(rand.NewPCG(seed, 8))
	for range n {
		for s, sd := range deviations {
			y, settings = append(y, float64(s)+sd*random.NormFloat64()), append(settings, s)
		}
	}
	return y, settings
}

func TestGroups(t *testing.T) {
	t.Parallel()
	y := []float64{1, 5, 9, 3, 7, 20, 4}
	got := fit.Groups(y, []int{0, 1, -1, 0, 4, 1, 0}, []float64{0, 0, 0, 0, 0, 0, 9})
	want := []fit.Group{{0, fit.Replicates{Freedom: 1, Squares: 2}}, {1, fit.Replicates{Freedom: 1, Squares: 112.5}}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNoiseThatIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	taken := 0
	for seed := range uint64(40) {
		y, settings := replicated(seed, 4, 0.3, 0.3, 0.3, 0.3, 0.3)
		noise := fit.FitNoise(fit.Groups(y, settings, make([]float64, len(y))), 0.1)
		if !math.IsInf(noise.Freedom, 1) {
			taken++
		}
		if at := noise.Of(fit.Replicates{Freedom: 3, Squares: 0.27}); at < 0.03 || at > 0.27 {
			t.Errorf("seed %d: noise variance %g, want about 0.09", seed, at)
		}
	}
	if taken > 2 {
		t.Errorf("noise of equal settings is taken to differ in %d of 40 studies", taken)
	}
}

func TestNoiseThatDiffers(t *testing.T) {
	t.Parallel()
	y, settings := replicated(1, 6, 0.02, 1.5, 0.9, 0.05, 1.2)
	groups := fit.Groups(y, settings, make([]float64, len(y)))
	noise := fit.FitNoise(groups, 0.8)
	if noise.Freedom > 2 {
		t.Fatalf("the noise is taken to be almost the same everywhere: %+v", noise)
	}
	for i, g := range groups {
		own, moderated := g.Squares/g.Freedom, noise.Of(g.Replicates)
		if !(moderated > min(own, noise.Typical) && moderated < max(own, noise.Typical)) {
			t.Errorf("setting %d: moderated variance %g is not between its own %g and the typical %g", i, moderated, own, noise.Typical)
		}
	}
	if quiet := noise.Of(groups[0].Replicates); quiet > 0.3*noise.Typical {
		t.Errorf("the quiet setting has variance %g, the typical is %g", quiet, noise.Typical)
	}
	if one := noise.Of(fit.Replicates{}); one != noise.Typical {
		t.Errorf("a setting with one reading has variance %g, not the typical %g", one, noise.Typical)
	}
	if none := noise.Of(fit.Replicates{Freedom: 1e9}); none != fit.LeastNoise {
		t.Errorf("a setting without any noise has variance %g, not the least", none)
	}
}

func TestAWrongReadingIsFound(t *testing.T) {
	t.Parallel()
	y, settings := replicated(3, 4, 0.1, 0.1, 0.1)
	if wrong := fit.Wrong(y, settings); sum(wrong) != 0 {
		t.Errorf("readings as they should be are taken for wrong: %v", wrong)
	}
	y[5] = 20
	wrong := fit.Wrong(y, settings)
	if d := math.Sqrt(wrong[5]); d < 17 || d > 19 || sum(wrong) != wrong[5] {
		t.Errorf("wrong readings %v, want the sixth by 18", wrong)
	}
	// Without replicates at its setting there is nothing that contradicts it.
	settings[5] = -1
	if wrong := fit.Wrong(y, settings); sum(wrong) != 0 {
		t.Errorf("a reading without replicates is taken for wrong: %v", wrong)
	}
}

// TestAReadingOfAnotherKindIsNotWrong has two settings among quiet ones where a reading comes out
// high, as from another place on the workpiece.
func TestAReadingOfAnotherKindIsNotWrong(t *testing.T) {
	t.Parallel()
	var y []float64
	var settings []int
	for s := range 14 {
		for n, v := range []float64{1.5, 1.4, 4.5, 1.55} {
			if s < 12 && n == 2 {
				v = 1.6
			}
			y, settings = append(y, v+0.01*float64(s)), append(settings, s)
		}
	}
	if wrong := fit.Wrong(y, settings); sum(wrong) != 0 {
		t.Errorf("honest readings are taken for wrong: %v", wrong)
	}
}

func sum(values []float64) float64 {
	s := 0.0
	for _, v := range values {
		s += v
	}
	return s
}
