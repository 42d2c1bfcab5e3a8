package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// importDocument says what was imported.
type importDocument struct {
	Rows           int      `json:"rows"`
	Numbers        []int    `json:"numbers"`
	UnknownColumns []string `json:"unknown_columns,omitempty"` // left out
	DryRun         bool     `json:"dry_run"`
	// Doubts are values of a dry run that people should look at again; nothing is refused for them.
	Doubts []study.Doubt `json:"doubts,omitempty"`
}

// ofTransfers are those that take studies in and give them out.
func (a *API) ofTransfers() operations {
	return operations{
		"exportCSV": Operation{
			Summary: "The trials as a table that can be imported again", Query: atOnly, Answer: "", AnswerType: "text/csv",
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				snap, err := a.snapshot(r)
				if err != nil || unchanged(w, r, snap.Version) {
					return err
				}
				var table bytes.Buffer
				if err := study.WriteCSV(&table, snap.Definition, snap.Trials, snap.Chosen); err != nil {
					return err
				}
				download(w, snap, "text/csv; charset=utf-8", "csv")
				_, err = table.WriteTo(w)
				return err
			},
		},
		"exportBundle": Operation{
			Summary: "The study with its ledger", Query: atOnly, Answer: ledger.Bundle{},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				snap, err := a.snapshot(r)
				if err != nil || unchanged(w, r, snap.Version) {
					return err
				}
				download(w, snap, "application/json", "json")
				out := &patientWriter{w: w, control: http.NewResponseController(w)}
				err = a.Studies.Export(r.Context(), snap, out)
				if err != nil && out.begun {
					panic(http.ErrAbortHandler) // too late to say so: break the connection
				}
				return err
			},
		},
		"importCSV": Operation{
			Summary: "Import a table: each row a round, chosen then told; all rows or none", Body: "", BodyType: "text/csv", Answer: importDocument{}, Writes: true,
			Query: []queryParameter{{"dry_run", "Store nothing, say what would be imported", false}, {"ignore_unknown", "Leave out columns that are no parameter and no metric", false},
				{"beyond_bounds", "Take in rows that were run with settings beyond the bounds; rows whose status says that they were run, as in an export, are taken in anyway", false},
				{"decimal", "How the table writes decimals, point or comma, where its own numbers do not show it", ""}},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				options, err := request.Asked(r, func(q *request.Query) study.ImportOptions {
					options := study.ImportOptions{DryRun: q.Yes("dry_run"), IgnoreUnknown: q.Yes("ignore_unknown"), BeyondBounds: q.Yes("beyond_bounds")}
					options.Decimals = append(request.Among(q, "decimal", design.DecimalPoint, design.DecimalComma), "")[0]
					return options
				})
				if err != nil {
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
					for i := range result.Doubts {
						result.Doubts[i].Field = "body." + result.Doubts[i].Field
					}
					return writeJSON(w, http.StatusOK, importDocument{result.Rows, some(result.Numbers), result.UnknownColumns, true, result.Doubts})
				}
				render := func(after *ledger.Snapshot, numbers []int) reply {
					return reply{body: importDocument{Rows: len(numbers), Numbers: some(numbers), UnknownColumns: study.UnknownColumns(after, body)}}
				}
				return a.write(w, r, body, http.StatusOK, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
					result, err := a.Studies.ImportCSV(r.Context(), cmd, id, bytes.NewReader(body), options)
					return result.Snapshot, result.Numbers, err
				})
			},
		},
		"importBundle": Operation{Handle: a.importBundle, Largest: study.LargestBundle, Body: ledger.Bundle{}, Status: 201, Answer: studyDocument{}, Writes: true,
			Summary: fmt.Sprintf("Make a study of an exported one, of up to %d MiB, with the same ledger and hashes", study.LargestBundle>>20)},
	}
}

// download names the file that a browser saves an answer as.
func download(w http.ResponseWriter, snap *ledger.Snapshot, mediaType, extension string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="study-%s.%s"`, snap.ID, extension))
}

// patientWriter writes an answer for as long as somebody takes it, beyond the server's own time limit.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
	begun   bool
}

func (p *patientWriter) Write(text []byte) (int, error) {
	p.begun = true
	_ = p.control.SetWriteDeadline(time.Now().Add(transferPatience)) // who cannot set it keeps the server's own
	return p.w.Write(text)
}

// transferPatience is how long one side of a transfer may keep the other waiting for the next bytes.
const transferPatience = 30 * time.Second

// importBundle reads the body while it is stored. What it is a repetition of is only known at its end, by its sum.
func (a *API) importBundle(w http.ResponseWriter, r *http.Request) error {
	if err := checkMediaType(r.Header, []string{"application/json"}); err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	who, _ := request.Caller(r)
	cmd, body := study.Command{By: who.By()}, io.Reader(&patientReader{r.Body, http.NewResponseController(w)})
	if key != "" {
		cmd.Retry = retryOf(r, key)
		body = io.TeeReader(body, cmd.Retry.Body)
	}
	after, err := a.Studies.ImportBundle(r.Context(), cmd, body)
	return a.answer(w, r, http.StatusCreated, madeStudy, after, nil, unreadable(err))
}

// patientReader reads a body for as long as it keeps coming, beyond the server's own time limits.
type patientReader struct {
	body    io.Reader
	control *http.ResponseController
}

func (p *patientReader) Read(into []byte) (int, error) {
	now := time.Now()
	_ = p.control.SetReadDeadline(now.Add(transferPatience)) // who cannot set it keeps the server's own
	_ = p.control.SetWriteDeadline(now.Add(2 * transferPatience))
	return p.body.Read(into)
}

// unreadable says of a body that is no JSON, or not all of it, that it is malformed.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return problem.Malformed("body", "", "The body is not JSON: "+syntax.Error()+".")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded):
		return problem.Malformed("body", "", "The body ended early or could not be read.")
	}
	return err
}
