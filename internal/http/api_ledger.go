package server

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"headroom/internal/study/ledger"
)

type ledgerPage struct {
	Events []ledger.Event `json:"events"`
	Next   *int64         `json:"next"` // ask for ?after=next to go on; null at the end
}

func (s *Server) ledgerRoutes() []route {
	return []route{
		{Method: "GET", Pattern: "/api/v1/studies/{id}/ledger", Access: StudyViewer, Handler: s.ledger, Doc: &operation{
			Summary: "The study's append-only events", Tag: "Ledger", Status: 200, Answer: ledgerPage{}, Query: []queryParameter{
				{"after", "Only events with a higher seq", int64(0)}, {"limit", fmt.Sprintf("At most so many; default and limit %d", maxPage), 0}, atParameter}}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}/events", Access: StudyViewer, Handler: s.events, Stream: true, Doc: &operation{
			Summary: "The events as they are written; resumable by Last-Event-ID", Tag: "Ledger", Status: 200, Answer: "", AnswerType: "text/event-stream", Query: []queryParameter{
				{"after", "Start after this seq; Last-Event-ID, when sent, counts instead", int64(0)}}}},
		{Method: "GET", Pattern: "/studies/{id}/stream", Access: StudyViewer, Handler: s.changes, Stream: true},
	}
}

func (s *Server) ledger(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r.URL)
	if err != nil {
		return err
	}
	after := q.whole("after", 0, maxSeq, 0)
	limit := q.whole("limit", 1, maxPage, maxPage)
	if err := q.err(); err != nil {
		return err
	}
	return s.read(w, r, func(snap *ledger.Snapshot) (any, error) {
		return s.ledgerPage(r, snap, after, limit)
	})
}

func (s *Server) ledgerPage(r *http.Request, snap *ledger.Snapshot, after, limit int64) (ledgerPage, error) {
	limit = min(limit, snap.Version-after) // never past the version that the ETag names
	if limit <= 0 {
		return ledgerPage{Events: []ledger.Event{}}, nil
	}
	events, err := s.studies.Events(r.Context(), chi.URLParam(r, "id"), after, int(limit))
	if err != nil {
		return ledgerPage{}, err
	}
	page := ledgerPage{Events: some(events)}
	if last := after + int64(len(events)); len(events) > 0 && last < snap.Version {
		page.Next = &last
	}
	return page, nil
}
