package study

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"headroom/internal/derived"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Slice is the posterior along one parameter with the others held, at the points where a mixture
// exists.
type Slice struct {
	Parameter string
	At        []design.Value
	Metrics   map[string]Band
	Feasible  []float64
	Works     []float64 // see Posterior
	Open      []bool    // where a trial may be chosen
}

// Map is the posterior over two parameters: row i is Y[i], column j is X[j]. A number is NaN where
// no mixture exists.
type Map struct {
	X, Y     []design.Value
	Mean     map[string][][]float64
	SD       map[string][][]float64
	Feasible [][]float64
	Works    [][]float64 // see Posterior
	Open     [][]bool    // where a trial may be chosen
}

// Slices returns the posterior along each parameter through a point; a mixture's remainder follows
// the others. There are none if the prior is defined at the candidates only.
func (s *Models) Slices(ctx context.Context, snap *ledger.Snapshot, through design.Settings, samples int) ([]Slice, error) {
	if snap.Compiled().OnlyArms() {
		return nil, nil
	}
	var out []Slice
	for _, p := range snap.Definition.Parameters {
		if p.Type == design.Remainder {
			continue
		}
		slice, at := Slice{Parameter: p.Name}, p.Spread(samples)
		along := lists.Map(at, func(v design.Value) design.Settings {
			return withRemainders(snap.Definition, through, design.Settings{p.Name: v})
		})
		var points []design.Settings
		for i, there := range attainable(snap, along) {
			if there {
				slice.At, points = append(slice.At, at[i]), append(points, along[i])
			}
		}
		posterior, err := s.chartPosterior(ctx, snap, points)
		if err != nil {
			return nil, err
		}
		slice.Metrics, slice.Feasible, slice.Works = posterior.Metrics, posterior.FeasibilityProbability, posterior.Works
		slice.Open = lists.Map(points, snap.Compiled().MayChoose)
		out = append(out, slice)
	}
	return out, nil
}

// Map returns the posterior over parameters x and y, with the others held at pins.
func (s *Models) Map(ctx context.Context, snap *ledger.Snapshot, x, y string, pins design.Settings, samples int) (Map, error) {
	along := func(name string) []design.Value {
		p, _ := lists.Find(snap.Definition.Parameters, func(p design.Parameter) bool { return p.Name == name })
		return p.Spread(samples)
	}
	out := Map{X: along(x), Y: along(y), Mean: map[string][][]float64{}, SD: map[string][][]float64{}}
	var points []design.Settings
	for _, v := range out.Y {
		for _, u := range out.X {
			points = append(points, withRemainders(snap.Definition, pins, design.Settings{x: u, y: v}))
		}
	}
	posterior, err := s.chartPosterior(ctx, snap, points)
	if err != nil {
		return Map{}, err
	}
	there := attainable(snap, points)
	drawn := func(values []float64) [][]float64 {
		values = slices.Clone(values)
		for i := range values {
			if !there[i] {
				values[i] = math.NaN()
			}
		}
		return slices.Collect(slices.Chunk(values, len(out.X)))
	}
	for name, band := range posterior.Metrics {
		out.Mean[name], out.SD[name] = drawn(band.Mean), drawn(band.SD)
	}
	out.Feasible, out.Works = drawn(posterior.FeasibilityProbability), drawn(posterior.Works)
	out.Open = slices.Collect(slices.Chunk(lists.Map(points, snap.Compiled().MayChoose), len(out.X)))
	return out, nil
}

// attainable reports for each point whether every remainder is within its bounds. If that holds for
// none, as around settings that were run beyond the bounds, it reports true for all.
func attainable(snap *ledger.Snapshot, points []design.Settings) []bool {
	there := lists.Map(points, snap.Compiled().RemaindersFit)
	if !slices.Contains(there, true) {
		return slices.Repeat([]bool{true}, len(points))
	}
	return there
}

// chartPosterior returns the posterior at the points of a chart. They need not be allowed: a
// remainder may leave its range there, and a trial's settings may lie beyond a range that was
// narrowed since.
func (s *Models) chartPosterior(ctx context.Context, snap *ledger.Snapshot, points []design.Settings) (Posterior, error) {
	places := lists.Map(points, func(settings design.Settings) optimizer.Place { return snap.Compiled().Locate(settings, nil) })
	return derived.Get(ctx, s.Derived, snap, chartAt(places), func(ctx context.Context) (Posterior, error) { return s.posterior(ctx, snap, places, points) })
}

func chartAt(places []optimizer.Place) chartOf {
	var key []byte
	for _, place := range places {
		key = binary.LittleEndian.AppendUint64(key, uint64(place.Arm))
		key = append(key, lists.Bits(place.U)...)
	}
	return sha256.Sum256(key)
}

// withRemainders returns the settings with some of them changed and the remainders adjusted.
func withRemainders(d design.Definition, settings, to design.Settings) design.Settings {
	out := maps.Clone(settings)
	maps.Copy(out, to)
	for _, p := range d.Parameters {
		if p.Type != design.Remainder || p.Total == nil {
			continue
		}
		left := *p.Total
		for _, name := range p.Of {
			left -= out[name].Number
		}
		out[p.Name] = design.NumberValue(left)
	}
	return out
}
