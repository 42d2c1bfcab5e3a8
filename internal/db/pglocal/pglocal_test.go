package pglocal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db/dbtest"
	"headroom/internal/db/pglocal"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// childFolder tells this test binary to be a program that runs a private server and is then killed.
const childFolder = "PGLOCAL_TEST_CHILD_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		os.Exit(child(folder))
	}
	os.Exit(m.Run())
}

func child(folder string) int {
	server, err := pglocal.Start(context.Background(), folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(server.URL)
	select {} // until it is killed
}

func start(t *testing.T, folder string) *pglocal.Server {
	t.Helper()
	return must.Get(pglocal.Start(t.Context(), folder, "fsync=off"))(t)
}

// query runs one statement on a connection of its own and returns its text.
func query(ctx context.Context, url, statement string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var text string
	err = conn.QueryRow(ctx, statement).Scan(&text)
	return text, err
}

// eventually repeats a query until it succeeds.
func eventually(t *testing.T, url, statement string) string {
	t.Helper()
	var err error
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for giveUp := time.Now().Add(testwait.Timeout); time.Now().Before(giveUp); <-again.C {
		var text string
		if text, err = query(t.Context(), url, statement); err == nil {
			return text
		}
	}
	t.Fatal(err)
	return ""
}

func postmaster(t *testing.T, folder string) int {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(folder, "postgres", "postmaster.pid")))(t)
	var pid int
	must.Get(fmt.Sscan(string(content), &pid))(t)
	return pid
}

func TestStartsStopsAndStartsAgain(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	server := start(t, folder)
	if fsync, err := query(t.Context(), server.URL, `SELECT current_setting('fsync')`); err != nil || fsync != "off" {
		t.Fatalf("the setting is %q, %v", fsync, err)
	}
	if address, err := query(t.Context(), server.URL, `SELECT current_setting('listen_addresses')`); err != nil || address != "" {
		t.Fatalf("it listens on %q, %v", address, err)
	}
	if _, err := query(t.Context(), strings.Replace(server.URL, "headroom:", "headroom:x", 1), `SELECT ''`); err == nil {
		t.Fatal("it lets a wrong password in")
	}
	if _, err := pglocal.Start(t.Context(), folder); !errors.Is(err, pglocal.ErrInUse) {
		t.Fatalf("a second copy got %v", err)
	}
	if url, err := pglocal.Attach(t.Context(), folder); err != nil || url != server.URL {
		t.Fatalf("attaching got %v", err)
	}
	pid := postmaster(t, folder)
	server.Stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("the server is still there: %v", err)
	}
	if _, err := pglocal.Attach(t.Context(), folder); !errors.Is(err, pglocal.ErrNotRunning) {
		t.Fatalf("attaching to nothing got %v", err)
	}
	start(t, folder).Stop()
}

// A server that takes long to answer, as where the machine has much else to do, runs all the same.
func TestASlowServerIsAttachedTo(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	server := start(t, folder)
	defer server.Stop()
	pid := postmaster(t, folder)
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer syscall.Kill(pid, syscall.SIGCONT)
	if url, err := pglocal.Attach(t.Context(), folder); err != nil || url != server.URL {
		t.Errorf("attaching got %q, %v", url, err)
	}
}

func TestServerThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	server := start(t, folder)
	defer server.Stop()
	pid := postmaster(t, folder)
	must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, server.URL, `SELECT 'back' WHERE pg_postmaster_start_time() > now() - interval '1 hour'`)
	if postmaster(t, folder) == pid {
		t.Fatal("it is still the same server")
	}
}

// kill -9 of the program leaves its data whole and its folder free, and takes the server along.
func TestKilledProgramCanStartAgain(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	program := must.Get(os.Executable())(t)
	for round := range 2 {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), childFolder+"="+folder)
		cmd.Stderr = os.Stderr
		said := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		url := must.Get(bufio.NewReader(said).ReadString('\n'))(t)
		conn := must.Get(pgx.Connect(t.Context(), strings.TrimSpace(url)))(t)
		must.Get(conn.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE kept_%d ()`, round)))(t)
		must.Do(t, cmd.Process.Kill())
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended well")
		}
		_ = conn.Close(t.Context())
	}
	server := start(t, folder)
	if kept, err := query(t.Context(), server.URL, `SELECT count(*)::text FROM pg_tables WHERE tablename LIKE 'kept%'`); err != nil || kept != "2" {
		t.Fatalf("%q tables were kept, %v", kept, err)
	}
	server.Stop()
}

func TestInterruptedFirstStartLeavesNothing(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pglocal.Start(ctx, folder); err == nil {
		t.Fatal("it started after the interruption")
	}
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := pglocal.Start(ctx, folder)
		ended <- err
	}()
	testwait.Eventually(t, "the cluster is being made", func() bool {
		_, err := os.Stat(filepath.Join(folder, "postgres.new", "base"))
		return err == nil
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted while it made the cluster it says %v", err)
	}
	start(t, folder).Stop()
}

func TestClusterOfAnotherVersionIsNamed(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	must.Do(t, os.MkdirAll(filepath.Join(folder, "postgres"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, "postgres", "PG_VERSION"), []byte("8\n"), 0o644))
	if _, err := pglocal.Start(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "PostgreSQL 8") {
		t.Fatalf("got %v", err)
	}
}

// As root, PostgreSQL's user is let into the data folder itself, but folders above it are not
// opened.
func TestFolderOutOfReachIsNamed(t *testing.T) {
	t.Parallel()
	above := dbtest.Folder(t)
	err := pglocal.Usable(filepath.Join(above, "data"))
	if asRoot := os.Geteuid() == 0; errors.Is(err, pglocal.ErrUnreachable) != asRoot {
		t.Fatalf("as root: %t, got %v", asRoot, err)
	}
	if err := pglocal.Usable(above); err != nil {
		t.Fatalf("the data folder itself got %v", err)
	}
	if info, err := os.Stat(above); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Fatalf("the data folder is open to everybody: %v, %v", info.Mode(), err)
	}
}

func TestWhyAServerDoesNotStartIsSaid(t *testing.T) {
	t.Parallel()
	_, err := pglocal.Start(t.Context(), dbtest.Folder(t), "fsync=off", "no_such_setting=on")
	if err == nil || !strings.Contains(err.Error(), `"no_such_setting"`) {
		t.Errorf("a server with a setting that there is not: %v", err)
	}
	folder := dbtest.Folder(t)
	start(t, folder).Stop()
	must.Do(t, os.Remove(filepath.Join(folder, "postgres", "postgresql.conf"))) // which it says before it knows how to write a log
	if _, err := pglocal.Start(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "postgresql.conf") {
		t.Errorf("a server without its configuration: %v", err)
	}
	for said, why := range map[string]string{
		"running bootstrap script ... FATAL:  No space left on device\nHINT:  Check free disk space.\nchild process exited with exit code 1\ninitdb: removing contents of data directory \"d\"\n": "No space left on device",
		"creating subdirectories ... initdb: error: could not create directory \"d/base\": Permission denied\ninitdb: removing data directory \"d\"\n":                                            "could not create directory \"d/base\": Permission denied",
	} {
		if got := pglocal.Complaint([]byte(said)); got != why {
			t.Errorf("of %q it says %q", said, got)
		}
	}
}
