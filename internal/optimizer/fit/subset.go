package fit

import "math"

// subset returns which readings take part in a fit, in order: all of them up to MostPoints. Of
// more, the latest half of MostPoints, which lie where the study looks now and often close
// together, so they tell the noise; and, from the earlier ones, those farthest from all chosen so
// far in prior lengthscales, one after another, which tell the lengthscales.
func subset(inputs [][]float64, medians []float64, dims []int) []int {
	n := len(inputs)
	chosen := make([]bool, n)
	distance := make([]float64, n) // squared, to the nearest chosen
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	choose := func(i int) {
		chosen[i] = true
		for j, x := range inputs {
			sum := 0.0
			for c, v := range x {
				d := (v - inputs[i][c]) / medians[dims[c]]
				sum += d * d
			}
			distance[j] = min(distance[j], sum)
		}
	}
	if n <= MostPoints {
		for i := range chosen {
			chosen[i] = true
		}
	} else {
		earlier := n - MostPoints/2
		for i := earlier; i < n; i++ {
			choose(i)
		}
		for range MostPoints - MostPoints/2 {
			farthest := -1
			for i := range earlier {
				if !chosen[i] && (farthest < 0 || distance[i] > distance[farthest]) {
					farthest = i
				}
			}
			choose(farthest)
		}
	}
	var order []int
	for i, take := range chosen {
		if take {
			order = append(order, i)
		}
	}
	return order
}
