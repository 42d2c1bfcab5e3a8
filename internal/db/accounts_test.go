package db_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
)

var terminal = account.Identity{Kind: account.ByToken, Name: "terminal", Role: account.Admin}

func TestTokenIsRecognisedUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	token, secret := robot(t, d, account.NewToken{Name: "robot", Role: account.Operator})
	who, err := d.Accounts.Authenticate(ctx, secret)
	if err != nil || who.Kind != account.ByToken || who.ID != token.ID || who.Name != "robot" || who.Role != account.Operator {
		t.Fatalf("got %+v, %v", who, err)
	}
	tokens, err := d.Accounts.Tokens(ctx)
	if err != nil || len(tokens) != 1 || tokens[0].LastUsed == nil {
		t.Fatalf("the use was not noted: %+v, %v", tokens, err)
	}
	if made, used := tokens[0].CreatedAt, *tokens[0].LastUsed; made.Location() != time.UTC || used.Location() != time.UTC {
		t.Errorf("times are not in UTC: made %v, used %v", made, used)
	}
	pokes, cancel := d.SubscribeAccounts()
	defer cancel()
	must.Do(t, d.Accounts.RevokeToken(ctx, token.ID))
	receive(t, pokes)
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("a revoked token got %v", err)
	}
	if _, _, err := d.Accounts.CreateToken(ctx, who, account.NewToken{Name: "late", Role: account.Viewer}); !errors.Is(err, account.ErrExpired) {
		t.Errorf("a request of the revoked, under way, made a token: %v", err)
	}
	if _, err := d.Accounts.Authenticate(ctx, secret+"x"); !errors.Is(err, account.ErrNoCredentials) {
		t.Fatalf("an unknown token got %v", err)
	}
	if err := d.Accounts.RevokeToken(ctx, "nobody"); !errors.Is(err, account.ErrNotFound) {
		t.Fatalf("revoking an unknown token got %v", err)
	}
}

