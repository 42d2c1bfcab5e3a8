package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"headroom/internal/db/pglocal"
)

// config is what the environment says.
type config struct {
	listen         string
	publicURL      string // "" = derived from the address listened on
	databaseURL    string // "" = a private PostgreSQL in dataDir
	dataDir        string // "" = see folder
	adminToken     string
	serverURL      string // what the commands that ask a server ask; "" = the one of this machine
	token          string // what they show it
	tlsCert        string
	tlsKey         string
	trustedProxies []string
	databaseWait   time.Duration // how long a starting server waits for its database
}

// usualDatabaseWait is long enough for a database that is started together with the server.
const usualDatabaseWait = 30 * time.Second

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
	if c.databaseWait, err = durationOr(env("HEADROOM_DATABASE_WAIT"), usualDatabaseWait); err != nil {
		return c, fmt.Errorf("HEADROOM_DATABASE_WAIT must look like 30s or 2m: %w", err)
	}
	for network := range strings.SplitSeq(env("HEADROOM_TRUSTED_PROXIES"), ",") {
		if network = strings.TrimSpace(network); network != "" {
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
		if address != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			return c, fmt.Errorf("%s must look like https://headroom.example.org, not %q", name, address)
		}
	}
	return c, nil
}

// durationOr reads a time such as 30s, or takes usual where none is given.
func durationOr(text string, usual time.Duration) (time.Duration, error) {
	if text == "" {
		return usual, nil
	}
	return time.ParseDuration(text)
}

// folder is the data folder: the one that was set, ./data, or what root can use instead.
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

// server is what the commands that ask a server ask.
func (c config) server() string {
	return cmp.Or(c.serverURL, c.public(c.listen))
}

// public is where people reach a server that listens on address.
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
