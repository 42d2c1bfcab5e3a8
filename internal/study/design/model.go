package design

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

const (
	// defaultLengthscale is the default lengthscale, as a share of a parameter's range,
	// defaultVariance the default variance of a kernel.
	defaultLengthscale = 0.3
	defaultVariance    = 1
	maxMatrixArms      = 1000
	// Limits that keep squares and quotients of hyperparameters finite.
	leastLengthscale = 1e-6 // of the range
	mostLengthscale  = 1e6  // ranges
	leastVariance    = 1e-12
	mostVariance     = 1e12
	leastNoise       = 1e-30
	mostNoise        = 1e30
)

// byMetric is a setting of the model: one value for all metrics, or one for each, with a default
// for the rest.
type byMetric[T any] struct {
	rest *T
	by   map[string]*T
}

func (k byMetric[T]) at(metric string) *T {
	if v, ok := k.by[metric]; ok {
		return v
	}
	return k.rest
}

// readKeyed reads a setting that is one value or an object by metric. isOne reports whether an
// object is itself one value.
func readKeyed[T any](b *compiler, raw json.RawMessage, location string, isOne func(map[string]json.RawMessage) bool, one func(json.RawMessage, string) *T) byMetric[T] {
	if policy.Absent(raw) {
		return byMetric[T]{}
	}
	byName := policy.AsObject(raw)
	if byName == nil || isOne(byName) {
		return byMetric[T]{rest: one(raw, location)}
	}
	k := byMetric[T]{by: map[string]*T{}}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if b.faults.Full() {
			break
		}
		at, value := location+"."+Shorten(name), byName[name]
		switch {
		case policy.Absent(value):
		case name == "default":
			k.rest = one(value, at)
		case slices.Contains(b.out.MetricNames, name):
			k.by[name] = one(value, at)
		default:
			b.faults.Add(at, nil, "%s", UnknownName("modelled metric", name, b.out.MetricNames))
		}
	}
	return k
}

func notOne(map[string]json.RawMessage) bool { return false }

func (b *compiler) numberReader(low, high float64) func(json.RawMessage, string) *float64 {
	return func(raw json.RawMessage, location string) *float64 {
		var x float64
		if policy.Absent(raw) || json.Unmarshal(raw, &x) != nil || !Finite(x) {
			b.faults.Add(location, raw, "must be a number, or an object of numbers by metric with \"default\" for the rest")
			return nil
		}
		if x < low || x > high {
			b.faults.Add(location, x, "%s must be between %s and %s", formatNumber(x), formatNumber(low), formatNumber(high))
			return nil
		}
		return &x
	}
}

// kernelChoice is a kernel as written: a name, or a covariance matrix between candidates.
type kernelChoice struct {
	name   string
	matrix [][]float64
}

func isKernel(m map[string]json.RawMessage) bool { return m["name"] != nil || m["matrix"] != nil }

func (b *compiler) readKernel(raw json.RawMessage, location string) *kernelChoice {
	var k kernelChoice
	if raw[0] == '"' && json.Unmarshal(raw, &k.name) == nil {
		return b.namedKernel(k, location)
	}
	m := policy.AsObject(raw)
	if m == nil {
		b.faults.Add(location, nil, "must be the name of a kernel, %s, or an object with a name", orList(kernel.Names))
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key != "name" && key != "matrix" {
			b.faults.Add(location+"."+Shorten(key), nil, "a kernel has a name, and a matrix if it is a covariance")
			return nil
		}
	}
	if name, given := m["name"]; given && json.Unmarshal(name, &k.name) != nil {
		b.faults.Add(location+".name", nil, "must be the name of a kernel")
		return nil
	}
	matrix := m["matrix"]
	if policy.Absent(matrix) {
		return b.namedKernel(k, location+".name")
	}
	k.name = cmp.Or(k.name, kernelOfMatrix)
	var rows [][]*float64
	switch arms := len(b.out.arms); {
	case k.name != kernelOfMatrix:
		b.faults.Add(location+".matrix", nil, "only the kernel \"covariance\" has a matrix")
	case json.Unmarshal(matrix, &rows) != nil || rows == nil:
		b.faults.Add(location+".matrix", nil, "must be a list of rows of numbers")
	case arms == 0:
		b.faults.Add(location, nil, "a covariance is between candidates; give candidates")
	case arms > maxMatrixArms:
		b.faults.Add(location, nil, "a covariance is possible for at most %d candidates; there are %d", maxMatrixArms, arms)
	case len(rows) != arms:
		b.faults.Add(location+".matrix", len(rows), "has %s; there are %d candidates", Count(len(rows), "row", "rows"), arms)
	default:
		k.matrix = b.readCovariance(rows, location+".matrix")
	}
	if k.matrix == nil {
		return nil
	}
	return &k
}

