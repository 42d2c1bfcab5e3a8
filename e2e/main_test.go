// Package e2e plays journeys of people in a real browser against the real program.
package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program is the path of the program, built once.
var program string

// site is the server that all journeys share, except those that stop it.
var site *server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "headroom-e2e-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil { // PostgreSQL runs as another user when we are root
		return complain(err)
	}
	program = filepath.Join(folder, "headroom")
	if out, err := exec.Command("go", "build", "-o", program, "headroom/cmd/web").CombinedOutput(); err != nil {
		return complain(fmt.Errorf("building the program: %w\n%s", err, out))
	}
	if site, err = start(filepath.Join(folder, "shared")); err != nil {
		return complain(err)
	}
	defer site.stop()
	closeBrowser, err := startBrowser()
	if err != nil {
		return complain(err)
	}
	defer closeBrowser()
	return m.Run()
}

// lookAtSources reads the folders of what program is made of. The go command notes what a test looks
// at, and takes an earlier result for it only while that is the same; what a test builds it cannot see.
var lookAtSources = sync.OnceValue(func() error {
	for _, folder := range []string{"cmd", "internal", "migrations", "web"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
})

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
