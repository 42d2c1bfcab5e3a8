package main

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// certificate is the server's certificate, from two files that may be renewed while it runs.
type certificate struct {
	cert, key string // files

	mutex sync.Mutex
	seen  [sha256.Size]byte // hash of what they held, or of why they could not be read
	good  *tls.Certificate  // the last valid one
}

func (c config) certificate() *certificate { return &certificate{cert: c.tlsCert, key: c.tlsKey} }

// current returns the present certificate. If a renewed one is not valid, as while only one of its
// files has been replaced, it is the one before.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cert, certErr := os.ReadFile(c.cert)
	key, keyErr := os.ReadFile(c.key)
	err := cmp.Or(certErr, keyErr)
	seen := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v", cert, key, err))
	if c.good != nil && seen == c.seen {
		return c.good, nil
	}
	c.seen = seen
	var found tls.Certificate
	if err == nil {
		found, err = tls.X509KeyPair(cert, key)
	}
	switch {
	case err == nil && c.good != nil:
		slog.Info("the certificate was renewed", "file", c.cert, "until", found.Leaf.NotAfter)
	case err != nil && c.good != nil:
		slog.Warn("the new certificate cannot be used; the one before stays in use", "file", c.cert, "error", err)
		return c.good, nil
	case err != nil:
		return nil, err
	}
	c.good = &found
	return c.good, nil
}
