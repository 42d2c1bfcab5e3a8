package ledger

import "fmt"

// Taking is a ledger that is taken in from elsewhere, event by event. What Fold believes, having
// been written by this program, is asked about here before it is believed.
type Taking struct {
	b     *builder
	prior *Snapshot
	admit func(now *Snapshot, e Event) error
}

// Take goes on from prior, nil before the first event. admit tells what stands against the next
// event of the study as it is before it, nil before the first; it must not keep what it is shown.
func Take(id string, prior *Snapshot, admit func(now *Snapshot, e Event) error) *Taking {
	return &Taking{newBuilder(id, prior), prior, admit}
}

// Add takes in the next event. The error names it.
func (t *Taking) Add(e Event) error {
	if err := t.add(e); err != nil {
		return fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}

func (t *Taking) add(e Event) error {
	var now *Snapshot
	if t.b.snap.Version > 0 {
		now = t.b.snap
	}
	if err := t.admit(now, e); err != nil {
		return err
	}
	if err := t.b.add(e); err != nil {
		return err
	}
	return t.b.catchUp(nil)
}

// Study is the study after the events taken in. Nothing can be taken in after it.
func (t *Taking) Study() (*Snapshot, error) { return t.b.publish(t.prior, nil) }
