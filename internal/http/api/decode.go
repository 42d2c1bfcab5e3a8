package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// endedEarly is the error of a body that did not arrive whole.
const endedEarly = "The body ended early or could not be read."

// readBody returns the whole body, which must be empty or of one of the given media types. The
// router limits its size.
func readBody(r *http.Request, mediaTypes ...string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, problem.Unreadable(err, endedEarly)
	}
	if len(body) == 0 {
		return body, nil
	}
	return body, checkMediaType(r.Header, mediaTypes)
}

func checkMediaType(h http.Header, allowed []string) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return problem.New(http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding %q is not understood; send the body as it is.", encoding))
	}
	got, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if charset := parameters["charset"]; err == nil && slices.Contains(allowed, got) && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return problem.New(http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type is %q; it must be %s in UTF-8.", h.Get("Content-Type"), strings.Join(allowed, " or ")))
}

// readJSON decodes a request's body into the value that into points to, and returns the body's
// bytes. An empty body stands for {}.
func readJSON(r *http.Request, into any) ([]byte, error) {
	body, err := readBody(r, "application/json")
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return body, decodeJSON(r.Context(), []byte("{}"), into)
	}
	return body, decodeJSON(r.Context(), body, into)
}

// decodeJSON is a strict json.Unmarshal. It accepts one value in UTF-8, without unknown or
// differently cased fields, duplicate keys, null where a value is needed, or numbers too large to
// compute with, and names faults by their path.
func decodeJSON(ctx context.Context, text []byte, into any) error {
	if !utf8.Valid(text) {
		return problem.Malformed("body", "", "The body is not UTF-8.")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return problem.Malformed("body", "", "The body is not JSON: "+withPosition(err, text)+".")
	}
	if at := ledger.LoneSurrogate(text); at >= 0 {
		return problem.Malformed("body", "", "The body is not Unicode: "+position(text, at+1)+": half of a surrogate pair.")
	}
	check := jsonCheck{ctx: ctx, read: json.NewDecoder(bytes.NewReader(text)), sent: text}
	check.read.UseNumber()
	check.value(reflect.TypeOf(into).Elem(), false)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(check.duplicates) > 0 {
		return problem.New(http.StatusBadRequest, "An object has the same key twice.", check.duplicates...)
	}
	if err := check.faults.Err(); err != nil {
		return err
	}
	if err := json.Unmarshal(append(check.plain, text[check.copied:]...), into); err != nil {
		return design.NewInvalid("", err.Error(), nil)
	}
	return nil
}

func withPosition(err error, text []byte) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	at, wrong := int(syntax.Offset), syntaxWords.Replace(syntax.Error())
	rest := text[max(at-1, 0):]
	if found, _ := utf8.DecodeRune(rest); strings.HasPrefix(wrong, "'") { // the error has its first byte
		wrong = strconv.QuoteRune(found) + wrong[strings.LastIndex(wrong, "' ")+1:]
	}
	if bytes.HasPrefix(rest, []byte("NaN")) || bytes.HasPrefix(rest, []byte("Infinity")) {
		wrong = "JSON has no NaN and no Infinity; leave out what was not measured, and report a trial without results as failed"
	}
	return position(text, at) + ": " + wrong
}

// syntaxWords puts errors of encoding/json into words for people who wrote the text by hand.
var syntaxWords = strings.NewReplacer("invalid character ", "",
	"looking for beginning of value", "stands where a value should begin",
	"looking for beginning of object key string", "stands where a name in double quotes should begin",
	"after object key:value pair", "stands where a comma or } should", "after object key", "stands where a colon should",
	"after array element", "stands where a comma or ] should", "after top-level value", "stands behind its end",
	"unexpected end of JSON input", "it ends too early")

