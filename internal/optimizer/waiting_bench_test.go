package optimizer

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkWaiting makes one decision after another while many trials wait: each adds a trial
// without results to a state and suggests the next.
func BenchmarkWaiting(b *testing.B) {
	for _, size := range []struct{ told, waiting int }{{100, 1}, {100, 16}, {100, 200}, {400, 200}, {1000, 200}} {
		b.Run(fmt.Sprintf("told=%d/waiting=%d", size.told, size.waiting), func(b *testing.B) {
			cfg := byDefault(b, 0)
			h := played(cfg, size.told+size.waiting, 1)
			told := refit(b, mustReplay(b, cfg, &History{Rounds: h.Rounds[:size.told]}))
			for i := range h.Rounds[size.told:] {
				h.Rounds[size.told+i].Readings = make([]Reading, len(cfg.Metrics))
			}
			s := sure(told.Extend(background, &History{Rounds: h.Rounds, Fits: told.history.Fits}))
			var extending, suggesting time.Duration
			for b.Loop() {
				began := time.Now()
				d := sure(s.Suggest(background, Known{}))
				suggesting += time.Since(began)
				next := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]Reading, len(cfg.Metrics))}
				h = &History{Rounds: append(h.Rounds, next), Fits: told.history.Fits}
				began = time.Now()
				s = sure(s.Extend(background, h))
				extending += time.Since(began)
			}
			b.ReportMetric(float64(extending.Microseconds())/1000/float64(b.N), "extend-ms")
			b.ReportMetric(float64(suggesting.Microseconds())/1000/float64(b.N), "suggest-ms")
		})
	}
}
