package server

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

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
}

func (s *Server) studyRoutes() []route {
	return []route{
		{Method: "POST", Pattern: "/api/v1/studies", Access: Operator, Handler: s.createStudy, Doc: &operation{
			Summary: "Make a study", Tag: "Studies", Body: design.Definition{}, Status: 201, Answer: studyDocument{}, Writes: true}},
		{Method: "GET", Pattern: "/api/v1/studies", Access: SignedIn, Handler: s.listStudies, Doc: &operation{
			Summary: "List the studies, newest change first", Tag: "Studies", Status: 200, Answer: studyList{}}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}", Access: StudyViewer, Handler: s.readStudy, Doc: &operation{
			Summary: "Read a study", Tag: "Studies", Query: []queryParameter{atParameter}, Status: 200, Answer: studyDocument{}}},
		{Method: "PATCH", Pattern: "/api/v1/studies/{id}", Access: StudyOperator, Handler: s.editStudy, Doc: &operation{
			Summary: "Change name, description or state", Tag: "Studies", Body: ledger.EditedData{}, Status: 200, Answer: studyDocument{}, Writes: true}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/reconfigure", Access: StudyOperator, Handler: s.reconfigureStudy, Doc: &operation{
			Summary: "Change limits, algorithm, model, bounds or available choices from the next decision on", Tag: "Studies",
			Body: design.Reconfiguration{}, Status: 200, Answer: studyDocument{}, Writes: true}},
	}
}

var atParameter = queryParameter{Name: "at", Meaning: "The study as it was after this ledger event", Type: int64(0)}

func documentOf(snap *ledger.Snapshot) studyDocument {
	return studyDocument{
		ID: snap.ID, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash,
		Trials: len(snap.Trials), CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt,
	}
}

func (s *Server) createStudy(w http.ResponseWriter, r *http.Request) error {
	var def design.Definition
	body, err := readJSON(r, &def)
	if err != nil {
		return err
	}
	return s.write(w, r, body, madeStudy, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Create(r.Context(), cmd, def)
		return after, nil, err
	})
}

func madeStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{http.StatusCreated, "/api/v1/studies/" + after.ID, documentOf(after)}
}

func (s *Server) listStudies(w http.ResponseWriter, r *http.Request) error {
	list, err := s.visibleStudies(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, studyList{some(list)})
}

// visibleStudies are those that the caller may know of: all, or the one the caller is limited to.
func (s *Server) visibleStudies(r *http.Request) ([]ledger.Summary, error) {
	who, _ := identity(r)
	var ids []string
	if who.StudyID != "" {
		ids = []string{who.StudyID}
	}
	return s.studies.Summaries(r.Context(), ids)
}

func (s *Server) readStudy(w http.ResponseWriter, r *http.Request) error {
	return s.read(w, r, func(snap *ledger.Snapshot) (any, error) { return documentOf(snap), nil })
}

func (s *Server) editStudy(w http.ResponseWriter, r *http.Request) error {
	var edit ledger.EditedData
	body, err := readJSON(r, &edit)
	if err != nil {
		return err
	}
	return s.write(w, r, body, changedStudy, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Edit(r.Context(), cmd, chi.URLParam(r, "id"), edit)
		return after, nil, err
	})
}

func (s *Server) reconfigureStudy(w http.ResponseWriter, r *http.Request) error {
	var change design.Reconfiguration
	body, err := readJSON(r, &change)
	if err != nil {
		return err
	}
	return s.write(w, r, body, changedStudy, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Reconfigure(r.Context(), cmd, chi.URLParam(r, "id"), change)
		return after, nil, err
	})
}

func changedStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{status: http.StatusOK, body: documentOf(after)}
}

// read answers a GET about one study: the study at ?at, 304 when the caller has that version, else what answer makes of it.
func (s *Server) read(w http.ResponseWriter, r *http.Request, answer func(*ledger.Snapshot) (any, error)) error {
	snap, err := s.snapshot(r)
	if err != nil {
		return err
	}
	if unchanged(w, r, snap.Version) {
		return nil
	}
	out, err := answer(snap)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// snapshot is the study in the path, as it was after event ?at when that is given.
func (s *Server) snapshot(r *http.Request) (*ledger.Snapshot, error) {
	q, err := readQuery(r.URL)
	if err != nil {
		return nil, err
	}
	at := q.whole("at", 1, maxSeq, 0)
	if err := q.err(); err != nil {
		return nil, err
	}
	return s.studies.Snapshot(r.Context(), chi.URLParam(r, "id"), at)
}

// maxSeq is above every ledger sequence number, and the same number to every reader of JSON.
const maxSeq = 1 << 53

// some makes an empty list of nothing, so that JSON says [].
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
