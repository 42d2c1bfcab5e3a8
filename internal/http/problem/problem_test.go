package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// The domain says which field is wrong; a program is told where that stood, too.
func TestFaultsAreToldWithTheirPlace(t *testing.T) {
	t.Parallel()
	faulty := design.Faults{{Field: "points[0].x", Message: "is missing"}, {Message: "is odd"}, {Field: "[1]", Message: "is no row"}}.Err()
	for place, err := range map[string]error{
		"body": faulty, "query": InQuery(faulty), "header": Malformed("header", "points[0].x", "is missing"),
	} {
		told := httptest.NewRecorder()
		p := Of(err)
		Write(told, p)
		var said struct{ Errors []map[string]any }
		must.Do(t, json.Unmarshal(told.Body.Bytes(), &said))
		for i, want := range []string{".points[0].x", "", "[1]"}[:len(said.Errors)] {
			if got := said.Errors[i]["location"]; got != place+want {
				t.Errorf("%q, want %q", got, place+want)
			}
			if value, there := said.Errors[i]["value"]; !there || value != nil { // nothing was sent
				t.Errorf("the value is %v, there: %v", value, there)
			}
		}
		if p.Errors[0].Field != "points[0].x" || len(said.Errors) != len(p.Errors) {
			t.Errorf("pages are told %+v, programs %+v", p.Errors, said.Errors)
		}
	}
	if InQuery(study.ErrNotFound) != study.ErrNotFound {
		t.Error("another error is another one in a query")
	}
}

func TestStatusTable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		study.ErrNotFound: 404, study.ErrConflict: 409, study.ErrStale: 412, study.ErrTooLarge: 413, study.ErrReused: 422, study.ErrUnavailable: 503,
		account.ErrNoCredentials: 401, account.ErrExpired: 401, account.ErrNotFound: 404, account.ErrLastAdmin: 409, account.ErrNameTaken: 409,
		&account.Invalid{Field: "name", Message: "give a name"}: 422, design.NewInvalid("x", "is wrong", 1): 422, &http.MaxBytesError{Limit: 8 << 20}: 413,
		errors.New("anything else"): 500, &study.Damaged{ID: "one", Why: errors.New("event 2: lost")}: 500,
	} {
		if got := Of(err).Status; got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

// TestWhatIsAwayIsNamed: not everything that is to be asked for again is the database's silence.
func TestWhatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	stopping := study.NewService(nil, study.Options{})
	stopping.Stop()
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a silent database":   {fmt.Errorf("%w: silent", study.ErrUnavailable), "The database does not answer."},
		"another server":      {fmt.Errorf("asked: %w", &study.Later{Sentence: "Another server chooses."}), "Another server chooses."},
		"a server that stops": {stopping.VerifyBehind(&ledger.Snapshot{ID: "study", Version: 1}), "The server is stopping."},
	} {
		if p := Of(c.err); p.Status != 503 || p.RetryAfter == 0 || !strings.HasPrefix(p.Detail, c.says+" Please try again") {
			t.Errorf("%s: %d %q", name, p.Status, p.Detail)
		}
	}
}

// TestDamageIsNoMatterOfTime: trying again would never help, and nobody is asked to.
func TestDamageIsNoMatterOfTime(t *testing.T) {
	t.Parallel()
	p := Of(fmt.Errorf("asked: %w", &study.Damaged{ID: "one", Why: errors.New("event 2: lost")}))
	if p.Status != 500 || p.RetryAfter != 0 || !strings.HasPrefix(p.Detail, "The ledger of study one is damaged (event 2: lost).") {
		t.Errorf("%d %q", p.Status, p.Detail)
	}
}
