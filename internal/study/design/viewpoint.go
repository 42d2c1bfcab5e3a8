package design

import (
	"fmt"
	"slices"

	"headroom/internal/optimizer"
)

// viewpoint is where the model is looked at: any settings within the parameters' ranges, whether
// they may be tried or not. With candidates it is the one with equal settings, and with an arms'
// covariance it must be one.
func (c *Compiled) viewpoint(s Settings, location string, how reading) (optimizer.Place, Faults) {
	var f Faults
	x, good := c.space.read(s, location, how, &f)
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
	return eachPlaced(points, location, func(s Settings, at string) (optimizer.Place, Faults) { return c.viewpoint(s, at, reading{}) })
}

// Overlook tells what is wrong with settings to draw charts through: they may be of a trial that
// ended up beyond the bounds.
func (c *Compiled) Overlook(s Settings, location string) Faults {
	_, faults := c.viewpoint(s, location, reading{beyond: true})
	return faults
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
