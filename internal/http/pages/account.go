package pages

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// person is who is signed in; tokens and links have no devices.
func person(r *http.Request) (account.Identity, error) {
	who, _ := request.Caller(r)
	if who.Kind != account.BySession {
		return who, problem.NoPerson
	}
	return who, nil
}

func (s People) AccountPage(w http.ResponseWriter, r *http.Request) error {
	return s.showAccount(w, r, nil)
}

func (s People) showAccount(w http.ResponseWriter, r *http.Request, secret *templates.Secret) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	sessions, err := s.Accounts.Sessions(r.Context(), who.PersonID)
	if err != nil {
		return err
	}
	pins, err := s.Accounts.PINs(r.Context(), who.PersonID)
	if err != nil {
		return err
	}
	page := templates.AccountPage{Page: newPage(r, "Your devices"), Secret: secret}
	page.Width, page.ByPIN = "medium", who.ByPIN
	for _, pin := range pins {
		page.PINs = append(page.PINs, templates.SessionLine{Device: deviceName(pin.Browser), Seen: view.Stamp(pin.LastUsed, page.Now)})
	}
	for _, session := range sessions {
		page.Sessions = append(page.Sessions, templates.SessionLine{ID: session.ID, Device: deviceName(session.Device), Seen: view.Stamp(session.LastSeen, page.Now), This: session.ID == who.ID})
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

// LinkMyDevice makes a link by which the same person signs in elsewhere.
func (s People) LinkMyDevice(w http.ResponseWriter, r *http.Request) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	if who.ByPIN {
		return problem.FullSignIn
	}
	return submit(w, r, func(*typed) submission {
		var secret string
		return submission{
			do: func(study.Command) (err error) {
				_, secret, err = s.Accounts.CreateSignInLink(r.Context(), who, who.PersonID)
				return err
			},
			done: func() error {
				return s.showAccount(w, r, s.linkSecret("Your sign-in link", secret, "Open it on the other device within "+minutes(account.SignInLinkLife)+". It works once."))
			},
		}
	})
}

func minutes(d time.Duration) string { return words.Count(int(d.Minutes()), "minute", "minutes") }

// linkSecret shows a link this once.
func (s People) linkSecret(title, secret, help string) *templates.Secret {
	return &templates.Secret{Title: title, Text: s.PublicURL.JoinPath("sign-in", secret).String(), Help: help}
}

// EndSession signs one of the person's browsers out.
func (s People) EndSession(w http.ResponseWriter, r *http.Request) error {
	who, err := person(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(study.Command) error {
				return s.Accounts.EndSession(r.Context(), who.PersonID, chi.URLParam(r, "session"))
			},
			to: "/account?done=ended",
		}
	})
}
