package design

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Numbers that people write, in forms and in tables, have a decimal point or a decimal comma, and
// perhaps marks or spaces between thousands. A lone mark before exactly three digits may be either:
// 1,200 is 1.2 to some and 1200 to others. It is never guessed at.

// Marks are what somebody, or a table, is known to write numbers with: '.' or ',', 0 where that is
// not known.
type Marks struct{ Decimal, Thousands rune }

// PointDecimal and CommaDecimal leave nothing open.
var PointDecimal, CommaDecimal = Marks{'.', ','}, Marks{',', '.'}

// Decimals are what the decimal mark of a whole table is called.
type Decimals string

const (
	DecimalPoint Decimals = "point"
	DecimalComma Decimals = "comma"
)

// MarksBeside are what is known of numbers in a table by what separates its columns: commas leave
// decimals the point, and semicolons are there because decimals have the comma.
func MarksBeside(separator rune) Marks {
	switch separator {
	case ',':
		return Marks{Decimal: '.'}
	case ';':
		return Marks{Decimal: ','}
	}
	return Marks{}
}

// AmbiguousNumber is, as an error, a number that can be read in two ways.
type AmbiguousNumber struct {
	Text               string
	Decimal, Thousands float64 // what it is if its mark is decimal, or stands between thousands
}

func (a *AmbiguousNumber) Error() string {
	return fmt.Sprintf("“%s” can be read as %s or as %s; which is meant?", a.Text, formatNumber(a.Decimal), formatNumber(a.Thousands))
}

var (
	errNotDecimal = errors.New("write a number such as 0.31 or 0,31")
	numberParts   = regexp.MustCompile(`^([+-]?) *([0-9., ]*)([eE][+-]?[0-9]+)?$`)
	inGroups      = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:[., ][0-9]{3})+$`)
	onlyDigits    = regexp.MustCompile(`^[0-9]*$`)
)

// written is a number split into its parts, as far as its own text decides.
type written struct {
	sign, whole, fraction, exponent string
	decimal                         rune // the mark before the fraction, 0 without one
	thousands                       rune // the mark or space in groups of the whole, 0 without groups
	either                          bool // the decimal mark may as well be one of thousands
}

func split(text string) (written, error) {
	plain := strings.TrimSpace(strings.Map(func(r rune) rune {
		switch r {
		case '\u00a0', '\u2009', '\u202f':
			return ' '
		case '−':
			return '-'
		}
		return r
	}, text))
	parts := numberParts.FindStringSubmatch(plain)
	if parts == nil {
		return written{}, errNotDecimal
	}
	n := written{sign: parts[1], whole: strings.TrimSpace(parts[2]), exponent: parts[3]}
	if at := strings.LastIndexAny(n.whole, ".,"); at >= 0 {
		mark, rest := rune(n.whole[at]), n.whole[:at]
		if !strings.ContainsRune(rest, mark) { // else all of them stand between thousands
			n.either = n.exponent == "" && inGroups.MatchString(n.whole) && onlyDigits.MatchString(rest)
			n.whole, n.fraction, n.decimal = rest, n.whole[at+1:], mark
		}
	}
	for _, mark := range " .," {
		switch {
		case !strings.ContainsRune(n.whole, mark):
		case n.thousands != 0 || mark == n.decimal || !inGroups.MatchString(n.whole):
			return written{}, misspelt(n.whole, text)
		default:
			n.thousands = mark
		}
	}
	if !onlyDigits.MatchString(n.fraction) {
		return written{}, misspelt(n.fraction, text)
	}
	n.whole = strings.Map(func(r rune) rune {
		if r == n.thousands {
			return -1
		}
		return r
	}, n.whole)
	return n, nil
}

func misspelt(part, text string) error {
	if strings.Contains(part, " ") {
		return fmt.Errorf("“%s” looks like more than one number; write one. A space may only stand before groups of three digits, as in 12 500", Shorten(strings.TrimSpace(text)))
	}
	return errNotDecimal
}

// ReadNumber reads a number as people write it: with decimal point or comma, and marks or spaces
// before groups of three digits. Where its own text does not decide, known does, and else the error
// is an *AmbiguousNumber.
func ReadNumber(text string, known Marks) (float64, error) {
	n, err := split(text)
	if err != nil {
		return 0, err
	}
	decimal, err := ParseNumber(n.sign + n.whole + "." + n.fraction + n.exponent)
	if err != nil {
		return 0, errNotDecimal
	}
	if !n.either || n.decimal == known.Decimal {
		return decimal, nil
	}
	thousands, err := ParseNumber(n.sign + n.whole + n.fraction)
	if err != nil || n.decimal == known.Thousands {
		return thousands, err
	}
	return 0, &AmbiguousNumber{strings.TrimSpace(text), decimal, thousands}
}

// Habit gathers from numbers of one table how all of them are written.
type Habit struct{ point, comma bool }

// Note looks at one number of the table; what is none tells nothing.
func (h *Habit) Note(text string) {
	if !strings.ContainsAny(text, ".,") {
		return
	}
	n, err := split(text)
	if err != nil || n.either {
		return
	}
	h.point = h.point || n.decimal == '.' || n.thousands == ','
	h.comma = h.comma || n.decimal == ',' || n.thousands == '.'
}

// Marks are those that the table is said to have, or that its numbers show, or before where they
// show none. Where they contradict each other, nothing is known.
func (h Habit) Marks(said Decimals, before Marks) Marks {
	switch {
	case said == DecimalPoint:
		return PointDecimal
	case said == DecimalComma:
		return CommaDecimal
	case h.point && h.comma:
		return Marks{}
	case h.point:
		return PointDecimal
	case h.comma:
		return CommaDecimal
	}
	return before
}
