package study

import (
	"slices"

	"headroom/internal/optimizer"
)

// placeUsed is place for settings that were really used: a step does not round them.
func (c *compiled) placeUsed(s Settings, location string) (Settings, optimizer.Place, []Fault) {
	if c.arms != nil {
		return c.place(s, location)
	}
	var f faults
	x, good := c.space.read(s, location, false, &f)
	if !good {
		return nil, optimizer.Place{Arm: -1}, f
	}
	if i := c.space.broken(x, personSlack); i >= 0 {
		f.add(location, s, "breaks the input constraint %s", c.space.limits[i].explain(x))
		return nil, optimizer.Place{Arm: -1}, f
	}
	return c.space.exactly(x), optimizer.Place{U: c.space.units(x), Arm: -1}, nil
}

// viewpoint is where the model is looked at: any settings within the parameters' ranges, whether they may be tried or not. With
// candidates it is the one with equal settings, and with an arms' covariance it must be one.
func (c *compiled) viewpoint(s Settings, location string) (optimizer.Place, []Fault) {
	var f faults
	x, good := c.space.read(s, location, false, &f)
	if !good {
		return optimizer.Place{Arm: -1}, f
	}
	if c.arms != nil {
		if arm, listed := c.armIndex[keyOf(x)]; listed {
			return c.arm(arm), nil
		}
		if c.onlyArms() {
			f.add(location, s, "is not one of the %d candidates, and their covariance says nothing about other settings", len(c.arms))
			return optimizer.Place{Arm: -1}, f
		}
	}
	return optimizer.Place{U: c.space.units(x), Arm: -1}, nil
}

// onlyArms tells whether some metric's prior is a covariance of the candidates, which knows no other points.
func (c *compiled) onlyArms() bool {
	return slices.ContainsFunc(c.Config.Metrics, func(m optimizer.Metric) bool { return m.Kernel.Name == "covariance" })
}

// viewpoints places several settings; faults are located by their index in a list.
func (c *compiled) viewpoints(points []Settings, location string) ([]optimizer.Place, []Fault) {
	places := make([]optimizer.Place, len(points))
	var faults []Fault
	for i, s := range points {
		place, wrong := c.viewpoint(s, indexed(location, i))
		places[i], faults = place, append(faults, wrong...)
		if len(faults) > mostFaults {
			break
		}
	}
	return places, faults
}

// mostFaults is how many faults of one request are worth telling.
const mostFaults = 50
