package server

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// importDocument says what was imported.
type importDocument struct {
	Rows           int      `json:"rows"`
	Numbers        []int    `json:"numbers"`
	UnknownColumns []string `json:"unknown_columns,omitempty"` // only told by a dry run
	DryRun         bool     `json:"dry_run"`
}

func (s *Server) transferRoutes() []route {
	at := []queryParameter{atParameter}
	return []route{
		{Method: "GET", Pattern: "/api/v1/studies/{id}/export.csv", Access: StudyViewer, Handler: s.exportCSV, Doc: &operation{
			Summary: "The trials as a table that can be imported again", Tag: "In and out", Query: at, Status: 200, Answer: "", AnswerType: "text/csv"}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}/export.json", Access: StudyViewer, Handler: s.exportBundle, Doc: &operation{
			Summary: "The study with its ledger", Tag: "In and out", Query: at, Status: 200, Answer: ledger.Bundle{}}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/import", Access: StudyOperator, DryRun: true, Handler: s.importCSV, Doc: &operation{
			Summary: "Import a table: each row a round, chosen then told; all rows or none", Tag: "In and out", Body: "", BodyType: "text/csv", Status: 200, Answer: importDocument{}, Writes: true,
			Query: []queryParameter{{"dry_run", "Store nothing, say what would be imported", false}, {"ignore_unknown", "Leave out columns that are no parameter and no metric", false}}}},
		{Method: "POST", Pattern: "/api/v1/studies/import", Access: Operator, Handler: s.importBundle, Doc: &operation{
			Summary: "Make a study of an exported one, with the same ledger and hashes", Tag: "In and out", Body: ledger.Bundle{}, Status: 201, Answer: studyDocument{}, Writes: true}},
	}
}

// download names the file that a browser saves an answer as.
func download(w http.ResponseWriter, snap *ledger.Snapshot, mediaType, extension string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="study-%s.%s"`, snap.ID, extension))
}

func (s *Server) exportCSV(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.snapshot(r)
	if err != nil || unchanged(w, r, snap.Version) {
		return err
	}
	var table bytes.Buffer
	if err := study.WriteCSV(&table, snap.Definition, snap.Trials); err != nil {
		return err
	}
	download(w, snap, "text/csv; charset=utf-8", "csv")
	_, err = table.WriteTo(w)
	return err
}

func (s *Server) exportBundle(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.snapshot(r)
	if err != nil || unchanged(w, r, snap.Version) {
		return err
	}
	bundle, err := s.studies.Export(r.Context(), snap)
	if err != nil {
		return err
	}
	download(w, snap, "application/json", "json")
	return writeJSON(w, http.StatusOK, bundle)
}

func (s *Server) importCSV(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r.URL)
	if err != nil {
		return err
	}
	options := study.ImportOptions{DryRun: q.yes("dry_run"), IgnoreUnknown: q.yes("ignore_unknown")}
	if err := q.err(); err != nil {
		return err
	}
	body, err := readBody(r, "text/csv")
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	if options.DryRun {
		result, err := s.studies.ImportCSV(r.Context(), study.Command{}, id, bytes.NewReader(body), options)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, importDocument{result.Rows, some(result.Numbers), result.UnknownColumns, true})
	}
	render := func(_ *ledger.Snapshot, numbers []int) reply {
		return reply{status: http.StatusOK, body: importDocument{Rows: len(numbers), Numbers: some(numbers)}}
	}
	return s.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		result, err := s.studies.ImportCSV(r.Context(), cmd, id, bytes.NewReader(body), options)
		return result.Snapshot, result.Numbers, err
	})
}

func (s *Server) importBundle(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(r, &ledger.Bundle{}) // for faults by location; the service reads the bytes that the hashes are of
	if err != nil {
		return err
	}
	return s.write(w, r, body, madeStudy, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.ImportBundle(r.Context(), cmd, bytes.NewReader(body))
		return after, nil, err
	})
}
