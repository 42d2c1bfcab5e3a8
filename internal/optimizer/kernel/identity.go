package kernel

import (
	"encoding/binary"
	"io"
	"math"
)

// Identify writes what the function is, so that of two functions which write the same each has the
// values of the other. Writing to w must not fail, as to a hash.
func (f *Function) Identify(w io.Writer) {
	number := func(v uint64) { _, _ = w.Write(binary.LittleEndian.AppendUint64(nil, v)) }
	numbers := func(list ...float64) {
		number(uint64(len(list)))
		for _, v := range list {
			number(math.Float64bits(v))
		}
	}
	number(uint64(f.form))
	numbers(f.variance, f.interaction)
	numbers(f.inverse...)
	number(uint64(len(f.categories)))
	for _, c := range f.categories {
		number(uint64(len(c.Coordinates)))
		for _, coordinate := range c.Coordinates {
			number(uint64(coordinate))
		}
		numbers(c.factor)
	}
	number(uint64(len(f.matrix)))
	for _, row := range f.matrix {
		numbers(row...)
	}
}
