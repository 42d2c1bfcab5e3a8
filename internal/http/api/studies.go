package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

type studyDocument struct {
	ID string `json:"id"`
	design.Definition
	// These fields replace those of the definition, which are omitted where they are empty.
	Description      string                  `json:"description"`
	InputConstraints []string                `json:"input_constraints"`
	Candidates       *[]design.Settings      `json:"candidates"` // null for a continuous space
	Constraints      []design.Constraint     `json:"constraints"`
	RecordedMetrics  []design.RecordedMetric `json:"recorded_metrics"`

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

func (a *API) studyOperations() operations {
	return operations{
		"createStudy": changing(a, madeStudy, Operation{
			Summary: "Make a study", Status: 201, Answer: studyDocument{},
		}, func(r *http.Request, cmd study.Command, d design.Definition) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Create(r.Context(), cmd, d)
			return after, nil, err
		}),
		"listStudies": listing(Operation{
			Summary: "List the studies, newest change first",
			Query: []queryParameter{
				{"find", fmt.Sprintf("Only those that have each of these words, in any case, in their name, the first %d bytes of their description, or the names of their parameters and metrics", design.SearchedBytes), ""},
				{"after", "Continue after a page: the next that it answered. A study that changes meanwhile moves to the front, and is on no later page", ""},
				limitParameter,
			},
		}, func(r *http.Request) (studyList, error) {
			wanted, err := request.Parse(r, func(q *request.Query) study.Listing {
				return study.Listing{Only: request.Studies(r), Find: q.Text("find"), After: q.Mark("after"), Limit: int(readLimit(q))}
			})
			if err != nil {
				return studyList{}, err
			}
			list, next, err := a.Studies.Summaries(r.Context(), wanted)
			page := studyList{Studies: notNil(list)}
			if next != nil {
				page.Next = new(next.String())
			}
			return page, err
		}),
		"readStudy": reading(a, Operation{Summary: "Read a study"}, noQuery,
			func(_ context.Context, snap *ledger.Snapshot, _ struct{}) (studyDocument, error) {
				return documentOf(snap), nil
			}),
		"editStudy": changing(a, changedStudy, Operation{
			Summary: "Change name, description or state", Answer: studyDocument{},
		}, func(r *http.Request, cmd study.Command, edit ledger.EditedData) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Edit(r.Context(), cmd, request.StudyID(r), edit)
			return after, nil, err
		}),
		"reconfigureStudy": withDryRun(changing(a, changedStudy, Operation{
			Summary: "Change limits, algorithm, model, bounds or available choices from the next decision on; units, steps, scales and plausible values that are not mentioned stay, but a metric has one unit wherever it is mentioned; with dry_run, say what that would change",
			Answer:  oneOf{studyDocument{}, preview{}}, Query: []queryParameter{dryRun},
		}, func(r *http.Request, cmd study.Command, change design.Reconfiguration) (*ledger.Snapshot, []int, error) {
			after, err := a.Studies.Reconfigure(r.Context(), cmd, request.StudyID(r), change)
			return after, nil, err
		}), func(r *http.Request, change design.Reconfiguration) (study.Impact, error) {
			return a.Studies.PreviewReconfiguration(r.Context(), request.StudyID(r), change)
		}),
	}
}

func documentOf(snap *ledger.Snapshot) studyDocument {
	d := snap.Definition
	var candidates *[]design.Settings
	if len(d.Candidates) > 0 {
		candidates = &d.Candidates
	}
	return studyDocument{
		ID: snap.ID, Definition: d, Description: d.Description, InputConstraints: notNil(d.InputConstraints), Candidates: candidates, Constraints: notNil(d.Constraints),
		RecordedMetrics: notNil(d.RecordedMetrics), State: snap.State, Version: snap.Version, Hash: snap.Hash,
		Trials: len(snap.Trials), CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt,
	}
}

func madeStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{"/api/v1/studies/" + after.ID, documentOf(after)}
}

func changedStudy(after *ledger.Snapshot, _ []int) reply {
	return reply{body: documentOf(after)}
}

