package pages_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"headroom/internal/db"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// toldStudy is a study with results, and its address.
func toldStudy(s *sitetest.Site) string {
	id := s.NewStudy(strings.Replace(sitetest.Screen, `"seed": 7`, `"model": {"outputs": "raw"}, "seed": 7`, 1)) // whose model begins with the first reading
	s.API("POST", "/studies/"+id+"/import", "temperature,catalyst,yield,impurity\n30,A,71.2,0.3\n35,A,80,0.45\n50,B,60,0.9\n", "Content-Type", "text/csv").Want(200)
	return "/studies/" + id
}

// figure reads a number from /metrics.
func figure(t *testing.T, s *sitetest.Site, name string) float64 {
	t.Helper()
	var value float64
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(s.Call("GET", "/metrics", s.Admin, nil).Want(200).Body)
	if line == nil {
		t.Fatalf("no %s", name)
	}
	fmt.Sscan(string(line[1]), &value)
	return value
}

// TestJunkQueriesShareOnePart: what a part does not depend on makes no other part to keep.
func TestJunkQueriesShareOnePart(t *testing.T) {
	s := sitetest.New(t)
	study := toldStudy(s)
	get := func(query string) string {
		return string(s.Call("GET", study+"/parts/"+query, s.Admin, nil).Want(200).Body)
	}
	first := get("beliefs")
	before := heap()
	for i := range 200 {
		if again := get(fmt.Sprintf("beliefs?junk=%d&metric=none%d&x=%d&from=x%d&pin.77=%d&at=%d", i, i, i, i, i, i+1)); again != first && i < 20 {
			t.Fatalf("junk made another part")
		}
	}
	for _, as := range []string{"metric=yield&x=temperature&y=catalyst&usual.x=temperature&usual.y=catalyst", "from=1&pin.0=30&pin.1=A", "from=3&pin.0=50&pin.1=B", "metric=yield&from=2&pin.1=A"} {
		if get("beliefs?"+as) != first {
			t.Errorf("%s, as the form shows it, made another part", as)
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("200 junk queries hold %d bytes", grown)
	}
	if parts := figure(t, s, `headroom_cache_entries{cache="rendered"}`); parts != 1 {
		t.Errorf("%v parts are kept", parts)
	}
	if held := figure(t, s, `headroom_cache_bytes{cache="rendered"}`); held < float64(len(first)) || held > 4*float64(len(first)) {
		t.Errorf("%v bytes are counted for a part of %d", held, len(first))
	}
}

// heap is what is in use after everything unused was given back.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestPartsShowWhatTheQueryAsksFor: what a part depends on reaches it, also when another part of the same study was kept.
func TestPartsShowWhatTheQueryAsksFor(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := toldStudy(s)
	for query, sign := range map[string]string{
		"trials?show=violated": "1–1 of 1 trial", "trials": "1–3 of 3 trials", "trials?below=2": "3–3 of 3 trials", "trials?below=99&show=": "1–3 of 3 trials",
		"ledger?before=2": "made the study", "beliefs?metric=impurity": `<option value="impurity" selected`, "beliefs?pin.0=44": `value="44"`,
	} {
		if part := string(s.Call("GET", study+"/parts/"+query, s.Admin, nil).Want(200).Body); !strings.Contains(part, sign) {
			t.Errorf("%s: no %q", query, sign)
		}
	}
	for _, query := range []string{"trials?show=nosuch", "trials?below=x", "ledger?before=x", "trials?seen=-1"} {
		s.Call("GET", study+"/parts/"+query, s.Admin, nil).Want(422)
	}
	s.Call("GET", study+"/parts/nosuch", s.Admin, nil).Want(404)
}

// TestTrialPageReadsItsOwnEvents: however much happens afterwards, the page of a trial reads what is about it.
func TestTrialPageReadsItsOwnEvents(t *testing.T) {
	t.Parallel()
	store := &weighedStore{}
	s := sitetest.New(t, func(o *server.Options) {
		store.Store = o.Database.(*db.DB).Studies
		service := study.NewService(store, study.Options{})
		t.Cleanup(service.Stop)
		o.Studies = service
	})
	at := toldStudy(s)
	for i := range 30 {
		s.API("POST", at+"/trials/2/corrections", fmt.Sprintf(`{"metrics": {"yield": %d}, "reason": "reading %d"}`, 50+i, i)).Want(200)
	}
	s.API("POST", at+"/trials/1/exclude", `{"reason": "wrong batch"}`).Want(200)
	store.events.Store(0)
	first := string(s.Call("GET", at+"/trials/1", s.Admin, nil).Want(200).Body)
	if read := store.events.Load(); read != 3 { // chosen, told, excluded
		t.Errorf("%d events were read", read)
	}
	for _, sign := range []string{"imported trial 1", "saved yield 71.2", "excluded trial 1", "wrong batch"} {
		if !strings.Contains(first, sign) {
			t.Errorf("the history lacks %q", sign)
		}
	}
	if strings.Contains(first, "corrected yield") {
		t.Error("the history is another trial's too")
	}
	store.events.Store(0)
	second := string(s.Call("GET", at+"/trials/2", s.Admin, nil).Want(200).Body)
	if read := store.events.Load(); read != 25 || !strings.Contains(second, "reading 29") || strings.Contains(second, "reading 4<") || !strings.Contains(second, "7 earlier entries are") {
		t.Errorf("of a long history %d events were read", read)
	}
}

// weighedStore counts the events that are read.
type weighedStore struct {
	study.Store
	events atomic.Int64
}

func (w *weighedStore) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	events, err := w.Store.Events(ctx, id, after, limit)
	w.events.Add(int64(len(events)))
	return events, err
}
