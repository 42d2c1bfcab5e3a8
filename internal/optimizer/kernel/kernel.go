// Package kernel evaluates prior covariances. With w = √Σ_c ((x_c − x′_c)/ℓ_c)², the distance after
// dividing each coordinate by its lengthscale, and σ² the variance:
//
//	se        σ² e^{−w²/2}
//	matern12  σ² e^{−w}
//	matern32  σ² (1 + s) e^{−s},          s = √3 w
//	matern52  σ² (1 + s + s²/3) e^{−s},   s = √5 w
//	mixed     matern52 of the numbers, times a factor for each category that differs: see WithCategories
//	anova     between a sum over the parameters and their product: see WithInteraction
//	linear    σ² Σ_c x_c x′_c / ℓ_c²
//	covariance  σ² M[i][j], the inputs being arm numbers i and j
//
// (Rasmussen & Williams, Gaussian Processes for Machine Learning, chapter 4.) Values are the same
// to the last bit on every machine, one at a time or a row at a time.
package kernel

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/optimizer/factor"
)

// Names are the kernels that New makes.
var Names = []string{"se", "matern12", "matern32", "matern52", "mixed", Anova, "linear"}

type form int

const (
	squaredExponential form = iota
	matern12
	matern32
	matern52
	mixed
	anova
	linear
	covariance
)

// Function is a prior covariance k(x, x′) over input vectors. It is immutable.
type Function struct {
	form     form
	inverse  []float64 // 1/ℓ, one per coordinate
	variance float64
	matrix   [][]float64 // for covariance
	// categories are those of mixed and anova; the inverse of their coordinates is 0.
	categories []Category
	// Of anova: a, (1 − a)^C, C (1 − a)^{C−1} and σ²/(1 − (1 − a)^C).
	interaction, constant, slope, scale float64
}

// New returns the kernel of that name with one lengthscale per input coordinate. The error says
// what is wrong: an unknown name, or a lengthscale or variance that is not a positive number.
func New(name string, lengthscales []float64, variance float64) (*Function, error) {
	known := slices.Index(Names, name)
	if known < 0 {
		return nil, fmt.Errorf("there is no kernel %q with lengthscales; there are %v", name, Names)
	}
	if len(lengthscales) == 0 {
		return nil, fmt.Errorf("the kernel %s needs a lengthscale for each input coordinate", name)
	}
	if err := checkVariance(variance); err != nil {
		return nil, err
	}
	inverse := make([]float64, len(lengthscales))
	for c, length := range lengthscales {
		inverse[c] = 1 / length
		if !(length > 0) || math.IsInf(length, 1) || math.IsInf(inverse[c], 1) {
			return nil, fmt.Errorf("lengthscale %d is %g; it must be a positive number", c+1, length)
		}
	}
	f := &Function{form: form(known), inverse: inverse, variance: variance}
	if f.form == anova {
		return f.WithInteraction(MedianInteraction)
	}
	return f, nil
}

// roundingShare is the size, relative to the largest variance, of a negative eigenvalue that counts
// as rounding: sample covariances written with some ten digits have such.
const roundingShare = 1e-9

