package http

import (
	"net/http"

	"headroom/internal/http/api"
	"headroom/internal/http/pages"
)

// routes returns the whole table: every address, who may use it, and what answers it.
func (s *Server) routes(a *api.API, p *pages.Site) []route {
	people, operations := pages.People{Site: p}, a.Operations(s.events)
	call := func(name, method, pattern string, access Access) route {
		said := api.Route{Name: name, Method: method, Pattern: pattern, Audience: access.words, Open: access == Public, OneStudy: access.oneStudy, Operation: operations[name]}
		return route{Route: said, access: access, dryRun: access}
	}
	const aStudy, aTrial = "/api/v1/studies/{id}", "/api/v1/studies/{id}/trials/{number}"
	const study, trial = "/studies/{id}", "/studies/{id}/trials/{number}"
	return []route{
		// For whoever runs the server.
		page("GET", "/healthz", Public, s.healthy).forAnybody(),
		page("GET", "/readyz", Public, s.ready).forAnybody(),
		page("GET", "/metrics", Viewer, s.metricsPage).admitsWhileAway(),

		// The API.
		call("createStudy", "POST", "/api/v1/studies", Operator),
		call("listStudies", "GET", "/api/v1/studies", SignedIn),
		call("readStudy", "GET", aStudy, StudyViewer),
		call("editStudy", "PATCH", aStudy, StudyOperator),
		call("reconfigureStudy", "POST", aStudy+"/reconfigure", StudyOperator).dryRunBy(StudyViewer),

		call("ask", "POST", aStudy+"/ask", StudyOperator),
		call("addTrial", "POST", aStudy+"/trials", StudyOperator),
		call("listTrials", "GET", aStudy+"/trials", StudyViewer),
		call("readTrial", "GET", aTrial, StudyViewer),
		call("tell", "POST", aTrial+"/tell", StudyOperator),
		call("tellMany", "POST", aStudy+"/tell", StudyOperator),
		call("undoMany", "POST", aStudy+"/undo", StudyOperator).dryRunBy(StudyViewer),
		call("correct", "POST", aTrial+"/corrections", StudyOperator).dryRunBy(StudyViewer),
		call("undo", "POST", aTrial+"/undo", StudyOperator),
		call("replicate", "POST", aTrial+"/replicates", StudyOperator),
		call("fail", "POST", aTrial+"/fail", StudyOperator),
		call("abandon", "POST", aTrial+"/abandon", StudyOperator),
		call("exclude", "POST", aTrial+"/exclude", StudyOperator),
		call("include", "POST", aTrial+"/include", StudyOperator),
		call("confirm", "POST", aTrial+"/confirm", StudyOperator),

		call("readState", "GET", aStudy+"/state", StudyViewer),
		call("posterior", "POST", aStudy+"/posterior", StudyViewer),
		call("acquisition", "POST", aStudy+"/acquisition", StudyViewer),
		call("compare", "POST", aStudy+"/compare", StudyViewer),
		call("price", "GET", aStudy+"/price", StudyViewer),
		call("history", "GET", aStudy+"/history", StudyViewer),
		call("verify", "POST", aStudy+"/verify", StudyViewer),

		call("exportCSV", "GET", aStudy+"/export.csv", StudyViewer),
		call("exportBundle", "GET", aStudy+"/export.json", StudyViewer),
		call("importCSV", "POST", aStudy+"/import", StudyOperator).dryRunBy(StudyViewer),
		call("importBundle", "POST", "/api/v1/studies/import", Operator),

		call("ledger", "GET", aStudy+"/ledger", StudyViewer),
		call("events", "GET", aStudy+"/events", StudyViewer),

		call("createToken", "POST", "/api/v1/tokens", Admin),
		call("listTokens", "GET", "/api/v1/tokens", Admin),
		call("revokeToken", "DELETE", "/api/v1/tokens/{token}", Admin),
		call("createShare", "POST", aStudy+"/shares", StudyAdmin),
		call("listShares", "GET", aStudy+"/shares", StudyAdmin),
		call("revokeShare", "DELETE", aStudy+"/shares/{share}", StudyAdmin),

		call("listAlgorithms", "GET", "/api/v1/algorithms", SignedIn),
		call("readDocument", "GET", "/api/v1/openapi.json", Public).forAnybody(),
		call("browseDocument", "GET", "/api/v1/docs", Public).forAnybody(),

		// The pages and forms of browsers, and what pages are made with.
		page("GET", "/static/*", Public, pages.StaticFile).forAnybody(),
		page("GET", "/", SignedIn, pages.Home),

		page("GET", "/sign-in", Public, s.signInPage),
		page("GET", "/sign-in/{secret}", Public, s.linkPage),
		page("POST", "/sign-in/{secret}", Public, s.useLink),
		page("POST", "/sign-out", SignedIn, s.signOut),
		page("GET", "/share/{secret}", Public, s.openShare),
		page("GET", "/switch", Public, s.switchPage),
		page("POST", "/switch", Public, s.switchPerson),
		page("GET", "/account", SignedIn, people.AccountPage),
		page("POST", "/account/pin", SignedIn, s.setPIN),
		page("POST", "/account/pin/forget", SignedIn, s.forgetPINs),
		page("POST", "/account/link", SignedIn, pages.Form(people.LinkMyDevice)),
		page("POST", "/account/sessions/{session}/end", SignedIn, pages.Button("/account?done=ended", people.EndSession)),

		page("GET", "/people", Admin, people.PeoplePage),
		page("POST", "/people/invites", Admin, pages.Form(people.InvitePerson)),
		page("POST", "/people/invites/{link}/revoke", Admin, pages.Button("/people?done=revoked", people.RevokeInvite)),
		page("POST", "/people/tokens", Admin, pages.Form(people.MakeToken)),
		page("POST", "/people/tokens/{token}/revoke", Admin, pages.Button("/people?done=revoked", people.RevokeToken)),
		page("POST", "/people/{person}/role", Admin, pages.Form(people.ChangeRole)),
		page("POST", "/people/{person}/disable", Admin, pages.Form(people.Disable)),
		page("POST", "/people/{person}/enable", Admin, pages.Form(people.Enable)),
		page("POST", "/people/{person}/link", Admin, pages.Form(people.LinkPerson)),

		page("GET", "/studies", SignedIn, p.StudiesPage),
		page("GET", "/studies/new", Operator, p.NewStudyPage),
		page("POST", "/studies/new", Operator, pages.Form(p.MakeStudy)),
		page("POST", "/studies/demo", Operator, pages.Form(p.MakeDemo)),

		page("GET", study, StudyViewer, p.WithStudy(p.StudyPage)),
		page("GET", study+"/bench", StudyViewer, p.WithStudy(p.BenchPage)),
		page("GET", study+"/sheet", StudyViewer, p.WithStudy(p.PrintWaiting)),
		page("GET", study+"/parts/{part}", StudyViewer, p.WithStudy(p.StudyPart)).answeredInTurn(),
		page("GET", study+"/stream", StudyViewer, s.changes).open(),
		page("GET", study+"/edit", StudyOperator, p.WithStudy(p.EditPage)),
		page("POST", study+"/edit", StudyOperator, p.StudyForm(p.Edit)),
		page("GET", study+"/reconfigure", StudyOperator, p.WithStudy(p.ReconfigurePage)),
		page("POST", study+"/reconfigure", StudyOperator, p.StudyForm(p.Reconfigure)),
		page("GET", study+"/board", StudyViewer, p.WithStudy(p.BoardPage)),
		page("GET", study+"/board/{part}", StudyViewer, p.WithStudy(p.BoardPart)),
		page("GET", study+"/board/verify", StudyViewer, p.WithStudy(p.Verifying)),
		page("POST", study+"/board/verify", StudyViewer, p.StudyForm(p.Verify)),
		page("GET", study+"/report", StudyViewer, p.WithStudy(p.Report)),
		page("GET", study+"/shares", StudyAdmin, people.SharesPage),
		page("POST", study+"/shares", StudyAdmin, pages.Form(people.MakeShare)),
		page("POST", study+"/shares/{share}/revoke", StudyAdmin, pages.Form(people.RevokeShare)),
		page("GET", study+"/import", StudyOperator, p.WithStudy(p.ImportPage)),
		page("POST", study+"/import", StudyOperator, p.StudyForm(p.Import)),
		page("GET", study+"/undo", StudyOperator, p.WithStudy(p.UndoManyPage)),
		page("POST", study+"/undo", StudyOperator, p.StudyForm(p.UndoMany)),

		page("POST", study+"/simulate", StudyOperator, p.StudyForm(p.Simulate)),
		page("POST", study+"/ask", StudyOperator, p.StudyForm(p.Ask)),
		page("GET", study+"/own", StudyOperator, p.WithStudy(p.OwnPage)),
		page("POST", study+"/own", StudyOperator, p.StudyForm(p.AddOwn)),
		page("GET", trial, StudyViewer, p.WithTrial(p.TrialPage)),
		page("POST", trial+"/tell", StudyOperator, p.TrialForm(p.Tell)),
		page("GET", trial+"/sheet", StudyViewer, p.WithTrial(p.PrintSheet)),
		page("POST", trial+"/undo", StudyOperator, p.TrialForm(p.Undo)),
		page("POST", trial+"/close", StudyOperator, p.TrialForm(p.Close)),
		page("POST", trial+"/replicate", StudyOperator, p.TrialForm(p.Replicate)),
		page("GET", trial+"/correct", StudyOperator, p.WithTrial(p.CorrectPage)),
		page("POST", trial+"/correct", StudyOperator, p.TrialForm(p.Correct)),
	}
}

