package request

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"headroom/internal/http/problem"
	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/study/ledger"
)

// faultsOf returns the status and the locations and messages of what a Query found.
func faultsOf(err error) (status int, faults map[string]string) {
	p := problem.Of(err)
	faults = map[string]string{}
	for _, f := range p.Errors {
		faults[f.Field] = f.Message
	}
	return p.Status, faults
}

func TestQueryParameters(t *testing.T) {
	t.Parallel()
	cases := map[string]map[string]string{ // query → location → part of the message
		"at=3&limit=10&wait=60&dry_run=true&status=partial,completed": {},
		"at=0":                    {"at": "from 1 to"},
		"at=1.5&limit=1001":       {"at": "whole number", "limit": "1000"},
		"at=1&at=2":               {"at": "more than once"},
		"dry_run=1":               {"dry_run": "true or false"},
		"wait=61&status=running":  {"wait": "60", "status": `must be one of suggested, partial, completed`},
		"at=99999999999999999999": {"at": "whole number"},
	}
	for text, want := range cases {
		q := must.Get(ReadQuery(&url.URL{RawQuery: text}))(t)
		readAll(q)
		_, faults := faultsOf(q.Err())
		if len(want) == 0 && q.Err() == nil {
			continue
		}
		if len(faults) != len(want) {
			t.Errorf("%s: %v", text, faults)
		}
		for at, part := range want {
			if !strings.Contains(faults[at], part) {
				t.Errorf("%s: %s says %q, not %q", text, at, faults[at], part)
			}
		}
	}
}

// TestAParameterThatIsNotThere is answered with those that are.
func TestAParameterThatIsNotThere(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{"none can be given here": nil, "possible here: at": {"at"}, "possible here: after, at": {"after", "at"}} {
		q := must.Get(ReadQuery(&url.URL{RawQuery: "foo=1"}))(t)
		q.Only(names)
		if _, faults := faultsOf(q.Err()); !strings.HasSuffix(faults["foo"], want) {
			t.Errorf("it says %q, not %q", faults["foo"], want)
		}
	}
}

// readAll reads every kind of parameter.
func readAll(q *Query) (at, limit, wait int64, dry bool, statuses []ledger.Status) {
	return q.Int("at", 1, MaxSeq, 0), q.Int("limit", 1, 1000, 1000), q.Int("wait", 0, 60, 0), q.Bool("dry_run"),
		ListOf(q, "status", ledger.StatusSuggested, ledger.StatusPartial, ledger.StatusCompleted)
}

// TestOneOf: a word of a few, said once, is one of them.
func TestOneOf(t *testing.T) {
	for _, test := range []struct {
		text string
		good bool
	}{{"", true}, {"decimal=comma", true}, {"decimal=,", false}, {"decimal=", false}, {"decimal=comma,point", false}, {"decimal=comma&decimal=comma", false}} {
		q := must.Get(ReadQuery(&url.URL{RawQuery: test.text}))(t)
		if OneOf(q, "decimal", "point", "comma"); (q.Err() == nil) != test.good {
			t.Errorf("%q: %v", test.text, q.Err())
		}
	}
}

// TestAmong: words of a few, said at all, are some of them; nothing said is none, which stands for any.
func TestAmong(t *testing.T) {
	for text, good := range map[string]bool{"": true, "status=failed": true, "status=failed,partial&status=failed": true, "status=": false, "status=,": false, "status=failed,": false, "status=lost": false} {
		q := must.Get(ReadQuery(&url.URL{RawQuery: text}))(t)
		if ListOf(q, "status", ledger.StatusPartial, ledger.StatusFailed); (q.Err() == nil) != good {
			t.Errorf("%q: %v", text, q.Err())
		}
	}
}

func FuzzQuery(plain *testing.F) {
	f := mutation.Of(plain)
	f.Add("at=3&limit=10")
	f.Add("at=%zz;&status=,,partial&dry_run=TRUE&wait=-0")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ReadQuery(&url.URL{RawQuery: text})
		if err != nil {
			if status, _ := faultsOf(err); status != http.StatusBadRequest {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		at, limit, wait, _, statuses := readAll(q)
		if at < 0 || at > MaxSeq || limit < 1 || limit > 1000 || wait < 0 || wait > 60 {
			t.Fatalf("%q: at %d, limit %d, wait %d", text, at, limit, wait)
		}
		if status, _ := faultsOf(q.Err()); q.Err() != nil && status != http.StatusUnprocessableEntity {
			t.Fatalf("%q: %v", text, q.Err())
		}
		if q.Err() == nil && len(statuses) > 0 && !strings.Contains(text, "status") && !strings.Contains(text, "%") {
			t.Fatalf("%q: statuses %v from nothing", text, statuses)
		}
	})
}

// TestTheLongestQueryIsReadInLittleMore: a query as long as a header may be takes little more than
// its bytes.
func TestTheLongestQueryIsReadInLittleMore(t *testing.T) {
	const longest = 64 << 10 // headers, in the program
	var names strings.Builder
	for i := 0; names.Len() < longest-8; i++ {
		fmt.Fprintf(&names, "%x&", i)
	}
	for shape, text := range map[string]string{
		"many names":    names.String(),
		"one name":      strings.Repeat("a&", longest/2),
		"empty":         strings.Repeat("&", longest),
		"many statuses": "status=" + strings.Repeat("a,", longest/2-4),
		"escapes":       "at=" + strings.Repeat("%31", longest/3-1),
	} {
		allocated := memorytest.Allocated(func() {
			if q, err := ReadQuery(&url.URL{RawQuery: text}); err == nil {
				readAll(q)
				_ = q.Err()
			}
		})
		t.Logf("%s: %.1f times its size", shape, float64(allocated)/float64(len(text)))
		if allocated > 64*len(text) {
			t.Errorf("%s: %d bytes took %d", shape, len(text), allocated)
		}
	}
}
