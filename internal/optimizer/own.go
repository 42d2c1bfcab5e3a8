package optimizer

import (
	"context"
	"fmt"
	"slices"
)

// buildOwn works out the regressions of an algorithm that does not act on the arrived readings of each metric.
func (s *evidence) buildOwn(ctx context.Context, e *era) error {
	e.ownOf = make([]int, len(s.targets))
	for k := range e.ownOf {
		e.ownOf[k] = -1
	}
	switch {
	case s.traits.Censoring != nil:
		for k, t := range s.targets {
			if t.metric < 0 {
				continue
			}
			if err := s.addOwn(ctx, e, k, s.chosenOrder(e.models[t.metric], e.until)); err != nil {
				return err
			}
		}
	case s.traits.Response != nil:
		return s.addOwn(ctx, e, 0, s.completeOrder(e.models[s.targets[0].metric], e.until))
	}
	return nil
}

// addOwn regresses target k on the points in that order, with its metric's model.
func (s *evidence) addOwn(ctx context.Context, e *era, k int, order []arrival) error {
	metric := s.targets[k].metric
	m := e.models[metric]
	e.ownOf[k] = slices.IndexFunc(e.own, func(g *group) bool { return g.model.sameRegression(m) })
	if e.ownOf[k] >= 0 {
		return nil
	}
	g := &group{model: m, order: order}
	if err := s.regress(ctx, g, false); err != nil {
		return fmt.Errorf("metric %s: %w", s.cfg.Metrics[metric].Name, err)
	}
	e.ownOf[k] = len(e.own)
	e.own = append(e.own, g)
	return nil
}

// chosenOrder lists every included round; round n is in sight of the decisions after it, read or not.
func (s *study) chosenOrder(m metricModel, until int) []arrival {
	var order []arrival
	for n := 1; n < until-1; n++ {
		if !s.history.Rounds[n-1].Excluded {
			order = append(order, arrival{n, n, m.noise.of(n, s.placeOf(n), m.lambda)})
		}
	}
	return order
}

// completeOrder lists the included rounds by when the last reading that the penalised response needs was told.
func (s *study) completeOrder(m metricModel, until int) []arrival {
	var order []arrival
	for n := 1; n < until-1; n++ {
		if last, ok := s.completed(n); ok && last < until-1 {
			order = append(order, arrival{n, last, m.noise.of(n, s.placeOf(n), m.lambda)})
		}
	}
	byArrival(order)
	return order
}

// completed is the round during which the last reading of round n that any target needs was told, if the round is included and all were.
func (s *study) completed(n int) (last int, ok bool) {
	r := &s.history.Rounds[n-1]
	if r.Excluded {
		return 0, false
	}
	for _, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		reading := r.Readings[t.metric]
		if !reading.Told {
			return 0, false
		}
		last = max(last, reading.Revealed)
	}
	return last, true
}
