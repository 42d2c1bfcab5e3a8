package design

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Numbers as people read them: never with an exponent, to the digits that mean something.

// significantDigits is what a number without a known precision is written with.
const significantDigits = 6

// FormatNumber writes x, with at most six significant digits after rounding, without trailing zeros.
func FormatNumber(x float64) string {
	if x == 0 || !Finite(x) {
		return strconv.FormatFloat(x+0, 'f', -1, 64)
	}
	decimals := significantDigits - 1 - exponentOf(x)
	return trimZeros(fixed(x, decimals))
}

// FormatBrief writes x with two significant digits, larger numbers to the unit, without trailing zeros.
func FormatBrief(x float64) string { return trimZeros(fixed(x, max(0, 1-exponentOf(x)))) }

// FormatValue writes value and sd rounded to the digits of sd that mean something, one or two.
// An sd that is 0 or unknown leaves FormatNumber(value) and "0".
func FormatValue(value, sd float64) (number, deviation string) {
	if !(sd > 0) || !Finite(sd) || !Finite(value) {
		return FormatNumber(value), "0"
	}
	decimals := decimalsFor(sd)
	return fixed(value, decimals), fixed(sd, decimals)
}

// decimalsFor is the number of decimals to which a number with standard deviation sd means something; negative ones are
// zeros before the point. It keeps two digits of an sd that starts below 3.55 and one of others, so that 0.96 is written 1.0 (the rule of the Particle Data Group).
func decimalsFor(sd float64) int {
	if !(sd > 0) || !Finite(sd) {
		return significantDigits
	}
	m := exponentOf(sd)
	if sd/math.Pow(10, float64(m)) < 3.55 {
		return 1 - m
	}
	return -m
}

// formatLike writes x with as many decimals as value has in FormatValue(value, sd).
func formatLike(x, sd float64) string {
	if !(sd > 0) || !Finite(sd) || !Finite(x) {
		return FormatNumber(x)
	}
	return fixed(x, decimalsFor(sd))
}

// FormatSetting writes a parameter's value: to the decimals of its step, or to a thousandth of its range.
func FormatSetting(p Parameter, v Value) string {
	if v.IsText {
		return v.Text
	}
	if p.Type == Integer || p.Step != nil && *p.Step > 0 || p.Low == nil || p.High == nil {
		return FormatNumber(v.Number)
	}
	resolution := (*p.High - *p.Low) / 1000
	if p.Scale == "log" {
		resolution = math.Abs(v.Number) / 1000
	}
	if !(resolution > 0) || !Finite(resolution) {
		return FormatNumber(v.Number)
	}
	return trimZeros(fixed(v.Number, max(0, -exponentOf(resolution))))
}

// FormatPercent writes a probability in percent, without claiming certainty.
func FormatPercent(probability float64) string {
	switch percent := 100 * probability; {
	case percent > 99:
		return "over 99 %"
	case percent < 1:
		return "under 1 %"
	default:
		return fixed(percent, 0) + " %"
	}
}

// thinSpace is U+202F, which does not break.
const thinSpace = "\u202f"

// Typeset makes a formatted number ready for a page: a true minus sign, and thin spaces between thousands from five digits on.
func Typeset(number string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "\u2212", rest
	}
	whole, fraction, hasFraction := strings.Cut(number, ".")
	if len(whole) >= 5 {
		whole = groupThousands(whole)
	}
	if hasFraction {
		return sign + whole + "." + fraction
	}
	return sign + whole
}

func groupThousands(digits string) string {
	var grouped strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			grouped.WriteString(thinSpace)
		}
		grouped.WriteRune(digit)
	}
	return grouped.String()
}

// WithUnit puts a unit behind a number, with a space between.
func WithUnit(number, unit, space string) string {
	if unit == "" {
		return number
	}
	return number + space + unit
}

// exponentOf is ⌊log₁₀|x|⌋, exact at powers of ten.
func exponentOf(x float64) int {
	text := strconv.FormatFloat(math.Abs(x), 'e', -1, 64)
	exponent, err := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if err != nil {
		return 0
	}
	return exponent
}

// fixed rounds x to decimals (negative: to tens, hundreds…) and writes it without an exponent; never "-0".
func fixed(x float64, decimals int) string {
	if decimals < 0 {
		unit := math.Pow(10, float64(-decimals))
		x, decimals = math.Round(x/unit)*unit, 0
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

func trimZeros(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// FormatLimit writes a limit with the decimals of the prediction beside it, unless that would round it.
func FormatLimit(threshold, sd float64) string {
	exact := FormatNumber(threshold)
	like := formatLike(threshold, sd)
	if trimZeros(like) == exact {
		return like
	}
	return exact
}

// Capitalised begins a name with a capital letter, unless it has one, as in pH.
func Capitalised(name string) string {
	if strings.ToLower(name) != name {
		return name
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
