// Package memory measures how many bytes a value holds, for caches that are bounded in bytes.
package memory

import (
	"reflect"
	"unsafe"
)

// Meter adds up values. What several of them share, or one holds twice, is counted once.
type Meter struct {
	seen map[unsafe.Pointer]struct{}
}

// NewMeter returns a meter that has seen nothing.
func NewMeter() *Meter { return &Meter{seen: map[unsafe.Pointer]struct{}{}} }

// Of returns the bytes that value leads to by pointers, slices, maps, strings and interfaces and
// that were not counted before. Functions and channels lead nowhere. Maps are estimated from their
// entries. Strings are taken to be nobody else's.
func (m *Meter) Of(value any) int64 {
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return 0
	}
	return m.below(v)
}

// A map's entry has a control byte, and tables are on average some 70 % full; its header and
// directory come on top.
const (
	mapHeader     = 48
	entriesUnused = 1.4
)

// below is what v leads to, without the bytes of v itself.
func (m *Meter) below(v reflect.Value) (bytes int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !m.first(v.UnsafePointer()) {
			return 0
		}
		return int64(v.Type().Elem().Size()) + m.below(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + m.below(v.Elem())
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice:
		if v.Cap() == 0 || !m.first(v.UnsafePointer()) {
			return 0
		}
		return int64(v.Cap())*int64(v.Type().Elem().Size()) + m.elements(v)
	case reflect.Array:
		return m.elements(v)
	case reflect.Map:
		return m.entries(v)
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += m.below(v.Field(i))
		}
	}
	return bytes
}

func (m *Meter) elements(v reflect.Value) (bytes int64) {
	if !leads(v.Type().Elem()) {
		return 0
	}
	for i := range v.Len() {
		bytes += m.below(v.Index(i))
	}
	return bytes
}

func (m *Meter) entries(v reflect.Value) (bytes int64) {
	if v.IsNil() || !m.first(v.UnsafePointer()) {
		return 0
	}
	key, elem := v.Type().Key(), v.Type().Elem()
	slots := max(8, float64(v.Len())*entriesUnused)
	bytes = mapHeader + int64(slots*float64(1+key.Size()+elem.Size()))
	if !leads(key) && !leads(elem) {
		return bytes
	}
	for each := v.MapRange(); each.Next(); {
		bytes += m.below(each.Key()) + m.below(each.Value())
	}
	return bytes
}

// first says whether the memory at p is new to the meter.
func (m *Meter) first(p unsafe.Pointer) bool {
	before := len(m.seen)
	m.seen[p] = struct{}{}
	return len(m.seen) > before
}

// leads says whether values of a type can lead to other memory.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.String, reflect.Slice, reflect.Map:
		return true
	case reflect.Array:
		return leads(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if leads(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
