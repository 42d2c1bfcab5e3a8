package factor

import "math"

// DropFirst removes the first row and column of A in O(n²). With L = [l₀₀ 0; l M], the rest of A is
// M Mᵀ + l lᵀ, and the new factor comes from M by rotating l into it (Golub & Van Loan, Matrix
// Computations, 6.5.4). It agrees with the factor worked out from nothing to rounding, not to the
// bit. Prefixes taken before keep the rows they have.
func (c *Cholesky) DropFirst() {
	n := c.Len() - 1
	if n < 0 {
		panic("factor: nothing to drop")
	}
	rows := make([][]float64, n)
	cosines, sines := make([]float64, n), make([]float64, n)
	for i := range rows {
		old := c.Row(i + 1)
		row := make([]float64, i+1)
		l := old[0]
		for k, m := range old[1 : i+1] {
			row[k] = math.FMA(cosines[k], m, float64(sines[k]*l))
			l = math.FMA(cosines[k], l, -float64(sines[k]*m))
		}
		diagonal := math.Sqrt(math.FMA(l, l, float64(old[i+1]*old[i+1])))
		row[i] = diagonal
		cosines[i], sines[i] = old[i+1]/diagonal, l/diagonal
		rows[i] = row
	}
	c.rows = rows
}
