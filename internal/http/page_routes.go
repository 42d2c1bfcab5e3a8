package server

// pageRoutes are the pages and forms of browsers, and the static files.
func (s *Server) pageRoutes() []route {
	return nil
}
