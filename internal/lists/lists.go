// Package lists has what Go's package slices has not.
package lists

import (
	"encoding/binary"
	"math"
)

// Map is what f makes of each of them, in their order.
func Map[From, To any](from []From, f func(From) To) []To {
	to := make([]To, len(from))
	for i, one := range from {
		to[i] = f(one)
	}
	return to
}

// Pick is what f makes of those that it says to keep, in their order.
func Pick[From, To any](from []From, f func(From) (to To, keep bool)) []To {
	var kept []To
	for _, one := range from {
		if to, keep := f(one); keep {
			kept = append(kept, to)
		}
	}
	return kept
}

// Of is what f makes of each number from 0 to n−1.
func Of[T any](n int, f func(i int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = f(i)
	}
	return list
}

// Below are the numbers from 0 to n−1.
func Below(n int) []int { return Of(n, func(i int) int { return i }) }

// Where are the numbers from 0 to n−1 of which that is so, rising.
func Where(n int, is func(i int) bool) (found []int) {
	for i := range n {
		if is(i) {
			found = append(found, i)
		}
	}
	return found
}

// At are those with these numbers, nil of nil.
func At[T any](list []T, numbers []int) []T {
	if list == nil {
		return nil
	}
	return Map(numbers, func(n int) T { return list[n] })
}

// Find is the first of them of which that is so, if it is of any.
func Find[T any](list []T, is func(T) bool) (found T, there bool) {
	for _, one := range list {
		if is(one) {
			return one, true
		}
	}
	return found, false
}

// Bits are the bytes of numbers (IEEE 754 doubles), of each the lowest first.
func Bits(numbers []float64) []byte {
	bits := make([]byte, 0, 8*len(numbers))
	for _, x := range numbers {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x))
	}
	return bits
}

// Count is of how many that is so.
func Count[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}
