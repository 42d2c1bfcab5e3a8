// Package lab is the one laboratory whose truth is known: simulated labs that answer in studies,
// rehearsals, which play whole studies as a lab would and judge how well they went, and
// simulations, which play one algorithm round by round. A study is rehearsed by the same service
// that the server runs, on a ledger in memory, so that every decision is the one the server would
// have made; the same game and seed go the same way everywhere.
package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Problem is an experiment whose truth is known.
type Problem struct {
	Name string
	// Study is what a lab would write down: parameters, candidates, objective and limits, without
	// algorithm, model and seed.
	Study design.Definition
	// Scale says how far a value is from the best one that may be used.
	Scale Scale
	// Spread is each metric's standard deviation over the settings, the unit of noise that is
	// added.
	Spread Values

	fingerprint string // names the truth: two problems with the same fingerprint read the same
	metrics     []string
	truth       func(at design.Settings) Values
	read        func(at design.Settings, random *rand.Rand) Values
	// own is the standard deviation of what read adds to the truth, by metric; nil where nobody
	// knows it.
	own  func(at design.Settings) Values
	draw func(count int, random *rand.Rand) []design.Settings // rows to begin with
	// fails tells whether a trial fails because of its settings; nil where none does.
	fails func(at design.Settings) bool
	// optimum is the best setting of a continuous space; nil where the candidates decide.
	optimum design.Settings
}

// Values are numbers by metric.
type Values = map[string]float64

// complete works out what follows from a problem's study and its truth at settings: every one of a
// table, a sample of a continuous space. best is the best feasible value where it is known
// beforehand, NaN where the settings decide.
func (p *Problem) complete(settings []design.Settings, best float64) (*Problem, error) {
	checked, err := p.Study.Check()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	p.Study = checked
	p.metrics = lists.Pick(checked.Metrics(), func(m design.MetricInfo) (string, bool) { return m.Name, m.Modelled })
	truths := lists.Map(settings, p.truth)
	p.Spread, p.Scale = Values{}, p.scaleOf(truths, best)
	for _, m := range checked.MetricNames() {
		p.Spread[m] = deviation(lists.Map(truths, func(v Values) float64 { return v[m] }))
	}
	return p, nil
}

// sample is drawn in place of all settings of a continuous space.
func (p *Problem) sample() []design.Settings {
	return p.draw(sampleSize, rand.New(rand.NewPCG(1, 0)))
}

// sampleSize is how many random settings stand for a continuous space when its scale is worked out.
const sampleSize = 4096

// feasible tells whether values keep every limit.
func (p *Problem) feasible(v Values) bool {
	return !slices.ContainsFunc(p.Study.Constraints, func(c design.Constraint) bool { return !c.Holds(v[c.Metric]) })
}

// reward is the objective, larger is better.
func (p *Problem) reward(v Values) float64 {
	if p.Study.Objective.Direction == "minimize" {
		return -v[p.Study.Objective.Metric]
	}
	return v[p.Study.Objective.Metric]
}

// sameWithin is the share of a parameter's range within which two settings count as the same.
const sameWithin = 0.002

// near tells whether two settings are nearly the same: on every axis within a share of its range.
// Two rows of a table are never.
func (p *Problem) near(a, b design.Settings) bool {
	if p.Study.Candidates != nil {
		return a.Equal(b)
	}
	for _, q := range p.Study.Parameters {
		x, y := a[q.Name], b[q.Name]
		low, high := 0.0, 1.0
		if q.Low != nil && q.High != nil {
			low, high = *q.Low, *q.High
		}
		if q.Logarithmic() {
			x.Number, y.Number, low, high = math.Log(x.Number), math.Log(y.Number), math.Log(low), math.Log(high)
		}
		if x.Text != y.Text || math.Abs(x.Number-y.Number) > sameWithin*(high-low) {
			return false
		}
	}
	return true
}

// keyOf names a setting.
func keyOf(at design.Settings) string {
	text, err := json.Marshal(at) // sorted by name
	if err != nil {
		panic(err) // settings of a study are finite
	}
	return string(text)
}

// Scale measures values against the best feasible one.
//
//	Ratio:    r / best            where a larger reward r is never negative
//	Inverse:  best / r            where r is never positive (a cost that is minimised)
//	Range:    (r − worst) / (best − worst)  else; worst is the worst feasible value known
type Scale struct {
	Kind        ScaleKind
	Best, Worst float64 // rewards: larger is better
	Any         bool    // whether any setting is feasible
}

// ScaleKind names how a share of the best is measured.
type ScaleKind string

const (
	Ratio   ScaleKind = "ratio"
	Inverse ScaleKind = "inverse ratio"
	Range   ScaleKind = "range"
)

