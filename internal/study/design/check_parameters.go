package design

import (
	"fmt"
	"math"
	"slices"
)

const (
	maxChoices     = 1000
	maxWholeNumber = 1 << 53 // every whole number up to it is a float64
	// leastRange is how far apart bounds must be, relative to their size, for floating point to
	// tell settings apart.
	leastRange = 1e-9
	// leastNumber is the smallest that floating point holds to all its digits.
	leastNumber = 0x1p-1022
	// maxSteps keeps steps apart in unit coordinates.
	maxSteps = 1e9
)

// parameters checks every parameter and tells whether a space can be made of them.
func (c *checker) parameters() bool {
	return c.part(func() {
		c.d.Parameters = slices.Clone(c.d.Parameters)
		n := len(c.d.Parameters)
		switch {
		case n == 0:
			c.faults.Add("parameters", nil, "give at least one parameter")
		case n > maxParameters:
			c.faults.Add("parameters", n, "there are %d parameters; at most %d are allowed", n, maxParameters)
			return
		}
		for i := range c.d.Parameters {
			p := &c.d.Parameters[i]
			at := fmt.Sprintf("parameters[%d]", i)
			c.claim(p.Name, "another parameter", at+".name")
			c.unit(p.Unit, at+".unit")
			c.parameter(p, at)
		}
		c.remainders()
	})
}

func (c *checker) parameter(p *Parameter, at string) {
	switch p.Type {
	case Real, Integer:
		p.Scale = c.d.ScaleOf(*p)
		c.word(&p.Scale, at+".scale", ScaleLinear, ScaleLog)
		c.bounds(p, at)
		c.step(p, at)
		c.unused(at, p, "choices", "total", "of")
	case Categorical:
		c.choices(p, at)
		c.unused(at, p, "low", "high", "scale", "step", "total", "of")
	case Remainder:
		c.unused(at, p, "choices", "step", "scale")
	case "":
		c.faults.Add(at+".type", nil, `is missing; it must be "real", "integer", "categorical" or "remainder"`)
	default:
		c.faults.Add(at+".type", p.Type, `must be "real", "integer", "categorical" or "remainder"`)
	}
}

// unused refuses fields that have no meaning for a parameter of this type.
func (c *checker) unused(at string, p *Parameter, fields ...string) {
	given := map[string]bool{
		"low": p.Low != nil, "high": p.High != nil, "step": p.Step != nil, "total": p.Total != nil,
		"choices": p.Choices != nil, "of": p.Of != nil, "scale": p.Scale != "" && p.Scale != "linear",
	}
	for _, field := range fields {
		if given[field] {
			c.faults.Add(at+"."+field, nil, "has no meaning for a parameter of type %s; leave it out", p.Type)
		}
	}
	if slices.Contains(fields, "scale") {
		p.Scale = ""
	}
}

func (c *checker) bounds(p *Parameter, at string) {
	low := c.bound(p.Low, at+".low")
	high := c.bound(p.High, at+".high")
	if !low || !high {
		return
	}
	size := math.Max(math.Abs(*p.Low), math.Abs(*p.High))
	switch {
	case *p.Low >= *p.High:
		c.faults.Add(at+".low", *p.Low, "low %s must be below high %s", formatNumber(*p.Low), formatNumber(*p.High))
	case *p.High-*p.Low < leastRange*size:
		c.faults.Add(at+".high", *p.High, "low and high are too close together to be told apart; write the parameter as the difference from %s", formatNumber(*p.Low))
	case *p.High-*p.Low < leastNumber/leastRange:
		c.faults.Add(at+".high", *p.High, "low and high are too close to 0 to be told apart; choose a smaller unit")
	case p.Logarithmic() && *p.Low <= 0:
		c.faults.Add(at+".low", *p.Low, "low %s must be above 0 for a log scale", formatNumber(*p.Low))
	case p.Logarithmic() && *p.Low < leastNumber:
		c.faults.Add(at+".low", *p.Low, "low is too close to 0 for a log scale; choose a smaller unit")
	case p.Logarithmic() && !Finite(*p.High / *p.Low):
		c.faults.Add(at+".low", *p.Low, "high may be at most 1e300 times low on a log scale; raise low, or make the parameter its own logarithm")
	}
	if p.Type == Integer {
		c.whole(*p.Low, at+".low")
		c.whole(*p.High, at+".high")
	}
}

