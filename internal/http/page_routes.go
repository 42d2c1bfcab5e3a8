package server

// pageRoutes are the pages and forms of browsers, and the static files.
func (s *Server) pageRoutes() []route {
	const trial = "/studies/{id}/trials/{number}"
	return []route{
		{Method: "GET", Pattern: "/static/*", Access: Public, Handler: s.staticFile},

		{Method: "GET", Pattern: "/", Access: SignedIn, Handler: s.home},
		{Method: "GET", Pattern: "/sign-in", Access: Public, Handler: s.signInPage},
		{Method: "GET", Pattern: "/sign-in/{secret}", Access: Public, Handler: s.linkPage},
		{Method: "POST", Pattern: "/sign-in/{secret}", Access: Public, Handler: s.useLink},
		{Method: "POST", Pattern: "/sign-out", Access: SignedIn, Handler: s.signOut},
		{Method: "GET", Pattern: "/account", Access: SignedIn, Handler: s.accountPage},
		{Method: "POST", Pattern: "/account/link", Access: SignedIn, Handler: s.linkMyDevice},
		{Method: "POST", Pattern: "/account/sessions/{session}/end", Access: SignedIn, Handler: s.endSession},

		{Method: "GET", Pattern: "/people", Access: Admin, Handler: s.peoplePage},
		{Method: "POST", Pattern: "/people/invites", Access: Admin, Handler: s.invitePerson},
		{Method: "POST", Pattern: "/people/invites/{link}/revoke", Access: Admin, Handler: s.revokeInvite},
		{Method: "POST", Pattern: "/people/tokens", Access: Admin, Handler: s.makeToken},
		{Method: "POST", Pattern: "/people/tokens/{token}/revoke", Access: Admin, Handler: s.revokeTokenOnPage},
		{Method: "POST", Pattern: "/people/{person}/role", Access: Admin, Handler: s.changeRole},
		{Method: "POST", Pattern: "/people/{person}/disable", Access: Admin, Handler: s.setDisabled(true)},
		{Method: "POST", Pattern: "/people/{person}/enable", Access: Admin, Handler: s.setDisabled(false)},
		{Method: "POST", Pattern: "/people/{person}/link", Access: Admin, Handler: s.linkPerson},

		{Method: "GET", Pattern: "/studies", Access: SignedIn, Handler: s.studiesPage},
		{Method: "GET", Pattern: "/studies/new", Access: Operator, Handler: s.newStudyPage},
		{Method: "POST", Pattern: "/studies/new", Access: Operator, Handler: s.makeStudy},

		{Method: "GET", Pattern: "/studies/{id}", Access: StudyViewer, Handler: s.studyPage},
		{Method: "GET", Pattern: "/studies/{id}/parts/{part}", Access: StudyViewer, Handler: s.studyPart},
		{Method: "GET", Pattern: "/studies/{id}/edit", Access: StudyOperator, Handler: s.editPage},
		{Method: "POST", Pattern: "/studies/{id}/edit", Access: StudyOperator, Handler: s.editOnPage},
		{Method: "GET", Pattern: "/studies/{id}/reconfigure", Access: StudyOperator, Handler: s.reconfigurePage},
		{Method: "POST", Pattern: "/studies/{id}/reconfigure", Access: StudyOperator, Handler: s.reconfigureOnPage},
		{Method: "GET", Pattern: "/studies/{id}/board", Access: StudyViewer, Handler: s.boardPage},
		{Method: "POST", Pattern: "/studies/{id}/board/verify", Access: StudyViewer, Handler: s.verifyOnPage},
		{Method: "GET", Pattern: "/studies/{id}/shares", Access: StudyAdmin, Handler: s.sharesPage},
		{Method: "POST", Pattern: "/studies/{id}/shares", Access: StudyAdmin, Handler: s.makeShare},
		{Method: "POST", Pattern: "/studies/{id}/shares/{share}/revoke", Access: StudyAdmin, Handler: s.revokeShareOnPage},
		{Method: "GET", Pattern: "/studies/{id}/import", Access: StudyOperator, Handler: s.importPage},
		{Method: "POST", Pattern: "/studies/{id}/import", Access: StudyOperator, Handler: s.importOnPage},

		{Method: "POST", Pattern: "/studies/{id}/ask", Access: StudyOperator, Handler: s.askOnPage},
		{Method: "GET", Pattern: "/studies/{id}/own", Access: StudyOperator, Handler: s.ownPage},
		{Method: "POST", Pattern: "/studies/{id}/own", Access: StudyOperator, Handler: s.addOwn},
		{Method: "GET", Pattern: trial, Access: StudyViewer, Handler: s.trialPage},
		{Method: "POST", Pattern: trial + "/tell", Access: StudyOperator, Handler: s.tellOnPage},
		{Method: "POST", Pattern: trial + "/close", Access: StudyOperator, Handler: s.closeOnPage},
		{Method: "POST", Pattern: trial + "/replicate", Access: StudyOperator, Handler: s.replicateOnPage},
		{Method: "GET", Pattern: trial + "/correct", Access: StudyOperator, Handler: s.correctPage},
		{Method: "POST", Pattern: trial + "/correct", Access: StudyOperator, Handler: s.correctOnPage},
	}
}
