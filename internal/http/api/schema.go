package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// schemas makes JSON Schemas (2020-12) of Go types, the same types that decodeJSON and
// encoding/json work on.
type schemas struct {
	named object                  // finished, by name
	types map[string]reflect.Type // whose they are
}

func newSchemas() *schemas { return &schemas{named: object{}, types: map[string]reflect.Type{}} }

// wordsOf lists the values of the types that take one of a few words.
var wordsOf = map[reflect.Type][]string{
	reflect.TypeFor[ledger.State]():         {"open", "paused", "finished", "archived"},
	reflect.TypeFor[design.ParameterType](): {"real", "integer", "categorical", "remainder"},
	reflect.TypeFor[ledger.Origin]():        {"suggested", "manual", "imported"},
	reflect.TypeFor[ledger.Status]():        {"suggested", "partial", "completed", "failed", "abandoned"},
	reflect.TypeFor[ledger.Cause]():         {"settings", "chance"},
	reflect.TypeFor[account.Role]():         {"viewer", "operator", "admin"},
}

// answer is the schema of an answer, which may be one of several types.
func (s *schemas) answer(value any) object {
	several, ok := value.(oneOf)
	if !ok {
		return s.of(reflect.TypeOf(value), false)
	}
	var list []object
	for _, one := range several {
		list = append(list, s.of(reflect.TypeOf(one), false))
	}
	return object{"anyOf": list}
}

// of is the schema of t; request says in which direction: requests refuse unknown fields, answers
// may gain some.
func (s *schemas) of(t reflect.Type, request bool) object {
	switch t {
	case timeType:
		return object{"type": "string", "format": "date-time"}
	case valueType:
		return object{"type": []string{"number", "string"}}
	case rawMessageType, anyType:
		return object{}
	case seriesType:
		return object{"type": "array", "items": orNull(scalar(reflect.Float64))}
	case numbersType:
		return object{"type": "object", "additionalProperties": orNull(scalar(reflect.Float64))}
	case readingType:
		return object{"anyOf": []object{{"type": "number"}, s.of(readingObject, request)}}
	}
	if list, ok := wordsOf[t]; ok {
		return object{"type": "string", "enum": list}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.of(t.Elem(), request))
	case reflect.Struct:
		return s.structure(t, request)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), request)}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), request)}
	case reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem(), request), "minItems": t.Len(), "maxItems": t.Len()}
	}
	return scalar(t.Kind())
}

// scalars are the kinds of values without parts: the schema of each, and what it takes in words.
var scalars = map[reflect.Kind]struct {
	schema object
	wanted string
}{
	reflect.Int:     {object{"type": "integer", "format": "int64"}, "a whole number"},
	reflect.Int64:   {object{"type": "integer", "format": "int64"}, "a whole number"},
	reflect.Uint64:  {object{"type": "integer", "format": "int64", "minimum": 0}, "a whole number that is not negative"},
	reflect.Float64: {object{"type": "number", "format": "double"}, "a number"},
	reflect.Bool:    {object{"type": "boolean"}, "true or false"},
	reflect.String:  {object{"type": "string"}, "text"},
}

func scalar(kind reflect.Kind) object {
	known, there := scalars[kind]
	if !there {
		panic("server: no schema for " + kind.String())
	}
	return maps.Clone(known.schema)
}

// structure is a reference to the schema of struct type t, which is made the first time it is met.
func (s *schemas) structure(t reflect.Type, request bool) object {
	name := schemaName(t, request)
	ref := object{"$ref": "#/components/schemas/" + name}
	if known := s.types[name]; known != nil && known != t {
		panic("server: " + known.String() + " and " + t.String() + " would both be called " + name)
	} else if known != nil {
		return ref
	}
	s.types[name] = t
	schema := object{"type": "object"}
	s.named[name] = schema
	properties, needed := object{}, []string{}
	for _, f := range fieldsOf(t) {
		property := s.of(f.kind, request)
		if request && !f.required {
			property = orNull(property)
		}
		properties[f.name] = property
		if request && f.required || !request && !f.optional {
			needed = append(needed, f.name)
		}
	}
	schema["properties"] = properties
	schema["required"] = needed
	if request {
		schema["additionalProperties"] = false
	}
	return ref
}

// schemaName is the type's name as readers know it: TrialRequest, Trial.
func schemaName(t reflect.Type, request bool) string {
	first, size := utf8.DecodeRuneInString(t.Name())
	name := strings.TrimSuffix(string(unicode.ToUpper(first))+t.Name()[size:], "Request")
	if t.Name() == "" {
		name = "Nothing"
	}
	if request {
		return name + "Request"
	}
	return strings.TrimSuffix(name, "Document")
}

// orNull lets a schema also be null.
func orNull(schema object) object {
	if len(schema) == 0 {
		return schema
	}
	if one, ok := schema["type"].(string); ok && schema["enum"] == nil {
		either := maps.Clone(schema)
		either["type"] = []string{one, "null"}
		return either
	}
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

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
	if t.Kind() == reflect.Slice {
		return "a list"
	}
	return cmp.Or(scalars[t.Kind()].wanted, "an object")
}
