package http_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headroom/internal/account"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

const own = `{"parameters": {"temperature": 30, "catalyst": "A"}}`

func TestLedgerAsStream(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for range 4 {
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	}
	whole := listen(t, s, "/api/v1/studies/"+id+"/events", s.Admin)
	resumed := listen(t, s, "/api/v1/studies/"+id+"/events", s.Admin, "Last-Event-ID", "4")
	changes := listen(t, s, "/studies/"+id+"/stream?after=5", s.Admin)
	for _, want := range []string{"1", "2", "3", "4", "5"} {
		sitetest.Same(t, "line", whole.next(), "id: "+want)
		if got := whole.next(); !strings.HasPrefix(got, `data: {"seq":`+want) || !strings.Contains(got, `"hash":"`) {
			t.Errorf("line %q", got)
		}
	}
	sitetest.Same(t, "resumed at", resumed.next(), "id: 5")
	resumed.next()
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	for _, stream := range []*follower{whole, resumed, changes} {
		sitetest.Same(t, "news", stream.next(), "id: 6")
	}
	if event, data := changes.next(), changes.next(); event != "event: changed" || data != "data: 6" {
		t.Errorf("changes say %q, %q", event, data)
	}
	s.API("GET", "/studies/"+id+"/events", nil, "Last-Event-ID", "x").Faults(400)
	s.API("GET", "/studies/"+id+"/events", nil, "Last-Event-ID", "7").Faults(400, "header.Last-Event-ID")
	s.API("GET", "/studies/"+id+"/events?after=7", nil).Faults(422, "query.after")
	s.API("HEAD", "/studies/"+id+"/events", nil).Want(200)
	s.API("GET", "/studies/nosuch/events", nil).Faults(404)
}

// weighing is a store that knows how many bytes of events, of several, were read at once at most.
type weighing struct {
	study.Store
	most atomic.Int64
}

func (w *weighing) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	events, err := w.Store.Events(ctx, id, after, limit)
	bytes := int64(0)
	for _, e := range events {
		bytes += int64(len(e.Data))
	}
	if limit > 1 && bytes > w.most.Load() {
		w.most.Store(bytes)
	}
	return events, err
}

// TestAStreamHoldsLittleOfWhatIsLarge: of a long ledger of large events many streams hold a few each,
// however slowly they are read, and every one comes.
func TestAStreamHoldsLittleOfWhatIsLarge(t *testing.T) {
	store := &weighing{}
	s := sitetest.Beside(t, sitetest.Asking(t, func(of study.Store) study.Store {
		store.Store = of
		return store
	}))
	id := s.NewStudy(sitetest.Screen)
	const large = 60
	note := strings.Repeat("é", 10_000)
	for range large {
		s.API("POST", "/studies/"+id+"/trials", map[string]any{"parameters": map[string]any{"temperature": 30, "catalyst": "A"}, "note": note}).Want(201)
	}
	stream := listen(t, s, "/api/v1/studies/"+id+"/events", s.Admin)
	for seq := range large + 1 {
		sitetest.Same(t, "line", stream.next(), fmt.Sprint("id: ", seq+1))
		stream.next()
	}
	if got := store.most.Load(); got > 200<<10 {
		t.Errorf("%d bytes of events were read at once", got)
	}
}

// TestPagesOfTheLedgerAreBoundedInBytes: whoever asks for a thousand large events is given fewer,
// and has all of them by going on.
func TestPagesOfTheLedgerAreBoundedInBytes(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	rows := strings.Repeat("30,A,71.2,"+strings.Repeat("é", 10_000)+"\n", 300)
	s.API("POST", "/studies/"+id+"/import", "temperature,catalyst,yield,note\n"+rows, "Content-Type", "text/csv").Want(200)
	var page struct {
		Events []ledger.Event
		Next   *int64
	}
	seq := int64(0)
	for page.Next = new(seq); page.Next != nil; {
		answer := s.API("GET", fmt.Sprint("/studies/", id, "/ledger?after=", *page.Next), nil).Want(200)
		if page.Next = nil; len(answer.Body) > 5<<20 {
			t.Errorf("a page has %d bytes", len(answer.Body))
		}
		answer.Into(&page)
		for _, e := range page.Events {
			seq++
			sitetest.Same(t, "event", e.Seq, seq)
		}
	}
	sitetest.Same(t, "events", seq, 601)
}

