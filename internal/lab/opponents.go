package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"headroom/internal/lab/problems"
	"headroom/internal/optimizer"
)

// opponent is an algorithm that only the simulator plays, on continuous problems with limits
// learned from readings.
type opponent struct {
	settings []string // names of the settings it takes
	make     func(e Experiment, in *problems.Instance, seed uint64, settings map[string]float64) (player[move], error)
}

var opponents = map[string]opponent{
	"admmbo":     {nil, newADMMBO},
	"oco-bandit": {[]string{"step", "exploration"}, newOCO},
}

// check tells what is wrong with an experiment for the opponent, or its settings, all of them
// positive numbers.
func (o opponent) check(e Experiment, in *problems.Instance) (settings map[string]float64, err error) {
	if in.Arms != nil || in.Given != nil || in.Matrix != nil {
		return nil, fmt.Errorf("%s plays continuous problems without a grid, with limits that are learned from readings", e.Algorithm)
	}
	if in.Delay > 0 {
		return nil, fmt.Errorf("%s plays problems whose readings come at once", e.Algorithm)
	}
	settings = map[string]float64{}
	for name, raw := range e.Settings {
		if !slices.Contains(o.settings, name) {
			return nil, fmt.Errorf("%s has no setting %q; it has %s", e.Algorithm, name, cmp.Or(strings.Join(o.settings, ", "), "none"))
		}
		var v float64
		if json.Unmarshal(raw, &v) != nil || !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("settings of %s: %s must be a positive number", e.Algorithm, name)
		}
		settings[name] = v
	}
	return settings, nil
}

// oco is after Cao and Liu (2018), Online convex optimization with time-varying constraints and
// bandit feedback. On 𝒳 scaled to [−1,1]^d every step plays v + εu and v − εu, u uniform on the
// sphere, and moves by
//
//	∇̂h = (d/2ε)(h(v + εu) − h(v − εu)) u,   v ← Π[v + η(∇̂f − Σ_j λ_j ∇̂g_j)],   λ_j ← [λ_j + η(g_j − ηλ_j)]⁺,
//
// Π onto [−(1−ε), 1−ε]^d, g_j the mean of the two readings. Settings: step η (0.1/√T by default),
// exploration ε (0.1). The original's constants are not all known.
type oco struct {
	random        *rand.Rand
	step, radius  float64
	point, ray    []float64
	multipliers   []float64
	second        bool
	limits        []string
	firstReadings Values
}

func newOCO(e Experiment, in *problems.Instance, seed uint64, settings map[string]float64) (player[move], error) {
	p := &oco{random: rand.New(rand.NewPCG(seed, 0x6f636f)), step: 0.1 / math.Sqrt(float64(e.T())), radius: 0.1,
		multipliers: make([]float64, len(in.Limits)), limits: in.Limits}
	if v, ok := settings["step"]; ok {
		p.step = v
	}
	if v, ok := settings["exploration"]; ok {
		p.radius = math.Min(v, 1)
	}
	for range in.Axes {
		p.point = append(p.point, (1-p.radius)*(2*p.random.Float64()-1))
	}
	return p, nil
}

func (p *oco) choose(context.Context, int) ([]move, error) {
	side := p.radius
	if p.second {
		side = -p.radius
	} else {
		p.ray = onSphere(p.random, len(p.point))
	}
	u := make([]float64, len(p.point))
	for k := range u {
		u[k] = (p.point[k] + side*p.ray[k] + 1) / 2
	}
	return []move{{place: optimizer.Place{U: u, Arm: -1}, multipliers: slices.Clone(p.multipliers)}}, nil
}

func onSphere(random *rand.Rand, d int) []float64 {
	u, length := make([]float64, d), 0.0
	for k := range u {
		u[k] = random.NormFloat64()
		length += u[k] * u[k]
	}
	for k := range u {
		u[k] /= math.Sqrt(length)
	}
	return u
}

// learn moves once both ends of the ray are read.
func (p *oco) learn(_ context.Context, told []outcome) error {
	readings := readingsIn(told)
	if p.second = !p.second; p.second {
		p.firstReadings = readings
		return nil
	}
	slope := func(name string) float64 {
		return float64(len(p.point)) / (2 * p.radius) * (p.firstReadings[name] - readings[name])
	}
	ascent := slope(rewardName)
	for j, lambda := range p.multipliers {
		ascent -= lambda * slope(p.limits[j])
		g := (p.firstReadings[p.limits[j]] + readings[p.limits[j]]) / 2
		p.multipliers[j] = math.Max(lambda+p.step*(g-p.step*lambda), 0)
	}
	for k := range p.point {
		moved := p.point[k] + p.step*ascent*p.ray[k]
		p.point[k] = math.Min(math.Max(moved, p.radius-1), 1-p.radius)
	}
	return nil
}
