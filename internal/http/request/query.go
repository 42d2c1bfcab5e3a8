package request

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/http/problem"
	"headroom/internal/study"
	"headroom/internal/study/design"
)

// Query reads query parameters and collects what is wrong with them.
type Query struct {
	values url.Values
	faults design.Faults
}

// ReadQuery parses the query string; one that cannot be parsed is malformed.
func ReadQuery(u *url.URL) (*Query, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, problem.Malformed("query", "", "The query string cannot be read: "+err.Error()+".")
	}
	return QueryOf(values), nil
}

// Asked is what read makes of the query of a request.
func Asked[T any](r *http.Request, read func(*Query) T) (asked T, err error) {
	q, err := ReadQuery(r.URL)
	if err != nil {
		return asked, err
	}
	asked = read(q)
	return asked, q.Err()
}

// QueryOf reads values that were parsed before.
func QueryOf(values url.Values) *Query { return &Query{values: values} }

func (q *Query) fault(name, message string, value any) {
	q.faults.Add(name, value, "%s", message)
}

// Err returns a problem when any parameter was faulty.
func (q *Query) Err() error {
	return problem.InQuery(q.faults.Err())
}

// One returns a parameter that may stand at most once.
func (q *Query) One(name string) (string, bool) {
	values := q.values[name]
	if len(values) > 1 {
		q.fault(name, "stands more than once", nil)
	}
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

// Whole returns a whole number between low and high, absent when it is not given.
func (q *Query) Whole(name string, low, high, absent int64) int64 {
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

// Mark returns a place in the list of studies, nil when it is not given.
func (q *Query) Mark(name string) *study.Mark {
	text, given := q.One(name)
	if !given {
		return nil
	}
	mark, err := study.ParseMark(text)
	if err != nil {
		q.fault(name, "must be the next of a page", text)
	}
	return &mark
}

// Yes returns a parameter that is true or false, false when it is not given.
func (q *Query) Yes(name string) bool {
	text, _ := q.One(name)
	if text != "" && text != "true" && text != "false" {
		q.fault(name, "must be true or false", text)
	}
	return text == "true"
}

// Among returns the words given, in one parameter with commas or in several, each of which must be
// one of allowed.
func Among[T ~string](q *Query, name string, allowed ...T) []T {
	var words []T
	for word := range strings.FieldsFuncSeq(strings.Join(q.values[name], ","), func(r rune) bool { return r == ',' }) {
		if q.faults.Full() {
			break
		}
		if !slices.Contains(allowed, T(word)) {
			q.fault(name, "must be one of "+strings.Trim(fmt.Sprintf("%q", allowed), "[]"), word)
		}
		words = append(words, T(word))
	}
	return words
}
