package lab

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"

	"headroom/internal/study/design"
)

// Noise says what a reading adds to the truth.
type Noise struct {
	Kind string  `json:"kind"` // one of NoiseKinds
	Size float64 `json:"size"` // in standard deviations of the metric over the settings
}

// Kinds of noise.
const (
	OwnNoise = "own"      // the problem's: a real reading of the setting drawn from the table, or the simulator's noise
	NoNoise  = "none"     // the true value
	Gaussian = "gaussian" // N(0, Size²) added to the true value
	Outliers = "outliers" // as Gaussian, and one reading in ten is wrong by ten times as much
)

// NoiseKinds lists them.
var NoiseKinds = []string{OwnNoise, NoNoise, Gaussian, Outliers}

// outlying is the share of readings that Outliers spoils, and by how much.
const outlyingShare, outlyingSize = 0.1, 10

// reading is the nth reading of a setting under a seed: the same for every algorithm that asks for
// it.
func (p *Problem) reading(at design.Settings, nth int, noise Noise, seed uint64) Values {
	random := rand.New(rand.NewPCG(seed, hashOf(at, nth)))
	if noise.Kind == OwnNoise {
		return p.read(at, random)
	}
	v := maps.Clone(p.truth(at))
	if noise.Kind == NoNoise {
		return v
	}
	for _, m := range p.metrics {
		size := noise.Size * p.Spread[m]
		if noise.Kind == Outliers && random.Float64() < outlyingShare {
			size *= outlyingSize
		}
		v[m] += size * random.NormFloat64()
	}
	return v
}

// deviation is the standard deviation of what a reading adds to the truth, by metric: of outliers
// that of the readings that are not wrong, as an instrument's maker states it. nil where nobody
// knows it.
func (p *Problem) deviation(at design.Settings, noise Noise) Values {
	switch {
	case noise.Kind == OwnNoise && p.own == nil:
		return nil
	case noise.Kind == OwnNoise:
		return p.own(at)
	}
	sd := Values{}
	for _, m := range p.metrics {
		if noise.Kind != NoNoise {
			sd[m] = noise.Size * p.Spread[m]
		}
	}
	return sd
}

// hashOf tells readings apart.
func hashOf(at design.Settings, nth int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", keyOf(at), nth)
	return h.Sum64()
}

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
