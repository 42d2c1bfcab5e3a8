package ledger

// State is what may be done with a study.
type State string

const (
	Open     State = "open"
	Paused   State = "paused"
	Finished State = "finished"
	Archived State = "archived"
)

// Valid tells whether s is one of the states.
func (s State) Valid() bool {
	return s == Open || s == Paused || s == Finished || s == Archived
}

// Over tells whether no further trial will be asked for.
func (s State) Over() bool { return s == Finished || s == Archived }
