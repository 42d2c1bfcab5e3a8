package optimizer

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"headroom/internal/optimizer/warp"
)

// target is one function that the algorithm reasons about: the reward (target 0), or a cost (target
// 1+j).
type target struct {
	cost   int // index into Config.Costs; −1 for the reward
	metric int // −1 when the value is given at the decision
	sign   float64
}

func targets(cfg *Config) []target {
	list := []target{{cost: -1, metric: cfg.Objective.Metric, sign: cfg.Objective.Sign}}
	for j, c := range cfg.Costs {
		t := target{cost: j, metric: c.Metric, sign: c.Sign}
		if c.Knowledge == Given {
			t.metric = -1
		}
		list = append(list, t)
	}
	return list
}

// transform is how a target's metric is modelled: with w the warp,
//
//	response = sign·w((value − centre)/scale),   target = response + shift,
//
// the response having prior mean 0. For a cost, −(shift − margin) is the response at the limit, so
// that target − margin ≤ 0 exactly when the limit holds: w rises. The margin is the distance kept
// from the limit.
type transform struct {
	sign, centre, scale float64
	warp                warp.Warp
	shift, margin       float64
	blind               bool // readings are not looked at: the response is the prior's 0
}

// utmost is the largest size of a standardised reading and of a response, so that squares and
// products of two stay within a float64. Only readings come near it that are a hundred orders of
// magnitude apart.
const utmost = 1e100

func utmostly(x float64) float64 { return max(-utmost, min(x, utmost)) }

func (t transform) response(value float64) float64 {
	if t.blind {
		return 0
	}
	return t.sign * utmostly(t.warp.To(utmostly((value-t.centre)/t.scale)))
}

func (t transform) function(value float64) float64 { return t.response(value) + t.shift }

// metric is the value whose response it is.
func (t transform) metric(response float64) float64 {
	return t.centre + t.scale*t.warp.From(t.sign*response)
}

// moments are the mean and standard deviation, in metric units, of a value whose response is
// N(mean, sd²): see warp.Moments.
func (t transform) moments(mean, sd float64) (m, s float64) {
	m, s = t.warp.Moments(t.sign*mean, sd)
	return t.centre + t.scale*m, t.scale * s
}

// band are the values, in metric units, whose responses lie width standard deviations beside the
// mean.
func (t transform) band(mean, sd, width float64) (lower, upper float64) {
	if t.warp == warp.Identity {
		middle, reach := t.metric(mean), width*(t.scale*sd)
		return middle - reach, middle + reach
	}
	a, b := t.metric(mean-width*sd), t.metric(mean+width*sd)
	return min(a, b), max(a, b)
}

// excess is E[g⁺] in metric units, g = sign·(value − threshold) for a value whose target is N(mean
// + margin, sd²).
func (t transform) excess(mean, sd, threshold float64) float64 {
	if t.warp == warp.Identity {
		return t.scale * expectedPositive(mean, sd)
	}
	limit := t.margin - t.shift
	return expectAbove(limit+mean, sd, limit, func(response float64) float64 { return t.sign * (t.metric(response) - threshold) })
}

// expectAbove is E[f(U); U > from] for U ~ N(mean, sd²), by the 64-point Gauss–Legendre rule from
// there to 8 standard deviations above the mean; what lies beyond has a probability of 1e-15.
func expectAbove(mean, sd, from float64, f func(u float64) float64) float64 {
	const reach = 8.0
	low := max((from-mean)/max(sd, math.SmallestNonzeroFloat64), -reach)
	switch {
	case sd == 0 && mean > from:
		return f(mean)
	case sd == 0 || low >= reach:
		return 0
	}
	return quad.Fixed(func(x float64) float64 {
		return f(mean+sd*x) * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	}, low, reach, 64, quad.Legendre{}, 0)
}

// transform gives the map of target k under the hyperparameters m. Raw outputs have prior mean 0
// for the reward and for g; standardised ones have the metric's centre.
func (cfg *Config) transform(k target, m metricModel) transform {
	t := transform{sign: k.sign, centre: m.centre, scale: m.scale, warp: m.warp}
	if k.cost < 0 {
		return t
	}
	c := cfg.Costs[k.cost]
	if !cfg.Standardize {
		t.centre = c.Threshold
	}
	if t.warp == warp.Identity {
		t.margin = c.Margin
		t.shift = utmostly(-t.sign*(c.Threshold-t.centre)/t.scale) + c.Margin
		return t
	}
	if t.warp.Logarithmic() { // its scale is that of the largest readings, and may be many times the limit
		t.margin = c.Margin
		t.shift = c.Margin - t.response(c.Threshold)
		return t
	}
	// The limit with its margin is a reading like any other: it is moved in scales, then warped.
	t.shift = -t.response(c.Threshold - t.sign*c.Margin*t.scale)
	t.margin = t.shift + t.response(c.Threshold)
	return t
}

// given is a cost's value in the units the algorithm sees, when it is known at the decision.
func (c Cost) given(value float64) float64 { return c.Excess(value) + c.Margin }

// expectedPositive is E[X⁺] for X ~ N(mean, sd²): mean·Φ(mean/sd) + sd·φ(mean/sd).
func expectedPositive(mean, sd float64) float64 {
	if sd == 0 {
		return max(mean, 0)
	}
	z := mean / sd
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return max(0, mean*0.5*math.Erfc(-z/math.Sqrt2)+sd*density)
}
