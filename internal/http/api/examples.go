package api

import (
	_ "embed"
	"encoding/json"
)

// examplesText holds a request and its answer for every operation, by the operation's id. A test plays them against a server as one
// story and writes them anew: they are what was really sent and answered.
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

func exampleOf(rt Route) example { return examples[rt.Name] }
