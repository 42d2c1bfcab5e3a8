package design

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Numbers in forms and tables have a decimal point or a decimal comma, and perhaps marks, spaces or
// apostrophes between thousands; Japanese input methods write them in full width. A single mark
// before exactly three digits is ambiguous: 1,200 is 1.2 to some people and 1200 to others. The
// program never guesses which.

// Marks are the decimal mark and the thousands mark that a person or a table is known to use: '.'
// or ',', 0 if unknown.
type Marks struct{ Decimal, Thousands rune }

// PointDecimal and CommaDecimal are the marks when both are known.
var PointDecimal, CommaDecimal = Marks{'.', ','}, Marks{',', '.'}

// Decimals names the decimal mark of a whole table.
type Decimals string

const (
	DecimalPoint Decimals = "point"
	DecimalComma Decimals = "comma"
)

// MarksBeside returns what a table's column separator says about its numbers: beside commas
// decimals have a point, and semicolons are used because decimals have a comma.
func MarksBeside(separator rune) Marks {
	switch separator {
	case ',':
		return Marks{Decimal: '.'}
	case ';':
		return Marks{Decimal: ','}
	}
	return Marks{}
}

// AmbiguousNumber is the error for a number that can be read in two ways.
type AmbiguousNumber struct {
	Text               string
	Decimal, Thousands float64 // its value if the mark is decimal, or if it separates thousands
}

func (a *AmbiguousNumber) Error() string {
	return fmt.Sprintf("“%s” can be read as %s or as %s; which is meant?", a.Text, formatNumber(a.Decimal), formatNumber(a.Thousands))
}

var (
	errNotDecimal = errors.New("write a number such as 0.31 or 0,31")
	ErrTooLarge   = errors.New("write a number between -1e100 and 1e100") // of what no float64 can hold
	numberParts   = regexp.MustCompile(`^([+-]?) *([0-9., ']*)([eE][+-]?[0-9]+)?$`)
	grouped       = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:[., '][0-9]{3})+$`)
	onlyDigits    = regexp.MustCompile(`^[0-9]*$`)
	toASCII       = strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ", "−", "-", "ｰ", "-", "’", "'") // to ASCII, after narrowing
)

// parsedNumber is a number split into its parts, as far as its own text determines them.
type parsedNumber struct {
	sign, whole, fraction, exponent string
	decimal                         rune // the mark before the fraction, 0 without one
	thousands                       rune // the mark, space or apostrophe in groups of the whole, 0 without groups
	ambiguous                       bool // the decimal mark may also be a thousands mark
}

func split(text string) (parsedNumber, error) {
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) })
	parts := numberParts.FindStringSubmatch(toASCII.Replace(width.Narrow.String(text)))
	if parts == nil {
		return parsedNumber{}, errNotDecimal
	}
	n := parsedNumber{sign: parts[1], whole: strings.TrimSpace(parts[2]), exponent: parts[3]}
	if at := strings.LastIndexAny(n.whole, ".,"); at >= 0 {
		mark, rest := rune(n.whole[at]), n.whole[:at]
		if !strings.ContainsRune(rest, mark) { // otherwise all of them separate thousands
			n.ambiguous = n.exponent == "" && grouped.MatchString(n.whole) && onlyDigits.MatchString(rest)
			n.whole, n.fraction, n.decimal = rest, n.whole[at+1:], mark
		}
	}
	for _, mark := range " '.," {
		switch {
		case !strings.ContainsRune(n.whole, mark):
		case n.thousands != 0 || mark == n.decimal || !grouped.MatchString(n.whole):
			return parsedNumber{}, misspelt(n.whole, text)
		default:
			n.thousands = mark
		}
	}
	if !onlyDigits.MatchString(n.fraction) {
		return parsedNumber{}, misspelt(n.fraction, text)
	}
	n.whole = strings.ReplaceAll(n.whole, string(n.thousands), "")
	return n, nil
}

func misspelt(part, text string) error {
	if strings.Contains(part, " ") {
		return fmt.Errorf("“%s” looks like more than one number; write one. A space may only stand before groups of three digits, as in 12 500", Shorten(text))
	}
	return errNotDecimal
}

