package pages

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/web/templates"
)

func (s *Site) PeoplePage(w http.ResponseWriter, r *http.Request) error {
	return s.showPeople(w, r, http.StatusOK, func(*templates.PeoplePage) {})
}

// showPeople draws the page of people and tokens; change puts a form with its faults or a new secret into it.
func (s *Site) showPeople(w http.ResponseWriter, r *http.Request, status int, change func(*templates.PeoplePage)) error {
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

func (s *Site) listPeople(r *http.Request, page *templates.PeoplePage) error {
	who, _ := request.Caller(r)
	people, err := s.Accounts.People(r.Context())
	for _, p := range people {
		page.People = append(page.People, templates.PersonLine{Person: p, Seen: optionalStamp(p.LastSeen, page.Now), Self: p.ID == who.PersonID})
	}
	return err
}

func (s *Site) listInvites(r *http.Request, page *templates.PeoplePage) error {
	invites, err := s.Accounts.Invites(r.Context())
	for _, link := range invites {
		if link.UsedAt == nil && link.RevokedAt == nil && link.ExpiresAt.After(page.Now) {
			page.Invites = append(page.Invites, templates.InviteLine{Link: link, Expires: stamp(link.ExpiresAt, page.Now)})
		}
	}
	return err
}

func (s *Site) listTokensOn(r *http.Request, page *templates.PeoplePage) error {
	studies, err := s.Studies.Summaries(r.Context(), nil)
	if err != nil {
		return err
	}
	names := map[string]string{"": "every study"}
	page.Studies = []templates.Option{{Value: "", Label: "every study"}}
	for _, one := range studies {
		names[one.ID] = one.Name
		page.Studies = append(page.Studies, templates.Option{Value: one.ID, Label: one.Name})
	}
	tokens, err := s.Accounts.Tokens(r.Context())
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

// InvitePerson makes an invite link, shown once.
func (s *Site) InvitePerson(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	who, _ := request.Caller(r)
	_, secret, err := s.Accounts.CreateInvite(r.Context(), who, account.NewInvite{Name: form.text("invite.name"), Role: account.Role(form.text("invite.role"))})
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

func (s *Site) RevokeInvite(w http.ResponseWriter, r *http.Request) error {
	if err := s.Accounts.RevokeInvite(r.Context(), chi.URLParam(r, "link")); err != nil {
		return err
	}
	return GoTo(w, r, "/people?done=revoked")
}

// MakeToken makes a token, shown once.
func (s *Site) MakeToken(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	who, _ := request.Caller(r)
	want := account.NewToken{Name: form.text("token.name"), Role: account.Role(form.text("token.role")), StudyID: form.text("token.study_id"), ExpiresAt: form.day("token.expires_at")}
	var secret, general string
	if form.ok() {
		_, secret, err = s.Accounts.CreateToken(r.Context(), who, want)
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

func (s *Site) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	if err := s.Accounts.RevokeToken(r.Context(), chi.URLParam(r, "token")); err != nil {
		return err
	}
	return GoTo(w, r, "/people?done=revoked")
}

func (s *Site) ChangeRole(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	role, err := account.ParseRole(values.Get("role"))
	if err != nil {
		return problem.Malformed("body.role", err.Error())
	}
	return s.changePerson(w, r, s.Accounts.SetRole(r.Context(), chi.URLParam(r, "person"), role), "role")
}

// Disable ends somebody's access for now.
func (s *Site) Disable(w http.ResponseWriter, r *http.Request) error {
	return s.changePerson(w, r, s.Accounts.SetDisabled(r.Context(), chi.URLParam(r, "person"), true), "disabled")
}

// Enable gives it back.
func (s *Site) Enable(w http.ResponseWriter, r *http.Request) error {
	return s.changePerson(w, r, s.Accounts.SetDisabled(r.Context(), chi.URLParam(r, "person"), false), "enabled")
}

// changePerson shows the people again; that somebody must stay admin is said there.
func (s *Site) changePerson(w http.ResponseWriter, r *http.Request, err error, done string) error {
	if errors.Is(err, account.ErrLastAdmin) {
		return s.showPeople(w, r, http.StatusConflict, func(page *templates.PeoplePage) { page.Error = capitalised(err.Error()) + "." })
	}
	if err != nil {
		return err
	}
	return GoTo(w, r, "/people?done="+done)
}

// LinkPerson makes a sign-in link for somebody who is locked out.
func (s *Site) LinkPerson(w http.ResponseWriter, r *http.Request) error {
	who, _ := request.Caller(r)
	link, secret, err := s.Accounts.CreateSignInLink(r.Context(), who, chi.URLParam(r, "person"))
	if err != nil {
		return err
	}
	made := s.linkSecret("Sign-in link for "+link.Name, secret, "Send it to them. It works once, within "+minutes(account.SignInLinkLife)+".")
	return s.showPeople(w, r, http.StatusOK, func(page *templates.PeoplePage) { page.Secret = made })
}
