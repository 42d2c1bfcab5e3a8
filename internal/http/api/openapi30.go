package api

import "encoding/json"

// inVersion30 rewrites the text of an OpenAPI 3.1 document.
func inVersion30(document []byte) ([]byte, error) {
	var tree any
	if err := json.Unmarshal(document, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(asVersion30(tree))
}

// asVersion30 is an OpenAPI 3.1 document as generators that know only 3.0 read it: what may be null says so with `nullable` instead of
// with the type "null", and a value of several types says nothing of its type.
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
		nullableType(out)
		nullableChoice(out)
		return out
	}
	return document
}

// nullableType turns {"type": ["string", "null"]} into {"type": "string", "nullable": true}.
func nullableType(schema object) {
	types, several := schema["type"].([]any)
	if !several {
		return
	}
	rest := without(types, func(name any) bool { return name == "null" })
	delete(schema, "type")
	if len(rest) < len(types) {
		schema["nullable"] = true
	}
	if len(rest) == 1 {
		schema["type"] = rest[0]
	}
}

// nullableChoice turns {"anyOf": [X, {"type": "null"}]} into {"allOf": [X], "nullable": true}. A choice between several types says nothing.
func nullableChoice(schema object) {
	choices, there := schema["anyOf"].([]any)
	if !there {
		return
	}
	rest := without(choices, func(choice any) bool {
		named, ok := choice.(object)
		return ok && named["type"] == "null"
	})
	delete(schema, "anyOf")
	if len(rest) < len(choices) {
		schema["nullable"] = true
	}
	if len(rest) == 1 {
		schema["allOf"] = rest
	}
}

func without(list []any, drop func(any) bool) []any {
	var rest []any
	for _, item := range list {
		if !drop(item) {
			rest = append(rest, item)
		}
	}
	return rest
}