// ReadNumber reads a number as people write it: with a decimal point or comma, and marks or spaces
// before groups of three digits. If its text is ambiguous, known decides; if that does not, the
// error is *AmbiguousNumber.
func ReadNumber(text string, known Marks) (float64, error) {
	n, err := split(text)
	if err != nil {
		return 0, err
	}
	decimal, err := ParseNumber(n.sign + n.whole + "." + n.fraction + n.exponent)
	switch {
	case errors.Is(err, ErrTooLarge):
		return 0, err
	case err != nil:
		return 0, errNotDecimal
	}
	if !n.ambiguous || n.decimal == known.Decimal {
		return decimal, nil
	}
	thousands, err := ParseNumber(n.sign + n.whole + n.fraction)
	if err != nil || n.decimal == known.Thousands {
		return thousands, err
	}
	return 0, &AmbiguousNumber{strings.TrimSpace(text), decimal, thousands}
}

// MarkedOtherwise is the error for a number that has the table's decimal mark between thousands.
type MarkedOtherwise struct {
	Text    string
	Decimal rune
	meant   string // the number, written with Decimal
}

func (m *MarkedOtherwise) Error() string {
	name, other := DecimalPoint, DecimalComma
	if m.Decimal == ',' {
		name, other = other, name
	}
	return fmt.Sprintf("“%s” has a %s between thousands, which was said to be the decimal mark; write %s if that is meant, or say that decimals have a %s", Shorten(m.Text), name, m.meant, other)
}

// ReadCell is ReadNumber for a cell of a table, whose marks are known beforehand (see Habit). A
// number that contradicts them is an error.
func ReadCell(text string, known Marks) (float64, error) {
	x, err := ReadNumber(text, known)
	if err != nil || known.Decimal == 0 {
		return x, err
	}
	if n, _ := split(text); n.thousands == known.Decimal {
		return 0, &MarkedOtherwise{strings.TrimSpace(text), known.Decimal, strings.ReplaceAll(formatNumber(x), ".", string(known.Decimal))}
	}
	return x, nil
}

// CutDeviation splits a reading such as 0.31 ± 0.02 or 0.31 % +- 0.02 % into the value and its
// standard deviation, without their unit.
func CutDeviation(text, unit string) (value, deviation string, told bool) {
	value, deviation, told = strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
	return CutUnit(value, unit), CutUnit(deviation, unit), told
}

// CutUnit removes the unit from the end of a text if a number precedes it; the end of another unit,
// such as g/L in mg/L, stays. A unit that looks like digits must be set apart by a space.
func CutUnit(text, unit string) string {
	const digits = "0123456789.,"
	if unit == "" || strings.Trim(text, digits) == "" {
		return text
	}
	unit = alike(unit)
	before, cut := strings.CutSuffix(strings.TrimSpace(alike(text)), unit)
	number := strings.TrimSpace(before)
	begins := strings.IndexAny(unit, digits) == 0
	if cut && number != "" && strings.LastIndexAny(number, digits) == len(number)-1 && (!begins || number != before) {
		return number
	}
	return text
}

// alike maps texts that are written with different characters of the same look, such as the two for
// micro or a thin space, to the same text.
func alike(text string) string {
	return strings.NewReplacer("µ", "μ", Thin, " ").Replace(norm.NFC.String(width.Narrow.String(text)))
}

// HalfReading says what is missing from value ± standard deviation, nil if both are there.
func HalfReading(value, deviation string) error {
	switch "" {
	case strings.TrimSpace(value):
		return errors.New("write the value before its standard deviation, as in 0.31 ± 0.02, or leave it blank")
	case strings.TrimSpace(deviation):
		return errors.New("write the standard deviation after ±, as in 0.31 ± 0.02, or the value alone")
	}
	return nil
}

// Habit collects from the numbers of a table how it writes them.
type Habit struct{ point, comma bool }

// Note considers one number of the table; other text is ignored.
func (h *Habit) Note(text string) {
	if !strings.ContainsAny(text, ".,．，") {
		return
	}
	n, err := split(text)
	if err != nil || n.ambiguous {
		return
	}
	h.point = h.point || n.decimal == '.' || n.thousands == ','
	h.comma = h.comma || n.decimal == ',' || n.thousands == '.'
}

// Marks returns the table's marks: those it is said to have, else those its numbers show, else
// before. If its numbers contradict each other, nothing is known.
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

// Numbers as people read them: without an exponent such as e-5, and with significant digits only.

