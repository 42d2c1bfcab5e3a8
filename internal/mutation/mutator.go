package mutation

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
)

// A mutator changes texts at random, also into parts of other texts.
type mutator struct {
	random *rand.Rand
	texts  []string
}

const (
	mostChanges = 4       // of one text
	longest     = 1 << 14 // bytes that a text is let grow to
)

// Words that parsers stumble over, and numbers at the ends of what can be held.
var (
	words = []string{
		"\x00", "\xff", "\xed\xa0\x80", "\ufeff", "\u2028", "é", "'", "\"", "\"\"", "\\", "\\u0000", "\\ud800", ",", ";", ":", "=", "+", "-", "%", "%zz", "&",
		"(", ")", "[", "]", "{", "}", "[[", "{}", "null", "true", "\n", "\r\n", "\t", " ", "/", "*", "^", "<=", "not", "±",
	}
	numbers = []string{
		"0", "-0", "1", "-1", "0.5", "2", "50", "51", "1000", "10001", "1e100", "1.1e100", "-1e100", "1e308", "1e309", "-1e400", "5e-324", "1e-400", "1e-300", "NaN", "Inf",
		"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e19", "0x1p4", "1_000", "1,5", "00", ".", "1e", "1.7976931348623157e308",
	}
	number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)
)

// mutated returns the arguments with one of them changed.
func (m mutator) mutated(arguments []reflect.Value) []reflect.Value {
	changed := append([]reflect.Value(nil), arguments...)
	i := m.random.IntN(len(changed))
	switch kind := changed[i].Type(); kind.Kind() {
	case reflect.String:
		text := changed[i].String()
		for range 1 + m.random.IntN(mostChanges) {
			text = m.change(text)
		}
		changed[i] = reflect.ValueOf(text[:min(len(text), longest)]).Convert(kind)
	case reflect.Uint8:
		changed[i] = reflect.ValueOf(m.random.IntN(256)).Convert(kind)
	default:
		panic("a fuzz target takes texts and bytes, not " + kind.String())
	}
	return changed
}

// change returns text with one change.
func (m mutator) change(text string) string {
	start, end := m.part(text)
	switch m.random.IntN(8) {
	case 0: // a byte
		return text[:start] + string([]byte{byte(m.random.IntN(256))}) + text[min(start+1, len(text)):]
	case 1: // a bit
		if start == len(text) {
			return text
		}
		return text[:start] + string([]byte{text[start] ^ 1<<m.random.IntN(8)}) + text[start+1:]
	case 2: // a part less
		return text[:start] + text[end:]
	case 3: // a part again, and again
		return text[:end] + strings.Repeat(text[start:end], 1+m.random.IntN(5)) + text[end:]
	case 4: // a word
		return text[:start] + m.of(words) + text[start:]
	case 5: // a part of another text
		other := m.of(m.texts)
		from, to := m.part(other)
		return text[:start] + other[from:to] + text[end:]
	default: // a number
		return m.renumbered(text)
	}
}

// renumbered returns text with one of its numbers replaced, by a telling one or another of its own.
func (m mutator) renumbered(text string) string {
	places := number.FindAllStringIndex(text, -1)
	if len(places) == 0 {
		return text + m.of(numbers)
	}
	place := places[m.random.IntN(len(places))]
	other := m.of(numbers)
	if m.random.IntN(3) == 0 {
		from := places[m.random.IntN(len(places))]
		other = text[from[0]:from[1]]
	}
	return text[:place[0]] + other + text[place[1]:]
}

// part returns the ends of a part of text, short more often than long.
func (m mutator) part(text string) (start, end int) {
	start = m.random.IntN(len(text) + 1)
	return start, start + m.random.IntN(1+m.random.IntN(1+len(text)-start))
}

func (m mutator) of(choices []string) string {
	if len(choices) == 0 {
		return ""
	}
	return choices[m.random.IntN(len(choices))]
}
