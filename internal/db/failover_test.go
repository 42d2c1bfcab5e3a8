package db_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

// impatience is after how long a client in these tests gives up.
const impatience = 700 * time.Millisecond

// kept is a study on a pair of servers with a trial that waits for its result, as a client sees it
// who tells that result under one idempotency key.
type kept struct {
	t       *testing.T
	d       *db.DB
	service *study.Service
	id      string
	number  int
	before  int64 // the version before the result
}

// keep makes the study on the servers at url.
func keep(t *testing.T, url string) *kept {
	t.Helper()
	must.Do(t, db.Migrate(t.Context(), url))
	k := &kept{t: t, d: open(t, url)}
	k.service = serve(t, k.d)
	k.id = create(t, k.service, reactor()).ID
	after, numbers := ask(t, k.service, k.id, 1)
	k.number, k.before = numbers[0], after.Version
	return k
}

// elsewhere is the same study as another server sees it, which remembers nothing.
func (k *kept) elsewhere(url string) *kept {
	k.t.Helper()
	other := *k
	other.d = open(k.t, url)
	other.service = serve(k.t, other.d)
	return &other
}

// tell tells the result; the client waits that long for an answer.
func (k *kept) tell(patience time.Duration) error { return k.tellUnder("k", patience) }

func (k *kept) tellUnder(key string, patience time.Duration) error {
	ctx, giveUp := context.WithTimeout(k.t.Context(), patience)
	defer giveUp()
	under := &study.IdempotencyKey{Caller: "token:a", Request: "POST /tell", Key: key, Body: sha256.New()}
	_, err := k.service.Tell(ctx, study.Command{By: "Ana", Key: under}, k.id, k.number, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 71.25}}})
	return err
}

// token makes a token, as tell tells the result.
func (k *kept) token(patience time.Duration) error {
	ctx, giveUp := context.WithTimeout(k.t.Context(), patience)
	defer giveUp()
	key := &study.IdempotencyKey{Caller: "token:a", Request: "POST /tokens", Key: "k", Body: sha256.New()}
	return k.d.Once(ctx, key, func(ctx context.Context) ([]byte, error) {
		_, _, err := k.d.Accounts.CreateToken(ctx, terminal, account.NewToken{Name: "Robot", Role: account.Viewer})
		return nil, err
	})
}

// acknowledges says whether err tells a client that its result is stored.
func acknowledges(err error) bool {
	var first *study.AlreadyDone
	return err == nil || errors.As(err, &first)
}

// shows reads the study in all the ways there are, each for so long, and says which of them show
// the result.
func (k *kept) shows(patience time.Duration) (found []string, refused []error) {
	k.t.Helper()
	fresh := study.NewService(k.d.Studies, study.Options{}) // with nothing cached
	defer fresh.Stop()
	for how, read := range map[string]func(ctx context.Context) (version int64, err error){
		"the study": func(ctx context.Context) (int64, error) {
			snap, err := fresh.Snapshot(ctx, k.id, 0)
			if err != nil {
				return 0, err
			}
			return snap.Version, nil
		},
		"the ledger": func(ctx context.Context) (int64, error) {
			events, err := fresh.Events(ctx, k.id, 0, 0)
			return int64(len(events)), err
		},
		"the list": func(ctx context.Context) (int64, error) {
			list, _, err := fresh.Summaries(ctx, study.Listing{})
			if err != nil {
				return 0, err
			}
			return list[0].Version, nil
		},
		"the end": func(ctx context.Context) (int64, error) {
			row, _, err := k.d.Studies.Ends(ctx, k.id)
			return row.Version, err
		},
	} {
		ctx, giveUp := context.WithTimeout(k.t.Context(), patience)
		version, err := read(ctx)
		giveUp()
		switch {
		case err != nil:
			refused = append(refused, err)
		case version > k.before:
			found = append(found, how)
		}
	}
	return found, refused
}

// tellUntilAcknowledged repeats what got no answer, as scripts do.
func (k *kept) tellUntilAcknowledged() {
	k.t.Helper()
	for giveUp := time.Now().Add(testwait.Timeout); ; {
		err := k.tell(testwait.Timeout)
		if acknowledges(err) {
			return
		}
		if !errors.Is(err, study.ErrUnavailable) || time.Now().After(giveUp) {
			k.t.Fatal(err)
		}
	}
}