// NewCovariance returns the kernel of a given covariance between arms, variance times the matrix;
// inputs are vectors of one coordinate, the arm's index. The matrix must be square, finite,
// symmetric and positive semidefinite, the last two up to rounding; the error says which entry is
// not.
func NewCovariance(matrix [][]float64, variance float64) (*Function, error) {
	if err := checkVariance(variance); err != nil {
		return nil, err
	}
	if len(matrix) == 0 {
		return nil, fmt.Errorf("the covariance matrix is empty; it needs a row for each candidate")
	}
	largest := 0.0
	for i, row := range matrix {
		if len(row) != len(matrix) {
			return nil, fmt.Errorf("row %d of the covariance matrix has %d entries; it needs %d", i+1, len(row), len(matrix))
		}
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("entry (%d, %d) of the covariance matrix is not a finite number", i+1, j+1)
			}
		}
		if row[i] < 0 {
			return nil, fmt.Errorf("entry (%d, %d) of the covariance matrix is %g; a variance cannot be negative", i+1, i+1, row[i])
		}
		largest = max(largest, row[i])
	}
	if largest == 0 {
		return nil, fmt.Errorf("the diagonal of the covariance matrix is zero; some candidate needs a positive variance")
	}
	own := make([][]float64, len(matrix))
	lifted := make([][]float64, len(matrix))
	for i, row := range matrix {
		own[i] = slices.Clone(row)
		for j := range i {
			if math.Abs(row[j]-matrix[j][i]) > roundingShare*largest {
				return nil, fmt.Errorf("entries (%d, %d) and (%d, %d) of the covariance matrix are %g and %g; they must be equal", i+1, j+1, j+1, i+1, row[j], matrix[j][i])
			}
			own[i][j] = own[j][i]
		}
		lifted[i] = slices.Clone(own[i][:i+1])
		lifted[i][i] += roundingShare * largest
	}
	var check factor.Cholesky
	for i, row := range lifted {
		if check.Append(row) != nil {
			return nil, fmt.Errorf("the covariance matrix is not positive semidefinite: row %d contradicts the rows before it", i+1)
		}
	}
	return &Function{form: covariance, variance: variance, matrix: own}, nil
}

func checkVariance(variance float64) error {
	if !(variance > 0) || math.IsInf(variance, 1) {
		return fmt.Errorf("the kernel's variance is %g; it must be a positive number", variance)
	}
	return nil
}

// Coordinates is the number of coordinates of an input vector.
func (f *Function) Coordinates() int {
	if f.form == covariance {
		return 1
	}
	return len(f.inverse)
}

// Check returns an error for an input vector with a wrong number of coordinates, one that is not
// finite, or an arm that does not exist. The other methods take vectors that pass.
func (f *Function) Check(x []float64) error {
	if len(x) != f.Coordinates() {
		return fmt.Errorf("it has %d coordinates; the kernel takes %d", len(x), f.Coordinates())
	}
	for c, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coordinate %d is %g; it must be finite", c+1, v)
		}
	}
	if f.form == covariance && (x[0] != math.Trunc(x[0]) || x[0] < 0 || x[0] >= float64(len(f.matrix))) {
		return fmt.Errorf("there is no arm %g; arms are numbered from 0 to %d", x[0], len(f.matrix)-1)
	}
	return nil
}

// Diagonal returns k(x, x).
func (f *Function) Diagonal(x []float64) float64 {
	if f.form == linear || f.form == covariance {
		return f.At(x, x)
	}
	if f.form == anova {
		return float64((1 - f.constant) * f.scale)
	}
	return f.variance
}

// At returns k(x, y).
func (f *Function) At(x, y []float64) float64 {
	var value [1]float64
	f.Row(value[:], x, &Inputs{p: len(y), values: y, columns: y, stride: 1, shared: true})
	return value[0]
}

// Row writes k(x, X_i) to dst[i] for every i < X.Len().
func (f *Function) Row(dst, x []float64, X *Inputs) {
	dst = dst[:X.Len()]
	p := f.Coordinates()
	if len(x) != p || X.p != p || len(X.values) != p*len(dst) {
		panic(fmt.Sprintf("kernel: %d values from vectors of %d and %d coordinates, for a kernel of %d", len(dst), len(x), len(X.values), p))
	}
	if len(dst) == 0 {
		return
	}
	switch f.form {
	case covariance:
		row := f.matrix[arm(x)]
		for i := range dst {
			dst[i] = f.variance * row[arm(X.Row(i))]
		}
	case linear:
		f.products(dst, x, X.values)
	case anova:
		f.distances(dst, x, X)
		shape(matern52, dst, 1)
		f.together(dst, x, X)
	default:
		f.distances(dst, x, X)
		shape(f.form, dst, f.variance)
		f.choose(dst, x, X)
	}
}

// distances writes the squared distances w² between x and X_i to dst[i]. It skips coordinates
// without a lengthscale at the beginning and at the end.
func (f *Function) distances(dst, x []float64, X *Inputs) {
	first, end := 0, len(x)
	for first < end-1 && f.inverse[first] == 0 {
		first++
	}
	for first < end-1 && f.inverse[end-1] == 0 {
		end--
	}
	squaredDistances(dst, x[first:end], f.inverse[first:end], X.columns[first*X.stride:], X.stride)
}

