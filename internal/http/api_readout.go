package server

import (
	"context"
	"net/http"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

type historyDocument struct {
	Rounds []study.HistoryRow `json:"rounds"`
}

type choiceList struct {
	Choices []study.Choice `json:"choices"`
}

func (s *Server) readoutRoutes() []route {
	at := []queryParameter{atParameter}
	return []route{
		{Method: "GET", Pattern: "/api/v1/studies/{id}/state", Access: StudyViewer, Handler: s.readState, Doc: &operation{
			Summary: "What the next decision would use, recommendation and violation so far", Tag: "Replayed state", Query: at, Status: 200, Answer: study.Readout{}}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/posterior", Access: StudyViewer, Handler: s.posterior, Doc: &operation{
			Summary: "What the model believes at some points", Tag: "Replayed state", Query: at, Body: pointsRequest{}, Status: 200, Answer: study.Posterior{}}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/acquisition", Access: StudyViewer, Handler: s.acquisition, Doc: &operation{
			Summary: "What the next ask would maximise", Tag: "Replayed state", Query: at, Body: study.AcquisitionQuery{}, BodyOptional: true, Status: 200, Answer: study.Acquisition{}}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/compare", Access: StudyViewer, Handler: s.compare, Doc: &operation{
			Summary: "What other algorithms would choose on this same history", Tag: "Replayed state", Query: at, Body: compareRequest{}, Status: 200, Answer: choiceList{}}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}/history", Access: StudyViewer, Handler: s.history, Doc: &operation{
			Summary: "One row a round", Tag: "Replayed state", Query: at, Status: 200, Answer: historyDocument{}}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/verify", Access: StudyViewer, Handler: s.verify, Doc: &operation{
			Summary: "Replay every decision and check the ledger's hashes", Tag: "Replayed state", Query: at, Body: struct{}{}, BodyOptional: true, Status: 200, Answer: study.Verification{}}},
	}
}

// replayed times what needs the replayed state.
func replayed[T any](s *Server, r *http.Request, snap *ledger.Snapshot, of func(context.Context, *ledger.Snapshot) (T, error)) (T, error) {
	return timed(s.metrics.replays, func() (T, error) { return of(r.Context(), snap) })
}

func (s *Server) readState(w http.ResponseWriter, r *http.Request) error {
	return s.read(w, r, func(snap *ledger.Snapshot) (any, error) { return replayed(s, r, snap, s.studies.StateOf) })
}

func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	return s.read(w, r, func(snap *ledger.Snapshot) (any, error) {
		rows, err := replayed(s, r, snap, s.studies.HistoryOf)
		return historyDocument{some(rows)}, err
	})
}

// question answers a POST that only reads: its body goes into request, answer works on the study at ?at.
func (s *Server) question(w http.ResponseWriter, r *http.Request, request any, answer func(context.Context, *ledger.Snapshot) (any, error)) error {
	if _, err := readJSON(r, request); err != nil {
		return err
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return err
	}
	out, err := replayed(s, r, snap, answer)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(snap.Version))
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) posterior(w http.ResponseWriter, r *http.Request) error {
	var request pointsRequest
	return s.question(w, r, &request, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return s.studies.PosteriorAt(ctx, snap, request.Points)
	})
}

func (s *Server) acquisition(w http.ResponseWriter, r *http.Request) error {
	var request study.AcquisitionQuery
	return s.question(w, r, &request, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return s.studies.AcquisitionAt(ctx, snap, request)
	})
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	var request compareRequest
	return s.question(w, r, &request, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		choices, err := s.studies.Compare(ctx, snap, request.Algorithms)
		return choiceList{some(choices)}, err
	})
}

func (s *Server) verify(w http.ResponseWriter, r *http.Request) error {
	return s.question(w, r, &struct{}{}, func(ctx context.Context, snap *ledger.Snapshot) (any, error) {
		return s.studies.Verify(ctx, snap)
	})
}
