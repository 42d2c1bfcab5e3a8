package optimizer

import (
	"fmt"
	"testing"
	"time"

	"headroom/internal/memory"
)

// BenchmarkLong is a study of four parameters and two limits on one fixed model, as long as a state
// of one kernel may be: its first suggestion from nothing, and from the rows that were kept; one more
// round and the next suggestion; and the bytes of its model, beside those of a factor and its points.
func BenchmarkLong(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 5000, 10_000, 20_000} {
		b.Run(fmt.Sprintf("trials=%d", n), func(b *testing.B) {
			cfg := plain(b, 4, 2, nil, `{}`)
			h := played(cfg, n+1, 1)
			told := &History{Rounds: h.Rounds[:n]}
			var nothing, kept, warm time.Duration
			var model int64
			for b.Loop() {
				begun := time.Now()
				s := mustReplay(b, cfg, told)
				suggest(b, s)
				nothing += time.Since(begun)
				pieces := NewKept(sharedPieces(s))
				m := memory.NewMeter()
				m.Of(cfg)
				m.Of(h)
				model = m.Of(s)
				begun = time.Now()
				s = sure(ReplayWithin(background, cfg, told, Resources{Kept: pieces}))
				suggest(b, s)
				kept += time.Since(begun)
				begun = time.Now()
				suggest(b, sure(s.Extend(background, h)))
				warm += time.Since(begun)
			}
			for name, took := range map[string]time.Duration{"nothing-ms": nothing, "kept-ms": kept, "warm-ms": warm} {
				b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), name)
			}
			b.ReportMetric(float64(model)/(1<<20), "MiB")
			b.ReportMetric(float64(model)/float64(4*n*n+8*n*(4+5)), "of-4n²+8n(d+5)")
			b.ReportMetric(0, "ns/op")
		})
	}
}
