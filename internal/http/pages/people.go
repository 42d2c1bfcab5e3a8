package pages

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

func (s People) PeoplePage(w http.ResponseWriter, r *http.Request) error {
	return s.showPeople(w, r, http.StatusOK, func(*templates.PeoplePage) {})
}

// showPeople shows the page of people and tokens; change may put a form with its faults or a new
// secret into it.
func (s People) showPeople(w http.ResponseWriter, r *http.Request, status int, change func(*templates.PeoplePage)) error {
	page := templates.PeoplePage{Page: newPage(r, "People and tokens", "medium")}
	page.Roles = forms.Roles()
	invite := forms.NewInvite(&account.NewInvite{Role: account.Operator})
	page.Invite = templates.Form{Inputs: invite.Inputs(), Values: invite.Show()}
	page.Invite.Values.Set("key", newKey(r))
	for _, fill := range []func(*http.Request, *templates.PeoplePage) error{s.listPeople, s.listInvites, s.listTokensOn} {
		if err := fill(r, &page); err != nil {
			return err
		}
	}
	change(&page)
	return show(w, r, status, templates.PeopleView(page))
}

func (s People) listPeople(r *http.Request, page *templates.PeoplePage) error {
	who, _ := request.Caller(r)
	people, err := s.Accounts.People(r.Context())
	for _, p := range people {
		page.People = append(page.People, templates.PersonLine{Person: p, Seen: view.OptionalStamp(p.LastSeen, page.Now), Self: p.ID == who.PersonID, Gave: givenOut(p)})
	}
	return err
}

func givenOut(p account.Person) string {
	var parts []string
	for _, given := range []struct {
		names     []string
		one, many string
	}{{p.Tokens, "the token", "the tokens"}, {p.Links, "the unused link for", "the unused links for"}, {p.Shares, "the share link for", "the share links for"}} {
		if n := len(given.names); n > 0 {
			parts = append(parts, words.Either(n == 1, given.one, given.many)+" “"+strings.Join(given.names, "”, “")+"”")
		}
	}
	return strings.Join(parts, "; ")
}

func (s People) listInvites(r *http.Request, page *templates.PeoplePage) error {
	invites, err := s.Accounts.Invites(r.Context())
	page.Invites = lists.Pick(invites, func(link account.Link) (templates.InviteLine, bool) {
		open := link.UsedAt == nil && link.RevokedAt == nil && link.ExpiresAt.After(page.Now)
		return templates.InviteLine{Link: link, Expires: view.Deadline(link.ExpiresAt, page.Now)}, open
	})
	return err
}

func (s People) listTokensOn(r *http.Request, page *templates.PeoplePage) error {
	studies, _, err := s.Studies.Summaries(r.Context(), study.Listing{})
	if err != nil {
		return err
	}
	names := map[string]string{"": "every study"}
	options := []templates.Option{{Value: "", Label: "every study"}}
	called := map[string]int{}
	for _, one := range studies {
		called[one.Name]++
	}
	for _, one := range studies {
		if called[one.Name] > 1 { // told apart as in their addresses
			one.Name += " (" + one.ID + ")"
		}
		names[one.ID] = one.Name
		options = append(options, templates.Option{Value: one.ID, Label: one.Name})
	}
	tokens, err := s.Accounts.Tokens(r.Context())
	for _, t := range tokens {
		if t.RevokedAt != nil {
			continue
		}
		line := templates.TokenLine{Token: t, Study: names[t.StudyID], Used: view.OptionalStamp(t.LastUsed, page.Now), Expires: "never"}
		if t.ExpiresAt != nil {
			line.Expires = t.ExpiresAt.UTC().Format("2 January 2006")
		}
		page.Tokens = append(page.Tokens, line)
	}
	token := forms.NewToken(options, &account.NewToken{Role: account.Operator})
	page.Token = templates.Form{Inputs: token.Inputs(), Values: token.Show()}
	page.Token.Values.Set("key", newKey(r))
	return err
}

// sentTwice is shown in place of a secret that was shown before.
var sentTwice = &templates.Secret{Title: "This form was sent twice",
	Help: "It was made the first time, and only that answer showed its secret. If nobody has the secret, revoke it below and make another."}

