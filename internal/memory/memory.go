// Package memory measures how many bytes a value holds, for caches with a limit in bytes.
package memory

import (
	"reflect"
	"unsafe"
)

// Meter measures values. Memory that several of them share, or that one holds twice, is counted
// once.
type Meter struct {
	seen map[unsafe.Pointer]struct{}
}

// NewMeter returns a meter that has seen nothing.
func NewMeter() *Meter { return &Meter{seen: map[unsafe.Pointer]struct{}{}} }

// Of returns the bytes reachable from value through pointers, slices, maps, strings and interfaces
// that were not counted before. Functions and channels are not followed, maps are estimated from
// their entries, and strings are assumed not to be shared.
func (m *Meter) Of(value any) int64 {
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return 0
	}
	return m.reachable(v)
}

// Each map entry has a control byte, and tables are about 70 % full on average; header and
// directory come on top.
const (
	mapHeader     = 48
	slotsPerEntry = 1.4
)

// reachable returns the bytes reachable from v, without those of v itself.
func (m *Meter) reachable(v reflect.Value) (bytes int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !m.first(v.UnsafePointer()) {
			return 0
		}
		return int64(v.Type().Elem().Size()) + m.reachable(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + m.reachable(v.Elem())
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
			bytes += m.reachable(v.Field(i))
		}
	}
	return bytes
}

func (m *Meter) elements(v reflect.Value) (bytes int64) {
	if !refers(v.Type().Elem()) {
		return 0
	}
	for i := range v.Len() {
		bytes += m.reachable(v.Index(i))
	}
	return bytes
}

func (m *Meter) entries(v reflect.Value) (bytes int64) {
	if v.IsNil() || !m.first(v.UnsafePointer()) {
		return 0
	}
	key, elem := v.Type().Key(), v.Type().Elem()
	slots := max(8, float64(v.Len())*slotsPerEntry)
	bytes = mapHeader + int64(slots*float64(1+key.Size()+elem.Size()))
	if !refers(key) && !refers(elem) {
		return bytes
	}
	for each := v.MapRange(); each.Next(); {
		bytes += m.reachable(each.Key()) + m.reachable(each.Value())
	}
	return bytes
}

// first reports whether the memory at p is new to the meter.
func (m *Meter) first(p unsafe.Pointer) bool {
	before := len(m.seen)
	m.seen[p] = struct{}{}
	return len(m.seen) > before
}

// refers reports whether values of a type can refer to other memory.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.String, reflect.Slice, reflect.Map:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
