package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// studyDocument is a study as the API shows it.
type studyDocument struct {
	ID string `json:"id"`
	design.Definition
	State     ledger.State `json:"state"`
	Version   int64        `json:"version"`
	Hash      string       `json:"hash"`
	Trials    int          `json:"trials"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

type studyList struct {
	Studies []ledger.Summary `json:"studies"`
	Next    *string          `json:"next"` // ask for ?after=next to go on; null at the end
}

// ofStudies are the operations on studies.
func (a *API) ofStudies() operations {
	return operations{
		"createStudy": changing(a, madeStudy, Operation{
			Summary: "Make a study", Status: 201, Answer: studyDocument{},
		}, func(r *http.Request, cmd study.Command, d design.Definition) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Create(r.Context(), cmd, d)
			return after, nil, err
		}),
		"listStudies": listing(Operation{
			Summary: "List the studies, newest change first",
			Query:   []queryParameter{{"after", "Go on where a page ended: its next", ""}, limitParameter},
		}, func(r *http.Request) (studyList, error) {
			wanted, err := request.Asked(r, func(q *request.Query) study.Listing {
				return study.Listing{Only: request.Studies(r), After: q.Mark("after"), Limit: int(limitIn(q))}
			})
			if err != nil {
				return studyList{}, err
			}
			list, next, err := a.Studies.Summaries(r.Context(), wanted)
			page := studyList{Studies: some(list)}
			if next != nil {
				mark := next.String()
				page.Next = &mark
			}
			return page, err
		}),
		"readStudy": reading(a, Operation{Summary: "Read a study"}, nothing,
			func(_ context.Context, snap *ledger.Snapshot, _ struct{}) (studyDocument, error) {
				return documentOf(snap), nil
			}),
		"editStudy": changing(a, changedStudy, Operation{
			Summary: "Change name, description or state", Answer: studyDocument{},
		}, func(r *http.Request, cmd study.Command, edit ledger.EditedData) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Edit(r.Context(), cmd, request.StudyID(r), edit)
			return after, nil, err
		}),
		"reconfigureStudy": previewing(changing(a, changedStudy, Operation{
			Summary: "Change limits, algorithm, model, bounds or available choices from the next decision on; with dry_run, say what that would change",
			Answer:  oneOf{studyDocument{}, preview{}}, Query: []queryParameter{dryRun},
		}, func(r *http.Request, cmd study.Command, change design.Reconfiguration) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Reconfigure(r.Context(), cmd, request.StudyID(r), change)
			return after, nil, err
		}), func(r *http.Request, change design.Reconfiguration) (study.Impact, error) {
			return a.Studies.PreviewReconfiguration(r.Context(), request.StudyID(r), change)
		}),
	}
}

var (
	atParameter = queryParameter{Name: "at", Meaning: "The study as it was after this ledger event", Type: int64(0)}
	atOnly      = []queryParameter{atParameter}
)

func documentOf(snap *ledger.Snapshot) studyDocument {
	return studyDocument{
		ID: snap.ID, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash,
		Trials: len(snap.Trials), CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt,
	}
}

func madeStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{"/api/v1/studies/" + after.ID, documentOf(after)}
}

func changedStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{body: documentOf(after)}
}

// maxPage is the longest page of a list, and the usual one.
const maxPage = 1000

var limitParameter = queryParameter{"limit", fmt.Sprintf("At most so many; default and limit %d", maxPage), 0}

func limitIn(q *request.Query) int64 { return q.Whole("limit", 1, maxPage, maxPage) }

// reading is the operation that reads one study, at ?at: 304 when the caller has that version, else what answer makes of it and of what was asked in the query.
func reading[Q, T any](a *API, operation Operation, ask func(*request.Query) Q, answer func(ctx context.Context, snap *ledger.Snapshot, asked Q) (T, error)) Operation {
	var none T
	operation.Query, operation.Answer = append(operation.Query, atParameter), none
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		asked, err := request.Asked(r, ask)
		if err != nil {
			return err
		}
		snap, err := a.snapshot(r)
		if err != nil || unchanged(w, r, snap.Version) {
			return err
		}
		out, err := answer(r.Context(), snap, asked)
		if err != nil {
			return problem.InQuery(err)
		}
		return writeJSON(w, http.StatusOK, out)
	}
	return operation
}

// nothing is asked in a query beside ?at.
func nothing(*request.Query) (none struct{}) { return none }

// snapshot is the study in the path, as it was after event ?at when that is given.
func (a *API) snapshot(r *http.Request) (*ledger.Snapshot, error) {
	at, err := request.At(r)
	if err != nil {
		return nil, err
	}
	snap, err := a.Studies.Snapshot(r.Context(), request.StudyID(r), at)
	return snap, problem.InQuery(err)
}

// some makes an empty list of nothing, so that JSON says [].
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
