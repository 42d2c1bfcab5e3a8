package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"headroom/internal/view/words"
)

// mostTicks is how many numbers an axis has room for.
const mostTicks = 6

// numbers are ticks at multiples of 1, 2 or 5 times a power of ten, all with the same decimals; very large and very small numbers share a power of ten.
type numbers struct{}

// Ticks implements plot.Ticker.
func (numbers) Ticks(low, high float64) []plot.Tick {
	times, finest := tidyStep((high - low) / mostTicks)
	step := tenTo(times, finest)
	power := sharedPower(math.Max(math.Abs(low), math.Abs(high)), step)
	first := math.Ceil(low/step - 1e-9)
	var ticks []plot.Tick
	for i := range 2 * mostTicks {
		k := first + float64(i)
		if k*step > high+step*1e-9 {
			break
		}
		label := signed(strconv.FormatFloat(k*tenTo(times, finest-power)+0, 'f', max(0, power-finest), 64))
		if power != 0 && k != 0 {
			label += "×10" + words.Raised(power)
		}
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label})
	}
	return ticks
}

// finestStep is the least step between ticks: the smallest numbers there are have no digits for finer ones.
const finestStep = 1e-321

// tidyStep is the smallest of 1, 2 and 5 times a power of ten that is no less than the step given.
func tidyStep(least float64) (times, power int) {
	least = math.Max(least, finestStep)
	power = int(math.Floor(math.Log10(least)))
	for _, times := range []int{1, 2, 5} {
		if tenTo(times, power) >= least*(1-1e-9) {
			return times, power
		}
	}
	return 1, power + 1
}

// tenTo is some times a power of ten, also where that power itself is too small a number.
func tenTo(times, power int) float64 {
	x, err := strconv.ParseFloat(strconv.Itoa(times)+"e"+strconv.Itoa(power), 64)
	if err != nil {
		return math.MaxFloat64
	}
	return x
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
	decades := math.Log10(high) - math.Log10(low)
	if decades < 0.5 {
		return numbers{}.Ticks(low, high)
	}
	every := 1 + int(decades)/(2*mostTicks)
	var ticks []plot.Tick
	for power := every * int(math.Floor(math.Log10(low)/float64(every))); float64(power) <= math.Log10(high); power += every {
		for times := 1; times < 10 && (times == 1 || every == 1); times++ {
			tick := plot.Tick{Value: tenTo(times, power)}
			if times == 1 || decades < 2 && (times == 2 || times == 5) {
				tick.Label = inDigits(times, power)
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
		return strconv.Itoa(times) + "×10" + words.Raised(power)
	}
	return strconv.FormatFloat(tenTo(times, power), 'f', max(0, -power), 64)
}

// signed is a number with a sign as long as a plus.
func signed(number string) string { return strings.Replace(number, "-", "−", 1) }
