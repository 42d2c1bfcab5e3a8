package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headroom/internal/http/sitetest"
)

// benchStudy is a study of four settings and two limits with n trials told.
func benchStudy(b *testing.B, s *sitetest.Site, n int) string {
	b.Helper()
	id := s.NewStudy(`{"name": "Large", "parameters": [
		{"name": "a", "type": "real", "low": 0, "high": 1}, {"name": "b", "type": "real", "low": 0, "high": 1},
		{"name": "c", "type": "real", "low": 0, "high": 1}, {"name": "d", "type": "real", "low": 0, "high": 1}],
		"objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}, {"metric": "pressure", "op": "<=", "threshold": 0.7}],
		"algorithm": {"name": "rpol-ucb", "horizon": 2000},
		"model": {"fit": "fixed", "outputs": "standardize", "lambda": 0.01}, "seed": 1}`)
	var rows strings.Builder
	rows.WriteString("a,b,c,d,yield,impurity,pressure\n")
	for i := range n {
		x := func(k int) float64 {
			_, f := math.Modf(float64(i+1) * []float64{0.7548, 0.5698, 0.8191, 0.6710}[k])
			return f
		}
		fmt.Fprintf(&rows, "%.4f,%.4f,%.4f,%.4f,%.5f,%.5f,%.5f\n", x(0), x(1), x(2), x(3),
			math.Sin(3*x(0))+x(1), x(0)*x(2), x(3)*math.Cos(x(1)))
	}
	s.API("POST", "/studies/"+id+"/import", rows.String(), "Content-Type", "text/csv").Want(200)
	return id
}

// benchSite is a site whose answers are not checked against the document, which takes longer than
// answering.
func benchSite(b *testing.B) *sitetest.Site {
	b.Helper()
	s := sitetest.New(b)
	s.Document = nil
	return s
}

// reviewing is a request for a page by somebody with a share link.
func reviewing(ctx context.Context, s *sitetest.Site, id, cookie, path string) *http.Request {
	return s.Request(ctx, http.MethodGet, "/studies/"+id+path, "", nil, "Cookie", cookie)
}

// reviewerCookie opens a share link.
func reviewerCookie(b *testing.B, s *sitetest.Site, id string) string {
	b.Helper()
	cookie := s.Call("GET", "/share/"+s.Share(id), "", nil).Want(303).Header.Get("Set-Cookie")
	sent, _, _ := strings.Cut(cookie, ";")
	return sent
}

// studyPage lets handler answer the study page.
func studyPage(b *testing.B, s *sitetest.Site, handler http.Handler, id, cookie string) {
	b.Helper()
	answered := httptest.NewRecorder()
	handler.ServeHTTP(answered, reviewing(b.Context(), s, id, cookie, ""))
	if answered.Code != http.StatusOK {
		b.Fatalf("%d: %s", answered.Code, answered.Body)
	}
}

// BenchmarkStudyPageCold is the study page at 1000 trials on a server that has nothing cached.
func BenchmarkStudyPageCold(b *testing.B) {
	s := benchSite(b)
	id := benchStudy(b, s, 1000)
	cookie := reviewerCookie(b, s, id)
	for b.Loop() {
		studyPage(b, s, s.Server(), id, cookie)
	}
}

// BenchmarkStudyPageWarm is the same page again.
func BenchmarkStudyPageWarm(b *testing.B) {
	s := benchSite(b)
	id := benchStudy(b, s, 1000)
	cookie, handler := reviewerCookie(b, s, id), s.Server()
	studyPage(b, s, handler, id, cookie)
	for b.Loop() {
		studyPage(b, s, handler, id, cookie)
	}
}

// BenchmarkStudyPageAfterEntry is the page at 1000 trials after one more result.
func BenchmarkStudyPageAfterEntry(b *testing.B) {
	s := benchSite(b)
	id := benchStudy(b, s, 1000)
	cookie := reviewerCookie(b, s, id)
	studyPage(b, s, s.Router, id, cookie)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		s.API("POST", "/studies/"+id+"/trials", map[string]any{
			"parameters": map[string]any{"a": float64(i%97) / 97, "b": 0.5, "c": 0.25, "d": 0.75},
			"metrics":    map[string]any{"yield": 1, "impurity": 0.3, "pressure": 0.2}}).Want(201)
		b.StartTimer()
		studyPage(b, s, s.Router, id, cookie)
	}
}

// BenchmarkOpenBoards has boards open on one study of 100 trials. Each fetches its parts again when
// it hears of changes, gathered for as long as the page gathers them, while one person enters a
// result a second. It reports the median and the 99th percentile of entering.
func BenchmarkOpenBoards(b *testing.B) {
	for _, count := range []int{100, 300} {
		b.Run(fmt.Sprintf("boards=%d", count), func(b *testing.B) { openBoards(b, count) })
	}
}

