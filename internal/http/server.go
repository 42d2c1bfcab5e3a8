// Package http is the web server: one table of routes with who may call them, middlewares, sign-in,
// live streams, metrics, and errors as pages or problems. Inside it, http.X is net/http's X, as in
// every other package of ours: a package never names itself. Package api answers programs, package
// pages people, and package study knows the rules.
package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"headroom/internal/account"
	"headroom/internal/http/api"
	"headroom/internal/http/pages"
	"headroom/internal/http/problem"
	"headroom/internal/scheduler"
	"headroom/internal/study"
)

// Database is what the server needs of package db beyond the stores.
type Database interface {
	api.Database
	Ready(ctx context.Context) error
	SubscribeAccounts() (changes <-chan int64, cancel func())
}

type Options struct {
	Studies   *study.Service
	Accounts  account.Store
	Database  Database
	PublicURL string       // where people reach the server: links, trusted origin, Secure cookies when https
	Log       *slog.Logger // nil: slog.Default()
	// TrustedProxies are the networks (CIDR) whose X-Forwarded-For is believed. Empty: the
	// connection's address counts.
	TrustedProxies []string
	Version        string // of the program, for the OpenAPI document
	// ModelPatience is how long the page of a long study waits for its model. 0: what is usual.
	ModelPatience time.Duration
	// Stopping is closed when the program shuts down: streams end then, so that the rest can drain.
	// Nil: never.
	Stopping <-chan struct{}
}

// Server holds what the middlewares, streams and sign-in share.
type Server struct {
	Options
	publicURL *url.URL
	secure    bool
	metrics   *metrics
	throttle  *throttle
	looking   scheduler.Queues // see inTurn
	quotas    quotas
}

func New(options Options) (http.Handler, error) {
	public, err := url.Parse(options.PublicURL)
	if err != nil || public.Host == "" || (public.Scheme != "http" && public.Scheme != "https") {
		return nil, fmt.Errorf("the public URL %q must look like https://headroom.example.org", options.PublicURL)
	}
	if options.Studies == nil || options.Accounts == nil || options.Database == nil {
		return nil, errors.New("the server needs studies, accounts and a database")
	}
	options.Log = cmp.Or(options.Log, slog.Default())
	s := &Server{
		Options:   options,
		publicURL: public,
		secure:    public.Scheme == "https",
		metrics:   newMetrics(),
		throttle:  newThrottle(),
		quotas:    newQuotas(),
		looking:   scheduler.Queues{Places: 2 * runtime.GOMAXPROCS(0)},
	}
	programs := api.New(api.Options{
		Studies: s.Studies, Accounts: s.Accounts, Database: s.Database, PublicURL: public, SessionCookie: s.cookieName(sessionCookie),
		Version: options.Version, Stopping: s.Stopping, StillWelcome: s.stillWelcome, Asks: s.metrics.asks, Replays: s.metrics.replays,
	})
	people := pages.New(pages.Options{Studies: s.Studies, Accounts: s.Accounts, PublicURL: public, ModelPatience: options.ModelPatience})
	s.metrics.registry.MustRegister(serviceFigures{s.Studies})
	table := s.routes(programs, people)
	if err := programs.Publish(published(table)); err != nil {
		return nil, err
	}
	return s.router(table)
}

// router puts the middlewares, outermost first, around the route table.
func (s *Server) router(table []route) (http.Handler, error) {
	sameOrigin := http.NewCrossOriginProtection()
	if err := sameOrigin.AddTrustedOrigin(s.publicURL.Scheme + "://" + s.publicURL.Host); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(withRequestID, clientAddresses(s.TrustedProxies), s.observe, s.recoverPanics, s.securityHeaders, s.sameOrigin(sameOrigin), withoutRefusedEncodings, middleware.GetHead)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, problem.NoSuchThing) })
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

