package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Told is what is told of the standard deviation of a reading.
type Told string

const (
	ToldNone Told = "none" // nothing
	ToldTrue Told = "true" // the one that its noise has
	ToldLow  Told = "low"  // a third of it
	ToldHigh Told = "high" // three times it
)

// factors are what the right standard deviation is multiplied by.
var factors = map[Told]float64{ToldNone: 0, ToldTrue: 1, ToldLow: 1. / 3, ToldHigh: 3}

// of is what is told of standard deviations, nothing of metrics that are read exactly.
func (t Told) of(sd Values) Values {
	var told Values
	for metric, x := range sd {
		if factors[t]*x > 0 {
			if told == nil {
				told = Values{}
			}
			told[metric] = factors[t] * x
		}
	}
	return told
}

// check tells what speaks against telling standard deviations of a problem's readings.
func (t Told) check(p *Problem, noise Noise) error {
	if _, known := factors[t]; !known {
		return fmt.Errorf("nothing is told as %q; there are none, true, low and high", t)
	}
	if t == ToldNone {
		return nil
	}
	if noise.Kind == OwnNoise && p.own == nil {
		return errors.New("nobody knows the standard deviation of the table's own readings, so it cannot be told; give them a noise, as in -noise gaussian -noise-size 0.1, or tell none")
	}
	at := p.draw(1, rand.New(rand.NewPCG(1, 0)))[0]
	if t.of(p.deviation(at, noise)) == nil {
		return errors.New("its readings are exact: there is no standard deviation to tell; give them a noise, as in -noise gaussian -noise-size 0.1, or tell none")
	}
	return nil
}
