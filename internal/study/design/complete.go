package design

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"headroom/internal/optimizer"
)

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
		return asJSON(value)
	}
	by := map[string]json.RawMessage{}
	for name, given := range object(raw) {
		by[name] = given
	}
	for _, name := range lacking {
		by[name] = asJSON(value)
	}
	return asJSON(by)
}

func asJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("design: a model's setting has no JSON: %v", err)) // they are finite numbers and names
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
	return json.Unmarshal(asJSON(a), &x) == nil && json.Unmarshal(asJSON(b), &y) == nil && reflect.DeepEqual(x, y)
}