// TestStreamsOutliveTheServersTimeouts: the deadlines that bound other answers do not cut a stream
// or a wait.
func TestStreamsOutliveTheServersTimeouts(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	const timeout = time.Second // in which a busy machine begins to read what was sent
	impatient := httptest.NewUnstartedServer(s.Router)
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = timeout, timeout
	impatient.Start()
	started := time.Now()
	there := s.At(impatient)
	t.Cleanup(impatient.CloseClientConnections)
	stream := listen(t, there, "/studies/"+id+"/stream", s.Admin)
	stream.next()
	testwait.Eventually(t, "the timeouts pass", func() bool { return time.Since(started) > 2*timeout })
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	there.API("GET", "/studies/"+id+"/trials/1?wait=1", nil).Want(200)
	for range 3 { // the rest of the first event, then the news
		if got := stream.next(); got == "id: 2" {
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
	stream := listen(t, s, "/api/v1/studies/"+id+"/events", s.Admin)
	stream.next()
	close(stopping)
	stream.untilEnd()
}

// news is a database that says when a study changed, or that nobody said so for a while.
type news struct {
	server.Database
	changes chan int64
}

func (n *news) Subscribe(string) (<-chan int64, func()) { return n.changes, func() {} }

// TestPagesLookAgainAfterTheDatabaseWasAway: what they asked for meanwhile may have been refused,
// also where nothing changed since.
func TestPagesLookAgainAfterTheDatabaseWasAway(t *testing.T) {
	t.Parallel()
	said := &news{changes: make(chan int64)}
	s := sitetest.New(t, func(o *server.Options) { said.Database, o.Database = o.Database, said })
	stream := listen(t, s, "/studies/"+s.NewStudy(sitetest.Screen)+"/stream", s.Admin)
	for _, data := range []string{"data: 1", "data: 0", "data: 7"} {
		for _, want := range []string{"id: ", "event: changed", data} {
			if got := stream.next(); !strings.HasPrefix(got, want) {
				t.Errorf("said %q, not %q", got, want)
			}
		}
		switch data {
		case "data: 1":
			said.changes <- 1 // is known
			said.changes <- 0
		case "data: 0":
			said.changes <- 7
		}
	}
}

// TestPagesFollowAStudyThatWentBack: a page that was open while an older backup was restored has heard
// of events that are not there any more, and has to hear of those that come in their place.
func TestPagesFollowAStudyThatWentBack(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	stream := listen(t, s, "/studies/"+id+"/stream", s.Admin, "Last-Event-ID", "9")
	for seq, data := range []string{1: "data: 0", 2: "data: 2"} {
		if data == "" {
			continue
		}
		for _, want := range []string{fmt.Sprint("id: ", seq), "event: changed", data} {
			sitetest.Same(t, "line", stream.next(), want)
		}
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	}
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

// TestNoticesAreBelieved: pages that hear that a study changed ask the store nothing to pass it on,
// and together once for what it became.
func TestNoticesAreBelieved(t *testing.T) {
	t.Parallel()
	store := &countingStore{}
	s := sitetest.New(t, sitetest.Asking(t, func(of study.Store) study.Store {
		store.Store = of
		return store
	}))
	elsewhere := s.Another() // whose own questions are not counted
	id := s.NewStudy(sitetest.Screen)
	var pages []*follower
	for range 5 {
		pages = append(pages, listen(t, s, "/studies/"+id+"/stream?after=1", s.Admin))
	}
	changes := func(heard string) {
		elsewhere.API("POST", "/studies/"+id+"/trials", own).Want(201)
		for _, page := range pages {
			for page.next() != heard {
			}
		}
	}
	changes("id: 2") // from here on the server listens, and no stream has still to find out where the study is
	before := store.questions.Load()
	changes("id: 3")
	sitetest.Same(t, "questions about a change whose number was known", store.questions.Load()-before, 0)
	var wait sync.WaitGroup
	for range pages {
		wait.Go(func() {
			s.Call("GET", "/studies/"+id+"/parts/status?seen=3", s.Admin, nil).Want(200).Says("trial 2 of 20")
		})
	}
	wait.Wait()
	asked := store.questions.Load() - before
	if asked < 1 || asked > int64(len(pages)) {
		t.Errorf("%d pages asked %d questions", len(pages), asked)
	}
	for _, part := range []string{"status", "progress", "trials", "beliefs", "next"} {
		s.Call("GET", "/studies/"+id+"/parts/"+part+"?seen=3", s.Admin, nil).Want(200)
	}
	sitetest.Same(t, "more questions about what is at hand", store.questions.Load()-before, asked)
}

// TestPartsDoNotStayBehind: a server that missed a change shows it to whoever heard of it
// elsewhere, and to whoever does not say.
func TestPartsDoNotStayBehind(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	other := s.Another() // has nothing at hand that the first one writes
	status := func(query string) string {
		t.Helper()
		return other.Page("/studies/" + id + "/parts/status" + query)
	}
	status("")
	for i, query := range []string{"?seen=2", "", "?seen=4", "?seen=99", "?seen=0"} {
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
		if part, want := status(query), fmt.Sprintf("trial %d of 20", i+1); !strings.Contains(part, want) {
			t.Errorf("with %q, no %q in %s", query, want, part)
		}
	}
}

// admit makes an operator who is signed in, and returns who they are and the header with their
// cookie.
func admit(t *testing.T, s *sitetest.Site, name string) (personID string, cookie []string) {
	t.Helper()
	session, secret, err := s.DB.Accounts.Redeem(t.Context(), s.Invite(name, account.Operator), "", "a browser")
	must.Do(t, err)
	return session.PersonID, []string{"Cookie", "headroom=" + secret}
}

// TestNobodyHearsAfterRevocation: whatever a stream came in with, and however many wrong
// credentials that begin alike came before, no event that is written after the credential ended
// reaches it.
func TestNobodyHearsAfterRevocation(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	person, cookie := admit(t, s, "Ana")
	leaver, leaving := admit(t, s, "Bo")
	made := s.API("POST", "/tokens", `{"name": "Screen", "role": "viewer"}`).Want(201).JSON()
	shared := s.API("POST", "/studies/"+id+"/shares", `{}`).Want(201).JSON()
	share := shared["url"].(string)[len("http://headroom.test/share/"):]
	sessions := must.Get(s.DB.Accounts.Sessions(t.Context(), person))(t)
	for what, credential := range map[string]struct {
		secret  string
		headers []string
		guessed string
		revoke  func()
	}{
		"a token":             {secret: made["token"].(string), guessed: made["token"].(string), revoke: func() { s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204) }},
		"a share link":        {headers: []string{"Cookie", "headroom-share=" + share}, guessed: share, revoke: func() { s.API("DELETE", "/studies/"+id+"/shares/"+shared["id"].(string), nil).Want(204) }},
		"a session":           {headers: cookie, guessed: strings.TrimPrefix(cookie[1], "headroom="), revoke: func() { must.Do(t, s.DB.Accounts.EndSession(t.Context(), person, sessions[0].ID)) }},
		"a disabled person's": {headers: leaving, guessed: strings.TrimPrefix(leaving[1], "headroom="), revoke: func() { must.Do(t, s.DB.Accounts.SetDisabled(t.Context(), leaver, true)) }},
	} {
		var streams []*follower
		after := fmt.Sprint("?after=", s.API("GET", "/studies/"+id, nil).Want(200).JSON()["version"])
		for i := range 30 {
			path := []string{"/api/v1/studies/" + id + "/events", "/studies/" + id + "/stream"}[i%2]
			streams = append(streams, listen(t, s, path+after, credential.secret, credential.headers...))
		}
		for i := range 70 {
			s.Call("GET", "/api/v1/studies", credential.guessed[:20]+fmt.Sprint(i), nil)
		}
		credential.revoke()
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
		for i, stream := range streams {
			if heard := stream.untilEnd(); len(heard) > 0 {
				t.Fatalf("%s: stream %d heard %q after its end", what, i, heard)
			}
		}
	}
}

// doubtful is a store of accounts that at times does not know.
type doubtful struct {
	account.Store
	unknown atomic.Bool
	asked   atomic.Int64
	refuses atomic.Bool
	until   time.Time // when what it knows ends, if that is not as stored
}

func (d *doubtful) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	if d.unknown.Load() {
		d.asked.Add(1)
		return account.Identity{}, fmt.Errorf("%w: no answer", study.ErrUnavailable)
	}
	if d.refuses.Load() {
		return account.Identity{}, account.ErrExpired
	}
	who, err := d.Store.Authenticate(ctx, secret)
	if !d.until.IsZero() {
		who.ExpiresAt = d.until
	}
	return who, err
}

// TestWhatEndsIsGoodNoLongerEvenAway: what was good before is good for figures while nobody knows,
// until it ends.
func TestWhatEndsIsGoodNoLongerEvenAway(t *testing.T) {
	for until, want := range map[time.Time]int{{}: 200, time.Now().Add(time.Hour): 200, time.Now().Add(-time.Hour): 503} {
		t.Run(strconv.Itoa(want), func(t *testing.T) {
			accounts := &doubtful{until: until}
			s := sitetest.Beside(t, func(o *server.Options) { accounts.Store, o.Accounts = o.Accounts, accounts })
			s.Call("GET", "/metrics", s.Admin, nil).Want(200)
			accounts.unknown.Store(true)
			s.Call("GET", "/metrics", s.Admin, nil).Want(want)
		})
	}
}

// TestEventsAreSentToWhomTheyAreForWhenTheyAreRead: they may be read before it is announced that
// accounts have changed.
func TestEventsAreSentToWhomTheyAreForWhenTheyAreRead(t *testing.T) {
	accounts := &doubtful{}
	s := sitetest.Beside(t, func(o *server.Options) { accounts.Store, o.Accounts = o.Accounts, accounts })
	id := s.NewStudy(sitetest.Screen)
	stream := listen(t, s, "/api/v1/studies/"+id+"/events", s.Admin)
	sitetest.Same(t, "line", stream.next(), "id: 1")
	stream.next()
	accounts.refuses.Store(true)
	s.Another().API("POST", "/studies/"+id+"/trials", own).Want(201)
	if heard := stream.untilEnd(); len(heard) > 0 {
		t.Errorf("who may not hear any more heard %q", heard)
	}
}

// TestNothingIsSentWhileItIsNotKnownWhoMayHear: a database that does not say whether a stream may
// stay keeps its events back. Who may hear gets them all as soon as that is known, and who may not
// gets none.
func TestNothingIsSentWhileItIsNotKnownWhoMayHear(t *testing.T) {
	t.Parallel()
	accounts := &doubtful{}
	s := sitetest.New(t, func(o *server.Options) { accounts.Store, o.Accounts = o.Accounts, accounts })
	id := s.NewStudy(sitetest.Screen)
	stays := s.API("POST", "/tokens", `{"name": "Stays", "role": "viewer"}`).Want(201).JSON()
	goes := s.API("POST", "/tokens", `{"name": "Goes", "role": "viewer"}`).Want(201).JSON()
	staying := listen(t, s, "/studies/"+id+"/stream?after=1", stays["token"].(string))
	going := listen(t, s, "/studies/"+id+"/stream?after=1", goes["token"].(string))
	elsewhere := s.Another() // which knows
	accounts.unknown.Store(true)
	elsewhere.API("DELETE", "/tokens/"+goes["id"].(string), nil).Want(204)
	elsewhere.API("POST", "/studies/"+id+"/trials", own).Want(201)
	testwait.Eventually(t, "both streams ask twice whether they may stay", func() bool { return accounts.asked.Load() >= 4 })
	for name, stream := range map[string]*follower{"who stays": staying, "who goes": going} {
		if heard := stream.soFar(); len(heard) > 0 {
			t.Errorf("%s heard %q while nobody knew", name, heard)
		}
	}
	accounts.unknown.Store(false)
	sitetest.Same(t, "who stays hears", staying.next(), "id: 2")
	if heard := going.untilEnd(); len(heard) > 0 {
		t.Errorf("who goes heard %q", heard)
	}
}

// watching counts those who wait for a study.
type watching struct {
	server.Database
	subscribed atomic.Int64
}

func (w *watching) Subscribe(studyID string) (<-chan int64, func()) {
	defer w.subscribed.Add(1)
	return w.Database.Subscribe(studyID)
}

// TestRevokedWaitIsNotAnswered: who waits for a trial and loses the right to see it meanwhile is
// not told of it, but why.
func TestRevokedWaitIsNotAnswered(t *testing.T) {
	t.Parallel()
	watched := &watching{}
	s := sitetest.New(t, func(o *server.Options) { watched.Database, o.Database = o.Database, watched })
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	made := s.API("POST", "/tokens", `{"name": "Waits", "role": "viewer"}`).Want(201).JSON()
	answered := make(chan sitetest.Answer, 1)
	go func() {
		answered <- s.Call("GET", "/api/v1/studies/"+id+"/trials/1?wait=60", made["token"].(string), nil)
	}()
	testwait.Eventually(t, "somebody waits", func() bool { return watched.subscribed.Load() > 0 })
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 71, "impurity": 0.2}}`).Want(200)
	if got := <-answered; got.Status != http.StatusUnauthorized {
		t.Errorf("answered with %d: %s", got.Status, got.Body)
	}
}

// TestUndoIsForWhoSaved: somebody of the same name, a token of the same name, and whoever imports
// what was saved elsewhere, are somebody else.
func TestUndoIsForWhoSaved(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	person, _ := admit(t, s, "Ana")
	robot := func(owner string) (secret string) {
		_, secret, err := s.DB.Accounts.CreateToken(t.Context(), account.Identity{Name: "Setup", Role: account.Operator, OwnerID: owner}, account.NewToken{Name: "Robot", Role: account.Operator})
		must.Do(t, err)
		return secret
	}
	one, other := robot(person), robot("")
	s.Call("POST", "/api/v1/studies/"+id+"/trials/1/tell", one, `{"metrics": {"yield": 71}}`).Want(200)
	s.Call("POST", "/api/v1/studies/"+id+"/trials/1/undo", other, nil).Want(409)
	bundle := s.API("GET", "/studies/"+id+"/export.json", nil).Want(200).Body
	copied := s.API("POST", "/studies/import", bundle).Want(201).JSON()["id"].(string)
	s.Call("POST", "/api/v1/studies/"+copied+"/trials/1/undo", one, nil).Want(409).Says("came with the study from elsewhere")
	again := s.Another() // which has nothing at hand: what is stored says who saved
	again.Call("POST", "/api/v1/studies/"+id+"/trials/1/undo", one, nil).Want(200)
}

// TestDisablingSaysWhatEndsWithIt: the page lists what somebody gave out before they are disabled.
func TestDisablingSaysWhatEndsWithIt(t *testing.T) {
	s := sitetest.Beside(t)
	person, _ := admit(t, s, "Ana")
	_, secret, err := s.DB.Accounts.CreateToken(t.Context(), account.Identity{Name: "Ana", Role: account.Operator, OwnerID: person}, account.NewToken{Name: "HPLC upload", Role: account.Operator})
	must.Do(t, err)
	sitetest.Says(t, s.Page("/people"), "This also ends what Ana gave out, which others may be using: the token “HPLC upload”.")
	s.Call("POST", "/people/"+person+"/disable", s.Admin, "", "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded").Want(303)
	s.Call("GET", "/api/v1/studies", secret, nil).Want(401)
	if page := s.Page("/people"); strings.Contains(page, "/people/"+person+"/link") {
		t.Error("a sign-in link is offered for somebody who may not sign in")
	}
}
