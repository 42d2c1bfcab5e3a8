package design

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"headroom/internal/optimizer"
)

// models makes Config.Metrics.
func (b *compiler) models() {
	before := len(*b.faults)
	given := b.readModel()
	if b.completes && len(*b.faults) == before {
		b.completeModel(given)
		given = b.readModel()
	}
	c, m := b.out, b.out.Def.Model
	b.start(m.Start)
	for _, name := range c.MetricNames {
		metric := optimizer.Metric{Name: name}
		if k := given.kernels.at(name); k != nil {
			metric.Kernel.Name, metric.Kernel.Matrix = k.name, k.matrix
		} else {
			b.missing("kernel", name)
		}
		switch v := given.variances.at(name); {
		case v != nil:
			metric.Kernel.Variance = *v
		case m.Start != nil:
			metric.Kernel.Variance, metric.FreeVariance = m.Start.Variance, true
		default:
			b.missing("variance", name)
		}
		b.lengthscales(&metric, given.lengths, m.Start)
		b.noise(&metric, given.lambdas.at(name), given.noises.at(name), m.Start)
		// A noise that is given is one for all readings as they are; warped, it would differ between
		// them.
		metric.Warp = m.Warp == warpYeoJohnson && metric.FreeNoise && metric.Kernel.Matrix == nil
		c.Config.Metrics = append(c.Config.Metrics, metric)
	}
}

// missing notes what a complete definition does not say; in one that is completed, what keeps it
// from being so is a fault already.
func (b *compiler) missing(part, metric string) {
	if !b.completes {
		b.faults.Add("model."+part, nil, "is not written out for %s", metric)
	}
}

func (b *compiler) start(s *Start) {
	const at = "model.start"
	switch {
	case s == nil:
	case !b.out.Config.Fit:
		b.faults.Add(at, nil, "is where fits begin; with fit %q give lengthscales, variance and lambda themselves", fitFixed)
	case !(s.Lengthscale >= leastLengthscale && s.Lengthscale <= mostLengthscale):
		b.faults.Add(at+".lengthscale", s.Lengthscale, "must be between %s and %s of each range", formatNumber(leastLengthscale), formatNumber(mostLengthscale))
	case !(s.Variance >= leastVariance && s.Variance <= mostVariance):
		b.faults.Add(at+".variance", s.Variance, "must be between %s and %s", formatNumber(leastVariance), formatNumber(mostVariance))
	case !(s.Lambda >= leastVariance && s.Lambda <= mostVariance):
		b.faults.Add(at+".lambda", s.Lambda, "must be between %s and %s", formatNumber(leastVariance), formatNumber(mostVariance))
	}
}

func (b *compiler) lengthscales(metric *optimizer.Metric, given byMetric[[]float64], start *Start) {
	if metric.Kernel.Matrix != nil {
		if given.by[metric.Name] != nil {
			b.faults.Add("model.lengthscales."+metric.Name, nil, "a covariance between candidates has no lengthscales; leave them out")
		}
		return
	}
	switch lengths := given.at(metric.Name); {
	case lengths != nil:
		metric.Kernel.Lengthscales = slices.Clone(*lengths)
	case start != nil:
		metric.FreeLengthscales = true
		for _, d := range b.out.Config.Space.Dims {
			metric.Kernel.Lengthscales = append(metric.Kernel.Lengthscales, start.Lengthscale*extentOf(d))
		}
	default:
		b.missing("lengthscales", metric.Name)
	}
}

func (b *compiler) noise(metric *optimizer.Metric, lambda, noise *float64, start *Start) {
	if lambda != nil && noise != nil {
		b.faults.Add("model.noise_variance", *noise, "%s is given both lambda and noise_variance, which say the same in different units; give one", metric.Name)
	}
	switch {
	case noise != nil:
		metric.NoiseVariance = *noise
	case lambda != nil:
		metric.Lambda = *lambda
	case start != nil:
		metric.Lambda, metric.FreeNoise = start.Lambda, true
	default:
		b.missing("lambda", metric.Name)
	}
}

// completeModel writes out what the model left to defaults: the numbers themselves where they are
// fixed, where fits begin otherwise.
func (b *compiler) completeModel(given givenModel) {
	c, m := b.out, &b.out.Def.Model
	lacking := func(given func(metric string) bool) []string {
		return slices.DeleteFunc(slices.Clone(c.MetricNames), given)
	}
	m.Kernel = c.completeSetting(m.Kernel, lacking(func(name string) bool { return given.kernels.at(name) != nil }), defaultKernel)
	usualLambda := 1 + 2/float64(c.Def.Algorithm.Horizon)
	if c.Config.Fit {
		if m.Start == nil {
			m.Start = &Start{Lengthscale: usualLengthscale, Variance: usualVariance, Lambda: usualLambda}
		}
		return
	}
	m.Variance = c.completeSetting(m.Variance, lacking(func(name string) bool { return given.variances.at(name) != nil }), usualVariance)
	m.Lambda = c.completeSetting(m.Lambda, lacking(func(name string) bool { return given.lambdas.at(name) != nil || given.noises.at(name) != nil }), usualLambda)
	m.Lengthscales = c.completeSetting(m.Lengthscales, lacking(func(name string) bool {
		k := given.kernels.at(name)
		return given.lengths.at(name) != nil || k != nil && k.matrix != nil
	}), usualLengthscales(c.Config.Space.Dims))
}

// usualLengthscales is one number for all parameters where they are alike, else one for each.
func usualLengthscales(dims []optimizer.Dim) any {
	each := make([]float64, len(dims))
	for i, d := range dims {
		each[i] = usualLengthscale * extentOf(d)
	}
	if slices.ContainsFunc(each, func(l float64) bool { return l != each[0] }) {
		return each
	}
	return each[0]
}

// completeSetting gives a setting of the model a value for the metrics that lack one.
func (c *Compiled) completeSetting(raw json.RawMessage, lacking []string, value any) json.RawMessage {
	switch {
	case len(lacking) == 0:
		return raw
	case absent(raw) && len(lacking) == len(c.MetricNames):
		return AsJSON(value)
	}
	by := map[string]json.RawMessage{}
	maps.Copy(by, object(raw))
	for _, name := range lacking {
		by[name] = AsJSON(value)
	}
	return AsJSON(by)
}

// AsJSON is a value of a definition as JSON.
func AsJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("design: a value of a definition has no JSON: %v", err)) // they are finite numbers, names and what came from JSON
	}
	return text
}

// completed is what a definition like c's, with this model, would have for one.
func (c *Compiled) completed(m Model) Model {
	out := &Compiled{Def: c.Def, Config: c.Config, MetricNames: c.MetricNames, space: c.space, arms: c.arms}
	out.Def.Model = m
	var faults Faults
	b := compiler{out: out, faults: &faults}
	b.completeModel(b.readModel())
	return out.Def.Model
}

// sameModel tells whether models say the same, however they are written.
func sameModel(a, b Model) bool {
	var x, y any
	return json.Unmarshal(AsJSON(a), &x) == nil && json.Unmarshal(AsJSON(b), &y) == nil && reflect.DeepEqual(x, y)
}
