package api

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// reply is what a write answers, worked out from the study after it.
type reply struct {
	status   int
	location string
	body     any
}

// changing is the operation that reads a Q, changes a study by it and answers with what render makes of the study afterwards.
func changing[Q any](a *API, render func(after *ledger.Snapshot, numbers []int) reply, operation Operation,
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
		return a.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) { return do(r, cmd, given) })
	}
	return operation
}

// write is the way every change of a study takes: it makes the command, lets do carry it out, and answers with what render makes of
// the study afterwards and the trials concerned. With an Idempotency-Key that same answer is stored with the effect.
func (a *API) write(w http.ResponseWriter, r *http.Request, body []byte,
	render func(after *ledger.Snapshot, numbers []int) reply,
	do func(study.Command) (*ledger.Snapshot, []int, error),
) error {
	cmd, err := a.command(r, body)
	if err != nil {
		return err
	}
	return carryOut(w, cmd, render, do)
}

// carryOut lets do carry out a command, and answers.
func carryOut(w http.ResponseWriter, cmd study.Command,
	render func(after *ledger.Snapshot, numbers []int) reply,
	do func(study.Command) (*ledger.Snapshot, []int, error),
) error {
	answer := func(after *ledger.Snapshot, numbers []int) (study.Answer, error) {
		out := render(after, numbers)
		text, err := json.Marshal(out.body)
		return study.Answer{Status: out.status, Location: out.location, ETag: etag(after.Version), Body: text}, err
	}
	if cmd.Retry != nil {
		cmd.Retry.Answer = answer
	}
	after, numbers, err := do(cmd)
	if err != nil {
		return err
	}
	out, err := answer(after, numbers)
	if err != nil {
		return err
	}
	WriteAnswer(w, out)
	return nil
}

// command builds how a write enters: who, against which version, and under which retry key. A request that was answered
// before ends here, whatever the study has become since.
func (a *API) command(r *http.Request, body []byte) (study.Command, error) {
	who, _ := request.Caller(r)
	version, err := ifMatch(r)
	if err != nil {
		return study.Command{}, err
	}
	retry, err := a.retry(r, body)
	if err != nil {
		return study.Command{}, err
	}
	return study.Command{By: who.By(), Author: who.Caller(), IfMatch: version, Retry: retry}, nil
}

// retry reads Idempotency-Key; nil when there is none. The error is the first answer if this request had one.
func (a *API) retry(r *http.Request, body []byte) (*study.Retry, error) {
	key, err := idempotencyKey(r.Header)
	if err != nil || key == "" {
		return nil, err
	}
	retry := retryOf(r, key, sha256.Sum256(body))
	return retry, a.Database.Answered(r.Context(), retry)
}

func retryOf(r *http.Request, key string, body [sha256.Size]byte) *study.Retry {
	who, _ := request.Caller(r)
	return &study.Retry{Caller: who.Caller(), Method: r.Method, Path: r.URL.Path, Key: key, Body: body}
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
