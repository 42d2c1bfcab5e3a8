package view

import (
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// BoardFacts are what a board and a report are made from beside the rest.
type BoardFacts struct {
	Entries      int64          // of the ledger as it is now
	Hash         string         // of the last of them
	Last         ledger.Event   // of the moment shown
	Amended      []ledger.Event // corrections, exclusions and inclusions, newest first
	Unseen       int            // how many of these were before
	Verification Verification
}

// Content is everything below the board's slider, with the table of trials that is asked for.
func (v Facts) Content(trials templates.Trials) (templates.Board, error) {
	board := templates.Board{
		Study: v.Head, Description: Markdown(v.Snap.Definition.Description), At: v.Snap.Version, Last: v.Board.Entries, Past: v.At > 0, Hash: v.Snap.Hash,
		Moment: Stamp(v.Board.Last.At, v.Now), Work: v.Work(), Status: v.Status(), Verdict: v.Verdict(), Trials: trials, Verified: v.Verified(),
	}
	entry, err := v.teller().entryOf(v.Board.Last)
	if err != nil {
		return board, err
	}
	board.Event = entry.By + " " + entry.Text + "."
	if !v.Working {
		board.Progress, board.Beliefs = v.Progress(), v.Beliefs()
	}
	if board.Amends, err = v.amends(); err != nil {
		return board, err
	}
	board.Ledger, err = v.Ledger()
	return board, err
}
