package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// mostTicks is how many numbers an axis has room for.
const mostTicks = 6

// numbers are ticks at multiples of 1, 2 or 5 times a power of ten, all with the same decimals; very large and very small numbers share a power of ten.
type numbers struct{}

// Ticks implements plot.Ticker.
func (numbers) Ticks(low, high float64) []plot.Tick {
	step := tidyStep((high - low) / mostTicks)
	power := sharedPower(math.Max(math.Abs(low), math.Abs(high)), step)
	decimals := max(0, power-int(math.Floor(math.Log10(step)+1e-9)))
	first := math.Ceil(low/step - 1e-9)
	var ticks []plot.Tick
	for i := range 2 * mostTicks {
		k := first + float64(i)
		if k*step > high+step*1e-9 {
			break
		}
		label := signed(strconv.FormatFloat(k*step/math.Pow(10, float64(power))+0, 'f', decimals, 64))
		if power != 0 && k != 0 {
			label += "×10" + Raised(power)
		}
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label})
	}
	return ticks
}

// tidyStep is the smallest of 1, 2 and 5 times a power of ten that is no less than the step given.
func tidyStep(least float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(least)))
	for _, times := range []float64{1, 2, 5} {
		if times*unit >= least*(1-1e-9) {
			return times * unit
		}
	}
	return 10 * unit
}

// sharedPower is the power of ten that numbers up to a size, in steps, are written with; 0 where they are written out.
func sharedPower(size, step float64) int {
	if size < 1e7 && step >= 1e-5 {
		return 0
	}
	return int(math.Floor(math.Log10(size)))
}

// powers are ticks of a logarithmic axis at 1 to 9 times the powers of ten, with numbers at as many of them as there is room for.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(low, high float64) []plot.Tick {
	decades := math.Log10(high / low)
	if decades < 0.5 {
		return numbers{}.Ticks(low, high)
	}
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for times := 1; times < 10; times++ {
			tick := plot.Tick{Value: float64(times) * math.Pow(10, power)}
			if times == 1 || decades < 2 && (times == 2 || times == 5) {
				tick.Label = inDigits(times, int(power))
			}
			if tick.Value >= low*(1-1e-9) && tick.Value <= high*(1+1e-9) {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// inDigits is some times a power of ten.
func inDigits(times, power int) string {
	if power < -4 || power > 6 {
		return strconv.Itoa(times) + "×10" + Raised(power)
	}
	return strconv.FormatFloat(float64(times)*math.Pow(10, float64(power)), 'f', max(0, -power), 64)
}

// signed is a number with a sign as long as a plus.
func signed(number string) string { return strings.Replace(number, "-", "−", 1) }

var raisedDigits = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// Raised is a power as it stands above a 10.
func Raised(power int) string { return raisedDigits.Replace(strconv.Itoa(power)) }
