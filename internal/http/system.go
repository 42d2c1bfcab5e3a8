package http

import (
	"errors"
	"net/http"

	"headroom/internal/http/problem"
	"headroom/internal/study"
)

// healthy says that the process is up.
func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	return writeText(w, "ok\n")
}

// ready says whether the database can be reached and has this program's schema.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	err := s.db.Ready(r.Context())
	var behind *study.Behind
	if errors.As(err, &behind) {
		return behind
	}
	if err != nil {
		return problem.Unavailable("The database cannot be reached, or has not been migrated.")
	}
	return writeText(w, "ready\n")
}

func (s *Server) figures(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler().ServeHTTP(w, r)
	return nil
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte(text))
	return err
}
