package http_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headroom/internal/db"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

const own = `{"parameters": {"temperature": 30, "catalyst": "A"}}`

func TestLedgerAsStream(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for range 4 {
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	}
	whole := s.Listen("/api/v1/studies/"+id+"/events", s.Admin)
	resumed := s.Listen("/api/v1/studies/"+id+"/events", s.Admin, "Last-Event-ID", "4")
	changes := s.Listen("/studies/"+id+"/stream?after=5", s.Admin)
	for _, want := range []string{"1", "2", "3", "4", "5"} {
		if got := whole.Next(); got != "id: "+want {
			t.Errorf("line %q, want id %s", got, want)
		}
		if got := whole.Next(); !strings.HasPrefix(got, `data: {"seq":`+want) || !strings.Contains(got, `"hash":"`) {
			t.Errorf("line %q", got)
		}
	}
	if got := resumed.Next(); got != "id: 5" {
		t.Errorf("resumed at %q", got)
	}
	resumed.Next()
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	for _, stream := range []*sitetest.Stream{whole, resumed, changes} {
		if got := stream.Next(); got != "id: 6" {
			t.Errorf("news %q", got)
		}
	}
	if event, data := changes.Next(), changes.Next(); event != "event: changed" || data != "data: 6" {
		t.Errorf("changes say %q, %q", event, data)
	}
	s.API("GET", "/studies/"+id+"/events", nil, "Last-Event-ID", "x").Faults(400)
	s.API("HEAD", "/studies/"+id+"/events", nil).Want(200)
	s.API("GET", "/studies/nosuch/events", nil).Faults(404)
}

// TestStreamsOutliveTheServersTimeouts: the deadlines that bound other answers do not cut a stream or a wait.
func TestStreamsOutliveTheServersTimeouts(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	const timeout = 200 * time.Millisecond
	impatient := httptest.NewUnstartedServer(s.Router)
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = timeout, timeout
	impatient.Start()
	t.Cleanup(impatient.Close)
	t.Cleanup(impatient.CloseClientConnections)
	started := time.Now()
	there := at(s, impatient)
	stream := there.Listen("/studies/"+id+"/stream", s.Admin)
	stream.Next()
	sitetest.Eventually(t, "the timeouts pass", func() bool { return time.Since(started) > 3*timeout })
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	there.API("GET", "/studies/"+id+"/trials/1?wait=1", nil).Want(200)
	for range 3 { // the rest of the first event, then the news
		if got := stream.Next(); got == "id: 2" {
			return
		}
	}
	t.Error("no news after the timeouts")
}

func TestStreamsEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	s := sitetest.New(t, func(o *server.Options) { o.Stopping = stopping })
	id := s.NewStudy(sitetest.Screen)
	stream := s.Listen("/api/v1/studies/"+id+"/events", s.Admin)
	stream.Next()
	close(stopping)
	stream.UntilEnd()
}

// TestRevokedTokenLosesItsStream: an open stream ends when its credential does, at once.
func TestRevokedTokenLosesItsStream(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	made := s.API("POST", "/tokens", `{"name": "Screen", "role": "viewer"}`).Want(201).JSON()
	lines := s.Listen("/api/v1/studies/"+id+"/events", made["token"].(string))
	if got := lines.Next(); got != "id: 1" {
		t.Fatalf("the stream begins with %q", got)
	}
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	lines.UntilEnd()
}

// countingStore counts the questions that readers ask.
type countingStore struct {
	study.Store
	questions atomic.Int64
}

func (c *countingStore) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	c.questions.Add(1)
	return c.Store.Events(ctx, id, after, limit)
}

func (c *countingStore) Version(ctx context.Context, id string) (int64, error) {
	c.questions.Add(1)
	return c.Store.Version(ctx, id)
}

// counted is a site of which the questions to the store are counted.
func counted(t *testing.T) (*sitetest.Site, *countingStore) {
	t.Helper()
	store := &countingStore{}
	s := sitetest.New(t, func(o *server.Options) {
		store.Store = o.Database.(*db.DB).Studies
		service := study.NewService(store, study.Options{})
		t.Cleanup(service.Stop)
		o.Studies = service
	})
	return s, store
}

// at makes requests to another server of the same site.
func at(s *sitetest.Site, web *httptest.Server) *sitetest.Site {
	there := *s
	there.URL = web.URL
	return &there
}

// TestNoticesAreBelieved: pages that hear that a study changed ask the store nothing to pass it on, and together once for what it became.
func TestNoticesAreBelieved(t *testing.T) {
	t.Parallel()
	s, store := counted(t)
	web := httptest.NewServer(s.Server())
	t.Cleanup(web.Close)
	elsewhere := at(s, web) // whose own questions are not counted
	id := s.NewStudy(sitetest.Screen)
	var pages []*sitetest.Stream
	for range 5 {
		pages = append(pages, s.Listen("/studies/"+id+"/stream?after=1", s.Admin))
	}
	sitetest.Eventually(t, "the streams are open", func() bool {
		return strings.Contains(string(s.Call("GET", "/metrics", s.Admin, nil).Body), "headroom_open_streams 5")
	})
	before := store.questions.Load()
	elsewhere.API("POST", "/studies/"+id+"/trials", own).Want(201)
	for _, page := range pages {
		if got := page.Next(); got != "id: 2" {
			t.Errorf("a page hears %q", got)
		}
	}
	if asked := store.questions.Load() - before; asked != 0 {
		t.Errorf("the store was asked %d questions about a change whose number was known", asked)
	}
	var wait sync.WaitGroup
	for range pages {
		wait.Go(func() {
			s.Call("GET", "/studies/"+id+"/parts/status?seen=2", s.Admin, nil).Want(200).Says("trial 1 of 20")
		})
	}
	wait.Wait()
	asked := store.questions.Load() - before
	if asked < 1 || asked > int64(len(pages)) {
		t.Errorf("%d pages asked %d questions", len(pages), asked)
	}
	for _, part := range []string{"status", "progress", "trials", "beliefs", "next"} {
		s.Call("GET", "/studies/"+id+"/parts/"+part+"?seen=2", s.Admin, nil).Want(200)
	}
	if more := store.questions.Load() - before; more != asked {
		t.Errorf("%d more questions about what is at hand", more-asked)
	}
}

// TestPartsDoNotStayBehind: a server that missed a change shows it to whoever heard of it elsewhere, and to whoever does not say.
func TestPartsDoNotStayBehind(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	web := httptest.NewServer(s.Server())
	t.Cleanup(web.Close)
	other := at(s, web) // has nothing at hand that the first one writes
	status := func(query string) string {
		t.Helper()
		return string(other.Call("GET", "/studies/"+id+"/parts/status"+query, s.Admin, nil).Want(200).Body)
	}
	status("")
	for i, query := range []string{"?seen=2", "", "?seen=4", "?seen=99", "?seen=0"} {
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
		if part, want := status(query), fmt.Sprintf("trial %d of 20", i+1); !strings.Contains(part, want) {
			t.Errorf("with %q, no %q in %s", query, want, part)
		}
	}
}
