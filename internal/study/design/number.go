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

	"golang.org/x/text/width"
)

// Numbers that people write, in forms and in tables, have a decimal point or a decimal comma, and
// perhaps marks or spaces between thousands; Japanese input methods write them as wide as other
// letters. A lone mark before exactly three digits may be either:
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
	asTyped       = strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ", "−", "-", "ｰ", "-") // as keyboards have it, of what is narrow
)

// written is a number split into its parts, as far as its own text decides.
type written struct {
	sign, whole, fraction, exponent string
	decimal                         rune // the mark before the fraction, 0 without one
	thousands                       rune // the mark or space in groups of the whole, 0 without groups
	either                          bool // the decimal mark may as well be one of thousands
}

func split(text string) (written, error) {
	parts := numberParts.FindStringSubmatch(strings.TrimSpace(asTyped.Replace(width.Narrow.String(text))))
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
	n.whole = strings.ReplaceAll(n.whole, string(n.thousands), "")
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

// MarkedOtherwise is, as an error, a number with the mark between thousands that decimals of its table
// were said to have.
type MarkedOtherwise struct {
	Text    string
	Decimal rune
	meant   string // the number, written as was said
}

func (m *MarkedOtherwise) Error() string {
	name, other := DecimalPoint, DecimalComma
	if m.Decimal == ',' {
		name, other = other, name
	}
	return fmt.Sprintf("“%s” has a %s between thousands, and decimals were said to have it; write %s if that is meant, or say that decimals have a %s", Shorten(m.Text), name, m.meant, other)
}

// ReadCell is ReadNumber of a table, whose numbers decide beforehand what is known (Habit): what
// contradicts it contradicts what was said.
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

// CutDeviation cuts a reading as people write it, 0.31 ± 0.02 or 0.31 +- 0.02, into its value and the
// standard deviation told with it.
func CutDeviation(text string) (value, deviation string, told bool) {
	return strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
}

// CutUnit cuts the unit from the end of a text, where a number stands before it: of mg/L, g/L is
// another unit. A unit that would pass for digits has to stand apart.
func CutUnit(text, unit string) string {
	const digits = "0123456789.,"
	if unit == "" || strings.Trim(text, digits) == "" {
		return text
	}
	unit = width.Narrow.String(unit)
	before, cut := strings.CutSuffix(strings.TrimSpace(width.Narrow.String(text)), unit)
	number := strings.TrimSpace(before)
	begins := strings.IndexAny(unit, digits) == 0
	if cut && number != "" && strings.LastIndexAny(number, digits) == len(number)-1 && (!begins || number != before) {
		return number
	}
	return text
}

// HalfReading says what is missing where people write a value ± its standard deviation, nil where both
// are there.
func HalfReading(value, deviation string) error {
	switch "" {
	case strings.TrimSpace(value):
		return errors.New("write the value before its standard deviation, as in 0.31 ± 0.02, or leave it blank")
	case strings.TrimSpace(deviation):
		return errors.New("write the standard deviation behind ±, as in 0.31 ± 0.02, or the value alone")
	}
	return nil
}

// Habit gathers from numbers of one table how all of them are written.
type Habit struct{ point, comma bool }

// Note looks at one number of the table; what is none tells nothing.
func (h *Habit) Note(text string) {
	if !strings.ContainsAny(text, ".,．，") {
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

// Numbers as people read them: never with an exponent, to the digits that mean something.

// writtenDigits is up to how many digits a number counts as one that somebody wrote or an instrument
// printed: nine tell all numbers of single precision apart, and what was computed has fifteen or
// more. That is written with SignificantDigits where nothing is known of its precision.
const writtenDigits, SignificantDigits = 9, 6

// digitsHeld is how many digits a float64 holds, to which alone it can be written.
const digitsHeld = 16

// FormatNumber writes x as somebody wrote it, or what was computed with at most six significant
// digits after rounding, without trailing zeros.
func FormatNumber(x float64) string {
	decimals := decimalsOf(x)
	if Computed(x) {
		decimals = SignificantDigits - 1 - ExponentOf(x)
	}
	return trimZeros(FormatFixed(x, decimals))
}

// Computed tells whether x has more digits than somebody writes.
func Computed(x float64) bool { return decimalsOf(x)+ExponentOf(x) >= writtenDigits }

func decimalsOf(x float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(fraction)
}

// FormatBrief writes x with two significant digits, larger numbers to the unit, without trailing
// zeros.
func FormatBrief(x float64) string { return trimZeros(FormatFixed(x, max(0, 1-ExponentOf(x)))) }

// FormatValue writes value and sd rounded to the digits of sd that mean something, one or two.
// An sd that is 0 or unknown leaves FormatNumber(value) and "0"; one that lies beyond the digits that
// value holds has its own.
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

// decimalsFor is the number of decimals to which a number with standard deviation sd > 0 means
// something; negative ones are zeros before the point. It keeps two digits of an sd that starts
// below 3.55 and one of others, so that 0.96 is written 1.0 (the rule of the Particle Data Group).
func decimalsFor(sd float64) int {
	m := ExponentOf(sd)
	if Scaled(sd, -m) < 3.55 {
		return 1 - m
	}
	return -m
}

// FormatSetting writes a parameter's value: to the decimals of its step and six digits at least, or
// to a thousandth of its range.
func FormatSetting(p Parameter, v Value) string {
	if v.IsText {
		return v.Text
	}
	if decimals, fixed := settingDecimals(p, v.Number); fixed {
		return trimZeros(FormatFixed(v.Number, decimals))
	}
	return FormatNumber(v.Number)
}

// settingDecimals is how many decimals FormatSetting writes a value with; fixed is false where it is
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

// stepDecimals is how many decimals the values have that a parameter with steps can be set to.
func stepDecimals(p Parameter) int {
	if p.Step == nil {
		return 0
	}
	return max(decimalsOf(*p.Low), decimalsOf(*p.Step))
}

// Numbers of the size PlainFrom up to PlainBelow are written without a power of ten.
const PlainFrom, PlainBelow = 1e-4, 1e7

// PowerOf is the power of ten that a number is written with, 0 for none.
func PowerOf(x float64) int {
	if size := math.Abs(x); x == 0 || !Finite(x) || size >= PlainFrom && size < PlainBelow {
		return 0
	}
	return ExponentOf(x)
}

func powered(number string, power int) string {
	if power == 0 {
		return number
	}
	return number + thinSpace + "×" + thinSpace + "10" + Raised(power)
}

var raisedDigits = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// Raised is a power as it stands above a 10.
func Raised(power int) string { return raisedDigits.Replace(strconv.Itoa(power)) }

// WriteNumber writes a value as sentences and pages show it.
func WriteNumber(x float64) string { return WriteBeside(x, 0) }

// WriteExactly is WriteNumber with every digit that a value has.
func WriteExactly(x float64) string {
	power := PowerOf(x)
	return powered(Typeset(NumberValue(Scaled(x, -power)).String()), power)
}

// WriteBeside is WriteNumber with the decimals that a standard deviation of sd leaves meaning in.
func WriteBeside(x, sd float64) string {
	number, _, power := uncertain(x, sd)
	return powered(number, power)
}

// WriteTogether writes numbers likewise that are read beside each other, as the ends of a range are: with
// one power of ten, that of the largest of them.
func WriteTogether(sd float64, all ...float64) func(x float64) string {
	largest := 0.0
	for _, x := range all {
		largest = max(largest, math.Abs(x))
	}
	_, _, power := uncertain(largest, sd)
	return func(x float64) string {
		number, _ := FormatValue(Scaled(x, -power), Scaled(sd, -power))
		return powered(Typeset(number), power)
	}
}

// WriteUncertain writes a value and its standard deviation likewise.
func WriteUncertain(value, sd float64) string {
	number, deviation, power := uncertain(value, sd)
	text := number + " ± " + deviation
	if power != 0 {
		text = "(" + text + ")"
	}
	return powered(text, power)
}

// uncertain is a value and its standard deviation with the power of ten of the larger one, as it is
// once rounded: 9.99 may be 10.0.
func uncertain(value, sd float64) (number, deviation string, power int) {
	power = PowerOf(max(math.Abs(value), sd))
	for {
		number, deviation = FormatValue(Scaled(value, -power), Scaled(sd, -power))
		rounded := PowerOf(Scaled(max(sizeOf(number), sizeOf(deviation)), power))
		if rounded <= power {
			return Typeset(number), Typeset(deviation), power
		}
		power = rounded
	}
}

// sizeOf is that of a written number, 0 of what is none.
func sizeOf(number string) float64 {
	x, _ := strconv.ParseFloat(number, 64)
	return math.Abs(x)
}

// mostZeros is beyond what power of ten large settings are written with it: there would be more
// zeros than a float64 has digits.
const mostZeros = 15

// WriteSetting writes a parameter's value. Large ones keep all digits that somebody may have to
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

// FormatPercent writes a probability in percent, without claiming certainty.
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

// thinSpace is U+202F, which does not break.
const thinSpace = "\u202f"

// Typeset makes a formatted number ready for a page: a true minus sign, and thin spaces between
// thousands from five digits on.
func Typeset(number string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "\u2212", rest
	}
	point := strings.IndexByte(number+".", '.')
	if point >= 5 {
		for at := point - 3; at > 0; at -= 3 {
			number = number[:at] + thinSpace + number[at:]
		}
	}
	return sign + number
}

// Name is a name, or a choice, beside a number in a sentence: what is written right to left is set apart
// (Unicode's FSI and PDI), or browsers would draw the numbers after it in that order, too.
func Name(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew) }) {
		return "\u2068" + name + "\u2069"
	}
	return name
}