type handler func(http.ResponseWriter, *http.Request) error

// route is one line of the table. Only operations of the API have a name.
type route struct {
	api.Route
	access   Access
	dryRun   Access // who may make the request with ?dry_run=true, which only reads
	anybody  bool   // the answer is the same for everyone: neither credentials nor the database are looked at
	evenAway bool   // callers who were admitted before are admitted while the database is away, too
	shared   bool   // all open pages request it at the same moment: answered a few at a time
}

// page returns a route outside the API.
func page(method, pattern string, access Access, handle handler) route {
	return route{Route: api.Route{Method: method, Pattern: pattern, Operation: api.Operation{Handle: handle}}, access: access, dryRun: access}
}

func (rt route) dryRunBy(access Access) route {
	rt.dryRun, rt.Audience = access, rt.Audience+"; with dry_run, "+access.words
	return rt
}

func (rt route) forAnybody() route      { rt.anybody = true; return rt }
func (rt route) open() route            { rt.StaysOpen = true; return rt }
func (rt route) answeredInTurn() route  { rt.shared = true; return rt }
func (rt route) admitsWhileAway() route { rt.evenAway = true; return rt }

// onlyReads reports whether the request changes nothing, so that its finished answer can still be
// refused.
func (rt route) onlyReads() bool {
	return !rt.StaysOpen && !rt.anybody && (rt.Method == http.MethodGet || rt.Method == http.MethodPost && rt.Name != "" && !rt.Writes)
}

// quotaFrom returns the quota of which a request takes one while it is under way, nil for a request
// that takes nothing from others.
func (rt route) quotaFrom(q *quotas) *quota {
	switch {
	case rt.anybody:
		return nil
	case rt.StaysOpen:
		return q.open
	}
	return q.requests
}

func (rt route) audience(r *http.Request) Access {
	if r.URL.Query().Get("dry_run") == "true" {
		return rt.dryRun
	}
	return rt.access
}
