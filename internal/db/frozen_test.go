package db_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

// soon is how long anybody may wait for what does not answer before the test is over: without a
// limit of ours that is for ever.
const soon = testwait.Timeout

// Whatever is asked of a frozen database is refused soon, what waits behind others too, and it
// works again once the database goes on.
func TestFrozenDatabaseKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPrimary(t)
	d := must.Get(db.Up(t.Context(), dbtest.URLOf(server), ""))(t)
	t.Cleanup(d.Close)
	service := serve(t, d)
	snap := create(t, service, reactor())
	_, numbers := ask(t, service, snap.ID, 3)
	admin := firstAdmin(t, d)
	things := map[string]func(ctx context.Context) error{
		"ask": func(ctx context.Context) error {
			_, _, err := service.Ask(ctx, ana, snap.ID, study.Ask{})
			return err
		},
		"tell": func(ctx context.Context) error {
			_, err := service.Tell(ctx, ana, snap.ID, numbers[0], ledger.Telling{Note: "a note"})
			return err
		},
		"read":    func(ctx context.Context) error { _, err := service.Snapshot(ctx, snap.ID, 0); return err },
		"list":    func(ctx context.Context) error { _, _, err := service.Summaries(ctx, study.Listing{}); return err },
		"create":  func(ctx context.Context) error { _, err := service.Create(ctx, ana, reactor()); return err },
		"sign in": func(ctx context.Context) error { _, err := d.Accounts.Authenticate(ctx, "first secret"); return err },
		"link": func(ctx context.Context) error {
			_, _, err := d.Accounts.CreateSignInLink(ctx, terminal, admin.ID)
			return err
		},
		"ready": d.Ready,
	}
	for name, do := range things {
		if err := do(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	server.Freeze()
	for wave := range 2 { // the first wave is under way when the database is found silent, the second comes after
		var wait sync.WaitGroup
		for name, do := range things {
			for range 4 {
				wait.Go(func() {
					begin := time.Now()
					err := do(t.Context())
					if took := time.Since(begin); !errors.Is(err, study.ErrUnavailable) || took > soon {
						t.Errorf("wave %d: %s took %v and got %v", wave, name, took, err)
					}
				})
			}
		}
		wait.Wait()
	}
	server.Thaw()
	for name, do := range things {
		for giveUp := time.Now().Add(testwait.Timeout); ; {
			err := do(t.Context())
			if err == nil {
				break
			}
			if !errors.Is(err, study.ErrUnavailable) || time.Now().After(giveUp) {
				t.Fatalf("after thawing: %s got %v", name, err)
			}
		}
	}
	if err := d.CheckLedgers(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAFrozenDatabaseIsNotWaitedForBeforeItIsMigrated: nothing listens yet, and whoever begins is told
// so soon, to begin again.
func TestAFrozenDatabaseIsNotWaitedForBeforeItIsMigrated(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPrimary(t)
	url, ctx := dbtest.URLOf(server), t.Context()
	somebody := must.Get(pgx.Connect(ctx, url))(t)
	defer somebody.Close(ctx)
	must.Get(somebody.Exec(ctx, `SELECT pg_advisory_lock(hashtext('headroom migration'))`))(t)
	began := make(chan error, 1)
	go func() { began <- db.Migrate(ctx, url) }()
	testwait.Eventually(t, "who migrates has connected", func() bool {
		var waits bool
		must.Do(t, somebody.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'advisory'`).Scan(&waits))
		return waits
	})
	server.Freeze()
	if err := receive(t, began); !errors.Is(err, study.ErrUnavailable) {
		t.Errorf("it got %v", err)
	}
	server.Thaw()
	must.Get(somebody.Exec(ctx, `SELECT pg_advisory_unlock_all()`))(t)
	must.Do(t, db.Migrate(ctx, url))
}

// holderURL is the variable with which this test program is started to hold a choosing lock, in the
// database it names.
const holderURL = "HEADROOM_TEST_HOLD_CHOOSING"

// holdForever is what that program does: it says "holding", and "lost" when it has learned that the
// lock is not its own any more.
func holdForever(url string) {
	d, err := db.Open(context.Background(), url)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = d.Studies.Choosing(context.Background(), "one", func(ctx context.Context) error {
		fmt.Println("holding")
		<-ctx.Done()
		return ctx.Err()
	})
	if errors.Is(err, study.ErrUnavailable) {
		fmt.Println("lost")
	}
}

// A server that is frozen while it chooses gives the study up to others when its lease ends, and
// knows it when it goes on.
func TestFrozenServerGivesItsStudyUp(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	d := open(t, url)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holderURL+"="+url)
	out := must.Get(other.StdoutPipe())(t)
	must.Do(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "holding" {
		t.Fatalf("the other server says %q", said.Text())
	}
	choose := func() error {
		begin := time.Now()
		err := d.Studies.Choosing(t.Context(), "one", func(context.Context) error { return nil })
		if took := time.Since(begin); took > soon {
			t.Fatalf("choosing got %v after %v", err, took)
		}
		return err
	}
	// It holds the lock for longer than its lease: it renews it.
	for begin := time.Now(); time.Since(begin) < db.ChoosingLease+2*time.Second; {
		if err := choose(); !errors.Is(err, study.ErrUnavailable) {
			t.Fatalf("while the other server lives, choosing got %v", err)
		}
	}
	must.Do(t, other.Process.Signal(syscall.SIGSTOP))
	begin := time.Now()
	for err := choose(); err != nil; err = choose() {
		if took := time.Since(begin); !errors.Is(err, study.ErrUnavailable) || took > db.ChoosingLease+soon {
			t.Fatalf("after %v: %v", took, err)
		}
	}
	must.Do(t, other.Process.Signal(syscall.SIGCONT))
	if !said.Scan() || said.Text() != "lost" {
		t.Fatalf("the thawed server says %q", said.Text())
	}
}
