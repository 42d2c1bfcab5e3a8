package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Told is what is told of the standard deviation of a reading.
type Told string

const (
	ToldNone Told = "none" // nothing
	ToldTrue Told = "true" // the one that its noise has
	ToldLow  Told = "low"  // a third of it
	ToldHigh Told = "high" // three times it
)

// ToldKinds lists them.
var ToldKinds = []Told{ToldNone, ToldTrue, ToldLow, ToldHigh}

// wrong is how far off a wrong standard deviation is.
const wrong = 3

// of is what is told of standard deviations, nothing of metrics that are read exactly.
func (t Told) of(sd Values) Values {
	factor := map[Told]float64{ToldTrue: 1, ToldLow: 1. / wrong, ToldHigh: wrong}[t]
	var told Values
	for metric, x := range sd {
		if factor*x > 0 {
			if told == nil {
				told = Values{}
			}
			told[metric] = factor * x
		}
	}
	return told
}

// check tells what speaks against telling standard deviations of a problem's readings.
func (t Told) check(p *Problem, noise Noise) error {
	if !slices.Contains(ToldKinds, t) {
		var kinds []string
		for _, k := range ToldKinds {
			kinds = append(kinds, string(k))
		}
		return fmt.Errorf("nothing is told as %q; there are %s", t, strings.Join(kinds, ", "))
	}
	if t == ToldNone {
		return nil
	}
	if noise.Kind == OwnNoise && p.own == nil {
		return errors.New("nobody knows the standard deviation of the table's own readings, so it cannot be told; give them a noise, as in -noise gaussian -noise-size 0.1, or tell none")
	}
	at := p.draw(1, rand.New(rand.NewPCG(1, 0)))[0]
	if t.of(p.deviation(at, p.candidate(at), noise)) == nil {
		return errors.New("its readings are exact: there is no standard deviation to tell; give them a noise, as in -noise gaussian -noise-size 0.1, or tell none")
	}
	return nil
}
