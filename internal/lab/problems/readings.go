package problems

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
)

var readingProblems = []Problem{
	{Name: "sensors", Horizon: 10_000, Substitute: SubstituteSensors, Source: "Zhou, Ji (2022), section 5: light sensors of the CMU Intelligent Workplace, h = B/2",
		Summary: "which of some sensors reads highest on average, from a table of readings",
		build: func(_ uint64, table, prior *Readings) (*Instance, error) {
			return fromReadings(table, prior, func(best float64) float64 { return best / 2 })
		}},
	{Name: "finance", Horizon: 10_000, Substitute: SubstitutePrices, Source: "Zhou, Ji (2022), section 5: adjusted closing prices of 29 stocks, h = 100",
		Summary: "which of some stocks is dearest on average, from a table of prices with heavy tails",
		build: func(_ uint64, table, prior *Readings) (*Instance, error) {
			return fromReadings(table, prior, func(float64) float64 { return 100 })
		}},
}

// Readings is a table of readings: a row is a moment, a column an arm.
type Readings struct {
	Names []string
	Rows  [][]float64
}

// Limits on the size of a table that can be played.
const (
	leastRows, leastArms  = 10, 2
	largestRows, mostArms = 100_000, 1000
	readingsSafe          = 5 // safe seeds
)

// ReadReadings reads a table from CSV with a header that names the arms.
func ReadReadings(r io.Reader) (*Readings, error) {
	lines := csv.NewReader(r)
	header, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("the table needs a header that names the arms: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // with which spreadsheets begin
	table := &Readings{Names: header}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return table, table.check()
		}
		if err != nil {
			return nil, err
		}
		row := make([]float64, len(fields))
		for i, field := range fields {
			row[i], err = strconv.ParseFloat(field, 64)
			if err != nil || math.IsNaN(row[i]) || math.IsInf(row[i], 0) {
				return nil, fmt.Errorf("row %d, column %s: %q is not a finite number", len(table.Rows)+2, header[i], field)
			}
		}
		if table.Rows = append(table.Rows, row); len(table.Rows) > largestRows {
			return nil, fmt.Errorf("the table has more than %d rows", largestRows)
		}
	}
}

func (r *Readings) check() error {
	if len(r.Names) < leastArms || len(r.Names) > mostArms {
		return fmt.Errorf("the table has %d columns; it needs %d to %d, one an arm", len(r.Names), leastArms, mostArms)
	}
	if len(r.Rows) < leastRows {
		return fmt.Errorf("the table has %d rows; it needs at least %d", len(r.Rows), leastRows)
	}
	return nil
}

// Write writes the table as CSV.
func (r *Readings) Write(w io.Writer) error {
	lines := [][]string{r.Names}
	for _, row := range r.Rows {
		fields := lists.Map(row, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
		lines = append(lines, fields)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// fromReadings returns the problem of a table: f = column means, a reading's noise = a random row −
// mean, g = −f + h with noise of another row, and the arms' prior covariance is the correlation of
// the columns. The prior's variance is the mean of f², so that it spans the values there are.
//
// With a table for the prior it is the originals' problem (Chowdhury, Gopalan: On Kernelized
// Multi-armed Bandits, 2017): the covariance is the correlation of that table's columns, the
// readings played are divided by their largest mean, and λ = 1.
func fromReadings(table, prior *Readings, limit func(best float64) float64) (*Instance, error) {
	means, residuals := table.centred()
	h, variance, lambda := limit(slices.Max(means)), meanSquare([][]float64{means}), 0.0
	before, varying := table, residuals
	if prior != nil {
		if err := prior.checkColumns(table); err != nil {
			return nil, err
		}
		largest := slices.Max(means)
		if !(largest > 0) {
			return nil, fmt.Errorf("the largest mean of the readings played is %g; to divide by it, it must be positive", largest)
		}
		h /= largest
		divide(largest, append([][]float64{means}, residuals...)...)
		variance, lambda = 1, 1
		before = prior
		_, varying = before.centred()
	}
	matrix, err := correlation(before.Names, varying)
	if err != nil {
		return nil, err
	}
	arm := func(x []float64) int { return int(math.Round(x[0])) }
	noise := Noise{meanSquare(residuals), func(random *rand.Rand, x []float64) float64 {
		return residuals[random.IntN(len(residuals))][arm(x)]
	}}
	in := &Instance{
		Axes: []Axis{{Name: "arm", High: float64(len(means) - 1), Step: 1}}, Limits: []string{"g"},
		Reward: func(_ int, x []float64) float64 { return means[arm(x)] },
		Costs:  func(_ int, x, g []float64) { g[0] = h - means[arm(x)] },
		Noise:  []Noise{noise, noise},
		Kernel: "covariance", Matrix: matrix, Variance: variance, Lengthscale: 1, Lambda: lambda,
	}
	in.Arms = lists.Of(len(means), func(i int) []float64 { return []float64{float64(i)} })
	best, err := in.bestArm(1)
	if err != nil {
		return nil, fmt.Errorf("no column's mean reaches the limit %g", h)
	}
	in.Optima, in.Safe = []Optimum{best}, in.safest(readingsSafe)
	return in, nil
}

// checkColumns reports why r cannot be the prior of the readings played: its columns must be
// theirs, in their order.
func (r *Readings) checkColumns(played *Readings) error {
	for i, name := range played.Names {
		if i >= len(r.Names) || r.Names[i] != name {
			return fmt.Errorf("the readings for the prior need the columns of the readings played, in their order: column %d must be %q", i+1, name)
		}
	}
	if more := len(r.Names) - len(played.Names); more > 0 {
		return fmt.Errorf("the readings for the prior have %d columns more than the readings played", more)
	}
	return nil
}

func divide(by float64, rows ...[]float64) {
	for _, row := range rows {
		for i := range row {
			row[i] /= by
		}
	}
}

// centred returns the column means and the rows less them.
func (r *Readings) centred() (means []float64, residuals [][]float64) {
	means = make([]float64, len(r.Names))
	for _, row := range r.Rows {
		for i, v := range row {
			means[i] += v / float64(len(r.Rows))
		}
	}
	for _, row := range r.Rows {
		residuals = append(residuals, lists.Of(len(row), func(i int) float64 { return row[i] - means[i] }))
	}
	return means, residuals
}

func meanSquare(rows [][]float64) float64 {
	sum, count := 0.0, 0
	for _, row := range rows {
		for _, v := range row {
			sum += v * v
			count++
		}
	}
	return sum / float64(count)
}

func correlation(names []string, residuals [][]float64) ([][]float64, error) {
	m := make([][]float64, len(names))
	for i := range m {
		m[i] = make([]float64, len(names))
		for j := range i + 1 {
			for _, row := range residuals {
				m[i][j] += row[i] * row[j]
			}
		}
		varies := slices.ContainsFunc(residuals, func(row []float64) bool { return row[i] != residuals[0][i] })
		if !varies || !(m[i][i] > 0) {
			return nil, fmt.Errorf("column %s is constant; an arm's readings must vary", names[i])
		}
	}
	for i := range m {
		for j := range i {
			m[i][j] /= math.Sqrt(m[i][i] * m[j][j])
			m[j][i] = m[i][j]
		}
	}
	for i := range m {
		m[i][i] = 1
	}
	return m, nil
}
