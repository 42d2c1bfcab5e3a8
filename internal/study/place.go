package study

import (
	"slices"

	"headroom/internal/optimizer"
)

// place turns settings into unit coordinates. It returns the settings as they will be kept: steps rounded, a
// remainder filled in. With candidates it is the first one with equal settings. What has run out may still be placed.
// Faults are located under location, e.g. "body.parameters".
func (c *compiled) place(s Settings, location string) (Settings, optimizer.Place, []Fault) {
	var f faults
	finiteSet := c.arms != nil
	x, good := c.space.read(s, location, !finiteSet, &f)
	if !good {
		return nil, optimizer.Place{Arm: -1}, f
	}
	if finiteSet {
		arm, listed := c.armIndex[keyOf(x)]
		if !listed {
			f.add(location, s, "is not one of the %d candidates", len(c.arms))
			return nil, optimizer.Place{Arm: -1}, f
		}
		return c.Def.Candidates[arm].Clone(), c.arm(arm), nil
	}
	if i := c.space.broken(x, personSlack); i >= 0 {
		f.add(location, s, "breaks the input constraint %s", c.space.limits[i].explain(x))
		return nil, optimizer.Place{Arm: -1}, f
	}
	return c.space.exactly(x), optimizer.Place{U: c.space.units(x), Arm: -1}, nil
}

func (c *compiled) arm(i int) optimizer.Place {
	return optimizer.Place{U: slices.Clone(c.Config.Space.Arms[i]), Arm: i}
}

// locate is place for settings that were accepted once: bounds and limits may have been changed since, so the
// coordinates may lie outside the unit cube. arm is the candidate's index kept with the trial, −1 without candidates.
func (c *compiled) locate(s Settings, arm int) optimizer.Place {
	if arm >= 0 {
		return c.arm(arm)
	}
	return optimizer.Place{U: c.space.units(c.space.lookup(s)), Arm: -1}
}

// settings turns unit coordinates back into physical values that a person can set.
func (c *compiled) settings(p optimizer.Place) Settings {
	if p.Arm >= 0 {
		return c.Def.Candidates[p.Arm].Clone()
	}
	return c.space.settings(c.space.physicals(p.U))
}