func openBoards(b *testing.B, count int) {
	s := benchSite(b)
	id := benchStudy(b, s, 100)
	cookie := reviewerCookie(b, s, id)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * count}}
	var boards sync.WaitGroup
	for range count {
		open := make(chan struct{})
		boards.Go(func() {
			watchBoard(ctx, s, client, cookie, id, open)
		})
		<-open
	}
	var took []time.Duration
	for b.Loop() {
		numbers := s.API("POST", "/studies/"+id+"/ask", map[string]any{"count": 1}).Want(201).JSON()["trials"].([]any)
		number := numbers[0].(map[string]any)["number"]
		begin := time.Now()
		s.API("POST", fmt.Sprintf("/studies/%s/trials/%v/tell", id, number),
			map[string]any{"metrics": map[string]any{"yield": 1, "impurity": 0.3, "pressure": 0.2}}).Want(200)
		took = append(took, time.Since(begin))
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	stop()
	boards.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "entry-p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "entry-p50-ms")
}

// gathered is how long a page gathers changes before it fetches its parts, as live.js has it.
const gathered = 150 * time.Millisecond

// watchBoard is one open board: it closes open once its stream is up, and fetches the parts of the
// page, which it leaves compressed, at every change.
func watchBoard(ctx context.Context, s *sitetest.Site, client *http.Client, cookie, id string, open chan struct{}) {
	get := func(path string) (*http.Response, error) {
		request := reviewing(ctx, s, id, cookie, path)
		request.Header.Set("Accept-Encoding", "gzip")
		return client.Do(request)
	}
	stream, err := get("/stream")
	close(open)
	if err != nil {
		return
	}
	defer stream.Body.Close()
	heard := make(chan string, 1)
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
			if seen, news := strings.CutPrefix(lines.Text(), "data: "); news {
				select {
				case <-heard: // the newest counts
				default:
				}
				heard <- seen
			}
		}
	}()
	for seen := range heard {
		select {
		case <-time.After(gathered):
		case <-ctx.Done():
		}
		select {
		case newer, more := <-heard:
			if more {
				seen = newer
			}
		default:
		}
		for _, part := range []string{"status", "next", "progress", "beliefs", "trials", "ledger"} {
			if response, err := get("/parts/" + part + "?seen=" + seen); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
	}
}

// BenchmarkAsksBesideStreams has so many streams open on one study, of five visitors at one
// address, each of which hears of every change, while somebody asks and tells. It reports the
// median and the 99th percentile of an ask.
func BenchmarkAsksBesideStreams(b *testing.B) {
	for _, count := range []int{0, 1000} {
		b.Run(fmt.Sprintf("streams=%d", count), func(b *testing.B) { asksBesideStreams(b, count) })
	}
}

func asksBesideStreams(b *testing.B, count int) {
	const visitors = 5
	s := benchSite(b)
	id := benchStudy(b, s, 100)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	client := &http.Client{Transport: &http.Transport{}}
	var cookies [visitors]string
	for i := range cookies {
		cookies[i] = reviewerCookie(b, s, id)
	}
	var heard atomic.Int64
	var streams sync.WaitGroup
	for i := range count {
		stream, err := client.Do(reviewing(ctx, s, id, cookies[i%visitors], "/stream"))
		if err != nil || stream.StatusCode != http.StatusOK {
			b.Fatalf("stream %d: %v, %v", i, stream, err)
		}
		streams.Go(func() {
			defer stream.Body.Close()
			for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "data: ") {
					heard.Add(1)
				}
			}
		})
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		numbers := s.API("POST", "/studies/"+id+"/ask", map[string]any{"count": 1}).Want(201).JSON()["trials"].([]any)
		took = append(took, time.Since(begin))
		s.API("POST", fmt.Sprintf("/studies/%s/trials/%v/tell", id, numbers[0].(map[string]any)["number"]),
			map[string]any{"metrics": map[string]any{"yield": 1, "impurity": 0.3, "pressure": 0.2}}).Want(200)
	}
	stop()
	streams.Wait()
	if count > 0 && heard.Load() == 0 {
		b.Error("no stream heard of anything")
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ask-p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ask-p50-ms")
}

// longStudy is a study as people define them, of four settings and two limits under the default
// algorithm, with n trials told and one waiting.
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

// BenchmarkLongBoard is the board of a long study on a server that has nothing cached, opened as a
// browser does: its frame, then everything else as it comes, then the report. It reports when each
// was there, and the longest of all answers.
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

// comes is how long an address takes until it has what it is asked for, being asked again four
// times a second.
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
