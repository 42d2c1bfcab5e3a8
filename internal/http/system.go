package server

import (
	"net/http"
)

// systemRoutes are for whoever runs the server.
func (s *Server) systemRoutes() []route {
	return []route{
		{Method: "GET", Pattern: "/healthz", Access: Public, Handler: s.healthy},
		{Method: "GET", Pattern: "/readyz", Access: Public, Handler: s.readyNow},
		{Method: "GET", Pattern: "/metrics", Access: Viewer, Handler: s.figures},
	}
}

// healthy says that the process is up.
func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	return writeText(w, "ok\n")
}

// readyNow says whether the database can be reached and has this program's schema.
func (s *Server) readyNow(w http.ResponseWriter, r *http.Request) error {
	if err := s.db.Ready(r.Context()); err != nil {
		away := newProblem(http.StatusServiceUnavailable, "The database cannot be reached, or has not been migrated.")
		away.retryAfter = 5
		return away
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
