package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/must"
)

// TestThirdPartyModulesAreNamed: THIRD_PARTY.md lists, with its licence, each module that is
// linked, and no other.
func TestThirdPartyModulesAreNamed(t *testing.T) {
	t.Parallel()
	linked := must.Get(exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".").Output())(t)
	want := strings.Fields(string(linked))
	slices.Sort(want)
	text := must.Get(os.ReadFile("../../THIRD_PARTY.md"))(t)
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| \S.* \|$`).FindAllStringSubmatch(string(text), -1) {
		named = append(named, row[1])
	}
	if diff := cmp.Diff(slices.Compact(want), named); diff != "" {
		t.Errorf("(-linked +named)\n%s", diff)
	}
}
