package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"headroom/internal/must"
)

// TestAroundHasTheCurvatureOfThePosterior: with one θ free its draws are normal about the mode with
// one over the second derivative of the negative log posterior as variance, which the posterior
// itself tells; z and −z come in pairs.
func TestAroundHasTheCurvatureOfThePosterior(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	problem := Problem{Kernel: "matern52", Dims: []int{0}, Median: []float64{0.3}, FreeNoise: true, Start: Hyperparameters{Lengthscales: []float64{0.3}}}
	for i := range 40 {
		x := float64(i) / 39
		problem.Inputs, problem.Y = append(problem.Inputs, []float64{x}), append(problem.Y, math.Sin(6*x)+0.2*random.NormFloat64())
	}
	mode := must.Get(MAP(t.Context(), problem))(t)
	at := func(logLambda float64) float64 {
		moved := problem
		moved.Start.Lambda = math.Exp(logLambda)
		worth, err := LogPosteriors(moved, [][]float64{problem.Y})
		if err != nil || worth == nil {
			t.Fatal(err)
		}
		return -worth[0]
	}
	const step = 0.05
	centre := math.Log(mode.Lambda)
	curvature := (at(centre+step) - 2*at(centre) + at(centre-step)) / (step * step)
	problem.Start.Lambda = mode.Lambda
	drawn, err := Around(problem, 400, random.NormFloat64)
	if err != nil || len(drawn) != 400 {
		t.Fatalf("%d draws, %v", len(drawn), err)
	}
	var logs []float64
	for i, d := range drawn {
		logs = append(logs, math.Log(d.Lambda))
		if d.Lengthscales[0] != 0.3 {
			t.Fatalf("the lengthscale is fixed, and became %g", d.Lengthscales[0])
		}
		if i%2 == 1 && math.Abs(logs[i]+logs[i-1]-2*centre) > 1e-9 {
			t.Fatalf("draws %g and %g do not lie about the mode %g", logs[i-1], logs[i], centre)
		}
	}
	if _, sd := stat.MeanStdDev(logs, nil); math.Abs(sd*math.Sqrt(curvature)-1) > 0.1 {
		t.Errorf("ln λ scatters by %g, want %g", sd, 1/math.Sqrt(curvature))
	}
}
