package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

var (
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	anyType        = reflect.TypeFor[any]()
	timeType       = reflect.TypeFor[time.Time]()
	readingType    = reflect.TypeFor[ledger.Reading]()
	readingObject  = reflect.TypeFor[readingMembers]()
	valueType      = reflect.TypeFor[design.Value]()
	seriesType     = reflect.TypeFor[study.Series]()
	numbersType    = reflect.TypeFor[ledger.Numbers]()
)

// readingMembers is a reading written as an object.
type readingMembers ledger.Reading

// required lists the fields that a request must bring because their absence could pass for a value.
var required = map[reflect.Type][]string{
	reflect.TypeFor[design.Definition]():     {"name", "parameters", "objective"},
	reflect.TypeFor[design.Parameter]():      {"name", "type"},
	reflect.TypeFor[design.Objective]():      {"metric"},
	reflect.TypeFor[design.Constraint]():     {"threshold"},
	reflect.TypeFor[design.Stop]():           {"within", "risk"},
	reflect.TypeFor[design.Start]():          {"lengthscale", "variance", "lambda"},
	readingObject:                            {"value"},
	reflect.TypeFor[ledger.Telling]():        {"metrics"},
	reflect.TypeFor[study.Correction]():      {"reason"},
	reflect.TypeFor[reasonRequest]():         {"reason"},
	reflect.TypeFor[failRequest]():           {"reason"},
	reflect.TypeFor[study.NumberedTelling](): {"number"},
	reflect.TypeFor[bulkTellRequest]():       {"trials"},
	reflect.TypeFor[study.OwnTrial]():        {"parameters"},
	reflect.TypeFor[pointsRequest]():         {"points"},
	reflect.TypeFor[compareRequest]():        {"algorithms"},
}

// jsonField is one field of a struct as JSON names it.
type jsonField struct {
	name     string
	kind     reflect.Type
	optional bool // omitted from answers when empty
	required bool // must be in requests
}

// fieldsOf lists the fields of struct type t, those of embedded structs in their place.
func fieldsOf(t reflect.Type) []jsonField {
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(f.Type)...)
		case f.IsExported() && name != "-":
			fields = append(fields, jsonField{
				name:     name,
				kind:     f.Type,
				optional: strings.Contains(options, "omitempty"),
				required: slices.Contains(required[t], name),
			})
		}
	}
	return fields
}

func fieldNames(fields []jsonField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// readsItself tells whether t has a form of its own in JSON.
func readsItself(t reflect.Type) bool { return t == timeType || t == readingType || t == valueType }

// nullable tells whether null is a value of t inside a list or map.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessageType
}

// wanted says in words what t takes.
func wanted(t reflect.Type) string {
	switch t {
	case timeType:
		return "a time such as 2026-05-01T14:02:00Z (RFC 3339)"
	case readingType:
		return `a number or {"value": …, "stddev": …}`
	case valueType:
		return "a number or the name of a choice"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