// holdsOnce wants the result in the ledger, once.
func (k *kept) holdsOnce() {
	k.t.Helper()
	events, err := k.d.Studies.Events(k.t.Context(), k.id, 0, 0)
	for giveUp := time.Now().Add(testwait.Timeout); errors.Is(err, study.ErrUnavailable) && time.Now().Before(giveUp); {
		events, err = k.d.Studies.Events(k.t.Context(), k.id, 0, 0)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	results := 0
	for _, event := range events {
		if event.Kind == ledger.Told {
			results++
		}
	}
	if results != 1 {
		k.t.Fatalf("the ledger holds the result %d times", results)
	}
	if err := ledger.CheckChain(events); err != nil {
		k.t.Fatal(err)
	}
}

// fail ends the primary, and makes the standby, as it was when it died, the primary.
func fail(pair *dbtest.Pair) {
	pair.Primary.Kill()
	pair.Standby.Start()
	pair.Standby.Promote()
}

// Under synchronous replication a commit that waits for its standby is not known to anybody: not to
// the client that asks again, not to one that looks. What was there before can be read meanwhile.
func TestACommitWithoutItsStandbyIsToldToNobody(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t, true)
	// A statement's limit of time ends the wait for the standby too, and shows what is not safe yet:
	// on a slow machine that would come before the end of this test.
	url := dbtest.URLOf(pair.Primary, pair.Standby) + "&statement_timeout=0"
	k := keep(t, url)
	other := k.elsewhere(url)
	_, secret := must.Get2(k.d.Accounts.CreateToken(t.Context(), terminal, account.NewToken{Name: "Robot", Role: account.Viewer}))(t)
	pair.Standby.Kill()
	entering, giveUp := context.WithTimeout(t.Context(), soon)
	defer giveUp()
	if _, err := k.d.Accounts.Authenticate(entering, secret); err != nil { // for the first time, which is noted
		t.Errorf("without a standby nobody can come in: %v", err)
	}
	patient, begin := make(chan error, 1), time.Now()
	go func() { patient <- k.tell(testwait.Timeout) }()
	for range 2 {
		if err := other.tell(impatience); acknowledges(err) {
			t.Errorf("without a standby the client is told %v", err)
		}
	}
	if err := <-patient; !errors.Is(err, study.ErrUnavailable) || time.Since(begin) > db.ConfirmTime+soon {
		t.Errorf("without a standby a client that waits is told %v after %v", err, time.Since(begin))
	}
	for _, server := range []*kept{k, other} {
		if found, _ := server.shows(impatience); len(found) > 0 {
			t.Errorf("without a standby the result is shown by %q", found)
		}
	}
	if found, refused := k.shows(soon); len(found)+len(refused) > 0 {
		t.Errorf("without a standby what was there before shows %q and is refused with %v", found, refused)
	}
	fail(pair)
	k.tellUntilAcknowledged()
	k.holdsOnce()
}

// A commit whose wait was ended by somebody else, or by a restart of the primary, stands there and
// may still be lost: it is told when the standby has it.
func TestALocalCommitIsToldWhenTheStandbyHasIt(t *testing.T) {
	for name, end := range map[string]func(pair *dbtest.Pair){
		"cancelled": func(pair *dbtest.Pair) {
			pair.Primary.Execute(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		},
		"restarted": func(pair *dbtest.Pair) { pair.Primary.Kill(); pair.Primary.Start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := dbtest.NewPair(t, true)
			url := dbtest.URLOf(pair.Primary, pair.Standby)
			k := keep(t, url)
			admin := firstAdmin(t, k.d).ID
			must.Do(t, k.d.Accounts.SetPIN(t.Context(), admin, "a phone", "4711", ""))
			pair.Standby.Kill()
			for _, writes := range [][]func() error{
				{func() error { return k.tell(testwait.Timeout) }, func() error { return k.token(testwait.Timeout) }},
				{func() error { return k.d.Accounts.SetPIN(t.Context(), admin, "a tablet", "4711", "") }}, // those of accounts wait for one another
				{func() error { return k.d.Accounts.ForgetPINs(t.Context(), admin) }},
			} {
				said := make(chan error, len(writes))
				for _, write := range writes {
					go func() { said <- write() }()
				}
				pair.Primary.Await(fmt.Sprintf(`SELECT count(*) >= %d FROM pg_stat_activity WHERE wait_event = 'SyncRep'`, len(writes)))
				end(pair)
				for range writes {
					if err := <-said; acknowledges(err) {
						t.Errorf("a wait that was %s is answered with %v", name, err)
					}
				}
				k.d.Pool().Reset() // or the next to write is given a connection that was cut
				testwait.Eventually(t, "the primary answers", func() bool { return k.d.Pool().Ping(t.Context()) == nil })
			}
			pair.Primary.Await(`SELECT EXISTS (SELECT FROM events WHERE kind = 'told')`)
			for what, again := range map[string]error{
				"asks again": k.tell(impatience), "asks again for a token": k.token(impatience), "is refused, as the result is there": k.tellUnder("another", impatience),
			} {
				if acknowledges(again) || errors.Is(again, study.ErrConflict) {
					t.Errorf("the client that %s is told %v", what, again)
				}
			}
			if found, _ := k.shows(impatience); len(found) > 0 {
				t.Errorf("the result is shown by %q", found)
			}
			pair.Standby.Start()
			k.tellUntilAcknowledged()
			pair.Primary.Kill()
			pair.Standby.Promote()
			k.holdsOnce()
		})
	}
}

