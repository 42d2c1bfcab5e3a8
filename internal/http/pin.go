package http

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
)

// device is the secret of this browser, "" where nobody has set a PIN.
func (s *Server) device(r *http.Request) string {
	cookie, err := r.Cookie(s.cookieName(deviceCookie))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// nameDevice gives the browser its secret, or lengthens the life of the one it has.
func (s *Server) nameDevice(w http.ResponseWriter, secret string) {
	s.setCookie(w, deviceCookie, secret, time.Now().Add(account.SessionLife))
}

// switchPage shows who can come back in this browser.
func (s *Server) switchPage(w http.ResponseWriter, r *http.Request) error {
	return s.showSwitch(w, r, http.StatusOK, r.URL.Query().Get("to"), nil)
}

func (s *Server) showSwitch(w http.ResponseWriter, r *http.Request, status int, to string, wrong *account.WrongPIN) error {
	here, err := s.accounts.OnDevice(r.Context(), s.device(r))
	if err != nil {
		return err
	}
	return pages.Switch(w, r, status, here, comingBackTo(to), wrong)
}

// comingBackTo is the page that somebody was at, if it is one of ours.
func comingBackTo(path string) string {
	if !strings.HasPrefix(path, "/studies") {
		return "/studies"
	}
	return path
}

// switchPerson signs somebody in by their PIN; whoever was signed in before is so no more.
func (s *Server) switchPerson(w http.ResponseWriter, r *http.Request) error {
	leaving, _ := request.Caller(r)
	if leaving.Kind != account.BySession {
		leaving.ID = ""
	}
	device := s.device(r)
	session, secret, err := s.accounts.ComeBack(r.Context(), r.PostFormValue("person"), device, r.PostFormValue("pin"), r.UserAgent(), leaving.ID)
	var wrong *account.WrongPIN
	if errors.As(err, &wrong) {
		return s.showSwitch(w, r, http.StatusUnprocessableEntity, r.PostFormValue("to"), wrong)
	}
	if err != nil {
		return err
	}
	s.setCookie(w, sessionCookie, secret, session.CreatedAt.Add(account.SessionLife))
	s.nameDevice(w, device)
	return pages.GoTo(w, r, comingBackTo(r.PostFormValue("to")))
}

// setPIN lets a person who has signed in fully come back in this browser by a PIN.
func (s *Server) setPIN(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind != account.BySession || who.ByPIN {
		return problem.FullSignIn
	}
	device := s.device(r)
	if device == "" {
		device = account.NewSecret()
	}
	if err := s.accounts.SetPIN(r.Context(), who.PersonID, device, r.PostFormValue("pin"), r.UserAgent()); err != nil {
		return err
	}
	s.nameDevice(w, device)
	return pages.GoTo(w, r, "/account?done=pin")
}

// forgetPINs ends a person's coming back by PIN, in every browser.
func (s *Server) forgetPINs(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	if who.Kind != account.BySession {
		return problem.NoPerson
	}
	if err := s.accounts.ForgetPINs(r.Context(), who.PersonID); err != nil {
		return err
	}
	return pages.GoTo(w, r, "/account?done=forgotten")
}
