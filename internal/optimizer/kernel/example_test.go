package kernel_test

import (
	"fmt"

	"headroom/internal/optimizer/kernel"
)

// What is a lengthscale away is half as like, and what is three of them away hardly.
func ExampleFunction_At() {
	k, err := kernel.New("matern52", []float64{0.2}, 1)
	if err != nil {
		panic(err)
	}
	for _, x := range []float64{0.5, 0.7, 1.1} {
		fmt.Printf("%.3f\n", k.At([]float64{0.5}, []float64{x}))
	}
	// Output:
	// 1.000
	// 0.524
	// 0.028
}
