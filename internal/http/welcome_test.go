package http_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"headroom/internal/account"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
)

// admit makes an operator who is signed in, and returns who they are and the header with their cookie.
func admit(t *testing.T, s *sitetest.Site, name string) (personID string, cookie []string) {
	t.Helper()
	_, link, err := s.DB.Accounts.CreateInvite(t.Context(), account.Identity{Name: "Setup", Role: account.Admin}, account.NewInvite{Name: name, Role: account.Operator})
	if err != nil {
		t.Fatal(err)
	}
	session, secret, err := s.DB.Accounts.Redeem(t.Context(), link, "a browser")
	if err != nil {
		t.Fatal(err)
	}
	return session.PersonID, []string{"Cookie", "headroom=" + secret}
}

// TestNobodyHearsAfterRevocation: whatever a stream came in with, and however many wrong credentials that begin alike came before, no event that is
// written after the credential ended reaches it.
func TestNobodyHearsAfterRevocation(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	person, cookie := admit(t, s, "Ana")
	leaver, leaving := admit(t, s, "Bo")
	made := s.API("POST", "/tokens", `{"name": "Screen", "role": "viewer"}`).Want(201).JSON()
	shared := s.API("POST", "/studies/"+id+"/shares", `{}`).Want(201).JSON()
	share := shared["url"].(string)[len("http://headroom.test/share/"):]
	sessions, err := s.DB.Accounts.Sessions(t.Context(), person)
	if err != nil {
		t.Fatal(err)
	}
	for what, credential := range map[string]struct {
		secret  string
		headers []string
		guessed string
		revoke  func()
	}{
		"a token":             {secret: made["token"].(string), guessed: made["token"].(string), revoke: func() { s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204) }},
		"a share link":        {headers: []string{"Cookie", "headroom-share=" + share}, guessed: share, revoke: func() { s.API("DELETE", "/studies/"+id+"/shares/"+shared["id"].(string), nil).Want(204) }},
		"a session":           {headers: cookie, guessed: strings.TrimPrefix(cookie[1], "headroom="), revoke: func() { must(t, s.DB.Accounts.EndSession(t.Context(), person, sessions[0].ID)) }},
		"a disabled person's": {headers: leaving, guessed: strings.TrimPrefix(leaving[1], "headroom="), revoke: func() { must(t, s.DB.Accounts.SetDisabled(t.Context(), leaver, true)) }},
	} {
		var streams []*sitetest.Stream
		for i := range 30 {
			path := []string{"/api/v1/studies/" + id + "/events?after=1000", "/studies/" + id + "/stream?after=1000"}[i%2]
			streams = append(streams, s.Listen(path, credential.secret, credential.headers...))
		}
		for i := range 70 {
			s.Call("GET", "/api/v1/studies", credential.guessed[:20]+fmt.Sprint(i), nil)
		}
		credential.revoke()
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
		for i, stream := range streams {
			if heard := stream.UntilEnd(); len(heard) > 0 {
				t.Fatalf("%s: stream %d heard %q after its end", what, i, heard)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// doubtful is a store of accounts that at times does not know.
type doubtful struct {
	account.Store
	unknown atomic.Bool
	asked   atomic.Int64
}

func (d *doubtful) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	if d.unknown.Load() {
		d.asked.Add(1)
		return account.Identity{}, fmt.Errorf("%w: no answer", study.ErrUnavailable)
	}
	return d.Store.Authenticate(ctx, secret)
}

// TestNothingIsSentWhileItIsNotKnownWhoMayHear: a database that does not say whether a stream may stay keeps its events back. Who may hear gets them
// all as soon as that is known, and who may not gets none.
func TestNothingIsSentWhileItIsNotKnownWhoMayHear(t *testing.T) {
	t.Parallel()
	accounts := &doubtful{}
	s := sitetest.New(t, func(o *server.Options) { accounts.Store, o.Accounts = o.Accounts, accounts })
	id := s.NewStudy(sitetest.Screen)
	stays := s.API("POST", "/tokens", `{"name": "Stays", "role": "viewer"}`).Want(201).JSON()
	goes := s.API("POST", "/tokens", `{"name": "Goes", "role": "viewer"}`).Want(201).JSON()
	staying := s.Listen("/studies/"+id+"/stream?after=1", stays["token"].(string))
	going := s.Listen("/studies/"+id+"/stream?after=1", goes["token"].(string))
	web := httptest.NewServer(s.Server()) // which knows
	t.Cleanup(web.Close)
	elsewhere := at(s, web)
	accounts.unknown.Store(true)
	elsewhere.API("DELETE", "/tokens/"+goes["id"].(string), nil).Want(204)
	elsewhere.API("POST", "/studies/"+id+"/trials", own).Want(201)
	sitetest.Eventually(t, "both streams ask twice whether they may stay", func() bool { return accounts.asked.Load() >= 4 })
	for name, stream := range map[string]*sitetest.Stream{"who stays": staying, "who goes": going} {
		if heard := stream.SoFar(); len(heard) > 0 {
			t.Errorf("%s heard %q while nobody knew", name, heard)
		}
	}
	accounts.unknown.Store(false)
	if got := staying.Next(); got != "id: 2" {
		t.Errorf("who stays hears %q", got)
	}
	if heard := going.UntilEnd(); len(heard) > 0 {
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

// TestRevokedWaitIsNotAnswered: who waits for a trial and loses the right to see it meanwhile is not told of it.
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
	sitetest.Eventually(t, "somebody waits", func() bool { return watched.subscribed.Load() > 0 })
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 71, "impurity": 0.2}}`).Want(200)
	if got := <-answered; got.Status != http.StatusUnauthorized && got.Status != http.StatusNotFound {
		t.Errorf("answered with %d: %s", got.Status, got.Body)
	}
}

// TestUndoIsForWhoSaved: somebody of the same name, a token of the same name, and whoever imports what was saved elsewhere, are somebody else.
func TestUndoIsForWhoSaved(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	person, _ := admit(t, s, "Ana")
	robot := func(owner string) (secret string) {
		_, secret, err := s.DB.Accounts.CreateToken(t.Context(), account.Identity{Name: "Setup", Role: account.Operator, OwnerID: owner}, account.NewToken{Name: "Robot", Role: account.Operator})
		must(t, err)
		return secret
	}
	one, other := robot(person), robot("")
	s.Call("POST", "/api/v1/studies/"+id+"/trials/1/tell", one, `{"metrics": {"yield": 71}}`).Want(200)
	s.Call("POST", "/api/v1/studies/"+id+"/trials/1/undo", other, nil).Want(409)
	bundle := s.API("GET", "/studies/"+id+"/export.json", nil).Want(200).Body
	copied := s.API("POST", "/studies/import", bundle).Want(201).JSON()["id"].(string)
	s.Call("POST", "/api/v1/studies/"+copied+"/trials/1/undo", one, nil).Want(409)
	again := at(s, serving(t, s)) // which has nothing at hand: what is stored says who saved
	again.Call("POST", "/api/v1/studies/"+id+"/trials/1/undo", one, nil).Want(200)
}

func serving(t *testing.T, s *sitetest.Site) *httptest.Server {
	web := httptest.NewServer(s.Server())
	t.Cleanup(web.Close)
	return web
}

// TestDisablingSaysWhatEndsWithIt: the page lists what somebody gave out before they are disabled.
func TestDisablingSaysWhatEndsWithIt(t *testing.T) {
	s := sitetest.Beside(t)
	person, _ := admit(t, s, "Ana")
	_, secret, err := s.DB.Accounts.CreateToken(t.Context(), account.Identity{Name: "Ana", Role: account.Operator, OwnerID: person}, account.NewToken{Name: "HPLC upload", Role: account.Operator})
	must(t, err)
	page := s.Page("/people")
	sitetest.Says(t, page, "This also ends what Ana gave out, which others may be using: the token “HPLC upload”.")
	s.Call("POST", "/people/"+person+"/disable", s.Admin, "", "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded").Want(303)
	s.Call("GET", "/api/v1/studies", secret, nil).Want(401)
}
