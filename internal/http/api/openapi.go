package api

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/static"
)

// Operations returns all operations. events answers with a study's ledger as it is written.
func (a *API) Operations(events func(http.ResponseWriter, *http.Request) error) map[string]Operation {
	all := operations{}
	for tag, some := range map[string]operations{
		"Studies": a.studyOperations(), "The loop": a.trialOperations(), "Replayed state": a.readoutOperations(), "Ledger": a.ledgerOperations(events), "In and out": a.transferOperations(), "Access": a.accessOperations(),
		"Reference": a.referenceOperations(),
	} {
		for name, one := range some {
			one.Tag, one.Status, one.Handle = tag, cmp.Or(one.Status, http.StatusOK), one.withCheckedQuery
			all[name] = one
		}
	}
	return all
}

// Publish makes the OpenAPI document of the routes. Its other forms are made when first asked for.
func (a *API) Publish(routes []Route) (err error) {
	a.document30 = sync.OnceValues(func() ([]byte, error) {
		var tree any
		if err := json.Unmarshal(a.document, &tree); err != nil {
			return nil, err
		}
		return json.Marshal(asVersion30(tree))
	})
	a.page = sync.OnceValues(func() ([]byte, error) { return docsPage(routes) })
	a.document, err = a.openAPI(routes)
	return err
}

// generalRules holds for all operations, one paragraph each.
var generalRules = []string{
	"Numbers are finite, and 1.0 counts as whole; times are RFC 3339 in UTC, and observed_at is at most a day ahead of the server's clock; unknown fields, duplicate keys, halves of surrogate pairs and trailing data are refused.",
	fmt.Sprintf("A request body has at most %d MiB, except an exported study; what is beyond another limit is answered with a 413 or 422 that names the limit.", request.MaxBody>>20),
	"Errors are application/problem+json with title, status, detail and, if the request is wrong, errors, each with its location, such as body.parameters[1].high: " +
		"400 malformed, 401 without valid credentials, 403 not allowed, 404 no such thing, or none that you may know of, 409 conflict with the present state, 412 stale, 413 too large, " +
		"415 wrong content type, 422 well-formed but wrong, 429 too many, 503 while the database is away; the last two say in Retry-After how many seconds to wait.",
	"The version of a study is the ETag of every answer about it: with If-None-Match a read answers 304 while nothing has changed, and with If-Match a write answers 412 if something has. " +
		"A write sent again with the same Idempotency-Key and body counts once, and gets the first answer again.",
	fmt.Sprintf("A study takes new trials until its ledger has %d MiB. From then on they are answered with 409; reading, telling and exporting go on.", study.LargestLedger>>20),
	"The ledger has sampled values in the first event that brought them; later events name them in constraint_values_sha256, the SHA-256 of the numbers as little-endian doubles.",
}

func (a *API) openAPI(routes []Route) ([]byte, error) {
	schemas := newSchemas()
	paths := map[string]object{}
	for _, rt := range routes {
		if rt.Name == "" || rt.Summary == "" || rt.Status == 0 {
			return nil, fmt.Errorf("%s %s is not described", rt.Method, rt.Pattern)
		}
		if paths[rt.Pattern] == nil {
			paths[rt.Pattern] = object{}
		}
		paths[rt.Pattern][strings.ToLower(rt.Method)] = operationObject(rt, schemas)
	}
	problemSchema := schemas.of(reflect.TypeFor[problem.Problem](), false)
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Headroom", "version": a.Version,
			"description": "Constrained bandit optimisation of experiments. " + strings.Join(generalRules, " "),
		},
		"servers":  []object{{"url": strings.TrimSuffix(a.PublicURL.String(), "/")}},
		"security": []object{{"token": []string{}}, {"session": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":   schemas.named,
			"responses": object{"Problem": object{"description": "What went wrong (RFC 9457)", "content": object{"application/problem+json": object{"schema": problemSchema}}}},
			"securitySchemes": object{
				"token":   object{"type": "http", "scheme": "bearer"},
				"session": object{"type": "apiKey", "in": "cookie", "name": a.SessionCookie},
			},
		},
	})
}

