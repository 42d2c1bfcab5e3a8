package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
)

// crowdStudy is a study of four settings and two limits under the default algorithm.
const crowdStudy = `{"name": "Crowd", "parameters": [
	{"name": "a", "type": "real", "low": 0, "high": 1}, {"name": "b", "type": "real", "low": 0, "high": 1},
	{"name": "c", "type": "real", "low": 0, "high": 1}, {"name": "d", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}, {"metric": "pressure", "op": "<=", "threshold": 0.7}], "seed": 1}`

// BenchmarkCrowdOnOneStudy has 200 clients work on one study, each asking for a trial, telling its results and asking again, on a server that keeps
// what it commits. It reports how long asks and tells took, at the median and the 99th percentile. Clients, server and PostgreSQL share the machine. An
// iteration is one trial of every client: run it with -benchtime=5x.
func BenchmarkCrowdOnOneStudy(b *testing.B) {
	const clients = 200
	s := sitetest.On(b, dbtest.Own(b).URL(b))
	s.Document = nil
	id := s.NewStudy(crowdStudy)
	crowd := &crowd{site: s, id: id, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	b.ResetTimer()
	begin := time.Now()
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			for round := range b.N {
				if err := crowd.trial(b.Context(), fmt.Sprintf("%d-%d", client, round)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(clients*b.N)/time.Since(begin).Seconds(), "trials/s")
	crowd.report(b)
}

// crowd is what many clients on one study share.
type crowd struct {
	site   *sitetest.Site
	id     string
	client *http.Client

	mutex       sync.Mutex
	asks, tells []time.Duration
}

// trial asks for a trial and tells its results.
func (c *crowd) trial(ctx context.Context, key string) error {
	var asked struct {
		Trials []struct {
			Number     int
			Parameters map[string]float64
		}
	}
	began := time.Now()
	if err := c.post(ctx, "/ask", "ask-"+key, map[string]any{}, &asked); err != nil {
		return err
	}
	answered := time.Now()
	trial := asked.Trials[0]
	x := trial.Parameters
	readings := map[string]any{"metrics": map[string]float64{
		"yield": math.Sin(3*x["a"]) + x["b"], "impurity": x["a"] * x["c"], "pressure": x["d"] * math.Cos(x["b"])}}
	if err := c.post(ctx, fmt.Sprintf("/trials/%d/tell", trial.Number), "tell-"+key, readings, nil); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.asks, c.tells = append(c.asks, answered.Sub(began)), append(c.tells, time.Since(answered))
	return nil
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

func (c *crowd) report(b *testing.B) {
	for name, took := range map[string][]time.Duration{"ask": c.asks, "tell": c.tells} {
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds(), name+"-p50-s")
		b.ReportMetric(took[len(took)*99/100].Seconds(), name+"-p99-s")
	}
}