type importDocument struct {
	Rows           int      `json:"rows"`
	Numbers        []int    `json:"numbers"`
	UnknownColumns []string `json:"unknown_columns,omitempty"` // left out
	DryRun         bool     `json:"dry_run"`
	// Doubts are unlikely values found by a dry run, which people should look at again.
	Doubts []study.Doubt `json:"doubts,omitempty"`
}

func (a *API) transferOperations() operations {
	return operations{
		"exportCSV": Operation{
			Summary: "The trials as a table that can be imported again", Answer: "", AnswerType: "text/csv",
			Query: []queryParameter{atParameter, {"decimal", "How the table writes decimals, point or comma; with commas, semicolons separate the columns", ""},
				{"status", "Only trials of these states, comma-separated, and of those that wait only those that are not excluded", ""}},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				var statuses []ledger.Status
				decimals, err := request.Parse(r, func(q *request.Query) design.Decimals {
					statuses = readStatuses(q)
					return readDecimals(q)
				})
				if err != nil {
					return err
				}
				return a.exportHandler("text/csv; charset=utf-8", "csv", func(_ context.Context, snap *ledger.Snapshot, w io.Writer) error {
					_, err := w.Write(study.CSV(snap.Definition, toExport(snap.Trials, statuses), snap.Chosen, decimals))
					return err
				})(w, r)
			},
		},
		"exportBundle": Operation{Handle: a.exportHandler("application/json", "json", a.Studies.Export), Summary: "The study with its ledger", Query: atOnly, Answer: ledger.Bundle{}},
		"importCSV": Operation{
			Summary: "Import a table: each row a round, chosen then told; all rows or none", Body: "", BodyType: "text/csv", Answer: importDocument{}, Writes: true,
			Query: []queryParameter{{"dry_run", "Store nothing, and answer what would be imported", false}, {"ignore_unknown", "Ignore columns that are neither a parameter nor a metric", false},
				{"beyond_bounds", "Take in rows that were run with settings beyond the bounds; rows whose status says that they were run, as in an export, are taken in anyway", false},
				{"by_number", "Each row tells what came of the trial whose number it has: readings, other settings than those chosen, a note, a status such as failed, failed by chance or abandoned. " +
					"What stands there already is left out, and the answer names the trials that changed", false},
				{"reason", "Only with by_number: why the table corrects readings that were told before; without it they are faults", ""},
				{"decimal", "How the table writes decimals, point or comma, where its own numbers do not show it", ""}},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				options, err := request.Parse(r, func(q *request.Query) study.ImportOptions {
					options := study.ImportOptions{DryRun: q.Bool("dry_run"), IgnoreUnknown: q.Bool("ignore_unknown"), BeyondBounds: q.Bool("beyond_bounds"), ByNumber: q.Bool("by_number")}
					options.Reason, _ = q.One("reason")
					options.Decimals = readDecimals(q)
					return options
				})
				if err != nil {
					return err
				}
				if err := options.Check(); err != nil {
					return problem.InQuery(err)
				}
				body, err := readBody(r, "text/csv")
				if err != nil {
					return err
				}
				if !utf8.Valid(body) {
					return problem.Malformed("body", "", design.Capitalised(study.NotUTF8)+".")
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
					w.Header().Set("ETag", etag(result.Snapshot.Version))
					return writeJSON(w, http.StatusOK, importDocument{result.Rows, notNil(result.Numbers), result.UnknownColumns, true, result.Doubts})
				}
				render := func(after *ledger.Snapshot, numbers []int) reply {
					return reply{body: importDocument{Rows: len(numbers), Numbers: notNil(numbers), UnknownColumns: study.UnknownColumns(after, body)}}
				}
				return a.write(w, r, body, Operation{}, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
					result, err := a.Studies.ImportCSV(r.Context(), cmd, id, bytes.NewReader(body), options)
					return result.Snapshot, result.Numbers, err
				})
			},
		},
		"importBundle": Operation{Handle: a.importBundle, Largest: study.LargestBundle, Body: ledger.Bundle{}, Status: 201, Answer: studyDocument{}, Writes: true,
			Summary: fmt.Sprintf("Make a study from an exported one, of up to %d MiB, with the same ledger and hashes", study.LargestBundle>>20)},
	}
}

