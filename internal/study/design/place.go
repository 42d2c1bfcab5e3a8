package design

import (
	"fmt"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
)

// Place converts settings to unit coordinates. It returns the settings as they will be kept, with
// steps rounded and remainders filled in. With candidates it finds the first one with equal
// settings. Values that have run out are accepted. Faults are located under location, such as
// "parameters".
func (c *Compiled) Place(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, strictness{round: true})
}

// PlaceExactly is Place for settings that were run, which a step does not round.
func (c *Compiled) PlaceExactly(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, strictness{})
}

// PlaceUsed is PlaceExactly for settings that need not be allowed: bounds may have been narrowed
// since, and an overshoot may happen.
func (c *Compiled) PlaceUsed(s Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, strictness{beyond: true, unlimited: true})
}

// OnStep returns a parameter's value on its step, as Place keeps it; one that Place refuses is
// returned as it is.
func (c *Compiled) OnStep(parameter string, v Value) Value {
	var f Faults
	a := c.space.axes[c.space.index[parameter]]
	x := a.read(v, parameter, strictness{round: c.arms == nil}, &f)
	if a.Type == Categorical || len(f) > 0 {
		return v
	}
	return NumberValue(x)
}

// PlaceTold is PlaceUsed for a change to the settings kept of a trial: the changed ones must not
// lie far beyond the bounds.
func (c *Compiled) PlaceTold(s, kept Settings, location string) (Settings, optimizer.Place, Faults) {
	return c.place(s, location, strictness{beyond: true, kept: kept})
}

// PlaceAgain places the settings that a trial was run at, for a repetition. If the chosen settings
// are still allowed, those used may break bounds and rules as they did then.
func (c *Compiled) PlaceAgain(chosen, used Settings, location string) (Settings, optimizer.Place, Faults) {
	kept, place, faults := c.PlaceExactly(used, location)
	if _, _, wrong := c.PlaceExactly(chosen, location); len(faults) > 0 && len(wrong) == 0 {
		return c.PlaceUsed(used, location)
	}
	return kept, place, append(faults, c.CheckRules(kept, place, location)...)
}

func (c *Compiled) place(s Settings, location string, how strictness) (Settings, optimizer.Place, Faults) {
	if c.arms != nil {
		how = strictness{}
	}
	var f Faults
	x, good := c.space.read(s, location, how, &f)
	if !good {
		return nil, noPlace, f
	}
	if arm, listed := c.armIndex[keyOf(x)]; listed {
		return c.Def.Candidates[arm].Clone(), c.placeOfArm(arm), nil
	}
	if c.arms != nil {
		return nil, noPlace, c.unlisted(x, s, location)
	}
	if !how.beyond {
		f = c.brokenConstraint(x, s, location)
	}
	if len(f) > 0 {
		return nil, noPlace, f
	}
	return c.space.settings(x), c.placeAt(x), nil
}

func (c *Compiled) brokenConstraint(x []float64, s Settings, location string) (f Faults) {
	if i := c.space.broken(x, personSlack); i >= 0 {
		f.Add(location, s, "breaks the input constraint %s", c.space.limits[i].explain(x))
	}
	return f
}

