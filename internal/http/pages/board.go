package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
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
		part := boardPart(v, "") + v.Without()
		follows := r.Header.Get("HX-Trigger") == boardMoment
		if follows {
			v.Query = shownQuery(r) // the study has changed: the reader's place stays
			part += " following"
		}
		v.Query = v.BoardQuery()
		return s.showShared(w, r, now, partKey{v.Head, part, v.Query.Encode()}, func(ctx context.Context) (templ.Component, error) {
			board, err := s.board(ctx, v, now)
			board.Keeps = follows && v.Working
			return templates.BoardContent(board), err
		})
	}
	v.Query = v.BoardQuery()
	page := templates.BoardPage{Page: newPage(r, v.Head.Name)}
	page.Charts, page.Live = true, liveOf(now)
	if page.Board, err = s.board(r.Context(), v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.BoardView(page))
}

// boardMoment is the id of the element that fetches the board again when the study has changed.
const boardMoment = "board-moment"

// boardVisit is the study at the moment that the request asks for, and the study now.
func (s *Site) boardVisit(r *http.Request) (v view.Facts, now *ledger.Snapshot, err error) {
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
	v.Head.Operates, v.Parts, v.URL, v.At = false, false, v.Head.URL("/board"), at
	return v, now, nil
}

// boardPart names a part of the board, "" being all of it, at its moment.
func boardPart(v view.Facts, name string) string { return "board" + strconv.FormatInt(v.At, 10) + name }

// boardLater are the other sections of a board that it fetches once it stands.
var boardLater = []string{view.ModelPart, "status", "verdict", "gain", "progress", "progress-table"}

// BoardPart is one section of the board at a moment. Where the reader has chosen what it shows, the browser's address is told to say so.
func (s *Site) BoardPart(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "part")
	_, chosen := view.BoardSections[name]
	if !chosen && !slices.Contains(boardLater, name) {
		return problem.NoSuchThing
	}
	v, now, err := s.boardVisit(r)
	if err != nil {
		return err
	}
	if name == view.ModelPart {
		return s.showWork(w, r, v)
	}
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	part := parts[name]
	address := ""
	if chosen {
		address = v.BoardAddress(name, shownQuery(r))
	}
	v.Query = part.asked(v)
	if part.modelled {
		if ready, err := s.drawnBehind(r.Context(), name, v); err != nil || !ready {
			return leaveAsIs(w, v, err)
		}
	}
	if chosen {
		w.Header().Set("HX-Replace-Url", address)
	}
	return s.showShared(w, r, now, partKey{v.Head, boardPart(v, name) + v.Without(), v.Query.Encode()}, s.section(part, v))
}

// shownQuery is the query of the page that sent the request.
func shownQuery(r *http.Request) url.Values {
	shown, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil {
		return nil
	}
	return shown.Query()
}

// board is everything below the slider.
func (s *Site) board(ctx context.Context, v view.Facts, now *ledger.Snapshot) (templates.Board, error) {
	err := errors.Join(s.load(ctx, &v, readout|quickGain|history|picture|entries), s.loadBoard(ctx, &v, now))
	if err != nil {
		return templates.Board{}, err
	}
	trials, err := trialsOf(v)
	if err != nil {
		return templates.Board{}, err
	}
	return v.Content(trials)
}