// position returns the line and column of the last of the first end bytes of text.
func position(text []byte, end int) string {
	before := text[:min(end, len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}

// jsonCheck walks valid JSON along the Go type it is meant for and collects its faults. It reads
// every token once and works out paths only for faults, so that a walk takes linear time. It stops
// when more faults would not be reported, when a value is nested too deep or has too many items, or
// when the caller has gone; a text is decoded only after a complete walk.
//
// Neither encoding/json, of either version, nor a validator of JSON Schema does this: the former
// stop at the first fault, where a person wants to hear of every field; the latter report all
// faults, and all of a million of them.
type jsonCheck struct {
	ctx        context.Context
	read       *json.Decoder
	path       []step // from the body to the value being read
	tokens     int    // read so far
	tooMuch    bool   // a limit was exceeded: the rest is not read
	faults     design.Faults
	duplicates design.Faults

	// plain is the first copied bytes of sent, with whole numbers written as digits and −0 as 0.
	// JSON has one kind of number, and languages that have no other write 1.0, which encoding/json
	// refuses for an int; it would keep −0, where the ledger's hash is of 0.
	sent, plain []byte
	copied      int
}

// step is one step of a path: to a member of an object or, if key is noKey, to an item of a list.
type step struct {
	key   string
	index int
}

const noKey = "\x00" // no member has this name, since NUL is refused

// Limits on nesting and size: no list of a request is longer than that of the candidates, and no
// object has nearly as many members.
const (
	deepest     = 64
	mostItems   = design.MaxCandidates
	mostMembers = 1_000
)

func (c *jsonCheck) at() string {
	var at strings.Builder
	for _, s := range c.path {
		if s.key == noKey {
			fmt.Fprintf(&at, "[%d]", s.index)
		} else {
			at.WriteString("." + design.Shorten(s.key))
		}
	}
	return strings.TrimPrefix(at.String(), ".")
}

func (c *jsonCheck) in(name string) bool { return len(c.path) > 0 && c.path[len(c.path)-1].key == name }

func (c *jsonCheck) fault(value any, format string, args ...any) {
	if !c.faults.Full() {
		c.faults.Add(c.at(), value, format, args...)
	}
}

// wrongType adds the fault of a value that t does not take; there says what it is.
func (c *jsonCheck) wrongType(value any, t reflect.Type, there string) {
	advice := ""
	switch {
	case t == readingType && there == "null":
		advice = "; leave out what was not measured"
	case t.Kind() == reflect.Struct && !hasOwnForm(t) && t.NumField() > 0:
		advice = "; its fields are " + fieldNames(fieldsOf(t))
	}
	c.fault(value, "must be %s, not %s%s", wanted(t), there, advice)
}

// stop adds a fault after which nothing more is read.
func (c *jsonCheck) stop(format string, most int) {
	c.fault(nil, format, most)
	c.tooMuch = true
}

// stopped reports whether the walk ends here.
func (c *jsonCheck) stopped() bool {
	return c.tooMuch || c.faults.Full() || c.duplicates.Full() || c.tokens%1024 == 0 && c.ctx.Err() != nil
}

func (c *jsonCheck) token() json.Token {
	c.tokens++
	token, _ := c.read.Token() // the text is known to be valid
	return token
}

func (c *jsonCheck) value(t reflect.Type, nullAllowed bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token := c.token().(type) {
	case nil:
		if !nullAllowed {
			c.wrongType(nil, t, "null")
		}
	case json.Delim:
		switch {
		case len(c.path) >= deepest:
			c.stop("is nested too deep; at most %d levels of objects and lists are allowed", deepest)
		case token == '{':
			c.object(t)
		default:
			c.array(t)
		}
	case json.Number:
		c.number(token, t)
	case string:
		c.text(token, t)
	case bool:
		if !takesAny(t) && t.Kind() != reflect.Bool {
			c.wrongType(token, t, strconv.FormatBool(token))
		}
	}
}

func takesAny(t reflect.Type) bool { return t == rawMessageType || t.Kind() == reflect.Interface }

// object checks an object whose opening brace has been read.
func (c *jsonCheck) object(t reflect.Type) {
	fields, element := c.members(t)
	seen := map[string]bool{}
	for !c.stopped() && c.read.More() {
		key, _ := c.token().(string)
		c.path = append(c.path, step{key: key})
		if strings.ContainsRune(key, 0) {
			c.fault(nil, "must not contain the character U+0000")
		}
		if seen[key] && !c.duplicates.Full() {
			c.duplicates.Add(c.at(), nil, "this key is there twice")
		}
		if seen[key] = true; len(seen) > mostMembers {
			c.path = c.path[:len(c.path)-1]
			c.stop("has too many members; at most %d are possible", mostMembers)
			return
		}
		c.member(fields, element, key)
		c.path = c.path[:len(c.path)-1]
	}
	if c.stopped() {
		return
	}
	c.token()
	for _, f := range fields {
		if f.required && !seen[f.name] {
			c.path = append(c.path, step{key: f.name})
			c.fault(nil, "is required")
			c.path = c.path[:len(c.path)-1]
		}
	}
}

// members returns what an object of type t may hold: named fields, or any key with values of one
// type.
func (c *jsonCheck) members(t reflect.Type) ([]jsonField, reflect.Type) {
	switch {
	case takesAny(t):
		return nil, anyType
	case t == readingType:
		return fieldsOf(readingObject), nil
	case hasOwnForm(t):
		c.fault(nil, "must be %s", wanted(t))
		return nil, anyType
	case t.Kind() == reflect.Struct:
		return fieldsOf(t), nil
	case t.Kind() == reflect.Map:
		return nil, t.Elem()
	}
	c.fault(nil, "must be %s, not an object", wanted(t))
	return nil, anyType
}

func (c *jsonCheck) member(fields []jsonField, element reflect.Type, key string) {
	if element != nil {
		c.value(element, nullable(element))
		return
	}
	if i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == key }); i >= 0 {
		c.value(fields[i].kind, !fields[i].required)
		return
	}
	there := "there are none here"
	if len(fields) > 0 {
		there = "the fields here are " + fieldNames(fields)
	}
	c.fault(nil, "there is no such field; %s", there)
	c.value(anyType, true)
}

