package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/pglocal"
)

// site is a server on a database of its own, as headroom bench asks it.
type site struct {
	store  *db.DB
	token  string
	client *http.Client

	address string
	stop    func() error
}

// withSite runs do with a server, whose database is gone afterwards.
func withSite(ctx context.Context, do func(s *site) error) (err error) {
	folder, err := os.MkdirTemp("", "headroom-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	database, err := pglocal.Start(ctx, folder)
	if err != nil {
		return err
	}
	defer database.Stop()
	store, err := openStore(ctx, config{dataDir: folder}, database.URL)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Keep(); err != nil {
		return err
	}
	// Answers come as they are, which is how the Python client asks.
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	s := &site{store: store, client: &http.Client{Transport: transport}}
	bench := account.Identity{Kind: account.BySession, Name: "headroom bench", Role: account.Admin}
	want := account.NewToken{Name: bench.Name, Role: account.Admin}
	if _, s.token, err = store.Accounts.CreateToken(ctx, bench, want); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	return errors.Join(do(s), s.stop())
}

// start starts a server with nothing at hand, and returns once it answers.
func (s *site) start(ctx context.Context) error {
	c := config{listen: "127.0.0.1:0"}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	s.address = c.public(listener.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- answer(ctx, c, listener, s.store, s.address) }()
	s.stop = func() error {
		cancel()
		s.client.CloseIdleConnections()
		return <-ended
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return refused(response)
}

// restart replaces the server by one with nothing at hand.
func (s *site) restart(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.start(ctx)
}

// call makes a request, with a body of that type unless it is empty, and reads the answer into
// answer, unless that is nil.
func (s *site) call(ctx context.Context, method, path, kind, body string, answer any) error {
	address := s.address + "/api/v1/studies" + path
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", kind)
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	if err := refused(response); err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
