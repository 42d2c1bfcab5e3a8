package factor_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
)

// definite is a random well-conditioned positive definite matrix, lower triangle.
func definite(random *rand.Rand, n int) [][]float64 {
	rows, points := make([][]float64, n), make([]float64, n)
	for i := range rows {
		points[i] = random.Float64()
		rows[i] = make([]float64, i+1)
		for j := range rows[i] {
			rows[i][j] = math.Exp(-math.Abs(points[i]-points[j]) * 3)
		}
		rows[i][i] += 0.1
	}
	return rows
}

func draw(t *rapid.T) (*rand.Rand, int) {
	seed := rapid.Uint64().Draw(t, "seed")
	return rand.New(rand.NewPCG(seed, 1)), rapid.IntRange(1, 130).Draw(t, "n")
}

func factorOf(t rapid.TB, rows [][]float64) *factor.Cholesky {
	t.Helper()
	c := must.Get(factor.New(rows))(t)
	return c
}

func sameBits(t rapid.TB, what string, got, want *factor.Cholesky) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Fatalf("%s: %d rows, want %d", what, got.Len(), want.Len())
	}
	for i := range want.Len() {
		if !slices.Equal(got.Row(i), want.Row(i)) {
			t.Fatalf("%s: row %d is %v, want %v", what, i, got.Row(i), want.Row(i))
		}
	}
}

func TestFactorMatchesGonum(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 5, 47, 48, 49, 150} {
		rows := definite(rand.New(rand.NewPCG(3, uint64(n))), n)
		symmetric := mat.NewSymDense(n, nil)
		for i, row := range rows {
			for j, v := range row {
				symmetric.SetSym(i, j, v)
			}
		}
		var reference mat.Cholesky
		if !reference.Factorize(symmetric) {
			t.Fatal("not positive definite")
		}
		var lower mat.TriDense
		reference.LTo(&lower)
		var inverse mat.SymDense
		must.Do(t, reference.InverseTo(&inverse))
		c, got := factorOf(t, rows), make([][]float64, n)
		for i := range got {
			got[i] = make([]float64, i+1)
		}
		c.Inverse(got, factor.Square(n))
		units := make([][]float64, n)
		for i := range n {
			units[i] = make([]float64, n)
			units[i][i] = 1
			c.SolveLower(units[i], units[i])
			for j := range i + 1 {
				if want := factor.Dot(units[i], units[j]); got[i][j] != want {
					t.Fatalf("n=%d: inverse[%d,%d] = %v, of columns one by one %v", n, i, j, got[i][j], want)
				}
				if !(math.Abs(c.Row(i)[j]-lower.At(i, j)) <= 1e-12) {
					t.Fatalf("n=%d: L[%d,%d] = %.15g, want %.15g", n, i, j, c.Row(i)[j], lower.At(i, j))
				}
				if !(math.Abs(got[i][j]-inverse.At(i, j)) <= 1e-10) {
					t.Fatalf("n=%d: inverse[%d,%d] = %.15g, want %.15g", n, i, j, got[i][j], inverse.At(i, j))
				}
			}
		}
	}
}

func TestAppendingInAnyBlocksGivesTheSameBits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		rows := definite(random, n)
		whole := factorOf(t, rows)
		var single, blocks factor.Cholesky
		for _, row := range rows {
			must.Do(t, single.Append(row))
		}
		for rest := rows; len(rest) > 0; {
			height := rapid.IntRange(1, len(rest)).Draw(t, "block")
			must.Do(t, blocks.Adopt(t.Context(), copied(rest[:height])))
			rest = rest[height:]
		}
		sameBits(t, "one by one", &single, whole)
		sameBits(t, "in blocks", &blocks, whole)
	})
}

func TestSolves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		c := factorOf(t, definite(random, n))
		many := make([][]float64, rapid.IntRange(1, 60).Draw(t, "right-hand sides"))
		given := make([][]float64, len(many))
		for r := range many {
			given[r] = make([]float64, rapid.IntRange(0, n).Draw(t, "length"))
			for i := range given[r] {
				given[r][i] = random.NormFloat64()
			}
			many[r] = slices.Clone(given[r])
		}
		must.Do(t, c.SolveLowerMany(t.Context(), many))
		level := make([][]float64, len(given))
		for r := range level {
			level[r] = make([]float64, n)
			copy(level[r], given[r])
		}
		must.Do(t, c.SolveUpperMany(t.Context(), level))
		for r, b := range given {
			whole := make([]float64, n)
			copy(whole, b)
			c.SolveUpper(whole, whole)
			if !slices.Equal(whole, level[r]) {
				t.Fatalf("right-hand side %d of Lᵀ: many %v, alone %v", r, level[r], whole)
			}
			if each := upwards(c, b, n); !slices.Equal(whole, each) {
				t.Fatalf("right-hand side %d of Lᵀ: %v, an entry at a time %v", r, whole, each)
			}
			v := make([]float64, len(b))
			c.SolveLower(v, b)
			if !slices.Equal(v, many[r]) {
				t.Fatalf("right-hand side %d: many %v, alone %v", r, many[r], v)
			}
			from := rapid.IntRange(0, len(b)).Draw(t, "from")
			resumed := make([]float64, len(b))
			copy(resumed, v[:from])
			c.SolveLowerFrom(resumed, b, from)
			if !slices.Equal(resumed, v) {
				t.Fatalf("resumed at %d: %v, want %v", from, resumed, v)
			}
			x := make([]float64, len(b))
			c.SolveUpper(x, b)
			for i := range b {
				lower, upper := 0.0, 0.0
				for k := range i + 1 {
					lower += c.Row(i)[k] * v[k]
				}
				for k := i; k < len(b); k++ {
					upper += c.Row(k)[i] * x[k]
				}
				if !(math.Abs(lower-b[i]) <= 1e-10) || !(math.Abs(upper-b[i]) <= 1e-10) {
					t.Fatalf("(L v)[%d] = %g, (Lᵀ x)[%d] = %g, want %g", i, lower, i, upper, b[i])
				}
			}
		}
	})
}