// readCovariance checks the matrix, a row of numbers for each candidate; nil if it is faulty.
func (b *compiler) readCovariance(rows [][]*float64, location string) [][]float64 {
	matrix := make([][]float64, len(rows))
	for i, row := range rows {
		if len(row) != len(b.out.arms) {
			b.faults.Add(fmt.Sprintf("%s[%d]", location, i), len(row), "has %s; there are %d candidates", Count(len(row), "number", "numbers"), len(b.out.arms))
			return nil
		}
		matrix[i] = make([]float64, len(row))
		for j, x := range row {
			if x == nil {
				b.faults.Add(fmt.Sprintf("%s[%d][%d]", location, i, j), nil, "must be a number, not null")
				return nil
			}
			if math.Abs(*x) > mostVariance {
				b.faults.Add(fmt.Sprintf("%s[%d][%d]", location, i, j), *x, "must be at most %s in size; use other units", formatNumber(mostVariance))
				return nil
			}
			matrix[i][j] = *x
		}
	}
	return matrix
}

func (b *compiler) namedKernel(k kernelChoice, location string) *kernelChoice {
	switch {
	case slices.Contains(kernel.Names, k.name):
		return &k
	case k.name == kernelOfMatrix:
		b.faults.Add(location, k.name, `a covariance needs its matrix: {"name": "covariance", "matrix": [[…]]}`)
	default:
		b.faults.Add(location, Shorten(k.name), "%s", UnknownName("kernel", k.name, append(slices.Clone(kernel.Names), kernelOfMatrix)))
	}
	return nil
}

// readLengthscales reads one number for all parameters, a list, or an object by parameter.
func (b *compiler) readLengthscales(raw json.RawMessage, location string) *[]float64 {
	before := len(*b.faults)
	lengths := make([]float64, len(b.out.Config.Space.Dims))
	var list []json.RawMessage
	byName := policy.AsObject(raw)
	switch {
	case json.Unmarshal(raw, &list) == nil && list != nil:
		if len(list) != len(lengths) {
			b.faults.Add(location, len(list), "has %s; there are %d parameters", Count(len(list), "lengthscale", "lengthscales"), len(lengths))
			return nil
		}
		for i, value := range list {
			lengths[i] = b.readLengthscale(i, value, fmt.Sprintf("%s[%d]", location, i))
		}
	case byName != nil:
		names := namesOf(b.out.space.axes)
		for i, name := range names {
			if value, given := byName[name]; given {
				lengths[i] = b.readLengthscale(i, value, location+"."+name)
			} else {
				b.faults.Add(location+"."+name, nil, "is missing; give a lengthscale for every parameter")
			}
		}
		addUnknown(b.faults, location, "parameter", byName, names)
	default:
		for i := range lengths {
			if lengths[i] = b.readLengthscale(i, raw, location); len(*b.faults) > before {
				break
			}
		}
	}
	if len(*b.faults) > before {
		return nil
	}
	return &lengths
}

func (b *compiler) readLengthscale(i int, raw json.RawMessage, location string) float64 {
	var x float64
	extent := extentOf(b.out.Config.Space.Dims[i])
	switch {
	case policy.Absent(raw) || json.Unmarshal(raw, &x) != nil:
		b.faults.Add(location, raw, "must be a number, a list with one per parameter, an object by parameter, or an object of these by metric")
	case x < leastLengthscale*extent || x > mostLengthscale*extent:
		b.faults.Add(location, x, "%s must be between %.3g and %.3g, the range of %s being %.3g in the kernel's inputs",
			formatNumber(x), leastLengthscale*extent, mostLengthscale*extent, b.out.space.axes[i].Name, extent)
	}
	return x
}

// extentOf returns the range of a parameter's kernel input, 1 for categories.
func extentOf(d optimizer.Dim) float64 {
	if d.Kind == optimizer.Categorical {
		return 1
	}
	return d.High - d.Low
}

// isByParameter reports whether an object of lengthscales is by parameter, not by metric.
// Parameters and metrics never share a name.
func (b *compiler) isByParameter(m map[string]json.RawMessage) bool {
	return m["default"] == nil && !slices.ContainsFunc(b.out.MetricNames, func(name string) bool { return m[name] != nil })
}

type givenModel struct {
	kernels                    byMetric[kernelChoice]
	lengths                    byMetric[[]float64]
	variances, lambdas, noises byMetric[float64]
}

func (b *compiler) readModel() givenModel {
	m := b.out.Def.Model
	return givenModel{
		kernels:   readKeyed(b, m.Kernel, "model.kernel", isKernel, b.readKernel),
		lengths:   readKeyed(b, m.Lengthscales, "model.lengthscales", b.isByParameter, b.readLengthscales),
		variances: readKeyed(b, m.Variance, "model.variance", notOne, b.numberReader(leastVariance, mostVariance)),
		lambdas:   readKeyed(b, m.Lambda, "model.lambda", notOne, b.numberReader(leastVariance, mostVariance)),
		noises:    readKeyed(b, m.NoiseVariance, "model.noise_variance", notOne, b.numberReader(leastNoise, mostNoise)),
	}
}
