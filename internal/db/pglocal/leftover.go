package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotRunning says that no server runs in a data folder.
var ErrNotRunning = errors.New("no private PostgreSQL is running")

// pollEvery is how often a server that starts or stops is looked at.
const pollEvery = 20 * time.Millisecond

// Attach returns the URL of the private server that another copy of this program runs in dir, or
// ErrNotRunning.
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
	if answers(ctx, url) != nil {
		return "", ErrNotRunning
	}
	return url, nil
}

// postmaster reads what a server wrote about itself: its process, and how to connect to it.
// ErrNotRunning when there is nothing.
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
// other program wants it. The process is only signalled when a server with this cluster's password
// answers on its socket: the number in the file may be somebody else's by now.
func (c *cluster) stopLeftover(ctx context.Context) error {
	pid, url, err := c.postmaster()
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	var refused *pgconn.PgError // "is shutting down": it is there too
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

// answers connects once.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// awaitAnswer waits until the server answers, or has ended.
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

// leftoverStillThere knows PostgreSQL's words for a server of an earlier run that has not quite
// ended.
func leftoverStillThere(complaint string) bool {
	return strings.Contains(complaint, "postmaster.pid") || strings.Contains(complaint, "shared memory block")
}

// lastComplaint returns the last line of the log after from in which the server says why it ended.
func lastComplaint(log io.ReaderAt, from int64) (complaint string) {
	content, _ := io.ReadAll(io.NewSectionReader(log, from, 1<<20)) // what cannot be read says nothing
	for line := range strings.Lines(string(content)) {
		if _, said, found := strings.Cut(line, "FATAL:"); found {
			complaint = ": " + strings.TrimSpace(said)
		}
	}
	return complaint
}