// makingSecret makes something with a secret, which tell shows this once. Faults are shown by again
// in a form with these fields, if there is one.
func (s People) makingSecret(r *http.Request, fields forms.Fields, make func(ctx context.Context, by account.Identity) (*templates.Secret, error), tell func(*templates.Secret) error, again func(templates.Form) error) submission {
	secret := sentTwice
	return submission{
		do: func(cmd study.Command) error {
			who, _ := request.Caller(r)
			return s.Once(r.Context(), cmd.Key, func(ctx context.Context) (_ []byte, err error) {
				secret, err = make(ctx, who)
				return nil, err
			})
		},
		done:   func() error { return tell(secret) },
		fields: fields,
		again:  again,
	}
}

// InvitePerson makes an invite link, which is shown once.
func (s People) InvitePerson(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	var want account.NewInvite
	fields := forms.NewInvite(&want)
	fields.Read(form)
	return s.makingSecret(r, fields, func(ctx context.Context, by account.Identity) (*templates.Secret, error) {
		_, secret, err := s.Accounts.CreateInvite(ctx, by, want)
		return s.linkSecret("Invite link for "+want.Name, secret, "Send it to them. It works once, within seven days, and cannot be shown again."), err
	}, s.showingSecret(w, r), func(form templates.Form) error {
		return s.showPeople(w, r, http.StatusUnprocessableEntity, func(page *templates.PeoplePage) { page.Invite = form.Like(page.Invite) })
	})
}

// showingSecret returns the function that shows the page of people with a secret.
func (s People) showingSecret(w http.ResponseWriter, r *http.Request) func(*templates.Secret) error {
	return func(secret *templates.Secret) error {
		return s.showPeople(w, r, http.StatusOK, func(page *templates.PeoplePage) { page.Secret = secret })
	}
}

// RevokeInvite ends an invite that has not been used.
func (s People) RevokeInvite(r *http.Request) error {
	return s.Accounts.RevokeInvite(r.Context(), chi.URLParam(r, "link"))
}

// MakeToken makes a token, which is shown once.
func (s People) MakeToken(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	var want account.NewToken
	fields := forms.NewToken(nil, &want)
	fields.Read(form)
	return s.makingSecret(r, fields, func(ctx context.Context, by account.Identity) (*templates.Secret, error) {
		_, secret, err := s.Accounts.CreateToken(ctx, by, want)
		return &templates.Secret{Title: "Token “" + want.Name + "”", Text: secret, Help: "Copy it now: it cannot be shown again. Scripts send it as “Authorization: Bearer …”."}, err
	}, s.showingSecret(w, r), func(form templates.Form) error {
		return s.showPeople(w, r, http.StatusUnprocessableEntity, func(page *templates.PeoplePage) { page.Token = form.Like(page.Token) })
	})
}

// RevokeToken ends a token.
func (s People) RevokeToken(r *http.Request) error {
	return s.Accounts.RevokeToken(r.Context(), chi.URLParam(r, "token"))
}

// ChangeRole gives somebody another role.
func (s People) ChangeRole(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	return s.changePerson(w, r, "role", func(id string) error { return s.Accounts.SetRole(r.Context(), id, account.Role(form.Text("role"))) })
}

// Disable ends somebody's access for now.
func (s People) Disable(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	return s.changePerson(w, r, "disabled", func(id string) error { return s.Accounts.SetDisabled(r.Context(), id, true) })
}

// Enable gives it back.
func (s People) Enable(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	return s.changePerson(w, r, "enabled", func(id string) error { return s.Accounts.SetDisabled(r.Context(), id, false) })
}

// changePerson changes the person in the path. Its errors are shown above the list.
func (s People) changePerson(w http.ResponseWriter, r *http.Request, done string, change func(id string) error) submission {
	return submission{
		do: func(study.Command) error { return change(chi.URLParam(r, "person")) },
		to: "/people?done=" + done,
		again: func(form templates.Form) error {
			return s.showPeople(w, r, http.StatusConflict, func(page *templates.PeoplePage) { page.Error = design.Capitalised(form.General) + "." })
		},
	}
}

// LinkPerson makes a sign-in link for somebody who is locked out.
func (s People) LinkPerson(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	return s.makingSecret(r, nil, func(ctx context.Context, by account.Identity) (*templates.Secret, error) {
		link, secret, err := s.Accounts.CreateSignInLink(ctx, by, chi.URLParam(r, "person"))
		return s.linkSecret("Sign-in link for "+link.Name, secret, "Send it to them. It works once, within "+minutes(account.SignInLinkLife)+"."), err
	}, s.showingSecret(w, r), nil)
}

func (s People) SharesPage(w http.ResponseWriter, r *http.Request) error {
	return s.showShares(w, r, http.StatusOK, shareForm(time.Now().Add(account.UsualShareLife)), nil)
}

