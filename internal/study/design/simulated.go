package design

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"headroom/internal/lists"
)

// SimulatedLab is a simulated laboratory, which answers by itself.
type SimulatedLab interface {
	Name() string
	Summary() string // what it tests, one sentence
	// Study returns the definition that a laboratory would write for the problem, naming this lab
	// as the one that answers.
	Study() Definition
	// Brings returns what has to be known before a trial, if anything.
	Brings(random *rand.Rand) Brought
	// Read returns a reading of every metric read at the settings in the trial of that number;
	// StdDev returns the standard deviation of its noise.
	Read(number int, at Settings, random *rand.Rand) map[string]SimulatedReading
	StdDev() map[string]float64
	// Truth returns every metric's value without noise; for a metric that is known before a trial,
	// its expectation. Best returns the best settings within the limits of Study.
	Truth(number int, at Settings) map[string]float64
	Best(number int) Settings
}

// SimulatedReading is a reading of one metric, told when Late further trials have begun.
type SimulatedReading struct {
	Value float64
	Late  int
}

// provided returns the simulated laboratories of this program.
var provided = func() []SimulatedLab { return nil }

// ProvideSimulatedLabs sets the simulated laboratories, in the order in which they are offered.
// Package lab calls it in every program that imports it, before main begins.
func ProvideSimulatedLabs(list func() []SimulatedLab) { provided = list }

// SimulatedLabs returns the simulated laboratories.
func SimulatedLabs() []SimulatedLab { return provided() }

// FindSimulatedLab returns the simulated laboratory of that name.
func FindSimulatedLab(name string) (SimulatedLab, error) {
	labs := provided()
	if lab, there := lists.Find(labs, func(lab SimulatedLab) bool { return lab.Name() == name }); there {
		return lab, nil
	}
	names := lists.Map(labs, SimulatedLab.Name)
	return nil, fmt.Errorf("no simulated lab has a problem %q; there are %s (headroom simulate has more)", name, strings.Join(names, ", "))
}

// lacking lists what the study lacks for the simulated lab to answer in it, "" if nothing.
func (d Definition) lacking(lab SimulatedLab) string {
	var list []string
	own := lab.Study()
	for _, p := range own.Parameters {
		if p.Type != Remainder && !slices.ContainsFunc(d.Parameters, func(q Parameter) bool { return q.Name == p.Name && q.Type != Categorical }) {
			list = append(list, "the parameter "+p.Name)
		}
	}
	list = append(list, lists.Pick(own.MetricNames(), func(metric string) (string, bool) {
		return "the metric " + metric, !slices.Contains(d.MetricNames(), metric)
	})...)
	for _, c := range own.Constraints {
		for _, number := range c.Context {
			if !slices.ContainsFunc(d.Constraints, func(k Constraint) bool { return slices.Contains(k.Context, number) }) {
				list = append(list, "the context "+number)
			}
		}
	}
	return strings.Join(list, ", ")
}

// IsProblemOf reports whether the study is the problem of a simulated lab unchanged, with the same
// space, objective and limits, so that both have the same best settings.
func (d Definition) IsProblemOf(lab SimulatedLab) bool {
	own := lab.Study()
	like := func(p, q *float64) bool { return p == q || p != nil && q != nil && *p == *q }
	return len(d.InputConstraints) == 0 && !d.anyUnavailable() && d.Objective.Metric == own.Objective.Metric && d.Objective.Direction == own.Objective.Direction &&
		slices.EqualFunc(d.Parameters, own.Parameters, func(p, q Parameter) bool {
			return p.Name == q.Name && p.Type == q.Type && like(p.Low, q.Low) && like(p.High, q.High) && like(p.Step, q.Step) && like(p.Total, q.Total) && slices.Equal(p.Of, q.Of)
		}) &&
		slices.EqualFunc(d.Candidates, own.Candidates, Settings.Equal) &&
		slices.EqualFunc(d.Constraints, own.Constraints, func(c, k Constraint) bool {
			return c.Metric == k.Metric && c.Op == k.Op && c.Threshold == k.Threshold && c.Expression == k.Expression
		})
}

func (d Definition) anyUnavailable() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(d.Unavailable)), func(gone []Value) bool { return len(gone) > 0 })
}

// simulatedLab checks that the simulated lab, if one is named, could answer.
func (c *checker) simulatedLab() {
	name := c.d.SimulatedLab
	if name == "" {
		return
	}
	lab, err := FindSimulatedLab(name)
	if err != nil {
		c.faults.Add("simulated_lab", name, "%s", err)
	} else if lacks := c.d.lacking(lab); lacks != "" {
		c.faults.Add("simulated_lab", name, "the simulated lab %s needs %s", name, lacks)
	}
}
