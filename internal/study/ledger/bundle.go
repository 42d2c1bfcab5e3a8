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

// EndsWith tells what stands against the last event of the bundle's ledger being the one that it
// names.
func (b Bundle) EndsWith(last Event) error {
	switch {
	case last.Seq == 0:
		return errors.New("the ledger is empty")
	case b.Version != last.Seq || b.Hash != last.Hash:
		return fmt.Errorf("the ledger ends with event %d and hash %s, but should end with event %d and hash %s", last.Seq, last.Hash, b.Version, b.Hash)
	}
	return nil
}
