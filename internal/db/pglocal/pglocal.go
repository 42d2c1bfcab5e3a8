// Package pglocal runs a private PostgreSQL server for this program alone. Its files are in the
// data folder. It listens on a Unix socket in a folder of its own and requires a password that is
// stored only in the data folder.
//
//	DIR/lock             held while a program uses DIR
//	DIR/postgres/        the cluster, with the file "password" beside PostgreSQL's own
//	DIR/sockets          a link to the folder of the socket, while the server runs
//	DIR/postgres.log     the server's log
package pglocal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// startTimeout limits a start, which may have to recover from a crash first.
	startTimeout = 5 * time.Minute
	// stopTimeout limits an orderly stop; then the server is stopped at once and recovers at its
	// next start.
	stopTimeout = 60 * time.Second
	// A server that died is restarted after firstRestart, then after increasing times up to
	// lastRestart.
	firstRestart = 200 * time.Millisecond
	lastRestart  = 10 * time.Second
	// largestLog is the size from which the log of earlier runs is moved aside.
	largestLog = 10 << 20
)

// ErrInUse means that another program uses the data folder.
var ErrInUse = errors.New("is in use by another copy of headroom: wait until that has started or ended, or set HEADROOM_DATA_DIR to another folder")

// Server is a running private PostgreSQL.
type Server struct {
	URL string // with the password, so never to be shown

	cluster  cluster
	settings []string
	lock     *os.File
	sockets  string
	log      *os.File

	running context.Context // ended by Stop
	stop    context.CancelFunc
	ended   chan struct{} // closed when the server will not be started again
}

// Start starts the private server of the data folder dir, which is created if necessary. The server
// is restarted if it dies, and stops when this program does, even by kill -9. settings are
// PostgreSQL's own, name=value.
func Start(ctx context.Context, dir string, settings ...string) (*Server, error) {
	c, err := openCluster(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{cluster: c, settings: settings, ended: make(chan struct{})}
	s.running, s.stop = context.WithCancel(context.Background())
	if err := s.prepare(ctx); err != nil {
		s.cleanUp()
		return nil, err
	}
	started := make(chan error, 1)
	go s.supervise(ctx, started)
	if err := <-started; err != nil {
		<-s.ended
		s.cleanUp()
		return nil, err
	}
	return s, nil
}

// prepare locks the folder, stops a server that outlived its program, and creates the cluster if
// there is none.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.lock, err = lockFolder(s.cluster.dir); err != nil {
		return err
	}
	if err := s.cluster.stopLeftover(ctx); err != nil {
		return err
	}
	if err := s.cluster.create(ctx); err != nil {
		return err
	}
	if s.sockets, err = s.cluster.newSockets(); err != nil {
		return err
	}
	if s.URL, err = s.cluster.url(s.sockets); err != nil {
		return err
	}
	s.log, err = openLog(filepath.Join(s.cluster.dir, "postgres.log"))
	return err
}

func (s *Server) cleanUp() {
	if s.sockets != "" {
		_ = errors.Join(os.RemoveAll(s.sockets), os.Remove(filepath.Join(s.cluster.dir, "sockets")))
	}
	if s.log != nil {
		_ = s.log.Close()
	}
	if s.lock != nil {
		_ = s.lock.Close() // releases the lock
	}
}

// lockFolder locks dir for this process. The kernel releases the lock when the process ends,
// however it ends.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("the data folder %s %w", dir, ErrInUse)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > largestLog {
		if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
}

// supervise runs the server until Stop and restarts it when it dies. It keeps its thread, because
// the kernel signals the server when the thread that started it ends.
func (s *Server) supervise(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer close(s.ended)
	first, err := s.launchAndWait(ctx)
	started <- err
	if err == nil {
		s.keepRunning(first)
	}
}

// keepRunning restarts the server whenever it dies, until Stop.
func (s *Server) keepRunning(p *process) {
	for backoff := firstRestart; ; backoff = min(2*backoff, lastRestart) {
		born := time.Now()
		if p != nil {
			<-p.done
		}
		if s.running.Err() != nil {
			return
		}
		if time.Since(born) > time.Minute {
			backoff = firstRestart
		}
		slog.Error("the private PostgreSQL ended; starting it again", "log", s.log.Name(), "in", backoff.String())
		if wait(s.running, backoff); s.running.Err() != nil {
			return
		}
		var err error
		if p, err = s.launch(); err != nil {
			slog.Error("the private PostgreSQL could not be started", "error", err)
		}
	}
}

