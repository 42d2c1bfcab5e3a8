package design

import (
	"fmt"
	"slices"
)

const (
	maxConstraints = 50
)

// metrics checks objective, constraints and recorded metrics and writes out the constraints' names.
func (c *checker) metrics() bool {
	return c.part(func() {
		c.objective()
		c.d.Constraints = slices.Clone(c.d.Constraints)
		if n := len(c.d.Constraints); n > maxConstraints {
			c.faults.Add("constraints", n, "there are %d constraints; at most %d are allowed", n, maxConstraints)
			return
		}
		if n := len(c.d.RecordedMetrics); n > maxMetrics {
			c.faults.Add("recorded_metrics", n, "there are %d recorded metrics; at most %d metrics are allowed in all", n, maxMetrics)
			return
		}
		c.constraintMetrics()
		c.constraintNames()
		for i := range c.d.Constraints {
			c.constraint(&c.d.Constraints[i], constraintAt(i))
		}
		c.contextNames()
		c.sharedMetrics()
		c.recorded()
		if n := len(c.d.MetricNames()); n > maxMetrics {
			c.faults.Add("recorded_metrics", n, "there are %d metrics in all; at most %d are allowed", n, maxMetrics)
		}
	})
}

func constraintAt(i int) string { return fmt.Sprintf("constraints[%d]", i) }

func (c *checker) objective() {
	o := c.d.Objective
	c.claim(o.Metric, "the objective's metric", "objective.metric")
	c.unit(o.Unit, "objective.unit")
	c.plausible(o.Plausible, "objective.plausible")
	if o.Direction != "maximize" && o.Direction != "minimize" {
		c.faults.Add("objective.direction", o.Direction, `must be "maximize" or "minimize"`)
	}
}

// constraintMetrics claims the name of every metric once.
func (c *checker) constraintMetrics() {
	seen := map[string]bool{c.d.Objective.Metric: true}
	for i, k := range c.d.Constraints {
		if !seen[k.Metric] {
			c.claim(k.Metric, "the metric of "+constraintAt(i), constraintAt(i)+".metric")
		}
		seen[k.Metric] = true
	}
}

// constraintNames writes out default names. A name may be that of the constraint's own metric.
func (c *checker) constraintNames() {
	seen := map[string]bool{}
	for i := range c.d.Constraints {
		k := &c.d.Constraints[i]
		if k.Name == "" {
			k.Name = k.Metric
		}
		switch {
		case k.Name != k.Metric:
			c.claim(k.Name, "the name of "+constraintAt(i), constraintAt(i)+".name")
		case seen[k.Name] && k.Name != "":
			c.faults.Add(constraintAt(i)+".name", k.Name, "%s has another limit; give each limit on it a name of its own", k.Metric)
		}
		seen[k.Name] = true
	}
}

func (c *checker) constraint(k *Constraint, at string) {
	c.unit(k.Unit, at+".unit")
	c.plausible(k.Plausible, at+".plausible")
	if k.Op != "<=" && k.Op != ">=" {
		c.faults.Add(at+".op", k.Op, `must be "<=" or ">="`)
	}
	if !Computable(k.Threshold) {
		c.faults.Add(at+".threshold", nil, "must be a number between -1e100 and 1e100")
	}
	switch {
	case k.Sampled && k.Expression != "":
		c.faults.Add(at+".sampled", true, "a constraint has either an expression or sampled values, not both")
	case k.Sampled && c.d.Candidates == nil:
		c.faults.Add(at+".sampled", true, "sampled values are one per candidate; give candidates")
	case k.Context != nil && k.Expression == "":
		c.faults.Add(at+".context", k.Context, "context goes with an expression; give one or leave context out")
	}
	if k.Given() && k.Metric == c.d.Objective.Metric {
		c.faults.Add(at+".metric", k.Metric, "the objective's metric must be measured; it cannot be of known form or sampled")
	}
}

func (c *checker) contextNames() {
	all := map[string]bool{}
	for i, k := range c.d.Constraints {
		if n := len(k.Context); n > maxContext {
			c.faults.Add(constraintAt(i)+".context", n, "has %d names; at most %d are allowed", n, maxContext)
			continue
		}
		seen := map[string]bool{}
		for j, name := range k.Context {
			location := fmt.Sprintf("%s.context[%d]", constraintAt(i), j)
			switch {
			case CheckName(name) != "":
				c.faults.Add(location, name, "the name %s", CheckName(name))
			case !isIdentifier(name):
				c.faults.Add(location, name, "%q cannot be used in an expression; it needs to be letters, digits and _ beginning with a letter, and no word like and, or, not, in", name)
			case slices.Contains(c.parameterNames(), name):
				c.faults.Add(location, name, "%q is a parameter; expressions can use it without naming it here", name)
			case seen[name]:
				c.faults.Add(location, name, "%q stands in the list twice", name)
			}
			seen[name], all[name] = true, true
		}
	}
	if len(all) > maxContext {
		c.faults.Add("constraints", len(all), "there are %d context names; at most %d are allowed", len(all), maxContext)
	}
}

// sharedMetrics checks that constraints on one metric agree on what it is.
func (c *checker) sharedMetrics() {
	first := map[string]int{}
	plausible := map[string][]float64{c.d.Objective.Metric: c.d.Objective.Plausible}
	units := map[string]string{c.d.Objective.Metric: c.d.Objective.Unit}
	for i, k := range c.d.Constraints {
		if unit := units[k.Metric]; unit != "" && k.Unit != "" && k.Unit != unit {
			c.faults.Add(constraintAt(i)+".unit", k.Unit, "%s is in %s elsewhere; a metric has one unit", k.Metric, unit)
		} else if unit == "" {
			units[k.Metric] = k.Unit
		}
		if other := plausible[k.Metric]; other != nil && k.Plausible != nil && !slices.Equal(k.Plausible, other) {
			c.faults.Add(constraintAt(i)+".plausible", k.Plausible, "%s is plausible in another range elsewhere; a metric has one", k.Metric)
		} else if other == nil {
			plausible[k.Metric] = k.Plausible
		}
		j, shared := first[k.Metric]
		if !shared {
			first[k.Metric] = i
			continue
		}
		other := c.d.Constraints[j]
		if k.Expression != other.Expression || k.Sampled != other.Sampled || !slices.Equal(k.Context, other.Context) {
			c.faults.Add(constraintAt(i)+".metric", k.Metric, "%s is shared with %s and must come from the same place: give both the same expression and context, or sampled", k.Metric, constraintAt(j))
		}
	}
}

func (c *checker) recorded() {
	for i, r := range c.d.RecordedMetrics {
		at := fmt.Sprintf("recorded_metrics[%d]", i)
		c.claim(r.Metric, "another recorded metric", at+".metric")
		c.unit(r.Unit, at+".unit")
		c.plausible(r.Plausible, at+".plausible")
	}
}

// plausible checks the lowest and the highest value of a metric that need no second look; nil says
// nothing.
func (c *checker) plausible(bounds []float64, at string) {
	switch {
	case bounds == nil:
	case len(bounds) != 2:
		c.faults.Add(at, bounds, "must be two numbers, the lowest and the highest plausible value")
	case !Computable(bounds[0]), !Computable(bounds[1]):
		c.faults.Add(at, nil, "must be two numbers between -1e100 and 1e100")
	case bounds[0] >= bounds[1]:
		c.faults.Add(at, bounds, "the lowest plausible value, %s, must be below the highest, %s", formatNumber(bounds[0]), formatNumber(bounds[1]))
	}
}
