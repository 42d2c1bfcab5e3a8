package api

import (
	"fmt"
	"net/http"

	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
)

type ledgerPage struct {
	Events []ledger.Event `json:"events"`
	Next   *int64         `json:"next"` // ask for ?after=next to go on; null at the end
}

// Ledger is GET …/ledger.
func (a *API) Ledger() Operation {
	return Operation{
		Handle: a.ledger, Summary: "The study's append-only events", Tag: "Ledger", Status: 200, Answer: ledgerPage{},
		Query: []queryParameter{{"after", "Only events with a higher seq", int64(0)}, {"limit", fmt.Sprintf("At most so many; default and limit %d", maxPage), 0}, atParameter},
	}
}

func (a *API) ledger(w http.ResponseWriter, r *http.Request) error {
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	after := q.Whole("after", 0, request.MaxSeq, 0)
	limit := q.Whole("limit", 1, maxPage, maxPage)
	if err := q.Err(); err != nil {
		return err
	}
	return a.read(w, r, func(snap *ledger.Snapshot) (any, error) {
		return a.ledgerPage(r, snap, after, limit)
	})
}

func (a *API) ledgerPage(r *http.Request, snap *ledger.Snapshot, after, limit int64) (ledgerPage, error) {
	limit = min(limit, snap.Version-after) // never past the version that the ETag names
	if limit <= 0 {
		return ledgerPage{Events: []ledger.Event{}}, nil
	}
	events, err := a.Studies.Events(r.Context(), request.StudyID(r), after, int(limit))
	if err != nil {
		return ledgerPage{}, err
	}
	page := ledgerPage{Events: some(events)}
	if last := after + int64(len(events)); len(events) > 0 && last < snap.Version {
		page.Next = &last
	}
	return page, nil
}

// Events is GET …/events, which follow answers.
func (a *API) Events(follow func(http.ResponseWriter, *http.Request) error) Operation {
	return Operation{
		Handle: follow, StaysOpen: true, Summary: "The events as they are written; resumable by Last-Event-ID", Tag: "Ledger", Status: 200, Answer: "", AnswerType: "text/event-stream",
		Query: []queryParameter{{"after", "Start after this seq; Last-Event-ID, when sent, counts instead", int64(0)}},
	}
}
