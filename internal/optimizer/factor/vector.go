package factor

import "sync/atomic"

// Vector is a sequence of numbers that grows at its end and whose prefixes are values of their own: what a
// prefix holds is never overwritten, whoever appends later. Prefixes share memory; the first to append past the
// numbers they have in common extends it in place, any other appends to a copy. The zero value is empty.
//
// Different Vectors may be used at once, also when they share memory; one Vector may not be changed by two
// goroutines.
type Vector struct {
	values  []float64
	written *atomic.Int64 // how much of the shared memory is taken, by any Vector that shares it
}

// Len is the number of values.
func (v *Vector) Len() int { return len(v.values) }

// Values returns the values, to be read only.
func (v *Vector) Values() []float64 { return v.values[:len(v.values):len(v.values)] }

// Prefix returns the first n values as a Vector.
func (v *Vector) Prefix(n int) Vector { return Vector{v.values[:n], v.written} }

// Append adds values at the end.
func (v *Vector) Append(values ...float64) { copy(v.Extend(len(values)), values) }

// Extend adds k values at the end and returns them for the caller to fill in; what they hold before is undefined.
func (v *Vector) Extend(k int) []float64 {
	n := len(v.values)
	if v.written != nil && n+k <= cap(v.values) && v.written.CompareAndSwap(int64(n), int64(n+k)) {
		v.values = v.values[:n+k]
		return v.values[n:]
	}
	grown := make([]float64, n+k, n+k+max(n/2, 16))
	copy(grown, v.values)
	v.values, v.written = grown, new(atomic.Int64)
	v.written.Store(int64(n + k))
	return v.values[n:]
}

// withdraw takes back the last k values, which this Vector has added and not shared.
func (v *Vector) withdraw(k int) {
	n := len(v.values)
	v.values = v.values[:n-k]
	v.written.CompareAndSwap(int64(n), int64(n-k))
}
