package http

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"headroom/internal/study"
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
