package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"headroom/internal/account"
)

type contextKey int

const (
	identityKey contextKey = iota
	requestIDKey
)

// identity returns who is asking; ok is false for a stranger on a public route.
func identity(r *http.Request) (who account.Identity, ok bool) {
	who, ok = r.Context().Value(identityKey).(account.Identity)
	return who, ok
}

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

// guard lets through only the audience of the route.
func (s *Server) guard(rt route) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !plain(r.URL.Path) {
			return errNoSuchThing
		}
		who, err := s.recognise(r)
		switch {
		case err == nil:
			r = r.WithContext(context.WithValue(r.Context(), identityKey, who))
		case rt.Access != Public:
			return s.refuse(w, r, err)
		}
		if err := admit(rt.audience(r), who, chi.URLParam(r, "id")); err != nil {
			return err
		}
		return rt.Handler(w, r)
	}
}

// recognise finds out who is asking: by the Authorization header when there is one, else by the cookies.
func (s *Server) recognise(r *http.Request) (account.Identity, error) {
	secrets, err := s.credentials(r)
	if err != nil {
		return account.Identity{}, err
	}
	err = errSignIn
	for _, secret := range secrets {
		var who account.Identity
		if who, err = s.accounts.Authenticate(r.Context(), secret); err == nil {
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
			return nil, errSignIn
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

// refused tells whether err says that a credential is bad.
func refused(err error) bool {
	return errors.Is(err, account.ErrNoCredentials) || errors.Is(err, account.ErrExpired)
}

// refuse answers a stranger. Wrong credentials count against the client's address; having none does not.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) error {
	if refused(err) && s.badCredentials.OnLimit(w, r, clientAddress(r)) {
		return errTooMany
	}
	return err
}

// clientAddress is the address that limits count by.
func clientAddress(r *http.Request) string {
	return httprate.CanonicalizeIP(middleware.GetClientIP(r.Context()))
}

// admit is the rule of every audience. studyID is the study in the path, if the audience is that of one study. Strangers on
// other than public routes never get here.
func admit(a Access, who account.Identity, studyID string) error {
	switch {
	case a == Public:
		return nil
	case a.forStudy() && !who.MayRead(studyID):
		return errNoSuchThing
	case !a.forStudy() && a != SignedIn && who.StudyID != "":
		return errForbidden
	case !who.Role.Includes(a.role()):
		return errForbidden
	}
	return nil
}

// plain tells whether a path could name something: no stored identifier has control characters or broken UTF-8.
func plain(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl)
}
