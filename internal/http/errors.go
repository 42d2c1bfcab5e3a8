package http

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
)

// handle is the one place where a handler's error becomes what the caller sees.
func (s *Server) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers with err: problem+json to programs, a page to browsers.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has gone
	}
	p := problem.Of(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("error", err.Error()), slog.String("request", requestID(r)))
	}
	clearRepresentation(w.Header())
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if wantsProblem(r) {
		problem.Write(w, p)
		return
	}
	if err := pages.Problem(w, r, p); err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "error page failed", slog.String("error", err.Error()))
		problem.Write(w, p)
	}
}

// wantsProblem tells programs from browsers: by the address, then by what they accept.
func wantsProblem(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html")
}

// clearRepresentation drops headers that described the answer that did not come about.
func clearRepresentation(h http.Header) {
	for _, name := range []string{"Etag", "Location", "Content-Disposition", "Last-Modified"} {
		h.Del(name)
	}
}