// OpeningName is Name with which a sentence begins.
func OpeningName(name string) string { return Name(Capitalised(name)) }

// Count is a number of things, in the plural where that is right.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Typeset(strconv.Itoa(n)) + " " + many
}

// WithUnit puts a unit behind a number, with a space between.
func WithUnit(number, unit, space string) string {
	if unit == "" {
		return number
	}
	return number + space + unit
}

// Apart puts the unit of a difference behind a number: that of shares in per cent is in points, since
// so many per cent of a share would be something else.
func Apart(number, unit, space string) string {
	if unit = UnitApart(unit); unit == points && strings.TrimPrefix(number, "−") == "1" {
		unit = "point"
	}
	return WithUnit(number, unit, space)
}

const points = "points"

// UnitApart is the unit of differences of what has that unit.
func UnitApart(unit string) string {
	if unit == "%" {
		return points
	}
	return unit
}

// ExponentOf is ⌊log₁₀|x|⌋, exact at powers of ten, down to the smallest numbers; 0 of 0 and of
// what is not finite.
func ExponentOf(x float64) int {
	_, exponent := decimal(x)
	return exponent
}

// decimal is x as it is written with an exponent; what is not finite has none.
func decimal(x float64) (digits string, exponent int) {
	digits, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	if exponent, err := strconv.Atoi(power); err == nil {
		return digits, exponent
	}
	return digits, 0
}

