package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"headroom/internal/study/design"
)

// Malformed is the error for a text that is not JSON of unambiguous meaning, with the location of
// the fault.
type Malformed struct{ design.Fault }

func (m *Malformed) Error() string { return m.String() }

func malformed(field, format string, args ...any) error {
	return &Malformed{design.Fault{Field: field, Message: fmt.Sprintf(format, args...)}}
}

// canonicalJSON rewrites a JSON text in the one form of RFC 8785 (JSON Canonicalization Scheme): no
// spaces, members sorted by the UTF-16 code units of their names, the shortest numbers that
// ECMAScript prints, the fewest escapes. It refuses what I-JSON refuses: names used twice, text
// that is not Unicode, numbers beyond a float64, anything after the value.
func canonicalJSON(text []byte) ([]byte, error) {
	return canonicalWithin(text, math.MaxInt, math.MaxInt)
}

// canonicalWithin is canonicalJSON with limits on the items of a list and the members of an object.
func canonicalWithin(text []byte, items, members int) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, malformed("", "the text is not UTF-8")
	}
	if at := LoneSurrogate(text); at >= 0 {
		return nil, malformed("", "byte %d: half of a surrogate pair", at)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	c := canonical{text: whole, out: make([]byte, 0, len(text)), mostItems: items, mostMembers: members}
	if err := c.value(0); err != nil {
		return nil, err
	}
	return c.out, nil
}

// maximalDepth limits the nesting of what is hashed; a ledger event needs fewer than ten levels.
const maximalDepth = 100

// canonical rewrites text, which must be valid JSON, to out.
type canonical struct {
	text []byte
	at   int // position in text
	out  []byte

	mostItems, mostMembers int
}

// next skips white space and returns the byte after it without consuming it.
func (c *canonical) next() byte {
	for {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
}

func (c *canonical) value(depth int) error {
	if depth > maximalDepth {
		return fmt.Errorf("nested deeper than %d levels", maximalDepth)
	}
	switch c.next() {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	case '"':
		_, err := c.string()
		return err
	case 't', 'f', 'n':
		c.out = append(c.out, c.literal()...)
		return nil
	default:
		var err error
		c.out, err = appendNumber(c.out, string(c.literal()))
		return err
	}
}

// literal reads a number, true, false or null.
func (c *canonical) literal() []byte {
	from := c.at
	for c.at < len(c.text) && strings.IndexByte(" \t\n\r,]}", c.text[c.at]) < 0 {
		c.at++
	}
	return c.text[from:c.at]
}

func (c *canonical) array(depth int) error {
	c.at++
	c.out = append(c.out, '[')
	for n := 0; c.next() != ']'; n++ {
		if n == c.mostItems {
			return fmt.Errorf("a list is longer than %d items", c.mostItems)
		}
		if n > 0 {
			c.at++ // the comma
			c.out = append(c.out, ',')
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.at++
	c.out = append(c.out, ']')
	return nil
}

// string rewrites the next string and returns its value.
func (c *canonical) string() (string, error) {
	from := c.at
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	quoted := c.text[from:c.at]
	if bytes.IndexByte(quoted, '\\') < 0 { // no escapes
		c.out = append(c.out, quoted...)
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var said string
	if err := json.Unmarshal(quoted, &said); err != nil {
		return "", err
	}
	c.out = appendString(c.out, said)
	return said, nil
}

// member is one member of an object; out[from:to] is its text.
type member struct {
	name     string
	from, to int
}

func (c *canonical) object(depth int) error {
	c.at++
	c.out = append(c.out, '{')
	begin := len(c.out)
	var members []member
	for c.next() != '}' {
		if len(members) == c.mostMembers {
			return fmt.Errorf("an object has more than %d members", c.mostMembers)
		}
		if len(members) > 0 {
			c.at++ // the comma
			c.next()
			c.out = append(c.out, ',')
		}
		m := member{from: len(c.out)}
		var err error
		if m.name, err = c.string(); err != nil {
			return err
		}
		c.next()
		c.at++ // the colon
		c.out = append(c.out, ':')
		if err := c.value(depth + 1); err != nil {
			return err
		}
		m.to = len(c.out)
		members = append(members, m)
	}
	c.at++
	if err := c.sort(begin, members); err != nil {
		return err
	}
	c.out = append(c.out, '}')
	return nil
}

// sort sorts the members, whose text is out[begin:].
func (c *canonical) sort(begin int, members []member) error {
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	before := slices.Clone(c.out[begin:])
	c.out = c.out[:begin]
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return malformed("", "the name %q is used twice", m.name)
			}
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, before[m.from-begin:m.to-begin]...)
	}
	return nil
}

// compareUTF16 compares strings by UTF-16 code units. That is the order of their UTF-8 bytes except
// for characters beyond U+FFFF: they start with 0xF0 or above, but their surrogates sort before
// U+E000, which starts with 0xEE.
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			if min(x, y) >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
				return cmp.Compare(y, x)
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// appendString appends a JSON string with the escapes of ECMAScript's JSON.stringify and no others.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			out = append(out, c)
		} else if short := strings.IndexByte("\"\\\b\t\n\f\r", c); short >= 0 {
			out = append(out, '\\', `"\btnfr`[short])
		} else {
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, '"')
}

// appendNumber appends a number as ECMAScript's Number::toString writes it: the shortest digits
// that parse to the same float64, positional from 1e-6 up to 1e21, otherwise with an exponent
// without leading zeros.
func appendNumber(out []byte, number string) ([]byte, error) {
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s is beyond what a float64 can hold", number)
	}
	if x == 0 { // also −0
		return append(out, '0'), nil
	}
	if abs := math.Abs(x); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(out, x, 'f', -1, 64), nil
	}
	out = strconv.AppendFloat(out, x, 'e', -1, 64)
	if n := len(out); out[n-2] == '0' && (out[n-3] == '-' || out[n-3] == '+') {
		out = append(out[:n-2], out[n-1]) // 1e-07 → 1e-7
	}
	return out, nil
}

// LoneSurrogate returns the index of the first \uD800–\uDFFF escape that is not half of a pair, or
// −1. The JSON decoder would silently replace it, so that two different texts would have the same
// hash.
func LoneSurrogate(text []byte) int {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		first, ok := escapedUnit(text[i:])
		if !ok {
			i++ // skip the escaped character, so that \\u is not taken for an escape
			continue
		}
		if utf16.IsSurrogate(rune(first)) {
			second, ok := escapedUnit(text[min(i+6, len(text)):])
			if !ok || utf16.DecodeRune(rune(first), rune(second)) == utf8.RuneError {
				return i
			}
			i += 6
		}
		i += 5
	}
	return -1
}

func escapedUnit(text []byte) (uint16, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return uint16(unit), err == nil
}
