package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// operation describes a route of the API in its OpenAPI document.
type operation struct {
	Summary string
	Tag     string
	Query   []queryParameter
	// Body is a value of the type that the body is read into, nil when there is none. BodyType is its media type when that is not JSON.
	Body         any
	BodyType     string
	BodyOptional bool
	// Status and Answer are those of success; AnswerType is the media type when that is not JSON.
	Status     int
	Answer     any
	AnswerType string
	// Writes marks what changes something: it takes Idempotency-Key.
	Writes bool
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

// openAPI writes the OpenAPI 3.1 document of the routes that belong to the API. It fails when one of them is not described.
func (s *Server) openAPI() ([]byte, error) {
	schemas := newSchemas()
	paths := map[string]object{}
	for _, rt := range s.table {
		if !rt.inAPI() {
			continue
		}
		if rt.Doc == nil {
			return nil, fmt.Errorf("%s %s is not described", rt.Method, rt.Pattern)
		}
		if paths[rt.Pattern] == nil {
			paths[rt.Pattern] = object{}
		}
		paths[rt.Pattern][strings.ToLower(rt.Method)] = describe(rt, schemas)
	}
	problemSchema := schemas.of(reflect.TypeFor[problem](), false)
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Headroom", "version": s.version,
			"description": "Constrained bandit optimisation of experiments. Numbers are finite, times RFC 3339 in UTC; unknown fields, duplicate keys and trailing data are refused.",
		},
		"servers":  []object{{"url": strings.TrimSuffix(s.publicURL.String(), "/")}},
		"security": []object{{"token": []string{}}, {"session": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":   schemas.named,
			"responses": object{"Problem": object{"description": "What went wrong (RFC 9457)", "content": object{"application/problem+json": object{"schema": problemSchema}}}},
			"securitySchemes": object{
				"token":   object{"type": "http", "scheme": "bearer"},
				"session": object{"type": "apiKey", "in": "cookie", "name": s.cookieName(sessionCookie)},
			},
		},
	})
}

// describe is the Operation object of a route.
func describe(rt route, schemas *schemas) object {
	doc := rt.Doc
	operation := object{
		"operationId": operationID(rt),
		"summary":     doc.Summary,
		"description": "Needs: " + rt.Access.String() + ".",
		"tags":        []string{doc.Tag},
		"parameters":  parameters(rt, schemas),
		"responses": object{
			strconv.Itoa(doc.Status): success(rt, schemas),
			"default":                object{"$ref": "#/components/responses/Problem"},
		},
	}
	if doc.Body != nil {
		media := "application/json"
		if doc.BodyType != "" {
			media = doc.BodyType
		}
		schema := schemas.of(reflect.TypeOf(doc.Body), true)
		operation["requestBody"] = object{"required": !doc.BodyOptional, "content": object{media: object{"schema": schema}}}
	}
	return operation
}

func success(rt route, schemas *schemas) object {
	out := object{"description": http.StatusText(rt.Doc.Status)}
	if rt.Doc.Answer == nil {
		return out
	}
	media := "application/json"
	if rt.Doc.AnswerType != "" {
		media = rt.Doc.AnswerType
	}
	out["content"] = object{media: object{"schema": schemas.answer(rt.Doc.Answer)}}
	return out
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt route, schemas *schemas) []object {
	list := []object{}
	add := func(in, name, meaning string, schema object) {
		list = append(list, object{"in": in, "name": name, "description": meaning, "required": in == "path", "schema": schema})
	}
	for _, match := range pathParameter.FindAllStringSubmatch(rt.Pattern, -1) {
		schema := object{"type": "string"}
		if match[1] == "number" {
			schema = object{"type": "integer", "minimum": 1}
		}
		add("path", match[1], "", schema)
	}
	for _, q := range rt.Doc.Query {
		add("query", q.Name, q.Meaning, schemas.of(reflect.TypeOf(q.Type), false))
	}
	if rt.Doc.Writes && rt.Method == http.MethodPost {
		add("header", "Idempotency-Key", "Makes the request safe to repeat for 48 hours", object{"type": "string", "minLength": 1, "maxLength": 255})
	}
	if rt.Doc.Writes && rt.Access.forStudy() {
		add("header", "If-Match", "The study's ETag; 412 when it has changed since", object{"type": "string"})
	}
	return list
}

// operationID is post-studies-id-ask for POST /api/v1/studies/{id}/ask.
func operationID(rt route) string {
	words := strings.FieldsFunc(strings.TrimPrefix(rt.Pattern, "/api/v1/"), func(r rune) bool { return strings.ContainsRune("/{}.", r) })
	return strings.ToLower(rt.Method) + "-" + strings.Join(words, "-")
}