// array checks a list whose opening bracket has been read.
func (c *jsonCheck) array(t reflect.Type) {
	element := anyType
	switch {
	case takesAny(t):
	case hasOwnForm(t):
		c.fault(nil, "must be %s", wanted(t))
	case t.Kind() == reflect.Slice:
		element = t.Elem()
	default:
		c.wrongType(nil, t, "a list")
	}
	for i := 0; !c.stopped() && c.read.More(); i++ {
		if i == mostItems {
			c.stop("is too long; a list has at most %d items", mostItems)
			return
		}
		c.path = append(c.path, step{noKey, i})
		c.value(element, nullable(element))
		c.path = c.path[:len(c.path)-1]
	}
	if !c.stopped() {
		c.token()
	}
}

// number checks a number against t, and that it is not too large to compute with. Numbers in
// free-form JSON are checked by whoever reads them.
func (c *jsonCheck) number(n json.Number, t reflect.Type) {
	value, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || math.Abs(value) > design.Largest && !takesAny(t) {
		c.fault(n.String(), "is too large; numbers up to 1e100 in size are possible")
		return
	}
	switch {
	case t == readingType || t == valueType || takesAny(t) || t.Kind() == reflect.Float64:
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		_, err = strconv.ParseInt(n.String(), 10, 64)
	case t.Kind() == reflect.Uint64:
		_, err = strconv.ParseUint(n.String(), 10, 64)
	default:
		c.wrongType(value, t, "a number")
	}
	switch {
	case value == 0 && t.Kind() == reflect.Int && c.in("horizon"): // 0 stands for a horizon that was left out
		c.fault(value, "must be at least 1; leave it out for the usual number of rounds")
	case err == nil && (value != 0 || !math.Signbit(value) || takesAny(t)):
	case value != math.Trunc(value) || value < 0 && t.Kind() == reflect.Uint64:
		c.fault(value, "must be %s", wanted(t))
	case math.Abs(value) > request.MaxSeq:
		c.fault(value, "is too large; whole numbers up to %d are possible", request.MaxSeq)
	default:
		end := int(c.read.InputOffset())
		c.plain = strconv.AppendInt(append(c.plain, c.sent[c.copied:end-len(n)]...), int64(value), 10)
		c.copied = end
	}
}

func (c *jsonCheck) text(s string, t reflect.Type) {
	if strings.ContainsRune(s, 0) {
		c.fault(nil, "must not contain the character U+0000")
		return
	}
	switch {
	case t == timeType:
		c.time(s)
	case t == readingType:
		c.fault(s, "must be %s", wanted(t))
	case t != valueType && !takesAny(t) && t.Kind() != reflect.String:
		c.wrongType(s, t, "text")
	}
}

