package pages

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// BoardPage is the reviewer's board: the study without entry. It follows the study as it goes on,
// and the slider on top moves it in place to how it was after any event of its ledger.
func (s *Site) BoardPage(w http.ResponseWriter, r *http.Request, current view.Facts) error {
	now := current.Snap
	v, err := s.boardVisit(r, now)
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
			v.Query = sentFrom(r).Query() // the study has changed: the reader's place stays
			part += " following"
		}
		v.Query = view.BoardQuery(v.Query, v.Snap)
		return s.showShared(w, r, now, partKey{v.Head, part, v.Query.Encode()}, func(ctx context.Context) (templ.Component, error) {
			board, err := s.board(ctx, v, now)
			board.Keeps = follows && v.Working
			return templates.BoardContent(board), err
		})
	}
	v.Query = view.BoardQuery(v.Query, v.Snap)
	page := templates.BoardPage{Page: newPage(r, v.Head.Name, "")}
	page.Charts, page.Live = true, liveOf(now)
	if page.Board, err = s.board(r.Context(), v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.BoardView(page))
}

// boardMoment is the id of the element that fetches the board again when the study has changed.
const boardMoment = "board-moment"

// atMoment is the study at the moment that the request asks for, 0 being now.
func (s *Site) atMoment(r *http.Request, now *ledger.Snapshot) (v view.Facts, err error) {
	at, err := request.At(r)
	snap := now
	if err == nil && at > 0 {
		snap, err = s.Studies.Snapshot(r.Context(), now.ID, at)
	}
	if err != nil {
		return v, err
	}
	v = visiting(r, snap)
	v.At = at
	return v, nil
}

// boardVisit is the same as a board shows it.
func (s *Site) boardVisit(r *http.Request, now *ledger.Snapshot) (view.Facts, error) {
	v, err := s.atMoment(r, now)
	v.Head.Operates, v.Parts, v.URL = false, false, v.Head.URL("/board")
	return v, err
}

// boardPart names a part of the board, "" being all of it, at its moment.
func boardPart(v view.Facts, name string) string { return "board" + strconv.FormatInt(v.At, 10) + name }

// boardLater are the other sections of a board that it fetches once it stands.
var boardLater = []string{view.ModelPart, "status", "verdict", "gain", "progress", "progress-table"}

// BoardPart is one section of the board at a moment. Where the reader has chosen what it shows, the
// browser's address is told to say so.
func (s *Site) BoardPart(w http.ResponseWriter, r *http.Request, current view.Facts) error {
	name := chi.URLParam(r, "part")
	_, chosen := view.BoardSections[name]
	if !chosen && !slices.Contains(boardLater, name) {
		return problem.NoSuchThing
	}
	v, err := s.boardVisit(r, current.Snap)
	if err != nil {
		return err
	}
	address := ""
	if chosen {
		address = v.BoardAddress(name, sentFrom(r).Query())
	}
	return s.showPart(w, r, current.Snap, v, name, boardPart(v, name), address)
}

// board is everything below the slider.
func (s *Site) board(ctx context.Context, v view.Facts, now *ledger.Snapshot) (templates.Board, error) {
	if err := errors.Join(s.load(ctx, &v, readout|quickGain|history|picture|entries|listed), s.loadBoard(ctx, &v, now)); err != nil {
		return templates.Board{}, err
	}
	return v.Content()
}

// Verify verifies the study. With scripts the page shows how far it is; without them it is answered
// when it is done.
func (s *Site) Verify(w http.ResponseWriter, r *http.Request, v view.Facts, _ *forms.Typed) submission {
	return submission{
		do: func(study.Command) error {
			if isPart(r) {
				return s.Studies.VerifyBehind(v.Snap)
			}
			_, err := s.Studies.Verify(r.Context(), v.Snap)
			return err
		},
		done: func() error {
			if !isPart(r) {
				return GoTo(w, r, "/studies/"+v.Snap.ID+"/board#verified")
			}
			return s.Verifying(w, r, v)
		},
	}
}

// Verifying says how far a verification is, or how it ended.
func (s *Site) Verifying(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := s.loadVerification(r.Context(), &v, v.Snap); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.VerifiedLine(v.Verified()))
}
