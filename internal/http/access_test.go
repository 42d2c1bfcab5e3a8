package http_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	server "headroom/internal/http"
	"headroom/internal/http/problem"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

// audience is the kind of caller that a route is for.
type audience int

const (
	public audience = iota
	signedIn
	viewer
	operator
	admin
	studyViewer
	studyOperator
	studyAdmin
)

// apiAudiences is who the contract lets use what of the API, written down a second time: a route
// that is not here, or differs, fails.
var apiAudiences = map[audience]string{
	public:   "GET /healthz, GET /readyz, GET /share/{secret}, GET /api/v1/openapi.json, GET /api/v1/docs",
	signedIn: "GET /api/v1/studies, GET /api/v1/algorithms",
	viewer:   "GET /metrics",
	operator: "POST /api/v1/studies, POST /api/v1/studies/import",
	admin:    "POST /api/v1/tokens, GET /api/v1/tokens, DELETE /api/v1/tokens/{token}",
	studyViewer: "GET /api/v1/studies/{id}, GET /api/v1/studies/{id}/trials, GET /api/v1/studies/{id}/trials/{number}, GET /api/v1/studies/{id}/state, " +
		"POST /api/v1/studies/{id}/posterior, POST /api/v1/studies/{id}/acquisition, POST /api/v1/studies/{id}/compare, GET /api/v1/studies/{id}/price, GET /api/v1/studies/{id}/history, " +
		"POST /api/v1/studies/{id}/verify, GET /api/v1/studies/{id}/export.csv, GET /api/v1/studies/{id}/export.json, GET /api/v1/studies/{id}/ledger, " +
		"GET /api/v1/studies/{id}/events, GET /studies/{id}/stream",
	studyOperator: "PATCH /api/v1/studies/{id}, POST /api/v1/studies/{id}/reconfigure, POST /api/v1/studies/{id}/ask, POST /api/v1/studies/{id}/trials, " +
		"POST /api/v1/studies/{id}/trials/{number}/tell, POST /api/v1/studies/{id}/tell, POST /api/v1/studies/{id}/undo, POST /api/v1/studies/{id}/trials/{number}/corrections, POST /api/v1/studies/{id}/trials/{number}/undo, " +
		"POST /api/v1/studies/{id}/trials/{number}/replicates, POST /api/v1/studies/{id}/trials/{number}/fail, POST /api/v1/studies/{id}/trials/{number}/abandon, " +
		"POST /api/v1/studies/{id}/trials/{number}/exclude, POST /api/v1/studies/{id}/trials/{number}/include, POST /api/v1/studies/{id}/trials/{number}/confirm, POST /api/v1/studies/{id}/import",
	studyAdmin: "POST /api/v1/studies/{id}/shares, GET /api/v1/studies/{id}/shares, DELETE /api/v1/studies/{id}/shares/{share}",
}

// pageAudiences is the same for what browsers use.
var pageAudiences = map[audience]string{
	public:   "GET /static/*, GET /sign-in, GET /sign-in/{secret}, POST /sign-in/{secret}, GET /switch, POST /switch",
	signedIn: "GET /, POST /sign-out, GET /account, POST /account/link, POST /account/sessions/{session}/end, POST /account/pin, POST /account/pin/forget, GET /studies",
	operator: "GET /studies/new, POST /studies/new, POST /studies/demo",
	admin: "GET /people, POST /people/invites, POST /people/invites/{link}/revoke, POST /people/tokens, POST /people/tokens/{token}/revoke, " +
		"POST /people/{person}/role, POST /people/{person}/disable, POST /people/{person}/enable, POST /people/{person}/link",
	studyViewer: "GET /studies/{id}, GET /studies/{id}/bench, GET /studies/{id}/sheet, GET /studies/{id}/parts/{part}, GET /studies/{id}/board, GET /studies/{id}/board/{part}, GET /studies/{id}/board/verify, POST /studies/{id}/board/verify, GET /studies/{id}/report, GET /studies/{id}/trials/{number}, GET /studies/{id}/trials/{number}/sheet",
	studyOperator: "GET /studies/{id}/edit, POST /studies/{id}/edit, GET /studies/{id}/reconfigure, POST /studies/{id}/reconfigure, " +
		"GET /studies/{id}/import, POST /studies/{id}/import, GET /studies/{id}/undo, POST /studies/{id}/undo, POST /studies/{id}/simulate, POST /studies/{id}/ask, GET /studies/{id}/own, POST /studies/{id}/own, " +
		"POST /studies/{id}/trials/{number}/tell, POST /studies/{id}/trials/{number}/close, POST /studies/{id}/trials/{number}/undo, POST /studies/{id}/trials/{number}/replicate, " +
		"GET /studies/{id}/trials/{number}/correct, POST /studies/{id}/trials/{number}/correct",
	studyAdmin: "GET /studies/{id}/shares, POST /studies/{id}/shares, POST /studies/{id}/shares/{share}/revoke",
}

