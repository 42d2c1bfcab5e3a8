package api

import (
	"context"
	"net/http"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

type historyDocument struct {
	Rounds []study.HistoryRow `json:"rounds"`
}

type choiceList struct {
	Choices []study.Choice `json:"choices"`
}

// replayed times what needs the replayed state.
func replayed[T any](a *API, r *http.Request, snap *ledger.Snapshot, of func(context.Context, *ledger.Snapshot) (T, error)) (T, error) {
	start := time.Now()
	defer func() { a.Replays.Observe(time.Since(start).Seconds()) }()
	return of(r.Context(), snap)
}

// ReadState is GET …/state.
func (a *API) ReadState() Operation {
	return Operation{Handle: a.readState, Summary: "What the next decision would use, recommendation and violation so far", Tag: "Replayed state", Query: atOnly, Status: 200, Answer: study.Readout{}}
}

func (a *API) readState(w http.ResponseWriter, r *http.Request) error {
	return a.read(w, r, func(snap *ledger.Snapshot) (any, error) { return replayed(a, r, snap, a.Studies.StateOf) })
}

// History is GET …/history.
func (a *API) History() Operation {
	return Operation{Handle: a.history, Summary: "One row a round", Tag: "Replayed state", Query: atOnly, Status: 200, Answer: historyDocument{}}
}

func (a *API) history(w http.ResponseWriter, r *http.Request) error {
	return a.read(w, r, func(snap *ledger.Snapshot) (any, error) {
		rows, err := replayed(a, r, snap, a.Studies.HistoryOf)
		return historyDocument{some(rows)}, err
	})
}

// question answers a POST that only reads: its body goes into asked, answer works on the study at ?at.
func (a *API) question(w http.ResponseWriter, r *http.Request, asked any, answer func(context.Context, *ledger.Snapshot) (any, error)) error {
	if _, err := readJSON(r, asked); err != nil {
		return err
	}
	snap, err := a.snapshot(r)
	if err != nil {
		return err
	}
	out, err := replayed(a, r, snap, answer)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(snap.Version))
	return writeJSON(w, http.StatusOK, out)
}

// Posterior is POST …/posterior.
func (a *API) Posterior() Operation {
	return Operation{Handle: a.posterior, Summary: "What the model believes at some points", Tag: "Replayed state", Query: atOnly, Body: pointsRequest{}, Status: 200, Answer: study.Posterior{}}
}

func (a *API) posterior(w http.ResponseWriter, r *http.Request) error {
	var asked pointsRequest
	return a.question(w, r, &asked, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return a.Studies.PosteriorAt(ctx, snap, asked.Points)
	})
}

// Acquisition is POST …/acquisition.
func (a *API) Acquisition() Operation {
	return Operation{Handle: a.acquisition, Summary: "What the next ask would maximise", Tag: "Replayed state", Query: atOnly, Body: study.AcquisitionQuery{}, BodyOptional: true, Status: 200, Answer: study.Acquisition{}}
}

func (a *API) acquisition(w http.ResponseWriter, r *http.Request) error {
	var asked study.AcquisitionQuery
	return a.question(w, r, &asked, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return a.Studies.AcquisitionAt(ctx, snap, asked)
	})
}

// Compare is POST …/compare.
func (a *API) Compare() Operation {
	return Operation{Handle: a.compare, Summary: "What other algorithms would choose on this same history", Tag: "Replayed state", Query: atOnly, Body: compareRequest{}, Status: 200, Answer: choiceList{}}
}

func (a *API) compare(w http.ResponseWriter, r *http.Request) error {
	var asked compareRequest
	return a.question(w, r, &asked, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		choices, err := a.Studies.Compare(ctx, snap, asked.Algorithms)
		return choiceList{some(choices)}, err
	})
}

// Verify is POST …/verify.
func (a *API) Verify() Operation {
	return Operation{Handle: a.verify, Summary: "Replay every decision and check the ledger's hashes", Tag: "Replayed state", Query: atOnly, Body: struct{}{}, BodyOptional: true, Status: 200, Answer: study.Verification{}}
}

func (a *API) verify(w http.ResponseWriter, r *http.Request) error {
	return a.question(w, r, &struct{}{}, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return a.Studies.Verify(ctx, snap)
	})
}
