package ledger

import (
	"sort"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
)

// History is the study as the algorithm of c sees it: every trial a round, readings where they were
// revealed, corrected values as if they had been told right.
func (snap *Snapshot) History(c *design.Compiled) *optimizer.History {
	seen := make([]int64, len(snap.Trials))
	for i := range snap.Trials {
		seen[i] = snap.Trials[i].Seen
	}
	rounds := make([]optimizer.Round, len(snap.Trials))
	readings := make([]optimizer.Reading, len(snap.Trials)*len(c.MetricNames))
	for i := range snap.Trials {
		t, r := snap.Trials[i], snap.records[i]
		own := readings[i*len(c.MetricNames) : (i+1)*len(c.MetricNames) : (i+1)*len(c.MetricNames)]
		for k, name := range c.MetricNames {
			if m, told := t.Metrics[name]; told {
				own[k] = optimizer.Reading{Told: true, Value: m.Value, Revealed: decidedBefore(seen, m.ToldSeq)}
				if m.StdDev != nil {
					own[k].SD = *m.StdDev
				}
			}
		}
		rounds[i] = optimizer.Round{
			Point: r.place.U, Arm: r.place.Arm, Suggested: t.Origin == Suggested, Excluded: t.Excluded,
			Closed: closedDuring(seen, r.spells), Readings: own, Costs: c.Def.KnownInOrder(r.known), Draw: t.Decision.Draw(c.Def.Algorithm.Name),
		}
	}
	return &optimizer.History{Rounds: rounds, Fits: FitsUnder(c, snap.Fits), Rewritten: snap.fitted > 0 && snap.rewritten > snap.fitted}
}

// decidedBefore is the number of decisions made from events before seq, which is the round during
// which event seq was revealed. seen, by decision, never decreases.
func decidedBefore(seen []int64, seq int64) int {
	return sort.Search(len(seen), func(i int) bool { return seen[i] >= seq })
}

// closedDuring turns spells of events into spells of decisions: decision t knew of the closing if
// it saw its event.
func closedDuring(seen []int64, spells []spell) []optimizer.Spell {
	var closed []optimizer.Spell
	for _, s := range spells {
		during := optimizer.Spell{From: decidedBefore(seen, s.from) + 1, Cause: s.cause}
		if s.to != 0 {
			during.To = decidedBefore(seen, s.to) + 1
		}
		if during.To != during.From { // reopened before any decision noticed
			closed = append(closed, during)
		}
	}
	return closed
}

// Draw is the recorded chance of a decision, which may be nil; numbers that another algorithm drew
// mean nothing to this one.
func (d *Decision) Draw(algorithm string) optimizer.Draw {
	switch {
	case d == nil:
		return optimizer.Draw{}
	case d.Algorithm != algorithm:
		return optimizer.Draw{Seed: d.RandomSeed}
	}
	return optimizer.Draw{Seed: d.RandomSeed, Z: d.Draws}
}

// FitsUnder keeps of recorded fits what still means something under the model in force: all of it
// in the same outputs, but hyperparameters only of the same kernel and inputs. Which of them are
// free is for the optimizer to know.
func FitsUnder(c *design.Compiled, recorded []FittedData) []optimizer.Fit {
	fits := make([]optimizer.Fit, 0, len(recorded))
	for _, f := range recorded {
		fit := optimizer.Fit{From: f.From, Metrics: make([]optimizer.FittedMetric, len(c.MetricNames))}
		for k, name := range c.MetricNames {
			if m, ok := f.Metrics[name]; ok {
				fit.Metrics[k] = fittedUnder(c, c.Config.Metrics[k], m)
			}
		}
		fits = append(fits, fit)
	}
	return fits
}

func fittedUnder(c *design.Compiled, metric optimizer.Metric, m FittedMetric) optimizer.FittedMetric {
	if m.Outputs != c.Def.Model.Outputs { // in other units altogether
		return optimizer.FittedMetric{}
	}
	fitted := optimizer.FittedMetric{Set: true, Centre: m.Centre, Scale: m.Scale, Count: m.Count}
	if m.Kernel == metric.Kernel.Name && m.Inputs == c.Def.Model.Inputs {
		fitted.Lengthscales, fitted.Lambda, fitted.Variance = m.Lengthscales, m.Lambda, m.Variance
		fitted.Interaction, fitted.Told, fitted.Inflation, fitted.Freedom = m.Interaction, m.Told, m.Inflation, m.Freedom
		fitted.Settings, fitted.Wrong = noises(m.NoiseBySetting), noises(m.WrongReadings)
		if m.Warp != nil {
			fitted.Warp = warp.Warp(*m.Warp)
		}
	}
	return fitted
}
