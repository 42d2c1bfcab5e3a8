package http_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/patience"
)

// While the database is frozen every request that needs it is answered with 503 within 5 seconds, and those that do not need it as ever.
func TestFrozenDatabaseIsToldSoon(t *testing.T) {
	t.Parallel()
	cluster := dbtest.Own(t)
	s := sitetest.On(t, cluster.URL(t))
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", `{"count": 2}`).Want(201)
	study := "/studies/" + id
	requests := []struct {
		method, path, body, accept string
	}{
		{"GET", "/api/v1/studies", "", ""},
		{"GET", "/api/v1" + study, "", ""},
		{"GET", "/api/v1" + study + "/state", "", ""},
		{"GET", "/api/v1" + study + "/events", "", ""},
		{"POST", "/api/v1/studies", sitetest.Screen, ""},
		{"POST", "/api/v1" + study + "/ask", "{}", ""},
		{"POST", "/api/v1" + study + "/trials/1/tell", `{"metrics": {"yield": 50}}`, ""},
		{"POST", "/api/v1/tokens", `{"name": "Robot", "role": "viewer"}`, ""},
		{"GET", "/studies", "", "text/html"},
		{"GET", study, "", "text/html"},
		{"GET", "/sign-in/some-secret", "", "text/html"},
		{"GET", "/readyz", "", ""},
	}
	ask := func(method, path, body, accept string) (status int, took time.Duration) {
		begin := time.Now()
		var sent any
		if body != "" {
			sent = body
		}
		answer := s.Call(method, path, s.Admin, sent, "Accept", accept, "Idempotency-Key", "key"+method+path)
		return answer.Status, time.Since(begin)
	}
	s.Call("GET", "/static/app.css", "", nil).Want(200)
	cluster.Freeze(t)
	for wave := range 2 {
		var wait sync.WaitGroup
		for _, r := range requests {
			wait.Go(func() {
				if status, took := ask(r.method, r.path, r.body, r.accept); status != 503 || took > patience.Long {
					t.Errorf("wave %d: %s %s was answered with %d after %v", wave, r.method, r.path, status, took)
				}
			})
		}
		for _, path := range []string{"/healthz", "/static/app.css"} {
			wait.Go(func() {
				if status, took := ask("GET", path, "", ""); status != 200 || took > patience.Long {
					t.Errorf("wave %d: %s was answered with %d after %v", wave, path, status, took)
				}
			})
		}
		wait.Wait()
	}
	cluster.Thaw(t)
	sitetest.Eventually(t, "the database answers again", func() bool { return s.Call("GET", "/readyz", "", nil).Status == 200 })
	// What got 503 was not stored, and is now, once.
	for _, want := range []int{1, 1} {
		var asked sitetest.Answer
		sitetest.Eventually(t, "an ask finds a connection that lives", func() bool { // as scripts do, which repeat what got 503 under its key
			asked = s.API("POST", "/studies/"+id+"/ask", "{}", "Idempotency-Key", "again")
			return asked.Status != 503
		})
		asked.Want(201)
		if trials := s.API("GET", "/studies/"+id, nil).Want(200).JSON()["trials"]; fmt.Sprint(trials) != fmt.Sprint(2+want) {
			t.Fatalf("%v trials", trials)
		}
	}
}
