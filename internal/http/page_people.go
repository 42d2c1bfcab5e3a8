package server

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/web/templates"
)

func (s *Server) peoplePage(w http.ResponseWriter, r *http.Request) error {
	return s.showPeople(w, r, http.StatusOK, func(*templates.PeoplePage) {})
}

// showPeople draws the page of people and tokens; change puts a form with its faults or a new secret into it.
func (s *Server) showPeople(w http.ResponseWriter, r *http.Request, status int, change func(*templates.PeoplePage)) error {
	page := templates.PeoplePage{Page: newPage(r, "People and tokens")}
	page.Width = "medium"
	page.Invite.Values = url.Values{"invite.role": {string(account.Operator)}}
	page.Token.Values = url.Values{"token.role": {string(account.Operator)}}
	for _, fill := range []func(*http.Request, *templates.PeoplePage) error{s.listPeople, s.listInvites, s.listTokensOn} {
		if err := fill(r, &page); err != nil {
			return err
		}
	}
	change(&page)
	return show(w, r, status, templates.PeopleView(page))
}

func (s *Server) listPeople(r *http.Request, page *templates.PeoplePage) error {
	who, _ := identity(r)
	people, err := s.accounts.People(r.Context())
	for _, p := range people {
		page.People = append(page.People, templates.PersonLine{Person: p, Seen: optionalStamp(p.LastSeen, page.Now), Self: p.ID == who.PersonID})
	}
	return err
}

func (s *Server) listInvites(r *http.Request, page *templates.PeoplePage) error {
	invites, err := s.accounts.Invites(r.Context())
	for _, link := range invites {
		if link.UsedAt == nil && link.RevokedAt == nil && link.ExpiresAt.After(page.Now) {
			page.Invites = append(page.Invites, templates.InviteLine{Link: link, Expires: stamp(link.ExpiresAt, page.Now)})
		}
	}
	return err
}

func (s *Server) listTokensOn(r *http.Request, page *templates.PeoplePage) error {
	studies, _, err := s.studies.Summaries(r.Context(), study.Listing{})
	if err != nil {
		return err
	}
	names := map[string]string{"": "every study"}
	page.Studies = []templates.Option{{Value: "", Label: "every study"}}
	for _, one := range studies {
		names[one.ID] = one.Name
		page.Studies = append(page.Studies, templates.Option{Value: one.ID, Label: one.Name})
	}
	tokens, err := s.accounts.Tokens(r.Context())
	for _, t := range tokens {
		if t.RevokedAt != nil {
			continue
		}
		line := templates.TokenLine{Token: t, Study: names[t.StudyID], Used: optionalStamp(t.LastUsed, page.Now), Expires: "never"}
		if t.ExpiresAt != nil {
			line.Expires = t.ExpiresAt.UTC().Format("2 January 2006")
		}
		page.Tokens = append(page.Tokens, line)
	}
	return err
}

func optionalStamp(at *time.Time, now time.Time) templates.Stamp {
	if at == nil {
		return templates.Stamp{}
	}
	return stamp(*at, now)
}

// accountFault puts a refusal of package account beside its field; ok is false for errors that need a page of their own.
func (t *typed) accountFault(prefix string, err error) (general string, ok bool) {
	var faulty *account.Invalid
	switch {
	case err == nil:
		return "", true
	case errors.As(err, &faulty):
		t.fault(prefix+faulty.Field, faulty.Message)
		return "", true
	case errors.Is(err, account.ErrNameTaken):
		t.fault(prefix+"name", err.Error())
		return "", true
	}
	return "", false
}

// day reads a date as its end; nil when the field is empty.
func (t *typed) day(name string) *time.Time {
	text := t.text(name)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.fault(name, "write a date such as 2027-01-31")
		return nil
	}
	end := at.Add(24*time.Hour - time.Second)
	return &end
}

