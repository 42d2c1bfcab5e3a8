// Package problem turns errors into what a caller is told: a problem of RFC 9457, which programs
// read and pages show.
package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/design"
)

// Problem is an error as RFC 9457 describes it. Handlers return it, or any error that Of knows.
type Problem struct {
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail"`
	Errors     []design.Fault `json:"errors,omitempty"` // by field; Write puts place in front of it
	place      string         // where the fields are: body, query or header; "" is the body
	RetryAfter int            `json:"-"` // seconds; 0: no such header
}

func (p *Problem) Error() string { return p.Detail }

// New returns a problem of a status.
func New(status int, detail string, faults ...design.Fault) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: design.Faults(faults).Bounded()}
}

// Malformed returns the problem of a request that cannot be read at all because of a field of its
// body, query or header, which is place.
func Malformed(place, field, detail string) *Problem {
	return ofField(http.StatusBadRequest, place, field, detail)
}

func ofField(status int, place, field, detail string) *Problem {
	p := New(status, detail, design.Fault{Field: field, Message: detail})
	p.place = place
	return p
}

// Unreadable returns the error of a body that could not be read: err, if that says why, as of a
// body that is too large, else a malformed body in these words.
func Unreadable(err error, words string) error {
	var tooLarge *http.MaxBytesError
	var said *Problem
	if errors.As(err, &tooLarge) || errors.As(err, &said) {
		return err
	}
	return Malformed("body", "", words)
}

// InQuery turns a *design.Invalid into a problem whose faults are of the query, not of the body.
func InQuery(err error) error {
	if faulty, ok := errors.AsType[*design.Invalid](err); ok {
		p := Of(faulty)
		p.place = "query"
		return p
	}
	return err
}

// InAddress reports whether the faults are of the query.
func (p *Problem) InAddress() bool { return p.place == "query" }

// Unavailable returns the problem of something that is likely to work again in a moment.
func Unavailable(detail string) *Problem { return later(5, http.StatusServiceUnavailable, detail) }

// TooMuch returns the problem of a caller who has more of something under way than is allowed.
func TooMuch(detail string) *Problem { return later(5, http.StatusTooManyRequests, detail) }

// later returns the problem of a request that may be repeated after so many seconds.
func later(seconds, status int, detail string) *Problem {
	p := New(status, detail)
	p.RetryAfter = seconds
	return p
}

// Problems that any route may answer with.
var (
	NoSuchThing = New(http.StatusNotFound, "There is nothing here, or nothing that you may know of.")
	NoSuchPath  = New(http.StatusNotFound, "The API has nothing at this path; /api/v1/docs lists what there is.")
	OneStudy    = New(http.StatusForbidden, "Your token or link is for one study and nothing else.")
	NoPerson    = New(http.StatusForbidden, "Only people have devices; tokens and share links have none.")
	FullSignIn  = New(http.StatusForbidden, "This needs a sign-in with a link; a PIN, a token or a share link is not enough.")
	DeadLink    = New(http.StatusNotFound, "This link has expired, was revoked, or never existed. Ask whoever sent it for a new one.")
	// AnothersPage answers a page that was made for somebody else. It is reloaded as the caller's.
	AnothersPage = New(http.StatusConflict, "Somebody else has signed in in this browser since. Load the page again.")
	SignIn       = New(http.StatusUnauthorized, "This needs valid credentials: a signed-in browser, or the header “Authorization: Bearer TOKEN”.")
	TooMany      = later(60, http.StatusTooManyRequests, "Too many wrong credentials like this one. Wait a minute; the right one is let in at any time.")
	// keyReused answers a request with the key of another one.
	keyReused = ofField(http.StatusUnprocessableEntity, "header", "Idempotency-Key", "This Idempotency-Key was used for another request; a new request needs a key of its own.")
)

// Needs returns the problem of a caller whose role does not suffice.
func Needs(least, has account.Role) *Problem {
	return New(http.StatusForbidden, "This needs the role "+string(least)+", and yours is "+string(has)+". Ask an admin for it.")
}

var statusOf = []struct {
	err    error
	status int
}{
	{study.ErrNotFound, http.StatusNotFound},
	{study.ErrConflict, http.StatusConflict},
	{study.ErrStale, http.StatusPreconditionFailed},
	{study.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{account.ErrNoCredentials, http.StatusUnauthorized},
	{account.ErrExpired, http.StatusUnauthorized},
	{account.ErrUsed, http.StatusUnauthorized},
	{account.ErrNotFound, http.StatusNotFound},
	{account.ErrLastAdmin, http.StatusConflict},
	{account.ErrNameTaken, http.StatusConflict},
}

// Of returns what a caller is told about err. Any error that is not known here is a 500, whose
// cause only the log has.
func Of(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if faulty, ok := errors.AsType[*design.Invalid](err); ok {
		return New(http.StatusUnprocessableEntity, faulty.Error(), faulty.Faults...)
	}
	if faultyAccount, ok := errors.AsType[*account.Invalid](err); ok {
		return New(http.StatusUnprocessableEntity, faultyAccount.Error(), design.Fault{Field: faultyAccount.Field, Message: faultyAccount.Message})
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return New(http.StatusRequestEntityTooLarge, "The request is larger than the limit of "+strconv.FormatInt(tooLarge.Limit>>20, 10)+" MiB.")
	}
	if errors.Is(err, study.ErrReused) {
		return keyReused
	}
	for _, known := range statusOf {
		if errors.Is(err, known.err) {
			return New(known.status, design.Capitalised(strings.TrimSuffix(err.Error(), "."))+".")
		}
	}
	if damaged, ok := errors.AsType[*study.Damaged](err); ok {
		return New(http.StatusInternalServerError, damaged.Error())
	}
	if behind, ok := errors.AsType[*study.Behind](err); ok {
		return Unavailable(behind.Sentence + " The log says which one it is, and what to do.")
	}
	if errors.Is(err, study.ErrUnavailable) {
		why := "The database does not answer."
		if later, ok := errors.AsType[*study.Later](err); ok {
			why = later.Sentence
		}
		return Unavailable(why + " Please try again; a request with an Idempotency-Key is never carried out twice.")
	}
	return New(http.StatusInternalServerError, "Something went wrong here. The log has the details under the request's id.")
}

// Write answers a program with a problem.
func Write(w http.ResponseWriter, p *Problem) {
	told := *p
	told.Errors = design.Faults(p.Errors).Within(cmp.Or(p.place, "body"))
	body, _ := json.Marshal(told) // a fault has no value that JSON has not: see Bounded
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="headroom"`)
	}
	w.WriteHeader(p.Status)
	w.Write(body)
}
