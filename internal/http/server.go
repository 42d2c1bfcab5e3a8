// Package http is the web server: the table of routes with who may call each, the middlewares,
// sign-in, live streams, metrics, and errors as pages or as problem documents. Inside it http.X is
// net/http's X, since a package never qualifies its own names. Package api answers programs,
// package pages answers people, and package study has the rules.
package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"headroom/internal/account"
	"headroom/internal/http/api"
	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
	"headroom/internal/lists"
	"headroom/internal/scheduler"
	"headroom/internal/study"
	"headroom/internal/study/design"
)

// Database is what the server needs of package db besides the stores.
type Database interface {
	api.Database
	Ready(ctx context.Context) error
	SubscribeAccounts() (changes <-chan int64, cancel func())
}

// Options configures a Server.
type Options struct {
	Studies   *study.Service
	Accounts  account.Store
	Database  Database
	PublicURL string       // where people reach the server: links, trusted origin, Secure cookies when https
	Log       *slog.Logger // nil: slog.Default()
	// TrustedProxies are the networks (CIDR) whose X-Forwarded-For is believed. If it is empty, the
	// connection's address is the client's.
	TrustedProxies []string
	Version        string // of the program, for the OpenAPI document
	// ModelPatience is how long the page of a long study waits for its model; 0: 300 ms.
	ModelPatience time.Duration
	// Stopping is closed when the program shuts down, which ends the streams so that other requests
	// can finish. Nil: never.
	Stopping <-chan struct{}
}

// Server holds what the middlewares, streams and sign-in share.
type Server struct {
	Options
	publicURL  *url.URL
	secure     bool
	metrics    *metrics
	throttle   *throttle
	partQueues scheduler.Queues // see inTurn
	quotas     quotas
}

// New returns the handler of the whole site.
func New(options Options) (http.Handler, error) {
	public, err := url.Parse(options.PublicURL)
	if err != nil {
		return nil, err
	}
	options.Log = cmp.Or(options.Log, slog.Default())
	s := &Server{
		Options:    options,
		publicURL:  public,
		secure:     public.Scheme == "https",
		metrics:    newMetrics(),
		throttle:   newThrottle(),
		quotas:     newQuotas(),
		partQueues: scheduler.Queues{Places: 2 * runtime.GOMAXPROCS(0)},
	}
	programs := &api.API{
		Studies: s.Studies, Accounts: s.Accounts, Database: s.Database, PublicURL: public, SessionCookie: s.cookieName(sessionCookie),
		Version: options.Version, Stopping: s.Stopping, StillAllowed: s.stillAllowed, Asks: s.metrics.asks, Replays: s.metrics.replays,
	}
	people := &pages.Site{Studies: s.Studies, Accounts: s.Accounts, Once: s.Database.Once, PublicURL: public, ModelPatience: cmp.Or(options.ModelPatience, 300*time.Millisecond)}
	s.metrics.registry.MustRegister(serviceCollector{s.Studies})
	table := s.routes(programs, people)
	if err := programs.Publish(lists.Pick(table, func(rt route) (api.Route, bool) { return rt.Route, rt.Name != "" })); err != nil {
		return nil, err
	}
	return s.router(table)
}

// router returns the routes of the table, wrapped in the middlewares, outermost first.
func (s *Server) router(table []route) (http.Handler, error) {
	sameOrigin := http.NewCrossOriginProtection()
	if err := sameOrigin.AddTrustedOrigin(s.publicURL.Scheme + "://" + s.publicURL.Host); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(withRequestID, clientAddresses(s.TrustedProxies), s.observe, s.recoverPanics, s.securityHeaders, s.sameOrigin(sameOrigin), withoutRefusedEncodings, middleware.GetHead)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			s.fail(w, r, problem.NoSuchPath)
			return
		}
		s.fail(w, r, problem.NoSuchThing)
	})
	r.MethodNotAllowed(s.methodNotAllowed(r))
	// More effort makes the history of 1000 rounds a tenth smaller and takes three times as long.
	compress := middleware.Compress(3, "application/json", "application/problem+json", "text/html", "text/css", "text/csv", "text/javascript", "text/plain", "image/svg+xml")
	for _, rt := range table {
		handler := s.guard(rt)
		if !rt.StaysOpen && !rt.Writes { // what a change answers is shorter than the work to compress it
			handler = compress(handler)
		}
		if rt.shared {
			handler = s.inTurn(handler)
		}
		r.Method(rt.Method, rt.Pattern, handler)
	}
	return r, nil
}

