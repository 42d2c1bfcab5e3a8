package problems

import (
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/must"
)

// armed is a problem of arms with these rewards and costs.
func armed(rewards []float64, costs [][]float64) *Instance {
	in := &Instance{Limits: make([]string, len(costs[0]))}
	for i := range rewards {
		in.Arms = append(in.Arms, []float64{float64(i)})
	}
	in.Reward = func(_ int, x []float64) float64 { return rewards[int(x[0])] }
	in.Costs = func(_ int, x, g []float64) { copy(g, costs[int(x[0])]) }
	return in
}

// bestOfTwo tries every pair of arms, mixed so that the only limit is just kept.
func bestOfTwo(rewards []float64, costs [][]float64) float64 {
	best := math.Inf(-1)
	for i, f := range rewards {
		if costs[i][0] <= 0 {
			best = math.Max(best, f)
		}
		for k, other := range rewards {
			if low, high := costs[k][0], costs[i][0]; low < 0 && high > 0 {
				share := -low / (high - low)
				best = math.Max(best, share*f+(1-share)*other)
			}
		}
	}
	return best
}

// TestMixture compares with every pair of arms where there is one limit, and with what is known
// where there are two.
func TestMixture(t *testing.T) {
	t.Parallel()
	mixture := func(rewards []float64, costs [][]float64) float64 {
		return must.Get(armed(rewards, costs).Mixture(1))(t)
	}
	random, mixed := rand.New(rand.NewPCG(4, 0)), 0
	for range 300 {
		n := 2 + random.IntN(60)
		rewards, costs := make([]float64, n), make([][]float64, n)
		unit := math.Pow(10, float64(random.IntN(19)-9)) // of the limit
		for i := range n {
			rewards[i], costs[i] = random.NormFloat64(), []float64{unit * (0.5 + random.NormFloat64())}
		}
		costs[random.IntN(n)][0] = -unit * random.Float64()
		got, want := mixture(rewards, costs), bestOfTwo(rewards, costs)
		if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
			t.Fatalf("rewards %v, costs %v: the best mixture is worth %v, and that of two %v", rewards, costs, got, want)
		}
		if best, _ := armed(rewards, costs).bestArm(1); want > best.Value {
			mixed++
		}
	}
	if mixed < 50 {
		t.Errorf("only %d of 300 mix", mixed)
	}
	// A third each of the first three: no two of them keep both limits.
	if got := mixture([]float64{3, 3, 0, -30}, [][]float64{{2, -1}, {-1, 2}, {-1, -1}, {-9, -9}}); math.Abs(got-2) > 1e-12 {
		t.Errorf("with two limits it is worth %v, want 2", got)
	}
	if got := mixture([]float64{1, 5}, [][]float64{{0}, {0}}); got != 5 {
		t.Errorf("where nothing breaks a limit it is worth %v, want 5", got)
	}
	if got := mixture([]float64{1, 5}, [][]float64{{}, {}}); got != 5 {
		t.Errorf("without limits it is worth %v, want 5", got)
	}
	// Its limits are in units from inches to pounds per square inch, and some arms far beyond them.
	if _, err := must.Get(must.Get(must.Get(Find("welded-beam"))(t).New(1, nil, nil))(t).Grid(4))(t).Mixture(1); err != nil {
		t.Error(err)
	}
	if _, err := armed([]float64{1, 2}, [][]float64{{1}, {2}}).Mixture(1); err == nil {
		t.Error("nothing keeps the limit")
	}
}

// BenchmarkMixture is the largest grid that can be played.
func BenchmarkMixture(b *testing.B) {
	p := must.Get(Find("sine-pocket"))(b)
	in, err := p.New(1, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	if in, err = in.Grid(447); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		must.Get(in.Mixture(1))(b)
	}
}
