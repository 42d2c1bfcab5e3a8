package ledger

import "headroom/internal/study/design"

// Revision is an event from which on something else holds for trials or readings that are there
// already: corrections, exclusions, reconfigurations and fits. Charts over trials mark them.
type Revision struct {
	Seq    int64
	Kind   Kind
	After  int    // how many trials there were
	Number int    // of the trial concerned, 0 for none
	Reason string // as people gave it
	Limits []design.Constraint
}

// revise notes the event being added.
func (b *builder) revise(number int, reason string) {
	b.snap.Revisions = append(b.snap.Revisions, Revision{Seq: b.last.Seq, Kind: b.last.Kind, After: len(b.snap.Trials),
		Number: number, Reason: reason, Limits: b.snap.Definition.Constraints})
}

// LimitsThrough gives, for each trial, the constraints as they stood when it was chosen, in the
// order of the study.
func (snap *Snapshot) LimitsThrough() [][]design.Constraint {
	limits := make([][]design.Constraint, len(snap.Trials))
	next, now := 0, snap.Definition.Constraints
	for i, t := range snap.Trials {
		for ; next < len(snap.Revisions) && snap.Revisions[next].Seq < t.ChosenSeq; next++ {
			now = snap.Revisions[next].Limits
		}
		limits[i] = now
	}
	return limits
}