// writtenDigits is the number of digits below which a number counts as written by a person or
// printed by an instrument: nine distinguish all numbers of single precision, and computed ones
// have fifteen or more. Those are written with SignificantDigits if nothing is known of their
// precision.
const writtenDigits, SignificantDigits = 9, 6

// digitsHeld is the number of significant digits of a float64.
const digitsHeld = 16

// FormatNumber writes x as somebody wrote it, or rounded to six significant digits if it was
// computed, without trailing zeros.
func FormatNumber(x float64) string {
	decimals := decimalsOf(x)
	if Computed(x) {
		decimals = SignificantDigits - 1 - ExponentOf(x)
	}
	return FormatUpTo(x, decimals)
}

// Computed reports whether x has more digits than a person writes.
func Computed(x float64) bool { return decimalsOf(x)+ExponentOf(x) >= writtenDigits }

func decimalsOf(x float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(fraction)
}

// Abbreviates reports whether v is x or, as spreadsheets write numbers that have no room, x rounded to
// the digits of v, at least SignificantDigits.
func Abbreviates(v, x float64) bool {
	digits, exponent := decimal(v)
	_, fraction, _ := strings.Cut(digits, ".")
	return v == x || math.Abs(v-x) <= math.Abs(x)/2*math.Pow10(1-SignificantDigits) && roundsTo(v, x, len(fraction)-exponent)
}

// roundsTo reports whether v is x rounded to decimals; of two as near it may be either, since
// spreadsheets round the decimal number and not the binary one.
func roundsTo(v, x float64, decimals int) bool {
	return math.Abs(v-x) <= math.Pow10(-decimals)/2*(1+1e-9)
}

// FormatBrief writes x with two significant digits, larger numbers to the unit, without trailing
// zeros.
func FormatBrief(x float64) string { return FormatUpTo(x, max(0, 1-ExponentOf(x))) }

// FormatValue rounds value and sd to the one or two significant digits of sd. If sd is 0 or unknown
// it returns FormatNumber(value) and "0"; if sd is below the precision of value, each has its own
// digits.
func FormatValue(value, sd float64) (number, deviation string) {
	if !(sd > 0) || !Finite(sd) || !Finite(value) {
		return FormatNumber(value), "0"
	}
	held := digitsHeld - 1 - ExponentOf(value)
	decimals := min(decimalsFor(sd), held)
	number = FormatFixed(value, decimals)
	if -ExponentOf(sd) > held {
		decimals = min(decimalsFor(sd), held+digitsHeld)
	}
	return number, FormatFixed(sd, decimals)
}

// decimalsFor returns the number of significant decimals of a number with standard deviation sd >
// 0; a negative number means zeros before the point. It keeps two digits of an sd that starts below
// 3.55 and one of others, so that 0.96 is written 1.0 (the rule of the Particle Data Group).
func decimalsFor(sd float64) int {
	m := ExponentOf(sd)
	if Scaled(sd, -m) < 3.55 {
		return 1 - m
	}
	return -m
}

// FormatSetting writes a parameter's value: to the decimals of its step with at least six digits,
// or to a thousandth of its range.
func FormatSetting(p Parameter, v Value) string {
	if v.IsText {
		return v.Text
	}
	if decimals, fixed := settingDecimals(p, v.Number); fixed {
		return FormatUpTo(v.Number, decimals)
	}
	return FormatNumber(v.Number)
}

// settingDecimals returns how many decimals FormatSetting writes; fixed is false if the value is
// written as any number is.
func settingDecimals(p Parameter, x float64) (decimals int, fixed bool) {
	if p.Low == nil || p.High == nil {
		return 0, false
	}
	if p.Type == Integer || p.Step != nil && *p.Step > 0 {
		decimals := max(SignificantDigits-1-ExponentOf(x), stepDecimals(p))
		return min(decimals, digitsHeld-1-ExponentOf(x)), true
	}
	resolution := (*p.High - *p.Low) / 1000
	if p.Logarithmic() {
		resolution = math.Abs(x) / 1000
	}
	return max(0, -ExponentOf(resolution)), resolution > 0 && Finite(resolution)
}

// stepDecimals returns how many decimals the values of a parameter with steps have.
func stepDecimals(p Parameter) int {
	if p.Step == nil {
		return 0
	}
	return max(decimalsOf(*p.Low), decimalsOf(*p.Step))
}

