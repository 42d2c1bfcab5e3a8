package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"headroom/internal/http/problem"
	"headroom/internal/lists"
	"headroom/internal/study"
)

// contentPolicy lets pages use this server's own scripts, styles and pictures, and nothing else.
// Charts set style attributes and export pictures, hence style-src-attr, data: and blob:.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// withRequestID gives each request an id, which stands in the answer and in the log.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()[:16]
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, &logEntry{id: id})))
	})
}

type contextKey struct{}

// logEntry is what the access log has of a request: its id, the caller once it is known, and the
// error if something that the request needed was unavailable.
type logEntry struct{ id, caller, by, away string }

func logEntryOf(r *http.Request) *logEntry { return r.Context().Value(contextKey{}).(*logEntry) }

// clientAddresses sets the client's address, believing X-Forwarded-For from the given networks
// only.
func clientAddresses(proxies []string) func(http.Handler) http.Handler {
	trusted := lists.Map(proxies, netip.MustParsePrefix)
	return func(next http.Handler) http.Handler {
		next = middleware.ClientIPFromRemoteAddr(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
				r.RemoteAddr = netip.AddrPortFrom(forwardedClient(r.Header["X-Forwarded-For"], peer.Addr().Unmap(), trusted), peer.Port()).String()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// forwardedClient returns the client's address: it follows X-Forwarded-For from its end, from the
// peer's address on, as long as each address that reports the next is trusted. (chi's
// ClientIPFromXFF returns no address for a client in the network of a proxy, as people of one
// institute may be, or for one that comes past the proxy: they would all count as one.)
func forwardedClient(header []string, from netip.Addr, trusted []netip.Prefix) netip.Addr {
	for _, said := range slices.Backward(strings.Split(strings.Join(header, ","), ",")) {
		address, err := netip.ParseAddr(strings.TrimSpace(said))
		if err != nil || !slices.ContainsFunc(trusted, func(network netip.Prefix) bool { return network.Contains(from) }) {
			break
		}
		from = address.Unmap().WithZone("")
	}
	return from
}

// statusClientGone is the status that the log has for a client that left before there was an
// answer, as in nginx.
const statusClientGone = 499

// observe writes the access log and counts requests by route. It never logs paths, which may
// contain a link's secret.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		seen := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() { // also when the handler panics
			status, took := max(seen.Status(), http.StatusOK), time.Since(start)
			if seen.Status() == 0 && r.Context().Err() != nil {
				status = statusClientGone
			}
			pattern := cmp.Or(chi.RouteContext(r.Context()).RoutePattern(), "(none)") // one name for all unmatched paths, so that strangers cannot make metrics
			s.metrics.requests.WithLabelValues(knownMethod(r.Method), pattern, strconv.Itoa(status)).Observe(took.Seconds())
			said := logEntryOf(r)
			log := s.Log
			if said.away != "" {
				log = log.With("error", said.away)
			}
			log.InfoContext(r.Context(), "request", "request", said.id, "method", knownMethod(r.Method), "route", pattern, "study", fmt.Sprintf("%.40s", chi.URLParam(r, "id")),
				"status", status, "bytes", seen.BytesWritten(), "seconds", took.Seconds(), "client", middleware.GetClientIP(r.Context()), "caller", said.caller, "by", said.by)
		}()
		next.ServeHTTP(seen, r)
	})
}

// recoverPanics turns a panic into a 500 without details; the log has them.
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
			s.Log.ErrorContext(r.Context(), "panic", "request", logEntryOf(r).id, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			s.fail(w, r, fmt.Errorf("panic: %v", cause))
		}()
		next.ServeHTTP(w, r)
	})
}

// securityHeaders sets the headers of every answer. Handlers whose answers may be cached replace
// Cache-Control.
func (s *Server) securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // other hosts of an institute are the same site to cookies
		h.Set("Cache-Control", "no-store")
		if s.secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses unsafe requests that a page of another site made a browser send. Requests with
// an Authorization header are exempt: no other site can add one.
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

// refusedEncoding matches an encoding of Accept-Encoding that has quality 0, which refuses it. The
// compressing middleware looks for names alone.
var refusedEncoding = regexp.MustCompile(`(?i)[^,;]*;\s*q=0(\.0*)?\s*(,|$)`)

func withoutRefusedEncodings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, named := range r.Header["Accept-Encoding"] {
			r.Header["Accept-Encoding"][i] = refusedEncoding.ReplaceAllString(named, "")
		}
		next.ServeHTTP(w, r)
	})
}

// inTurn answers a few requests of a study at a time. When a study changes, hundreds of open pages
// request the same parts at the same moment; all at once they would keep the processors and the
// database from whoever enters the next result. Callers that were not recognised before share one
// queue, whatever their study.
func (s *Server) inTurn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := ""
		if secrets, _ := s.credentials(r); slices.ContainsFunc(secrets, s.throttle.recognises) {
			line = chi.URLParam(r, "id")
		}
		leave, err := s.partQueues.Enter(r.Context(), line)
		if err != nil {
			return // nobody is there any more
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// metrics are the server's own metrics; times are in seconds.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	asks       prometheus.Histogram
	replays    prometheus.Histogram
	streams    prometheus.Gauge
	databaseUp prometheus.Gauge
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
		streams:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "headroom_open_streams", Help: "Event streams open now."}),
		databaseUp: prometheus.NewGauge(prometheus.GaugeOpts{Name: "headroom_database_up", Help: "Whether the database can be used: 1, or 0 while it is away."}),
	}
	m.registry.MustRegister(m.requests, m.asks, m.replays, m.streams, m.databaseUp,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// knownMethod replaces unknown methods, which would each become a metric and a long line of the
// log.
func knownMethod(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}

// serviceCollector is the Prometheus collector of what the service computes and holds.
type serviceCollector struct{ studies *study.Service }

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

func (serviceCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheBytes, cacheHolds, turnsNow, turnsTaken, computed, jobsRunning, jobsEnded, jobsTook} {
		descriptions <- d
	}
}

func (s serviceCollector) Collect(metrics chan<- prometheus.Metric) {
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
