package server

import (
	"net/http"
	"slices"
	"strings"
)

// Access is a route's audience. The Study… audiences are for routes with {id} in their pattern: a caller limited to
// one study passes for that study and is told 404 for any other.
type Access int

const (
	Public        Access = iota // nobody need sign in
	SignedIn                    // any credentials, share links too; the handler shows what concerns the caller
	Viewer                      // reads; not for callers limited to one study
	Operator                    // makes studies; not for callers limited to one study
	Admin                       // everything else; not for callers limited to one study
	StudyViewer                 // reads one study
	StudyOperator               // asks, tells and corrects in one study
	StudyAdmin                  // shares one study
)

// String names the audience for people.
func (a Access) String() string {
	switch a {
	case Public:
		return "nothing, open to all"
	case SignedIn:
		return "any credentials"
	case StudyViewer, StudyOperator, StudyAdmin:
		return string(a.role()) + " of the study"
	}
	return string(a.role())
}

// forStudy tells whether the audience is that of one study.
func (a Access) forStudy() bool { return a >= StudyViewer }

// route is one line of the route table.
type route struct {
	Method  string
	Pattern string
	Access  Access
	Handler func(http.ResponseWriter, *http.Request) error
	// Doc describes routes of the API; nil elsewhere.
	Doc *operation
	// Stream marks answers that stay open: no write deadline, no compression.
	Stream bool
	// DryRun: with ?dry_run=true the request only reads, and viewers may make it.
	DryRun bool
}

// routes is the whole table.
func (s *Server) routes() []route {
	return slices.Concat(
		s.systemRoutes(),
		s.studyRoutes(),
		s.trialRoutes(),
		s.readoutRoutes(),
		s.transferRoutes(),
		s.ledgerRoutes(),
		s.accountRoutes(),
		s.documentRoutes(),
		s.pageRoutes(),
	)
}

// inAPI tells whether a route belongs to the documented API.
func (rt route) inAPI() bool { return strings.HasPrefix(rt.Pattern, "/api/v1/") }

// audience is who may make this request.
func (rt route) audience(r *http.Request) Access {
	if rt.DryRun && dryRun(r) {
		return StudyViewer
	}
	return rt.Access
}

// dryRun tells whether a request asks to store nothing.
func dryRun(r *http.Request) bool { return r.URL.Query().Get("dry_run") == "true" }
