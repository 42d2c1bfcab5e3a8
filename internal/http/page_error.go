package server

import "net/http"

// errorPage shows a problem to a person.
func (s *Server) errorPage(w http.ResponseWriter, r *http.Request, p *problem) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(p.Status)
	_, err := w.Write([]byte(p.Title + "\n\n" + p.Detail + "\n"))
	return err
}
