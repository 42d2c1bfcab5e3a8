package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// canonicalJSON rewrites a JSON text in the one form of RFC 8785 (JSON Canonicalization Scheme): no spaces, members sorted by
// the UTF-16 code units of their names, the shortest numbers that ECMAScript prints, the fewest escapes. It refuses
// what I-JSON refuses: names used twice, text that is not Unicode, numbers beyond a float64, anything after the value.
func canonicalJSON(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if at := loneSurrogate(text); at >= 0 {
		return nil, fmt.Errorf("byte %d: half of a surrogate pair", at)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	out, err := appendCanonical(make([]byte, 0, len(text)), decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return out, nil
}

// maximalDepth bounds the nesting of what is hashed; a ledger event needs fewer than ten levels.
const maximalDepth = 100

// appendCanonical appends the next value of decoder.
func appendCanonical(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	if depth > maximalDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maximalDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return appendObject(out, decoder, depth)
		}
		return appendArray(out, decoder, depth)
	case string:
		return appendString(out, token), nil
	case json.Number:
		return appendNumber(out, token)
	case bool:
		return strconv.AppendBool(out, token), nil
	default:
		return append(out, "null"...), nil
	}
}

func appendArray(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	out = append(out, '[')
	for first := true; decoder.More(); first = false {
		if !first {
			out = append(out, ',')
		}
		var err error
		if out, err = appendCanonical(out, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return append(out, ']'), err
}

// member is one name of an object with its canonical value.
type member struct {
	name  string
	units []uint16 // of name, the sort key
	value []byte
}

func appendObject(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	var members []member
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		value, err := appendCanonical(nil, decoder, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, utf16.Encode([]rune(name)), value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return nil, fmt.Errorf("the name %q is used twice", m.name)
			}
			out = append(out, ',')
		}
		out = appendString(out, m.name)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

// appendString writes the escapes of ECMAScript's JSON.stringify and every other character as itself.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\f':
			out = append(out, '\\', 'f')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			if c < 0x20 {
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}

// appendNumber writes a number as ECMAScript's Number::toString does: the shortest digits that give the same
// float64 back, positional from 1e-6 up to 1e21, otherwise with an exponent without leading zeros.
func appendNumber(out []byte, number json.Number) ([]byte, error) {
	x, err := strconv.ParseFloat(number.String(), 64)
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

// loneSurrogate returns the place of a \uD800–\uDFFF escape that is not half of a pair, or −1. The decoder would quietly
// replace it, so that two different texts would have one hash.
func loneSurrogate(text []byte) int {
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

// escapedUnit reads a \uXXXX escape at the start of text.
func escapedUnit(text []byte) (uint16, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return uint16(unit), err == nil
}
