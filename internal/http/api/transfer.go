package api

import (
	"bytes"
	"fmt"
	"net/http"

	"headroom/internal/http/request"
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

// download names the file that a browser saves an answer as.
func download(w http.ResponseWriter, snap *ledger.Snapshot, mediaType, extension string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="study-%s.%s"`, snap.ID, extension))
}

// ExportCSV is GET …/export.csv.
func (a *API) ExportCSV() Operation {
	return Operation{
		Handle: a.exportCSV, Summary: "The trials as a table that can be imported again", Tag: "In and out", Query: atOnly, Status: 200, Answer: "", AnswerType: "text/csv",
	}
}

func (a *API) exportCSV(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.snapshot(r)
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

// ExportBundle is GET …/export.json.
func (a *API) ExportBundle() Operation {
	return Operation{
		Handle: a.exportBundle, Summary: "The study with its ledger", Tag: "In and out", Query: atOnly, Status: 200, Answer: ledger.Bundle{},
	}
}

func (a *API) exportBundle(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.snapshot(r)
	if err != nil || unchanged(w, r, snap.Version) {
		return err
	}
	bundle, err := a.Studies.Export(r.Context(), snap)
	if err != nil {
		return err
	}
	download(w, snap, "application/json", "json")
	return writeJSON(w, http.StatusOK, bundle)
}

// ImportCSV is POST …/import.
func (a *API) ImportCSV() Operation {
	return Operation{
		Handle: a.importCSV, Summary: "Import a table: each row a round, chosen then told; all rows or none", Tag: "In and out", Body: "", BodyType: "text/csv", Status: 200, Answer: importDocument{}, Writes: true,
		Query: []queryParameter{{"dry_run", "Store nothing, say what would be imported", false}, {"ignore_unknown", "Leave out columns that are no parameter and no metric", false}},
	}
}

func (a *API) importCSV(w http.ResponseWriter, r *http.Request) error {
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	options := study.ImportOptions{DryRun: q.Yes("dry_run"), IgnoreUnknown: q.Yes("ignore_unknown")}
	if err := q.Err(); err != nil {
		return err
	}
	body, err := readBody(r, "text/csv")
	if err != nil {
		return err
	}
	id := request.StudyID(r)
	if options.DryRun {
		result, err := a.Studies.ImportCSV(r.Context(), study.Command{}, id, bytes.NewReader(body), options)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, importDocument{result.Rows, some(result.Numbers), result.UnknownColumns, true})
	}
	render := func(_ *ledger.Snapshot, numbers []int) reply {
		return reply{status: http.StatusOK, body: importDocument{Rows: len(numbers), Numbers: some(numbers)}}
	}
	return a.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		result, err := a.Studies.ImportCSV(r.Context(), cmd, id, bytes.NewReader(body), options)
		return result.Snapshot, result.Numbers, err
	})
}

// ImportBundle is POST …/import.
func (a *API) ImportBundle() Operation {
	return Operation{
		Handle: a.importBundle, Summary: "Make a study of an exported one, with the same ledger and hashes", Tag: "In and out", Body: ledger.Bundle{}, Status: 201, Answer: studyDocument{}, Writes: true,
	}
}

func (a *API) importBundle(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(r, &ledger.Bundle{}) // for faults by location; the service reads the bytes that the hashes are of
	if err != nil {
		return err
	}
	return a.write(w, r, body, madeStudy, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := a.Studies.ImportBundle(r.Context(), cmd, bytes.NewReader(body))
		return after, nil, err
	})
}