// Holding returns the configuration for a decision that chooses the other settings while some are
// held, and the names of the held parameters in the order of the study.
func (c *Compiled) Holding(held Settings, location string) (config *optimizer.Config, names []string, f Faults) {
	at := map[int]float64{}
	for i, a := range c.space.axes {
		v, given := held[a.Name]
		if !given {
			continue
		}
		there, before := location+"."+a.Name, len(f)
		x := a.read(v, there, strictness{round: c.arms == nil}, &f)
		switch arm := func(arm []float64) bool { return arm[i] == x }; {
		case len(f) > before:
		case a.Type == Remainder:
			f.Add(there, v, "is what the others leave of %s; hold the others instead", formatNumber(*a.Total))
		case a.unavailable[a.setting(x)]:
			f.Add(there, v, "is not available now; hold another value, or say that it is available again")
		case c.arms != nil && !slices.ContainsFunc(c.arms, arm):
			f.Add(there, v, "%s", c.noCandidateHas(a.Name))
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

// CheckRules returns a fault if a rule forbids a candidate's settings. For other settings Place
// reports it.
func (c *Compiled) CheckRules(s Settings, place optimizer.Place, location string) Faults {
	if place.Arm < 0 {
		return nil
	}
	return c.brokenConstraint(c.arms[place.Arm], s, location)
}

// mostListed is how many values of candidates a fault lists.
const mostListed = 6

// someOf lists values, or the first of many.
func someOf(values []string) string {
	if len(values) > mostListed {
		values = append(values[:mostListed-1:mostListed-1], fmt.Sprintf("%d other values", len(values)-mostListed+1))
	}
	return Listed(values, "or")
}

// noCandidateHas is the fault of a value of a parameter that no candidate has.
func (c *Compiled) noCandidateHas(parameter string) string {
	var values []string
	for _, candidate := range c.Def.Candidates {
		if value := candidate[parameter].String(); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return fmt.Sprintf("no candidate has this %s; they have %s", parameter, someOf(values))
}

// unlisted returns the faults of settings that no candidate has. If changing a single setting would
// give a candidate, it is reported with the values that would; otherwise all settings are reported
// together.
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
		if name := c.Def.Parameters[j].Name; len(values) > 0 {
			f.Add(location+"."+name, s[name], "is not one of the %d candidates; those with the other settings have %s", len(c.arms), someOf(values))
		}
	}
	if len(f) == 0 {
		f.Add(location, s, "is not one of the %d candidates", len(c.arms))
	}
	return f
}

var noPlace = optimizer.Place{Arm: -1}

// placeAt returns the place of physical values that are not a candidate's.
func (c *Compiled) placeAt(x []float64) optimizer.Place {
	return optimizer.Place{U: c.space.units(x), Arm: -1}
}

func (c *Compiled) placeOfArm(i int) optimizer.Place {
	return optimizer.Place{U: slices.Clone(c.Config.Space.Arms[i]), Arm: i}
}

// Arms returns the places of all candidates in order, nil if the study has none.
func (c *Compiled) Arms() []optimizer.Place {
	var places []optimizer.Place
	for i := range c.arms {
		places = append(places, c.placeOfArm(i))
	}
	return places
}

// MayChoose reports whether a trial may be chosen at these settings.
func (c *Compiled) MayChoose(s Settings) bool {
	kept, _, faults := c.Place(s, "")
	return len(faults) == 0 && c.space.available(c.space.lookup(kept))
}

// RemaindersFit reports whether the settings leave every remainder within its bounds.
func (c *Compiled) RemaindersFit(s Settings) bool { return c.space.inBounds(c.space.lookup(s)) }

// MayChooseAgain reports whether a trial may be repeated as it was run: that is allowed, and
// nothing it needs has run out.
func (c *Compiled) MayChooseAgain(chosen, used Settings) bool {
	_, _, faults := c.PlaceAgain(chosen, used, "")
	return len(faults) == 0 && c.space.available(c.space.lookup(used))
}

// Probes returns some allowed places spread over the space, or some of the candidates.
func (c *Compiled) Probes() []optimizer.Place {
	return lists.Map(c.space.probes, c.placeAt)
}

// Available returns the places that need nothing that has run out, with their indices. Candidates
// are all returned, since the optimizer knows which have run out.
func (c *Compiled) Available(places []optimizer.Place) (left []optimizer.Place, of []int) {
	for i, p := range places {
		if p.Arm >= 0 || c.space.available(c.space.physicals(p.U)) {
			left, of = append(left, p), append(of, i)
		}
	}
	return left, of
}

// Locate is Place for settings that were accepted once. Bounds may have changed since, so
// coordinates may lie outside the unit cube. candidate is the index recorded with the trial, nil
// without candidates.
func (c *Compiled) Locate(s Settings, candidate *int) optimizer.Place {
	if candidate != nil {
		return c.placeOfArm(*candidate)
	}
	return c.placeAt(c.space.lookup(s))
}

// Settings converts a place back to physical values that can be set.
func (c *Compiled) Settings(p optimizer.Place) Settings {
	if p.Arm >= 0 {
		return c.Def.Candidates[p.Arm].Clone()
	}
	return c.space.settings(c.space.physicals(p.U))
}

// keyOf returns a comparable key of physical values.
func keyOf(x []float64) string {
	return string(lists.Bits(x))
}

// viewpoint returns the place of settings within the parameters' ranges at which to evaluate the
// model, whether they may be tried or not. With candidates it is the one with equal settings; if
// the kernel is a covariance between candidates, there must be one.
func (c *Compiled) viewpoint(s Settings, location string) (optimizer.Place, Faults) {
	var f Faults
	x, good := c.space.read(s, location, strictness{}, &f)
	if !good {
		return noPlace, f
	}
	if arm, listed := c.armIndex[keyOf(x)]; listed {
		return c.placeOfArm(arm), nil
	}
	if c.OnlyArms() {
		f.Add(location, s, "is not one of the %d candidates, and their covariance says nothing about other settings", len(c.arms))
		return noPlace, f
	}
	return c.placeAt(x), nil
}

// OnlyArms reports whether some metric's prior is a covariance between candidates, which is not
// defined elsewhere.
func (c *Compiled) OnlyArms() bool {
	return slices.ContainsFunc(c.Config.Metrics, func(m optimizer.Metric) bool { return m.Kernel.Name == "covariance" })
}

// Viewpoints returns places at which to evaluate the model; faults are located by index.
func (c *Compiled) Viewpoints(points []Settings, location string) ([]optimizer.Place, Faults) {
	return eachPlaced(points, location, c.viewpoint)
}

// Places is Place for several settings; faults are located by index.
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