func (c *checker) bound(b *float64, location string) bool {
	switch {
	case b == nil:
		c.faults.Add(location, nil, "is missing; give a number")
	case !Computable(*b):
		c.faults.Add(location, nil, "must be a number between -1e100 and 1e100")
	default:
		return true
	}
	return false
}

func (c *checker) whole(x float64, location string) {
	if x != math.Trunc(x) || math.Abs(x) > maxWholeNumber {
		c.faults.Add(location, x, "%s must be a whole number for a parameter of type integer", formatNumber(x))
	}
}

func (c *checker) step(p *Parameter, at string) {
	if p.Step == nil {
		return
	}
	step := *p.Step
	switch {
	case p.Type == Integer && step != 1:
		c.faults.Add(at+".step", step, "an integer parameter has steps of 1; leave step out")
	case !(step > 0) || !Finite(step):
		c.faults.Add(at+".step", nil, "must be above 0")
	case p.Low == nil || p.High == nil:
	case step > (*p.High-*p.Low)*(1+1e-9):
		c.faults.Add(at+".step", step, "step %s is wider than the range from %s to %s", formatNumber(step), formatNumber(*p.Low), formatNumber(*p.High))
	case step*maxSteps < (*p.High-*p.Low)*(1-1e-9):
		c.faults.Add(at+".step", step, "step %s is too fine for the range; leave it out for a continuous parameter", formatNumber(step))
	}
}

func (c *checker) choices(p *Parameter, at string) {
	n := len(p.Choices)
	switch {
	case n == 0:
		c.faults.Add(at+".choices", nil, "give at least one choice")
	case n > maxChoices:
		c.faults.Add(at+".choices", n, "there are %d choices; at most %d are allowed", n, maxChoices)
		return
	}
	seen := map[string]bool{}
	for i, choice := range p.Choices {
		location := fmt.Sprintf("%s.choices[%d]", at, i)
		if wrong := CheckName(choice); wrong != "" {
			c.faults.Add(location, choice, "a choice %s", wrong)
		} else if seen[choice] {
			c.faults.Add(location, choice, "%q stands in the list twice", choice)
		}
		seen[choice] = true
	}
}

// remainders checks what refers to other parameters.
func (c *checker) remainders() {
	types := map[string]ParameterType{}
	for _, p := range c.d.Parameters {
		types[p.Name] = p.Type
	}
	for i := range c.d.Parameters {
		if p := &c.d.Parameters[i]; p.Type == Remainder {
			c.remainder(p, fmt.Sprintf("parameters[%d]", i), types)
		}
	}
}

func (c *checker) remainder(p *Parameter, at string, types map[string]ParameterType) {
	if c.bound(p.Total, at+".total") {
		if p.Low == nil {
			p.Low = new(float64)
		}
		if p.High == nil {
			p.High = new(*p.Total)
		}
		c.bounds(p, at)
	}
	switch n := len(p.Of); {
	case n == 0:
		c.faults.Add(at+".of", nil, "name the parameters that share the total with this one")
	case n > maxParameters:
		c.faults.Add(at+".of", n, "names %d parameters; there are %d", n, len(c.d.Parameters))
		return
	}
	seen := map[string]bool{}
	for i, name := range p.Of {
		location := fmt.Sprintf("%s.of[%d]", at, i)
		switch kind, known := types[name]; {
		case !known:
			c.faults.Add(location, name, "%s", UnknownName("parameter", name, c.parameterNames()))
		case name == p.Name:
			c.faults.Add(location, name, "a remainder cannot be part of itself")
		case kind != Real && kind != Integer:
			c.faults.Add(location, name, "%q is of type %s; only real and integer parameters can share a total", name, kind)
		case seen[name]:
			c.faults.Add(location, name, "%q stands in the list twice", name)
		}
		seen[name] = true
	}
}

func (c *checker) parameterNames() []string {
	var names []string
	for _, p := range c.d.Parameters {
		names = append(names, p.Name)
	}
	return names
}
