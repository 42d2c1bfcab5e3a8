package pages

import (
	"net/http"

	"headroom/internal/http/problem"
	"headroom/web/templates"
)

// Problem shows a problem to a person: what is wrong, and where to go from here.
func Problem(w http.ResponseWriter, r *http.Request, p *problem.Problem) error {
	if p.Status == http.StatusUnauthorized {
		return SignIn(w, r, p.Status)
	}
	view := templates.ProblemPage{
		Page: narrowPage(r, problemHeading(p.Status)), Heading: problemHeading(p.Status), Detail: p.Detail,
		Back: "/studies", BackText: "Go to the studies",
	}
	if p.Status == http.StatusNotFound {
		view.Detail = problem.NoSuchThing.Detail
	}
	for _, fault := range p.Errors {
		view.Faults = append(view.Faults, fault.String())
	}
	if len(view.Faults) > 0 {
		view.Detail = "" // says the same
	}
	if p.Status == http.StatusServiceUnavailable {
		view.Back, view.BackText = r.URL.RequestURI(), "Try again"
	}
	return show(w, r, p.Status, templates.ProblemView(view))
}

func problemHeading(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Nothing here"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusConflict, http.StatusPreconditionFailed:
		return "The study has gone on meanwhile"
	case http.StatusServiceUnavailable:
		return "The database cannot be used now"
	case http.StatusTooManyRequests:
		return "Too many tries"
	case http.StatusInternalServerError:
		return "Something failed here"
	}
	return "This did not work"
}

// narrowPage is a page of few words.
func narrowPage(r *http.Request, title string) templates.Page {
	page := newPage(r, title)
	page.Width = "narrow"
	return page
}
