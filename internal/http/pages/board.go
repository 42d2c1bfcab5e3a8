package pages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// BoardPage is the reviewer's board: the study without entry. It follows the study as it goes on, and the slider on top moves it in place to how it
// was after any event of its ledger.
func (s *Site) BoardPage(w http.ResponseWriter, r *http.Request) error {
	v, now, err := s.boardVisit(r)
	if err != nil {
		return err
	}
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if isPart(r) {
		part := boardPart(v, "") + v.without()
		follows := r.Header.Get("HX-Trigger") == boardMoment
		if follows {
			v.query = shownQuery(r) // the study has changed: the reader's place stays
			part += " following"
		}
		v.query = v.boardQuery()
		return s.showShared(w, r, now, partKey{v.head, part, v.query.Encode()}, func(ctx context.Context) (templ.Component, error) {
			board, err := s.board(ctx, v, now)
			board.Keeps = follows && v.working
			return templates.BoardContent(board), err
		})
	}
	v.query = v.boardQuery()
	page := templates.BoardPage{Page: newPage(r, v.head.Name)}
	page.Charts = true
	page.Live = templates.Live{URL: v.head.URL("/stream?after=" + strconv.FormatInt(now.Version, 10)), Version: now.Version}
	if page.Board, err = s.board(r.Context(), v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.BoardView(page))
}

// boardMoment is the id of the element that fetches the board again when the study has changed.
const boardMoment = "board-moment"

// boardVisit is the study at the moment that the request asks for, and the study now.
func (s *Site) boardVisit(r *http.Request) (v visit, now *ledger.Snapshot, err error) {
	at, err := request.At(r)
	if err != nil {
		return v, nil, err
	}
	seen, err := request.Seen(r)
	if err != nil {
		return v, nil, err
	}
	if now, err = s.Studies.Since(r.Context(), request.StudyID(r), seen); err != nil {
		return v, nil, err
	}
	snap := now
	if at > 0 {
		if snap, err = s.Studies.Snapshot(r.Context(), now.ID, at); err != nil {
			return v, nil, err
		}
	}
	v = visiting(r, snap)
	v.head.Operates, v.parts, v.url, v.at = false, false, v.head.URL("/board"), at
	return v, now, nil
}

// boardPart names a part of the board, "" being all of it, at its moment.
func boardPart(v visit, name string) string { return "board" + strconv.FormatInt(v.at, 10) + name }

// boardSections are the sections that show more of themselves in place, by name, with what of a query each depends on.
var boardSections = map[string]func(visit) url.Values{"beliefs": visit.beliefsQuery, "trials": visit.trialsQuery, "ledger": visit.ledgerQuery}

// boardLater are the other sections of a board that it fetches once it stands.
var boardLater = []string{modelPart, "status", "verdict", "gain", "progress", "progress-table"}

// BoardPart is one section of the board at a moment. Where the reader has chosen what it shows, the browser's address is told to say so.
func (s *Site) BoardPart(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "part")
	query, chosen := boardSections[name]
	if !chosen && !slices.Contains(boardLater, name) {
		return problem.NoSuchThing
	}
	v, now, err := s.boardVisit(r)
	if err != nil {
		return err
	}
	if name == modelPart {
		return s.showWork(w, r, v)
	}
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	part := parts[name]
	address := ""
	if chosen {
		address = v.address(r, name, query(v))
	}
	v.query = part.query(v)
	if part.modelled {
		if ready, err := s.drawnBehind(r.Context(), name, v); err != nil || !ready {
			return leaveAsIs(w, v, err)
		}
	}
	if chosen {
		w.Header().Set("HX-Replace-Url", address)
	}
	return s.showShared(w, r, now, partKey{v.head, boardPart(v, name) + v.without(), v.query.Encode()}, func(ctx context.Context) (templ.Component, error) {
		return part.draw(s, ctx, v)
	})
}

// address is that of the board with one section changed, the others as the browser's address has them.
func (v visit) address(r *http.Request, name string, changed url.Values) string {
	others := visit{snap: v.snap, query: shownQuery(r)}
	query := changed
	for other, of := range boardSections {
		if other != name {
			query = mergedQuery(query, of(others))
		}
	}
	if v.at > 0 {
		query.Set("at", strconv.FormatInt(v.at, 10))
	}
	if len(query) == 0 {
		return v.url
	}
	return v.url + "?" + query.Encode()
}

// shownQuery is the query of the page that sent the request.
func shownQuery(r *http.Request) url.Values {
	shown, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil {
		return nil
	}
	return shown.Query()
}

// mergedQuery is one query with what another has.
func mergedQuery(query, more url.Values) url.Values {
	merged := url.Values{}
	maps.Copy(merged, query)
	maps.Copy(merged, more)
	return merged
}

// boardQuery is what of a query the board depends on.
func (v visit) boardQuery() url.Values {
	var kept url.Values
	for _, query := range boardSections {
		kept = mergedQuery(kept, query(v))
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
	board.Work = v.work()
	if board.Status, err = s.status(ctx, v); err != nil {
		return board, err
	}
	if board.Verdict, err = s.verdict(ctx, v); err != nil {
		return board, err
	}
	if !v.working {
		if board.Progress, err = s.progress(ctx, v); err != nil {
			return board, err
		}
		if board.Beliefs, err = s.beliefs(ctx, v); err != nil {
			return board, err
		}
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
	last, err := s.verificationOf(ctx, now.ID)
	board.Verified = v.verified(last, now)
	return board, err
}
