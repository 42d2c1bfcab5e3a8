package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/design"
)

// problem is an error as RFC 9457 describes it, and what a person reads on an error page. Handlers return it, or
// any error that asProblem knows.
type problem struct {
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail"`
	Errors     []design.Fault `json:"errors,omitempty"`
	retryAfter int            // seconds; 0 sends no header
}

func (p *problem) Error() string { return p.Detail }

func newProblem(status int, detail string, faults ...design.Fault) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: faults}
}

// malformed is a request that cannot be read at all.
func malformed(location, detail string) *problem {
	return newProblem(http.StatusBadRequest, detail, design.Fault{Location: location, Message: detail})
}

// invalid is a request that can be read and breaks one rule.
func invalid(location, message string, value any) *design.Invalid {
	return &design.Invalid{Faults: []design.Fault{{Location: location, Message: message, Value: value}}}
}

var (
	errNoSuchThing = newProblem(http.StatusNotFound, "There is nothing here, or nothing that you may know of.")
	errForbidden   = newProblem(http.StatusForbidden, "Your role does not allow this.")
	errSignIn      = newProblem(http.StatusUnauthorized, "This needs valid credentials: a signed-in browser, or the header “Authorization: Bearer TOKEN”.")
	errTooMany     = &problem{Title: http.StatusText(http.StatusTooManyRequests), Status: http.StatusTooManyRequests, retryAfter: 60,
		Detail: "Too many attempts from this address. Wait a minute."}
)

// statusOf is the table of the domain's errors.
var statusOf = []struct {
	err    error
	status int
}{
	{study.ErrNotFound, http.StatusNotFound},
	{study.ErrConflict, http.StatusConflict},
	{study.ErrStale, http.StatusPreconditionFailed},
	{study.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{study.ErrReused, http.StatusUnprocessableEntity},
	{account.ErrNoCredentials, http.StatusUnauthorized},
	{account.ErrExpired, http.StatusUnauthorized},
	{account.ErrUsed, http.StatusUnauthorized},
	{account.ErrNotFound, http.StatusNotFound},
	{account.ErrLastAdmin, http.StatusConflict},
	{account.ErrNameTaken, http.StatusConflict},
}

// asProblem says what a caller is told about err. Anything unknown is a 500 whose cause only the log has.
func asProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var faulty *design.Invalid
	if errors.As(err, &faulty) {
		return newProblem(http.StatusUnprocessableEntity, faulty.Error(), faulty.Faults...)
	}
	var faultyAccount *account.Invalid
	if errors.As(err, &faultyAccount) {
		fault := design.Fault{Location: "body." + faultyAccount.Field, Message: faultyAccount.Message}
		return newProblem(http.StatusUnprocessableEntity, faultyAccount.Error(), fault)
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return newProblem(http.StatusRequestEntityTooLarge, "The request is larger than the limit of "+strconv.FormatInt(tooLarge.Limit>>20, 10)+" MiB.")
	}
	for _, known := range statusOf {
		if errors.Is(err, known.err) {
			return newProblem(known.status, err.Error())
		}
	}
	if errors.Is(err, study.ErrUnavailable) {
		away := newProblem(http.StatusServiceUnavailable, "The database cannot be reached. Nothing was stored; please try again.")
		away.retryAfter = 5
		return away
	}
	return newProblem(http.StatusInternalServerError, "Something went wrong here. The log has the details under the request's id.")
}

// handle is the one place where a handler's error becomes what the caller sees.
func (s *Server) handle(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers with err: problem+json to programs, a page to browsers. A stored first answer is no failure.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var first *study.AlreadyAnswered
	if errors.As(err, &first) {
		writeAnswer(w, first.Answer)
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has gone
	}
	p := asProblem(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("error", err.Error()), slog.String("request", requestID(r)))
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if wantsProblem(r) {
		writeProblem(w, p)
		return
	}
	if err := s.errorPage(w, r, p); err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "error page failed", slog.String("error", err.Error()))
		writeProblem(w, p)
	}
}

// wantsProblem tells programs from browsers: by the address, then by what they accept.
func wantsProblem(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html")
}

func writeProblem(w http.ResponseWriter, p *problem) {
	body, err := json.Marshal(p)
	if err != nil { // a fault's value that JSON cannot say; the rest still can be told
		body, _ = json.Marshal(newProblem(p.Status, p.Detail))
	}
	clearRepresentation(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="headroom"`)
	}
	w.WriteHeader(p.Status)
	w.Write(body)
}

// clearRepresentation drops headers that described the answer that did not come about.
func clearRepresentation(h http.Header) {
	for _, name := range []string{"Etag", "Location", "Content-Disposition", "Last-Modified"} {
		h.Del(name)
	}
}
