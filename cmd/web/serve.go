package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/pglocal"
	server "headroom/internal/http"
	"headroom/internal/study"
)

// Times that bound a connection. Long answers (event streams, waiting for a trial, large replays)
// lift the write deadline themselves.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 2 * time.Minute
	writeTimeout  = 5 * time.Minute
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 20 * time.Second
	largestHeader = 64 << 10
)

const serveHelp = `It prints a sign-in link for the first admin, good once and for ten minutes, when its output is a terminal; if that goes to a
file, “headroom link” prints one while the server runs, started with the same settings and by the same user.`

func serve(set *flag.FlagSet) action {
	wantsLink := set.Bool("print-link", false, "print a sign-in link even when nobody seems to be looking")
	return configured(func(ctx context.Context, c config, _ []string) error { return serveUntil(ctx, c, *wantsLink) })
}

func serveUntil(ctx context.Context, c config, wantsLink bool) error {
	setLog()
	listener, err := listen(c) // first, so that a busy port is known before anything starts
	if err != nil {
		return err
	}
	defer listener.Close()
	return withDatabase(ctx, c, itsOwn, func(url string) error {
		var store *db.DB
		if err := awaitDatabase(ctx, c, func() (err error) { store, err = openStore(ctx, c, url, db.Up); return err }); err != nil {
			return err
		}
		defer store.Close()
		if err := store.Keep(); err != nil {
			return err
		}
		warnOfFewConnections(ctx, store)
		var first account.Person
		if err := awaitDatabase(ctx, c, func() (err error) { first, err = ensureAdmin(ctx, c, store); return err }); err != nil {
			return err
		}
		public := c.public(listener.Addr().String())
		if wantsLink || onTerminal(os.Stdout) {
			if err := awaitDatabase(ctx, c, func() error { return printLink(ctx, store, first, public) }); err != nil {
				return err
			}
		} else {
			slog.Info("this command prints a sign-in link", "run", os.Args[0]+" link")
		}
		return serveRequests(ctx, c, listener, store, public)
	})
}

// warnOfFewConnections warns that requests will wait for connections if the database takes fewer
// than the server may open.
func warnOfFewConnections(ctx context.Context, store *db.DB) {
	taken, opened, err := store.Room(ctx)
	if err == nil && taken < opened { // an error shows in the next request to the database
		slog.Warn("the database takes fewer connections than this server may open: let it take more (max_connections), or say fewer in HEADROOM_DATABASE_URL (pool_max_conns)", "takes", taken, "opens", opened)
	}
}

// ballast reserves memory that is never touched, so that no page of it becomes real. The garbage
// collector runs when as much has been allocated as is in use: a server of small studies, which
// uses some megabytes, would run it several times during an ask.
func ballast() []byte { return make([]byte, min(mostBallast, debug.SetMemoryLimit(-1)/16)) }

const mostBallast = 64 << 20

// serveRequests serves requests until ctx ends, and then lets those under way finish.
func serveRequests(ctx context.Context, c config, listener net.Listener, store *db.DB, public string) error {
	defer runtime.KeepAlive(ballast())
	studies := study.NewService(store.Studies, study.Options{RowStore: store.KeptRows()})
	defer studies.Stop()
	stopping := make(chan struct{})
	handler, err := server.New(server.Options{
		Studies: studies, Accounts: store.Accounts, Database: store, PublicURL: public,
		TrustedProxies: c.trustedProxies, Version: version, Stopping: stopping,
	})
	if err != nil {
		return err
	}
	site := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: largestHeader, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		TLSConfig: &tls.Config{GetCertificate: c.certificate().current},
	}
	failed := make(chan error, 1)
	go func() {
		if c.tlsCert == "" {
			failed <- site.Serve(listener)
		} else {
			failed <- site.ServeTLS(listener, "", "") // by TLSConfig
		}
	}()
	slog.Info("serving", "url", public, "address", listener.Addr().String(), "version", version)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	slog.Info("stopping: requests under way may finish")
	close(stopping)
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := site.Shutdown(drain); err != nil {
		slog.Warn("some requests did not finish in time", "error", err)
		return site.Close()
	}
	return nil
}

// listen opens the address, and checks the certificate if one was named.
func listen(c config) (net.Listener, error) {
	if c.tlsCert != "" {
		if _, err := c.certificate().current(nil); err != nil {
			return nil, fmt.Errorf("HEADROOM_TLS_CERT, HEADROOM_TLS_KEY: %w", err)
		}
	}
	listener, err := net.Listen("tcp", c.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop it, or set HEADROOM_LISTEN to another address", c.listen)
	}
	if err != nil {
		return nil, fmt.Errorf("HEADROOM_LISTEN: %w", err)
	}
	return listener, nil
}