// A primary that hangs, which takes connections and never answers, is given up for the standby that
// became primary, as a killed one is.
func TestFailover(t *testing.T) {
	for name, leave := range map[string]func(*dbtest.Replica){"killed": (*dbtest.Replica).Kill, "hanging": (*dbtest.Replica).Freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := dbtest.NewPair(t, false)
			k := keep(t, dbtest.URLOf(pair.Primary, pair.Standby))
			pair.Standby.Await(`SELECT EXISTS (SELECT FROM studies WHERE version = $1)`, k.before)
			leave(pair.Primary)
			pair.Standby.Promote()
			k.tellUntilAcknowledged()
			k.holdsOnce()
			if k.elsewhere(dbtest.URLOf(pair.Primary, pair.Standby)).holdsOnce(); name == "hanging" {
				pair.Primary.Thaw()
			}
		})
	}
}

// A server of a test outlives the goroutine that started it, and the thread: another test's, which
// ends with a goroutine that was locked to it, took the servers with it that it had happened to start.
func TestAReplicaOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	var pair *dbtest.Pair
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		pair = dbtest.NewPair(t, false)
	}()
	<-started
	pair.Primary.Execute(`SELECT pg_sleep(0.3)`)
}

// What was seen is kept in a file that can be written and read, or the program says so.
func TestWhatWasSeenIsKeptOrSaid(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	d, err := db.Up(t.Context(), url, filepath.Join(os.DevNull, "seen"))
	if err == nil {
		defer d.Close()
		err = d.Keep()
	}
	if err == nil || !strings.Contains(err.Error(), os.DevNull) {
		t.Errorf("a folder that cannot be written to: %v", err)
	}
	damaged := filepath.Join(t.TempDir(), "seen")
	for _, text := range []string{"{", "null", `{"7/1": null}`} {
		must.Do(t, os.WriteFile(damaged, []byte(text), 0o600))
		if _, err := db.Up(t.Context(), url, damaged); err == nil || !strings.Contains(err.Error(), "remove "+damaged) {
			t.Errorf("a damaged file, %s: %v", text, err)
		}
	}
}

// TestADamagedLedgerIsNoServerThatGoesBack: where the study's row stands as it was seen nothing is missing
// but what somebody took away, and no other server has more.
func TestADamagedLedgerIsNoServerThatGoesBack(t *testing.T) {
	t.Parallel()
	url, file := dbtest.URL(t), filepath.Join(t.TempDir(), "seen")
	start := func(use func(d *db.DB)) {
		t.Helper()
		d := must.Get(db.Up(t.Context(), url, file))(t)
		defer d.Close()
		must.Do(t, d.Keep())
		use(d)
		must.Get(d.Studies.Summaries(t.Context(), study.Listing{}))(t)
	}
	start(func(d *db.DB) {
		l, before := createStudy(t, d, "cut")
		l.note(t, d, "cut", before)
		l, before = createStudy(t, d, "changed")
		l.note(t, d, "changed", before)
		must.Get(d.Pool().Exec(t.Context(), tampered+`DELETE FROM events WHERE study_id = 'cut' AND seq = 2; UPDATE events SET hash = repeat('f', 64) WHERE study_id = 'changed' AND seq = 2`))(t)
	})
	for range 2 { // also after what is listed of it was seen
		start(func(*db.DB) {})
	}
}

// Nothing of this needs more rights than the owner of a database has.
func TestAnOwnerOfTheDatabaseSuffices(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t, true)
	pair.Primary.Execute(`CREATE ROLE owner LOGIN`)
	pair.Primary.Execute(`CREATE DATABASE owned OWNER owner`)
	k := keep(t, strings.Replace(dbtest.URLOf(pair.Primary, pair.Standby), "headroom@/postgres", "owner@/owned", 1))
	k.tellUntilAcknowledged()
	if found, refused := k.shows(soon); len(found) != 4 || len(refused) > 0 {
		t.Errorf("the result is shown by %q and refused with %v", found, refused)
	}
	if err := k.tell(testwait.Timeout); !acknowledges(err) {
		t.Error(err)
	}
}
