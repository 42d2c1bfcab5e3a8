package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	marks   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLead: what documents link to in this repository is there, and so is the heading that a
// link names.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	links := 0
	err := filepath.WalkDir("../..", func(document string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(document) != ".md" {
			return err
		}
		for _, found := range linked.FindAllStringSubmatch(fileOf(t, document), -1) {
			file, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(file, ":") {
				continue // elsewhere
			}
			links++
			to := document
			if file != "" {
				to = filepath.Join(filepath.Dir(document), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", document, found[1])
			} else if anchor != "" && !hasHeading(fileOf(t, to), anchor) {
				t.Errorf("%s: there is no heading for %s", document, found[1])
			}
		}
		return nil
	})
	if err != nil || links < 50 {
		t.Errorf("only %d links were looked at: %v", links, err)
	}
}

// hasHeading says whether a document has a heading to which the anchor leads: its letters in lower
// case, without marks, joined by hyphens.
func hasHeading(document, anchor string) bool {
	for _, found := range heading.FindAllStringSubmatch(document, -1) {
		if strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
