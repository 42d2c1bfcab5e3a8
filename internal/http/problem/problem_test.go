package problem

import (
	"errors"
	"net/http"
	"testing"

	"headroom/internal/account"
	"headroom/internal/study"
)

func TestStatusTable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		study.ErrNotFound: 404, study.ErrConflict: 409, study.ErrStale: 412, study.ErrTooLarge: 413, study.ErrReused: 422, study.ErrUnavailable: 503,
		account.ErrNoCredentials: 401, account.ErrExpired: 401, account.ErrNotFound: 404, account.ErrLastAdmin: 409, account.ErrNameTaken: 409,
		&account.Invalid{Field: "name", Message: "give a name"}: 422, Invalid("body.x", "is wrong", 1): 422, &http.MaxBytesError{Limit: 8 << 20}: 413,
		errors.New("anything else"): 500,
	} {
		if got := Of(err).Status; got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