// Numbers from PlainFrom up to PlainBelow in size are written without a power of ten.
const PlainFrom, PlainBelow = 1e-4, 1e7

// PowerOf returns the power of ten that a number is written with, 0 for none.
func PowerOf(x float64) int {
	if size := math.Abs(x); x == 0 || !Finite(x) || size >= PlainFrom && size < PlainBelow {
		return 0
	}
	return ExponentOf(x)
}

func withPower(number string, power int) string {
	if power == 0 {
		return number
	}
	return number + Thin + "×" + Thin + "10" + Superscript(power)
}

var raisedDigits = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// Superscript returns an exponent in superscript digits.
func Superscript(power int) string { return raisedDigits.Replace(strconv.Itoa(power)) }

// WriteNumber writes a value for sentences and pages.
func WriteNumber(x float64) string { return WriteBeside(x, 0) }

// WriteExactly is WriteNumber with all digits.
func WriteExactly(x float64) string {
	power := PowerOf(x)
	return withPower(Typeset(NumberValue(Scaled(x, -power)).String()), power)
}

// WriteBeside is WriteNumber with the decimals that are significant with a standard deviation of
// sd.
func WriteBeside(x, sd float64) string {
	number, _, power := uncertain(x, sd)
	return withPower(number, power)
}

// WriteTogether returns a function that writes numbers to be read side by side, such as the ends of
// a range: with the same power of ten, that of the largest, and the decimals that are significant
// with sd.
func WriteTogether(sd float64, all ...float64) func(x float64) string {
	largest := 0.0
	for _, x := range all {
		largest = max(largest, math.Abs(x))
	}
	_, _, power := uncertain(largest, sd)
	return func(x float64) string {
		number, _ := FormatValue(Scaled(x, -power), Scaled(sd, -power))
		return withPower(Typeset(number), power)
	}
}

// WriteUncertain writes a value ± its standard deviation.
func WriteUncertain(value, sd float64) string {
	number, deviation, power := uncertain(value, sd)
	text := number + " ± " + deviation
	if power != 0 {
		text = "(" + text + ")"
	}
	return withPower(text, power)
}

// uncertain returns a value and its standard deviation with the power of ten of the larger one
// after rounding, since 9.99 may become 10.0.
func uncertain(value, sd float64) (number, deviation string, power int) {
	power = PowerOf(max(math.Abs(value), sd))
	for {
		number, deviation = FormatValue(Scaled(value, -power), Scaled(sd, -power))
		rounded := PowerOf(Scaled(max(absolute(number), absolute(deviation)), power))
		if rounded <= power {
			return Typeset(number), Typeset(deviation), power
		}
		power = rounded
	}
}

// absolute returns the absolute value of a written number, 0 if the text is none.
func absolute(number string) float64 {
	x, _ := strconv.ParseFloat(number, 64)
	return math.Abs(x)
}

// mostZeros is the largest power of ten of a setting that is written out. Beyond it there would be
// more zeros than a float64 has digits.
const mostZeros = 15

// WriteSetting writes a parameter's value. Large values keep all digits that somebody may have to
// set; small ones would lose theirs behind zeros.
func WriteSetting(p Parameter, v Value) string {
	if v.IsText {
		return v.Text
	}
	text := FormatSetting(p, v)
	rounded, err := strconv.ParseFloat(text, 64)
	if power := PowerOf(rounded); err != nil || power == 0 || 0 < power && power <= mostZeros {
		return Typeset(text)
	}
	return WriteNumber(rounded)
}

// FormatPercent writes a probability in per cent, never as 0 % or 100 %.
func FormatPercent(probability float64) string {
	switch percent := 100 * probability; {
	case percent > 99:
		return "over 99 %"
	case percent < 1:
		return "under 1 %"
	default:
		return FormatFixed(percent, 0) + " %"
	}
}

// Thin is the narrow no-break space, which pages put between a number and its unit.
const Thin = "\u202f"

// Typeset prepares a formatted number for a page: a true minus sign, and thin spaces between
// thousands from five digits on.
func Typeset(number string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "\u2212", rest
	}
	point := strings.IndexByte(number+".", '.')
	if point >= 5 {
		for at := point - 3; at > 0; at -= 3 {
			number = number[:at] + Thin + number[at:]
		}
	}
	return sign + number
}