// verdicts is what each kind of caller meets on each kind of route: 0 is let through.
var verdicts = map[string]map[audience]int{
	"nobody":                 {public: 0, signedIn: 401, viewer: 401, operator: 401, admin: 401, studyViewer: 401, studyOperator: 401, studyAdmin: 401},
	"bad token":              {public: 0, signedIn: 401, viewer: 401, operator: 401, admin: 401, studyViewer: 401, studyOperator: 401, studyAdmin: 401},
	"viewer":                 {public: 0, signedIn: 0, viewer: 0, operator: 403, admin: 403, studyViewer: 0, studyOperator: 403, studyAdmin: 403},
	"operator":               {public: 0, signedIn: 0, viewer: 0, operator: 0, admin: 403, studyViewer: 0, studyOperator: 0, studyAdmin: 403},
	"admin":                  {public: 0, signedIn: 0, viewer: 0, operator: 0, admin: 0, studyViewer: 0, studyOperator: 0, studyAdmin: 0},
	"viewer of this study":   {public: 0, signedIn: 0, viewer: 403, operator: 403, admin: 403, studyViewer: 0, studyOperator: 403, studyAdmin: 403},
	"operator of this study": {public: 0, signedIn: 0, viewer: 403, operator: 403, admin: 403, studyViewer: 0, studyOperator: 0, studyAdmin: 403},
	"operator of another":    {public: 0, signedIn: 0, viewer: 403, operator: 403, admin: 403, studyViewer: 404, studyOperator: 404, studyAdmin: 404},
	"share of this study":    {public: 0, signedIn: 0, viewer: 403, operator: 403, admin: 403, studyViewer: 0, studyOperator: 403, studyAdmin: 403},
	"share of another":       {public: 0, signedIn: 0, viewer: 403, operator: 403, admin: 403, studyViewer: 404, studyOperator: 404, studyAdmin: 404},
}

// TestEveryRouteHasItsAudience, those of programs and those of browsers, none is missing from the
// lists above, and the document has those of programs: strangers, viewers and callers of other
// studies are kept out of what is not for them.
func TestEveryRouteHasItsAudience(t *testing.T) {
	s := sitetest.Beside(t)
	mine, other := s.NewStudy(sitetest.Screen), s.NewStudy(sitetest.Screen)
	callers := map[string]string{
		"nobody": "", "bad token": "", "viewer": s.Token(account.Viewer, ""), "operator": s.Token(account.Operator, ""), "admin": s.Admin,
		"viewer of this study": s.Token(account.Viewer, mine), "operator of this study": s.Token(account.Operator, mine), "operator of another": s.Token(account.Operator, other),
		"share of this study": s.Share(mine), "share of another": s.Share(other),
	}
	api, pages := expectedAudiences(apiAudiences), expectedAudiences(pageAudiences)
	walked, served, documented := 0, 0, 0
	must.Do(t, chi.Walk(s.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		access, inAPI := api[method+" "+pattern]
		if onPages, is := pages[method+" "+pattern]; is == inAPI {
			t.Errorf("%s %s has no expected audience, or two", method, pattern)
		} else if is {
			access = onPages
		}
		walked++
		if strings.HasPrefix(pattern, "/api/") {
			s.Document.At("paths", pattern, strings.ToLower(method))
			served++
		}
		for caller, secret := range callers {
			want := verdicts[caller][access]
			if want == 0 && !inAPI {
				continue // whom a page lets in may still be told that there is no such trial, or that only people have devices
			}
			if caller == "bad token" {
				secret = fmt.Sprintf("headroom_%08d", walked) // many that begin alike are told to wait
			}
			got := knock(t, s, method, fill(pattern, mine), secret)
			if want == 0 && (got == 401 || got == 403 || got == 404 && strings.HasSuffix(pattern, "{id}")) || want != 0 && got != want {
				t.Errorf("%s %s by %s: %d, want %d", method, pattern, caller, got, want)
			}
		}
		return nil
	}))
	sitetest.Same(t, "of the routes that were expected, served are", walked, len(api)+len(pages))
	for _, operations := range s.Document.At("paths") {
		documented += len(operations.(map[string]any))
	}
	sitetest.Same(t, "operations in the document", documented, served)
}