// setLog logs as text for people on a terminal, and as JSON for programs.
func setLog() {
	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, nil)
	if onTerminal(os.Stdout) {
		handler = slog.NewTextHandler(os.Stderr, nil)
	}
	slog.SetDefault(slog.New(handler))
}

type config struct {
	listen         string
	publicURL      string // "" = derived from the address listened on
	databaseURL    string // "" = a private PostgreSQL in dataDir
	dataDir        string // "" = see folder
	adminToken     string
	serverURL      string // of the server that commands talk to; "" = the one of this machine
	token          string // for that server
	tlsCert        string
	tlsKey         string
	trustedProxies []string
	databaseWait   time.Duration // how long a starting server waits for its database
}

// defaultDatabaseWait is enough for a database that is started together with the server.
const defaultDatabaseWait = "30s"

// fallbackDataDir is used by root when the default folder lies where PostgreSQL's user may not go,
// as under /root.
const fallbackDataDir = "/var/lib/headroom"

func readConfig(env func(string) string) (config, error) {
	c := config{
		listen:      cmp.Or(env("HEADROOM_LISTEN"), "127.0.0.1:8080"),
		publicURL:   strings.TrimRight(env("HEADROOM_PUBLIC_URL"), "/"),
		databaseURL: env("HEADROOM_DATABASE_URL"),
		dataDir:     env("HEADROOM_DATA_DIR"),
		adminToken:  strings.TrimSpace(env("HEADROOM_ADMIN_TOKEN")),
		serverURL:   strings.TrimRight(env("HEADROOM_URL"), "/"),
		token:       strings.TrimSpace(env("HEADROOM_TOKEN")),
		tlsCert:     env("HEADROOM_TLS_CERT"),
		tlsKey:      env("HEADROOM_TLS_KEY"),
	}
	var err error
	if c.databaseWait, err = time.ParseDuration(cmp.Or(env("HEADROOM_DATABASE_WAIT"), defaultDatabaseWait)); err != nil {
		return c, fmt.Errorf("HEADROOM_DATABASE_WAIT must look like 30s or 2m: %w", err)
	}
	for network := range strings.SplitSeq(env("HEADROOM_TRUSTED_PROXIES"), ",") {
		if network = strings.TrimSpace(network); network != "" {
			if _, err := netip.ParsePrefix(network); err != nil {
				return c, fmt.Errorf("HEADROOM_TRUSTED_PROXIES must look like 10.0.0.0/8,192.168.1.7/32: %w", err)
			}
			c.trustedProxies = append(c.trustedProxies, network)
		}
	}
	if (c.tlsCert == "") != (c.tlsKey == "") {
		return c, errors.New("HEADROOM_TLS_CERT and HEADROOM_TLS_KEY go together: set both or neither")
	}
	if _, _, err := net.SplitHostPort(c.listen); err != nil {
		return c, fmt.Errorf("HEADROOM_LISTEN must look like 127.0.0.1:8080: %w", err)
	}
	for name, address := range map[string]string{"HEADROOM_PUBLIC_URL": c.publicURL, "HEADROOM_URL": c.serverURL} {
		u, err := url.Parse(address)
		if address != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") ||
			name == "HEADROOM_PUBLIC_URL" && u.String() != u.Scheme+"://"+u.Host) { // links are made by what is put behind it, from the root
			return c, fmt.Errorf("%s must look like https://headroom.example.org, not %q", name, address)
		}
	}
	return c, nil
}

// folder returns the data folder: the one that was set, ./data, or what root can use instead.
func (c config) folder() (string, error) {
	if c.dataDir != "" {
		return c.dataDir, nil
	}
	const usual = "data"
	if os.Geteuid() != 0 || c.databaseURL != "" {
		return usual, nil
	}
	err := pglocal.Usable(usual)
	if errors.Is(err, pglocal.ErrUnreachable) {
		_ = os.Remove(usual) // only if it is empty
		return fallbackDataDir, nil
	}
	return usual, err
}

// server returns the address of the server that commands talk to.
func (c config) server() string {
	return cmp.Or(c.serverURL, c.public(c.listen))
}

// public returns where people reach a server that listens on address.
func (c config) public(address string) string {
	if c.publicURL != "" {
		return c.publicURL
	}
	scheme := "http"
	if c.tlsCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return scheme + "://" + address
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