func arm(x []float64) int { return int(x[0]) }

// products writes σ² Σ_c x_c y_c/ℓ_c² to dst.
func (f *Function) products(dst, x, ys []float64) {
	for i := range dst {
		y := ys[i*len(x) : (i+1)*len(x)]
		sum := 0.0
		for c, v := range y {
			sum = math.FMA(float64(x[c]*f.inverse[c]), float64(v*f.inverse[c]), sum)
		}
		dst[i] = f.variance * sum
	}
}

// Slopes writes −2 ∂k/∂(w²) between x and X_i to dst[i], so that for a stationary kernel
//
//	∂k/∂ln ℓ_c = slope · (x_c − x′_c)²/ℓ_c².
//
// Where points coincide under matern12, whose slope has a pole there, it writes 0, which is the
// derivative. For mixed and anova kernels these are the slopes in the numbers. It panics for linear
// and covariance kernels.
func (f *Function) Slopes(dst []float64, x []float64, X *Inputs) {
	dst = dst[:X.Len()]
	if len(dst) == 0 {
		return
	}
	f.distances(dst, x, X)
	switch f.form {
	case squaredExponential: // σ² e^{−w²/2}
		shape(squaredExponential, dst, f.variance)
	case matern12: // σ² e^{−w}/w
		for i, w2 := range dst {
			if w2 > 0 {
				w := math.Sqrt(w2)
				dst[i] = f.variance * exp(-w) / w
			}
		}
	case matern32: // 3 σ² e^{−√3 w}
		floats.Scale(3, dst)
		shape(matern12, dst, 3*f.variance)
	case matern52, mixed: // (5/3) σ² (1 + √5 w) e^{−√5 w}
		floats.Scale(5./3, dst)
		shape(matern32, dst, 5./3*f.variance)
		f.choose(dst, x, X)
	case anova: // the same times a/(1 − (1 − a)^C)
		floats.Scale(5./3, dst)
		shape(matern32, dst, 5./3*f.interaction*f.scale)
		f.choose(dst, x, X)
	default:
		panic("kernel: slopes of a kernel without distances")
	}
}

// Gradients writes, for each list of weights, Σ_i w_i ∂k(x, X_i)/∂x_c to dst[c], for a stationary
// kernel; X must not be empty. Where points coincide under matern12, which has a kink there, the
// derivative counts as 0.
func (f *Function) Gradients(dst [][]float64, x []float64, X *Inputs, weights [][]float64) {
	slopes := make([]float64, X.Len())
	f.Slopes(slopes, x, X)
	for r, w := range weights {
		to := dst[r]
		clear(to)
		for i, slope := range slopes {
			pull := slope * w[i]
			for c, v := range X.Row(i) {
				to[c] += pull * (v - x[c])
			}
		}
		for c, inverse := range f.inverse {
			to[c] *= inverse * inverse
		}
	}
}

// Stationary tells whether k depends on numbers only through their distance.
func (f *Function) Stationary() bool { return f.form < linear }

// Inputs are n input vectors of p coordinates, stored row after row, and again coordinate after
// coordinate for distances. They grow at the end. A prefix shares memory and never changes: when
// appended to, it copies. Do not copy Inputs; take a Prefix. Coordinates are stored as given, not
// divided by lengthscales, so that metrics with different kernels share them.
type Inputs struct {
	p      int
	values []float64

	columns []float64 // coordinate c of vector i is columns[c*stride+i]
	stride  int
	shared  bool // other Inputs may use the memory after the last vector in columns
}

// NewInputs returns no input vectors, of p ≥ 1 coordinates each.
func NewInputs(p int) *Inputs {
	return &Inputs{p: p}
}

// Reserve makes room for n vectors.
func (X *Inputs) Reserve(n int) {
	X.values = slices.Grow(X.values, max(0, n*X.p-len(X.values)))
	if X.shared || n > X.stride {
		X.grow(X.Len(), n)
	}
}

// InputsOf returns the rows as Inputs; there must be at least one.
func InputsOf(rows [][]float64) *Inputs {
	X := NewInputs(len(rows[0]))
	for _, x := range rows {
		X.Append(x)
	}
	return X
}

