package http

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
)

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) error {
	return pages.SignIn(w, r, http.StatusOK)
}

// linkPage says what a single-use link would do.
func (s *Server) linkPage(w http.ResponseWriter, r *http.Request) error {
	secret := chi.URLParam(r, "secret")
	var link account.Link
	err := s.guesses.look(r, secret, func() (err error) {
		link, err = s.accounts.Look(r.Context(), secret)
		return err
	})
	if err != nil {
		return pages.DeadLink(w, r, err)
	}
	return pages.Link(w, r, link)
}

// useLink uses a link up and signs the browser in.
func (s *Server) useLink(w http.ResponseWriter, r *http.Request) error {
	link := chi.URLParam(r, "secret")
	var session account.Session
	var secret string
	err := s.guesses.look(r, link, func() (err error) {
		session, secret, err = s.accounts.Redeem(r.Context(), link, r.UserAgent())
		return err
	})
	if err != nil {
		return pages.DeadLink(w, r, err)
	}
	s.setCookie(w, sessionCookie, secret, session.CreatedAt.Add(account.SessionLife))
	return pages.GoTo(w, r, "/studies")
}

// signOut ends this browser's session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind == account.BySession {
		if err := s.accounts.EndSession(r.Context(), who.PersonID, who.ID); err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
	}
	s.dropCookie(w, sessionCookie)
	s.dropCookie(w, shareCookie)
	return pages.GoTo(w, r, "/sign-in")
}

// openShare exchanges a share link for a cookie that reads its study, and opens its board.
func (s *Server) openShare(w http.ResponseWriter, r *http.Request) error {
	secret := chi.URLParam(r, "secret")
	who, err := s.authenticate(r, secret)
	if err == nil && who.Kind != account.ByShare {
		err = account.ErrNoCredentials
	}
	if refused(err) {
		return problem.New(http.StatusNotFound, "This link has expired, was revoked, or never was. Ask whoever sent it for a new one.")
	}
	if err != nil {
		return err
	}
	s.setCookie(w, shareCookie, secret, who.ExpiresAt)
	http.Redirect(w, r, "/studies/"+who.StudyID+"/board", http.StatusSeeOther)
	return nil
}