// shareForm returns the form of a share link with an expiry.
func shareForm(end time.Time) templates.Form {
	return templates.Form{Values: forms.NewShare(&account.NewShare{ExpiresAt: end}).Show()}
}

func (s People) showShares(w http.ResponseWriter, r *http.Request, status int, form templates.Form, secret *templates.Secret) error {
	snap, err := s.Studies.Snapshot(r.Context(), request.StudyID(r), 0)
	if err != nil {
		return err
	}
	shares, err := s.Accounts.Shares(r.Context(), snap.ID)
	if err != nil {
		return err
	}
	form.Inputs = forms.NewShare(&account.NewShare{}).Inputs()
	form.Values.Set("key", cmp.Or(form.Value("key"), newKey(r)))
	page := templates.SharesPage{Page: newPage(r, "Share "+snap.Definition.Name, "medium"), Study: studyHead(r, snap), Form: form, Secret: secret}
	for _, share := range shares {
		page.Shares = append(page.Shares, templates.ShareLine{Share: share, Expires: view.Deadline(share.ExpiresAt, page.Now), Used: view.OptionalStamp(share.LastUsed, page.Now)})
	}
	return show(w, r, status, templates.SharesView(page))
}

// MakeShare makes a read-only link, which is shown once.
func (s People) MakeShare(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	want := account.NewShare{StudyID: request.StudyID(r)}
	fields := forms.NewShare(&want)
	fields.Read(form)
	return s.makingSecret(r, fields, func(ctx context.Context, by account.Identity) (*templates.Secret, error) {
		_, secret, err := s.Accounts.CreateShare(ctx, by, want)
		return &templates.Secret{Title: "Link for " + want.Name, Text: s.PublicURL.JoinPath("share", secret).String(), Help: "Send it to them. It cannot be shown again."}, err
	}, func(made *templates.Secret) error {
		return s.showShares(w, r, http.StatusOK, shareForm(want.ExpiresAt), made)
	}, func(form templates.Form) error { return s.showShares(w, r, http.StatusUnprocessableEntity, form, nil) })
}

// RevokeShare ends a read-only link.
func (s People) RevokeShare(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	id := request.StudyID(r)
	return submission{
		do: func(study.Command) error { return s.Accounts.RevokeShare(r.Context(), id, chi.URLParam(r, "share")) },
		to: "/studies/" + id + "/shares?done=revoked",
	}
}

// signedInPerson returns who is signed in, or problem.NoPerson for tokens and links, which have no
// devices.
func signedInPerson(r *http.Request) (account.Identity, error) {
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
	who, err := signedInPerson(r)
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
	page := templates.AccountPage{Page: newPage(r, "Your devices", "medium"), Secret: secret}
	page.ByPIN = who.ByPIN
	for _, pin := range pins {
		page.PINs = append(page.PINs, templates.SessionLine{Device: deviceName(pin.Browser), Seen: view.Stamp(pin.LastUsed, page.Now)})
	}
	for _, session := range sessions {
		page.Sessions = append(page.Sessions, templates.SessionLine{ID: session.ID, Device: deviceName(session.Device), Seen: view.Stamp(session.LastSeen, page.Now), This: session.ID == who.ID})
	}
	return show(w, r, http.StatusOK, templates.AccountView(page))
}

