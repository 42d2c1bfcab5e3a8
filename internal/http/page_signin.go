package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/web/templates"
)

// home leads to what the caller may see.
func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	who, _ := identity(r)
	if who.StudyID != "" {
		return goTo(w, r, "/studies/"+who.StudyID)
	}
	return goTo(w, r, "/studies")
}

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, http.StatusOK, templates.SignInView(narrowPage(r, "Sign in")))
}

// linkPage says what a single-use link would do. Only its button uses the link up, since mail programs open links unasked.
func (s *Server) linkPage(w http.ResponseWriter, r *http.Request) error {
	if s.signIns.OnLimit(w, r, clientAddress(r)) {
		return errTooMany
	}
	link, err := s.accounts.Look(r.Context(), chi.URLParam(r, "secret"))
	if err != nil {
		return s.deadLink(w, r, err)
	}
	page := templates.LinkPage{Page: narrowPage(r, "Sign in"), Usable: true, Action: r.URL.Path, Heading: "Sign in as " + link.Name, Button: "Sign in"}
	page.Text = "This link works once. Press the button in the browser that you want to use."
	if link.Kind == account.Invite {
		page.Heading = "Welcome, " + link.Name
		page.Text = link.By + " invited you to this Headroom as " + string(link.Role) + ". This link works once: press the button in the browser that you want to use."
		page.Button = "Join"
	}
	return show(w, r, http.StatusOK, templates.LinkView(page))
}

// useLink uses a link up and signs the browser in.
func (s *Server) useLink(w http.ResponseWriter, r *http.Request) error {
	if s.signIns.OnLimit(w, r, clientAddress(r)) {
		return errTooMany
	}
	session, secret, err := s.accounts.Redeem(r.Context(), chi.URLParam(r, "secret"), r.UserAgent())
	if err != nil {
		return s.deadLink(w, r, err)
	}
	s.setCookie(w, sessionCookie, secret, session.CreatedAt.Add(account.SessionLife))
	return goTo(w, r, "/studies")
}

// deadLink says what to do about a link that does not work any more.
func (s *Server) deadLink(w http.ResponseWriter, r *http.Request, err error) error {
	page := templates.LinkPage{Page: narrowPage(r, "Sign in")}
	switch {
	case errors.Is(err, account.ErrUsed):
		page.Heading, page.Text = "This link has been used", "A sign-in link works once, and this one has been used already."
	case errors.Is(err, account.ErrExpired):
		page.Heading, page.Text = "This link is too old", "Its time ran out, or somebody revoked it."
	case errors.Is(err, account.ErrNoCredentials):
		page.Heading, page.Text = "This link is not known here", "Perhaps a part of it is missing: it has to be copied whole."
	case errors.Is(err, account.ErrNameTaken):
		page.Heading, page.Text = "Somebody has that name already", "The name of this invite was taken meanwhile. Ask for an invite under another name."
	default:
		return err
	}
	return show(w, r, http.StatusUnauthorized, templates.LinkView(page))
}

// signOut ends this browser's session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	who, _ := identity(r)
	if who.Kind == account.BySession {
		if err := s.accounts.EndSession(r.Context(), who.PersonID, who.ID); err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
	}
	s.dropCookie(w, sessionCookie)
	s.dropCookie(w, shareCookie)
	return goTo(w, r, "/sign-in")
}

// person is who is signed in; tokens and links have no devices.
func person(r *http.Request) (account.Identity, error) {
	who, _ := identity(r)
	if who.Kind != account.BySession {
		return who, errForbidden
	}
	return who, nil
}

func (s *Server) accountPage(w http.ResponseWriter, r *http.Request) error {
	return s.showAccount(w, r, nil)
}

func (s *Server) showAccount(w http.ResponseWriter, r *http.Request, secret *templates.Secret) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	sessions, err := s.accounts.Sessions(r.Context(), who.PersonID)
	if err != nil {
		return err
	}
	page := templates.AccountPage{Page: newPage(r, "Your devices"), Secret: secret}
	page.Width = "medium"
	for _, session := range sessions {
		page.Sessions = append(page.Sessions, templates.SessionLine{ID: session.ID, Device: deviceName(session.Device), Seen: stamp(session.LastSeen, page.Now), This: session.ID == who.ID})
	}
	return show(w, r, http.StatusOK, templates.AccountView(page))
}

// deviceName makes a browser's description of itself short enough to recognise it by.
func deviceName(agent string) string {
	browser, system := "A browser", ""
	for _, known := range []struct{ sign, name string }{{"Edg/", "Edge"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(agent, known.sign) {
			browser = known.name
			break
		}
	}
	for _, known := range []struct{ sign, name string }{{"Android", "Android"}, {"iPhone", "an iPhone"}, {"iPad", "an iPad"}, {"Windows", "Windows"}, {"Mac OS", "a Mac"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known.sign) {
			system = " on " + known.name
			break
		}
	}
	return browser + system
}

// linkMyDevice makes a link by which the same person signs in elsewhere.
func (s *Server) linkMyDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	_, secret, err := s.accounts.CreateSignInLink(r.Context(), who, who.PersonID)
	if err != nil {
		return err
	}
	return s.showAccount(w, r, s.linkSecret("Your sign-in link", secret, "Open it on the other device within "+minutes(account.SignInLinkLife)+". It works once."))
}

func minutes(d time.Duration) string { return count(int(d.Minutes()), "minute", "minutes") }

// linkSecret shows a link this once.
func (s *Server) linkSecret(title, secret, help string) *templates.Secret {
	return &templates.Secret{Title: title, Text: s.publicURL.JoinPath("sign-in", secret).String(), Help: help}
}

func (s *Server) endSession(w http.ResponseWriter, r *http.Request) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	if err := s.accounts.EndSession(r.Context(), who.PersonID, chi.URLParam(r, "session")); err != nil {
		return err
	}
	return goTo(w, r, "/account?done=ended")
}
