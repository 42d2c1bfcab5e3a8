// Package pages is what people see: pages and forms, the words and numbers in them. Handlers turn what the service says into view
// models of package templates, and forms into commands. Which route leads to which handler, and for whom, package http says in its table.
package pages

import (
	"net/url"
	"time"

	"headroom/internal/account"
	"headroom/internal/study"
)

// Options are what the pages are made of.
type Options struct {
	Studies   *study.Service
	Accounts  account.Store
	PublicURL *url.URL // where people reach the server
	// MostShared is how many bytes of rendered sections are kept for everybody who looks at the same. 0: 32 MiB.
	MostShared int64
	// ModelPatience is how long the page of a long study waits for its model, before it is shown without. 0: 300 ms.
	ModelPatience time.Duration
}

// Site holds what the handlers share.
type Site struct {
	Options
	shared        *sharedParts
	verifications verificationBook
}

// New makes the site.
func New(options Options) *Site {
	if options.MostShared == 0 {
		options.MostShared = 32 << 20
	}
	if options.ModelPatience == 0 {
		options.ModelPatience = 300 * time.Millisecond
	}
	return &Site{Options: options, shared: newSharedParts(options.MostShared)}
}

// Shared is how many bytes of rendered sections are kept, and in how many sections.
func (s *Site) Shared() (held int64, sections int) { return s.shared.size() }
