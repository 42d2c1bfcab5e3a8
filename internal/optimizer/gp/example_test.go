package gp_test

import (
	"context"
	"fmt"
	"math"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// Readings 1 and 3 at 0.2 and 0.8: the mean passes close by them, and the deviation grows between.
func ExampleData_PredictMany() {
	k, err := kernel.New("matern52", []float64{0.3}, 4)
	if err != nil {
		panic(err)
	}
	places, readings := []float64{0.2, 0.8}, []float64{1, 3}
	data := gp.NewData(k)
	for _, x := range places {
		if err := data.Append([]float64{x}, 0.01); err != nil {
			panic(err)
		}
	}
	z := data.Whiten(nil, readings)
	at := kernel.InputsOf([][]float64{{0.2}, {0.5}, {0.8}})
	means, variances, err := data.PredictMany(context.Background(), at, [][]float64{z})
	if err != nil {
		panic(err)
	}
	for i, variance := range variances {
		fmt.Printf("at %.1f: %.2f ± %.2f\n", at.Row(i)[0], means[0][i], math.Sqrt(variance))
	}
	// Output:
	// at 0.2: 1.00 ± 0.10
	// at 0.5: 1.84 ± 1.44
	// at 0.8: 2.99 ± 0.10
}
