package study

import (
	"context"
	"fmt"
	"maps"
	"math"
)

// Bounds on how finely a chart can ask the model.
const (
	mostSamples    = 400 // along one parameter
	mostMapSamples = 100 // along each of two
)

// Slice is the posterior along one parameter, the others held.
type Slice struct {
	Parameter string          `json:"parameter"`
	At        []Value         `json:"at"`
	Metrics   map[string]Band `json:"metrics"`
	Feasible  []float64       `json:"feasibility_probability"`
}

// Map is the posterior over two parameters: row i is Y[i], column j is X[j].
type Map struct {
	X, Y     []Value
	Mean     map[string][][]float64
	SD       map[string][][]float64
	Feasible [][]float64
}

// Slices is the posterior along each parameter through a point, what a mixture leaves following the others. There are none when the prior
// knows only the candidates.
func (s *Service) Slices(ctx context.Context, snap *Snapshot, through Settings, samples int) ([]Slice, error) {
	if samples < 2 || samples > mostSamples {
		return nil, fault("query.samples", fmt.Sprintf("2 to %d samples are possible", mostSamples), samples)
	}
	if snap.compiled.onlyArms() {
		return nil, nil
	}
	var out []Slice
	for _, p := range snap.Definition.Parameters {
		if p.Type == Remainder {
			continue
		}
		slice := Slice{Parameter: p.Name, At: levels(p, samples)}
		var points []Settings
		for _, v := range slice.At {
			points = append(points, snap.moved(through, Settings{p.Name: v}))
		}
		posterior, err := s.viewed(ctx, snap, points)
		if err != nil {
			return nil, err
		}
		slice.Metrics, slice.Feasible = posterior.Metrics, posterior.FeasibilityProbability
		out = append(out, slice)
	}
	return out, nil
}

// Map is the posterior over parameters x and y, the others held at pins.
func (s *Service) Map(ctx context.Context, snap *Snapshot, x, y string, pins Settings, samples int) (Map, error) {
	if samples < 2 || samples > mostMapSamples {
		return Map{}, fault("query.samples", fmt.Sprintf("2 to %d samples are possible", mostMapSamples), samples)
	}
	across, err := snap.mapAxis("query.x", x)
	if err != nil {
		return Map{}, err
	}
	up, err := snap.mapAxis("query.y", y)
	if err != nil {
		return Map{}, err
	}
	if x == y {
		return Map{}, fault("query.y", "two different parameters are needed", y)
	}
	out := Map{X: levels(across, samples), Y: levels(up, samples), Mean: map[string][][]float64{}, SD: map[string][][]float64{}}
	var points []Settings
	for _, v := range out.Y {
		for _, u := range out.X {
			points = append(points, snap.moved(pins, Settings{x: u, y: v}))
		}
	}
	posterior, err := s.viewed(ctx, snap, points)
	if err != nil {
		return Map{}, err
	}
	for name, band := range posterior.Metrics {
		out.Mean[name], out.SD[name] = inRows(band.Mean, len(out.X)), inRows(band.SD, len(out.X))
	}
	out.Feasible = inRows(posterior.FeasibilityProbability, len(out.X))
	return out, nil
}

func (snap *Snapshot) mapAxis(location, name string) (Parameter, error) {
	if snap.compiled.onlyArms() {
		return Parameter{}, fault(location, "the prior knows only the candidates, so there is no map", name)
	}
	for _, p := range snap.Definition.Parameters {
		if p.Name == name && p.Type != Remainder {
			return p, nil
		}
	}
	return Parameter{}, fault(location, "a parameter that can be set is needed", name)
}

// viewed is the posterior at settings that a chart made up; a mixture's remainder may leave its range there.
func (s *Service) viewed(ctx context.Context, snap *Snapshot, points []Settings) (Posterior, error) {
	places, faults := snap.compiled.viewpoints(points[:1], "query.through")
	if err := invalid(faults); err != nil && len(snap.Definition.Parameters) > 0 && !snap.hasRemainder() {
		return Posterior{}, err
	}
	places = places[:0]
	for _, settings := range points {
		places = append(places, snap.compiled.locate(settings, -1))
	}
	return snap.replay.charts.at(places, func() (Posterior, error) { return s.posterior(ctx, snap, places, points) })
}

func (snap *Snapshot) hasRemainder() bool {
	for _, p := range snap.Definition.Parameters {
		if p.Type == Remainder {
			return true
		}
	}
	return false
}

// moved is settings with some of them changed and remainders following.
func (snap *Snapshot) moved(settings, to Settings) Settings {
	out := maps.Clone(settings)
	maps.Copy(out, to)
	for _, p := range snap.Definition.Parameters {
		if p.Type != Remainder || p.Total == nil {
			continue
		}
		left := *p.Total
		for _, name := range p.Of {
			left -= out[name].Number
		}
		out[p.Name] = NumberValue(left)
	}
	return out
}

// levels are the values of a parameter to look at: at most samples of them, evenly spread on its scale.
func levels(p Parameter, samples int) []Value {
	if p.Type == Categorical {
		values := make([]Value, len(p.Choices))
		for i, choice := range p.Choices {
			values[i] = TextValue(choice)
		}
		return values
	}
	low, high := *p.Low, *p.High
	if p.Type == Integer && high-low < float64(samples) {
		samples = int(high-low) + 1
	}
	var values []Value
	for i := range samples {
		x := low
		switch share := float64(i) / float64(max(samples-1, 1)); {
		case i == samples-1:
			x = high
		case p.Scale == "log":
			x = low * math.Pow(high/low, share)
		default:
			x = low + share*(high-low)
		}
		if p.Type == Integer {
			x = math.Round(x)
		}
		values = append(values, NumberValue(x))
	}
	return values
}

func inRows(values []float64, width int) [][]float64 {
	var rows [][]float64
	for len(values) > 0 {
		rows = append(rows, values[:width])
		values = values[width:]
	}
	return rows
}
