// Package api is /api/v1: strict JSON in, the service's answer out, and the OpenAPI document made
// from the same Go types. Package http's table says which route leads to which operation, and who
// may call it.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// Operation is what one route of the API does, and what its OpenAPI document says about it.
type Operation struct {
	Handle  func(http.ResponseWriter, *http.Request) error
	Summary string
	Tag     string
	Query   []queryParameter
	// Body is a value of the type that the body is read into, nil if there is none. BodyType is its
	// media type if that is not JSON.
	Body         any
	BodyType     string
	BodyOptional bool
	// Status and Answer are those of success; Status is 200 by default. AnswerType is the media
	// type if that is not JSON.
	Status     int
	Answer     any
	AnswerType string
	// Largest is the largest body, in bytes; 0 stands for request.MaxBody.
	Largest int64
	// Writes: it changes something, and takes Idempotency-Key.
	Writes bool
	// Light: it computes nothing, so that it is enough that its write finds out whether it was
	// carried out before (study.Store's Write); others ask the database first.
	Light bool
	// StaysOpen: its answer may take long to end. It has no write deadline and is not compressed.
	StaysOpen bool
}

// withCheckedQuery is Handle for requests without unknown query parameters, and refuses others:
// with dry_run misspelled, an operation would store what was to be tried; with at misspelled, it
// would show the study as it is now.
func (o Operation) withCheckedQuery(w http.ResponseWriter, r *http.Request) error {
	names := lists.Map(o.Query, func(p queryParameter) string { return p.Name })
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	if q.Only(names); q.Err() != nil {
		return q.Err()
	}
	return o.Handle(w, r)
}

// Route is where an operation is served, and for whom.
type Route struct {
	Name            string // what clients call it
	Method, Pattern string
	Audience        string // in words
	Open            bool   // to everybody, without credentials
	OneStudy        bool   // the pattern names a study, so the caller may insist on its version
	Operation
}

type queryParameter struct {
	Name    string
	Meaning string
	Type    any
}

// requiredText is the type of a query parameter that must be given.
type requiredText string

type oneOf []any

// Database is what the API needs of package db besides the stores: answers kept under idempotency
// keys, and notices of changes.
type Database interface {
	Subscribe(studyID string) (changes <-chan int64, cancel func())
	Once(ctx context.Context, key *study.IdempotencyKey, do func(ctx context.Context) (made []byte, err error)) error
	Before(ctx context.Context, key *study.IdempotencyKey) error
}

// API answers programs. Publish has to be called before it serves.
type API struct {
	Studies       *study.Service
	Accounts      account.Store
	Database      Database
	PublicURL     *url.URL // where people reach the server: links, and the OpenAPI document
	SessionCookie string   // name of the cookie that may replace a token, for the OpenAPI document
	Version       string   // of the program
	// Stopping is closed when the program shuts down, upon which requests that wait for a trial are
	// answered.
	Stopping <-chan struct{}
	// StillAllowed returns nil if the caller of a request that has taken long still has the right
	// to its study.
	StillAllowed func(*http.Request) error
	// Asks and Replays observe the seconds that asks, and answers from the replayed state, take.
	Asks, Replays prometheus.Observer

	document   []byte                 // the OpenAPI document
	document30 func() ([]byte, error) // the same in OpenAPI 3.0
	page       func() ([]byte, error) // the same for people
}

// operations are operations by the names that clients call them.
type operations = map[string]Operation

// reply is the answer to a write, made from the study after it.
type reply struct {
	location string
	body     any
}

// renderer makes the answer to a write from the study after it and the trials that it concerns.
type renderer = func(after *ledger.Snapshot, numbers []int) reply

// changing returns the operation that reads a Q, changes a study by it with do, and answers with
// what render makes of the study afterwards.
func changing[Q any](a *API, render renderer, operation Operation,
	do func(r *http.Request, cmd study.Command, given Q) (*ledger.Snapshot, []int, error),
) Operation {
	var none Q
	operation.Body, operation.Writes = none, true
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		var given Q
		body, err := readJSON(r, &given)
		if err != nil {
			return err
		}
		return a.write(w, r, body, operation, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) { return do(r, cmd, given) })
	}
	return operation
}

// write carries out a change of a study: it makes the command, calls do with it, and answers with
// what render makes of the study afterwards and of the trials that do returns. A request that was
// carried out before ends here, whatever the study has become since.
func (a *API) write(w http.ResponseWriter, r *http.Request, body []byte, operation Operation, render renderer,
	do func(study.Command) (after *ledger.Snapshot, numbers []int, err error),
) error {
	cmd, err := a.command(r, body)
	if err == nil && !operation.Light {
		err = a.Database.Before(r.Context(), cmd.Key)
	}
	var after *ledger.Snapshot
	var numbers []int
	if err == nil {
		after, numbers, err = do(cmd)
	}
	return a.answer(w, r, cmp.Or(operation.Status, http.StatusOK), render, after, numbers, err)
}

// answer answers a change, given what came of it. A request that was carried out before under the
// same key gets the same answer as then, since that is made from the study as it was then.
func (a *API) answer(w http.ResponseWriter, r *http.Request, status int, render renderer, after *ledger.Snapshot, numbers []int, err error) error {
	if first, ok := errors.AsType[*study.AlreadyDone](err); ok {
		numbers = first.Done.Trials
		after, err = a.Studies.Snapshot(r.Context(), first.Done.Study, first.Done.Version)
	}
	if err != nil {
		return err
	}
	out := render(after, numbers)
	if out.location != "" {
		w.Header().Set("Location", out.location)
	}
	w.Header().Set("ETag", etag(after.Version))
	return writeJSON(w, status, out.body)
}

