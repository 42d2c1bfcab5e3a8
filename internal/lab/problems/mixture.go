package problems

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// Mixture is what the best mixture of arms is worth in round t, E_π* f of Zhou and Ji (2022,
// Section 2), with which their regret R₊ compares: the linear program
//
//	max Σ_i π_i f(x_i)   over   π ≥ 0, Σ_i π_i = 1, Σ_i π_i g_j(x_i) ≤ 0 for all j,
//
// solved by the simplex method. It is at least the value of the best arm within the limits, and
// needs one arm more than there are limits at most. There has to be an arm within all limits.
func (in *Instance) Mixture(t int) (float64, error) {
	best, err := in.bestArm(t)
	if err != nil {
		return 0, err
	}
	n, m := len(in.Arms), len(in.Limits)
	share, loss := mat.NewDense(1+m, n+m, nil), make([]float64, n+m)
	total, basis := make([]float64, 1+m), []int{0}
	total[0] = 1
	for i, x := range in.Arms {
		loss[i] = best.Value - in.Reward(t, x)
		share.Set(0, i, 1)
		for j, g := range in.CostsAt(t, x) {
			share.Set(1+j, i, g)
		}
		if slices.Equal(x, best.Point) {
			basis[0] = i
		}
	}
	for j := range m {
		row := share.RawRowView(1 + j)
		if largest := max(slices.Max(row), -slices.Min(row)); largest > 0 {
			for i := range n {
				row[i] /= largest
			}
		}
		row[n+j] = 1 // what is left of the limit
		basis = append(basis, n+j)
	}
	gain, _, err := lp.Simplex(loss, share, total, 0, basis)
	if err != nil {
		return 0, fmt.Errorf("the best mixture of %d arms: %w", n, err)
	}
	return best.Value + math.Max(-gain, 0), nil
}
