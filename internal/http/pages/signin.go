package pages

import (
	"errors"
	"net/http"

	"headroom/internal/account"
	"headroom/internal/http/request"
	"headroom/web/templates"
)

// Home leads to what the caller may see.
func (s *Site) Home(w http.ResponseWriter, r *http.Request) error {
	if who, _ := request.Caller(r); who.StudyID != "" {
		return GoTo(w, r, "/studies/"+who.StudyID)
	}
	return GoTo(w, r, "/studies")
}

// SignIn says how people sign in.
func SignIn(w http.ResponseWriter, r *http.Request, status int) error {
	return show(w, r, status, templates.SignInView(narrowPage(r, "Sign in")))
}

// Link says what a single-use link would do. Only its button uses the link up, since mail programs open links unasked.
func Link(w http.ResponseWriter, r *http.Request, link account.Link) error {
	page := templates.LinkPage{Page: narrowPage(r, "Sign in"), Usable: true, Action: r.URL.Path, Heading: "Sign in as " + link.Name, Button: "Sign in"}
	page.Text = "This link works once. Press the button in the browser that you want to use."
	if link.Kind == account.Invite {
		page.Heading = "Welcome, " + link.Name
		page.Text = link.By + " invited you to this Headroom as " + string(link.Role) + ". This link works once: press the button in the browser that you want to use."
		page.Button = "Join"
	}
	return show(w, r, http.StatusOK, templates.LinkView(page))
}

// DeadLink says what to do about a link that does not work any more; err is why.
func DeadLink(w http.ResponseWriter, r *http.Request, err error) error {
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