// process is one run of the server.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func (s *Server) launch() (*process, error) {
	args := []string{
		"-D", s.cluster.data,
		"-c", "listen_addresses=",
		"-c", "unix_socket_directories=" + s.sockets,
		"-c", "unix_socket_permissions=0700",
		"-c", "port=" + socketPort,
		"-c", "logging_collector=off",
		"-c", "log_destination=stderr",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := s.cluster.command(s.running, "postgres", args...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.Cancel = func() error {
		time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }) // at once
		return cmd.Process.Signal(syscall.SIGINT)                                       // PostgreSQL's "fast": end sessions, write everything out, stop
	}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

// launchAndWait starts the server and waits until it answers.
func (s *Server) launchAndWait(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for giveUp := time.Now().Add(stopTimeout); ; {
		from, err := s.log.Seek(0, 2)
		if err != nil {
			return nil, err
		}
		p, err := s.launch()
		if err != nil {
			return nil, err
		}
		err = awaitAnswer(ctx, s.URL, p.done)
		if err == nil {
			return p, nil
		}
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		said, _ := io.ReadAll(io.NewSectionReader(s.log, from, 1<<20)) // what cannot be read says nothing
		why := cmp.Or(lastError(said), "nothing is in its log, "+s.log.Name()+", as where the disk is full")
		leftover := strings.Contains(why, "postmaster.pid") || strings.Contains(why, "shared memory block") // of an earlier run that has not quite ended
		if !leftover || time.Now().After(giveUp) || ctx.Err() != nil {
			return nil, fmt.Errorf("the private PostgreSQL in %s did not start: %w: %s", s.cluster.data, err, why)
		}
		wait(ctx, firstRestart)
	}
}

// Stop stops the server orderly and releases the folder. Connections must be closed before.
func (s *Server) Stop() {
	s.stop()
	<-s.ended
	s.cleanUp()
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// ErrNotRunning means that no server runs in a data folder.
var ErrNotRunning = errors.New("no private PostgreSQL is running")

// pollEvery is how often a starting or stopping server is checked.
const pollEvery = 20 * time.Millisecond

// Attach returns the URL of the private server that another copy of this program runs in dir, which
// may still be starting, or ErrNotRunning.
func Attach(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	c := cluster{dir: dir, data: filepath.Join(dir, "postgres")}
	_, url, err := c.postmaster()
	if err != nil {
		return "", err
	}
	if answers(ctx, url) == nil {
		return url, nil
	}
	lock, err := lockFolder(dir)
	if errors.Is(err, ErrInUse) {
		return url, nil
	}
	if err != nil {
		return "", err
	}
	return "", cmp.Or(lock.Close(), ErrNotRunning)
}

// postmaster returns a running server's process id and URL from its pid file, or ErrNotRunning if
// there is none.
func (c *cluster) postmaster() (pid int, url string, err error) {
	content, err := os.ReadFile(filepath.Join(c.data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", ErrNotRunning
	}
	if err != nil {
		return 0, "", err
	}
	// Lines: process, data folder, start, port, socket folder, …
	lines := strings.Split(string(content), "\n")
	if len(lines) < 5 {
		return 0, "", ErrNotRunning
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil || pid <= 1 {
		return 0, "", ErrNotRunning
	}
	url, err = c.url(strings.TrimSpace(lines[4]))
	return pid, url, err
}

// stopLeftover stops a server whose program is gone. This process holds the folder's lock, so no
// other program uses it. The process is signalled only if a server with this cluster's password
// answers on its socket, since the id in the file may belong to another process by now.
func (c *cluster) stopLeftover(ctx context.Context) error {
	pid, url, err := c.postmaster()
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	var refused *pgconn.PgError // such as "is shutting down": the server is there
	if err := answers(ctx, url); err == nil || errors.As(err, &refused) {
		return c.stopProcess(ctx, pid)
	}
	return nil
}

func (c *cluster) stopProcess(ctx context.Context, pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if err := syscall.Kill(pid, signal); errors.Is(err, syscall.ESRCH) {
			return nil
		}
		for giveUp := time.Now().Add(stopTimeout); time.Now().Before(giveUp); wait(ctx, pollEvery) {
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("a PostgreSQL from an earlier run (process %d) does not stop", pid)
}

func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func awaitAnswer(ctx context.Context, url string, ended <-chan struct{}) error {
	for {
		err := answers(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}
