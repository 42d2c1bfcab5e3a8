package ledger

import (
	"errors"
	"fmt"

	"headroom/internal/study/design"
)

// BundleFormat names the form of Bundle.
const BundleFormat = "headroom-study/1"

// Bundle is a study with its ledger, as export.json writes it and ImportBundle reads it. The events
// alone say everything; the rest is for people, and must agree with them.
type Bundle struct {
	Format     string            `json:"format"` // BundleFormat
	Definition design.Definition `json:"definition"`
	State      State             `json:"state"`
	Version    int64             `json:"version"` // of the last event
	Hash       string            `json:"hash"`    // of the last event
	Events     []Event           `json:"events"`
}

// Check tells what stands against the ledger being whole: its chain, and the version and hash at
// its end.
func (b Bundle) Check() error {
	if len(b.Events) == 0 {
		return errors.New("the ledger is empty")
	}
	if err := CheckChain(b.Events); err != nil {
		return err
	}
	if last := b.Events[len(b.Events)-1]; b.Version != last.Seq || b.Hash != last.Hash {
		return fmt.Errorf("the ledger ends with event %d and hash %s, but should end with event %d and hash %s", last.Seq, last.Hash, b.Version, b.Hash)
	}
	return nil
}