// Len is the number n of input vectors.
func (X *Inputs) Len() int { return len(X.values) / X.p }

// Coordinates is the number p of coordinates of each.
func (X *Inputs) Coordinates() int { return X.p }

// Append adds x at the end.
func (X *Inputs) Append(x []float64) {
	if len(x) != X.p {
		panic(fmt.Sprintf("kernel: an input vector of %d coordinates among ones of %d", len(x), X.p))
	}
	n := X.Len()
	if X.shared || n == X.stride {
		X.grow(n, max(2*n, 8))
	}
	for c, v := range x {
		X.columns[c*X.stride+n] = v
	}
	X.values = append(X.values, x...)
}

// grow moves the n vectors to columns of its own, with room for stride.
func (X *Inputs) grow(n, stride int) {
	columns := make([]float64, X.p*stride)
	for c := range X.p {
		copy(columns[c*stride:], X.columns[c*X.stride:][:n])
	}
	X.columns, X.stride, X.shared = columns, stride, false
}

// Row returns input vector i, to be read only.
func (X *Inputs) Row(i int) []float64 { return X.values[i*X.p : (i+1)*X.p : (i+1)*X.p] }

// Column is coordinate c of all input vectors, to be read only.
func (X *Inputs) Column(c int) []float64 { return X.columns[c*X.stride:][:X.Len()] }

// Prefix returns the first n input vectors.
func (X *Inputs) Prefix(n int) *Inputs { return X.Slice(0, n) }

// Slice returns the input vectors from, …, to−1.
func (X *Inputs) Slice(from, to int) *Inputs {
	return &Inputs{X.p, X.values[from*X.p : to*X.p : to*X.p], X.columns[min(from, len(X.columns)):], X.stride, true}
}

// Pick returns the input vectors with these indices.
func (X *Inputs) Pick(indices []int) *Inputs {
	some := NewInputs(X.p)
	for _, i := range indices {
		some.Append(X.Row(i))
	}
	return some
}

// Identify writes all that the function's values depend on: functions that write the same have the
// same values. Writing to w must not fail; w is usually a hash.
func (f *Function) Identify(w io.Writer) {
	number := func(v uint64) { _, _ = w.Write(binary.LittleEndian.AppendUint64(nil, v)) }
	numbers := func(list ...float64) {
		number(uint64(len(list)))
		for _, v := range list {
			number(math.Float64bits(v))
		}
	}
	number(uint64(f.form))
	numbers(f.variance, f.interaction)
	numbers(f.inverse...)
	number(uint64(len(f.categories)))
	for _, c := range f.categories {
		number(uint64(len(c.Coordinates)))
		for _, coordinate := range c.Coordinates {
			number(uint64(coordinate))
		}
		numbers(c.factor)
	}
	number(uint64(len(f.matrix)))
	for _, row := range f.matrix {
		numbers(row...)
	}
}

// farthest bounds squared distances, so that far points have correlation 0 and not ∞·0.
const farthest = 1e300

// squaredDistancesGo writes w² = Σ_c ((x_c − y_c)/ℓ_c)² to dst, at most farthest. inverse holds
// 1/ℓ, with 0 for coordinates that do not count; coordinate c of y_i is ys[c*stride+i].
func squaredDistancesGo(dst, x, inverse, ys []float64, stride int) {
	for i := range dst {
		sum := 0.0
		for c, by := range inverse {
			if by != 0 {
				d := float64((x[c] - ys[c*stride+i]) * by)
				sum = math.FMA(d, d, sum)
			}
		}
		dst[i] = min(sum, farthest)
	}
}

// shapeGo turns squared distances w² into σ² times the correlation of a stationary form in the
// numbers, in place. The assembly does the same steps on several values at a time.
func shapeGo(form form, values []float64, variance float64) {
	switch form {
	case squaredExponential:
		for i, w2 := range values {
			values[i] = variance * exp(-0.5*w2)
		}
	case matern12:
		for i, w2 := range values {
			values[i] = variance * exp(-math.Sqrt(w2))
		}
	case matern32:
		for i, w2 := range values {
			s := math.Sqrt(float64(3 * w2))
			values[i] = float64(variance*(1+s)) * exp(-s)
		}
	case matern52, mixed:
		for i, w2 := range values {
			t := float64(5 * w2) // s²
			s := math.Sqrt(t)
			values[i] = float64(variance*math.FMA(t, 1./3, 1+s)) * exp(-s)
		}
	}
}

