package templates

// BoardPage is the reviewer's board.
type BoardPage struct {
	Page
	Board
}

// Board is what of the board follows the slider and the study.
type Board struct {
	Study       StudyHead
	Description string
	Status      Status
	At, Last    int64  // ledger entries
	Past        bool   // it stays at At
	Hash        string // of entry At
	Moment      Stamp
	Event       string // what event At was
	Verified    Verified
	Verdict     Verdict
	Progress    Progress
	Beliefs     Beliefs
	Trials      Trials
	Amends      Amends
	Ledger      Ledger
}

// Verified is the outcome of the last verification.
type Verified struct {
	Study         StudyHead
	Known         bool
	OK            bool
	At            Stamp
	Text          string
	Hash          string // of the last entry verified
	Since         string // how many entries have been added since
	Different     []string
	Going, Walked int64  // a verification up to entry Going is under way and at Walked; 0 for none
	Trouble       string // why the last one came to no outcome
	Head          string // hash of the ledger's last entry now
	Events        int64  // entries now
}

// Amends are what was changed afterwards.
type Amends struct {
	Lines  []Amend
	Before int // corrections and exclusions that are not shown
}

// Amend is one thing changed, with what was there before.
type Amend struct {
	Number              int
	URL                 string
	What, Before, After string
	By, Reason          string
	At                  Stamp
}
