package design

import (
	"fmt"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
)

// Place turns settings into unit coordinates. It returns the settings as they will be kept: steps
// rounded, a remainder filled in. With candidates it is the first one with equal settings. What has
// run out may still be placed. Faults are located under location, e.g. "parameters".
func (c *Compiled) Place(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, reading{round: true})
}

// PlaceExactly is Place for settings that were run: a step does not round them.
func (c *Compiled) PlaceExactly(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, reading{})
}

// PlaceUsed is PlaceExactly for settings that may lie beyond the bounds, which may have been narrowed
// since, and break the rules for what may be chosen, since an overshoot happens.
func (c *Compiled) PlaceUsed(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, reading{beyond: true, anywhere: true})
}

// PlaceTold is PlaceUsed for what is told of a trial with settings that are kept of it already: those that
// it changes may not lie far beyond the bounds.
func (c *Compiled) PlaceTold(s, kept Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, reading{beyond: true, kept: kept})
}

// PlaceAgain places the settings that a trial was run at, to be run once more. Where those that were
// chosen for it may still be, they may lie beyond bounds and rules as they did then.
func (c *Compiled) PlaceAgain(chosen, used Settings, location string) (Settings, optimizer.Place, Faults) {
	kept, place, faults := c.PlaceExactly(used, location)
	if _, _, wrong := c.PlaceExactly(chosen, location); len(faults) > 0 && len(wrong) == 0 {
		return c.PlaceUsed(used, location)
	}
	return kept, place, append(faults, c.Forbids(kept, place, location)...)
}

func (c *Compiled) place(s Settings, location string, how reading) (Settings, optimizer.Place, Faults) {
	if c.arms != nil {
		how = reading{}
	}
	var f Faults
	x, good := c.space.read(s, location, how, &f)
	if !good {
		return nil, nowhere, f
	}
	if arm, listed := c.armIndex[keyOf(x)]; listed {
		return c.Def.Candidates[arm].Clone(), c.arm(arm), nil
	}
	if c.arms != nil {
		return nil, nowhere, c.unlisted(x, s, location)
	}
	if !how.beyond {
		f = c.breaks(x, s, location)
	}
	if len(f) > 0 {
		return nil, nowhere, f
	}
	return c.space.exactly(x), c.at(x), nil
}

// breaks is the fault of settings at x that are not within all input constraints.
func (c *Compiled) breaks(x []float64, s Settings, location string) (f Faults) {
	if i := c.space.broken(x, personSlack); i >= 0 {
		f.Add(location, s, "breaks the input constraint %s", c.space.limits[i].explain(x))
	}
	return f
}

// Holding is what a decision is made under that has some settings given, and chooses the others, and the
// names of those that are held, in the order of the study.
func (c *Compiled) Holding(held Settings, location string) (config *optimizer.Config, names []string, f Faults) {
	at := map[int]float64{}
	for i := range c.space.axes {
		a := &c.space.axes[i]
		v, given := held[a.Name]
		if !given {
			continue
		}
		there, before := location+"."+a.Name, len(f)
		x := a.read(v, there, reading{round: c.arms == nil}, &f)
		switch arm := func(arm []float64) bool { return arm[i] == x }; {
		case len(f) > before:
		case a.Type == Remainder:
			f.Add(there, v, "is what the others leave of %s; hold those", formatNumber(*a.Total))
		case a.gone[a.exactly(x)]:
			f.Add(there, v, "has run out")
		case c.arms != nil && !slices.ContainsFunc(c.arms, arm):
			f.Add(there, v, "no candidate has this %s", a.Name)
		default:
			names = append(names, a.Name)
			at[i], _ = a.settle(a.unit(x))
		}
	}
	if len(names)+len(f) < len(held) {
		addUnknown(&f, location, "parameter", held, namesOf(c.space.axes))
	}
	if len(f) > 0 || len(at) == 0 {
		return c.Config, nil, f
	}
	config = new(*c.Config)
	config.Space = config.Space.Holding(at)
	switch free := func(d optimizer.Dim) bool { return !d.Derived && !d.Held }; {
	case !slices.ContainsFunc(config.Space.Dims, free):
		f.Add(location, held, "leaves nothing to be chosen; begin a trial of your own with these settings")
	case c.arms != nil && !slices.Contains(config.Space.Available, true):
		f.Add(location, held, "no candidate that may be tried has these settings")
	}
	return config, names, f
}

// Forbids are the faults of a candidate's settings that a rule forbids to try, which has a place; of
// other settings Place says so.
func (c *Compiled) Forbids(s Settings, place optimizer.Place, location string) Faults {
	if place.Arm < 0 {
		return nil
	}
	return c.breaks(c.arms[place.Arm], s, location)
}

// mostNamed is how many values of candidates a fault names.
const mostNamed = 6

// unlisted says of settings which candidates do not have which of them alone makes them so, and what
// it is in those that have the others; where there is no such one, it is about all together.
func (c *Compiled) unlisted(x []float64, s Settings, location string) (f Faults) {
	type alone struct {
		axis  int
		value float64
	}
	instead, seen := make([][]string, len(x)), map[alone]bool{}
	for i, arm := range c.arms {
		differing, at := 0, 0
		for j := range x {
			if arm[j] != x[j] {
				differing, at = differing+1, j
			}
		}
		if one := (alone{at, arm[at]}); differing == 1 && !seen[one] {
			seen[one] = true
			instead[at] = append(instead[at], c.Def.Candidates[i][c.Def.Parameters[at].Name].String())
		}
	}
	for j, values := range instead {
		if len(values) > mostNamed {
			values = append(values[:mostNamed-1], fmt.Sprintf("%d other values", len(values)-mostNamed+1))
		}
		if name := c.Def.Parameters[j].Name; len(values) > 0 {
			f.Add(location+"."+name, s[name], "is not one of the %d candidates; those with the other settings have %s", len(c.arms), Listed(values, "or"))
		}
	}
	if len(f) == 0 {
		f.Add(location, s, "is not one of the %d candidates", len(c.arms))
	}
	return f
}