// toExport returns the trials with one of the statuses. Whoever asks for those that wait runs them, and
// a table does not say which are excluded.
func toExport(trials []*ledger.Trial, statuses []ledger.Status) []*ledger.Trial {
	return lists.Pick(withStatus(trials, statuses), func(t *ledger.Trial) (*ledger.Trial, bool) {
		return t, len(statuses) == 0 || !t.Excluded || !t.Waiting()
	})
}

func readDecimals(q *request.Query) design.Decimals {
	return request.OneOf(q, "decimal", design.DecimalPoint, design.DecimalComma)
}

// exportHandler returns a handler that answers with the study as a file, which write writes.
func (a *API) exportHandler(mediaType, extension string, write func(context.Context, *ledger.Snapshot, io.Writer) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		snap, err := a.snapshot(r)
		if err != nil || notModified(w, r, snap.Version) {
			return err
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="study-%s.%s"`, snap.ID, extension))
		return write(r.Context(), snap, w)
	}
}

// transferPatience is how long the next bytes of a bundle may take to arrive.
const transferPatience = 30 * time.Second

// importBundle stores the study while it reads the body. Whether the request repeats another one is
// known at the end of the body only, by its hash.
func (a *API) importBundle(w http.ResponseWriter, r *http.Request) error {
	if err := checkMediaType(r.Header, []string{"application/json"}); err != nil {
		return err
	}
	key, err := idempotencyKey(r, nil)
	if err != nil {
		return err
	}
	who, _ := request.Caller(r)
	cmd, body := study.Command{By: who.By(), Key: key}, io.Reader(&patientReader{r.Body, http.NewResponseController(w)})
	if key != nil {
		body = io.TeeReader(body, key.Body)
	}
	after, err := a.Studies.ImportBundle(r.Context(), cmd, body)
	return a.answer(w, r, http.StatusCreated, madeStudy, after, nil, unreadable(err))
}

// patientReader reads a body for as long as it keeps arriving, beyond the server's own time limits.
type patientReader struct {
	body    io.Reader
	control *http.ResponseController
}

func (p *patientReader) Read(into []byte) (int, error) {
	now := time.Now()
	_ = p.control.SetReadDeadline(now.Add(transferPatience)) // where it cannot be set, the server's own holds
	_ = p.control.SetWriteDeadline(now.Add(2 * transferPatience))
	return p.body.Read(into)
}

// unreadable turns the error of a body that is incomplete or not JSON into one that says so.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var malformed *ledger.Malformed
	switch {
	case errors.Is(err, study.ErrUnavailable): // which may wrap io.ErrUnexpectedEOF of the database
	case errors.As(err, &malformed):
		return problem.Malformed("body", malformed.Field, malformed.Error())
	case errors.As(err, &syntax):
		return problem.Malformed("body", "", "The body is not JSON: "+syntaxWords.Replace(syntax.Error())+".")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded):
		return problem.Malformed("body", "", endedEarly)
	}
	return err
}

type historyDocument struct {
	Rounds []study.HistoryRow `json:"rounds"`
}

// encode is json.Marshal on all processors: the rows of a long study take longer to be written than
// to be worked out.
func (d historyDocument) encode() ([]byte, error) {
	parts := make([][]byte, len(d.Rounds))
	err := cores.Stretches(len(d.Rounds), func(from, to int) error {
		rows, err := json.Marshal(d.Rounds[from:to])
		parts[from] = bytes.TrimSuffix(bytes.TrimPrefix(rows, []byte("[")), []byte("]"))
		return err
	})
	parts = slices.DeleteFunc(parts, func(part []byte) bool { return part == nil })
	return slices.Concat([]byte(`{"rounds":[`), bytes.Join(parts, []byte(",")), []byte("]}")), err
}

type choiceList struct {
	Choices []study.Choice `json:"choices"`
}

func (a *API) readoutOperations() operations {
	return operations{
		"readState": reading(a, Operation{
			Summary: "What the next decision would use, recommendation and violation so far",
			Query:   []queryParameter{{"without_gain", "Leave out gain and stop, which are then null: they take longer than all the rest", false}},
		}, func(q *request.Query) (without bool) { return q.Bool("without_gain") },
			timed(a, func(ctx context.Context, snap *ledger.Snapshot, without bool) (state stateDocument, err error) {
				if state.Readout, err = a.Studies.StateOf(ctx, snap); err == nil && !without {
					state.Gain, err = a.Studies.GainOf(ctx, snap)
					state.Stop = study.StopNow(state.Gain, *snap.Definition.Stop)
				}
				return state, err
			})),
		"history": reading(a, Operation{Summary: "One row a round"}, noQuery,
			timed(a, func(ctx context.Context, snap *ledger.Snapshot, _ struct{}) (historyDocument, error) {
				rows, err := a.Studies.HistoryOf(ctx, snap)
				return historyDocument{notNil(rows)}, err
			})),
		"price": reading(a, Operation{
			Summary: "What moving a limit would be worth: the best expected value by its threshold",
			Query:   []queryParameter{{"constraint", "Which limit, by its name", requiredText("")}},
		}, func(q *request.Query) string {
			name, _ := q.One("constraint")
			return name
		}, timed(a, a.Studies.PriceOf)),
		"posterior": asking(a, Operation{Summary: "What the model believes at some points"},
			func(ctx context.Context, snap *ledger.Snapshot, asked pointsRequest) (study.Posterior, error) {
				return a.Studies.PosteriorAt(ctx, snap, asked.Points)
			}),
		"acquisition": asking(a, Operation{Summary: "What the next ask would maximise", BodyOptional: true}, a.Studies.AcquisitionAt),
		"compare": asking(a, Operation{Summary: "What other algorithms would choose on this same history"},
			func(ctx context.Context, snap *ledger.Snapshot, asked compareRequest) (choiceList, error) {
				choices, err := a.Studies.Compare(ctx, snap, asked.Algorithms)
				return choiceList{notNil(choices)}, err
			}),
		"verify": asking(a, Operation{Summary: "Replay every decision and check the ledger's hashes", BodyOptional: true},
			func(ctx context.Context, snap *ledger.Snapshot, _ struct{}) (study.Verification, error) {
				return a.Studies.Verify(ctx, snap)
			}),
	}
}

func (a *API) ledgerOperations(events func(http.ResponseWriter, *http.Request) error) operations {
	return operations{
		"ledger": reading(a, Operation{
			Summary: "The study's append-only events",
			Query:   []queryParameter{{"after", "Only events with a higher seq", int64(0)}, limitParameter},
		}, readPageQuery, func(ctx context.Context, snap *ledger.Snapshot, asked pageQuery) (ledgerPage, error) {
			limit := min(asked.limit, snap.Version-asked.after) // never past the version that the ETag names
			if limit <= 0 {
				return ledgerPage{Events: []ledger.Event{}}, nil
			}
			events, err := a.Studies.EventsWithin(ctx, snap.ID, asked.after, int(limit))
			page := ledgerPage{Events: notNil(events)}
			if last := asked.after + int64(len(events)); len(events) > 0 && last < snap.Version {
				page.Next = &last
			}
			return page, err
		}),
		"events": Operation{
			Handle: events, StaysOpen: true, Summary: "The events as they are written; resumable by Last-Event-ID", Answer: "", AnswerType: "text/event-stream",
			Query: []queryParameter{{"after", "Start after this seq, 0 for all; a Last-Event-ID is used instead. Refused if the study has no such event, as after an older backup was restored", int64(0)}},
		},
	}
}

// stateDocument is the replayed state, with what could still be gained.
type stateDocument struct {
	study.Readout
	Gain *optimizer.Gain      `json:"gain"`
	Stop *study.StopStatement `json:"stop"` // null where nothing is recommended
}

type ledgerPage struct {
	Events []ledger.Event `json:"events"`
	Next   *int64         `json:"next"` // ask for ?after=next to go on; null at the end
}
