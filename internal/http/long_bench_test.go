package http_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"headroom/internal/http/sitetest"
)

// longStudy is a study as people define them, of four settings and two limits under the default algorithm, with n trials told and one waiting.
func longStudy(b *testing.B, s *sitetest.Site, n int) string {
	b.Helper()
	id := s.NewStudy(`{"name": "Long", "parameters": [
		{"name": "salt", "type": "real", "low": 0, "high": 10}, {"name": "buffer", "type": "real", "low": 0, "high": 10},
		{"name": "enzyme", "type": "real", "low": 0, "high": 10}, {"name": "temperature", "type": "real", "low": 20, "high": 60}],
		"objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}, {"metric": "pressure", "op": "<=", "threshold": 4}], "seed": 1}`)
	draw := rand.New(rand.NewPCG(3, 3))
	var rows strings.Builder
	rows.WriteString("salt,buffer,enzyme,temperature,yield,impurity,pressure\n")
	for k := range n {
		reach := max(0.25, 1-0.75*float64(k)/float64(n))
		near := func(centre, span float64) float64 { return centre + reach*span*(2*draw.Float64()-1) }
		salt, buffer, enzyme, heat := near(5, 5), near(5, 5), near(5, 5), min(60, max(20, near(42, 20)))
		fmt.Fprintf(&rows, "%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", salt, buffer, enzyme, heat,
			80-math.Pow(salt-5, 2)-math.Pow(buffer-4, 2)/2-math.Pow(heat-45, 2)/40+0.8*draw.NormFloat64(),
			0.1+math.Pow(heat/60, 4)+enzyme/60+0.02*draw.NormFloat64(), 1+salt/5+heat/60+0.05*draw.NormFloat64())
	}
	s.API("POST", "/studies/"+id+"/import", rows.String(), "Content-Type", "text/csv").Want(http.StatusOK)
	asked := httptest.NewRecorder() // without the minute that other calls have
	s.Router.ServeHTTP(asked, s.Request(b.Context(), http.MethodPost, "/api/v1/studies/"+id+"/ask", s.Admin, `{}`))
	if asked.Code != http.StatusCreated {
		b.Fatalf("%d: %s", asked.Code, asked.Body)
	}
	return id
}

// BenchmarkLongBoard is the board of a long study on a server that has nothing cached, opened as a browser does: its frame, then everything else as it
// comes, then the report. It reports when each was there, and the longest of all answers.
func BenchmarkLongBoard(b *testing.B) {
	for _, n := range []int{1000, 5000, 10000} {
		b.Run(fmt.Sprintf("trials=%d", n), func(b *testing.B) {
			s := benchSite(b)
			id := longStudy(b, s, n)
			var frame, model, all, report, longest time.Duration
			for b.Loop() {
				o := opening{b: b, s: s, handler: s.Server(), at: "/studies/" + id}
				frame += o.comes("/board")
				model += o.comes("/board/model")
				for _, part := range []string{"status", "verdict", "progress", "trials", "beliefs", "gain"} {
					o.comes("/board/" + part)
				}
				all += o.all
				report += o.comes("/report")
				longest = max(longest, o.longest)
			}
			for name, d := range map[string]time.Duration{"frame-ms": frame, "model-ms": model, "all-ms": all, "report-ms": report} {
				b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name)
			}
			b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
		})
	}
}

// opening is a board being opened.
type opening struct {
	b            *testing.B
	s            *sitetest.Site
	handler      http.Handler
	at           string
	all, longest time.Duration // since it was opened, and for one answer
}

// comes is how long an address takes until it has what it is asked for, being asked again four times a second.
func (o *opening) comes(path string) (took time.Duration) {
	again := time.NewTicker(time.Second / 4)
	defer again.Stop()
	begun := time.Now()
	defer func() { took = time.Since(begun); o.all += took }()
	for {
		asked, answer := time.Now(), httptest.NewRecorder()
		o.handler.ServeHTTP(answer, o.s.Request(o.b.Context(), http.MethodGet, o.at+path, o.s.Admin, nil, "Accept", "text/html"))
		o.longest = max(o.longest, time.Since(asked))
		going := path == "/board/model" && strings.Contains(answer.Body.String(), "being worked out")
		switch {
		case answer.Code == http.StatusOK && !going:
			return
		case answer.Code >= http.StatusBadRequest:
			o.b.Fatalf("%s: %d: %s", path, answer.Code, answer.Body)
		}
		<-again.C
	}
}
