package optimizer

import (
	"fmt"
	"runtime"
	"testing"

	"headroom/internal/memory"
	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
)

// TestBytesAreThoseHeld compares what states say they hold with what the heap says: states of long
// histories, with factors of several regimes, and states that share all but their end.
func TestBytesAreThoseHeld(t *testing.T) {
	for _, fits := range []int{0, 3} {
		t.Run(fmt.Sprint(fits, " fits"), func(t *testing.T) {
			cfg, h := longHistory(t, 500, fits)
			before := memorytest.Held()
			s := must.Get(Replay(t.Context(), cfg, h))(t)
			must.Get(s.Trace(t.Context()))(t)
			held, m := memorytest.Held()-before, memory.NewMeter()
			m.Of(cfg)
			m.Of(h)
			said := m.Of(s)
			if ratio := float64(said) / float64(held); ratio < 0.8 || ratio > 1.25 {
				t.Errorf("says %d bytes, holds %d", said, held)
			}
			runtime.KeepAlive(s)
		})
	}
}

// longHistory is a study of so many rounds whose hyperparameters were fitted so many times on the
// way.
func longHistory(t *testing.T, rounds, fits int) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 2, func(cfg *Config) {
		cfg.Fit = true
		for i := range cfg.Metrics {
			cfg.Metrics[i].FreeLengthscales, cfg.Metrics[i].FreeNoise = true, true
		}
	}, `{}`)
	h := played(cfg, rounds, 1)
	for k := range fits {
		fit := Fit{From: (k + 1) * rounds / (fits + 1)}
		for i := range cfg.Metrics {
			fit.Metrics = append(fit.Metrics, FittedMetric{Set: true, Scale: 1, Count: fit.From - 1, Lambda: 0.1 + 0.01*float64(i+k), Lengthscales: []float64{0.3, 0.4}})
		}
		h.Fits = append(h.Fits, fit)
	}
	return cfg, h
}
