package http

import (
	"github.com/prometheus/client_golang/prometheus"

	"headroom/internal/study"
)

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
	for urgency, f := range s.studies.Derived.Turns.Figures() {
		gauge(turnsNow, float64(f.Running), urgency.String(), "running")
		gauge(turnsNow, float64(f.Waiting), urgency.String(), "waiting")
		counter(turnsTaken, float64(f.Turns), urgency.String())
		counter(computed, f.Computed.Seconds(), urgency.String())
	}
	for kind, f := range s.studies.Derived.Jobs.Figures() {
		gauge(jobsRunning, float64(f.Running), kind)
		counter(jobsTook, f.Took.Seconds(), kind)
		for outcome, count := range map[string]int{"done": f.Done, "failed": f.Failed, "timed out": f.TimedOut, "panicked": f.Panicked} {
			counter(jobsEnded, float64(count), kind, outcome)
		}
	}
}
