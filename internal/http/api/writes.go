package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// reply is what a write answers, worked out from the study after it.
type reply struct {
	location string
	body     any
}

// renders makes an answer of the study afterwards and the trials concerned.
type renders = func(after *ledger.Snapshot, numbers []int) reply

// changing is the operation that reads a Q, changes a study by it and answers with what render
// makes of the study afterwards.
func changing[Q any](a *API, render renders, operation Operation,
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

// write is the way every change of a study takes: it makes the command, lets do carry it out, and
// answers with what render makes of the study afterwards and the trials concerned. A request that
// was carried out before ends here, whatever the study has become since.
func (a *API) write(w http.ResponseWriter, r *http.Request, body []byte, operation Operation, render renders,
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

// answer answers a change: what was carried out before under the same key, with the same answer,
// since the study as it was then says it.
func (a *API) answer(w http.ResponseWriter, r *http.Request, status int, render renders, after *ledger.Snapshot, numbers []int, err error) error {
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

// command builds how a write enters: who, against which version, and under which idempotency key.
func (a *API) command(r *http.Request, body []byte) (study.Command, error) {
	who, _ := request.Caller(r)
	version, err := ifMatch(r)
	if err != nil {
		return study.Command{}, err
	}
	key, err := readKey(r, body)
	if err != nil {
		return study.Command{}, err
	}
	return study.Command{By: who.By(), Author: who.Caller(), IfMatch: version, Key: key}, nil
}

// readKey reads Idempotency-Key, under which what is sent counts once; nil when there is none.
func readKey(r *http.Request, sent []byte) (*study.IdempotencyKey, error) {
	text, err := idempotencyKey(r.Header)
	if err != nil || text == "" {
		return nil, err
	}
	return request.Key(r, text, sent), nil
}

// idempotencyKey returns the key, "" when the header is absent.
func idempotencyKey(h http.Header) (string, error) {
	values, given := h["Idempotency-Key"]
	if !given {
		return "", nil
	}
	visible := func(r rune) bool { return '!' <= r && r <= '~' }
	if len(values) != 1 || values[0] == "" || len(values[0]) > 255 || strings.ContainsFunc(values[0], func(r rune) bool { return !visible(r) }) {
		return "", problem.Malformed("header", "Idempotency-Key", "Idempotency-Key must be one key of 1 to 255 visible ASCII characters.")
	}
	return values[0], nil
}

// ifMatch returns the version that a write insists on, 0 for any.
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

// ownJSON is what writes itself as encoding/json would, only faster.
type ownJSON interface {
	AppendJSON(text []byte) ([]byte, error)
}

// writeJSON answers with value. It is rendered whole before a byte is sent, so that a failure can
// still be told.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := []byte(nil), error(nil)
	if own, ok := value.(ownJSON); ok {
		body, err = own.AppendJSON(nil)
	} else {
		body, err = json.Marshal(value)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// etag is the strong entity tag of a study's version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// unchanged sets the ETag of what is about to be read and, when the caller has it already, answers
// 304.
func unchanged(w http.ResponseWriter, r *http.Request, version int64) bool {
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

// What enters the API where it differs from the domain's own types.

type bulkTellRequest struct {
	Trials []study.NumberedTelling `json:"trials"`
}

type reasonRequest struct {
	Reason string `json:"reason"`
}

type failRequest struct {
	Reason string        `json:"reason"`
	Cause  *ledger.Cause `json:"cause"` // absent: the settings
}

type pointsRequest struct {
	Points []design.Settings `json:"points"`
}

type compareRequest struct {
	Algorithms []design.Algorithm `json:"algorithms"`
}
