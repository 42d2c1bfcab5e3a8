// Package words writes numbers, quantities and moments as pages do, and has the small words that
// sentences about them need.
package words

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/study/design"
)

// Thin is the space between a number and its unit.
const Thin = "\u202f"

// Raw is a number as programs read it, equal to the API's to the bit.
func Raw(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Rough is a value to three digits, for figures that are only estimates.
func Rough(x float64) string { return toDigits(x, 3) }

// FourDigits is a value to the digits that somebody who points at it in a chart can tell.
func FourDigits(x float64) string { return toDigits(x, 4) }

// Brief is a value to two digits, for differences of estimates.
func Brief(x float64) string { return toDigits(x, 2) }

func toDigits(x float64, digits int) string {
	return design.WriteNumber(design.Rounded(x, digits-1-design.ExponentOf(x)))
}

// RoughOr is a rough value, or a dash where there is none.
func RoughOr(x *float64) string {
	if x == nil {
		return "–"
	}
	return Rough(*x)
}

// Alike writes numbers with the decimals that a standard deviation of sd leaves meaning in.
func Alike(sd float64) func(float64) string {
	return func(x float64) string { return design.WriteBeside(x, sd) }
}

// Column writes the numbers of a column with equally many decimals: as many as the one that needs
// most, and likewise those with a power of ten among themselves; and as a thousandth of what they lie
// apart where they are so close for their size that numbers which were computed would be written alike.
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

// tooClose is a thousandth of what numbers lie apart, and tells whether they would be written alike.
func tooClose(values []float64) (step float64, is bool) {
	var apart, size float64
	for _, x := range values {
		apart, size = max(apart, math.Abs(x-values[0])), max(size, math.Abs(x))
	}
	step = apart / 1000
	digits := design.ExponentOf(size) - design.ExponentOf(step) + 1
	return step, step > 0 && digits > design.SignificantDigits && slices.ContainsFunc(values, design.Computed)
}

// beforePower parts a written number from its power of ten.
const beforePower = Thin + "×"

// decimalsOf is how many decimals a written number has.
func decimalsOf(text string) int {
	number, _, _ := strings.Cut(text, beforePower)
	_, fraction, _ := strings.Cut(number, ".")
	return len(fraction)
}

// filledUp is a number that is written with a power of ten with so many decimals.
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

// Fixed is a number with that many decimals.
func Fixed(x float64, decimals int) string { return design.Typeset(design.FormatFixed(x, decimals)) }

// Unsubtracted takes away what only the subtraction of two decimal numbers put into a difference.
func Unsubtracted(difference, of float64) float64 {
	if difference == 0 || of == 0 {
		return difference
	}
	return design.Rounded(difference, 9-design.ExponentOf(math.Max(math.Abs(of), math.Abs(difference))))
}

// With is a number with its unit.
func With(number, unit string) string { return design.WithUnit(number, unit, Thin) }

// Quantity is a value with its unit.
func Quantity(x float64, unit string) string { return With(design.WriteNumber(x), unit) }

// Roughly is a rough value with its unit.
func Roughly(x float64, unit string) string { return With(Rough(x), unit) }

// Apart is a difference with its unit, RoughlyApart one that is an estimate.
func Apart(number, unit string) string           { return design.Apart(number, unit, Thin) }
func RoughlyApart(x float64, unit string) string { return Apart(Rough(x), unit) }

// Uncertain is a value with its standard deviation and unit.
func Uncertain(mean, sd float64, unit string) string {
	return With(design.WriteUncertain(mean, sd), unit)
}

// Percent is a probability.
func Percent(probability float64) string {
	return strings.ReplaceAll(design.FormatPercent(probability), " %", Thin+"%")
}

// Terse says "over" and "under" of a probability as narrow cells have room for.
func Terse(text string) string {
	return strings.NewReplacer("over ", ">", "under ", "<").Replace(text)
}

// InPercent writes a share in per cent, without what binary fractions add.
func InPercent(share float64) string {
	return strconv.FormatFloat(Unsubtracted(100*share, 100*share), 'f', -1, 64)
}

// Few are the first of a list where it is longer than that, and how many more there are.
func Few(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), strconv.Itoa(len(list)-most)+" more")
}

// Either is one of two words, by a fact.
func Either[T any](fact bool, one, other T) T {
	if fact {
		return one
	}
	return other
}

// AxisName is a name with its unit, as axes carry it.
func AxisName(name, unit string) string {
	return Either(unit == "", name, name+" ("+unit+")")
}

// Sentence begins with a capital where it begins with a word, not with a symbol, and ends with a
// full stop.
func Sentence(text string) string {
	if first := text[0]; 'a' <= first && first <= 'z' {
		text = string(first-'a'+'A') + text[1:]
	}
	return text + "."
}

// Limit says what a constraint asks.
func Limit(c design.Constraint) string { return Sign(c.Op) + " " + Quantity(c.Threshold, c.Unit) }

// Sign is how a limit's comparison is written.
func Sign(op string) string { return Either(op == ">=", "≥", "≤") }

// logDigits is how many digits a value on a log scale is written with, as FormatSetting does.
const logDigits = 4

// Settings writes values of a parameter with equally many decimals, as many as its usual form
// needs, or on a log scale with equally many digits.
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

// Exact is a moment as documents write it.
func Exact(at time.Time) string { return at.UTC().Format("2 January 2006, 15:04:05 UTC") }

// Clock is the time of day, with the date when it was another day, and the year when it was another;
// page.js writes it in the reader's zone.
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

// Ago says how long ago something happened; page.js keeps it true while the page stands. What another
// server wrote, or came while the page was made, may lie ahead of now.
func Ago(at, now time.Time) string {
	away := now.Sub(at)
	return Either(away < 45*time.Second, "just now", span(away)+" ago")
}

// Until says in how long something ends, or how long ago it did.
func Until(at, now time.Time) string {
	if !at.After(now) {
		return Ago(at, now)
	}
	return "in " + span(at.Sub(now)+time.Minute) // what was given seven days a moment ago ends in 7 d
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

// ForSoLong says for how long something has been going on, as the end of a sentence; nothing of
// what has just begun.
func ForSoLong(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return ""
	case d < 2*time.Minute:
		return ", for " + strconv.Itoa(int(d.Seconds())) + Thin + "s so far"
	}
	return ", for " + strconv.Itoa(int(d.Minutes())) + Thin + "min so far"
}

// Shorten cuts a text at that many characters.
func Shorten(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
