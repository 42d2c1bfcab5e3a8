package fit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// byDefinition is farthest, looking at every reading's others anew.
func byDefinition(y []float64, settings []int, wrong []float64) (reading int, square float64) {
	reading = -1
	for i := range y {
		var others []float64
		for j, other := range y {
			if j != i && settings[j] == settings[i] && wrong[j] == 0 {
				others = append(others, other)
			}
		}
		slices.Sort(others)
		n := len(others)
		if settings[i] < 0 || wrong[i] > 0 || n < 2 {
			continue
		}
		if d := y[i] - (others[(n-1)/2]+others[n/2])/2; d*d > square {
			reading, square = i, d*d
		}
	}
	return reading, square
}

func TestFarthest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		n := random.IntN(20)
		y, settings, wrong := make([]float64, n), make([]int, n), make([]float64, n)
		for i := range y {
			y[i], settings[i] = float64(random.IntN(8)), random.IntN(4)-1 // with equals among them
			if random.IntN(8) == 0 {
				wrong[i] = 1
			}
		}
		reading, square := farthest(y, settings, wrong)
		if wantReading, want := byDefinition(y, settings, wrong); reading != wantReading || square != want {
			t.Fatalf("of %v at %v, wrong %v, reading %d lies farthest by %g, want %d by %g", y, settings, wrong, reading, square, wantReading, want)
		}
	}
}

// BenchmarkWrong looks for wrong readings among ten thousand of a hundred settings.
func BenchmarkWrong(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	y, settings := make([]float64, 10_000), make([]int, 10_000)
	for i := range y {
		y[i], settings[i] = random.NormFloat64(), i%100
	}
	for b.Loop() {
		Wrong(y, settings)
	}
}
