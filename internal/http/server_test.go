package http_test

import (
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
	"headroom/internal/db/dbtest"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/testwait"
	"headroom/migrations"
	"headroom/web/static"
)

func TestEveryAnswerIsGuarded(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for _, path := range []string{"/healthz", "/api/v1/studies", "/api/v1/studies/" + id, "/api/v1/docs", "/nosuch", "/api/v1/nosuch"} {
		h := s.Call("GET", path, s.Admin, nil).Header
		if policy := h.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			sitetest.Same(t, name, h.Get(name), want)
		}
		if cache := h.Get("Cache-Control"); cache != "no-store" && cache != "private, no-cache" {
			t.Errorf("%s: Cache-Control %q", path, cache)
		}
		if h.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
}

func TestWhoTakesAnotherPathIsLedToTheDocument(t *testing.T) {
	s := sitetest.Beside(t)
	s.API("POST", "/studies/"+s.NewStudy(sitetest.Screen)+"/suggestions", `{}`).Want(404).Has("detail", "The API has nothing at this path; /api/v1/docs lists what there is.")
}

func TestCompression(t *testing.T) {
	s := sitetest.Beside(t)
	packed := s.Call("GET", "/api/v1/openapi.json", s.Admin, nil, "Accept-Encoding", "gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(packed.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("headers %v", packed.Header)
	}
	unpack := must.Get(gzip.NewReader(strings.NewReader(string(packed.Body))))(t)
	text, err := io.ReadAll(unpack)
	if err != nil || !strings.Contains(string(text), `"openapi":"3.1.0"`) {
		t.Errorf("%v: %.80s", err, text)
	}
	for accepted, want := range map[string]string{"gzip;q=0": "", "gzip; Q=0.000, identity": "", "gzip;q=0,deflate": "deflate", "br, gzip;q=0.05": "gzip", "deflate;q=0, gzip": "gzip"} {
		if got := s.Call("GET", "/api/v1/algorithms", s.Admin, nil, "Accept-Encoding", accepted).Header.Get("Content-Encoding"); got != want {
			t.Errorf("%s: %q, want %q", accepted, got, want)
		}
	}
	if got := s.Call("GET", "/static/app.css", s.Admin, nil, "Accept-Encoding", "gzip;q=0").Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a file: %q", got)
	}
}

// TestFilesAreKeptForGoodAtAddressesThatNameThem: and at others for so long that an upgrade shows.
func TestFilesAreKeptForGoodAtAddressesThatNameThem(t *testing.T) {
	s := sitetest.Beside(t)
	for address, want := range map[string]string{
		static.URL("app.css"): "public, max-age=31536000, immutable", "/static/app.css": "public, max-age=300", "/static/app.css?v=earlier": "public, max-age=300",
	} {
		sitetest.Same(t, address, s.Call("GET", address, "", nil).Want(200).Header.Get("Cache-Control"), want)
	}
	s.Call("GET", "/static/none.css", "", nil).Want(404)
}

func TestMetrics(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("GET", "/studies/"+id+"/state", nil).Want(200)
	s.API("GET", "/nosuch/"+id, nil).Want(404)
	listen(t, s, "/studies/"+id+"/stream", s.Admin).next()
	s.Call("GET", "/metrics", "", nil).Want(401)
	text := string(s.Call("GET", "/metrics", s.Token(account.Viewer, ""), nil).Want(200).Body)
	for _, sign := range []string{
		`headroom_http_request_duration_seconds_count{method="POST",route="/api/v1/studies/{id}/ask",status="201"} 1`,
		"headroom_ask_duration_seconds_count 1", "headroom_replay_duration_seconds_count 1", "headroom_open_streams 1", "go_goroutines",
		`headroom_cache_bytes{cache="states"} `, `headroom_cache_entries{cache="versions"} 2`, `headroom_turns{state="waiting",urgency="choosing"} 0`,
		`headroom_turns{state="running",urgency="reading"} 0`, `headroom_computed_seconds_total{urgency="choosing"} `,
	} {
		sitetest.Says(t, text, sign)
	}
	sitetest.Lacks(t, text, `headroom_cache_bytes{cache="states"} 0`, `headroom_turns_total{urgency="choosing"} 0`)
	sitetest.Lacks(t, text, id)
}

