// Package words writes numbers, quantities and moments the way pages do, and has small helpers for
// sentences about them.
package words

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"headroom/internal/lists"
	"headroom/internal/study/design"
)

// Thin is the space between a number and its unit.
const Thin = design.Thin

// Raw writes a number for programs, equal to the API's to the last bit.
func Raw(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Rough writes three digits, for estimates.
func Rough(x float64) string { return toDigits(x, 3) }

// FourDigits writes four digits, the resolution of pointing at a chart.
func FourDigits(x float64) string { return toDigits(x, 4) }

// Brief writes two digits, for differences of estimates.
func Brief(x float64) string { return toDigits(x, 2) }

func toDigits(x float64, digits int) string {
	return design.WriteNumber(design.Rounded(x, digits-1-design.ExponentOf(x)))
}

// RoughOr is Rough, or a dash for nil.
func RoughOr(x *float64) string {
	if x == nil {
		return "–"
	}
	return Rough(*x)
}

// Alike writes numbers with the decimals that are meaningful beside a standard deviation of sd.
func Alike(sd float64) func(float64) string {
	return func(x float64) string { return design.WriteBeside(x, sd) }
}

// Column writes the numbers of a column with the same decimals, those of the number that needs
// most. Numbers with a power of ten have their own. If computed numbers are so close that they
// would be written alike, they get the decimals of a thousandth of their range.
func Column(values []float64) func(float64) string {
	if step, is := tooClose(values); is {
		return Alike(step)
	}
	decimals, powered := 0, 0
	for _, x := range values {
		if design.PowerOf(x) == 0 {
			decimals = max(decimals, decimalsOf(design.FormatNumber(x)))
		} else {
			powered = max(powered, decimalsOf(design.WriteNumber(x)))
		}
	}
	return func(x float64) string {
		if design.PowerOf(x) != 0 {
			return padDecimals(design.WriteNumber(x), powered)
		}
		return Fixed(x, decimals)
	}
}

// tooClose tells whether numbers would be written alike, and is a thousandth of their range.
func tooClose(values []float64) (step float64, is bool) {
	var apart, size float64
	for _, x := range values {
		apart, size = max(apart, math.Abs(x-values[0])), max(size, math.Abs(x))
	}
	step = apart / 1000
	digits := design.ExponentOf(size) - design.ExponentOf(step) + 1
	return step, step > 0 && digits > design.SignificantDigits && slices.ContainsFunc(values, design.Computed)
}

// beforePower separates a written number from its power of ten.
const beforePower = Thin + "×"

func decimalsOf(text string) int {
	number, _, _ := strings.Cut(text, beforePower)
	_, fraction, _ := strings.Cut(number, ".")
	return len(fraction)
}

// padDecimals pads a number that is written with a power of ten to so many decimals.
func padDecimals(text string, decimals int) string {
	number, power, powered := strings.Cut(text, beforePower)
	has := decimalsOf(number)
	if !powered || has >= decimals {
		return text
	}
	if has == 0 {
		number += "."
	}
	return number + strings.Repeat("0", decimals-has) + beforePower + power
}

// Fixed writes a number with that many decimals.
func Fixed(x float64, decimals int) string { return design.Typeset(design.FormatFixed(x, decimals)) }

// Unsubtracted rounds off the binary noise that subtraction has put into a difference of decimal
// numbers.
func Unsubtracted(difference, of float64) float64 {
	if difference == 0 || of == 0 {
		return difference
	}
	return design.Rounded(difference, 9-design.ExponentOf(math.Max(math.Abs(of), math.Abs(difference))))
}

// With joins a number and its unit.
func With(number, unit string) string { return design.WithUnit(number, unit, Thin) }

// Quantity writes a value with its unit.
func Quantity(x float64, unit string) string { return With(design.WriteNumber(x), unit) }

// Roughly is Rough with a unit.
func Roughly(x float64, unit string) string { return With(Rough(x), unit) }

// Apart joins a difference and its unit; RoughlyApart writes an estimated difference.
func Apart(number, unit string) string           { return design.Apart(number, unit, Thin) }
func RoughlyApart(x float64, unit string) string { return Apart(Rough(x), unit) }

// Uncertain writes a value with its standard deviation and unit.
func Uncertain(mean, sd float64, unit string) string {
	return Whole(With(design.WriteUncertain(mean, sd), unit), nil)
}

// Whole keeps each value in a sentence on one line, with its ± and its unit.
func Whole(sentence string, units []string) string {
	var whole strings.Builder
	for at := valueEnd.FindStringIndex(sentence); at != nil; at = valueEnd.FindStringIndex(sentence) {
		rest := sentence[at[1]:]
		unit, is := lists.Find(units, func(unit string) bool { return unit != "" && beginsWith(rest, unit) })
		whole.WriteString(sentence[:at[1]-1] + Either(is, With("", unit), " "))
		sentence = strings.TrimPrefix(rest, unit)
	}
	return deviation.ReplaceAllString(whole.String()+sentence, Thin+"±"+Thin+"$1")
}

// beginsWith reports whether text begins with a unit, which is not the beginning of another word.
func beginsWith(text, unit string) bool {
	behind, is := strings.CutPrefix(text, unit)
	next, _ := utf8.DecodeRuneInString(behind)
	return is && !unicode.IsLetter(next)
}

// valueEnd matches the end of a number and the space behind it.
var valueEnd = regexp.MustCompile(`[0-9)⁰¹²³⁴⁵⁶⁷⁸⁹] `)

var deviation = regexp.MustCompile(` ± (\d)`)

// Percent writes a probability.
func Percent(probability float64) string {
	return strings.ReplaceAll(design.FormatPercent(probability), " %", Thin+"%")
}

// Terse replaces "over" and "under" in a probability, for narrow cells.
func Terse(text string) string {
	return strings.NewReplacer("over ", ">", "under ", "<").Replace(text)
}

// InPercent writes a share in per cent, without binary noise and without the sign.
func InPercent(share float64) string {
	return strconv.FormatFloat(Unsubtracted(100*share, 100*share), 'f', -1, 64)
}

// Few shortens a list to its first items and how many more there are.
func Few(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), strconv.Itoa(len(list)-most)+" more")
}