// command returns what a write has besides its data: who writes, the version that the study must
// have, and the idempotency key.
func (a *API) command(r *http.Request, body []byte) (study.Command, error) {
	who, _ := request.Caller(r)
	version, err := ifMatch(r)
	if err != nil {
		return study.Command{}, err
	}
	key, err := idempotencyKey(r, body)
	if err != nil {
		return study.Command{}, err
	}
	return study.Command{By: who.By(), Author: who.Caller(), IfMatch: version, Key: key}, nil
}

// idempotencyKey returns the request's idempotency key, whose hash covers the query, which says what
// a table is for, and sent; nil if the header is absent.
func idempotencyKey(r *http.Request, sent []byte) (*study.IdempotencyKey, error) {
	values, given := r.Header["Idempotency-Key"]
	if !given {
		return nil, nil
	}
	invisible := func(r rune) bool { return r < '!' || r > '~' }
	if len(values) != 1 || values[0] == "" || len(values[0]) > 255 || strings.ContainsFunc(values[0], invisible) {
		return nil, problem.Malformed("header", "Idempotency-Key", "Idempotency-Key must be one key of 1 to 255 visible ASCII characters.")
	}
	return request.Key(r, values[0], append([]byte(r.URL.RawQuery), sent...)), nil
}

// ifMatch returns the version that the study must have, 0 for any.
func ifMatch(r *http.Request) (int64, error) {
	header := strings.TrimSpace(strings.Join(r.Header["If-Match"], ","))
	if header == "" || header == "*" {
		return 0, nil
	}
	tag, opened := strings.CutPrefix(header, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	if !opened || !closed || strings.Contains(tag, `"`) {
		return 0, problem.Malformed("header", "If-Match", `If-Match must be one strong ETag of this study, such as "17".`)
	}
	version, err := strconv.ParseInt(tag, 10, 64)
	if err != nil || version < 1 {
		return 0, study.ErrStale
	}
	return version, nil
}

// writeJSON answers with value, which is encoded before a byte is sent, so that a failure can still
// be reported.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	encode := func() ([]byte, error) { return json.Marshal(value) }
	if long, is := value.(interface{ encode() ([]byte, error) }); is {
		encode = long.encode
	}
	body, err := encode()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// notModified sets the ETag of an answer and, if the caller has that version, answers 304.
func notModified(w http.ResponseWriter, r *http.Request, version int64) bool {
	tag := etag(version)
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	for _, have := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// listing returns the operation that answers with a T that belongs to no version of a study.
func listing[T any](operation Operation, list func(r *http.Request) (T, error)) Operation {
	var none T
	operation.Answer = none
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		out, err := list(r)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, out)
	}
	return operation
}

// reading returns the operation that reads one study, as it was at ?at. It answers 304 if the
// caller has that version, else with what answer makes of it and of the query.
func reading[Q, T any](a *API, operation Operation, ask func(*request.Query) Q, answer func(ctx context.Context, snap *ledger.Snapshot, asked Q) (T, error)) Operation {
	var none T
	operation.Query, operation.Answer = append(operation.Query, atParameter), none
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		asked, err := request.Parse(r, ask)
		if err != nil {
			return err
		}
		snap, err := a.snapshot(r)
		if err != nil || notModified(w, r, snap.Version) {
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

// noQuery is the query parser of operations that read only ?at.
func noQuery(*request.Query) (none struct{}) { return none }

// snapshot returns the study in the path, as it was after event ?at if that is given.
func (a *API) snapshot(r *http.Request) (*ledger.Snapshot, error) {
	at, err := request.At(r)
	if err != nil {
		return nil, err
	}
	snap, err := a.Studies.Snapshot(r.Context(), request.StudyID(r), at)
	return snap, problem.InQuery(err)
}

var (
	atParameter = queryParameter{Name: "at", Meaning: "The study as it was after this ledger event", Type: int64(0)}
	atOnly      = []queryParameter{atParameter}
)

func timed[Q, T any](a *API, answer func(context.Context, *ledger.Snapshot, Q) (T, error)) func(context.Context, *ledger.Snapshot, Q) (T, error) {
	return func(ctx context.Context, snap *ledger.Snapshot, asked Q) (T, error) {
		start := time.Now()
		defer func() { a.Replays.Observe(time.Since(start).Seconds()) }()
		return answer(ctx, snap, asked)
	}
}

// notNil returns list, which JSON writes as [] where it is nil.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

const maxPage = 1000

var limitParameter = queryParameter{"limit", fmt.Sprintf("At most this many; default and limit %d", maxPage), 0}

func readLimit(q *request.Query) int64 { return q.Int("limit", 1, maxPage, maxPage) }

type pageQuery struct{ after, limit int64 }

func readPageQuery(q *request.Query) pageQuery {
	return pageQuery{q.Int("after", 0, request.MaxSeq, 0), readLimit(q)}
}

// asking returns the operation that reads a Q from its body and changes nothing: answer works on
// the study at ?at.
func asking[Q, T any](a *API, operation Operation, answer func(ctx context.Context, snap *ledger.Snapshot, asked Q) (T, error)) Operation {
	var none Q
	var answered T
	operation.Body, operation.Query, operation.Answer = none, atOnly, answered
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		var asked Q
		if _, err := readJSON(r, &asked); err != nil {
			return err
		}
		snap, err := a.snapshot(r)
		if err != nil {
			return err
		}
		out, err := timed(a, answer)(r.Context(), snap, asked)
		if err != nil {
			return err
		}
		w.Header().Set("ETag", etag(snap.Version))
		return writeJSON(w, http.StatusOK, out)
	}
	return operation
}