// fail is the one place where an error becomes what the caller sees: problem+json to programs, a
// page to browsers.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has gone
	}
	p := problem.Of(err)
	if p.Status >= http.StatusInternalServerError {
		s.Log.ErrorContext(r.Context(), "request failed", "error", err.Error(), "request", requestID(r))
	}
	if begun(w) {
		panic(http.ErrAbortHandler) // too late to say so: break the connection
	}
	for _, name := range []string{"Etag", "Location", "Content-Disposition", "Content-Encoding"} { // which described the answer that did not come about
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

func begun(w http.ResponseWriter) bool {
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

// wantsProblem tells programs from browsers: by the address, then by what they accept.
func wantsProblem(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	return writeText(w, "ok\n")
}

// ready says whether the database can be reached and has this program's schema.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	err := s.Database.Ready(r.Context())
	if behind, ok := errors.AsType[*study.Behind](err); ok {
		return behind
	}
	if err != nil {
		return problem.Unavailable("The database cannot be reached, or has not been migrated.")
	}
	return writeText(w, "ready\n")
}

func (s *Server) figures(w http.ResponseWriter, r *http.Request) error {
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte(text))
	return err
}

// contentPolicy lets pages use this server's own scripts, styles and pictures, and nothing else.
// Charts set style attributes and export pictures, hence style-src-attr, data: and blob:.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// withRequestID names each request, in the answer and in the log.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()[:16]
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, id)))
	})
}

type contextKey struct{}

func requestID(r *http.Request) string {
	id, _ := r.Context().Value(contextKey{}).(string)
	return id
}

// clientAddresses decides whose word counts for a client's address.
func clientAddresses(proxies []string) func(http.Handler) http.Handler {
	if len(proxies) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	return middleware.ClientIPFromXFF(proxies...)
}

// observe writes the access log and counts requests by route. It never logs paths, which may hold a
// link's secret.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		seen := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() { // also of what is broken off
			status, took := max(seen.Status(), http.StatusOK), time.Since(start)
			pattern := cmp.Or(chi.RouteContext(r.Context()).RoutePattern(), "(none)") // one name for all that met none, so that strangers cannot make metrics
			s.metrics.requests.WithLabelValues(knownMethod(r.Method), pattern, strconv.Itoa(status)).Observe(took.Seconds())
			s.Log.InfoContext(r.Context(), "request", "request", requestID(r), "method", r.Method, "route", pattern, "study", chi.URLParam(r, "id"),
				"status", status, "bytes", seen.BytesWritten(), "took", took, "client", middleware.GetClientIP(r.Context()))
		}()
		next.ServeHTTP(seen, r)
	})
}

// recoverPanics turns a panic into a 500 that tells nothing; the log has the rest.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.Log.ErrorContext(r.Context(), "panic", "request", requestID(r), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			s.fail(w, r, fmt.Errorf("panic: %v", cause))
		}()
		next.ServeHTTP(w, r)
	})
}

// securityHeaders holds for every answer. Handlers of what may be kept replace Cache-Control.
func (s *Server) securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses unsafe requests that another site made a browser send. Scripts bring their
// token themselves.
func (s *Server) sameOrigin(protection *http.CrossOriginProtection) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				if err := protection.Check(r); err != nil {
					s.fail(w, r, problem.New(http.StatusForbidden, "This request came from another site."))
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// refusedEncoding is what Accept-Encoding names to say that it must not be. What compresses looks for
// names alone.
var refusedEncoding = regexp.MustCompile(`(?i)[^,;]*;\s*q=0(\.0*)?\s*(,|$)`)

func withoutRefusedEncodings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, named := range r.Header["Accept-Encoding"] {
			r.Header["Accept-Encoding"][i] = refusedEncoding.ReplaceAllString(named, "")
		}
		next.ServeHTTP(w, r)
	})
}