// inRFC3339 matches what RFC 3339 demands and package time does not check.
var inRFC3339 = regexp.MustCompile(`^[^,]*(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// time checks a time, which must have a form in UTC.
func (c *jsonCheck) time(s string) {
	var at time.Time
	err := at.UnmarshalText([]byte(s))
	switch year := at.UTC().Year(); {
	case err != nil || !inRFC3339.MatchString(s):
		c.fault(s, "must be %s", wanted(timeType))
	case year < 0 || year > 9999:
		c.fault(s, "must be within the years 0 to 9999 in UTC")
	}
}

type object = map[string]any

// scalars are the types without parts, by kind: the JSON Schema of each, and its description in
// error messages.
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

var (
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	anyType        = reflect.TypeFor[any]()
	timeType       = reflect.TypeFor[time.Time]()
	readingType    = reflect.TypeFor[ledger.Reading]()
	readingObject  = reflect.TypeFor[readingMembers]()
	valueType      = reflect.TypeFor[design.Value]()
	assumptionType = reflect.TypeFor[policy.Assumption]()
	seriesType     = reflect.TypeFor[study.Series]()
	numbersType    = reflect.TypeFor[ledger.Numbers]()
)

// readingMembers is a reading written as an object.
type readingMembers ledger.Reading

// required lists the fields that a request must have because their absence could pass for a value.
var required = map[reflect.Type][]string{
	reflect.TypeFor[design.Definition]():      {"name", "parameters", "objective"},
	reflect.TypeFor[design.Parameter]():       {"name", "type"},
	reflect.TypeFor[design.Objective]():       {"metric", "direction"},
	reflect.TypeFor[design.Constraint]():      {"metric", "op", "threshold"},
	reflect.TypeFor[design.RecordedMetric]():  {"metric"},
	reflect.TypeFor[design.Reconfiguration](): {"reason"},
	reflect.TypeFor[account.NewToken]():       {"name", "role"},
	reflect.TypeFor[design.Stop]():            {"within", "risk"},
	reflect.TypeFor[design.Start]():           {"lengthscale", "variance", "lambda"},
	readingObject:                             {"value"},
	reflect.TypeFor[ledger.Telling]():         {"metrics"},
	reflect.TypeFor[study.Correction]():       {"reason"},
	reflect.TypeFor[reasonRequest]():          {"reason"},
	reflect.TypeFor[failRequest]():            {"reason"},
	reflect.TypeFor[study.NumberedTelling]():  {"number"},
	reflect.TypeFor[bulkTellRequest]():        {"trials"},
	reflect.TypeFor[study.OwnTrial]():         {"parameters"},
	reflect.TypeFor[pointsRequest]():          {"points"},
	reflect.TypeFor[compareRequest]():         {"algorithms"},
}

type jsonField struct {
	name     string
	kind     reflect.Type
	optional bool // omitted from answers when empty
	required bool // must be in requests
}

// knownFields caches fieldsOf by type, since a list may have thousands of objects.
var knownFields sync.Map

// fieldsOf returns the fields of struct type t, with those of embedded structs in their place. The
// result is shared and must not be changed.
func fieldsOf(t reflect.Type) []jsonField {
	if known, there := knownFields.Load(t); there {
		return known.([]jsonField)
	}
	fields := listFields(t)
	knownFields.Store(t, fields)
	return fields
}

func listFields(t reflect.Type) (fields []jsonField) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(f.Type)...)
		case f.IsExported() && name != "-":
			optional := strings.Contains(options, "omit") // omitempty or omitzero
			fields = append(fields, jsonField{name: name, kind: f.Type, optional: optional, required: slices.Contains(required[t], name)})
		}
	}
	return fields
}

func fieldNames(fields []jsonField) string {
	names := lists.Map(fields, func(f jsonField) string { return f.name })
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// hasOwnForm reports whether t is written in JSON in a form of its own.
func hasOwnForm(t reflect.Type) bool { return t == timeType || t == readingType || t == valueType }

// nullable reports whether t has a null inside a list or map.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessageType
}

// wanted describes what t takes.
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

type bulkTellRequest struct {
	Trials []study.NumberedTelling `json:"trials"`
}

type reasonRequest struct {
	Reason string `json:"reason"`
}

type failRequest struct {
	Reason string        `json:"reason"`
	Cause  *ledger.Cause `json:"cause"` // absent: the settings
}

type pointsRequest struct {
	Points []design.Settings `json:"points"`
}

type compareRequest struct {
	Algorithms []design.Algorithm `json:"algorithms"`
}
