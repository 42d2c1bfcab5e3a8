package pages

import (
	"context"
	"net/http"
	"strconv"

	"github.com/a-h/templ"

	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// BoardPage is the reviewer's board: the study without entry. It follows the study as it goes on, and the slider on top moves it in place to how it
// was after any event of its ledger.
func (s *Site) BoardPage(w http.ResponseWriter, r *http.Request) error {
	at, err := request.At(r)
	if err != nil {
		return err
	}
	seen, err := request.Seen(r)
	if err != nil {
		return err
	}
	now, err := s.Studies.Since(r.Context(), request.StudyID(r), seen)
	if err != nil {
		return err
	}
	snap := now
	if at > 0 {
		if snap, err = s.Studies.Snapshot(r.Context(), now.ID, at); err != nil {
			return err
		}
	}
	v := visiting(r, snap)
	v.head.Operates, v.parts, v.url, v.at = false, false, v.head.URL("/board"), at
	v.query = v.boardQuery()
	if isPart(r) {
		return s.showShared(w, r, partKey{v.head, now.Version, "board" + strconv.FormatInt(at, 10), v.query.Encode()}, func() (templ.Component, error) {
			board, err := s.board(r.Context(), v, now)
			return templates.BoardContent(board), err
		})
	}
	page := templates.BoardPage{Page: newPage(r, v.head.Name)}
	page.Charts = true
	page.Live = templates.Live{URL: v.head.URL("/stream?after=" + strconv.FormatInt(now.Version, 10)), Version: now.Version}
	if page.Board, err = s.board(r.Context(), v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.BoardView(page))
}

// boardQuery is what of a query the board depends on.
func (v visit) boardQuery() map[string][]string {
	kept := v.beliefsQuery()
	for _, other := range []map[string][]string{v.trialsQuery(), v.ledgerQuery()} {
		for name, values := range other {
			kept[name] = values
		}
	}
	return kept
}

// board is everything below the slider.
func (s *Site) board(ctx context.Context, v visit, now *ledger.Snapshot) (templates.Board, error) {
	board := templates.Board{Study: v.head, Description: markdown(v.snap.Definition.Description), At: v.snap.Version, Last: now.Version, Past: v.at > 0, Hash: v.snap.Hash}
	events, err := s.Studies.Events(ctx, v.snap.ID, v.snap.Version-1, 1)
	if err != nil {
		return board, err
	}
	entry, err := v.entryOf(events[0])
	if err != nil {
		return board, err
	}
	board.Moment, board.Event = stamp(events[0].At, v.now), entry.By+" "+entry.Text+"."
	if board.Status, err = s.status(ctx, v); err != nil {
		return board, err
	}
	board.Status.Still = v.at > 0
	if board.Verdict, err = s.verdict(ctx, v); err != nil {
		return board, err
	}
	if board.Progress, err = s.progress(ctx, v); err != nil {
		return board, err
	}
	if board.Beliefs, err = s.beliefs(ctx, v); err != nil {
		return board, err
	}
	if board.Trials, err = s.trials(ctx, v); err != nil {
		return board, err
	}
	if board.Amends, err = s.amends(ctx, v); err != nil {
		return board, err
	}
	if board.Ledger, err = s.ledger(ctx, v); err != nil {
		return board, err
	}
	board.Verified = s.verified(v, now)
	return board, nil
}