// Name returns a name or choice for use beside numbers in a sentence. Right-to-left text is
// isolated (Unicode's FSI and PDI); otherwise browsers would reorder the numbers after it.
func Name(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew) }) {
		return "\u2068" + name + "\u2069"
	}
	return name
}

// OpeningName is Name at the beginning of a sentence.
func OpeningName(name string) string { return Name(Capitalised(name)) }

// Count returns a number of things, in the plural if appropriate.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Typeset(strconv.Itoa(n)) + " " + many
}

// longestWhole is how many letters a unit has at most that is never divided between lines.
const longestWhole = 8

// IsLongUnit tells whether a unit may be below its number, or divided, if a line has no room.
func IsLongUnit(unit string) bool { return utf8.RuneCountInString(unit) > longestWhole }

// WithUnit appends a unit to a number, with space between them, which if it is Thin keeps both on
// one line.
func WithUnit(number, unit, space string) string {
	if unit == "" {
		return number
	}
	if space == Thin && !IsLongUnit(unit) {
		unit = strings.ReplaceAll(unit, " ", Thin)
	}
	return number + space + unit
}

// Apart appends the unit of a difference to a number. Differences of percentages are in points,
// since a percentage of a percentage would mean something else.
func Apart(number, unit, space string) string {
	if unit = UnitApart(unit); unit == points && strings.TrimPrefix(number, "−") == "1" {
		unit = "point"
	}
	return WithUnit(number, unit, space)
}

const points = "points"

// UnitApart returns the unit of differences between values in unit.
func UnitApart(unit string) string {
	if unit == "%" {
		return points
	}
	return unit
}

// ExponentOf returns ⌊log₁₀|x|⌋, exact at powers of ten and for subnormal numbers; 0 if x is 0 or
// not finite.
func ExponentOf(x float64) int {
	_, exponent := decimal(x)
	return exponent
}

// decimal returns x in exponential notation; the exponent is 0 if x is not finite.
func decimal(x float64) (digits string, exponent int) {
	digits, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	if exponent, err := strconv.Atoi(power); err == nil {
		return digits, exponent
	}
	return digits, 0
}

// Scaled returns x·10^power, rounded once. Unlike a product with math.Pow it is right where
// 10^power is not a float64, as near 1e-310 or 1e308.
func Scaled(x float64, power int) float64 {
	digits, exponent := decimal(x)
	scaled, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent+power), 64)
	if err != nil {
		return x // not finite, or too large to be so
	}
	return scaled
}

// Rounded returns x rounded to decimals; negative ones are zeros before the point.
func Rounded(x float64, decimals int) float64 {
	return Scaled(math.Round(Scaled(x, decimals)), -decimals)
}

// unknownNumber is written for NaN and infinities.
const unknownNumber = "–"

// FormatFixed rounds x to decimals (negative: to tens, hundreds…) and writes it without an
// exponent, never as "-0", NaN or infinity. Every number that people read is written by it.
func FormatFixed(x float64, decimals int) string {
	if !Finite(x) {
		return unknownNumber
	}
	if decimals < 0 {
		x, decimals = Rounded(x, decimals), 0
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// FormatUpTo is FormatFixed without trailing zeros.
func FormatUpTo(x float64, decimals int) string { return trimZeros(FormatFixed(x, decimals)) }

func trimZeros(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// WriteLimit writes a limit with the decimals of the prediction beside it, unless they would round
// the limit or it is written with a power of ten.
func WriteLimit(threshold, sd float64) string {
	like, _ := FormatValue(threshold, sd)
	if PowerOf(threshold) == 0 && trimZeros(like) == FormatNumber(threshold) {
		return Typeset(like)
	}
	return WriteNumber(threshold)
}

// IsSymbol reports whether a name begins with a symbol instead of a word: a single letter, or
// anything with a Greek letter or a character that is no letter, like k, λmax, x1 and k_cat.
func IsSymbol(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	word = strings.TrimRight(word, ",.:;")
	return utf8.RuneCountInString(word) < 2 || strings.ContainsFunc(word, func(r rune) bool {
		return unicode.Is(unicode.Greek, r) || !unicode.IsLetter(r) && r != '-' && r != '’'
	})
}

// Capitalised capitalises a name for the beginning of a sentence or title, unless its first word
// has capitals already, like pH, or is a symbol: K is not k.
func Capitalised(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if IsSymbol(name) || strings.ToLower(word) != word {
		return name
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
