package design

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxName = 200 // characters

// reserved words have a meaning of their own where names are keys or columns.
var reserved = []string{"default", "schedule", "name", "form", "number", "status", "note"}

// FoldCase maps texts that differ only in case to one text.
func FoldCase(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, text)
}

// checkText reports what makes text unfit as a name or choice, or "".
func checkText(text string) string {
	switch {
	case text == "":
		return "must not be empty"
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.TrimSpace(text) != text:
		return "must not begin or end with a space"
	case utf8.RuneCountInString(text) > maxName:
		return fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(text), maxName)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain tabs, line breaks or other control characters"
	}
	return ""
}

// nameBook knows every name of a study and what it is, so that each is used once, ignoring case.
type nameBook struct {
	taken map[string]string // folded name → what it is
}

// claim takes name for what, e.g. "a parameter"; it reports a name that cannot be used.
func (r *nameBook) claim(name, what, location string, f *Faults) bool {
	if wrong := checkText(name); wrong != "" {
		f.Add(location, name, "the name %s", wrong)
		return false
	}
	folded := FoldCase(name)
	if slices.ContainsFunc(reserved, func(word string) bool { return FoldCase(word) == folded }) {
		f.Add(location, name, "%q cannot be a name; the words %s have a meaning of their own", name, strings.Join(reserved, ", "))
		return false
	}
	if other, ok := r.taken[folded]; ok {
		f.Add(location, name, "the name %q is taken by %s (upper and lower case do not make a difference)", name, other)
		return false
	}
	r.taken[folded] = what
	return true
}

// isIdentifier tells whether expressions can use name.
func isIdentifier(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && !slices.Contains(expressionWords, name)
}

// expressionWords mean something else in expressions.
var expressionWords = []string{"and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "let", "if", "else", "true", "false", "nil"}

// closest returns the name that was probably meant, or "": one that differs in case only, or by one or two slips.
func closest(name string, names []string) string {
	best, bestSlips := "", 3
	length := utf8.RuneCountInString(name)
	if length > maxName {
		return ""
	}
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

// editDistance is the Levenshtein distance, the least number of characters inserted, deleted or replaced.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
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
	return fmt.Sprintf("there is no %s %q; there are %s", what, name, strings.Join(names, ", "))
}

// Shorten keeps a message readable whatever was sent.
func Shorten(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