// Scaled is x·10^power, rounded once. Unlike a product with math.Pow it is right where 10^power is
// no float64, as near 1e-310 or 1e308.
func Scaled(x float64, power int) float64 {
	digits, exponent := decimal(x)
	scaled, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent+power), 64)
	if err != nil {
		return x // not finite, or too large to be so
	}
	return scaled
}

// Rounded is x rounded to decimals; negative ones are zeros before the point.
func Rounded(x float64, decimals int) float64 {
	return Scaled(math.Round(Scaled(x, decimals)), -decimals)
}

// unknownNumber is written for what is no number.
const unknownNumber = "–"

// FormatFixed rounds x to decimals (negative: to tens, hundreds…) and writes it without an
// exponent; never "-0", and never what is no number. All that people read is written through it.
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

func trimZeros(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// WriteLimit is WriteNumber of a limit with the decimals of the prediction beside it, unless that
// would round it or it is written with a power of ten.
func WriteLimit(threshold, sd float64) string {
	like, _ := FormatValue(threshold, sd)
	if PowerOf(threshold) == 0 && trimZeros(like) == FormatNumber(threshold) {
		return Typeset(like)
	}
	return WriteNumber(threshold)
}

// IsSymbol tells whether a name begins with a symbol and no word: with one letter, a Greek one, or what is
// no letter, like k, λmax, x1 and k_cat.
func IsSymbol(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	word = strings.TrimRight(word, ",.:;")
	return utf8.RuneCountInString(word) < 2 || strings.ContainsFunc(word, func(r rune) bool {
		return unicode.Is(unicode.Greek, r) || !unicode.IsLetter(r) && r != '-' && r != '’'
	})
}

// Capitalised begins a sentence or a title, unless its first word has capitals of its own, like pH, or
// is a symbol: K is no k.
func Capitalised(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if IsSymbol(name) || strings.ToLower(word) != word {
		return name
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
