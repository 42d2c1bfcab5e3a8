package api

import (
	"bytes"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// aStudy is a whole definition.
const aStudy = `{"name": "Buffer screen",
	"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"}, {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`

// TestRequestSchemasAgreeWithDecoder: what the decoder says about these bodies, the documented schema says too.
func TestRequestSchemasAgreeWithDecoder(t *testing.T) {
	t.Parallel()
	a := New(Options{PublicURL: &url.URL{}})
	operations := map[string]Operation{
		"create": a.CreateStudy(), "ask": a.Ask(), "tell": a.Tell(), "tell many": a.TellMany(), "add": a.AddTrial(), "correct": a.Correct(), "posterior": a.Posterior(), "compare": a.Compare(),
	}
	var routes []Route
	for name, operation := range operations {
		routes = append(routes, Route{Name: name, Method: "POST", Pattern: name, Operation: operation})
	}
	if err := a.Publish(routes); err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.document))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	bodies := []string{
		`{}`, `{"metrics": {}}`, `{"metrics": {"y": 1}, "note": null}`, `{"metrics": {"y": {"value": 1, "stddev": 2}}}`, `{"metrics": {"y": {"stddev": 2}}}`,
		`{"metrics": {"y": null}}`, `{"metrics": {"y": null}, "reason": "typo"}`, `{"reason": "r"}`, `{"points": [{"x": 1, "c": "A"}]}`, `{"points": [{"x": null}]}`, `{"points": {}}`,
		`{"count": 2}`, `{"count": 1.5}`, `{"Count": 2}`, `{"count": null}`, `{"trials": [{"number": 1, "metrics": {}}]}`, `{"trials": [{"metrics": {}}]}`,
		`{"algorithms": [{"name": "rpol-ucb", "settings": {"eta": 1}}]}`, aStudy, strings.Replace(aStudy, `"threshold": 0.5, `, "", 1), strings.Replace(aStudy, `"seed"`, `"sead"`, 1),
		`{"parameters": {"x": true}}`, `{"parameters": {"x": "A"}, "metrics": {"y": 1}}`,
	}
	for name, operation := range operations {
		schema, err := compiler.Compile("openapi.json#/paths/" + url.PathEscape(name) + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range bodies {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			decoded := decodeJSON(t.Context(), []byte(body), reflect.New(reflect.TypeOf(operation.Body)).Interface())
			documented := schema.Validate(value)
			if (decoded == nil) != (documented == nil) {
				t.Errorf("%s with %s: decoder %v, schema %v", name, body, decoded, documented)
			}
		}
	}
}
