// Package migrations holds the database's schema, one numbered step a file. A step that has been
// released is never edited.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
)

// Files are the steps, named NUMBER_title.up.sql, each with its way back, NUMBER_title.down.sql,
// which says what it drops.
//
//go:embed *.sql
var Files embed.FS

// Latest is the number of the last step.
var Latest = latest()

func latest() (number uint) {
	names, _ := fs.Glob(Files, "*.up.sql") // sorted, and the numbers have leading zeros
	if _, err := fmt.Sscanf(names[len(names)-1], "%d_", &number); err != nil {
		panic(fmt.Sprintf("the name of migration %s must begin with a number: %v", names[len(names)-1], err))
	}
	return number
}