func TestLogNamesRequestsButNoSecrets(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	secret := s.Share(id)
	opened := s.Call("GET", "/share/"+secret, "", nil).Want(303)
	s.Call("GET", "/api/v1/studies/"+id, s.Token(account.Viewer, id), nil).Want(200)
	long := strings.Repeat("LONG", 5000)
	s.Call(long, "/studies", "", nil).Want(405)
	s.Call("GET", "/studies/"+long, "", nil).Want(401)
	log := s.Log.String()
	for _, sign := range []string{`"caller":"token:`, `"by":"Test viewer`, `"seconds":0.`, opened.Header.Get("X-Request-Id"), `"route":"/share/{secret}"`, `"status":303`, `"client":"127.0.0.1"`} {
		sitetest.Says(t, log, sign)
	}
	sitetest.Lacks(t, log, secret, s.Admin)
	if n := strings.Count(log, "LONG"); n > 100 {
		t.Errorf("a stranger wrote %d characters into one line", 4*n)
	}
}

// TestWhoIsBehindAProxy: limits count by address, and the log names it. Somebody in the proxies' own
// network, and who comes past the proxy, has one as well.
func TestWhoIsBehindAProxy(t *testing.T) {
	s := sitetest.Beside(t, func(o *server.Options) { o.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.0/8"} })
	for forwarded, client := range map[string]string{
		"":                               "127.0.0.1",
		"203.0.113.9":                    "203.0.113.9",
		"203.0.113.9, 10.0.0.2":          "203.0.113.9",
		"10.0.0.3, 203.0.113.9":          "203.0.113.9", // whose own word that was before
		"10.0.0.4":                       "10.0.0.4",
		"10.0.0.5, 10.0.0.2":             "10.0.0.5",
		"::ffff:203.0.113.9, 10.0.0.2":   "203.0.113.9",
		"2001:db8::9":                    "2001:db8::9",
		"no address, 10.0.0.6, 10.0.0.2": "10.0.0.6",
	} {
		id := s.Call("GET", "/healthz", "", nil, "X-Forwarded-For", forwarded).Want(200).Header.Get("X-Request-Id")
		line := regexp.MustCompile(`.*` + id + `.*`).FindString(s.Log.String())
		sitetest.Says(t, line, `"client":"`+client+`"`)
	}
}

// While the database is frozen every request that needs it is answered with 503 within 5 seconds,
// and those that do not need it as ever.
func TestFrozenDatabaseIsToldSoon(t *testing.T) {
	t.Parallel()
	database := dbtest.NewPrimary(t)
	s := sitetest.On(t, dbtest.URLOf(database))
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
	stranger := s.API("POST", "/tokens", `{"name": "Stranger", "role": "viewer"}`).Want(201).JSON()["token"].(string) // to the figures, as yet
	sitetest.Says(t, string(s.Call("GET", "/metrics", s.Admin, nil).Want(200).Body), "headroom_database_up 1")
	database.Freeze()
	for wave := range 2 {
		var wait sync.WaitGroup
		for _, r := range requests {
			wait.Go(func() {
				if status, took := ask(r.method, r.path, r.body, r.accept); status != 503 || took > testwait.Timeout {
					t.Errorf("wave %d: %s %s was answered with %d after %v", wave, r.method, r.path, status, took)
				}
			})
		}
		for _, path := range []string{"/healthz", "/static/app.css"} {
			wait.Go(func() {
				if status, took := ask("GET", path, "", ""); status != 200 || took > testwait.Timeout {
					t.Errorf("wave %d: %s was answered with %d after %v", wave, path, status, took)
				}
			})
		}
		wait.Wait()
	}
	sitetest.Says(t, string(s.Call("GET", "/metrics", s.Admin, nil).Want(200).Body), "headroom_database_up 0", "process_open_fds")
	s.Call("GET", "/metrics", stranger, nil).Want(503)
	database.Thaw()
	testwait.Eventually(t, "the database answers again", func() bool { return s.Call("GET", "/readyz", "", nil).Status == 200 })
	sitetest.Says(t, s.Log.String(), `"error":"the database is away`)
	if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("each request that the database was away for is an error of its own: %s", log)
	}
	// What got 503 was not stored, and is now, once.
	for _, want := range []int{1, 1} {
		var asked sitetest.Answer
		testwait.Eventually(t, "an ask finds a connection that lives", func() bool { // as scripts do, which repeat what got 503 under its key
			asked = s.API("POST", "/studies/"+id+"/ask", "{}", "Idempotency-Key", "again")
			return asked.Status != 503
		})
		asked.Want(201)
		if trials := s.API("GET", "/studies/"+id, nil).Want(200).JSON()["trials"]; fmt.Sprint(trials) != fmt.Sprint(2+want) {
			t.Fatalf("%v trials", trials)
		}
	}
}

func TestStudiesAreListedInPages(t *testing.T) {
	s := sitetest.Beside(t)
	for i := range 5 {
		s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", fmt.Sprint("Study ", i), 1))
	}
	var names []string
	after := ""
	for range 3 {
		page := s.API("GET", "/studies?limit=2"+after, nil).Want(200).JSON()
		for _, one := range page["studies"].([]any) {
			names = append(names, one.(map[string]any)["name"].(string))
		}
		if next, more := page["next"].(string); more {
			after = "&after=" + next
		} else {
			after = ""
		}
	}
	if got := strings.Join(names, ", "); got != "Study 4, Study 3, Study 2, Study 1, Study 0" || after != "" {
		t.Fatalf("listed %s, next %q", got, after)
	}
	for query, location := range map[string]string{"limit=0": "query.limit", "limit=1001": "query.limit", "after=x": "query.after", "after=": "query.after",
		"find=%00": "query.find", "find=%ff": "query.find", "find=" + strings.Repeat("ä", 201): "query.find"} {
		s.API("GET", "/studies?"+query, nil).Faults(422, location)
	}
}

func TestListCountsWithoutReadingTrials(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/import", "temperature,catalyst,yield,impurity\n30,A,71.2,0.3\n31,A,80,0.9\n32,B,60,0.4\n33,B,,\n", "Content-Type", "text/csv").Want(200)
	one := s.API("GET", "/studies", nil).Want(200).JSON()["studies"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(one["trials"], one["waiting"], one["feasible"], one["feasibility_known"], one["best"]); got != "4 1 2 3 map[metric:yield number:1 unit:% value:71.2]" {
		t.Fatalf("the list says %s", got)
	}
	s.API("PATCH", "/studies/"+id, `{"state": "archived"}`).Want(200)
	sitetest.Says(t, s.Page("/studies"), "All studies are archived", "Show archived")
}

func TestStudiesPageGoesOn(t *testing.T) {
	s := sitetest.Beside(t)
	for i := range 101 {
		id := s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", fmt.Sprintf("Study %03d", i), 1))
		if i == 0 {
			s.API("PATCH", "/studies/"+id, `{"state": "archived"}`).Want(200)
		}
	}
	s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", "The last one", 1))
	page := func(path string) string {
		t.Helper()
		return s.Page(path)
	}
	first := page("/studies")
	on := regexp.MustCompile(`href="(/studies\?after=[^"]+)"`).FindStringSubmatch(first)
	if on == nil || !strings.Contains(first, "The last one") || strings.Contains(first, "Study 001") || !strings.Contains(first, "Show archived") {
		t.Fatalf("the first page: %s", first)
	}
	second := page(on[1])
	if !strings.Contains(second, "Study 001") || strings.Contains(second, "Study 000") || strings.Contains(second, "Study 002") || strings.Contains(second, "Changed earlier") {
		t.Fatalf("the second page: %s", second)
	}
	if all := page(strings.Replace(on[1], "?", "?archived=yes&", 1)); !strings.Contains(all, "Study 000") || strings.Contains(all, "Show archived") {
		t.Fatalf("with archived ones: %s", all)
	}
	found := page("/studies?find=STUDY+yield")
	on = regexp.MustCompile(`href="(/studies\?after=[^"]+find=[^"]+)"`).FindStringSubmatch(found)
	if on != nil || strings.Contains(found, "The last one") || !strings.Contains(found, "Study 001") || !strings.Contains(found, `value="STUDY yield"`) {
		t.Fatalf("what was found: %s", found)
	}
	if none := page("/studies?find=study+000"); strings.Contains(none, "Study 000") || !strings.Contains(none, "/studies?archived=yes&amp;find=study+000") || !strings.Contains(none, "Only archived studies have each word of “study 000” in the name, the beginning of the description") {
		t.Fatalf("what was found of an archived one: %s", none)
	}
	if all := page("/studies?archived=yes&find=buffer+screen"); !strings.Contains(all, "No study has each word") {
		t.Fatalf("what was not found: %s", all)
	}
	on = regexp.MustCompile(`href="/studies\?(after=[^"]+find=[^"]+)"`).FindStringSubmatch(page("/studies?find=yield"))
	if on == nil || !strings.Contains(page("/studies?"+html.UnescapeString(on[1])), "Study 001") {
		t.Fatal("a page of what was found does not go on")
	}
	s.Call("GET", "/studies?after=x", s.Admin, nil, "Accept", "text/html").Want(422)
}

// TestTheAnswerToAFormCanBeLoadedAnew: browsers ask for its address, too, where only forms are sent
// to.
func TestTheAnswerToAFormCanBeLoadedAnew(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for path, want := range map[string]string{
		"/studies/" + id + "/ask": "/studies/" + id, "/studies/" + id + "/trials/1/close": "/studies/" + id + "/trials/1", "/people/one/role": "/people", "/sign-out": "/",
	} {
		if there := s.Call("GET", path, s.Admin, nil, "Accept", "text/html").Want(303).Header.Get("Location"); there != want {
			t.Errorf("%s leads to %q, not to %s", path, there, want)
		}
		s.Call("GET", path, s.Admin, nil).Want(405)
		s.Call("PUT", path, s.Admin, nil, "Accept", "text/html").Want(405)
	}
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestReadinessNamesItsCause: during an upgrade the older server says that it is too old, and does not
// blame the database.
func TestReadinessNamesItsCause(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := sitetest.On(t, url)
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(t.Context())
	for change, words := range map[string]string{
		`UPDATE schema_migrations SET version = 99`: "The database is newer than this program",
		`UPDATE schema_migrations SET version = 0`:  "The database is at schema 0",
		`DELETE FROM schema_migrations`:             "The database has not been migrated",
		`UPDATE schema_migrations SET version = -1`: "The database cannot be used",
	} {
		must.Get(conn.Exec(t.Context(), change))(t)
		if says := s.Call("GET", "/readyz", "", nil).Want(503).JSON()["detail"].(string); !strings.HasPrefix(says, words) {
			t.Errorf("after %s it says %q", change, says)
		}
		must.Get(conn.Exec(t.Context(), `DELETE FROM schema_migrations`))(t)
		must.Get(conn.Exec(t.Context(), `INSERT INTO schema_migrations VALUES ($1, false)`, migrations.Latest))(t)
	}
	s.Call("GET", "/readyz", "", nil).Want(200)
	if log := s.Log.String(); !strings.Contains(log, "The database cannot be used. (can't scan") {
		t.Errorf("the log does not know why the database cannot be used: %s", log)
	}
}
