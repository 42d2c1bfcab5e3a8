package study

import "time"

// Verified is how verifying a study ended, on whichever server.
type Verified struct {
	Verification
	Version int64     `json:"version"`
	Hash    string    `json:"hash"`   // of the ledger's last event then
	Engine  string    `json:"engine"` // of the program that verified it
	At      time.Time `json:"at"`
}

// Verification says how replaying a ledger ended.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
	// Rules tells whether the program still has the rules of every engine that decided; Unchecked
	// counts the decisions of those it no longer has, which were not replayed, and GoneEngines
	// names them.
	Rules       string   `json:"rules" enum:"present,gone"`
	Unchecked   int      `json:"unchecked"`
	GoneEngines []string `json:"gone_engines,omitempty"`
}

// What Verification.Rules says.
const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

// Difference is what a replay does not give again.
type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}
