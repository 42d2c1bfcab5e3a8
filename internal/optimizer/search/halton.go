// Package search finds maxima without derivatives: space-filling points to start from, and a polish
// that follows kinks.
package search

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// haltonStream keeps the scrambling apart from other draws of the same seed.
const haltonStream = 0x68616c746f6e

// Halton returns n points of the scrambled Halton sequence in [0,1)^d. The same seed gives the same
// points, and fewer points are a prefix of more.
//
// See Owen (2017), A randomized Halton algorithm in R.
func Halton(n, d int, seed uint64) [][]float64 {
	points := make([][]float64, n)
	if n == 0 || d == 0 {
		return points
	}
	batch := mat.NewDense(n, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: rand.NewPCG(seed, haltonStream)}.Sample(batch)
	for i := range points {
		points[i] = batch.RawRowView(i)
	}
	return points
}
