package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"headroom/internal/must"
)

// Freeze stops every process of the cluster by a signal, as a machine that hangs does: connections
// stay open, and nobody answers. The test's end thaws what is still frozen.
func (c *Cluster) Freeze(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { c.Thaw(t) })
	freeze(t, c.postmaster(t))
}

// Thaw lets them go on.
func (c *Cluster) Thaw(t testing.TB) {
	t.Helper()
	thaw(t, c.postmaster(t))
}

func freeze(t testing.TB, postmaster int) {
	t.Helper()
	send(t, postmaster, syscall.SIGSTOP) // first, so that no more are born
	for _, child := range children(t, postmaster) {
		send(t, child, syscall.SIGSTOP)
	}
}

func thaw(t testing.TB, postmaster int) {
	t.Helper()
	for _, child := range children(t, postmaster) {
		send(t, child, syscall.SIGCONT)
	}
	send(t, postmaster, syscall.SIGCONT)
}

func send(t testing.TB, process int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(process, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("%v to process %d: %v", signal, process, err)
	}
}

// postmaster is the cluster's first process, by what it wrote about itself.
func (c *Cluster) postmaster(t testing.TB) int {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(c.dir, "postgres", "postmaster.pid")))(t)
	first, _, _ := bytes.Cut(content, []byte("\n"))
	process, err := strconv.Atoi(string(first))
	if err != nil || process <= 1 {
		t.Fatalf("no process stands in %q", content)
	}
	return process
}

// children are the processes that parent started.
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
