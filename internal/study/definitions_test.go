package study

import (
	"fmt"
	"testing"
	"time"

	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestReconfiguredCandidatesStayWithinTheCache: fifteen versions of a large table, each with a
// definition of its own, are held as far as the cache's limit goes, and the heap holds no more than
// that. (Of 10,000 candidates, with a limit of 200 MiB, 162 were held; that takes a minute.)
func TestReconfiguredCandidatesStayWithinTheCache(t *testing.T) {
	const parameters, candidates, limit = 50, 500, 10 << 20
	d := design.Definition{Name: "Table", Objective: design.Objective{Metric: "y", Direction: "maximize"}, Constraints: []design.Constraint{{Metric: "g", Op: "<=", Threshold: 0}}, Seed: 7}
	for i := range parameters {
		d.Parameters = append(d.Parameters, design.Parameter{Name: fmt.Sprint("p", i), Type: design.Real, Low: new(0.0), High: new(1.0)})
	}
	for n := range candidates {
		settings := design.Settings{}
		for i := range parameters {
			settings[fmt.Sprint("p", i)] = design.NumberValue(float64(n*(i+1)%candidates) / candidates)
		}
		d.Candidates = append(d.Candidates, settings)
	}
	checked := must.Get(d.Check())(t)
	before := memorytest.Held()
	c := NewService(nil, Options{CacheBytes: limit})
	var snap *ledger.Snapshot
	add := func(draft ledger.Draft) {
		t.Helper()
		events := must.Get(ledger.Next(snap, time.Unix(1e9, 0), "Ana", draft))(t)
		next := must.Get(ledger.Fold("table", snap, events, nil))(t)
		snap = c.Derived.Put(next)
	}
	add(ledger.Draft{Kind: ledger.Created, Data: ledger.CreatedData{Definition: checked, Engine: optimizer.Engine}})
	one, _ := size(c)
	for n := range 15 {
		after := checked
		after.Constraints = []design.Constraint{checked.Constraints[0]}
		after.Constraints[0].Threshold = float64(n + 1)
		add(ledger.Draft{Kind: ledger.Reconfigured, Data: ledger.ReconfiguredData{Definition: after, Reason: "another limit"}})
		if n%5 != 4 {
			continue
		}
		said, versions := size(c)
		held := memorytest.Held() - before
		t.Logf("%d versions made, %d kept: %d MiB said, %d MiB held", n+2, versions, said>>20, held>>20)
		if said > limit+one || held > 13*(limit+one)/10 || one < 1<<20 || int64(versions)*one > 2*(limit+one) {
			t.Errorf("after %d: %d versions of %d bytes, it says that it holds %d, and holds %d", n+1, versions, one, said, held)
		}
	}
	c.Stop()
}
