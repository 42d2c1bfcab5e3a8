package server

func (s *Server) studyRoutes() []route     { return nil }
func (s *Server) trialRoutes() []route     { return nil }
func (s *Server) readoutRoutes() []route   { return nil }
func (s *Server) transferRoutes() []route  { return nil }
func (s *Server) ledgerRoutes() []route    { return nil }
func (s *Server) accountRoutes() []route   { return nil }
func (s *Server) documentRoutes() []route  { return nil }
func (s *Server) openAPI() ([]byte, error) { return nil, nil }