// TestADatabaseThatTakesNoWritesIsRead: as one is that its maintainer, or a full disk, made
// read-only; that a token was used is then not noted.
func TestADatabaseThatTakesNoWritesIsRead(t *testing.T) {
	t.Parallel()
	url, ctx := dbtest.URL(t), t.Context()
	_, secret := robot(t, open(t, url), account.NewToken{Name: "robot", Role: account.Viewer})
	d := open(t, url)
	must.Get(d.Pool().Exec(ctx, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`))(t)
	d.Pool().Reset()
	if _, err := d.Accounts.Authenticate(ctx, secret); err != nil {
		t.Errorf("a reader got %v", err)
	}
	if err := d.Accounts.RevokeToken(ctx, "nobody"); !errors.Is(err, study.ErrUnavailable) {
		t.Errorf("a writer got %v", err)
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	_, secret := robot(t, d, account.NewToken{Name: "robot", Role: account.Viewer})
	var stored string
	must.Do(t, d.Pool().QueryRow(ctx, `SELECT credentials::text || encode(hash, 'escape') FROM credentials`).Scan(&stored))
	if strings.Contains(stored, secret) {
		t.Fatalf("the secret is in the database: %s", stored)
	}
}

func TestExpiredTokenIsRefused(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	soon := time.Now().Add(time.Hour)
	_, secret := robot(t, d, account.NewToken{Name: "robot", Role: account.Viewer, ExpiresAt: &soon})
	d.SetClock(func() time.Time { return soon })
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("got %v", err)
	}
}

func TestTokenForAnUnknownStudyNamesTheField(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	_, _, err := d.Accounts.CreateToken(t.Context(), terminal, account.NewToken{Name: "robot", Role: account.Viewer, StudyID: new("nowhere")})
	var invalid *account.Invalid
	if !errors.As(err, &invalid) || invalid.Field != "study_id" {
		t.Fatalf("got %v", err)
	}
}

func TestInviteMakesAPersonOnce(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	_, secret := must.Get2(d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "Ana", Role: account.Operator}))(t)
	if link, err := d.Accounts.Look(ctx, secret); err != nil || link.Name != "Ana" || link.Kind != account.Invite {
		t.Fatalf("looking got %+v, %v", link, err)
	}
	var wait sync.WaitGroup
	secrets := make(chan string, 10)
	release := hold(t, d, "credentials")
	for range 10 {
		wait.Go(func() {
			_, session, err := d.Accounts.Redeem(ctx, secret, "", "Firefox\x00")
			if err == nil {
				secrets <- session
			} else if !errors.Is(err, account.ErrUsed) {
				t.Errorf("a second redemption got %v", err)
			}
		})
	}
	release(10)
	wait.Wait()
	if len(secrets) != 1 {
		t.Fatalf("the link worked %d times", len(secrets))
	}
	who, err := d.Accounts.Authenticate(ctx, <-secrets)
	if err != nil || who.Name != "Ana" || who.Role != account.Operator || who.Kind != account.BySession {
		t.Fatalf("got %+v, %v", who, err)
	}
	if _, _, err := d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "ANA", Role: account.Viewer}); !errors.Is(err, account.ErrNameTaken) {
		t.Fatalf("a second Ana got %v", err)
	}
	_, one := must.Get2(d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "Åsa Öberg", Role: account.Viewer}))(t)
	_, other := must.Get2(d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "åsa öberg", Role: account.Viewer}))(t)
	must.Get2(d.Accounts.Redeem(ctx, one, "", ""))(t)
	if _, _, err := d.Accounts.Redeem(ctx, other, "", ""); !errors.Is(err, account.ErrNameTaken) {
		t.Errorf("a second Åsa got %v", err)
	}
	if _, _, err := d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "ÅSA ÖBERG", Role: account.Viewer}); !errors.Is(err, account.ErrNameTaken) {
		t.Errorf("an invite for a third got %v", err)
	}
}

// A link lets somebody in by being redeemed, and nothing else can be.
func TestKindsOfSecretsDoNotStandForOneAnother(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	_, invite := must.Get2(d.Accounts.CreateInvite(ctx, terminal, account.NewInvite{Name: "Ana", Role: account.Admin}))(t)
	if who, err := d.Accounts.Authenticate(ctx, invite); !errors.Is(err, account.ErrNoCredentials) {
		t.Errorf("an invite's secret is %+v, %v", who, err)
	}
	_, session := signIn(t, d, firstAdmin(t, d).ID)
	for _, secret := range []string{"first secret", session} {
		if _, _, err := d.Accounts.Redeem(ctx, secret, "", ""); !errors.Is(err, account.ErrNoCredentials) {
			t.Errorf("redeeming %q got %v", secret, err)
		}
	}
}

func TestSignInLinkLastsTenMinutes(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	admin := firstAdmin(t, d)
	_, secret := must.Get2(d.Accounts.CreateSignInLink(ctx, terminal, admin.ID))(t)
	d.SetClock(func() time.Time { return time.Now().Add(account.SignInLinkLife) })
	if _, _, err := d.Accounts.Redeem(ctx, secret, "", ""); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("got %v", err)
	}
}

func TestSessionSlidesAndEnds(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	admin := firstAdmin(t, d)
	session, secret := signIn(t, d, admin.ID)
	later := time.Now().Add(account.SessionIdleLife - time.Hour)
	d.SetClock(func() time.Time { return later })
	must.Get(d.Accounts.Authenticate(ctx, secret))(t)
	later = later.Add(account.SessionIdleLife - time.Hour) // would be over but for the visit
	if _, err := d.Accounts.Authenticate(ctx, secret); err != nil {
		t.Fatalf("the visit did not prolong the session: %v", err)
	}
	who := must.Get(d.Accounts.Authenticate(ctx, secret))(t)
	must.Get2(d.Accounts.CreateSignInLink(ctx, who, admin.ID))(t)
	must.Do(t, d.Accounts.EndSession(ctx, admin.ID, session.ID))
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("a signed-out session got %v", err)
	}
	if _, _, err := d.Accounts.CreateSignInLink(ctx, who, admin.ID); !errors.Is(err, account.ErrExpired) {
		t.Errorf("a request of the signed-out, under way, made a link: %v", err)
	}
	_, secret = signIn(t, d, admin.ID)
	later = later.Add(account.SessionIdleLife)
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("an idle session got %v", err)
	}
}

func TestLastSeenOutlastsTheSession(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	seen := func(what string) time.Time {
		t.Helper()
		people := must.Get(d.Accounts.People(ctx))(t)
		for _, p := range people {
			if p.ID == bo && p.LastSeen != nil {
				return *p.LastSeen
			}
		}
		t.Fatalf("%s was never seen", what)
		return time.Time{}
	}
	later := time.Now()
	d.SetClock(func() time.Time { return later })
	var last account.Session
	for range 2 {
		later = later.Add(time.Hour)
		last, _ = signIn(t, d, bo)
		must.Do(t, d.Accounts.EndSession(ctx, bo, last.ID))
	}
	for what, then := range map[string]func() error{
		"who signed out":              func() error { return nil },
		"who stayed away for a month": func() error { return d.RemoveExpired(ctx, later.AddDate(0, 1, 0)) },
		"who was shut out":            func() error { return d.Accounts.SetDisabled(ctx, bo, true) },
	} {
		must.Do(t, then())
		if at := seen(what); !at.Equal(last.LastSeen) {
			t.Errorf("%s was seen at %s, not %s", what, at, last.LastSeen)
		}
	}
	if sessions, err := d.Accounts.Sessions(ctx, bo); err != nil || len(sessions) > 0 {
		t.Errorf("ended sessions are listed: %+v, %v", sessions, err)
	}
}

func TestLastAdminStays(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	admin := firstAdmin(t, d)
	if err := d.Accounts.SetRole(ctx, admin.ID, account.Viewer); !errors.Is(err, account.ErrLastAdmin) {
		t.Fatalf("demoting the last admin got %v", err)
	}
	if err := d.Accounts.SetDisabled(ctx, admin.ID, true); !errors.Is(err, account.ErrLastAdmin) {
		t.Fatalf("disabling the last admin got %v", err)
	}
	second := invited(t, d, "Bo", account.Admin)
	// Each demotes the other at once: one must fail.
	var wait sync.WaitGroup
	errs := make([]error, 2)
	release := hold(t, d, "people")
	for i, id := range []string{admin.ID, second} {
		wait.Go(func() { errs[i] = d.Accounts.SetRole(ctx, id, account.Viewer) })
	}
	release(2)
	wait.Wait()
	if errors.Is(errs[0], account.ErrLastAdmin) == errors.Is(errs[1], account.ErrLastAdmin) {
		t.Fatalf("got %v and %v", errs[0], errs[1])
	}
}

func TestDisabledPersonIsOutAtOnce(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	_, secret := signIn(t, d, bo)
	_, link := must.Get2(d.Accounts.CreateSignInLink(ctx, terminal, bo))(t)
	must.Do(t, d.Accounts.SetDisabled(ctx, bo, true))
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("the session of a disabled person got %v", err)
	}
	if _, _, err := d.Accounts.Redeem(ctx, link, "", ""); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("the link of a disabled person got %v", err)
	}
}

func TestShareReadsOneStudy(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	createStudy(t, d, "one")
	expires := time.Now().Add(time.Hour)
	share, secret := must.Get2(d.Accounts.CreateShare(ctx, terminal, account.NewShare{StudyID: "one", Name: "reviewers", ExpiresAt: expires}))(t)
	who, err := d.Accounts.Authenticate(ctx, secret)
	if err != nil || !who.MayRead("one") || who.MayRead("two") || who.MayOperate("one") || who.MayCreateStudies() {
		t.Fatalf("got %+v, %v", who, err)
	}
	if err := d.Accounts.RevokeShare(ctx, "two", share.ID); !errors.Is(err, account.ErrNotFound) {
		t.Fatalf("revoking through another study got %v", err)
	}
	must.Do(t, d.Accounts.RevokeShare(ctx, "one", share.ID))
	if _, err := d.Accounts.Authenticate(ctx, secret); !errors.Is(err, account.ErrExpired) {
		t.Fatalf("a revoked share got %v", err)
	}
	_, _, err = d.Accounts.CreateShare(ctx, terminal, account.NewShare{StudyID: "nowhere", Name: "x", ExpiresAt: expires})
	if !errors.Is(err, account.ErrNotFound) {
		t.Fatalf("sharing no study got %v", err)
	}
}

// robot makes a token.
func robot(t *testing.T, d *db.DB, want account.NewToken) (account.Token, string) {
	t.Helper()
	return must.Get2(d.Accounts.CreateToken(t.Context(), terminal, want))(t)
}

// admitted tries a secret as an admin's.
func admitted(t *testing.T, d *db.DB, secret string, want error) {
	t.Helper()
	who, err := d.Accounts.Authenticate(t.Context(), secret)
	if !errors.Is(err, want) || want == nil && !who.MayAdminister() {
		t.Errorf("%q got %+v, %v, want %v", secret, who, err, want)
	}
}

func TestNewAdminTokenEndsTheOldOne(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	first := firstAdmin(t, d)
	must.Do(t, d.Accounts.AdmitServer(ctx, "another secret", true))
	if again, err := d.Accounts.EnsureAdmin(ctx); err != nil || again.ID != first.ID {
		t.Fatalf("got %+v, %v", again, err)
	}
	admitted(t, d, "first secret", account.ErrExpired)
	admitted(t, d, "another secret", nil)
	if err := d.Accounts.AdmitServer(ctx, "first secret", true); !errors.Is(err, account.ErrExpired) {
		t.Errorf("what was ended came back: %v", err)
	}
	admitted(t, d, "first secret", account.ErrExpired)
}

func TestARevokedAdminTokenStaysRevoked(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	for _, given := range []bool{true, false} {
		secret := fmt.Sprint("secret of a server, given: ", given)
		must.Do(t, d.Accounts.AdmitServer(ctx, secret, given))
		admitted(t, d, secret, nil)
		who := must.Get(d.Accounts.Authenticate(ctx, secret))(t)
		must.Do(t, d.Accounts.RevokeToken(ctx, who.ID))
		for range 2 { // starts
			if err := d.Accounts.AdmitServer(ctx, secret, given); !errors.Is(err, account.ErrExpired) {
				t.Errorf("a revoked token was taken again: %v", err)
			}
			admitted(t, d, secret, account.ErrExpired)
		}
	}
	token, secret := robot(t, d, account.NewToken{Name: "robot", Role: account.Viewer})
	if err := d.Accounts.AdmitServer(ctx, secret, true); err == nil || errors.Is(err, account.ErrExpired) {
		t.Errorf("the secret of token %s got %v", token.ID, err)
	}
}

func TestServersWithTokensOfTheirOwnLetEachOtherBe(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	secrets := []string{"kept by one server", "kept by another server"}
	for range 2 { // starts
		for _, secret := range secrets {
			must.Do(t, d.Accounts.AdmitServer(ctx, secret, false))
		}
		for _, secret := range secrets {
			admitted(t, d, secret, nil)
		}
	}
	must.Do(t, d.Accounts.AdmitServer(ctx, "given to a third", true))
	admitted(t, d, secrets[0], nil)
	if tokens, err := d.Accounts.Tokens(ctx); err != nil || len(tokens) != 3 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}

func TestOnceMakesOneToken(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	key := &study.IdempotencyKey{Caller: "person:a", Request: "POST /api/v1/tokens", Key: "k", Body: sha256.New()}
	var wait sync.WaitGroup
	results := make([]error, 10)
	for i := range results {
		wait.Go(func() {
			results[i] = d.Once(ctx, key, func(ctx context.Context) ([]byte, error) {
				awaitLockWait(t, d) // another one has come and waits
				_, _, err := d.Accounts.CreateToken(ctx, terminal, account.NewToken{Name: "robot", Role: account.Viewer})
				return []byte("made"), err
			})
		})
	}
	wait.Wait()
	made := 0
	for _, err := range results {
		var first *study.AlreadyDone
		switch {
		case err == nil:
			made++
		case !errors.As(err, &first) || string(first.Done.Made) != "made":
			t.Errorf("got %v", err)
		}
	}
	if tokens, err := d.Accounts.Tokens(ctx); err != nil || made != 1 || len(tokens) != 1 {
		t.Fatalf("made %d, stored %d, %v", made, len(tokens), err)
	}
	failing := *key
	failing.Key = "fails"
	want := errors.New("no")
	err := d.Once(ctx, &failing, func(ctx context.Context) ([]byte, error) {
		if _, _, err := d.Accounts.CreateToken(ctx, terminal, account.NewToken{Name: "lost", Role: account.Viewer}); err != nil {
			t.Error(err)
		}
		return nil, want
	})
	if tokens, listErr := d.Accounts.Tokens(ctx); !errors.Is(err, want) || listErr != nil || len(tokens) != 1 {
		t.Fatalf("a failed request left %d tokens, %v, %v", len(tokens), err, listErr)
	}
	if err := d.Before(ctx, &failing); err != nil {
		t.Fatalf("a failed request was kept: %v", err)
	}
}

// firstAdmin sets the admin token to "first secret".
func firstAdmin(t *testing.T, d *db.DB) account.Person {
	t.Helper()
	must.Do(t, d.Accounts.AdmitServer(t.Context(), "first secret", true))
	return must.Get(d.Accounts.EnsureAdmin(t.Context()))(t)
}

// signIn gives a person a session.
func signIn(t *testing.T, d *db.DB, personID string) (account.Session, string) {
	t.Helper()
	_, link := must.Get2(d.Accounts.CreateSignInLink(t.Context(), terminal, personID))(t)
	return must.Get2(d.Accounts.Redeem(t.Context(), link, "", "test"))(t)
}

// invited makes a person by an invite.
func invited(t *testing.T, d *db.DB, name string, role account.Role) string {
	t.Helper()
	return enters(t, d, terminal, name, role).PersonID
}

// enters lets somebody in, and returns who they are as their requests say it.
func enters(t *testing.T, d *db.DB, by account.Identity, name string, role account.Role) account.Identity {
	t.Helper()
	_, link := must.Get2(d.Accounts.CreateInvite(t.Context(), by, account.NewInvite{Name: name, Role: role}))(t)
	_, secret := must.Get2(d.Accounts.Redeem(t.Context(), link, "", "a browser"))(t)
	return must.Get(d.Accounts.Authenticate(t.Context(), secret))(t)
}

// TestWhoIsDisabledLeavesNothingBehind: tokens, those that were made with them, invites, sign-in
// links for others and share links end with the person; those of others stay. What is refused stays
// refused when the person is let in again. Whoever is no admin any more loses what they could not
// have given.
func TestWhoIsDisabledLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	createStudy(t, d, "one")
	const study = "one"
	ana, bo := enters(t, d, terminal, "Ana", account.Admin), enters(t, d, terminal, "Bo", account.Admin)
	day := time.Now().Add(24 * time.Hour)
	type given struct{ admin, second, viewer, share, invite, signIn string }
	give := func(by account.Identity) (g given) {
		t.Helper()
		var errs [6]error
		_, g.admin, errs[0] = d.Accounts.CreateToken(ctx, by, account.NewToken{Name: "Admin", Role: account.Admin})
		token, err := d.Accounts.Authenticate(ctx, g.admin)
		_, g.second, errs[1] = d.Accounts.CreateToken(ctx, token, account.NewToken{Name: "Of the token", Role: account.Admin})
		_, g.viewer, errs[2] = d.Accounts.CreateToken(ctx, token, account.NewToken{Name: "Viewer", Role: account.Viewer})
		_, g.share, errs[3] = d.Accounts.CreateShare(ctx, by, account.NewShare{StudyID: study, Name: "Reviewer", ExpiresAt: day})
		_, g.invite, errs[4] = d.Accounts.CreateInvite(ctx, token, account.NewInvite{Name: "Guest of " + by.Name, Role: account.Admin})
		_, g.signIn, errs[5] = d.Accounts.CreateSignInLink(ctx, by, bo.PersonID)
		must.Do(t, errors.Join(append(errs[:], err)...))
		return g
	}
	lives := func(g given) (alive []bool) {
		for _, secret := range []string{g.admin, g.second, g.viewer, g.share} {
			_, err := d.Accounts.Authenticate(ctx, secret)
			alive = append(alive, err == nil)
		}
		for _, secret := range []string{g.invite, g.signIn} {
			_, err := d.Accounts.Look(ctx, secret)
			alive = append(alive, err == nil)
		}
		return alive
	}
	want := func(when string, g given, admins, others, links bool) {
		t.Helper()
		if got := lives(g); !slices.Equal(got, []bool{admins, admins, others, others, links, links}) {
			t.Errorf("%s: %v", when, got)
		}
	}
	anas, bos := give(ana), give(bo)
	want("at first", anas, true, true, true)
	people, err := d.Accounts.People(ctx)
	if err != nil || len(people) < 1 || people[0].Name != "Ana" || !slices.Equal(people[0].Tokens, []string{"Admin", "Of the token", "Viewer"}) ||
		!slices.Equal(people[0].Links, []string{"Bo", "Guest of Ana"}) || !slices.Equal(people[0].Shares, []string{"Reviewer"}) {
		t.Errorf("listed as %+v, %v", people, err)
	}
	must.Do(t, d.Accounts.SetDisabled(ctx, ana.PersonID, true))
	want("disabled", anas, false, false, false)
	want("somebody else", bos, true, true, true)
	for what, err := range map[string]error{
		"a token":   second(d.Accounts.CreateToken(ctx, ana, account.NewToken{Name: "Late", Role: account.Viewer})),
		"an invite": second(d.Accounts.CreateInvite(ctx, ana, account.NewInvite{Name: "Late", Role: account.Viewer})),
		"a share":   second(d.Accounts.CreateShare(ctx, ana, account.NewShare{StudyID: study, Name: "Late", ExpiresAt: day})),
	} {
		if !errors.Is(err, account.ErrExpired) {
			t.Errorf("a request of the disabled, under way, made %s: %v", what, err)
		}
	}
	must.Do(t, d.Accounts.SetDisabled(ctx, ana.PersonID, false))
	want("enabled again", anas, false, false, false)
	must.Do(t, d.Accounts.SetRole(ctx, bo.PersonID, account.Operator))
	want("no admin any more", bos, false, true, false)
}

func second[A, B any](_ A, _ B, err error) error { return err }

// TestTokensOfOneOwnerHaveNamesOfTheirOwn: two that are in force never have the same, ignoring
// case; one that has ended gives its name free.
func TestTokensOfOneOwnerHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	ana, bo := enters(t, d, terminal, "Ana", account.Admin), enters(t, d, terminal, "Bo", account.Admin)
	soon := time.Now().Add(time.Hour)
	named := func(by account.Identity, name string) (account.Token, error) {
		token, _, err := d.Accounts.CreateToken(ctx, by, account.NewToken{Name: name, Role: account.Viewer, ExpiresAt: &soon})
		return token, err
	}
	made := make(chan account.Token, 5)
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			token, err := named(ana, "Öfen")
			if err == nil {
				made <- token
			} else if invalid := new(account.Invalid); !errors.As(err, &invalid) || invalid.Field != "name" {
				t.Errorf("a second one got %v", err)
			}
		})
	}
	wait.Wait()
	if len(made) != 1 {
		t.Fatalf("%d have the name", len(made))
	}
	if _, err := named(ana, "öfen"); err == nil {
		t.Error("another case is another name")
	}
	if _, err := named(bo, "Öfen"); err != nil {
		t.Errorf("somebody else's got %v", err)
	}
	must.Do(t, d.Accounts.RevokeToken(ctx, (<-made).ID))
	if _, err := named(ana, "Öfen"); err != nil {
		t.Errorf("after the first was revoked: %v", err)
	}
	later := soon
	d.SetClock(func() time.Time { return later })
	soon = soon.Add(time.Hour)
	if _, err := named(ana, "Öfen"); err != nil {
		t.Errorf("after the second has ended: %v", err)
	}
}

// What is given to somebody in the moment they are disabled is not in force once they are enabled
// again, whichever came first.
func TestWhatIsGivenWhileSomebodyIsDisabledEndsToo(t *testing.T) {
	t.Parallel()
	for what, give := range map[string]func(ctx context.Context, d *db.DB, person, link, tablet string) (secret string, err error){
		"a session": func(ctx context.Context, d *db.DB, _, link, _ string) (string, error) {
			_, secret, err := d.Accounts.Redeem(ctx, link, "", "a browser")
			return secret, err
		},
		"a sign-in link": func(ctx context.Context, d *db.DB, person, _, _ string) (string, error) {
			_, secret, err := d.Accounts.CreateSignInLink(ctx, terminal, person)
			return secret, err
		},
		"a PIN": func(ctx context.Context, d *db.DB, person, _, tablet string) (string, error) {
			return "", d.Accounts.SetPIN(ctx, person, tablet, "4711", "")
		},
	} {
		for _, disabledFirst := range []bool{false, true} {
			d, ctx, tablet := dbtest.New(t), t.Context(), account.NewSecret()
			firstAdmin(t, d)
			bo := invited(t, d, "Bo", account.Admin)
			_, link := must.Get2(d.Accounts.CreateSignInLink(ctx, terminal, bo))(t)
			var secret string
			steps := []func() error{
				func() error { secret, _ = give(ctx, d, bo, link, tablet); return nil },
				func() error { return d.Accounts.SetDisabled(ctx, bo, true) },
			}
			if disabledFirst {
				slices.Reverse(steps)
			}
			tx := must.Get(d.Pool().Begin(ctx))(t)
			must.Get(tx.Exec(ctx, `LOCK TABLE credentials, pins IN SHARE MODE`))(t) // they are read and not written
			var both sync.WaitGroup
			for i, step := range steps {
				both.Go(func() {
					if err := step(); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				})
				until(t, d, "waiting", fmt.Sprintf(`SELECT count(*) > %d FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query NOT LIKE 'DELETE FROM credentials%%'`, i)) // which is the cleaner's
			}
			must.Do(t, tx.Rollback(ctx))
			both.Wait()
			must.Do(t, d.Accounts.SetDisabled(ctx, bo, false))
			if who, err := d.Accounts.Authenticate(ctx, secret); err == nil {
				t.Errorf("%s, disabled first %t: %+v is in", what, disabledFirst, who)
			}
			if link, err := d.Accounts.Look(ctx, secret); err == nil {
				t.Errorf("%s, disabled first %t: %+v leads in", what, disabledFirst, link)
			}
			refused(t, d, what, bo, tablet, "4711")
		}
	}
}

// A transaction that PostgreSQL takes back, as to end a deadlock, is one to ask for again.
func TestADeadlockIsToBeTriedAgain(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	token, secret := robot(t, d, account.NewToken{Name: "robot", Role: account.Viewer})
	tx := must.Get(d.Pool().Begin(ctx))(t)
	must.Get(tx.Exec(ctx, `SET LOCAL deadlock_timeout = '1h'`))(t) // so that the other one finds it
	must.Get(tx.Exec(ctx, `SELECT FROM credentials FOR UPDATE`))(t)
	came := make(chan error, 1)
	go func() { came <- d.Accounts.RevokeToken(ctx, token.ID) }()
	until(t, d, "waiting for the row", `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE%'`)
	must.Get(tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom accounts'))`))(t)
	if err := <-came; !errors.Is(err, study.ErrUnavailable) {
		t.Errorf("a deadlock got %v", err)
	}
	must.Do(t, tx.Rollback(ctx))
	if _, err := d.Accounts.Authenticate(ctx, secret); err != nil {
		t.Errorf("what was taken back has ended a token: %v", err)
	}
}

// refused wants a PIN to be wrong, and returns how many tries are left.
func refused(t *testing.T, d *db.DB, what, person, device, pin string) int {
	t.Helper()
	_, _, err := d.Accounts.ComeBack(t.Context(), person, device, pin, "", "")
	wrong, ok := errors.AsType[*account.WrongPIN](err)
	if !ok {
		t.Errorf("%s got %v", what, err)
		return -1
	}
	return wrong.Left
}

func TestPINBringsBackOnItsDeviceOnly(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	admin := firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	left, leftSecret := signIn(t, d, admin.ID)
	tablet, other := account.NewSecret(), account.NewSecret()
	for _, person := range []string{admin.ID, bo} {
		must.Do(t, d.Accounts.SetPIN(ctx, person, tablet, "4711", "Tablet"))
	}
	var stored string
	must.Do(t, d.Pool().QueryRow(ctx, `SELECT string_agg(encode(derived, 'hex'), ' ') FROM pins`).Scan(&stored))
	if one, two, _ := strings.Cut(stored, " "); one == two {
		t.Error("two people with the same PIN are stored alike")
	}
	for what, try := range map[string]struct{ person, device, pin string }{
		"another device": {bo, other, "4711"}, "a wrong PIN": {bo, tablet, "4712"}, "nobody": {"nobody", tablet, "4711"}, "no PIN": {bo, tablet, ""},
	} {
		refused(t, d, what, try.person, try.device, try.pin)
	}
	_, secret := must.Get2(d.Accounts.ComeBack(ctx, bo, tablet, "4711", "Tablet", left.ID))(t)
	if who, err := d.Accounts.Authenticate(ctx, secret); err != nil || who.PersonID != bo || who.Role != account.Operator || !who.ByPIN {
		t.Errorf("came back as %+v, %v", who, err)
	}
	if _, err := d.Accounts.Authenticate(ctx, leftSecret); !errors.Is(err, account.ErrExpired) {
		t.Errorf("the session that was left got %v", err)
	}
	_, secret = must.Get2(d.Accounts.ComeBack(ctx, admin.ID, tablet, "4711", "Tablet", ""))(t)
	if who, err := d.Accounts.Authenticate(ctx, secret); err != nil || who.Role != account.Operator {
		t.Errorf("four digits made an admin: %+v, %v", who, err)
	}
	must.Do(t, d.Accounts.ForgetPINs(ctx, bo))
	if here, err := d.Accounts.OnDevice(ctx, tablet); err != nil || len(here) != 1 || here[0].PersonID != admin.ID {
		t.Errorf("on the device are %+v, %v", here, err)
	}
	d.SetClock(func() time.Time { return time.Now().Add(account.SessionLife + time.Hour) })
	refused(t, d, "a PIN that nobody used for half a year", admin.ID, tablet, "4711")
}

// However many try at once, few PINs are looked at; then the right one does not work either, until
// it is set anew.
func TestFewPINsAreTried(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo, cy := invited(t, d, "Bo", account.Operator), invited(t, d, "Cy", account.Operator)
	tablet := account.NewSecret()
	for _, person := range []string{bo, cy} {
		must.Do(t, d.Accounts.SetPIN(ctx, person, tablet, "4711", ""))
	}
	var tries sync.WaitGroup
	looked := make(chan int, 3*account.PINTries)
	for range 3 * account.PINTries {
		tries.Go(func() {
			if left := refused(t, d, "a wrong PIN", bo, tablet, "1147"); left > 0 {
				looked <- left
			}
		})
	}
	tries.Wait()
	if len(looked) != account.PINTries-1 { // after the last of them none is left
		t.Errorf("%d wrong PINs were told that tries are left, not %d", len(looked), account.PINTries-1)
	}
	if left := refused(t, d, "the right PIN after too many wrong ones", bo, tablet, "4711"); left != 0 {
		t.Fatalf("after too many wrong ones %d tries are left", left)
	}
	if _, _, err := d.Accounts.ComeBack(ctx, cy, tablet, "4711", "", ""); err != nil {
		t.Errorf("somebody else on the device got %v", err)
	}
	must.Do(t, d.Accounts.SetPIN(ctx, bo, tablet, "4711", ""))
	if _, _, err := d.Accounts.ComeBack(ctx, bo, tablet, "4711", "", ""); err != nil {
		t.Errorf("the PIN set anew got %v", err)
	}
}

func TestPINOfADisabledPersonNeverWorks(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	tablet := account.NewSecret()
	must.Do(t, d.Accounts.SetPIN(ctx, bo, tablet, "4711", ""))
	for _, disabled := range []bool{true, false} { // nor when they are enabled again
		must.Do(t, d.Accounts.SetDisabled(ctx, bo, disabled))
		refused(t, d, "somebody who is or was disabled", bo, tablet, "4711")
		if here, err := d.Accounts.OnDevice(ctx, tablet); err != nil || len(here) > 0 {
			t.Errorf("disabled %t: on the device are %+v, %v", disabled, here, err)
		}
	}
}

func TestWhatIsNoPIN(t *testing.T) {
	t.Parallel()
	for pin, fine := range map[string]bool{
		"4711": true, "20391185": true, "1224": true, "": false, "471": false, "203911850": false, "47a1": false, "４７１１": false, "0000": false, "1234": false, "8765": false, " 4711": false,
	} {
		if err := account.CheckPIN(pin); (err == nil) != fine {
			t.Errorf("%q: %v", pin, err)
		}
	}
}

// What each person gave out is read once for all of them: with 300 people, whoever gave something out
// before would else be looked at 900 times.
func TestPeopleAreListedInOneLook(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	for _, setup := range []string{
		`INSERT INTO people (id, name, role, created_at) SELECT 'p' || i, 'Person ' || i, 'operator', now() FROM generate_series(1, 300) i`,
		`INSERT INTO credentials (id, hash, kind, name, role, person_id, by, owner, created_at, expires_at)
			SELECT 'c' || i, sha256(i::text::bytea), kind, 'given ' || i, role, person, 'Ana', 'p' || i % 300 + 1, now(), now() + interval '1 day'
			FROM generate_series(1, 1500) i, LATERAL (SELECT * FROM (VALUES ('token', 'viewer', NULL), ('session', NULL, 'p' || i % 300 + 1)) AS kinds (kind, role, person) OFFSET i % 2 LIMIT 1) kinds`,
		`ANALYZE people, credentials`,
	} {
		must.Get(d.Pool().Exec(ctx, setup))(t)
	}
	rows := must.Get(d.Pool().Query(ctx, `EXPLAIN (ANALYZE, COSTS off, TIMING off) `+db.SelectPeople, time.Now()))(t)
	for _, line := range must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t) {
		if strings.Contains(line, "Seq Scan on credentials") && !strings.Contains(line, "loops=1)") {
			t.Error(line)
		}
	}
	people := must.Get(d.Accounts.People(ctx))(t)
	if len(people) != 300 || len(people[0].Tokens)+len(people[1].Tokens) == 0 {
		t.Errorf("%d people, the first of whom is %+v", len(people), people[0])
	}
}
