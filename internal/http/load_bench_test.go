package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
)

// BenchmarkMixedLoad is everything at once: six studies grow by asks and tells, their pages, states
// and boards are read, each is verified now and then and copied by an import. An iteration is a
// second of it: run it with -benchtime=600x. It reports the program's resident memory after a
// tenth, a half and all of the time, clients included, and what is reachable at the end.
func BenchmarkMixedLoad(b *testing.B) {
	s := sitetest.On(b, dbtest.OwnURL(b))
	s.Document = nil
	load := &mixedLoad{site: s, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	for range 6 {
		load.ids = append(load.ids, s.NewStudy(crowdStudy))
	}
	ctx, stop := context.WithCancel(b.Context())
	var working sync.WaitGroup
	for i, id := range load.ids {
		working.Go(func() { load.grow(ctx, b, id, i) })
		working.Go(func() { load.look(ctx, b, id) })
	}
	resident := make([]float64, 0, b.N)
	b.ResetTimer()
	for b.Loop() {
		<-time.After(time.Second)
		resident = append(resident, residentMemory(b))
	}
	stop()
	working.Wait()
	for part, at := range map[string]int{"tenth": len(resident) / 10, "half": len(resident) / 2, "end": len(resident) - 1} {
		b.ReportMetric(resident[at], part+"-MiB")
	}
	http.DefaultClient.CloseIdleConnections()
	load.client.CloseIdleConnections()
	<-time.After(5 * time.Second) // for the work behind requests
	runtime.GC()
	runtime.GC() // pools let go of what two collections found unused
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "reachable-MiB")
	b.ReportMetric(float64(load.trials), "trials")
}

// residentMemory is what the program occupies, in MiB.
func residentMemory(b *testing.B) float64 {
	b.Helper()
	text := must.Get(os.ReadFile("/proc/self/statm"))(b)
	var size, pages int
	must.Get(fmt.Sscan(string(text), &size, &pages))(b)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

type mixedLoad struct {
	site   *sitetest.Site
	client *http.Client
	ids    []string

	mutex  sync.Mutex
	trials int
}

// grow asks and tells, two trials at a time.
func (l *mixedLoad) grow(ctx context.Context, b *testing.B, id string, client int) {
	c := &crowd{site: l.site, id: id, client: l.client}
	for round := 0; ctx.Err() == nil; round++ {
		var both sync.WaitGroup
		for side := range 2 {
			both.Go(func() {
				if err := c.trial(ctx, fmt.Sprintf("%d-%d-%d", client, round, side)); err != nil && ctx.Err() == nil {
					b.Error(err)
				}
			})
		}
		both.Wait()
		l.mutex.Lock()
		l.trials += 2
		l.mutex.Unlock()
	}
}

// look reads what people read; every so often it verifies the study and imports its table as a new
// one.
func (l *mixedLoad) look(ctx context.Context, b *testing.B, id string) {
	get := func(method, path, body string, headers ...string) string {
		answer, err := l.client.Do(l.site.Request(ctx, method, path, l.site.Admin, nonEmpty(body), headers...))
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || ctx.Err() != nil {
			return ""
		}
		if answer.StatusCode/100 != 2 {
			b.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
		}
		return string(text)
	}
	page, api := "/studies/"+id, "/api/v1/studies/"+id
	for turn := 1; ctx.Err() == nil; turn++ {
		for _, path := range []string{page, page + "/parts/progress", page + "/parts/beliefs", page + "/board", "/studies"} {
			get("GET", path, "", "Accept", "text/html")
		}
		for _, path := range []string{api, api + "/state", api + "/history", api + "/trials?limit=50"} {
			get("GET", path, "")
		}
		if turn%8 == 0 {
			get("POST", api+"/verify", "")
			if bundle := get("GET", api+"/export.json", ""); strings.HasPrefix(bundle, "{") {
				get("POST", "/api/v1/studies/import", bundle)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// nonEmpty is a body, nil for none.
func nonEmpty(body string) any {
	if body == "" {
		return nil
	}
	return body
}

// crowdStudy is a study of four settings and two limits under the default algorithm.
const crowdStudy = `{"name": "Crowd", "parameters": [
	{"name": "a", "type": "real", "low": 0, "high": 1}, {"name": "b", "type": "real", "low": 0, "high": 1},
	{"name": "c", "type": "real", "low": 0, "high": 1}, {"name": "d", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}, {"metric": "pressure", "op": "<=", "threshold": 0.7}], "seed": 1}`

// crowd is what clients on one study share.
type crowd struct {
	site   *sitetest.Site
	id     string
	client *http.Client
}

// trial asks for a trial and tells its results.
func (c *crowd) trial(ctx context.Context, key string) error {
	var asked struct {
		Trials []struct {
			Number     int
			Parameters map[string]float64
		}
	}
	if err := c.post(ctx, "/ask", "ask-"+key, map[string]any{}, &asked); err != nil {
		return err
	}
	trial := asked.Trials[0]
	x := trial.Parameters
	readings := map[string]any{"metrics": map[string]float64{
		"yield": math.Sin(3*x["a"]) + x["b"], "impurity": x["a"] * x["c"], "pressure": x["d"] * math.Cos(x["b"])}}
	return c.post(ctx, fmt.Sprintf("/trials/%d/tell", trial.Number), "tell-"+key, readings, nil)
}

// post sends body to the study's path and reads the answer into answer, unless that is nil.
func (c *crowd) post(ctx context.Context, path, key string, body, answer any) error {
	response, err := c.client.Do(c.site.Request(ctx, "POST", "/api/v1/studies/"+c.id+path, c.site.Admin, body, "Idempotency-Key", key))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %d %s", path, response.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
