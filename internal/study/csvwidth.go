package study

import "fmt"

// tooWide is a record of a table with more cells than are possible. It is found before the table is
// read: a reader of tables makes all cells of a record before it hands on the first.
type tooWide struct{ line int }

func (e *tooWide) Error() string {
	return fmt.Sprintf("line %d has more than %d cells; at most %d columns are possible", e.line, maxColumns, maxColumns)
}

// checkWidth returns the first record that is too wide. Quotes hold separators and line ends as
// encoding/csv has it; where quotes are wrong it reads no further than this does.
func checkWidth(text []byte, separator rune) *tooWide {
	line, begun, cells, quoted := 1, 1, 1, false
	for _, b := range text {
		switch {
		case b == '"':
			quoted = !quoted
		case b == '\n':
			line++
			if !quoted {
				begun, cells = line, 1
			}
		case rune(b) == separator && !quoted:
			if cells++; cells > maxColumns {
				return &tooWide{begun}
			}
		}
	}
	return nil
}
