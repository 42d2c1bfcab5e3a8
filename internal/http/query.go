package server

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
)

// query reads query parameters and collects what is wrong with them.
type query struct {
	values url.Values
	faults []design.Fault
}

// readQuery parses the query string; one that cannot be parsed is malformed.
func readQuery(u *url.URL) (*query, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, malformed("query", "The query string cannot be read: "+err.Error()+".")
	}
	return &query{values: values}, nil
}

func (q *query) fault(name, message string, value any) {
	q.faults = append(q.faults, design.Fault{Location: "query." + name, Message: message, Value: value})
}

// err returns *design.Invalid when any parameter was faulty.
func (q *query) err() error {
	if len(q.faults) > 0 {
		return &design.Invalid{Faults: q.faults}
	}
	return nil
}

// one returns a parameter that may stand at most once.
func (q *query) one(name string) (string, bool) {
	values := q.values[name]
	if len(values) > 1 {
		q.fault(name, "stands more than once", nil)
	}
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

// whole returns a whole number between low and high, absent when it is not given.
func (q *query) whole(name string, low, high, absent int64) int64 {
	text, given := q.one(name)
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

// yes returns a parameter that is true or false, false when it is not given.
func (q *query) yes(name string) bool {
	text, _ := q.one(name)
	if text != "" && text != "true" && text != "false" {
		q.fault(name, "must be true or false", text)
	}
	return text == "true"
}

// among returns the words given, in one parameter with commas or in several, each of which must be one of allowed.
func among[T ~string](q *query, name string, allowed ...T) []T {
	var words []T
	for _, word := range strings.FieldsFunc(strings.Join(q.values[name], ","), func(r rune) bool { return r == ',' }) {
		if !slices.Contains(allowed, T(word)) {
			q.fault(name, fmt.Sprintf("must be one of %v", allowed), word)
		}
		words = append(words, T(word))
	}
	return words
}