// deviceName shortens a browser's User-Agent to something that people recognise.
func deviceName(agent string) string {
	known := func(signs [][2]string) string { // the name beside the first sign in agent
		at := slices.IndexFunc(signs, func(sign [2]string) bool { return strings.Contains(agent, sign[0]) })
		return signs[at][1]
	}
	browser := known([][2]string{{"Edg", "Edge"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Safari/", "Safari"}, {"", "A browser"}})
	mac := " on a Mac"
	if browser == "Safari" {
		mac = " on a Mac or an iPad" // Safari says the same on both
	}
	return browser + known([][2]string{{"Android", " on Android"}, {"iPhone", " on an iPhone"}, {"iPad", " on an iPad"},
		{"Windows", " on Windows"}, {"Mac OS", mac}, {"Linux", " on Linux"}, {"", ""}})
}

// LinkMyDevice makes a link by which the same person signs in elsewhere.
func (s People) LinkMyDevice(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	return s.makingSecret(r, nil, func(ctx context.Context, _ account.Identity) (*templates.Secret, error) {
		who, err := signedInPerson(r)
		if err == nil && who.ByPIN {
			err = problem.FullSignIn
		}
		if err != nil {
			return nil, err
		}
		_, secret, err := s.Accounts.CreateSignInLink(ctx, who, who.PersonID)
		return s.linkSecret("Your sign-in link", secret, "Open it on the other device within "+minutes(account.SignInLinkLife)+". It works once."), err
	}, func(secret *templates.Secret) error { return s.showAccount(w, r, secret) }, nil)
}

func minutes(d time.Duration) string { return design.Count(int(d.Minutes()), "minute", "minutes") }

func (s People) linkSecret(title, secret, help string) *templates.Secret {
	return &templates.Secret{Title: title, Text: s.PublicURL.JoinPath("sign-in", secret).String(), Help: help}
}

// EndSession signs one of the person's browsers out.
func (s People) EndSession(r *http.Request) error {
	who, err := signedInPerson(r)
	if err == nil {
		err = s.Accounts.EndSession(r.Context(), who.PersonID, chi.URLParam(r, "session"))
	}
	return err
}

// Home redirects to what the caller may see.
func Home(w http.ResponseWriter, r *http.Request) error {
	if who, _ := request.Caller(r); who.StudyID != "" {
		return GoTo(w, r, "/studies/"+who.StudyID)
	}
	return GoTo(w, r, "/studies")
}

// SignIn says how people sign in, and what became of a form that they sent.
func SignIn(w http.ResponseWriter, r *http.Request, status int) error {
	page := newPage(r, "Sign in", "narrow")
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/studies/") {
		page.Error = "Nothing was saved: your sign-in has ended. Once you have signed in, what you typed is in its form again."
	}
	return show(w, r, status, templates.SignInView(page))
}

// Switch shows who can sign in again in this browser by PIN; wrong is the last failure.
func Switch(w http.ResponseWriter, r *http.Request, status int, here []account.OnDevice, to string, wrong *account.WrongPIN) error {
	page := templates.SwitchPage{Page: newPage(r, "Who is here?", "narrow"), To: to, Chosen: r.PostFormValue("person")}
	page.Switch = ""
	who, _ := request.Caller(r)
	for _, person := range here {
		page.People = append(page.People, templates.SwitchLine{ID: person.PersonID, Name: person.Name, Initials: initials(person.Name), Now: person.PersonID == who.PersonID, Locked: person.Left == 0})
		if wrong != nil && person.PersonID == page.Chosen && person.Left > 0 {
			page.Error = "That is not the PIN of " + person.Name + ". " + design.Count(person.Left, "try is", "tries are") + " left."
		}
	}
	if wrong != nil && page.Error == "" {
		page.Error = "No PIN works here for this person now. Sign in with a link, and set one anew."
	}
	return show(w, r, status, templates.SwitchView(page))
}

// initials returns the first letters of the first and the last word of a name.
func initials(name string) string {
	letters, list := "", strings.Fields(name)
	for i, word := range list {
		if first, _ := utf8.DecodeRuneInString(word); i == 0 || i == len(list)-1 {
			letters += string(unicode.ToUpper(first))
		}
	}
	return letters
}

// Link says what a single-use link would do. Only its button uses the link up, since mail programs
// open links unasked.
func Link(w http.ResponseWriter, r *http.Request, link account.Link) error {
	page := templates.LinkPage{Page: newPage(r, "Sign in", "narrow"), Usable: true, Action: r.URL.Path, Heading: "Sign in as " + link.Name, Button: "Sign in"}
	page.Text = "This link works once. Press the button in the browser that you want to use."
	if link.Kind == account.Invite {
		page.Heading = "Welcome, " + link.Name
		page.Text = link.By + " invited you to this Headroom as " + string(link.Role) + ". " + page.Text
		page.Button = "Join"
	}
	return show(w, r, http.StatusOK, templates.LinkView(page))
}

// InsecureLink leads to the https address of a link that was opened over http, where browsers would
// not keep the sign-in.
func InsecureLink(w http.ResponseWriter, r *http.Request, secure string) error {
	page := templates.LinkPage{Page: newPage(r, "Sign in", "narrow"), Heading: "Open this link over https", Secure: secure, Button: "Open the link there"}
	page.Text = "This browser reached the server unencrypted, or keeps no cookies, and would not stay signed in. The link was not used up: it is good at the server’s own address."
	return show(w, r, http.StatusForbidden, templates.LinkView(page))
}

// DeadLink says what to do about a link that does not work; err is why.
func DeadLink(w http.ResponseWriter, r *http.Request, err error) error {
	page := templates.LinkPage{Page: newPage(r, "Sign in", "narrow")}
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
