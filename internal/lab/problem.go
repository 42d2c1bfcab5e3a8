// Package lab has laboratories whose truth is known: simulated labs that answer in studies;
// rehearsals, which play whole studies as a lab would and judge how well they went; and
// simulations, which play one algorithm round by round. A rehearsal runs the service of the server
// on a ledger in memory, so that every decision is the one that the server would have made. The
// same game and seed go the same way everywhere.
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
	// Spread is each metric's standard deviation over the settings, the unit of added noise.
	Spread Values

	fingerprint string // identifies the truth: problems with the same fingerprint have the same readings
	metrics     []string
	truth       func(at design.Settings) Values
	read        func(at design.Settings, random *rand.Rand) Values
	// own returns the standard deviation of what read adds to the truth, by metric; nil if it is
	// unknown.
	own     func(at design.Settings) Values
	draw    func(count int, random *rand.Rand) []design.Settings // rows to begin with
	fails   func(at design.Settings) bool                        // whether a trial fails because of its settings; nil if none does
	optimum design.Settings                                      // the best settings of a continuous space; nil with candidates
}

// Values are numbers by metric.
type Values = map[string]float64

// complete sets what follows from a problem's study and its truth at settings: all those of a
// table, a sample of a continuous space. best is the best feasible value if it is known, else NaN.
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

func (p *Problem) sample() []design.Settings {
	return p.draw(sampleSize, rand.New(rand.NewPCG(1, 0)))
}

// sampleSize is the number of random settings that stand for a continuous space.
const sampleSize = 4096

func (p *Problem) feasible(v Values) bool {
	return !slices.ContainsFunc(p.Study.Constraints, func(c design.Constraint) bool { return !c.Holds(v[c.Metric]) })
}

// reward returns the objective, negated if it is minimised.
func (p *Problem) reward(v Values) float64 {
	if p.Study.Objective.Direction == "minimize" {
		return -v[p.Study.Objective.Metric]
	}
	return v[p.Study.Objective.Metric]
}

// sameWithin is the share of a parameter's range within which two settings count as the same.
const sameWithin = 0.002

// near reports whether two settings are nearly the same: on every axis within sameWithin of its
// range. Two rows of a table never are.
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

// keyOf returns settings as text, to index by.
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

// scaleOf returns the scale of the truths at all known settings, and of the best feasible reward if
// it is known beforehand (else NaN).
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

// Share returns how much of the best feasible value a feasible reward is, from 0 to 1.
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

func digest(of any) (string, error) {
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// rewardName is the name of the reward's metric; each cost's metric has its limit's name.
const rewardName = "reward"

// Mishaps happen to trials, all but Offset by chance, each with a probability from 0 to 1. Failures
// because of the settings belong to the problem: see Failing.
type Mishaps struct {
	Fail   float64 `json:"fail"`   // of the trials
	Late   float64 `json:"late"`   // of the readings of a metric: told with the next results
	Unread float64 `json:"unread"` // of the readings of a metric: never told
	// Offset is the share of its range by which the instrument sets each number higher than asked, at
	// most at its highest. What it set is told.
	Offset float64 `json:"offset"`
}

func (m Mishaps) check() error {
	for _, share := range []float64{m.Fail, m.Late, m.Unread, m.Late + m.Unread} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%g of the trials or readings is impossible; what fails, is late and is never told are shares from 0 to 1, late and never together too", share)
		}
	}
	if !(m.Offset >= 0 && m.Offset <= 1) {
		return fmt.Errorf("an offset of %g is impossible; it is a share of each number's range, from 0 to 1", m.Offset)
	}
	return nil
}

// mishapStream separates the random numbers of mishaps from those of noise: the nth visit of a
// setting has the same mishap in every game, and the same reading as without it.
const mishapStream = 0x6d6973686170

// apply draws the mishaps of the nth visit of a setting.
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

func (m Mishaps) offset(at design.Settings, p *Problem) design.Settings {
	if m.Offset == 0 {
		return at
	}
	used := at.Clone()
	for _, q := range p.Study.Parameters {
		if q.Low != nil && q.High != nil {
			x := min(at[q.Name].Number+m.Offset*(*q.High-*q.Low), *q.High)
			if q.Type == design.Integer {
				x = math.Round(x)
			}
			used[q.Name] = design.NumberValue(x)
		}
	}
	return used
}

// Failing returns the problem in which every trial fails whose settings fulfil a condition such as
// "x + z > 1.2". Its best settings are the best of those that work, and rows to begin with are
// drawn among these.
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

// Noise is what a reading adds to the truth.
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

// The shares of readings that Outliers and Slips spoil, and how many times as large an outlier is.
const outlierShare, slipShare, outlierSize = 0.1, 0.05, 10

// reading returns the nth reading of a setting under a seed, which is the same for every algorithm.
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

// deviation returns the standard deviation of a reading's noise by metric, nil if it is unknown.
// With outliers it is that of the other readings, as an instrument's maker states it.
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

func hashOf(at design.Settings, nth int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", keyOf(at), nth)
	return h.Sum64()
}

// Told says which standard deviation is told with a reading: one of these, or the number by which
// the true one is multiplied.
type Told string

const (
	ToldNone Told = "none" // nothing
	ToldTrue Told = "true" // the one that its noise has
	ToldLow  Told = "low"  // a third of it
	ToldHigh Told = "high" // three times it
)

var factors = map[Told]float64{ToldNone: 0, ToldTrue: 1, ToldLow: 1. / 3, ToldHigh: 3}

// factor returns what the true standard deviation is multiplied by, NaN if t is invalid.
func (t Told) factor() float64 {
	if named, is := factors[t]; is {
		return named
	}
	if number, err := strconv.ParseFloat(string(t), 64); err == nil && number > 0 && number <= 1e6 {
		return number
	}
	return math.NaN()
}

// of returns the standard deviations to tell, none for metrics that are read exactly.
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

// check reports why t cannot be told of a problem's readings.
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