// fail is the one place where an error becomes an answer: problem+json for programs, a page for
// browsers.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has gone
	}
	p := problem.Of(err)
	switch {
	case p.Status == http.StatusServiceUnavailable: // thousands while the database is away; package db logs the outage itself
		logEntryOf(r).away = err.Error()
	case p.Status >= http.StatusInternalServerError:
		s.Log.ErrorContext(r.Context(), "request failed", "error", err.Error(), "request", logEntryOf(r).id)
	}
	if responseStarted(w) {
		panic(http.ErrAbortHandler) // too late to say so: break the connection
	}
	for _, name := range []string{"Etag", "Location", "Content-Disposition", "Content-Encoding"} { // of the answer that failed
		w.Header().Del(name)
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if wantsProblem(r) {
		problem.Write(w, p)
		return
	}
	if err := pages.Problem(w, r, p); err != nil {
		s.Log.ErrorContext(r.Context(), "error page failed", "error", err.Error())
		problem.Write(w, p)
	}
}

// responseStarted reports whether a status has been sent through w, however often w is wrapped.
func responseStarted(w http.ResponseWriter) bool {
	for {
		switch wrapped := w.(type) {
		case middleware.WrapResponseWriter: // outermost, see observe
			return wrapped.Status() != 0
		case interface{ Unwrap() http.ResponseWriter }:
			w = wrapped.Unwrap()
		default:
			return false
		}
	}
}

// wantsProblem reports whether the caller is a program rather than a browser, by the path and then
// by the Accept header.
func wantsProblem(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	return writeText(w, "ok\n")
}

// ready reports whether the database can be reached and has this program's schema.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	err := s.Database.Ready(r.Context())
	switch {
	case err == nil:
		return writeText(w, "ready\n")
	case errors.Is(err, study.ErrNewer):
		return problem.Unavailable(design.Capitalised(err.Error()) + ".")
	case errors.Is(err, study.ErrUnavailable):
		return err
	}
	return fmt.Errorf("%w (%w)", &study.Later{Sentence: "The database cannot be used."}, err)
}

func (s *Server) metricsPage(w http.ResponseWriter, r *http.Request) error {
	s.metrics.databaseUp.Set(0)
	if s.Database.Ready(r.Context()) == nil {
		s.metrics.databaseUp.Set(1)
	}
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte(text))
	return err
}

// methodNotAllowed answers 405 with the methods that the path has. A browser that reloads the
// answer to a form is redirected to the page above the form's address.
func (s *Server) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !wantsProblem(r) {
			above := path.Dir(r.URL.Path)
			for !routes.Match(chi.NewRouteContext(), http.MethodGet, above) {
				above = path.Dir(above)
			}
			http.Redirect(w, r, (&url.URL{Path: above}).String(), http.StatusSeeOther)
			return
		}
		allowed := slices.DeleteFunc([]string{"GET", "POST", "PATCH", "PUT", "DELETE"}, func(method string) bool {
			return !routes.Match(chi.NewRouteContext(), method, r.URL.Path)
		})
		w.Header().Set("Allow", strings.Replace(strings.Join(allowed, ", "), "GET", "GET, HEAD", 1)) // HEAD is answered wherever GET is
		s.fail(w, r, problem.New(http.StatusMethodNotAllowed, r.Method+" is not possible here; use "+strings.Join(allowed, " or ")+"."))
	}
}