// scaleOf takes the rewards at all settings known, and the best feasible one if it is known
// beforehand (else NaN).
func (p *Problem) scaleOf(truths []Values, best float64) Scale {
	s := Scale{Best: math.Inf(-1), Worst: math.Inf(1)}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range truths {
		r := p.reward(v)
		low, high = math.Min(low, r), math.Max(high, r)
		if p.feasible(v) {
			s.Any = true
			s.Best, s.Worst = math.Max(s.Best, r), math.Min(s.Worst, r)
		}
	}
	if !s.Any {
		s.Worst = low
	}
	if !math.IsNaN(best) {
		s.Any, s.Best = true, best
		low, high = math.Min(low, best), math.Max(high, best)
	}
	switch {
	case low >= 0 && s.Best > 0:
		s.Kind = Ratio
	case high <= 0 && s.Best < 0:
		s.Kind = Inverse
	default:
		s.Kind = Range
	}
	return s
}

// Share is how much of the best feasible value a feasible reward is, from 0 to 1.
func (s Scale) Share(reward float64) float64 {
	var share float64
	switch s.Kind {
	case Ratio:
		share = reward / s.Best
	case Inverse:
		share = s.Best / reward
	default:
		if s.Best == s.Worst {
			return 1
		}
		share = (reward - s.Worst) / (s.Best - s.Worst)
	}
	return math.Max(0, math.Min(1, share))
}

// String says how a share is measured.
func (s Scale) String() string {
	switch {
	case !s.Any:
		return "Nothing is feasible."
	case s.Kind == Range:
		return fmt.Sprintf("Share is (value − worst)/(best − worst): best feasible reward %.6g, worst %.6g.", s.Best, s.Worst)
	}
	return fmt.Sprintf("Share is the %s to the best feasible reward %.6g.", s.Kind, s.Best)
}

// digest is a short name of what can be written as JSON.
func digest(of any) (string, error) {
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// rewardName is the name of the reward's metric; each cost's metric has its limit's name.
const rewardName = "reward"

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

// apply decides what befalls the nth visit of a setting.
func (m Mishaps) apply(t *Trial, p *Problem, nth int, seed uint64) {
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
		if fails(p.optimum) {
			return nil, fmt.Errorf("the best setting of %s fails where %s, and nobody knows the best of those that work; take a table or another rule", p.Name, where)
		}
		best = p.Scale.Best
	}
	q := *p
	q.fingerprint += ", fails where " + where
	q.fails = fails
	all := p.Study.Candidates
	if all == nil {
		all = p.sample()
	}
	works := slices.DeleteFunc(slices.Clone(all), fails)
	if len(works) == 0 {
		return nil, fmt.Errorf("every setting of %s fails where %s", p.Name, where)
	}
	q.draw = func(count int, random *rand.Rand) []design.Settings {
		const enough = 64 // for most rules
		count = min(count, len(works))
		if some := slices.DeleteFunc(p.draw(enough*count, random), fails); len(some) >= count {
			return some[:count]
		}
		return drawDifferent(works, count, random)
	}
	q.Scale = q.scaleOf(lists.Map(works, p.truth), best)
	return &q, nil
}

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
	Slips    = "slips"    // as Gaussian, and in one reading in twenty the decimal point is one place off, either way
)

// NoiseKinds lists them.
var NoiseKinds = []string{OwnNoise, NoNoise, Gaussian, Outliers, Slips}

// outlying is the share of readings that Outliers spoils, and by how much.
const outlierShare, outlierSize = 0.1, 10

// slipShare is the share of readings that Slips spoils.
const slipShare = 0.05

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
		if noise.Kind == Outliers && random.Float64() < outlierShare {
			size *= outlierSize
		}
		v[m] += size * random.NormFloat64()
		if noise.Kind == Slips && random.Float64() < slipShare {
			v[m] *= []float64{0.1, 10}[random.IntN(2)]
		}
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

// Told is what is told of the standard deviation of a reading: one of these, or a number that the one
// which its noise has is multiplied by.
type Told string

const (
	ToldNone Told = "none" // nothing
	ToldTrue Told = "true" // the one that its noise has
	ToldLow  Told = "low"  // a third of it
	ToldHigh Told = "high" // three times it
)

var factors = map[Told]float64{ToldNone: 0, ToldTrue: 1, ToldLow: 1. / 3, ToldHigh: 3}

// factor is what the right standard deviation is multiplied by, not a number where t is nothing.
func (t Told) factor() float64 {
	if named, is := factors[t]; is {
		return named
	}
	if number, err := strconv.ParseFloat(string(t), 64); err == nil && number > 0 && number <= 1e6 {
		return number
	}
	return math.NaN()
}

// of is what is told of standard deviations, nothing of metrics that are read exactly.
func (t Told) of(sd Values) Values {
	var told Values
	for metric, x := range sd {
		if x *= t.factor(); x > 0 {
			if told == nil {
				told = Values{}
			}
			told[metric] = x
		}
	}
	return told
}

// check tells what speaks against telling standard deviations of a problem's readings.
func (t Told) check(p *Problem, noise Noise) error {
	if math.IsNaN(t.factor()) {
		return fmt.Errorf("nothing is told as %q; there are none, true, low, high, and numbers up to 1e6 that the right one is multiplied by", t)
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