// operationObject returns what OpenAPI calls the Operation Object of a route.
func operationObject(rt Route, schemas *schemas) object {
	responses := object{
		strconv.Itoa(rt.Status): success(rt, schemas),
		"default":               object{"$ref": "#/components/responses/Problem"},
	}
	if rt.Method == http.MethodGet && slices.Contains(rt.Query, atParameter) {
		responses["304"] = object{"description": "Nothing has changed: If-None-Match names the study's present ETag"}
	}
	operation := object{
		"operationId": rt.Name,
		"summary":     rt.Summary,
		"description": "Needs: " + rt.Audience + ".",
		"tags":        []string{rt.Tag},
		"parameters":  parameters(rt, schemas),
		"responses":   responses,
	}
	if rt.Open {
		operation["security"] = []object{}
	}
	if rt.Body != nil {
		content := object{"schema": schemas.of(reflect.TypeOf(rt.Body), true)}
		if example := examples[rt.Name].Request; example != nil {
			content["example"] = example
		}
		operation["requestBody"] = object{"required": !rt.BodyOptional, "content": object{cmp.Or(rt.BodyType, "application/json"): content}}
	}
	return operation
}

func success(rt Route, schemas *schemas) object {
	out := object{"description": http.StatusText(rt.Status)}
	if rt.Answer == nil {
		return out
	}
	content := object{"schema": schemas.answer(rt.Answer)}
	if example := examples[rt.Name].Answer; example != nil {
		content["example"] = example
	}
	out["content"] = object{cmp.Or(rt.AnswerType, "application/json"): content}
	return out
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt Route, schemas *schemas) []object {
	list := []object{}
	add := func(in, name, meaning string, required bool, schema object) {
		list = append(list, object{"in": in, "name": name, "description": meaning, "required": required, "schema": schema})
	}
	for _, match := range pathParameter.FindAllStringSubmatch(rt.Pattern, -1) {
		schema := object{"type": "string"}
		if match[1] == "number" {
			schema = object{"type": "integer", "format": "int64", "minimum": 1}
		}
		add("path", match[1], "", true, schema)
	}
	for _, q := range rt.Query {
		kind := reflect.TypeOf(q.Type)
		add("query", q.Name, q.Meaning, kind == reflect.TypeFor[requiredText](), schemas.of(kind, false))
	}
	if rt.Writes {
		add("header", "Idempotency-Key", "Makes the request safe to repeat for 48 hours", false, object{"type": "string", "minLength": 1, "maxLength": 255})
	}
	if rt.Writes && rt.OneStudy {
		add("header", "If-Match", "The study's ETag; 412 when it has changed since", false, object{"type": "string"})
	}
	return list
}

// asVersion30 converts an OpenAPI 3.1 document for generators that read only 3.0: types that allow
// null become `nullable` instead of having the type "null", and values of several types have no
// type.
func asVersion30(document any) any {
	switch node := document.(type) {
	case []any:
		return lists.Map(node, asVersion30)
	case map[string]any:
		out := make(object, len(node))
		for key, value := range node {
			if key == "example" { // data, not a schema
				out[key] = value
				continue
			}
			out[key] = asVersion30(value)
		}
		if _, whole := out["openapi"].(string); whole {
			out["openapi"] = "3.0.3"
		}
		if types, several := out["type"].([]any); several {
			if rest := withoutNull(out, "type", types); len(rest) == 1 {
				out["type"] = rest[0]
			}
		}
		if choices, there := out["anyOf"].([]any); there {
			if rest := withoutNull(out, "anyOf", choices); len(rest) == 1 {
				out["allOf"] = rest
			}
		}
		return out
	}
	return document
}

// withoutNull removes a list of alternatives from a schema, sets nullable if null was one of them,
// and returns the others: a single one can take the list's place.
func withoutNull(schema object, name string, list []any) []any {
	rest := slices.DeleteFunc(slices.Clone(list), func(one any) bool {
		named, _ := one.(object)
		return one == "null" || named["type"] == "null"
	})
	delete(schema, name)
	if len(rest) < len(list) {
		schema["nullable"] = true
	}
	return rest
}

