// Package request reads what all requests have in common: who is asking, which study and trial the
// path names, and the query.
package request

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
)

// MaxBody is the size in bytes of the largest body.
const MaxBody = 8 << 20

// MaxSeq is an upper bound of ledger sequence numbers that every reader of JSON represents exactly.
const MaxSeq = 1 << 53

type contextKey struct{}

// WithCaller returns the request with its caller's identity.
func WithCaller(r *http.Request, who account.Identity) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), contextKey{}, who))
}

// Caller returns who is asking; ok is false for a stranger on a public route.
func Caller(r *http.Request) (who account.Identity, ok bool) {
	who, ok = r.Context().Value(contextKey{}).(account.Identity)
	return who, ok
}

// Studies returns the studies that the caller may know of: nil for all, else the one that the
// caller is limited to.
func Studies(r *http.Request) []string {
	if who, _ := Caller(r); who.StudyID != "" {
		return []string{who.StudyID}
	}
	return nil
}

// Key returns the idempotency key of a request, whose text is given. Its hash covers sent, the part
// of the body that has been read.
func Key(r *http.Request, text string, sent []byte) *study.IdempotencyKey {
	who, _ := Caller(r)
	key := &study.IdempotencyKey{Caller: who.Caller(), Request: r.Method + " " + r.URL.Path, Key: text, Body: sha256.New()}
	key.Body.Write(sent)
	return key
}

// StudyID returns the id of the study in the path.
func StudyID(r *http.Request) string { return chi.URLParam(r, "id") }

// At returns the ledger event after which the caller wants to see the study, 0 for the present.
func At(r *http.Request) (int64, error) {
	return Parse(r, func(q *Query) int64 { return q.Int("at", 1, MaxSeq, 0) })
}

// Seen returns the latest ledger event that the caller knows of, 0 if the store must be asked how
// far the study is.
func Seen(r *http.Request) (int64, error) {
	return Parse(r, func(q *Query) int64 { return q.Int("seen", 0, MaxSeq, 0) })
}

// TrialNumber returns the number of the trial in the path, or problem.NoSuchThing.
func TrialNumber(r *http.Request) (int, error) {
	number, err := strconv.Atoi(chi.URLParam(r, "number"))
	if err != nil || number < 1 || strconv.Itoa(number) != chi.URLParam(r, "number") {
		return 0, problem.NoSuchThing
	}
	return number, nil
}

// Query reads query parameters and collects their faults.
type Query struct {
	values url.Values
	faults design.Faults
}

// ReadQuery parses the query string of u.
func ReadQuery(u *url.URL) (*Query, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, problem.Malformed("query", "", "The query string cannot be read: "+err.Error()+".")
	}
	return QueryOf(values), nil
}

// Parse returns what read makes of the query of a request.
func Parse[T any](r *http.Request, read func(*Query) T) (asked T, err error) {
	q, err := ReadQuery(r.URL)
	if err != nil {
		return asked, err
	}
	asked = read(q)
	return asked, q.Err()
}

// QueryOf returns a Query of parsed values.
func QueryOf(values url.Values) *Query { return &Query{values: values} }

func (q *Query) fault(name, message string, value any) {
	q.faults.Add(name, value, "%s", message)
}

// Err returns a problem when any parameter was faulty.
func (q *Query) Err() error {
	if err := q.faults.Err(); err != nil {
		return problem.InQuery(err)
	}
	return nil
}

// One returns a parameter that may be given at most once.
func (q *Query) One(name string) (string, bool) {
	values := q.values[name]
	if len(values) > 1 {
		q.fault(name, "is given more than once", nil)
	}
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

// Int returns a whole number from low to high, or absent if it is not given.
func (q *Query) Int(name string, low, high, absent int64) int64 {
	text, given := q.One(name)
	if !given {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		q.fault(name, fmt.Sprintf("must be a whole number from %d to %d", low, high), text)
		return absent
	}
	return n
}

// Mark returns a position in the list of studies, nil if it is not given.
func (q *Query) Mark(name string) *study.Mark {
	text, given := q.One(name)
	if !given {
		return nil
	}
	mark, err := study.ParseMark(text)
	if err != nil {
		q.fault(name, "must be the next of an earlier page", text)
	}
	return &mark
}

// Only adds a fault for each parameter that is not among names.
func (q *Query) Only(names []string) {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			q.fault(name, "there is no such parameter; none can be given here", nil)
		default:
			q.fault(name, "there is no such parameter; possible here: "+strings.Join(names, ", "), nil)
		}
	}
}

// maxTextLength is the largest number of characters of a text in a query.
const maxTextLength = 200

// Text returns a text that somebody typed, "" if it is not given.
func (q *Query) Text(name string) string {
	text, _ := q.One(name)
	if wrong := design.CheckText(text); wrong != "" {
		q.fault(name, wrong, nil)
	} else if n := utf8.RuneCountInString(text); n > maxTextLength {
		q.fault(name, fmt.Sprintf("has %d characters; at most %d are allowed", n, maxTextLength), nil)
	}
	return text
}

// Bool returns a parameter that is true or false, false if it is not given.
func (q *Query) Bool(name string) bool {
	text, given := q.One(name)
	if given && text != "true" && text != "false" {
		q.fault(name, "must be true or false", text)
	}
	return text == "true"
}

// OneOf returns a word, which must be one of allowed, "" if it is not given.
func OneOf[T ~string](q *Query, name string, allowed ...T) T {
	text, given := q.One(name)
	if given && !slices.Contains(allowed, T(text)) {
		q.fault(name, mustBeOneOf(allowed), text)
	}
	return T(text)
}

func mustBeOneOf[T ~string](allowed []T) string {
	return "must be one of " + strings.Join(lists.Map(allowed, func(one T) string { return string(one) }), ", ")
}

// ListOf returns words, each of which must be one of allowed, from one parameter with commas or
// from several. It is nil only if the parameter is not given, which stands for any.
func ListOf[T ~string](q *Query, name string, allowed ...T) []T {
	if q.values[name] == nil {
		return nil
	}
	var words []T
	for word := range strings.SplitSeq(strings.Join(q.values[name], ","), ",") {
		if q.faults.Full() {
			break
		}
		if !slices.Contains(allowed, T(word)) {
			q.fault(name, mustBeOneOf(allowed), word)
		}
		words = append(words, T(word))
	}
	return words
}
