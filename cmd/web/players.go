package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// player is an algorithm under the label that tables and figures use.
type player struct{ label, name string }

// readPlayers reads names separated by commas, each perhaps as label=name.
func readPlayers(names string) ([]player, error) {
	var list []player
	for _, part := range strings.Split(names, ",") {
		label, name, given := strings.Cut(part, "=")
		if !given {
			name = label
		}
		if err := checkLabel(label, slices.ContainsFunc(list, func(p player) bool { return p.label == label })); err != nil {
			return nil, err
		}
		list = append(list, player{label, name})
	}
	return list, nil
}

func checkLabel(label string, used bool) error {
	if label == "" || strings.ContainsAny(label, `/\. |`) || used {
		return fmt.Errorf("%q is no label to tell algorithms apart: it needs letters, digits or -, and to be used once", label)
	}
	return nil
}

// byLabel reads what each player gets of a flag: all the same object, or one by label with "all" for the rest; @file reads a file.
func byLabel(players []player, flag, text string) ([]map[string]json.RawMessage, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		file, err := openFile(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		content, err := io.ReadAll(file)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object: %w", flag, err)
	}
	labelled := len(object) > 0
	for key := range object {
		labelled = labelled && (key == "all" || slices.ContainsFunc(players, func(p player) bool { return p.label == key }))
	}
	list := make([]map[string]json.RawMessage, len(players))
	for i, p := range players {
		list[i] = map[string]json.RawMessage{}
		if !labelled {
			maps.Copy(list[i], object)
			continue
		}
		for _, key := range []string{"all", p.label} {
			var own map[string]json.RawMessage
			if err := json.Unmarshal(object[key], &own); len(object[key]) > 0 && err != nil {
				return nil, fmt.Errorf("%s of %s must be a JSON object: %w", flag, key, err)
			}
			maps.Copy(list[i], own)
		}
	}
	return list, nil
}
