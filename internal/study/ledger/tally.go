package ledger

// tally is what lists show of the trials. Each version's follows from the one before and the trials
// touched since, so that an event costs no look at all the others.
type tally struct {
	waiting, feasible, known int
	oldestWaiting            int // number of the first trial that waits, 0 if none does
	best                     int // number of the best trial, 0 while none is known to be within every limit
}

// Feasibility counts the trials known to be within every limit, and those of which it is known
// whether they are.
func (snap *Snapshot) Feasibility() (feasible, known int) {
	return snap.tally.feasible, snap.tally.known
}

// Best is the best trial so far, nil while none is known to be within every limit.
func (snap *Snapshot) Best() *Trial { return snap.Trial(snap.tally.best) }

// score is the objective's value of trial i, if the trial may be the best: it is included, known to
// be within every limit, and not in doubt.
func (snap *Snapshot) score(i int) (value float64, counts bool) {
	t := snap.Trials[i]
	if t.Excluded || t.Feasible == nil || !*t.Feasible || len(t.Doubts) > 0 {
		return 0, false
	}
	m, told := t.Metrics[snap.Definition.Objective.Metric]
	return m.Value, told
}

// recount works out the tally from prior's (nil: from nothing) and the trials touched since, by
// index.
func (snap *Snapshot) recount(prior *Snapshot, touched map[int]bool) {
	for i := range touched {
		if prior != nil && i < len(prior.Trials) {
			snap.tally.add(prior.Trials[i], -1)
		}
		snap.tally.add(snap.Trials[i], 1)
	}
	snap.tally.oldestWaiting = snap.firstWaiting(snap.tally.oldestWaiting, touched)
	snap.tally.best = snap.bestAfter(snap.tally.best, touched)
}

func (c *tally) add(t *Trial, n int) {
	if t.Waiting() {
		c.waiting += n
	}
	if t.Feasible != nil {
		c.known += n
		if *t.Feasible {
			c.feasible += n
		}
	}
}

// firstWaiting is the number of the first trial that waits. Before the touched trials were touched
// it was before, and no trial below that waited: so the search goes on from there, or from the
// first one touched below.
func (snap *Snapshot) firstWaiting(before int, touched map[int]bool) int {
	from := before
	for i := range touched {
		if snap.Trials[i].Waiting() && (from == 0 || i+1 < from) {
			from = i + 1
		}
	}
	for number := from; 0 < number && number <= len(snap.Trials); number++ {
		if snap.Trials[number-1].Waiting() {
			return number
		}
	}
	return 0
}

// bestAfter is the number of the best trial, the earlier of equals. It was before until the touched
// trials were touched; only if that one itself was touched do all count again.
func (snap *Snapshot) bestAfter(before int, touched map[int]bool) int {
	if before > 0 && touched[before-1] {
		running := snap.BestSoFar()
		return running[len(running)-1]
	}
	best := before
	for i := range touched {
		if value, counts := snap.score(i); counts && snap.beats(i+1, value, best) {
			best = i + 1
		}
	}
	return best
}

// beats tells whether trial number with this value is better than trial best (0: there is none).
func (snap *Snapshot) beats(number int, value float64, best int) bool {
	if best == 0 {
		return true
	}
	against, _ := snap.score(best - 1)
	return snap.Definition.Objective.Better(value, against) || value == against && number < best
}
