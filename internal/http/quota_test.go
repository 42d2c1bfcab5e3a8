package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// unread is a connection whose other end reads nothing until it is let.
type unread struct {
	header    http.Header
	status    atomic.Int64
	body      bytes.Buffer
	held      *atomic.Int64 // bytes that wait, of all such connections
	goOn      chan struct{}
	deadlines []time.Time
}

func (u *unread) Header() http.Header { return u.header }

func (u *unread) WriteHeader(status int) { u.status.Store(int64(status)) }

func (u *unread) Write(text []byte) (int, error) {
	if u.status.CompareAndSwap(0, http.StatusOK) || u.status.Load() == http.StatusOK {
		u.held.Add(1)
		<-u.goOn
	}
	return u.body.Write(text)
}

func (u *unread) SetWriteDeadline(at time.Time) error {
	u.deadlines = append(u.deadlines, at)
	return nil
}

// visits are many requests at once, whose answers nobody reads until they are let.
type visits struct {
	waiting atomic.Int64
	goOn    chan struct{}
	once    sync.Once
	all     []*unread
	wait    sync.WaitGroup
}

// visit makes n requests of one credential that are answered into connections that nobody reads.
func visit(t *testing.T, s *sitetest.Site, n int, method, path, secret string, body func() io.Reader) *visits {
	v := &visits{goOn: make(chan struct{})}
	t.Cleanup(v.letGo)
	for range n {
		u := &unread{header: http.Header{}, held: &v.waiting, goOn: v.goOn}
		v.all = append(v.all, u)
		var sent io.Reader
		if body != nil {
			sent = body()
		}
		r := httptest.NewRequestWithContext(t.Context(), method, path, sent)
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		v.wait.Go(func() { s.Router.ServeHTTP(u, r) })
	}
	return v
}

// refused counts those that were told that there are too many, and checks what they were told.
func (v *visits) refused(t *testing.T, bound string) (n int) {
	t.Helper()
	for _, u := range v.all {
		if u.status.Load() != http.StatusTooManyRequests {
			continue
		}
		n++
		var told problem.Problem
		if err := json.Unmarshal(u.body.Bytes(), &told); err != nil || !strings.Contains(told.Detail, bound) || u.header.Get("Retry-After") == "" || u.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("told %s with %v (%v)", u.body.Bytes(), u.header, err)
		}
	}
	return n
}

// turnedAway counts the same while they are under way.
func (v *visits) turnedAway() (n int) {
	for _, u := range v.all {
		if u.status.Load() == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

func (v *visits) letGo() {
	v.once.Do(func() { close(v.goOn) })
	v.wait.Wait()
}

// TestAnswersThatNobodyReadsAreBounded: large answers to one visitor that wait to be read take no
// more than their share of the memory; all others are served.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	var table strings.Builder
	table.WriteString("temperature,catalyst,yield,impurity,note\n")
	for i := range 1000 {
		fmt.Fprintf(&table, "%d,A,%d,0.%d,%s\n", 20+i%40, i%90, i%9, strings.Repeat("n", 1800))
	}
	s.API("POST", "/studies/"+id+"/import", table.String(), "Content-Type", "text/csv").Want(200)
	path, secret := "/api/v1/studies/"+id+"/trials", s.Token(account.Viewer, id)
	size := len(s.Call("GET", path, secret, nil).Want(200).Body)
	room := (64 << 20) / size
	visitor := visit(t, s, room+15, "GET", path, secret, nil)
	sitetest.Eventually(t, "some wait, the others are refused", func() bool {
		return visitor.waiting.Load() == int64(room) && visitor.turnedAway() == 15
	})
	s.Call("GET", path, s.Admin, nil).Want(200)
	visitor.letGo()
	sitetest.Same(t, "refused", visitor.refused(t, "bytes of answers"), 15)
	s.Call("GET", path, secret, nil).Want(200)
	for _, u := range visitor.all {
		if u.status.Load() == http.StatusOK && (u.body.Len() != size || len(u.deadlines) < size/(64<<10) || time.Until(u.deadlines[0]) > time.Minute) {
			t.Fatalf("an answer of %d bytes, of which %d came, with %d deadlines", size, u.body.Len(), len(u.deadlines))
		}
	}
}

// TestOneVisitorHasSoManyRequestsUnderWay: beyond them one is told to wait, and nobody else is.
func TestOneVisitorHasSoManyRequestsUnderWay(t *testing.T) {
	s := sitetest.Beside(t)
	secret := s.Token(account.Viewer, "")
	visitor := visit(t, s, 250+7, "GET", "/api/v1/studies", secret, nil)
	sitetest.Eventually(t, "as many wait as may", func() bool {
		return visitor.waiting.Load() == 250 && visitor.turnedAway() == 7
	})
	if a := s.Call("GET", "/api/v1/studies", secret, nil); a.Status != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("one more got %d", a.Status)
	}
	s.API("GET", "/studies", nil).Want(200)
	s.Call("GET", "/healthz", "", nil).Want(200)
	visitor.letGo()
	sitetest.Same(t, "refused", visitor.refused(t, "requests under way"), 7)
	s.Call("GET", "/api/v1/studies", secret, nil).Want(200)
}

