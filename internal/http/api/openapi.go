package api

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"headroom/internal/http/problem"
	"headroom/internal/study"
)

// Operation is what one route of the API does, and what its OpenAPI document says about it.
type Operation struct {
	Handle  func(http.ResponseWriter, *http.Request) error
	Summary string
	Tag     string
	Query   []queryParameter
	// Body is a value of the type that the body is read into, nil when there is none. BodyType is
	// its media type when that is not JSON.
	Body         any
	BodyType     string
	BodyOptional bool
	// Status and Answer are those of success, 200 unless it is said; AnswerType is the media type
	// when that is not JSON.
	Status     int
	Answer     any
	AnswerType string
	// Largest is the largest body, in bytes; 0 stands for request.MaxBody.
	Largest int64
	// Writes marks what changes something: it takes Idempotency-Key.
	Writes bool
	// Light marks a change for which nothing is worked out: its write finds out whether it was
	// carried out before (study.Store's Write), so the database is not asked ahead of it.
	Light bool
	// StaysOpen marks answers that may take long to come to an end: no write deadline, no
	// compression.
	StaysOpen bool
}

// Route is where an operation is served, and for whom.
type Route struct {
	Name            string // what clients call it
	Method, Pattern string
	Audience        string // in words
	Open            bool   // to everybody, without credentials
	OneStudy        bool   // the pattern names a study, so the caller may insist on its version
	Operation
}

// queryParameter describes one query parameter; Type is a value of its type.
type queryParameter struct {
	Name    string
	Meaning string
	Type    any
}

// oneOf is an answer of one of several types.
type oneOf []any

type object = map[string]any

// Publish makes the OpenAPI document of the routes, and once somebody asks for them its other
// forms.
func (a *API) Publish(routes []Route) (err error) {
	a.document30 = sync.OnceValues(func() ([]byte, error) { return inVersion30(a.document) })
	a.page = sync.OnceValues(func() ([]byte, error) { return docsPage(routes) })
	a.document, err = a.openAPI(routes)
	return err
}

// openAPI writes the OpenAPI 3.1 document of the routes.
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
			"description": "Constrained bandit optimisation of experiments. Numbers are finite, times RFC 3339 in UTC; unknown fields, duplicate keys and trailing data are refused. " +
				fmt.Sprintf("A study gets new trials until its ledger has %d MiB; 409 then, and it can still be read, told and exported. ", study.LargestLedger>>20) +
				"Sampled values stand in the ledger where they were brought first; later events name them under constraint_values_sha256, by the SHA-256 of the numbers as little-endian doubles.",
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

// operationObject is what OpenAPI calls the Operation Object of a route.
func operationObject(rt Route, schemas *schemas) object {
	operation := object{
		"operationId": rt.Name,
		"summary":     rt.Summary,
		"description": "Needs: " + rt.Audience + ".",
		"tags":        []string{rt.Tag},
		"parameters":  parameters(rt, schemas),
		"responses": object{
			strconv.Itoa(rt.Status): success(rt, schemas),
			"default":               object{"$ref": "#/components/responses/Problem"},
		},
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
	add := func(in, name, meaning string, schema object) {
		list = append(list, object{"in": in, "name": name, "description": meaning, "required": in == "path", "schema": schema})
	}
	for _, match := range pathParameter.FindAllStringSubmatch(rt.Pattern, -1) {
		schema := object{"type": "string"}
		if match[1] == "number" {
			schema = object{"type": "integer", "format": "int64", "minimum": 1}
		}
		add("path", match[1], "", schema)
	}
	for _, q := range rt.Query {
		add("query", q.Name, q.Meaning, schemas.of(reflect.TypeOf(q.Type), false))
	}
	if rt.Writes && rt.Method == http.MethodPost {
		add("header", "Idempotency-Key", "Makes the request safe to repeat for 48 hours", object{"type": "string", "minLength": 1, "maxLength": 255})
	}
	if rt.Writes && rt.OneStudy {
		add("header", "If-Match", "The study's ETag; 412 when it has changed since", object{"type": "string"})
	}
	return list
}

// inVersion30 rewrites the text of an OpenAPI 3.1 document.
func inVersion30(document []byte) ([]byte, error) {
	var tree any
	if err := json.Unmarshal(document, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(asVersion30(tree))
}

// asVersion30 is an OpenAPI 3.1 document as generators that know only 3.0 read it: what may be null
// says so with `nullable` instead of with the type "null", and a value of several types says
// nothing of its type.
func asVersion30(document any) any {
	switch node := document.(type) {
	case []any:
		list := make([]any, len(node))
		for i, item := range node {
			list[i] = asVersion30(item)
		}
		return list
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

// withoutNull takes a list of alternatives out of a schema, which says by itself then whether null
// was one of them, and returns the others: one of them can stand in the list's place.
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
