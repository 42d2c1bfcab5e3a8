package optimizer

// target is one function that the algorithm reasons about: the reward (target 0), or a cost (target 1+j).
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

// affine is how a target's metric is modelled:
//
//	response = sign·(value − centre)/scale,   target = response + shift,
//
// the response having prior mean 0. shift holds the distance of the prior mean to the limit, and the margin.
type affine struct{ sign, centre, scale, shift float64 }

func (a affine) response(value float64) float64 { return a.sign * (value - a.centre) / a.scale }
func (a affine) function(value float64) float64 { return a.response(value) + a.shift }

// metricMean and metricSD bring a response's posterior back to metric units.
func (a affine) metricMean(response float64) float64 { return a.centre + a.sign*a.scale*response }
func (a affine) metricSD(sd float64) float64         { return a.scale * sd }

// transform gives the affine map of target k under the hyperparameters m. Raw outputs have prior mean 0 for the reward and
// for g; standardised ones have the metric's centre.
func (cfg *Config) transform(k target, m metricModel) affine {
	a := affine{sign: k.sign, centre: m.centre, scale: m.scale}
	if k.cost < 0 {
		return a
	}
	c := cfg.Costs[k.cost]
	if !cfg.Standardize {
		a.centre = c.Threshold
	}
	a.shift = -a.sign*(c.Threshold-a.centre)/a.scale + c.Margin
	return a
}

// given is a cost's value in the units the algorithm sees, when it is known at the decision.
func (c Cost) given(value float64) float64 { return c.Excess(value) + c.Margin }