// TestOneVisitorHasSoManyStreams: the same of answers that stay open.
func TestOneVisitorHasSoManyStreams(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	secret := s.Token(account.Viewer, id)
	paths := []string{"/api/v1/studies/" + id + "/events", "/studies/" + id + "/stream"}
	ctx, leave := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for i := range 300 {
		r := httptest.NewRequestWithContext(ctx, "GET", paths[i%2], nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		wait.Go(func() { s.Router.ServeHTTP(httptest.NewRecorder(), r) })
	}
	sitetest.Eventually(t, "the streams are open", func() bool {
		return strings.Contains(string(s.Call("GET", "/metrics", s.Admin, nil).Body), "headroom_open_streams 300")
	})
	sitetest.Same(t, "one more stream got", s.Knock("GET", paths[0], secret), 429)
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	sitetest.Same(t, "somebody else's stream got", s.Knock("GET", paths[0], s.Admin), 200)
	leave()
	wait.Wait()
	sitetest.Same(t, "after they ended a stream got", s.Knock("GET", paths[0], secret), 200)
}

// unfinished is a body that brings some bytes, and no end until it is let.
type unfinished struct {
	bytes io.Reader
	came  *atomic.Int64
	goOn  chan struct{}
}

func (u *unfinished) Read(into []byte) (int, error) {
	n, err := u.bytes.Read(into)
	if n == 0 {
		u.came.Add(1)
		<-u.goOn
	}
	return n, err
}

// TestBodiesOfOneVisitorAreBounded: bodies that do not end take no more than their share of the
// memory.
func TestBodiesOfOneVisitorAreBounded(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	secret := s.Token(account.Operator, id)
	var came atomic.Int64
	end := make(chan struct{})
	blank := strings.Repeat(" ", 7<<20)
	body := func() io.Reader { return &unfinished{strings.NewReader(blank), &came, end} }
	fit := visit(t, s, 9, "POST", "/api/v1/studies/"+id+"/tell", secret, body)
	sitetest.Eventually(t, "nine times 7 MB of the 64 have come", func() bool { return came.Load() == 9 })
	rest := visit(t, s, 3, "POST", "/api/v1/studies/"+id+"/tell", secret, body)
	sitetest.Eventually(t, "the others are turned away", func() bool { return rest.turnedAway() == 3 })
	rest.letGo()
	rest.refused(t, "bytes of requests")
	s.API("POST", "/studies/"+id+"/verify", "{}").Want(200)
	close(end)
	fit.letGo()
	sitetest.Same(t, "turned away of those that fit", fit.turnedAway(), 0)
}

// held is a store of studies that keeps readers waiting.
type held struct {
	study.Store
	on     atomic.Bool
	inside atomic.Int64
	goOn   chan struct{}
}

func (h *held) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	if h.on.Load() {
		h.inside.Add(1)
		<-h.goOn
	}
	return h.Store.Events(ctx, id, after, limit)
}

// TestAnswersToOneVisitorAreMadeFewAtATime: what one visitor asks for at once is worked out a few
// at a time, and what others ask for is not kept waiting.
func TestAnswersToOneVisitorAreMadeFewAtATime(t *testing.T) {
	t.Parallel()
	store := &held{goOn: make(chan struct{})}
	s := sitetest.New(t, sitetest.Asking(t, func(of study.Store) study.Store {
		store.Store = of
		return store
	}))
	id := s.NewStudy(sitetest.Screen)
	secret := s.Token(account.Viewer, id)
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	store.on.Store(true)
	places := int64(max(8, 2*runtime.GOMAXPROCS(0)))
	visitor := visit(t, s, 60, "GET", "/api/v1/studies/"+id+"/history", secret, nil)
	sitetest.Eventually(t, "all places are taken", func() bool { return store.inside.Load() == places })
	other := visit(t, s, 1, "GET", "/api/v1/studies/"+id, s.Admin, nil)
	sitetest.Eventually(t, "somebody else is served", func() bool { return store.inside.Load() == places+1 })
	store.on.Store(false)
	close(store.goOn)
	other.letGo()
	visitor.letGo()
	for _, u := range visitor.all {
		if u.status.Load() != http.StatusOK {
			t.Fatalf("one was answered %d", u.status.Load())
		}
	}
}
