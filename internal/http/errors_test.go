package http

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"headroom/internal/http/problem"
)

// TestPanicsAndUnknownErrorsTellNothing: the log has the cause, the answer has not.
func TestPanicsAndUnknownErrorsTellNothing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Server{Options: Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}, metrics: newMetrics()}
	for name, handler := range map[string]http.Handler{
		"panic": s.recoverPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the password is swordfish") })),
		"error": s.handle(func(http.ResponseWriter, *http.Request) error { return errors.New("the password is swordfish") }),
	} {
		w := httptest.NewRecorder()
		withRequestID(handler).ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/studies", nil))
		told := w.Body.String()
		if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Type") != "application/problem+json" || strings.Contains(told, "swordfish") {
			t.Errorf("%s: %d, told %s", name, w.Code, told)
		}
	}
	if strings.Count(log.String(), "swordfish") < 2 {
		t.Error("the log does not know")
	}
}

// TestAnErrorIsNotPackedAsTheAnswerWas: a part that is kept packed says so before it is refused.
func TestAnErrorIsNotPackedAsTheAnswerWas(t *testing.T) {
	t.Parallel()
	s := &Server{Options: Options{Log: slog.New(slog.DiscardHandler)}}
	w := httptest.NewRecorder()
	s.handle(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Encoding", "gzip")
		return problem.TooMuch("too many bytes")
	}).ServeHTTP(w, httptest.NewRequest("GET", "/studies/one/parts/beliefs", nil))
	if packed := w.Header().Get("Content-Encoding"); packed != "" || !strings.Contains(w.Body.String(), "too many bytes") {
		t.Errorf("packed %q: %s", packed, w.Body)
	}
}

// TestAnAnswerThatFailsHalfWayIsCut: nobody takes half of it for the whole, or reads of an error in
// it; the log has both.
func TestAnAnswerThatFailsHalfWayIsCut(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func() error{
		"error": func() error { return errors.New("the database is gone") },
		"panic": func() error { panic("the database is gone") },
	} {
		var log bytes.Buffer
		s := &Server{Options: Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}, metrics: newMetrics()}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if cause := recover(); cause != http.ErrAbortHandler {
					t.Errorf("%s: the connection is not broken: %v", name, cause)
				}
			}()
			withRequestID(s.observe(s.recoverPanics(s.handle(func(w http.ResponseWriter, _ *http.Request) error {
				w.Write([]byte("half"))
				return fails()
			})))).ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/studies", nil))
		}()
		if w.Body.String() != "half" || !strings.Contains(log.String(), "the database is gone") || !strings.Contains(log.String(), `"bytes":4`) {
			t.Errorf("%s: told %q, logged %s", name, w.Body, &log)
		}
	}
}

// TestWhoGoesBeforeTheAnswerIsNotAnswered: neither the log nor the figures take it for a success.
func TestWhoGoesBeforeTheAnswerIsNotAnswered(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Server{Options: Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}, metrics: newMetrics()}
	ctx, goes := context.WithCancel(t.Context())
	withRequestID(s.observe(s.handle(func(_ http.ResponseWriter, r *http.Request) error {
		goes()
		return r.Context().Err()
	}))).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/api/v1/studies/one/ask", nil))
	if !strings.Contains(log.String(), `"status":499`) {
		t.Errorf("logged %s", &log)
	}
}

// handle answers as every route does where its handler fails.
func (s *Server) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}