// inTurn answers a few requests of a study at a time. When something changes, hundreds of open
// pages ask for the same parts at the same moment; all at once they would keep the processors and
// the database from whoever enters the next result. Those who were not let in before, of whatever
// study, wait for one another alone.
func (s *Server) inTurn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := ""
		if secrets, _ := s.credentials(r); slices.ContainsFunc(secrets, s.throttle.recognises) {
			line = chi.URLParam(r, "id")
		}
		leave, err := s.looking.Enter(r.Context(), line)
		if err != nil {
			return // nobody is there any more
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// methodNotAllowed names the methods that the path does have. A browser in which the answer to a form
// is loaded anew is led to the page that the form is about.
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

// metrics are the server's own figures, in seconds.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	asks     prometheus.Histogram
	replays  prometheus.Histogram
	streams  prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "headroom_http_request_duration_seconds", Help: "Time to answer, by route; its count is the number of requests.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60},
		}, []string{"method", "route", "status"}),
		asks: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "headroom_ask_duration_seconds", Help: "Time to choose and store the trials of one ask.",
			Buckets: prometheus.ExponentialBuckets(.01, 2, 12),
		}),
		replays: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "headroom_replay_duration_seconds", Help: "Time to answer a question about the replayed state, cached or not.",
			Buckets: prometheus.ExponentialBuckets(.001, 2, 15),
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "headroom_open_streams", Help: "Event streams open now."}),
	}
	m.registry.MustRegister(m.requests, m.asks, m.replays, m.streams,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// knownMethod keeps invented methods from making metrics.
func knownMethod(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}

// serviceFigures shows what the service computes and holds.
type serviceFigures struct{ studies *study.Service }

var (
	cacheBytes  = prometheus.NewDesc("headroom_cache_bytes", "Bytes held of studies, by kind.", []string{"cache"}, nil)
	cacheHolds  = prometheus.NewDesc("headroom_cache_entries", "Entries held of studies, by kind.", []string{"cache"}, nil)
	turnsNow    = prometheus.NewDesc("headroom_turns", "Computations now, by urgency and whether they run or wait for a processor.", []string{"urgency", "state"}, nil)
	turnsTaken  = prometheus.NewDesc("headroom_turns_total", "Turns of the processors taken, by urgency.", []string{"urgency"}, nil)
	computed    = prometheus.NewDesc("headroom_computed_seconds_total", "Time that processors were held, by urgency.", []string{"urgency"}, nil)
	jobsRunning = prometheus.NewDesc("headroom_jobs_running", "Work behind requests under way, by kind.", []string{"job"}, nil)
	jobsEnded   = prometheus.NewDesc("headroom_jobs_total", "Work behind requests that has ended, by kind and outcome.", []string{"job", "outcome"}, nil)
	jobsTook    = prometheus.NewDesc("headroom_jobs_seconds_total", "Time that work behind requests took, by kind.", []string{"job"}, nil)
)

func (serviceFigures) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheBytes, cacheHolds, turnsNow, turnsTaken, computed, jobsRunning, jobsEnded, jobsTook} {
		descriptions <- d
	}
}

func (s serviceFigures) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	for kind, held := range s.studies.Derived.Held() {
		gauge(cacheBytes, float64(held.Bytes), kind)
		gauge(cacheHolds, float64(held.Entries), kind)
	}
	for urgency, f := range s.studies.Derived.Scheduler.Counts() {
		gauge(turnsNow, float64(f.Running), urgency.String(), "running")
		gauge(turnsNow, float64(f.Waiting), urgency.String(), "waiting")
		counter(turnsTaken, float64(f.Slices), urgency.String())
		counter(computed, f.Computed.Seconds(), urgency.String())
	}
	for kind, f := range s.studies.Derived.Jobs.Counts() {
		gauge(jobsRunning, float64(f.Running), kind)
		counter(jobsTook, f.Took.Seconds(), kind)
		for outcome, count := range map[string]int{"done": f.Done, "failed": f.Failed, "timed out": f.TimedOut, "panicked": f.Panicked} {
			counter(jobsEnded, float64(count), kind, outcome)
		}
	}
}
