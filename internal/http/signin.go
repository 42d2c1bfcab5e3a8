package http

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
)

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) error {
	return pages.SignIn(w, r, http.StatusOK)
}

func (s *Server) linkPage(w http.ResponseWriter, r *http.Request) error {
	link, err := checkSecret(s.throttle, r, chi.URLParam(r, "secret"), s.Accounts.Look)
	if errors.Is(err, account.ErrUsed) {
		return s.useLink(w, r) // in this browser, perhaps, which did not hear of it
	}
	if err != nil {
		return pages.DeadLink(w, r, err)
	}
	s.setCookie(w, linkCookie, cmp.Or(s.cookie(r, linkCookie), account.NewSecret()), link.ExpiresAt)
	return pages.Link(w, r, link)
}

// useLink uses a single-use link up and signs the browser in.
func (s *Server) useLink(w http.ResponseWriter, r *http.Request) error {
	if s.secure && strings.HasPrefix(r.Header.Get("Origin"), "http:") { // a browser that would drop the cookie
		return pages.InsecureLink(w, r, s.publicURL.JoinPath(r.URL.Path).String())
	}
	var secret string
	session, err := checkSecret(s.throttle, r, chi.URLParam(r, "secret"), func(ctx context.Context, link string) (session account.Session, err error) {
		session, secret, err = s.Accounts.Redeem(ctx, link, s.cookie(r, linkCookie), r.UserAgent())
		return session, err
	})
	if err != nil {
		return pages.DeadLink(w, r, err)
	}
	s.setCookie(w, sessionCookie, secret, session.CreatedAt.Add(account.SessionLife))
	s.dropCookie(w, linkCookie) // with the answer comes the end of trying again
	return pages.GoTo(w, r, "/studies")
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind == account.BySession {
		if err := s.Accounts.EndSession(r.Context(), who.PersonID, who.ID); err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
	}
	s.dropCookie(w, sessionCookie)
	s.dropCookie(w, shareCookie)
	return pages.GoTo(w, r, "/sign-in")
}

// openShare exchanges a share link for a cookie that reads its study, and redirects to its board.
func (s *Server) openShare(w http.ResponseWriter, r *http.Request) error {
	secret := chi.URLParam(r, "secret")
	who, err := s.authenticate(r, secret)
	if err == nil && who.Kind != account.ByShare {
		err = account.ErrNoCredentials
	}
	if refused(err) {
		return problem.DeadLink
	}
	if err != nil {
		return err
	}
	to := "/studies/" + who.StudyID + "/board"
	if s.secure && s.cookie(r, shareCookie) != secret { // a browser that came over http drops the cookie: it comes again to show it
		if r.URL.Query().Has("again") {
			return pages.InsecureLink(w, r, s.publicURL.JoinPath(r.URL.Path).String())
		}
		to = r.URL.Path + "?again"
	}
	s.setCookie(w, shareCookie, secret, who.ExpiresAt)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// cookie returns the value of a cookie of ours, "" if there is none.
func (s *Server) cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setDeviceCookie sets the device cookie, or extends its life.
func (s *Server) setDeviceCookie(w http.ResponseWriter, secret string) {
	s.setCookie(w, deviceCookie, secret, time.Now().Add(account.SessionLife))
}

func (s *Server) switchPage(w http.ResponseWriter, r *http.Request) error {
	return s.showSwitch(w, r, http.StatusOK, r.URL.Query().Get("to"), nil)
}

func (s *Server) showSwitch(w http.ResponseWriter, r *http.Request, status int, to string, wrong *account.WrongPIN) error {
	here, err := s.Accounts.OnDevice(r.Context(), s.cookie(r, deviceCookie))
	if err != nil {
		return err
	}
	return pages.Switch(w, r, status, here, returnPath(to), wrong)
}

// returnPath returns page if it is a clean path under /studies, else /studies. A redirect would
// clean other paths, and /studies/../\ then leads to another host.
func returnPath(page string) string {
	if !strings.HasPrefix(page, "/studies") || page != path.Clean(page) {
		return "/studies"
	}
	return page
}

// switchPerson signs a person in by PIN, and whoever was signed in before out.
func (s *Server) switchPerson(w http.ResponseWriter, r *http.Request) error {
	leaving, _ := request.Caller(r)
	if leaving.Kind != account.BySession {
		leaving.ID = ""
	}
	device := s.cookie(r, deviceCookie)
	leave, err := s.throttle.waitTurn(r, device)
	if err != nil {
		return err
	}
	defer leave()
	session, secret, err := s.Accounts.ComeBack(r.Context(), r.PostFormValue("person"), device, r.PostFormValue("pin"), r.UserAgent(), leaving.ID)
	if wrong, ok := errors.AsType[*account.WrongPIN](err); ok {
		return s.showSwitch(w, r, http.StatusUnprocessableEntity, r.PostFormValue("to"), wrong)
	}
	if err != nil {
		return err
	}
	s.setCookie(w, sessionCookie, secret, session.CreatedAt.Add(account.SessionLife))
	s.setDeviceCookie(w, device)
	return pages.GoTo(w, r, returnPath(r.PostFormValue("to")))
}

// setPIN lets a person who signed in by a link sign in again in this browser by a PIN.
func (s *Server) setPIN(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind != account.BySession || who.ByPIN {
		return problem.FullSignIn
	}
	session := cmp.Or(s.cookie(r, sessionCookie), account.NewSecret())
	device := cmp.Or(s.cookie(r, deviceCookie), account.SecretOf(session, deviceCookie)) // the same where the first answer was lost
	leave, err := s.throttle.waitTurn(r, who.PersonID)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.Accounts.SetPIN(r.Context(), who.PersonID, device, r.PostFormValue("pin"), r.UserAgent()); err != nil {
		return err
	}
	s.setDeviceCookie(w, device)
	return pages.GoTo(w, r, "/account?done=pin")
}

// forgetPINs ends a person's sign-in by PIN in every browser.
func (s *Server) forgetPINs(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind != account.BySession {
		return problem.NoPerson
	}
	if err := s.Accounts.ForgetPINs(r.Context(), who.PersonID); err != nil {
		return err
	}
	return pages.GoTo(w, r, "/account?done=forgotten")
}

func (s *Server) setCookie(w http.ResponseWriter, name, secret string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(name), Value: secret, Path: "/", Expires: expires, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode})
}

func (s *Server) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(name), Path: "/", MaxAge: -1, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode})
}
