package dbtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db/pglocal"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// Pair is a primary and a standby that follows it, for one test, which may kill, freeze and promote
// them. Both stop with the test.
type Pair struct {
	Primary, Standby *Replica
}

// Replica is a server for one test alone, which may kill and freeze it. It is not restarted when it
// dies.
type Replica struct {
	t     testing.TB
	dir   string // contains PostgreSQL's own folder and the socket
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// NewPair starts two servers. With synchronous the primary's commits wait for the standby.
func NewPair(t testing.TB, synchronous bool) *Pair {
	t.Helper()
	p := &Pair{Primary: NewPrimary(t), Standby: newReplica(t)}
	p.Standby.Follow(p.Primary)
	if synchronous {
		p.Primary.RequireStandby()
	}
	return p
}

// NewPrimary starts a server that no other follows, with an empty database.
func NewPrimary(t testing.TB) *Replica {
	t.Helper()
	r := newReplica(t)
	r.run("initdb", "-D", r.data(), "--username=headroom", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	r.Start()
	return r
}

// RequireStandby makes a primary's commits wait for its standby.
func (r *Replica) RequireStandby() {
	r.t.Helper()
	r.Execute(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
	r.Execute(`SELECT pg_reload_conf()`)
	r.Await(`SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`)
}

// URLOf returns a URL that names several servers in order.
func URLOf(servers ...*Replica) string {
	hosts, ports := make([]string, len(servers)), make([]string, len(servers))
	for i, r := range servers {
		hosts[i], ports[i] = r.dir, "5432"
	}
	query := url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "sslmode": {"disable"}}
	return "postgres://headroom@/postgres?" + query.Encode()
}

func newReplica(t testing.TB) *Replica {
	t.Helper()
	r := &Replica{t: t, dir: Folder(t)}
	t.Cleanup(r.Kill)
	if as := r.program("postgres").SysProcAttr.Credential; as != nil {
		must.Do(t, os.Chown(r.dir, int(as.Uid), int(as.Gid)))
	}
	return r
}

func (r *Replica) data() string { return filepath.Join(r.dir, "postgres") }

func (r *Replica) program(name string, args ...string) *exec.Cmd {
	r.t.Helper()
	return must.Get(pglocal.Program(context.Background(), r.dir, name, args...))(r.t)
}

func (r *Replica) run(name string, args ...string) {
	r.t.Helper()
	runtime.LockOSThread() // see pglocal.Program
	defer runtime.UnlockOSThread()
	if said, err := r.program(name, args...).CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v: %s", name, err, said)
	}
}

// Follow makes the server, which must not be running, a standby of another.
func (r *Replica) Follow(primary *Replica) {
	r.t.Helper()
	must.Do(r.t, os.RemoveAll(r.data()))
	r.run("pg_basebackup", "-D", r.data(), "-R", "-c", "fast", "--no-sync", "-d", URLOf(primary))
	r.Start()
}

// Start starts the server, which must not be running, and waits until it answers. A crash of the
// machine may lose its data.
func (r *Replica) Start() {
	r.t.Helper()
	log := must.Get(os.OpenFile(filepath.Join(r.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(r.t)
	defer log.Close()
	r.cmd = r.program("postgres", "-D", r.data(), "-c", "listen_addresses=", "-c", "unix_socket_directories="+r.dir, "-c", "fsync=off", "-c", "max_connections=200")
	r.cmd.Stdout, r.cmd.Stderr = log, log
	must.Do(r.t, r.launch())
	r.Await(`SELECT true`)
}

// launch starts the server in a thread that lives as long as the server, since the kernel would
// stop the server with it.
func (r *Replica) launch() error {
	cmd, started, ended := r.cmd, make(chan error), make(chan struct{})
	r.ended = ended
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		started <- cmd.Start()
		_ = cmd.Wait() // it was killed, or never started
	}()
	return <-started
}

// Kill ends every process of the server at once, as a machine's failure does.
func (r *Replica) Kill() {
	r.t.Helper()
	if r.cmd == nil {
		return
	}
	all := append([]int{r.cmd.Process.Pid}, children(r.t, r.cmd.Process.Pid)...)
	for _, process := range all {
		_ = syscall.Kill(process, syscall.SIGKILL)
	}
	<-r.ended
	r.cmd = nil
	for _, process := range all[1:] { // they hold the shared memory that the next start needs
		for !ended(process) {
			time.Sleep(time.Millisecond)
		}
	}
}

// Freeze suspends every process of the server, as on a machine that hangs: connections stay open,
// and nobody answers.
func (r *Replica) Freeze() {
	r.t.Helper()
	postmaster := r.cmd.Process.Pid
	r.send(postmaster, syscall.SIGSTOP) // first, so that it starts no more
	for _, child := range children(r.t, postmaster) {
		r.send(child, syscall.SIGSTOP)
	}
}

func (r *Replica) Thaw() {
	r.t.Helper()
	for _, process := range append(children(r.t, r.cmd.Process.Pid), r.cmd.Process.Pid) {
		r.send(process, syscall.SIGCONT)
	}
}

func (r *Replica) send(process int, signal syscall.Signal) {
	r.t.Helper()
	if err := syscall.Kill(process, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		r.t.Fatalf("%v to process %d: %v", signal, process, err)
	}
}

// Promote makes a standby a primary. It polls, because waiting for the promotion would be a query
// for which the standby's replay waits.
func (r *Replica) Promote() {
	r.t.Helper()
	r.Execute(`SELECT pg_promote(false)`)
	r.Await(`SELECT NOT pg_is_in_recovery()`)
}

// Execute runs a statement.
func (r *Replica) Execute(sql string, args ...any) {
	r.t.Helper()
	must.Do(r.t, r.ask(func(ctx context.Context, conn *pgx.Conn) error { _, err := conn.Exec(ctx, sql, args...); return err }))
}

// Await polls until the answer is true.
func (r *Replica) Await(sql string, args ...any) {
	r.t.Helper()
	for giveUp := time.Now().Add(testwait.Timeout); ; {
		var so bool
		err := r.ask(func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql, args...).Scan(&so) })
		if so {
			return
		}
		if time.Now().After(giveUp) {
			said, _ := os.ReadFile(filepath.Join(r.dir, "log"))
			r.t.Fatalf("in vain: %s: %v\n%s", sql, err, said)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *Replica) ask(do func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, URLOf(r))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

// ended reports whether a process holds nothing any more: it is gone, or whoever is its parent now has
// not heard of its end yet, and may never ask.
func ended(process int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(process)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func children(t testing.TB, parent int) []int {
	t.Helper()
	listed := must.Get(exec.Command("ps", "-A", "-o", "pid=,ppid=").Output())(t)
	var found []int
	for line := range bytes.Lines(listed) {
		var process, of int
		if _, err := fmt.Sscan(string(line), &process, &of); err == nil && of == parent {
			found = append(found, process)
		}
	}
	return found
}
