// Package view turns what is known of a study into what its pages say. It is pure: from facts that
// somebody else loaded it makes the models that package templates draws, every word, number and
// chart of them, and does nothing else. It knows no requests, no database and no clock.
package view

import (
	"maps"
	"net/url"
	"time"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Facts are all that a page of a study is made from: what was asked for, the study, and the numbers
// that follow from it, as far as the page needs them.
type Facts struct {
	Asked
	Snap *ledger.Snapshot
	Who  account.Identity // the viewer
	Key  string           // the idempotency key of the viewer's forms, each of which is sent to an address of its own

	// Working tells that the page does not wait for the model, which is still being worked out,
	// since when.
	Working bool
	Since   time.Time

	// Modelless says why there is no model, "" where there is one.
	Modelless string
	Readout   study.Readout
	History   []study.HistoryRow // a row for each trial
	Gain      *study.Gain        // nil where no settings are within the limits
	Gained    bool               // Gain was worked out
	Slices    []study.Slice      // through the point of the Outlook
	Map       study.Map          // over its two parameters
	Prices    []study.Price      // of moving the limits of which that can be said beforehand
	Choices   []study.Choice     // of other algorithms

	Entries []ledger.Event // of the ledger's list or a trial's history, oldest first
	Earlier int            // how many entries are before them
	Show    string         // which trials are listed, a word of TrialFilters
	Below   int            // below which number, 0 from the newest on
	Board   BoardFacts
	Run     study.Progress // of the simulated lab with what it was last asked for, zero where that was nothing
}

// BoardFacts are what a board and a report are made from beside the rest.
type BoardFacts struct {
	Entries      int64          // of the ledger as it is now
	Hash         string         // of the last of them
	Last         ledger.Event   // of the moment shown
	Amended      []ledger.Event // corrections, exclusions and inclusions, newest first
	Unseen       int            // how many of these were before
	Verification Verification
}

// Verification is what is known of verifying a study.
type Verification struct {
	study.Progress                 // of the one under way, and why the one before came to no outcome
	Paused         bool            // since it took too long
	Last           *study.Verified // nil before the first outcome
}

// recommended is what the model recommends, nil while it does not stand.
func (v Facts) recommended() *study.Recommendation {
	if !ModelStands(v.Snap) {
		return nil
	}
	return v.Readout.Recommendation
}

// LongStudy is from how many trials on a page does not wait long for the model, which takes seconds
// or minutes to work out then.
const LongStudy = 2000

// Long tells whether the study is so long that its page does not wait for the model.
func (v Facts) Long() bool { return len(v.Snap.Trials) >= LongStudy }

// Fetches tells whether the page fetches some of its sections once it stands.
func (v Facts) Fetches() bool { return !v.Whole && (v.Parts || v.Long()) }

// Without tells the sections drawn without the model from the others.
func (v Facts) Without() string { return words.Either(v.Working, " without the model", "") }

// BoardAddress is that of the board with one section as it is asked for now, and the others as
// shown, the query of the page, has them.
func (v Facts) BoardAddress(name string, shown url.Values) string {
	query := url.Values{}
	for section, kept := range BoardSections {
		maps.Copy(query, kept(words.Either(section == name, v.Query, shown), v.Snap))
	}
	return withQuery(v.URL, v.atMoment(query))
}

// Later are the sections that the page fetches when they are seen, with what of its query each is
// to show.
func (v Facts) Later() []templates.Later {
	return []templates.Later{
		{Name: "progress", Title: "How well are we doing?"},
		{Name: "beliefs", Title: "What the model believes", Query: BeliefsQuery(v.Query, v.Snap)},
		{Name: "trials", Title: "Trials", Query: TrialsQuery(v.Query, v.Snap)},
		{Name: "ledger", Title: "Ledger", Query: LedgerQuery(v.Query, v.Snap)},
	}
}
