package design

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
)

// Brought is what a caller supplies with a decision for constraints whose value is known then: the
// context that expressions need, by name, and the values of sampled metrics by metric, one number
// per candidate.
type Brought struct {
	Context          map[string]float64   `json:"context,omitempty"`
	ConstraintValues map[string][]float64 `json:"constraint_values,omitempty"`
}

// Known returns the values of known constraints for one decision.
func (c *Compiled) Known(brought Brought) (optimizer.Known, Faults) {
	places := make([]optimizer.Place, len(c.arms))
	for i := range places {
		places[i].Arm = i
	}
	return c.KnownFor(places, brought)
}

// KnownFor is Known with sampled values for the given places instead of for every candidate.
func (c *Compiled) KnownFor(places []optimizer.Place, brought Brought) (optimizer.Known, Faults) {
	faults := c.checkBrought(brought, len(places))
	if len(faults) > 0 || len(c.given) == 0 {
		return optimizer.Known{}, faults
	}
	if c.arms == nil {
		known := optimizer.Known{At: c.knownFunction(brought.Context, &faults)}
		return known, faults
	}
	known := optimizer.Known{Arms: make([][]float64, len(c.ConstraintNames))}
	for _, g := range c.given {
		if g.Sampled {
			known.Arms[g.cost] = make([]float64, len(c.arms))
			for i, p := range places {
				known.Arms[g.cost][p.Arm] = brought.ConstraintValues[g.Metric][i]
			}
		} else {
			known.Arms[g.cost] = c.tabulate(g, brought.Context, &faults)
		}
	}
	return known, faults
}

// tabulate evaluates an expression at every candidate, clamped, and reports one where it is not
// computable.
func (c *Compiled) tabulate(g givenCost, context map[string]float64, f *Faults) []float64 {
	var r row
	table := make([]float64, len(c.arms))
	undefined := -1
	for i, x := range c.arms {
		v := g.at(&r, x, context)
		if !Computable(v) && undefined < 0 && c.Config.Space.Available[i] {
			undefined = i
		}
		table[i] = g.clamp(v)
	}
	if undefined >= 0 {
		x := c.arms[undefined]
		f.Add("context", context, "with this context the expression of %s %s at candidate %d (%s)", g.Name, whyNotComputable(g.at(&r, x, context)), undefined, c.space.describe(x))
	}
	return table
}

// knownFunction returns a function that evaluates the expressions anywhere in the space.
func (c *Compiled) knownFunction(context map[string]float64, f *Faults) func(int, []float64) float64 {
	byCost := make([]*givenCost, len(c.ConstraintNames))
	for i := range c.given {
		g := &c.given[i]
		byCost[g.cost] = g
		var r row
		for _, x := range c.space.probes {
			if v := g.at(&r, x, context); !Computable(v) {
				f.Add("context", context, "with this context the expression of %s %s at %s", g.Name, whyNotComputable(v), c.space.describe(x))
				break
			}
		}
	}
	brought := maps.Clone(context)
	return func(constraint int, u []float64) float64 {
		g := byCost[constraint]
		r := c.space.rows.Get().(*row)
		defer c.space.rows.Put(r)
		for i, a := range c.space.axes {
			r[i] = a.physical(u[i])
		}
		return g.clamp(g.value(g.withContext(r, len(c.space.axes), brought)))
	}
}

func whyNotComputable(v float64) string {
	if !Finite(v) {
		return "has no finite value"
	}
	return fmt.Sprintf("is %g, and numbers up to 1e100 in size are possible,", v)
}

// clamp returns the metric's value as decisions use it, at most Largest in size. Where the
// expression has no value it breaks the limit by far, so that the search stays away.
func (g givenCost) clamp(v float64) float64 {
	switch {
	case Finite(v):
		return math.Max(-Largest, math.Min(v, Largest))
	case g.Op == ">=":
		return -Largest
	}
	return Largest
}

// at evaluates the expression at physical values x, using r as working space.
func (g givenCost) at(r *row, x []float64, context map[string]float64) float64 {
	copy(r[:], x)
	return g.value(g.withContext(r, len(x), context))
}

// withContext appends the context's numbers to the n parameters in r.
func (g givenCost) withContext(r *row, n int, context map[string]float64) []float64 {
	for i, name := range g.Context {
		r[n+i] = context[name]
	}
	return r[:n+len(g.Context)]
}

