// Package request reads what all requests have alike: who is asking, which study and trial the path
// names, the query.
package request

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/study"
)

// MaxBody is the largest body, in bytes.
const MaxBody = 8 << 20

// MaxSeq is above every ledger sequence number, and the same number to every reader of JSON.
const MaxSeq = 1 << 53

type contextKey struct{}

// From is the request with who is asking.
func From(r *http.Request, who account.Identity) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), contextKey{}, who))
}

// Caller returns who is asking; ok is false for a stranger on a public route.
func Caller(r *http.Request) (who account.Identity, ok bool) {
	who, ok = r.Context().Value(contextKey{}).(account.Identity)
	return who, ok
}

// Studies are the studies that the caller may know of: nil for all, else the one the caller is
// limited to.
func Studies(r *http.Request) []string {
	if who, _ := Caller(r); who.StudyID != "" {
		return []string{who.StudyID}
	}
	return nil
}

// Key is the key under which a request counts once with what was sent with it, as far as that is
// read.
func Key(r *http.Request, text string, sent []byte) *study.IdempotencyKey {
	who, _ := Caller(r)
	key := &study.IdempotencyKey{Caller: who.Caller(), Request: r.Method + " " + r.URL.Path, Key: text, Body: sha256.New()}
	key.Body.Write(sent)
	return key
}

// StudyID is the study in the path.
func StudyID(r *http.Request) string { return chi.URLParam(r, "id") }

// At is the ledger event after which the caller wants to see the study, 0 for as it is now.
func At(r *http.Request) (int64, error) {
	return Asked(r, func(q *Query) int64 { return q.Whole("at", 1, MaxSeq, 0) })
}

// Seen is the ledger event that the caller has heard of, 0 when it is for the store to say how far
// the study is.
func Seen(r *http.Request) (int64, error) {
	return Asked(r, func(q *Query) int64 { return q.Whole("seen", 0, MaxSeq, 0) })
}

// TrialNumber is the trial in the path; what is no number is no trial.
func TrialNumber(r *http.Request) (int, error) {
	number, err := strconv.Atoi(chi.URLParam(r, "number"))
	if err != nil || number < 1 || strconv.Itoa(number) != chi.URLParam(r, "number") {
		return 0, problem.NoSuchThing
	}
	return number, nil
}