// upwards solves Lᵀ x = b, zeros following b, in the order that SolveUpper says.
func upwards(c *factor.Cholesky, b []float64, n int) []float64 {
	x := make([]float64, n)
	copy(x, b)
	for i := n - 1; i >= 0; i-- {
		x[i] /= c.Row(i)[i]
		for k := range i {
			x[k] = math.FMA(-x[i], c.Row(i)[k], x[k])
		}
	}
	return x
}

func TestPrefixIsTheFactorOfTheLeadingBlock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		rows, other := definite(random, n), definite(random, n)
		c := factorOf(t, rows)
		m := rapid.IntRange(0, n).Draw(t, "prefix")
		prefix := c.Prefix(m)
		sameBits(t, "prefix", prefix, factorOf(t, rows[:m]))
		// The prefix goes another way; the factor it came from must not notice.
		branch := append(slices.Clone(rows[:m]), other[m:]...)
		lifted := slices.Clone(branch)
		for i := m; i < n; i++ {
			lifted[i] = slices.Clone(branch[i])
			lifted[i][i] += 20 * float64(n*n) // the two halves come from different matrices
		}
		must.Do(t, prefix.Adopt(t.Context(), copied(lifted[m:])))
		sameBits(t, "branch", prefix, factorOf(t, lifted))
		sameBits(t, "trunk", c, factorOf(t, rows))
	})
}

func TestRefusedRowsLeaveTheFactorUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		rows := definite(random, n+1)
		c := factorOf(t, rows[:n])
		more := [][]float64{slices.Clone(rows[n]), append(slices.Clone(rows[n]), rows[n][n])}
		more[1][n+1] -= rapid.SampledFrom([]float64{0.5, 1e9, math.NaN(), math.Inf(-1)}).Draw(t, "spoil")
		if err := c.Adopt(t.Context(), copied(more)); !errors.Is(err, factor.ErrNotPositiveDefinite) {
			t.Fatalf("error %v, want ErrNotPositiveDefinite", err)
		}
		sameBits(t, "after refusal", c, factorOf(t, rows[:n]))
		must.Do(t, c.Append(rows[n]))
		sameBits(t, "after going on", c, factorOf(t, rows))
	})
}

func TestDropFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		rows := definite(random, n)
		c := factorOf(t, rows)
		before := c.Prefix(n)
		drop := rapid.IntRange(1, min(n, 8)).Draw(t, "drop")
		rest := make([][]float64, 0, n)
		for _, row := range rows[drop:] {
			rest = append(rest, row[drop:])
		}
		for range drop {
			c.DropFirst()
		}
		want := factorOf(t, rest)
		if c.Len() != want.Len() {
			t.Fatalf("%d rows, want %d", c.Len(), want.Len())
		}
		for i := range want.Len() {
			for j, v := range want.Row(i) {
				if !(math.Abs(c.Row(i)[j]-v) <= 1e-11) {
					t.Fatalf("L[%d,%d] = %.15g, want %.15g", i, j, c.Row(i)[j], v)
				}
			}
		}
		sameBits(t, "the prefix taken before", before, factorOf(t, rows))
	})
}

func TestGram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		rows := make([][]float64, rapid.IntRange(1, 20).Draw(t, "rows"))
		got := make([][]float64, len(rows))
		for i := range rows {
			rows[i], got[i] = make([]float64, n), make([]float64, i+1)
			for k := range rows[i] {
				rows[i][k] = random.NormFloat64()
			}
		}
		must.Do(t, factor.Gram(t.Context(), got, rows))
		for i := range rows {
			for j := range i + 1 {
				if got[i][j] != factor.Dot(rows[i], rows[j]) {
					t.Fatalf("Gram[%d,%d] = %v, Dot %v", i, j, got[i][j], factor.Dot(rows[i], rows[j]))
				}
			}
		}
	})
}

func TestDotAndAxpy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random, n := draw(t)
		n-- // down to nothing
		a, b := make([]float64, n), make([]float64, n)
		sum, magnitude := 0.0, 0.0
		for i := range a {
			a[i], b[i] = random.NormFloat64(), random.NormFloat64()
			sum += a[i] * b[i]
			magnitude += math.Abs(a[i] * b[i])
		}
		if got := factor.Dot(a, b); !(math.Abs(got-sum) <= 1e-14*magnitude) {
			t.Fatalf("Dot = %v, want %v", got, sum)
		}
		// The order is part of what Dot promises: decisions are replayed to the bit.
		var lanes [4]float64
		for i := range a {
			lanes[i%4] = math.FMA(a[i], b[i], lanes[i%4])
		}
		if got, want := factor.Dot(a, b), (lanes[0]+lanes[1])+(lanes[2]+lanes[3]); got != want {
			t.Fatalf("Dot = %v, in its own order %v", got, want)
		}
		y := slices.Clone(b)
		factor.Axpy(0.7, a, y)
		for i := range y {
			if want := math.FMA(0.7, a[i], b[i]); y[i] != want {
				t.Fatalf("Axpy[%d] = %v, want %v", i, y[i], want)
			}
		}
	})
}