// Constants of exp: log₂e, and ln 2 in two parts, the first with zeros at its end so that n·ln2High
// is exact.
const (
	log2e   = 1.44269504088896338700e+00
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
	// smallest is where e^x leaves the normal numbers; below it exp is 0.
	smallest = -708
)

// inverseFactorials are 1/k!, k = 13 to 2: the Taylor series of e^r, whose next term is below 5e-18
// for |r| ≤ ln2/2.
var inverseFactorials = [...]float64{
	1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
	1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2,
}

// exp returns e^x for x ≤ 0 to about one unit in the last place, and 0 below −708. With n = x/ln 2
// rounded to even and r = x − n ln 2, e^x = 2ⁿ e^r. Unlike math.Exp it does the same steps on every
// machine.
func exp(x float64) float64 {
	if !(x >= smallest) {
		return 0
	}
	n := math.RoundToEven(float64(x * log2e))
	r := math.FMA(-n, ln2Low, math.FMA(-n, ln2High, x))
	series := inverseFactorials[0]
	for _, c := range inverseFactorials[1:] {
		series = math.FMA(series, r, c)
	}
	series = math.FMA(series, r, 1)
	series = math.FMA(series, r, 1)
	return math.Float64frombits(math.Float64bits(series) + uint64(int64(n))<<52)
}

// Category is a category's coordinates under the mixed and the anova kernel.
type Category struct {
	Coordinates []int
	// Slope is ∂ ln k/∂ ln ℓ for two points that differ in the category; for anova, of k +
	// Constant.
	Slope          float64
	factor         float64 // in k, of two points that differ in the category
	alike, stretch float64 // m(1/ℓ) and ∂m/∂ ln ℓ
	rise           float64 // ∂ ln factor/∂a of anova
}

// WithCategories returns the kernel for points whose coordinate c belongs to category
// categories[c], −1 for a number. Only mixed and anova distinguish categories.
func (f *Function) WithCategories(categories []int) *Function {
	if f.form != mixed && f.form != anova {
		return f
	}
	g := *f
	g.inverse, g.categories = make([]float64, len(f.inverse)), nil
	index := map[int]int{}
	for c, inverse := range f.inverse {
		name := categories[c]
		if name < 0 {
			g.inverse[c] = inverse
			continue
		}
		i, known := index[name]
		if !known {
			i = len(g.categories)
			index[name] = i
			g.categories = append(g.categories, newCategory(inverse))
		}
		g.categories[i].Coordinates = append(g.categories[i].Coordinates, c)
	}
	if g.form == anova {
		g.prepare()
	}
	return &g
}

// newCategory computes a category from its lengthscale, with t = 5/ℓ², s = √t: m = (1 + s + t/3)
// e^{−s} and ∂m/∂ ln ℓ = (t/3) (1 + s) e^{−s}.
func newCategory(inverse float64) Category {
	t := min(float64(5*float64(inverse*inverse)), farthest)
	s := math.Sqrt(t)
	decay := exp(-s)
	m := math.FMA(t, 1./3, 1+s) * decay
	half := 0.5 * (1 + m)
	stretch := t / 3 * (1 + s) * decay
	return Category{Slope: 2 * (stretch / (1 + m)), factor: half * half, alike: m, stretch: stretch}
}

// Chosen is the coordinate of x's choice.
func (c Category) Chosen(x []float64) int {
	for _, coordinate := range c.Coordinates {
		if x[coordinate] == 1 {
			return coordinate
		}
	}
	return c.Coordinates[0]
}

// Categories lists the categories of a mixed or an anova kernel.
func (f *Function) Categories() []Category { return f.categories }

// choose multiplies dst[i] by the factors of the categories in which x and X_i differ.
func (f *Function) choose(dst, x []float64, X *Inputs) {
	for _, c := range f.categories {
		chosen := X.Column(c.Chosen(x))[:len(dst)]
		for i, is := range chosen {
			if is != 1 {
				dst[i] *= c.factor
			}
		}
	}
}
