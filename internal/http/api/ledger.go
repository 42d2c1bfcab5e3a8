package api

import (
	"context"
	"net/http"

	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
)

type ledgerPage struct {
	Events []ledger.Event `json:"events"`
	Next   *int64         `json:"next"` // ask for ?after=next to go on; null at the end
}

// pageAsked is a part of a list.
type pageAsked struct{ after, limit int64 }

func pageIn(q *request.Query) pageAsked {
	return pageAsked{q.Whole("after", 0, request.MaxSeq, 0), limitIn(q)}
}

// Ledger is GET …/ledger.
func (a *API) Ledger() Operation {
	return reading(a, Operation{
		Summary: "The study's append-only events", Tag: "Ledger",
		Query: []queryParameter{{"after", "Only events with a higher seq", int64(0)}, limitParameter},
	}, pageIn, func(ctx context.Context, snap *ledger.Snapshot, asked pageAsked) (ledgerPage, error) {
		limit := min(asked.limit, snap.Version-asked.after) // never past the version that the ETag names
		if limit <= 0 {
			return ledgerPage{Events: []ledger.Event{}}, nil
		}
		events, err := a.Studies.Events(ctx, snap.ID, asked.after, int(limit))
		page := ledgerPage{Events: some(events)}
		if last := asked.after + int64(len(events)); len(events) > 0 && last < snap.Version {
			page.Next = &last
		}
		return page, err
	})
}

// Events is GET …/events, which follow answers.
func (a *API) Events(follow func(http.ResponseWriter, *http.Request) error) Operation {
	return Operation{
		Handle: follow, StaysOpen: true, Summary: "The events as they are written; resumable by Last-Event-ID", Tag: "Ledger", Status: 200, Answer: "", AnswerType: "text/event-stream",
		Query: []queryParameter{{"after", "Start after this seq; Last-Event-ID, when sent, counts instead", int64(0)}},
	}
}
