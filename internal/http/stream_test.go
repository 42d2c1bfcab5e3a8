package http_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
)

const own = `{"parameters": {"temperature": 30, "catalyst": "A"}}`

func TestLedgerAsStream(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
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
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(sitetest.Screen)
	const timeout = 200 * time.Millisecond
	impatient := httptest.NewUnstartedServer(s.Router)
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = timeout, timeout
	impatient.Start()
	t.Cleanup(impatient.Close)
	t.Cleanup(impatient.CloseClientConnections)
	started := time.Now()
	s.URL = impatient.URL
	stream := s.Listen("/studies/"+id+"/stream", s.Admin)
	stream.Next()
	sitetest.Eventually(t, "the timeouts pass", func() bool { return time.Since(started) > 3*timeout })
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	s.API("GET", "/studies/"+id+"/trials/1?wait=1", nil).Want(200)
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
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(sitetest.Screen)
	made := s.API("POST", "/tokens", `{"name": "Screen", "role": "viewer"}`).Want(201).JSON()
	lines := s.Listen("/api/v1/studies/"+id+"/events", made["token"].(string))
	if got := lines.Next(); got != "id: 1" {
		t.Fatalf("the stream begins with %q", got)
	}
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	lines.UntilEnd()
}
