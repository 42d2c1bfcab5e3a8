// Package migrations holds the database's schema, one numbered step a file. A step that has been
// released is never edited.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Files are the steps, named NUMBER_title.up.sql, each with its way back, NUMBER_title.down.sql,
// which says what it drops.
//
//go:embed *.sql
var Files embed.FS

// Latest is the number of the last step.
func Latest() (uint, error) {
	names, err := fs.Glob(Files, "*.up.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("no migrations are embedded: %w", err)
	}
	last := names[len(names)-1] // fs.Glob sorts, and the numbers have leading zeros
	number, _, _ := strings.Cut(last, "_")
	latest, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("migration %s: its name must begin with a number: %w", last, err)
	}
	return uint(latest), nil
}
