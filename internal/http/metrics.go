package http

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

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

func (m *metrics) request(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(knownMethod(method), route, strconv.Itoa(status)).Observe(took.Seconds())
}

// knownMethod keeps invented methods from making metrics.
func knownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS":
		return method
	}
	return "other"
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
}