// nowhere is the place of settings that have none.
var nowhere = optimizer.Place{Arm: -1}

// at is the place of physical values that are no candidate's.
func (c *Compiled) at(x []float64) optimizer.Place {
	return optimizer.Place{U: c.space.units(x), Arm: -1}
}

func (c *Compiled) arm(i int) optimizer.Place {
	return optimizer.Place{U: slices.Clone(c.Config.Space.Arms[i]), Arm: i}
}

// Arms are the places of all candidates, in their order; nil when the study has none.
func (c *Compiled) Arms() []optimizer.Place {
	var places []optimizer.Place
	for i := range c.arms {
		places = append(places, c.arm(i))
	}
	return places
}

// MayChoose tells whether a trial may be chosen at settings.
func (c *Compiled) MayChoose(s Settings) bool {
	kept, _, faults := c.Place(s, "")
	return len(faults) == 0 && c.space.available(c.space.lookup(kept))
}

// Leaves tells whether what settings leave of every mixture lies within the bounds of its remainder.
func (c *Compiled) Leaves(s Settings) bool { return c.space.inBounds(c.space.lookup(s)) }

// MayChooseAgain tells whether what was chosen at some settings, and run at others, may be chosen
// again as it was run: nothing that it needs has run out.
func (c *Compiled) MayChooseAgain(chosen, used Settings) bool {
	_, _, faults := c.PlaceAgain(chosen, used, "")
	return len(faults) == 0 && c.space.available(c.space.lookup(used))
}

// Probes are some allowed places spread over the space; with candidates, some of theirs.
func (c *Compiled) Probes() []optimizer.Place {
	return lists.Map(c.space.probes, c.at)
}

// NotRunOut are the places, with their indices, that need nothing that has run out. Candidates all
// stay: of them the optimizer knows it.
func (c *Compiled) NotRunOut(places []optimizer.Place) (left []optimizer.Place, of []int) {
	for i, p := range places {
		if p.Arm >= 0 || c.space.available(c.space.physicals(p.U)) {
			left, of = append(left, p), append(of, i)
		}
	}
	return left, of
}

// Locate is Place for settings that were accepted once: bounds and limits may have been changed
// since, so the coordinates may lie outside the unit cube. candidate is the index kept with the
// trial, nil without candidates.
func (c *Compiled) Locate(s Settings, candidate *int) optimizer.Place {
	if candidate != nil {
		return c.arm(*candidate)
	}
	return c.at(c.space.lookup(s))
}

// Settings turns unit coordinates back into physical values that a person can set.
func (c *Compiled) Settings(p optimizer.Place) Settings {
	if p.Arm >= 0 {
		return c.Def.Candidates[p.Arm].Clone()
	}
	return c.space.exactly(c.space.physicals(p.U))
}

// Names tells whether the settings are of parameters that the study has.
func (c *Compiled) Names(s Settings) bool {
	for name := range s {
		if _, known := c.space.index[name]; !known {
			return false
		}
	}
	return true
}

// keyOf makes physical values comparable.
func keyOf(x []float64) string {
	return string(lists.Bits(x))
}

// viewpoint is where the model is looked at: any settings within the parameters' ranges, whether
// they may be tried or not. With candidates it is the one with equal settings, and with an arms'
// covariance it must be one.
func (c *Compiled) viewpoint(s Settings, location string) (optimizer.Place, Faults) {
	var f Faults
	x, good := c.space.read(s, location, reading{}, &f)
	if !good {
		return nowhere, f
	}
	if arm, listed := c.armIndex[keyOf(x)]; listed {
		return c.arm(arm), nil
	}
	if c.OnlyArms() {
		f.Add(location, s, "is not one of the %d candidates, and their covariance says nothing about other settings", len(c.arms))
		return nowhere, f
	}
	return c.at(x), nil
}

// OnlyArms tells whether some metric's prior is a covariance of the candidates, which knows no
// other points.
func (c *Compiled) OnlyArms() bool {
	return slices.ContainsFunc(c.Config.Metrics, func(m optimizer.Metric) bool { return m.Kernel.Name == "covariance" })
}

// Viewpoints places several settings to look at; faults are located by their index in a list.
func (c *Compiled) Viewpoints(points []Settings, location string) ([]optimizer.Place, Faults) {
	return eachPlaced(points, location, c.viewpoint)
}

// Places is Place for several settings; faults are located by their index in a list.
func (c *Compiled) Places(points []Settings, location string) ([]optimizer.Place, Faults) {
	return eachPlaced(points, location, func(s Settings, at string) (optimizer.Place, Faults) {
		_, place, wrong := c.Place(s, at)
		return place, wrong
	})
}

func eachPlaced(points []Settings, location string, place func(Settings, string) (optimizer.Place, Faults)) ([]optimizer.Place, Faults) {
	places := make([]optimizer.Place, len(points))
	var faults Faults
	for i, s := range points {
		var wrong Faults
		places[i], wrong = place(s, fmt.Sprintf("%s[%d]", location, i))
		if faults = append(faults, wrong...); faults.Full() {
			break
		}
	}
	return places, faults
}