// Either returns one if fact holds, else other.
func Either[T any](fact bool, one, other T) T {
	if fact {
		return one
	}
	return other
}

// AxisName is a name with its unit, as at an axis.
func AxisName(name, unit string) string {
	return Either(unit == "", name, name+" ("+unit+")")
}

// Sentence adds a full stop, and a capital if the text begins with a letter from a to z.
func Sentence(text string) string {
	if first := text[0]; 'a' <= first && first <= 'z' {
		text = string(first-'a'+'A') + text[1:]
	}
	return text + "."
}

// Limit writes what a constraint demands.
func Limit(c design.Constraint) string { return Sign(c.Op) + Thin + Quantity(c.Threshold, c.Unit) }

// Sign writes the comparison of a limit.
func Sign(op string) string { return Either(op == ">=", "≥", "≤") }

// logDigits is the number of digits of a value on a log scale, the same as in FormatSetting.
const logDigits = 4

// Settings writes values of a parameter with the same decimals, those of the value that needs most,
// or on a log scale with the same number of digits.
func Settings(p design.Parameter, values []design.Value) func(design.Value) string {
	var decimals, powered int
	for _, value := range values {
		decimals = max(decimals, decimalsOf(design.FormatSetting(p, value)))
		if text := design.WriteSetting(p, value); strings.Contains(text, beforePower) {
			powered = max(powered, decimalsOf(text))
		}
	}
	byDigits := p.Logarithmic() && p.Type == design.Real && p.Step == nil
	if byDigits {
		powered = logDigits - 1
	}
	return func(value design.Value) string {
		switch {
		case value.IsText:
			return value.Text
		case design.PowerOf(value.Number) != 0:
			return padDecimals(design.WriteSetting(p, value), powered)
		case byDigits && value.Number > 0:
			return Fixed(value.Number, max(0, logDigits-1-design.ExponentOf(value.Number)))
		}
		return Fixed(value.Number, decimals)
	}
}

// Exact writes a moment in full.
func Exact(at time.Time) string { return at.UTC().Format("2 January 2006, 15:04:05 UTC") }

// Clock writes the time of day, with the date if it is not today's, and the year if it is not this
// one; page.js writes it in the reader's time zone.
func Clock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch {
	case at.Year() != now.Year():
		return at.Format("2 Jan 2006 15:04 UTC")
	case at.YearDay() != now.YearDay():
		return at.Format("2 Jan 15:04 UTC")
	}
	return at.Format("15:04 UTC")
}

// Ago says how long ago a moment was; page.js keeps it current. A moment can be ahead of now, if
// another server wrote it, or if it came while the page was made.
func Ago(at, now time.Time) string {
	away := now.Sub(at)
	return Either(away < 45*time.Second, "just now", span(away)+" ago")
}

// Until says how long it is to a moment, or how long ago it was.
func Until(at, now time.Time) string {
	if !at.After(now) {
		return Ago(at, now)
	}
	return "in " + span(at.Sub(now)+time.Minute) // seven days given a moment ago end “in 7 d”
}

func span(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + Thin + "d"
	case d >= time.Hour:
		return strconv.Itoa(int(d.Hours())) + Thin + "h"
	}
	return strconv.Itoa(max(1, int(d.Minutes()))) + Thin + "min"
}

// ForSoLong says for how long something has been going on, as the end of a sentence. It is "" at
// first.
func ForSoLong(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return ""
	case d < 2*time.Minute:
		return ", for " + strconv.Itoa(int(d.Seconds())) + Thin + "s so far"
	}
	return ", for " + strconv.Itoa(int(d.Minutes())) + Thin + "min so far"
}

// Shorten cuts a text to that many characters.
func Shorten(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
