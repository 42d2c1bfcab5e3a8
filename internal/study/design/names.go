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

// reserved words have a meaning of their own where names are keys or columns.
var reserved = []string{"default", "schedule", "name", "form", "number", "status", "note"}

// FoldCase maps texts that differ only in case, or in what nobody sees, as how their accents are encoded or
// spaces of no width, to one text.
func FoldCase(text string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, norm.NFC.String(text))
}

// CheckText reports what makes text unfit to be kept at all, or "".
func CheckText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.ContainsRune(text, 0):
		return "must not contain the character U+0000"
	}
	return ""
}

// CheckName reports what makes text unfit as the name of a study, parameter, metric or choice, or
// "".
func CheckName(text string) string {
	switch {
	case text == "":
		return "must not be empty"
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.TrimSpace(text) != text:
		return "must not begin or end with a space"
	case strings.TrimFunc(text, unseen) != text:
		return "must not begin or end with a character that cannot be seen: type it anew"
	case utf8.RuneCountInString(text) > maxName:
		return fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(text), maxName)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain tabs, line breaks or other control characters"
	case strings.ContainsFunc(text, turns):
		return "must not contain characters that turn around what is written after them"
	}
	return ""
}

// unseen tells whether a character only says how those beside it are written, as spaces of no width do.
func unseen(r rune) bool { return unicode.Is(unicode.Cf, r) }

// turns tells whether a character has all that follows it drawn in another direction: a name would change
// the sentence in which it stands.
func turns(r rune) bool { return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' }

// checker goes through a definition part by part, writing out defaults. It changes only copies.
type checker struct {
	d      Definition
	taken  map[string]string // by folded name, what has it
	faults Faults
}

// passes runs a check and tells whether it found nothing wrong.
func (c *checker) passes(check func()) bool {
	before := len(c.faults)
	check()
	return len(c.faults) == before
}

// word checks a choice among words; the first is the default.
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

const nameTaken = "the name %q is taken by %s (upper and lower case do not make a difference)"

// claim takes a name for what, e.g. "a parameter", and finds fault with one that cannot be used.
// Each name of a study is used once, ignoring case.
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

// isIdentifier tells whether expressions can use name, which is UTF-8.
func isIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && !slices.Contains(expressionWords, name)
}

const noIdentifier = "%q cannot be used in an expression; it needs to be letters, digits and _ beginning with a letter, and no word like and, or, not, in"

// expressionWords mean something else in expressions.
var expressionWords = []string{"and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "let", "if", "else", "true", "false", "nil"}

// closest returns the name that was probably meant, or "": one that differs in case only, or by one
// or two slips.
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
		if slips := editDistance(FoldCase(name), FoldCase(candidate)); slips < bestSlips && 5*slips <= 2*length {
			best, bestSlips = candidate, slips
		}
	}
	return best
}

const mostSlips = 2

// editDistance is the Levenshtein distance, the least number of characters inserted, deleted or
// replaced, as far as it is at most mostSlips: anything larger is mostSlips + 1.
func editDistance(a, b string) int {
	return min(slipsBetween([]rune(a), []rune(b), mostSlips), mostSlips+1)
}

// slipsBetween is that distance where it is at most most, else more than most: what both begin with
// costs nothing, and then each of the three slips is tried.
func slipsBetween(a, b []rune, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if most == 0 || len(a) == 0 || len(b) == 0 {
		return max(len(a), len(b))
	}
	return 1 + min(slipsBetween(a[1:], b[1:], most-1), slipsBetween(a[1:], b, most-1), slipsBetween(a, b[1:], most-1))
}

// addUnknown notes those given that are none of the names there are.
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

// UnknownName says that there is no what called name and what there is instead.
func UnknownName(what, name string, names []string) string {
	meant := closest(name, names)
	name = Shorten(name)
	switch {
	case len(names) == 0:
		return fmt.Sprintf("there is no %s %q; the study has none", what, name)
	case meant != "":
		return fmt.Sprintf("there is no %s %q; did you mean %q?", what, name, meant)
	}
	return fmt.Sprintf("there is no %s %q; there are %s", what, name, listed(names))
}
