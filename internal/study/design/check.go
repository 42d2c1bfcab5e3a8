package design

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"headroom/internal/optimizer/policy"
)

const (
	maxDescription = 100_000 // characters
	maxHorizon     = 1_000_000
	// MaxSeed is the largest seed: beyond it JSON readers that hold numbers as float64 would change
	// it.
	MaxSeed = 1<<53 - 1

	defaultAlgorithm = "log-cei"
	defaultHorizon   = 100
)

// Check returns the definition complete, with its defaults written out, or *Invalid naming every
// fault. A seed is not drawn here. A definition that Check returned passes Check unchanged.
func (d Definition) Check() (Definition, error) {
	c := checker{d: d, taken: map[string]string{}}
	c.general()
	parametersGood := c.parameters()
	metricsGood := c.metrics()
	c.algorithm()
	c.stop()
	c.modelWords()
	c.simulatedLab()
	if parametersGood {
		b := newCompiler(c.d, &c.faults)
		b.completes = true
		b.space()
		if metricsGood {
			b.costs()
			b.models()
			b.settings()
		}
		b.verify(metricsGood)
		c.d = b.out.Def
	}
	return c.d, c.faults.Err()
}

func (c *checker) general() {
	if wrong := CheckName(c.d.Name); wrong != "" {
		c.faults.Add("name", c.d.Name, "the study's name %s", wrong)
	}
	if wrong := CheckDescription(c.d.Description); wrong != "" {
		c.faults.Add("description", nil, "%s", wrong)
	}
	if c.d.Seed > MaxSeed {
		c.faults.Add("seed", c.d.Seed, "must be at most %d", int64(MaxSeed))
	}
}

// CheckDescription reports what makes text unfit as a study's description, or "".
func CheckDescription(text string) string {
	if n := utf8.RuneCountInString(text); n > maxDescription {
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, maxDescription)
	}
	return CheckText(text)
}

func (c *checker) algorithm() {
	a := &c.d.Algorithm
	if a.Name == "" {
		a.Name = defaultAlgorithm
	}
	if _, there := policy.Find(a.Name); !there {
		c.faults.Add("algorithm.name", a.Name, "%s", UnknownName("algorithm", a.Name, policy.Names()))
	}
	c.word(&a.Preset, "algorithm.preset", "", presetPaper)
	if a.Horizon == 0 {
		a.Horizon = defaultHorizon
	}
	if a.Horizon < 1 || a.Horizon > maxHorizon {
		c.faults.Add("algorithm.horizon", a.Horizon, "must be a whole number of rounds from 1 to %d", maxHorizon)
		a.Horizon = defaultHorizon // so that what follows from it is no fault
	}
}

func (c *checker) stop() {
	if c.d.Stop == nil {
		c.d.Stop = new(UsualStop())
	}
	target := *c.d.Stop
	if !(target.Within > 0 && target.Within <= 1) {
		c.faults.Add("stop.within", target.Within, "must be a share above 0 and at most 1, such as 0.01 for one per cent of the recommended value")
	}
	if !(target.Risk > 0 && target.Risk < 1) {
		c.faults.Add("stop.risk", target.Risk, "must be a chance between 0 and 1, such as 0.05")
	}
}

// modelWords writes out the model's defaults and checks its words; its numbers are checked where
// they are resolved.
func (c *checker) modelWords() {
	m := &c.d.Model
	for _, raw := range []*[]byte{(*[]byte)(&m.Kernel), (*[]byte)(&m.Lengthscales), (*[]byte)(&m.Variance), (*[]byte)(&m.Lambda), (*[]byte)(&m.NoiseVariance)} {
		if absent(*raw) {
			*raw = nil
		}
	}
	c.word(&m.Inputs, "model.inputs", inputsUnit, inputsRaw)
	paper := c.d.Algorithm.Preset == presetPaper
	if paper {
		c.word(&m.Fit, "model.fit", fitFixed, fitMAP)
	} else {
		c.word(&m.Fit, "model.fit", fitMAP, fitFixed)
	}
	if paper || m.Fit == fitFixed {
		c.word(&m.Outputs, "model.outputs", outputsRaw, outputsScaled)
	} else {
		c.word(&m.Outputs, "model.outputs", outputsScaled, outputsRaw)
	}
	c.warp(m)
	if m.Kernel == nil {
		m.Kernel = []byte(`"` + c.kernel() + `"`)
	}
}

// kernel is the default. Where hyperparameters are fitted and there are choices, what numbers and
// other choices do is learned from all of them together, and how far it adds up is fitted.
func (c *checker) kernel() string {
	if c.d.Model.Fit == fitMAP && slices.ContainsFunc(c.d.Parameters, func(p Parameter) bool { return p.Type == Categorical }) {
		return kernelOfChoices
	}
	return defaultKernel
}

// warp is written out where readings can be warped: a fit chooses how, and only standardised readings
// have no unit.
func (c *checker) warp(m *Model) {
	const at = "model.warp"
	switch {
	case m.Fit == fitMAP && m.Outputs == outputsScaled:
		c.word(&m.Warp, at, warpYeoJohnson, WarpNone)
	case m.Warp == warpYeoJohnson:
		c.faults.Add(at, m.Warp, "needs outputs %q and fit %q", outputsScaled, fitMAP)
	default:
		c.word(&m.Warp, at, "", WarpNone)
	}
}