func TestViewersMayPreviewButNotCorrect(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 71, "impurity": 0.3}}`).Want(201)
	viewer := s.Token(account.Viewer, id)
	path := "/api/v1/studies/" + id + "/trials/1/corrections"
	body := `{"metrics": {"yield": 17}, "reason": "typo"}`
	s.Call("POST", path+"?dry_run=true", viewer, body).Want(200)
	s.Call("POST", path, viewer, body).Want(403)
	s.Call("POST", path+"?dry_run=false", viewer, body).Want(403)
	for _, unclear := range []string{"dry_run=1", "dry_run", "dry_run="} {
		s.Call("POST", path+"?"+unclear, s.Admin, body).Faults(422, "query.dry_run")
	}
	s.Call("POST", path+"?dryrun=true", s.Admin, body).Faults(422, "query.dryrun")
	s.API("GET", "/studies/"+id, nil).Want(200).Has("version", 3)
	undo := `{"event": 3, "reason": "wrong file"}`
	s.Call("POST", "/api/v1/studies/"+id+"/undo?dry_run=true", viewer, undo).Want(200)
	s.Call("POST", "/api/v1/studies/"+id+"/undo", viewer, undo).Want(403)
	for _, path := range []string{"/trials/{number}/corrections", "/undo", "/reconfigure", "/import"} {
		said := s.Document.At("paths", "/api/v1/studies/{id}"+path, "post")["description"].(string)
		sitetest.Says(t, said, "operator of the study; with dry_run, viewer of the study.")
	}
}

func expectedAudiences(lists map[audience]string) map[string]audience {
	expected := map[string]audience{}
	for access, list := range lists {
		for _, one := range strings.Split(list, ", ") {
			expected[one] = access
		}
	}
	return expected
}

// fill puts this study, and things it does not have, into a pattern.
func fill(pattern, id string) string {
	return unnamed.ReplaceAllString(strings.Replace(pattern, "{id}", id, 1), "7")
}

var unnamed = regexp.MustCompile(`\{\w+\}|\*`)

func TestShareLinkBecomesACookie(t *testing.T) {
	s := sitetest.Beside(t)
	id, other := s.NewStudy(sitetest.Screen), s.NewStudy(sitetest.Screen)
	opened := s.Call("GET", "/share/"+s.Share(id), "", nil).Want(303)
	sitetest.Same(t, "Location", opened.Header.Get("Location"), "/studies/"+id+"/board")
	cookie := opened.Header.Get("Set-Cookie")
	sitetest.Says(t, cookie, "headroom-share=", "HttpOnly", "SameSite=Lax", "Path=/", "Expires=")
	sent, _, _ := strings.Cut(cookie, ";")
	s.Call("GET", "/api/v1/studies/"+id, "", nil, "Cookie", sent).Want(200)
	s.Call("GET", "/api/v1/studies/"+other, "", nil, "Cookie", sent).Want(404)
	s.Call("POST", "/api/v1/studies/"+id+"/ask", "", `{}`, "Cookie", sent).Want(403)
	list := s.Call("GET", "/api/v1/studies", "", nil, "Cookie", sent).Want(200).JSON()["studies"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != id {
		t.Errorf("a share sees %v", list)
	}
	s.Call("GET", "/share/headroom_WRONG", "", nil).Want(404)
	s.Call("GET", "/share/"+s.Admin, "", nil).Want(404)
}

func TestSecureSiteMarksItsCookies(t *testing.T) {
	s := sitetest.Beside(t, func(o *server.Options) { o.PublicURL = "https://headroom.test" })
	id := s.NewStudy(sitetest.Screen)
	address := s.API("POST", "/studies/"+id+"/shares", `{}`).Want(201).JSON()["url"].(string)
	opened := s.Call("GET", strings.TrimPrefix(address, "https://headroom.test"), "", nil).Want(303)
	if cookie := opened.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-headroom-share=") || !strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie %q", cookie)
	}
	if opened.Header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security")
	}
	sent, _, _ := strings.Cut(opened.Header.Get("Set-Cookie"), ";")
	again := opened.Header.Get("Location") // which shows whether the browser kept the cookie
	board := s.Call("GET", again, "", nil, "Cookie", sent).Want(303).Header.Get("Location")
	sitetest.Same(t, "with the cookie, what is opened", board, "/studies/"+id+"/board")
	s.Call("GET", again, "", nil, "Accept", "text/html").Want(403).Says(`href="`+address+`"`, "unencrypted")
}

func TestOtherSitesCannotUseCookies(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.test"}} {
		if detail := s.Call("POST", "/api/v1/studies/"+id+"/verify", "", `{}`, append(headers, "Cookie", "headroom-share="+s.Share(id))...).Want(403).JSON()["detail"]; !strings.Contains(detail.(string), "another site") {
			t.Errorf("%v: %v", headers, detail)
		}
		s.Call("POST", "/api/v1/studies/"+id+"/posterior", s.Admin, `{"points": [{"temperature": 30, "catalyst": "A"}]}`, headers...).Want(200)
	}
}

// TestARightCredentialIsAlwaysLetIn: whoever tries wrong ones, from the address of all or with the
// beginning of a good one, is told to wait, and keeps nobody out: not those who were let in before,
// not those who come for the first time, and no link either.
func TestARightCredentialIsAlwaysLetIn(t *testing.T) {
	s := sitetest.Beside(t)
	target, other, known := s.Token(account.Viewer, ""), s.Token(account.Viewer, ""), s.Token(account.Viewer, "")
	share := s.Share(s.NewStudy(sitetest.Screen))
	invite := s.Invite("Ana", account.Viewer)
	read := func(secret string) int { return s.Call("GET", "/api/v1/studies", secret, nil).Status }
	if got := read(known); got != 200 {
		t.Fatalf("a good token got %d", got)
	}
	for i, status := 0, 401; status == 401; i++ { // 60 a minute: on a slow machine a few of them are of the minute before
		a := s.Call("GET", "/api/v1/studies", target[:20]+strconv.Itoa(i), nil)
		status = a.Status
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if waits := status == 429 && err == nil && seconds > 0; !(i < 120 && status == 401 || i >= 60 && waits) {
			t.Fatalf("guess %d: %d", i, status)
		}
	}
	// A browser whose sign-in has ended is led to sign in, however often its pages ask.
	s.Call("GET", "/studies", "", nil, "Accept", "text/html", "Cookie", "headroom="+target[:20]+"0").Want(401)
	for i := range 700 {
		if got := read(fmt.Sprintf("headroom_%08d", i)); got != 401 {
			t.Fatalf("wrong credential %d, which begins like no other, got %d", i, got)
		}
	}
	for what, secret := range map[string]string{"the one that was guessed at": target, "one never seen": other, "one seen before": known} {
		sitetest.Same(t, what, read(secret), 200)
	}
	s.Call("GET", "/sign-in/"+invite, "", nil).Want(200)
	s.Call("GET", "/share/"+share, "", nil).Want(303)
}

// TestUnknownCredentialsAreLookedAtFewAtATime: however many come at once from one address, one of
// them is being looked at; those who were let in before, and those from elsewhere, do not wait for
// it.
func TestUnknownCredentialsAreLookedAtFewAtATime(t *testing.T) {
	t.Parallel()
	accounts := &slow{looking: make(chan struct{}), goOn: make(chan struct{})}
	s := sitetest.New(t, func(o *server.Options) {
		accounts.Store, o.Accounts, o.TrustedProxies = o.Accounts, accounts, []string{"127.0.0.0/8"}
	})
	known, section := s.Token(account.Viewer, ""), "/studies/"+s.NewStudy(sitetest.Screen)+"/parts/next"
	s.Call("GET", "/api/v1/studies", known, nil, "X-Forwarded-For", "10.0.0.1").Want(200)
	goOn := sync.OnceFunc(func() { close(accounts.goOn) })
	t.Cleanup(goOn) // the server waits for its requests
	var wait sync.WaitGroup
	for i := range 40 {
		path := []string{"/api/v1/studies", section}[i%2] // of a section a few are answered at a time
		wait.Go(func() {
			s.Call("GET", path, fmt.Sprintf("headroom_SLOW%d", i), nil, "X-Forwarded-For", "10.0.0.1").Want(401)
		})
	}
	accounts.waitedFor(t, 39)
	for _, path := range []string{"/api/v1/studies", section} {
		s.Call("GET", path, known, nil, "X-Forwarded-For", "10.0.0.1").Want(200)
	}
	s.Call("GET", "/api/v1/studies", s.Token(account.Viewer, ""), nil, "X-Forwarded-For", "10.0.0.2").Want(200)
	sitetest.Same(t, "unknown credentials of one address looked at at once", accounts.most.Load(), 1)
	goOn()
	wait.Wait()
	sitetest.Same(t, "unknown credentials of one address looked at at once", accounts.most.Load(), 1)
}

// waitsToBeLookedAt is where in its stack a request waits before its credential is looked at.
var waitsToBeLookedAt = regexp.MustCompile(`scheduler\.\(\*Queues\)\.Enter\(.*\n.*\nheadroom/internal/http\.(\(\*throttle\)\.waitTurn|.*inTurn)`)

// slow takes its time to look at some credentials.
type slow struct {
	account.Store
	looking, goOn chan struct{}
	now, most     atomic.Int64
	first         sync.Once
}

func (a *slow) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	if strings.HasPrefix(secret, "headroom_SLOW") {
		a.look()
	}
	return a.Store.Authenticate(ctx, secret)
}

func (a *slow) SetPIN(context.Context, string, string, string, string) error {
	a.look()
	return nil
}

func (a *slow) look() {
	a.most.Store(max(a.most.Load(), a.now.Add(1)))
	defer a.now.Add(-1)
	a.first.Do(func() { close(a.looking) })
	<-a.goOn
}

// waitedFor waits until one is being looked at and so many others wait for their turn, or do not.
func (a *slow) waitedFor(t *testing.T, others int) {
	t.Helper()
	<-a.looking
	testwait.Eventually(t, "the others wait for their turn, or do not", func() bool {
		var stacks bytes.Buffer
		must.Do(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		return len(waitsToBeLookedAt.FindAll(stacks.Bytes(), -1)) >= others || a.most.Load() > 1
	})
}

// TestASpentLinkSaysWhatToDo: also to whoever runs the server, who need not start it again.
func TestASpentLinkSaysWhatToDo(t *testing.T) {
	s := sitetest.Beside(t)
	link := "/sign-in/" + s.Invite("Ana", account.Viewer)
	s.Call("POST", link, "", nil, "Accept", "text/html").Want(303)
	s.Call("GET", link, "", nil, "Accept", "text/html").Want(401).Says("ask an admin", "<code>headroom link</code>").Lacks("restart")
}

// TestALinkIsNotUsedUpWithoutEncryption: a browser would keep nothing of the sign-in, and is led to where
// it does.
func TestALinkIsNotUsedUpWithoutEncryption(t *testing.T) {
	s := sitetest.Beside(t, func(o *server.Options) { o.PublicURL = "https://headroom.test" })
	link := "/sign-in/" + s.Invite("Ana", account.Viewer)
	s.Call("POST", link, "", nil, "Accept", "text/html", "Origin", s.URL).Want(403).Says(`href="https://headroom.test`+link+`"`, "not used up")
	s.Call("POST", link, "", nil, "Accept", "text/html", "Origin", "https://headroom.test").Want(303)
}

// TestALinkIsNotLostWithItsAnswer: whoever pressed its button and heard nothing comes in by trying
// again, in the same browser alone; whoever was heard there does not, nor who has signed out.
func TestALinkIsNotLostWithItsAnswer(t *testing.T) {
	s := sitetest.Beside(t)
	link := "/sign-in/" + s.Invite("Ana", account.Viewer)
	b, another := &browser{t, s, map[string]string{}}, &browser{t, s, map[string]string{}}
	another.send("GET", link, nil).Want(200)
	b.send("GET", link, nil).Want(200)
	unheard := maps.Clone(b.cookies)
	b.send("POST", link, nil).Want(303)
	b.send("GET", link, nil).Want(401)
	for _, method := range []string{"POST", "GET"} {
		b.cookies = maps.Clone(unheard)
		b.send(method, link, nil).Want(303)
		b.send("GET", "/studies", nil).Want(200)
		another.send(method, link, nil).Want(401).Says("has been used")
		s.Call(method, link, "", nil, "Accept", "text/html").Want(401)
	}
	sitetest.Same(t, "browsers signed in", len(must.Get(s.DB.Accounts.Sessions(t.Context(), b.id()))(t)), 1)
	b.send("POST", "/sign-out", nil).Want(303)
	b.cookies = unheard
	b.send("GET", link, nil).Want(401)
}

// TestManySignInFromOneAddress: a hundred people of one institute sign in within a minute.
func TestManySignInFromOneAddress(t *testing.T) {
	s := sitetest.Beside(t)
	for i := range 100 {
		secret := s.Invite(fmt.Sprint("Person ", i), account.Viewer)
		s.Call("GET", "/sign-in/"+secret, "", nil, "Accept", "text/html").Want(200)
		s.Call("POST", "/sign-in/"+secret, "", nil, "Accept", "text/html").Want(303)
	}
}

// browser keeps the cookies that a browser would.
type browser struct {
	t       *testing.T
	s       *sitetest.Site
	cookies map[string]string
}

// send makes a request as the browser, with a form when there is one.
func (b *browser) send(method, path string, form url.Values) sitetest.Answer {
	b.t.Helper()
	var sent []string
	for name, value := range b.cookies {
		sent = append(sent, name+"="+value)
	}
	answer := b.s.Call(method, path, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Cookie", strings.Join(sent, "; "))
	for _, line := range answer.Header.Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(line)
		if err != nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
			b.t.Errorf("cookie %q: %v", line, err)
		}
		b.cookies[cookie.Name] = cookie.Value
	}
	return answer
}

// browserOf is a new browser in which a new person has signed in.
func browserOf(t *testing.T, s *sitetest.Site, name string, role account.Role) *browser {
	t.Helper()
	b := &browser{t, s, map[string]string{}}
	b.send("POST", "/sign-in/"+s.Invite(name, role), nil).Want(303)
	return b
}

// id is the person who is signed in.
func (b *browser) id() string {
	b.t.Helper()
	who := must.Get(b.s.DB.Accounts.Authenticate(b.t.Context(), b.cookies["headroom"]))(b.t)
	return who.PersonID
}

func TestPINOpensItsBrowserAndNoMore(t *testing.T) {
	s := sitetest.Beside(t)
	tablet := browserOf(t, s, "Ada", account.Admin)
	ada, left := tablet.id(), tablet.cookies["headroom"]
	tablet.send("GET", "/people", nil).Want(200)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"1234"}}).Want(422)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"4711"}}).Want(303)
	pin := url.Values{"person": {ada}, "pin": {"4711"}, "to": {"/studies/7/bench"}}

	elsewhere := &browser{t, s, map[string]string{}}
	elsewhere.send("POST", "/switch", pin).Want(422)
	elsewhere.cookies["headroom-device"] = account.NewSecret()
	elsewhere.send("POST", "/switch", pin).Want(422)
	if elsewhere.cookies["headroom"] != "" {
		t.Fatal("a PIN signed in on another device")
	}

	sitetest.Same(t, "the way back is", tablet.send("POST", "/switch", pin).Want(303).Header.Get("Location"), "/studies/7/bench")
	if tablet.id() != ada || tablet.cookies["headroom"] == left {
		t.Fatal("the PIN did not begin a session")
	}
	(&browser{t, s, map[string]string{"headroom": left}}).send("GET", "/studies", nil).Want(401)
	sitetest.Says(t, strings.Join(tablet.send("POST", "/switch", pin).Header.Values("Set-Cookie"), "\n"), "headroom-device="+tablet.cookies["headroom-device"]+";") // as long as it is used
	// Four digits are no admin, and lead nowhere else.
	tablet.send("GET", "/studies", nil).Want(200)
	tablet.send("GET", "/people", nil).Want(403)
	tablet.send("POST", "/account/link", nil).Want(403)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"2047"}}).Want(403)
	for _, to := range []string{"https://evil.test", "//evil.test", `/\evil.test`, `/studies/../\evil.test`, "/sign-out", ""} {
		pin.Set("to", to)
		sitetest.Same(t, "leads to", tablet.send("POST", "/switch", pin).Want(303).Header.Get("Location"), "/studies")
	}
	tablet.send("POST", "/account/pin/forget", nil).Want(303)
	tablet.send("POST", "/switch", pin).Want(422)
	s.Call("POST", "/account/pin", s.Admin, "pin=4711", "Content-Type", "application/x-www-form-urlencoded").Want(403)
}

// TestPINsOfOnePersonAreDerivedInTurn: each takes a processor for a tenth of a second. As many at once
// as one may have requests kept everybody else's ask waiting for ten.
func TestPINsOfOnePersonAreDerivedInTurn(t *testing.T) {
	accounts := &slow{looking: make(chan struct{}), goOn: make(chan struct{})}
	s := sitetest.Beside(t, func(o *server.Options) { accounts.Store, o.Accounts = o.Accounts, accounts })
	goOn := sync.OnceFunc(func() { close(accounts.goOn) })
	t.Cleanup(goOn)
	ada := browserOf(t, s, "Ada", account.Viewer)
	var wait sync.WaitGroup
	for range 8 {
		one := &browser{t, s, maps.Clone(ada.cookies)}
		wait.Go(func() { one.send("POST", "/account/pin", url.Values{"pin": {"4711"}}).Want(303) })
	}
	accounts.waitedFor(t, 7)
	goOn()
	wait.Wait()
	sitetest.Same(t, "PINs derived at once", accounts.most.Load(), 1)
}

// TestAPINSetTwiceIsOfOneBrowser: also where the answer to the first was lost, and the browser's secret with it.
func TestAPINSetTwiceIsOfOneBrowser(t *testing.T) {
	s := sitetest.Beside(t)
	tablet := browserOf(t, s, "Ada", account.Operator)
	for range 2 {
		delete(tablet.cookies, "headroom-device")
		tablet.send("POST", "/account/pin", url.Values{"pin": {"4711"}}).Want(303)
	}
	page := tablet.send("GET", "/account", nil).Want(200).Body
	sitetest.Same(t, "browsers with a PIN", strings.Count(string(page), "A PIN brings you back"), 1)
	tablet.send("POST", "/switch", url.Values{"person": {tablet.id()}, "pin": {"4711"}}).Want(303)
}

// What a page asks for, and a form sends, in another's name than it was made for, is refused.
func TestAPageIsOfWhomItWasMadeFor(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", `{"count": 1}`).Want(201)
	ada, bo := browserOf(t, s, "Ada", account.Operator), browserOf(t, s, "Bo", account.Operator)
	header := func(of string) sitetest.Answer {
		return s.Call("GET", "/studies/"+id+"/parts/next", "", nil, "Cookie", "headroom="+bo.cookies["headroom"], "X-Page-Of", of, "HX-Request", "true")
	}
	header("person:" + bo.id()).Want(200)
	sitetest.Same(t, "the page of another is loaded again", header("person:"+ada.id()).Want(409).Header.Get("HX-Refresh"), "true")
	for _, form := range []struct {
		path string
		url.Values
	}{
		{"/trials/1/tell", url.Values{"metric.0": {"71"}}}, {"/trials/1/close", url.Values{"kind": {"abandoned"}, "reason": {"no time"}}}, {"/trials/1/replicate", url.Values{}},
		{"/ask", url.Values{"count": {"1"}}}, {"/own", url.Values{"used.0": {"30"}, "used.1": {"A"}}}, {"/edit", url.Values{"name": {"Other"}, "state": {"open"}}},
	} {
		form.Set("key", "person:"+ada.id()+" KEY")
		bo.send("POST", "/studies/"+id+form.path, form.Values).Want(422).Says("opened under another sign-in, and you are signed in as Bo")
	}
	s.API("GET", "/studies/"+id, nil).Want(200).Has("version", 2)
}

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
	testwait.Eventually(t, "some wait, the others are refused", func() bool {
		return visitor.waiting.Load() == int64(room) && visitor.turnedAway() == 15
	})
	s.Call("GET", path, s.Admin, nil).Want(200)
	// Little room is left: what is sent in parts is refused, too, before its first.
	visit(t, s, 30, "GET", path+"?limit=50", secret, nil)
	bundle := "/api/v1/studies/" + id + "/export.json"
	testwait.Eventually(t, "a bundle is refused", func() bool { return s.Call("GET", bundle, secret, nil).Status == http.StatusTooManyRequests })
	s.Call("GET", bundle, s.Admin, nil).Want(200)
	visitor.letGo()
	sitetest.Same(t, "refused", visitor.refused(t, "bytes of answers"), 15)
	s.Call("GET", path, secret, nil).Want(200)
	for _, u := range visitor.all {
		if u.status.Load() == http.StatusOK && (u.body.Len() != size || len(u.deadlines) < size/(64<<10) || time.Until(u.deadlines[0]) > time.Minute) {
			t.Fatalf("an answer of %d bytes, of which %d came, with %d deadlines", size, u.body.Len(), len(u.deadlines))
		}
	}
}

// TestReportsThatNobodyReadsHoldNoProcessor: they are drawn in turn, and sent outside it.
func TestReportsThatNobodyReadsHoldNoProcessor(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	readers := runtime.GOMAXPROCS(0) + 1
	visitor := visit(t, s, readers, "GET", "/studies/"+id+"/report", s.Token(account.Viewer, id), nil)
	testwait.Eventually(t, "all reports are made", func() bool { return visitor.waiting.Load() == int64(readers) })
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
}

// TestOneVisitorHasSoManyRequestsUnderWay: beyond them one is told to wait, and nobody else is.
func TestOneVisitorHasSoManyRequestsUnderWay(t *testing.T) {
	s := sitetest.Beside(t)
	secret := s.Token(account.Viewer, "")
	visitor := visit(t, s, 250+7, "GET", "/api/v1/studies", secret, nil)
	testwait.Eventually(t, "as many wait as may", func() bool {
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
	testwait.Eventually(t, "the streams are open", func() bool {
		return strings.Contains(string(s.Call("GET", "/metrics", s.Admin, nil).Body), "headroom_open_streams 300")
	})
	sitetest.Same(t, "one more stream got", knock(t, s, "GET", paths[0], secret), 429)
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	sitetest.Same(t, "somebody else's stream got", knock(t, s, "GET", paths[0], s.Admin), 200)
	leave()
	wait.Wait()
	sitetest.Same(t, "after they ended a stream got", knock(t, s, "GET", paths[0], secret), 200)
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
	testwait.Eventually(t, "nine times 7 MB of the 64 have come", func() bool { return came.Load() == 9 })
	rest := visit(t, s, 3, "POST", "/api/v1/studies/"+id+"/tell", secret, body)
	testwait.Eventually(t, "the others are turned away", func() bool { return rest.turnedAway() == 3 })
	rest.letGo()
	rest.refused(t, "bytes of requests")
	s.API("POST", "/studies/"+id+"/verify", "{}").Want(200)
	close(end)
	fit.letGo()
	sitetest.Same(t, "turned away of those that fit", fit.turnedAway(), 0)
}

// TestABodyThatComesInDribblesHoldsLittleMore: what counts the bytes of a body does not take many times
// the memory that they do.
func TestABodyThatComesInDribblesHoldsLittleMore(t *testing.T) {
	s := sitetest.New(t)
	blank := strings.Repeat(" ", 64<<10)
	times := testing.AllocsPerRun(1, func() {
		visit(t, s, 1, "POST", "/api/v1/studies/none/ask", s.Admin, func() io.Reader { return iotest.OneByteReader(strings.NewReader(blank)) }).letGo()
	})
	if times > 10_000 {
		t.Errorf("a body of %d bytes that came one by one took memory %g times", len(blank), times)
	}
}

// late is a body of which the second half comes a while after the first, and after something has
// happened.
func late(text string, happens func()) io.Reader {
	half := len(text) / 2
	return io.MultiReader(strings.NewReader(text[:half]), &later{strings.NewReader(text[half:]), sync.OnceFunc(func() {
		happens()
		time.Sleep(1100 * time.Millisecond)
	})})
}

type later struct {
	io.Reader
	first func()
}

func (l *later) Read(into []byte) (int, error) {
	l.first()
	return l.Reader.Read(into)
}

// TestABodyThatComesLateIsNobodysAnyMore: who begins a request, and loses the right to make it before
// it has come, has made none; however long a program that was shut out keeps one for later.
func TestABodyThatComesLateIsNobodysAnyMore(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	bundle := string(s.API("GET", "/studies/"+id+"/export.json", nil).Want(200).Body)
	const form = "application/x-www-form-urlencoded"
	send := func(path, kind, body, header, credential string, happens func()) int {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, late(body, happens))
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Accept", "text/html")
		r.Header.Set(header, credential)
		answer := httptest.NewRecorder()
		s.Router.ServeHTTP(answer, r)
		return answer.Code
	}
	var wait sync.WaitGroup
	for _, try := range []struct{ path, kind, body, role string }{
		{"/api/v1/tokens", "application/json", `{"name": "Kept for later", "role": "admin"}`, "admin"},
		{"/people/invites", form, "invite.name=Eve&invite.role=admin", "admin"},
		{"/api/v1/studies/" + id + "/ask", "application/json", `{"count": 1}`, "operator"},
		{"/api/v1/studies/" + id + "/trials/1/tell", "application/json", `{"metrics": {"yield": 71}}`, "operator"},
		{"/api/v1/studies/import", "application/json", bundle, "operator"},
	} {
		wait.Go(func() {
			made := s.API("POST", "/tokens", map[string]string{"name": "Late at " + try.path, "role": try.role}).Want(201).JSON()
			revoke := func() { s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204) }
			sitetest.Same(t, try.path+" of a revoked token", send(try.path, try.kind, try.body, "Authorization", "Bearer "+made["token"].(string), revoke), http.StatusUnauthorized)
		})
	}
	wait.Wait()
	ana := browserOf(t, s, "Ana", account.Operator)
	lower := func() { must.Do(t, s.DB.Accounts.SetRole(t.Context(), ana.id(), account.Viewer)) }
	sitetest.Same(t, "a form of somebody who is no operator any more", send("/studies/"+id+"/ask", form, "count=1&key=", "Cookie", "headroom="+ana.cookies["headroom"], lower), http.StatusForbidden)
	sitetest.Same(t, "studies", len(s.API("GET", "/studies", nil).JSON()["studies"].([]any)), 1)
	s.API("GET", "/studies/"+id, nil).Has("version", 2.0)
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
// at a time, and what others ask for is not kept waiting, nor what they change themselves.
func TestAnswersToOneVisitorAreMadeFewAtATime(t *testing.T) {
	t.Parallel()
	store := &held{goOn: make(chan struct{})}
	s := sitetest.New(t, sitetest.Asking(t, func(of study.Store) study.Store {
		store.Store = of
		return store
	}))
	id := s.NewStudy(sitetest.Screen)
	shares := "/api/v1/studies/" + id + "/shares"
	share := s.Call("POST", shares, s.Admin, `{}`).Want(201).JSON()["id"].(string)
	secret := s.Token(account.Admin, "")
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	store.on.Store(true)
	places := int64(max(8, 2*runtime.GOMAXPROCS(0)))
	visitor := visit(t, s, 60, "GET", "/api/v1/studies/"+id+"/history", secret, nil)
	testwait.Eventually(t, "all places are taken", func() bool { return store.inside.Load() == places })
	other := visit(t, s, 1, "GET", "/api/v1/studies/"+id, s.Admin, nil)
	testwait.Eventually(t, "somebody else is served", func() bool { return store.inside.Load() == places+1 })
	s.Call("DELETE", shares+"/"+share, secret, nil).Want(204)
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

// TestWhoSendsTooMuchHearsSo: who sends all before reading an answer, as many clients do, reads it, and does
// not find the connection broken.
func TestWhoSendsTooMuchHearsSo(t *testing.T) {
	s := sitetest.Beside(t)
	host := strings.TrimPrefix(s.URL, "http://")
	connection := must.Get(net.Dial("tcp", host))(t)
	defer connection.Close()
	const size = 40 << 20
	fmt.Fprintf(connection, "POST /api/v1/studies HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", host, s.Admin, size)
	must.Get(connection.Write(bytes.Repeat([]byte(" "), size)))(t)
	answer := must.Get(http.ReadResponse(bufio.NewReader(connection), nil))(t)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(must.Get(io.ReadAll(answer.Body))(t)), "limit of 8 MiB") {
		t.Errorf("answered %s", answer.Status)
	}
}
