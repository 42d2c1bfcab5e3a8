package design

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reserved words have a meaning of their own where names are keys or column titles.
var reserved = []string{"default", "schedule", "name", "form", "number", "status", "note"}

// FoldCase maps texts that differ only in case, in the encoding of accents or in invisible
// characters to the same text.
func FoldCase(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, norm.NFC.String(text))
}

// CheckText says what makes text unfit to be stored, "" if nothing does.
func CheckText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.ContainsRune(text, 0):
		return "must not contain the character U+0000"
	}
	return ""
}

// CheckName says what makes text unfit as the name of a study, parameter, metric or choice, "" if
// nothing does.
func CheckName(text string) string {
	switch {
	case text == "":
		return "must not be empty"
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.TrimSpace(text) != text:
		return "must not begin or end with a space"
	case strings.TrimFunc(text, invisible) != text:
		return "must not begin or end with an invisible character; type it again"
	case utf8.RuneCountInString(text) > maxName:
		return fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(text), maxName)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain tabs, line breaks or other control characters"
	case strings.ContainsFunc(text, reordersText):
		return "must not contain characters that reverse the direction of writing"
	}
	return ""
}

// invisible reports whether a character is invisible and only affects how its neighbours are
// written, such as a zero-width space.
func invisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

// reordersText reports whether a character changes the direction of the text after it: in a name it
// would garble the sentence around it.
func reordersText(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// checker checks a definition part by part and writes out defaults. It modifies copies only.
type checker struct {
	d      Definition
	taken  map[string]string // by folded name, what it names
	faults Faults
}

func (c *checker) passes(check func()) bool {
	before := len(c.faults)
	check()
	return len(c.faults) == before
}

// word checks that a word is one of several, of which the first is the default.
func (c *checker) word(word *string, location string, words ...string) {
	*word = cmp.Or(*word, words[0])
	if !slices.Contains(words, *word) {
		optional := ""
		if words[0] == "" {
			optional = " or left out"
		}
		c.faults.Add(location, *word, "must be %s%s", orList(words), optional)
	}
}

const maxUnit = 50 // characters

func (c *checker) unit(unit, location string) {
	switch {
	case utf8.RuneCountInString(unit) > maxUnit:
		c.faults.Add(location, unit, "a unit has at most %d characters", maxUnit)
	case strings.ContainsFunc(unit, unicode.IsControl):
		c.faults.Add(location, unit, "must not contain tabs, line breaks or other control characters")
	}
}

const nameTaken = "the name %q is taken by %s (upper and lower case count as the same)"

// claim reserves a name for what, such as "a parameter", and reports one that is invalid or taken.
// Names in a study are unique, ignoring case.
func (c *checker) claim(name, what, location string) {
	if wrong := CheckName(name); wrong != "" {
		c.faults.Add(location, name, "the name %s", wrong)
		return
	}
	folded := FoldCase(name)
	if slices.ContainsFunc(reserved, func(word string) bool { return FoldCase(word) == folded }) {
		c.faults.Add(location, name, "%q cannot be a name; the words %s have a meaning of their own", name, strings.Join(reserved, ", "))
		return
	}
	if other, ok := c.taken[folded]; ok {
		c.faults.Add(location, name, nameTaken, name, other)
		return
	}
	c.taken[folded] = what
}

// isIdentifier reports whether expressions can use name, which must be UTF-8.
func isIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && !slices.Contains(expressionWords, name)
}

const noIdentifier = "%q cannot be used in an expression; it must be letters, digits and _, begin with a letter, and not be a word such as and, or, not, in"

// expressionWords have another meaning in expressions.
var expressionWords = []string{"and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "let", "if", "else", "true", "false", "nil"}

// closest returns the name that was probably meant, "" if none is likely: one that differs only in
// case, or by one or two typing mistakes.
func closest(name string, names []string) string {
	if len(name) > maxName*utf8.UTFMax {
		return ""
	}
	best, bestSlips := "", mostSlips+1
	length := utf8.RuneCountInString(name)
	for _, candidate := range names {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		if slips := editDistance([]rune(FoldCase(name)), []rune(FoldCase(candidate)), mostSlips); slips < bestSlips && 5*slips <= 2*length {
			best, bestSlips = candidate, slips
		}
	}
	return best
}

const mostSlips = 2

// editDistance returns the Levenshtein distance, the smallest number of characters to insert,
// delete or replace, if it is at most most, else some number above most. It skips what both texts
// begin with, then tries each of the three changes.
func editDistance(a, b []rune, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if most == 0 || len(a) == 0 || len(b) == 0 {
		return max(len(a), len(b))
	}
	return 1 + min(editDistance(a[1:], b[1:], most-1), editDistance(a[1:], b, most-1), editDistance(a, b[1:], most-1))
}

// addUnknown reports the given names that do not exist.
func addUnknown[V any](f *Faults, location, what string, given map[string]V, names []string) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if f.Full() {
			return
		}
		if !slices.Contains(names, name) {
			f.Add(location+"."+Shorten(name), nil, "%s", UnknownName(what, name, names))
		}
	}
}

// UnknownName says that there is no what of that name, and suggests others.
func UnknownName(what, name string, names []string) string {
	meant, wrong := closest(name, names), fmt.Sprintf("there is no %s %q; ", what, Shorten(name))
	if name == "" {
		meant, wrong = "", "no "+what+" is named; "
	}
	switch {
	case len(names) == 0:
		return wrong + "the study has none"
	case meant != "":
		return wrong + fmt.Sprintf("did you mean %q?", meant)
	case len(names) == 1:
		return wrong + "there is only " + listed(names)
	}
	return wrong + "there are " + listed(names)
}
