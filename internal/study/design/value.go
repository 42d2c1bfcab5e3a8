package design

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strconv"
)

// NumberValue is a numeric setting. Minus zero becomes zero.
func NumberValue(x float64) Value { return Value{Number: x + 0} }

// TextValue is a chosen category.
func TextValue(text string) Value { return Value{Text: text, IsText: true} }

var errNotAValue = errors.New("a setting is a finite number or a text")

// UnmarshalJSON reads a finite number or a string.
func (v *Value) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*v = TextValue(text)
		return nil
	}
	number, err := ParseNumber(string(data))
	if err != nil {
		return errNotAValue
	}
	*v = NumberValue(number)
	return nil
}

// MarshalJSON writes a number or a string.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsText {
		return json.Marshal(v.Text)
	}
	if !Finite(v.Number) {
		return nil, errNotAValue
	}
	return []byte(formatNumber(v.Number)), nil
}

// String is the value as people read it: the shortest text that gives the same number back, or the
// choice.
func (v Value) String() string {
	if v.IsText {
		return v.Text
	}
	return formatNumber(v.Number)
}

// Equal tells whether both set the same parameters to the same values.
func (s Settings) Equal(other Settings) bool { return maps.Equal(s, other) }

// Clone returns a copy that shares nothing.
func (s Settings) Clone() Settings { return maps.Clone(s) }

// Largest is the largest size of a number that enters a study: squares of it, products of two and
// sums of a study's worth of them stay within what a float64 can hold.
const Largest = 1e100

// Finite tells whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Computable tells whether x is a number that a study can compute with.
func Computable(x float64) bool { return math.Abs(x) <= Largest }

// formatNumber writes the shortest decimal that reads back as x, without an exponent where people
// would write none.
func formatNumber(x float64) string {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

var errNotANumber = errors.New("not a finite decimal number")

// ParseNumber reads a decimal number. Unlike strconv it refuses infinities, NaN, hexadecimal and
// underscores.
func ParseNumber(text string) (float64, error) {
	for _, r := range text {
		switch {
		case '0' <= r && r <= '9', r == '.', r == '-', r == '+', r == 'e', r == 'E':
		default:
			return 0, errNotANumber
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errNotANumber
	}
	return x + 0, nil
}
