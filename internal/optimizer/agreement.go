package optimizer

import (
	"math"
	"reflect"
	"slices"
)

// agreement is how far a history agrees with the one that the state it extends was made from: what
// depends on nothing later is the same.
type agreement struct {
	decision int   // the first whose data, model or draw may differ, or whose round may move the multipliers otherwise
	seen     int   // the first that sees other data or waiting rounds, or is made elsewhere
	record   int   // the first round whose own record differs
	touched  []int // the rounds of both histories whose records differ
}

// agree compares the history with that of the prior state. Regimes must be known.
func (s *evidence) agree() agreement {
	if s.prior == nil {
		return agreement{decision: 1, seen: 1, record: 1}
	}
	old, now := s.prior.history.Rounds, s.history.Rounds
	n := min(len(old), len(now))
	a := agreement{decision: n + 1, seen: n + 1, record: n + 1}
	if n > 0 && &old[0] != &now[0] {
		for i := range n {
			if decision, seen := firstEffect(i+1, &old[i], &now[i]); decision > 0 {
				a.decision, a.seen, a.record = min(a.decision, decision), min(a.seen, seen), min(a.record, i+1)
				a.touched = append(a.touched, i+1)
			}
		}
	}
	// A first scale takes in, at the end of the round before, the costs that have waited for it.
	a.decision = max(1, min(a.decision, firstOtherModel(s.prior.regimes, s.regimes)-1))
	return a
}

// listExcluded lists the rounds that are excluded.
func (s *evidence) listExcluded() []int {
	var list []int
	from := 0
	if s.prior != nil && len(s.agreed.touched) == 0 {
		from = min(len(s.prior.history.Rounds), len(s.history.Rounds))
		n, _ := slices.BinarySearch(s.prior.excluded, from+1)
		list = s.prior.excluded[:n:n]
	}
	for i := from; i < len(s.history.Rounds); i++ {
		if s.history.Rounds[i].Excluded {
			list = append(list, i+1)
		}
	}
	return list
}

// firstEffect is the first decision or round that a change of round n's record can affect, and the
// first decision that sees it; 0 when nothing changed. A reading moves the multipliers from the
// round on during which it was told, and is seen by the decisions after it.
func firstEffect(n int, a, b *Round) (decision, seen int) {
	decision, seen = math.MaxInt, math.MaxInt
	from := func(t, looking int) {
		decision, seen = min(decision, max(t, n)), min(seen, max(looking, n))
	}
	if a.Arm != b.Arm || a.Excluded != b.Excluded || !slices.Equal(a.Point, b.Point) {
		from(n, n)
	}
	if a.Suggested != b.Suggested || a.Draw.Seed != b.Draw.Seed || !slices.Equal(a.Draw.Z, b.Draw.Z) || !slices.Equal(a.Costs, b.Costs) {
		from(n, math.MaxInt)
	}
	for m := range a.Readings {
		x, y := a.Readings[m], b.Readings[m]
		if x == y || !x.Told && !y.Told {
			continue
		}
		for _, r := range []Reading{x, y} {
			if r.Told {
				from(r.Revealed, r.Revealed+1)
			}
		}
	}
	if !slices.Equal(a.Closed, b.Closed) {
		for _, spells := range [][]Spell{a.Closed, b.Closed} {
			for _, c := range spells {
				from(c.From, c.From)
			}
		}
	}
	if decision == math.MaxInt {
		return 0, 0
	}
	return decision, seen
}

// firstOtherModel is the first decision that is made with other hyperparameters.
func firstOtherModel(old, now []*regime) int {
	for i, j := 0, 0; i < len(old) && j < len(now); {
		if !reflect.DeepEqual(old[i].models, now[j].models) || !reflect.DeepEqual(old[i].said, now[j].said) {
			return max(old[i].from, now[j].from)
		}
		switch a, b := old[i].until, now[j].until; {
		case a < b:
			i++
		case b < a:
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return math.MaxInt
}
