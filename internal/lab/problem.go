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
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/study/design"
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
	p.metrics = nil
	for _, m := range checked.Metrics() {
		if m.Modelled {
			p.metrics = append(p.metrics, m.Name)
		}
	}
	truths := p.truths(settings)
	p.Spread, p.Scale = Values{}, p.scaleOf(truths, best)
	for _, m := range p.metrics {
		values := make([]float64, len(truths))
		for i, v := range truths {
			values[i] = v[m]
		}
		p.Spread[m] = deviation(values)
	}
	return p, nil
}

// sample is drawn in place of all settings of a continuous space.
func (p *Problem) sample() []design.Settings {
	return p.draw(sampled, rand.New(rand.NewPCG(1, 0)))
}

// sampled is how many random settings stand for a continuous space when its scale is worked out.
const sampled = 4096

// truths are those of all settings but of such as fail.
func (p *Problem) truths(settings []design.Settings) []Values {
	var truths []Values
	for _, at := range settings {
		if p.fails == nil || !p.fails(at) {
			truths = append(truths, p.truth(at))
		}
	}
	return truths
}

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

// nearly is the share of a parameter's range within which two settings count as the same.
const nearly = 0.002

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
		if x.Text != y.Text || math.Abs(x.Number-y.Number) > nearly*(high-low) {
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
