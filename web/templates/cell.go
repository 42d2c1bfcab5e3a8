package templates

import (
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// longestWhole is how long a word in a table may be so that it is never broken: more, and a sheet of paper could be too narrow for it.
const longestWhole = 12

// cell is the class of a cell of a table: a number, or words so long that they may be broken.
func cell(number bool, text string) templ.Attributes {
	var classes []string
	if number {
		classes = append(classes, "number")
	}
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(word) > longestWhole {
			classes = append(classes, "long")
			break
		}
	}
	if classes == nil {
		return nil
	}
	return templ.Attributes{"class": strings.Join(classes, " ")}
}