// examplesText holds a request and its answer for every operation, by the operation's id. A test
// plays them against a server as one story and writes them anew: they are what was really sent and
// answered.
//
//go:embed examples.json
var examplesText []byte

type example struct {
	Path    string `json:"path"`
	Request any    `json:"request,omitempty"`
	Answer  any    `json:"answer,omitempty"`
}

var examples = func() map[string]example {
	var all map[string]example
	if err := json.Unmarshal(examplesText, &all); err != nil {
		panic("api: examples.json: " + err.Error()) // it is part of the program
	}
	return all
}()

// schemas makes JSON Schemas (2020-12) of Go types, the same types that decodeJSON and
// encoding/json use.
type schemas struct {
	named object                  // finished, by name
	types map[string]reflect.Type // of the schemas, by name
}

func newSchemas() *schemas { return &schemas{named: object{}, types: map[string]reflect.Type{}} }

// enums lists the values of the types that have a few named ones.
var enums = map[reflect.Type]any{
	reflect.TypeFor[ledger.State]():         ledger.States,
	reflect.TypeFor[design.ParameterType](): []design.ParameterType{design.Real, design.Integer, design.Categorical, design.Remainder},
	reflect.TypeFor[ledger.Origin]():        ledger.Origins,
	reflect.TypeFor[ledger.Status]():        ledger.Statuses,
	reflect.TypeFor[ledger.Cause]():         ledger.Causes,
	reflect.TypeFor[account.Role]():         account.Roles,
}

// fieldEnums lists those of fields whose Go type is string.
var fieldEnums = map[reflect.Type]map[string][]string{
	reflect.TypeFor[design.Parameter]():  {"scale": {"linear", "log"}},
	reflect.TypeFor[design.Objective]():  {"direction": {"maximize", "minimize"}},
	reflect.TypeFor[design.Constraint](): {"op": {"<=", ">="}},
	reflect.TypeFor[design.Algorithm]():  {"preset": {"paper"}},
	reflect.TypeFor[design.Model](): {
		"inputs": {"unit", "raw"}, "outputs": {"standardize", "raw"}, "fit": {"marginal_likelihood", "fixed"}, "warp": {"yeo_johnson", "none"},
	},
}

// answer returns the schema of an answer, which may be one of several types.
func (s *schemas) answer(value any) object {
	several, ok := value.(oneOf)
	if !ok {
		return s.of(reflect.TypeOf(value), false)
	}
	return object{"anyOf": lists.Map(several, func(one any) object { return s.of(reflect.TypeOf(one), false) })}
}