// KnownAt returns the values of the known constraints' metrics at one point, by constraint name.
func (c *Compiled) KnownAt(s Settings, place optimizer.Place, brought Brought) (map[string]float64, Faults) {
	f := c.checkBrought(brought, len(c.arms))
	if len(f) > 0 || len(c.given) == 0 {
		return nil, f
	}
	var r row
	x := c.space.lookup(s)
	out := make(map[string]float64, len(c.given))
	for _, g := range c.given {
		if g.Sampled {
			out[g.Name] = brought.ConstraintValues[g.Metric][place.Arm]
			continue
		}
		v := g.at(&r, x, brought.Context)
		if !Computable(v) {
			f.Add("", nil, "the expression of %s %s at %s", g.Name, whyNotComputable(v), c.space.describe(x))
		}
		out[g.Name] = v
	}
	if len(f) > 0 {
		return nil, f
	}
	return out, nil
}

// KnownAlone returns the values of known constraints that settings alone determine, by constraint
// name.
func (c *Compiled) KnownAlone(s Settings) map[string]float64 {
	var r row
	known := map[string]float64{}
	for _, g := range c.given {
		if g.Sampled || len(g.Context) > 0 {
			continue
		}
		if v := g.at(&r, c.space.lookup(s), nil); Computable(v) {
			known[g.Name] = v
		}
	}
	return known
}

// KnownNow returns the values of known constraints by the formulas of c, clamped, by constraint
// name. Recorded values are used for sampled constraints and for formulas whose context was not
// brought.
func (c *Compiled) KnownNow(s Settings, context, recorded map[string]float64) map[string]float64 {
	var r row
	x, now := c.space.lookup(s), maps.Clone(recorded)
	for _, g := range c.given {
		lacks := func(name string) bool { _, there := context[name]; return !there }
		if !g.Sampled && !slices.ContainsFunc(g.Context, lacks) {
			now[g.Name] = g.clamp(g.at(&r, x, context))
		}
	}
	return now
}

// KnownInOrder converts values by constraint name to the order of the study, nil if there are none.
func (d Definition) KnownInOrder(known map[string]float64) []float64 {
	if len(known) == 0 {
		return nil
	}
	return lists.Map(d.Constraints, func(c Constraint) float64 { return known[c.Name] })
}

// KnownOfSettings returns the known constraints' values, clamped, one row per point in the order
// of the study. It is nil if there are no such constraints or settings alone do not determine them.
func (c *Compiled) KnownOfSettings(points []Settings) [][]float64 {
	if len(c.given) == 0 || !c.Def.Foreseeable() {
		return nil
	}
	return lists.Map(points, func(s Settings) []float64 { return c.Def.KnownInOrder(c.KnownNow(s, nil, map[string]float64{})) })
}

// CouldFit reports whether no more contexts and sampled metrics are named than a study can have.
func (b Brought) CouldFit() bool {
	return len(b.Context) <= maxContext && len(b.ConstraintValues) <= maxMetrics
}

// checkBrought compares what was brought with what is needed; each sampled metric needs count
// numbers.
func (c *Compiled) checkBrought(brought Brought, count int) Faults {
	var f Faults
	c.checkContext(brought.Context, &f)
	c.checkValues(brought.ConstraintValues, count, &f)
	return f
}

func (c *Compiled) checkContext(context map[string]float64, f *Faults) {
	var needed []string
	for _, g := range c.given {
		for _, name := range g.Context {
			if !slices.Contains(needed, name) {
				needed = append(needed, name)
			}
			if _, given := context[name]; !given {
				f.Add("context."+name, nil, "is missing; the constraint %s needs it", g.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if f.Full() {
			return
		}
		at, v := "context."+Shorten(name), context[name]
		switch {
		case !slices.Contains(needed, name):
			f.Add(at, v, "%s", UnknownName("context", name, needed))
		case !Computable(v):
			f.Add(at, nil, NotComputable)
		}
	}
}

const inOrder = "one per candidate in order, or where points are given one per point"

func (c *Compiled) checkValues(values map[string][]float64, count int, f *Faults) {
	var needed []string
	for _, g := range c.given {
		if !g.Sampled || slices.Contains(needed, g.Metric) {
			continue
		}
		needed = append(needed, g.Metric)
		at := "constraint_values." + g.Metric
		brought, given := values[g.Metric]
		switch {
		case !given:
			f.Add(at, nil, "is missing; give %s, %s", Count(count, "number", "numbers"), inOrder)
		case len(brought) != count:
			f.Add(at, len(brought), "has %s; give %d, %s", Count(len(brought), "number", "numbers"), count, inOrder)
		}
		if i := slices.IndexFunc(brought, func(v float64) bool { return !Computable(v) }); i >= 0 {
			f.Add(fmt.Sprintf("%s[%d]", at, i), nil, NotComputable)
		}
	}
	addUnknown(f, "constraint_values", "sampled metric", values, needed)
}
