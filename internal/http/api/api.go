// Package api is /api/v1: strict JSON in, the service's answer out, and the OpenAPI document made
// from the same Go types. Which route leads to which operation, and who may call it, package http
// says in its table.
package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"headroom/internal/account"
	"headroom/internal/study"
)

// Database is what the API needs of package db beyond the stores: answers kept under idempotency keys,
// and news of changes.
type Database interface {
	Subscribe(studyID string) (changes <-chan int64, cancel func())
	Once(ctx context.Context, key *study.IdempotencyKey, do func(ctx context.Context) (made []byte, err error)) error
	Before(ctx context.Context, key *study.IdempotencyKey) error
}

// Options are what the API is made of.
type Options struct {
	Studies   *study.Service
	Accounts  account.Store
	Database  Database
	PublicURL *url.URL // where people reach the server: links, and the OpenAPI document
	// SessionCookie is the name of the cookie that may stand for a token, for the OpenAPI document.
	SessionCookie string
	Version       string // of the program
	// Stopping is closed when the program shuts down: whoever waits for a trial is answered then.
	Stopping <-chan struct{}
	// StillWelcome is nil when whoever made a request that has taken long still has the right to
	// its study.
	StillWelcome func(*http.Request) error
	// Asks and Replays observe how many seconds choosing, and answering from the replayed state,
	// take.
	Asks, Replays prometheus.Observer
}

// API holds what the handlers share.
type API struct {
	Options
	document   []byte                 // the OpenAPI document
	document30 func() ([]byte, error) // the same in OpenAPI 3.0
	page       func() ([]byte, error) // the same for people
}

// New makes the API. Publish it before serving.
func New(options Options) *API { return &API{Options: options} }

// operations are what programs can ask for, by the names that clients call them.
type operations = map[string]Operation

// Operations are all there are; events answers with a study's ledger as it is written.
func (a *API) Operations(events func(http.ResponseWriter, *http.Request) error) map[string]Operation {
	all := operations{}
	for tag, some := range map[string]operations{
		"Studies": a.ofStudies(), "The loop": a.ofTrials(), "Replayed state": a.ofReadouts(), "Ledger": a.ofLedger(events), "In and out": a.ofTransfers(), "Access": a.ofAccess(),
		"Reference": a.ofReference(),
	} {
		for name, one := range some {
			one.Tag, one.Status = tag, cmp.Or(one.Status, http.StatusOK)
			all[name] = one
		}
	}
	return all
}
