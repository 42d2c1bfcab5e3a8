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
	// ModelPatience is how long the page of a long study waits for its model, before it is shown without. 0: 300 ms.
	ModelPatience time.Duration
}

// Site holds what the handlers share.
type Site struct {
	Options
}

// New makes the site.
func New(options Options) *Site {
	if options.ModelPatience == 0 {
		options.ModelPatience = 300 * time.Millisecond
	}
	return &Site{Options: options}
}

// People are the pages of people: who may come in, in which browsers they are, and the links and tokens that they gave out.
type People struct{ Options }

// People are the site's.
func (s *Site) People() People { return People{s.Options} }
