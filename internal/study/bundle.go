package study

import "context"

// BundleFormat names the form of Bundle.
const BundleFormat = "headroom-study/1"

// Bundle is a study with its ledger, as export.json writes it and ImportBundle reads it. The events alone say everything; the rest
// is for people, and must agree with them.
type Bundle struct {
	Format     string     `json:"format"` // BundleFormat
	Definition Definition `json:"definition"`
	State      State      `json:"state"`
	Version    int64      `json:"version"` // of the last event
	Hash       string     `json:"hash"`    // of the last event
	Events     []Event    `json:"events"`
}

// Export returns the study as it was at the snapshot, with its ledger up to there.
func (s *Service) Export(ctx context.Context, snap *Snapshot) (Bundle, error) {
	events, err := s.Events(ctx, snap.ID, 0, int(snap.Version))
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{BundleFormat, snap.Definition, snap.State, snap.Version, snap.Hash, events}, nil
}