// invitePerson makes an invite link, shown once.
func (s *Server) invitePerson(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	who, _ := identity(r)
	_, secret, err := s.accounts.CreateInvite(r.Context(), who, account.NewInvite{Name: form.text("invite.name"), Role: account.Role(form.text("invite.role"))})
	general, placed := form.accountFault("invite.", err)
	if !placed {
		return err
	}
	if err != nil {
		return s.showPeople(w, r, http.StatusUnprocessableEntity, func(page *templates.PeoplePage) { page.Invite = form.form(general) })
	}
	made := s.linkSecret("Invite link for "+form.text("invite.name"), secret, "Send it to them. It works once, within seven days, and cannot be shown again.")
	return s.showPeople(w, r, http.StatusOK, func(page *templates.PeoplePage) { page.Secret = made })
}

func (s *Server) revokeInvite(w http.ResponseWriter, r *http.Request) error {
	if err := s.accounts.RevokeInvite(r.Context(), chi.URLParam(r, "link")); err != nil {
		return err
	}
	return goTo(w, r, "/people?done=revoked")
}

// makeToken makes a token, shown once.
func (s *Server) makeToken(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	who, _ := identity(r)
	want := account.NewToken{Name: form.text("token.name"), Role: account.Role(form.text("token.role")), StudyID: form.text("token.study_id"), ExpiresAt: form.day("token.expires_at")}
	var secret, general string
	if form.ok() {
		_, secret, err = s.accounts.CreateToken(r.Context(), who, want)
		var placed bool
		if general, placed = form.accountFault("token.", err); !placed {
			return err
		}
	}
	if !form.ok() || err != nil {
		return s.showPeople(w, r, http.StatusUnprocessableEntity, func(page *templates.PeoplePage) { page.Token = form.form(general) })
	}
	made := &templates.Secret{Title: "Token “" + want.Name + "”", Text: secret, Help: "Copy it now: it cannot be shown again. Scripts send it as “Authorization: Bearer …”."}
	return s.showPeople(w, r, http.StatusOK, func(page *templates.PeoplePage) { page.Secret = made })
}

func (s *Server) revokeTokenOnPage(w http.ResponseWriter, r *http.Request) error {
	if err := s.accounts.RevokeToken(r.Context(), chi.URLParam(r, "token")); err != nil {
		return err
	}
	return goTo(w, r, "/people?done=revoked")
}

func (s *Server) changeRole(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	role, err := account.ParseRole(values.Get("role"))
	if err != nil {
		return malformed("body.role", err.Error())
	}
	return s.changePerson(w, r, s.accounts.SetRole(r.Context(), chi.URLParam(r, "person"), role), "role")
}

func (s *Server) setDisabled(disabled bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		done := "enabled"
		if disabled {
			done = "disabled"
		}
		return s.changePerson(w, r, s.accounts.SetDisabled(r.Context(), chi.URLParam(r, "person"), disabled), done)
	}
}

// changePerson shows the people again; that somebody must stay admin is said there.
func (s *Server) changePerson(w http.ResponseWriter, r *http.Request, err error, done string) error {
	if errors.Is(err, account.ErrLastAdmin) {
		return s.showPeople(w, r, http.StatusConflict, func(page *templates.PeoplePage) { page.Error = capitalised(err.Error()) + "." })
	}
	if err != nil {
		return err
	}
	return goTo(w, r, "/people?done="+done)
}

// linkPerson makes a sign-in link for somebody who is locked out.
func (s *Server) linkPerson(w http.ResponseWriter, r *http.Request) error {
	who, _ := identity(r)
	link, secret, err := s.accounts.CreateSignInLink(r.Context(), who, chi.URLParam(r, "person"))
	if err != nil {
		return err
	}
	made := s.linkSecret("Sign-in link for "+link.Name, secret, "Send it to them. It works once, within "+minutes(account.SignInLinkLife)+".")
	return s.showPeople(w, r, http.StatusOK, func(page *templates.PeoplePage) { page.Secret = made })
}
