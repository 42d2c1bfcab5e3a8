package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"headroom/internal/study/design"
)

// jsonCheck walks valid JSON along the Go type it is meant for and collects what is wrong with it.
type jsonCheck struct {
	read       *json.Decoder
	faults     []design.Fault
	duplicates []design.Fault
}

// maxFaults bounds how many faults one answer lists.
const maxFaults = 100

func (c *jsonCheck) fault(at, message string, value any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, design.Fault{Location: at, Message: message, Value: value})
	}
}

// value checks the next value against t.
func (c *jsonCheck) value(t reflect.Type, at string, nullAllowed bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshalerType) && t != rawMessageType {
		c.custom(t, at, nullAllowed)
		return
	}
	token, _ := c.read.Token() // the text is known to be valid
	switch token := token.(type) {
	case nil:
		c.null(t, at, nullAllowed)
	case json.Delim:
		if token == '{' {
			c.object(t, at)
		} else {
			c.array(t, at)
		}
	case json.Number:
		c.number(token, t, at)
	case string:
		c.text(token, at)
		c.kind(t, at, token, "text", reflect.String)
	case bool:
		c.kind(t, at, token, fmt.Sprint(token), reflect.Bool)
	}
}

func (c *jsonCheck) null(t reflect.Type, at string, allowed bool) {
	if !allowed {
		c.fault(at, "must be "+wanted(t)+", not null", nil)
	}
}

// custom checks a value whose type reads itself.
func (c *jsonCheck) custom(t reflect.Type, at string, nullAllowed bool) {
	var raw json.RawMessage
	c.read.Decode(&raw)
	if string(raw) == "null" {
		c.null(t, at, nullAllowed)
		return
	}
	nested, as := jsonCheck{read: json.NewDecoder(bytes.NewReader(raw))}, anyType
	if t == readingType && raw[0] == '{' {
		as = readingObject
	}
	nested.read.UseNumber()
	nested.value(as, at, true)
	c.duplicates = append(c.duplicates, nested.duplicates...)
	c.faults = append(c.faults, nested.faults...)
	if len(nested.faults)+len(nested.duplicates) > 0 {
		return
	}
	if reflect.New(t).Interface().(json.Unmarshaler).UnmarshalJSON(raw) != nil {
		c.fault(at, "must be "+wanted(t), raw)
	}
}

// object checks {…}, whose opening brace is read.
func (c *jsonCheck) object(t reflect.Type, at string) {
	fields, element := c.members(t, at)
	seen := map[string]bool{}
	for c.read.More() {
		token, _ := c.read.Token()
		key := token.(string)
		here := at + "." + key
		c.text(key, here)
		if seen[key] {
			c.duplicates = append(c.duplicates, design.Fault{Location: here, Message: "this key stands twice"})
		}
		seen[key] = true
		c.member(fields, element, key, here)
	}
	c.read.Token()
	for _, f := range fields {
		if f.required && !seen[f.name] {
			c.fault(at+"."+f.name, "is required", nil)
		}
	}
}

// members says what an object of type t may hold: named fields, or any key with values of one type.
func (c *jsonCheck) members(t reflect.Type, at string) ([]jsonField, reflect.Type) {
	switch {
	case t == rawMessageType || t.Kind() == reflect.Interface:
		return nil, anyType
	case t.Kind() == reflect.Struct:
		return fieldsOf(t), nil
	case t.Kind() == reflect.Map:
		return nil, t.Elem()
	}
	c.fault(at, "must be "+wanted(t)+", not an object", nil)
	return nil, anyType
}

func (c *jsonCheck) member(fields []jsonField, element reflect.Type, key, at string) {
	if element != nil {
		c.value(element, at, nullable(element))
		return
	}
	for _, f := range fields {
		if f.name == key {
			c.value(f.kind, at, !f.required)
			return
		}
	}
	c.fault(at, "there is no such field; the fields here are "+fieldNames(fields), nil)
	c.value(anyType, at, true)
}

// array checks […], whose opening bracket is read.
func (c *jsonCheck) array(t reflect.Type, at string) {
	element := anyType
	switch {
	case t == rawMessageType || t.Kind() == reflect.Interface:
	case t.Kind() == reflect.Slice:
		element = t.Elem()
	default:
		c.fault(at, "must be "+wanted(t)+", not a list", nil)
	}
	for i := 0; c.read.More(); i++ {
		here := fmt.Sprintf("%s[%d]", at, i)
		c.value(element, here, nullable(element))
	}
	c.read.Token()
}

// number checks a number against t and that a float64 can hold it.
func (c *jsonCheck) number(n json.Number, t reflect.Type, at string) {
	value, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || math.IsInf(value, 0) {
		c.fault(at, "is too large for a number", n.String())
		return
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		_, err = strconv.ParseInt(n.String(), 10, 64)
	case reflect.Uint64:
		_, err = strconv.ParseUint(n.String(), 10, 64)
	case reflect.Float64, reflect.Interface:
	default:
		if t != rawMessageType {
			c.fault(at, "must be "+wanted(t)+", not a number", value)
		}
	}
	if err != nil {
		c.fault(at, "must be "+wanted(t), value)
	}
}

// text refuses what PostgreSQL cannot keep.
func (c *jsonCheck) text(s, at string) {
	if strings.ContainsRune(s, 0) {
		c.fault(at, "must not contain the character U+0000", nil)
	}
}

func (c *jsonCheck) kind(t reflect.Type, at string, value any, got string, want reflect.Kind) {
	if t.Kind() != want && t.Kind() != reflect.Interface && t != rawMessageType {
		c.fault(at, "must be "+wanted(t)+", not "+got, value)
	}
}