// of returns the schema of t. Schemas of requests refuse unknown fields; answers may gain fields.
func (s *schemas) of(t reflect.Type, request bool) object {
	switch t {
	case timeType:
		return object{"type": "string", "format": "date-time"}
	case valueType:
		return object{"type": []string{"number", "string"}}
	case assumptionType:
		return scalar(reflect.String)
	case rawMessageType, anyType:
		return object{}
	case seriesType:
		return object{"type": "array", "items": orNull(scalar(reflect.Float64))}
	case numbersType:
		return object{"type": "object", "additionalProperties": orNull(scalar(reflect.Float64))}
	case readingType:
		return object{"anyOf": []object{{"type": "number"}, s.of(readingObject, request)}}
	}
	if list, ok := enums[t]; ok {
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

func scalar(kind reflect.Kind) object {
	known, there := scalars[kind]
	if !there {
		panic("server: no schema for " + kind.String())
	}
	return maps.Clone(known.schema)
}

// structure returns a reference to the schema of struct type t, which is made the first time.
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
	properties, needed := object{}, []string(nil)
	for _, f := range fieldsOf(t) {
		property := s.of(f.kind, request)
		if words := fieldEnums[t][f.name]; words != nil {
			property["enum"] = words
		}
		if request && !f.required && f.kind.Kind() != reflect.Pointer { // a pointer may be null anyway
			property = orNull(property)
		}
		properties[f.name] = property
		if request && f.required || !request && !f.optional {
			needed = append(needed, f.name)
		}
	}
	schema["properties"] = properties
	if len(needed) > 0 { // OpenAPI 3.0 has no empty list here
		schema["required"] = needed
	}
	if request {
		schema["additionalProperties"] = false
	}
	return ref
}

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

type algorithmList struct {
	Algorithms []algorithmDescription `json:"algorithms"`
}

type algorithmDescription struct {
	policy.Description
	Summary  string               `json:"summary"`
	Theorem  *theoremDescription  `json:"theorem"` // null for an algorithm that draws no bounds
	Settings []settingDescription `json:"settings"`
}

// theoremDescription is what was proved about an algorithm's bounds on violation and regret.
type theoremDescription policy.Theorem

type settingDescription struct {
	policy.Setting
	Paper any          `json:"paper"` // the default with preset "paper"; null where it is worked out or must be given, as default_means says
	Range settingRange `json:"range"`
}

func (a *API) referenceOperations() operations {
	return operations{
		"listAlgorithms": listing(Operation{Summary: "Every algorithm with its settings, source and the feedback it assumes"}, func(*http.Request) (algorithmList, error) {
			return algorithmList{lists.Map(policy.Descriptions(), func(a policy.Description) algorithmDescription {
				return algorithmDescription{a, a.Advice(), (*theoremDescription)(a.Theorem), lists.Map(a.Settings, settingOf)}
			})}, nil
		}),
		"readDocument": Operation{
			Summary: "This document", Answer: map[string]any{},
			Query: []queryParameter{{"version", "3.1 (default), or 3.0 for generators that do not know 3.1", ""}},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				old, err := request.Parse(r, func(q *request.Query) bool { return request.OneOf(q, "version", "3.0", "3.1") == "3.0" })
				document := a.document
				if err == nil && old {
					document, err = a.document30()
				}
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "application/json")
				_, err = w.Write(document)
				return err
			},
		},
		"browseDocument": Operation{
			Summary: "This document as a page", Answer: "", AnswerType: "text/html",
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				page, err := a.page()
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, err = w.Write(page)
				return err
			},
		},
	}
}

type settingRange struct {
	Low          *float64 `json:"low"`
	High         *float64 `json:"high"`
	LowExclusive bool     `json:"low_exclusive"`
	Choices      []string `json:"choices,omitempty"`
}

func settingOf(setting policy.Setting) settingDescription {
	paper := setting.Paper
	if _, asked := paper.(policy.LeftToUser); asked {
		paper = nil
	} else if paper == nil {
		paper = setting.Default
	}
	return settingDescription{setting, paper, settingRange{setting.Low, setting.High, setting.LowExclusive, setting.Choices}}
}

//go:embed docs.html
var docsText string

// docsPage returns the OpenAPI document as a page, without scripts or anything from elsewhere.
func docsPage(routes []Route) ([]byte, error) {
	all := newSchemas()
	var tags []string
	tagged := map[string][]Route{}
	for _, rt := range routes {
		if tagged[rt.Tag] == nil {
			tags = append(tags, rt.Tag)
		}
		tagged[rt.Tag] = append(tagged[rt.Tag], rt)
	}
	docs := template.Must(template.New("docs").Funcs(template.FuncMap{
		"asset": static.URL, "indented": indented,
		"parameters": func(rt Route) []object { return parameters(rt, all) },
		"body":       func(rt Route) any { return operationObject(rt, all)["requestBody"] },
		"answer":     func(rt Route) object { return success(rt, all) },
		"schemas":    func() object { return all.named }, // once all others are written
	}).Parse(docsText))
	var page bytes.Buffer
	err := docs.Execute(&page, map[string]any{"OfAll": generalRules, "Tags": tags, "Tagged": tagged})
	return page.Bytes(), err
}

func indented(value any) string {
	var text strings.Builder
	writer := json.NewEncoder(&text)
	writer.SetEscapeHTML(false) // the page does that
	writer.SetIndent("", "  ")
	writer.Encode(value) // of maps, lists and text
	return strings.TrimSuffix(text.String(), "\n")
}
