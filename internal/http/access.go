package http

import (
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
)

// Access is a route's audience. The Study… audiences are for routes with {id} in their pattern: a
// caller limited to one study passes for that study and is told 404 for any other.
type Access int

const (
	Public        Access = iota // nobody need sign in
	SignedIn                    // any credentials, share links too; the handler shows what concerns the caller
	Viewer                      // reads; not for callers limited to one study
	Operator                    // makes studies; not for callers limited to one study
	Admin                       // everything else; not for callers limited to one study
	StudyViewer                 // reads one study
	StudyOperator               // asks, tells and corrects in one study
	StudyAdmin                  // shares one study
)

// pageOf is the header by which a page says for whom it was made: what it asks in another's name is
// refused.
const pageOf = "X-Page-Of"

// String names the audience for people.
func (a Access) String() string {
	switch a {
	case Public:
		return "nothing, open to all"
	case SignedIn:
		return "any credentials"
	case StudyViewer, StudyOperator, StudyAdmin:
		return string(a.role()) + " of the study"
	}
	return string(a.role())
}

// forStudy tells whether the audience is that of one study.
func (a Access) forStudy() bool { return a >= StudyViewer }

// role is the least role of an audience.
func (a Access) role() account.Role {
	switch a {
	case Operator, StudyOperator:
		return account.Operator
	case Admin, StudyAdmin:
		return account.Admin
	}
	return account.Viewer
}

// guard lets through only the audience of the route, and of them no more at once than there is room
// for. Whoever is let in, or is known and turned away, is known to the error page too.
func (s *Server) guard(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := rt.place(&s.quotas)
		leave, err := place.ofAddress(r, 1)
		defer leave()
		if err == nil {
			r, err = s.enter(rt, r)
		}
		if err == nil {
			leave, err = place.ofCredential(r, 1)
			defer leave()
		}
		if err == nil && !rt.anybody && !rt.streams() {
			body := &heldBody{ReadCloser: r.Body, r: r, bodies: s.quotas.bodies}
			defer body.end()
			r.Body = body
		}
		if err == nil && rt.onlyReads() {
			out, end := s.quotas.answering(rt, w, r)
			defer end()
			w = out
		}
		if err == nil {
			err = rt.handle(w, r)
		}
		if errors.Is(err, problem.AnothersPage) {
			w.Header().Set("HX-Refresh", "true")
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// enter returns the request with who is asking; the error says why the route is not for them.
func (s *Server) enter(rt route, r *http.Request) (*http.Request, error) {
	if !plain(r.URL.Path) {
		return r, problem.NoSuchThing
	}
	if rt.anybody {
		return r, nil
	}
	who, err := s.recognise(r, func(secret string) (account.Identity, error) { return s.authenticate(r, secret) })
	switch {
	case err == nil && r.Header.Get(pageOf) != "" && r.Header.Get(pageOf) != who.Caller():
		return request.From(r, who), problem.AnothersPage
	case err == nil:
		r = request.From(r, who)
	case rt.access != Public:
		return r, err
	}
	return r, admit(rt.audience(r), who, request.StudyID(r))
}

// recognise finds out who is asking: by the Authorization header when there is one, else by the
// cookies.
func (s *Server) recognise(r *http.Request, authenticate func(secret string) (account.Identity, error)) (account.Identity, error) {
	secrets, err := s.credentials(r)
	if err != nil {
		return account.Identity{}, err
	}
	err = problem.SignIn
	for _, secret := range secrets {
		var who account.Identity
		if who, err = authenticate(secret); err == nil {
			return who, nil
		}
		if !refused(err) {
			break // the database is away; that says nothing about the credential
		}
	}
	return account.Identity{}, err
}

// credentials lists the secrets that came with a request, the strongest first.
func (s *Server) credentials(r *http.Request) ([]string, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, secret, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, problem.SignIn
		}
		return []string{strings.TrimSpace(secret)}, nil
	}
	var secrets []string
	for _, name := range []string{s.cookieName(sessionCookie), s.cookieName(shareCookie)} {
		if cookie, err := r.Cookie(name); err == nil {
			secrets = append(secrets, cookie.Value)
		}
	}
	return secrets, nil
}

// refused tells whether err says that a credential is bad, or that there is none.
func refused(err error) bool {
	return errors.Is(err, account.ErrNoCredentials) || errors.Is(err, account.ErrExpired) || errors.Is(err, problem.SignIn) || errors.Is(err, problem.TooMany)
}

// authenticate recognises a token, session or share by its secret, and keeps an account of wrong
// ones.
func (s *Server) authenticate(r *http.Request, secret string) (account.Identity, error) {
	return look(s.throttle, r, secret, s.Accounts.Authenticate)
}

// clientAddress is the address that limits count by.
func clientAddress(r *http.Request) string {
	return httprate.CanonicalizeIP(middleware.GetClientIP(r.Context()))
}

// admit is the rule of every audience. studyID is the study in the path, if the audience is that of
// one study. Strangers on other than public routes never get here.
func admit(a Access, who account.Identity, studyID string) error {
	switch {
	case a == Public:
		return nil
	case a.forStudy() && !who.MayRead(studyID):
		return problem.NoSuchThing
	case !a.forStudy() && a != SignedIn && who.StudyID != "":
		return problem.OneStudy
	case !who.Role.Includes(a.role()):
		return problem.Needs(a.role(), who.Role)
	}
	return nil
}

// plain tells whether a path could name something: no stored identifier has control characters or
// broken UTF-8.
func plain(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl)
}
