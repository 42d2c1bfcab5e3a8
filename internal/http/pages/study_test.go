package pages_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// toldStudy is a study with results, and its address.
func toldStudy(s *sitetest.Site) string {
	id := s.NewStudy(sitetest.Screen)
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
