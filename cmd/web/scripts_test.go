package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/must"
)

// TestScriptsSayWhatIsMissing: a Go too old, an installation that nobody may make, and examples
// without a token are told in a sentence.
func TestScriptsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	tools := t.TempDir() // programs of another machine, before those of this
	for name, text := range map[string]string{
		"go": "echo go1.19.8", "id": "echo 1000", "apt-get": "exit 0", "sudo": "echo \"you are not in the sudoers file\" >&2; exit 1",
	} {
		must.Do(t, os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	needed := ""
	for line := range strings.Lines(fileOf(t, "../../go.mod")) {
		if number, found := strings.CutPrefix(line, "go "); found {
			needed = "Go " + strings.TrimSpace(number) + " or newer"
		}
	}
	if !strings.Contains(fileOf(t, "../../README.md"), needed) {
		t.Errorf("README does not say %q", needed)
	}
	// The machine has no PostgreSQL where the script looks for one.
	install := strings.NewReplacer("/usr/", "/nowhere/", "command -v initdb", "false").Replace(fileOf(t, "../../scripts/install"))
	for says, args := range map[string][]string{
		needed + ", and here is 1.19.8":                            {"../../scripts/enough-go"},
		"apt-get install postgresql\nOr set HEADROOM_DATABASE_URL": {"-c", install, "install", "postgresql"},
		"HEADROOM_TOKEN: Put an API token into it":                 {"../../examples/loop.sh"},
	} {
		run := exec.CommandContext(t.Context(), "bash", args...)
		run.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
		if _, complaint, err := output(t, run); err == nil || !strings.Contains(complaint, says) {
			t.Errorf("%.60q said %q, %v; want %q", args, complaint, err, says)
		}
	}
	python := exec.CommandContext(t.Context(), "python3", "../../examples/loop.py")
	python.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1"}
	if _, complaint, err := output(t, python); err == nil || strings.Count(complaint, "\n") != 1 || !strings.Contains(complaint, "Put an API token into HEADROOM_TOKEN") {
		t.Errorf("loop.py said %q, %v", complaint, err)
	}
}
