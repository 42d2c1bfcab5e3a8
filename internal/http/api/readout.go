package api

import (
	"context"
	"net/http"

	"headroom/internal/http/request"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

type historyDocument struct {
	Rounds []study.HistoryRow `json:"rounds"`
}

type choiceList struct {
	Choices []study.Choice `json:"choices"`
}

// ofReadouts are those that read the replayed state.
func (a *API) ofReadouts() operations {
	return operations{
		"readState": reading(a, Operation{
			Summary: "What the next decision would use, recommendation and violation so far",
			Query:   []queryParameter{{"without_gain", "Leave out gain and stop, which are null then: drawing functions takes longer than all the rest", false}},
		}, func(q *request.Query) (without bool) { return q.Yes("without_gain") },
			replayed(a, func(ctx context.Context, snap *ledger.Snapshot, without bool) (state stateDocument, err error) {
				if state.Readout, err = a.Studies.StateOf(ctx, snap); err == nil && !without {
					state.Gain, err = a.Studies.GainOf(ctx, snap)
					state.Stop = study.StopNow(state.Gain, *snap.Definition.Stop)
				}
				return state, err
			})),
		"history": reading(a, Operation{Summary: "One row a round"}, nothing,
			replayed(a, func(ctx context.Context, snap *ledger.Snapshot, _ struct{}) (historyDocument, error) {
				rows, err := a.Studies.HistoryOf(ctx, snap)
				return historyDocument{some(rows)}, err
			})),
		"price": reading(a, Operation{
			Summary: "What moving a limit would be worth: the best expected value by its threshold",
			Query:   []queryParameter{{"constraint", "Which limit, by its name", ""}},
		}, func(q *request.Query) string {
			name, _ := q.One("constraint")
			return name
		}, replayed(a, a.Studies.PriceOf)),
		"posterior": asking(a, Operation{Summary: "What the model believes at some points"},
			func(ctx context.Context, snap *ledger.Snapshot, asked pointsRequest) (study.Posterior, error) {
				return a.Studies.PosteriorAt(ctx, snap, asked.Points)
			}),
		"acquisition": asking(a, Operation{Summary: "What the next ask would maximise", BodyOptional: true}, a.Studies.AcquisitionAt),
		"compare": asking(a, Operation{Summary: "What other algorithms would choose on this same history"},
			func(ctx context.Context, snap *ledger.Snapshot, asked compareRequest) (choiceList, error) {
				choices, err := a.Studies.Compare(ctx, snap, asked.Algorithms)
				return choiceList{some(choices)}, err
			}),
		"verify": asking(a, Operation{Summary: "Replay every decision and check the ledger's hashes", BodyOptional: true},
			func(ctx context.Context, snap *ledger.Snapshot, _ struct{}) (study.Verification, error) {
				return a.Studies.Verify(ctx, snap)
			}),
	}
}

// ofLedger are those that read the ledger.
func (a *API) ofLedger(events func(http.ResponseWriter, *http.Request) error) operations {
	return operations{
		"ledger": reading(a, Operation{
			Summary: "The study's append-only events",
			Query:   []queryParameter{{"after", "Only events with a higher seq", int64(0)}, limitParameter},
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
		}),
		"events": Operation{
			Handle: events, StaysOpen: true, Summary: "The events as they are written; resumable by Last-Event-ID", Answer: "", AnswerType: "text/event-stream",
			Query: []queryParameter{{"after", "Start after this seq; Last-Event-ID, when sent, counts instead", int64(0)}},
		},
	}
}

// stateDocument is what is replayed, and what could be gained.
type stateDocument struct {
	study.Readout
	Gain *optimizer.Gain      `json:"gain"`
	Stop *study.StopStatement `json:"stop"` // null where nothing is recommended
}

type ledgerPage struct {
	Events []ledger.Event `json:"events"`
	Next   *int64         `json:"next"` // ask for ?after=next to go on; null at the end
}
