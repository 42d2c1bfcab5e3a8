package lab

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/study/design"
)

// Mishaps are what befalls trials by chance, each a share from 0 to 1. What fails because of its
// settings belongs to the problem: see Failing.
type Mishaps struct {
	Fail   float64 `json:"fail"`   // of the trials
	Late   float64 `json:"late"`   // of the readings of a metric: told with the next results
	Unread float64 `json:"unread"` // of the readings of a metric: never told
}

// Cause is why a trial failed, "" where it did not.
type Cause string

const (
	BySettings Cause = "settings"
	ByChance   Cause = "chance"
)

func (m Mishaps) check() error {
	for _, share := range []float64{m.Fail, m.Late, m.Unread, m.Late + m.Unread} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%g of the trials or readings is impossible; what fails, is late and is never told are shares from 0 to 1, late and never together too", share)
		}
	}
	return nil
}

// mishapStream keeps mishaps apart from noise: whoever reads a setting for the nth time meets the
// same mishap, and the same reading without it.
const mishapStream = 0x6d6973686170

// befall decides what befalls the nth visit of a setting.
func (m Mishaps) befall(t *Trial, p *Problem, nth int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, hashOf(t.Settings, nth)^mishapStream))
	chance := random.Float64()
	for _, metric := range p.metrics {
		switch u := random.Float64(); {
		case u < m.Unread:
			t.Unread = append(t.Unread, metric)
		case u < m.Unread+m.Late:
			t.Late = append(t.Late, metric)
		}
	}
	switch {
	case p.fails != nil && p.fails(t.Settings):
		t.Failed = BySettings
	case chance < m.Fail:
		t.Failed = ByChance
	}
}

// toldAtOnce are the metrics that are neither late nor lost.
func (t Trial) toldAtOnce(metrics []string) []string {
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return slices.Contains(t.Late, m) || slices.Contains(t.Unread, m) })
}

// Failing is the problem where every trial fails whose settings keep a rule such as "x + z > 1.2".
// The best is the best of those that work; rows to begin with are drawn among them.
func (p *Problem) Failing(where string) (*Problem, error) {
	compiled, err := design.Compile(p.Study)
	if err != nil {
		return nil, err
	}
	fails, err := compiled.Condition(where)
	if err != nil {
		return nil, fmt.Errorf("%q says nothing on what fails in %s: %w", where, p.Name, err)
	}
	best := math.NaN()
	if p.optimum != nil {
		best = p.Scale.Best
	}
	if p.optimum != nil && fails(p.optimum) {
		return nil, fmt.Errorf("the best setting of %s fails where %s, and nobody knows the best of those that work; take a table or another rule", p.Name, where)
	}
	q := *p
	q.fingerprint += ", fails where " + where
	q.fails = fails
	q.draw = func(count int, random *rand.Rand) []design.Settings {
		const enough = 64 // for a rule that all but a few settings keep
		works := slices.DeleteFunc(p.draw(enough*count, random), fails)
		return works[:min(count, len(works))]
	}
	all := p.Study.Candidates
	if all == nil {
		all = p.sample()
	}
	truths := q.truths(all)
	if len(truths) == 0 {
		return nil, fmt.Errorf("every setting of %s fails where %s", p.Name, where)
	}
	q.Scale = q.scaleOf(truths, best)
	return &q, nil
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
