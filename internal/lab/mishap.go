package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Mishaps are what befalls trials by chance, each a share from 0 to 1. What fails because of its
// settings belongs to the problem: see Failing.
type Mishaps struct {
	Fail   float64 `json:"fail"`   // of the trials
	Late   float64 `json:"late"`   // of the readings of a metric: told with the next results
	Unread float64 `json:"unread"` // of the readings of a metric: never told
}

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
		t.Failed = ledger.BySettings
	case chance < m.Fail:
		t.Failed = ledger.ByChance
	}
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
