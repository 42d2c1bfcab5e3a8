package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// The settings form is drawn from the algorithm's own description.

// randomSeed draws a study's seed when nobody gives one.
func randomSeed() uint64 { return rand.Uint64N(1 << 32) }

// partsOf are the fields of a setting that is an object, the word that names its kind first.
func partsOf(setting policy.Setting) (word string, kinds, numbers []string) {
	switch setting.Type {
	case policy.Schedule:
		return "schedule", setting.Choices, []string{"value", "B", "R", "p"}
	case policy.Form:
		return "form", []string{"exponential", "polynomial"}, []string{"rate", "power"}
	}
	return "", nil, nil
}

func settingName(setting policy.Setting) string { return "settings." + setting.Name }

// settingGroups are the inputs for an algorithm's settings.
func settingGroups(a policy.Description, values url.Values) []templates.SettingGroup {
	var groups []templates.SettingGroup
	for _, setting := range a.Settings {
		name := settingName(setting)
		group := templates.SettingGroup{Name: setting.Name, Title: design.Capitalised(strings.ReplaceAll(setting.Name, "_", " ")), Meaning: settingMeaning(setting)}
		if setting.Name == "margin" {
			group.Title = "Stay clear of the limit (margin)"
		}
		switch {
		case strings.HasPrefix(values.Get(name), "{") || strings.HasPrefix(values.Get(name), "["):
			group.Inputs = []templates.Input{{Name: name, Label: "value", Kind: "area", Help: "as JSON, by name"}}
		default:
			group.Inputs = settingInputs(setting)
		}
		if len(group.Inputs) == 1 {
			in := &group.Inputs[0]
			in.Label, in.Help = group.Title, strings.TrimSpace(group.Meaning+" "+in.Help)
		}
		groups = append(groups, group)
	}
	return groups
}

func settingInputs(setting policy.Setting) []templates.Input {
	name := settingName(setting)
	if word, kinds, numbers := partsOf(setting); word != "" {
		inputs := []templates.Input{{Name: name + "." + word, Label: word, Kind: "select", Options: withDefault(kinds)}}
		for _, part := range numbers {
			inputs = append(inputs, templates.Input{Name: name + "." + part, Label: part, Kind: "number"})
		}
		return inputs
	}
	in := templates.Input{Name: name, Label: "value", Kind: "number", Placeholder: "default"}
	switch setting.Type {
	case policy.Boolean:
		in.Kind, in.Options = "select", []templates.Option{{Value: "", Label: "default"}, {Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
	case policy.Text:
		in.Kind, in.Options = "select", withDefault(setting.Choices)
	case policy.Points:
		in.Kind, in.Help = "area", "paste from a spreadsheet: parameter names in the first row, one point in each further row"
	}
	if setting.Per != policy.PerStudy && setting.Type != policy.Points {
		in.Help = "One value for all, or JSON by " + string(setting.Per) + `, such as {"default": 1}`
	}
	return []templates.Input{in}
}

func withDefault(words []string) []templates.Option {
	options := []templates.Option{{Value: "", Label: "default"}}
	for _, word := range words {
		options = append(options, templates.Option{Value: word, Label: strings.ReplaceAll(word, "_", " ")})
	}
	return options
}

func settingMeaning(setting policy.Setting) string {
	meaning := design.Capitalised(setting.Meaning)
	switch {
	case setting.DefaultMeans != "":
		meaning += ". Default: " + setting.DefaultMeans
	case setting.Default != nil:
		if text, err := json.Marshal(setting.Default); err == nil {
			meaning += ". Default: " + plainSetting(text)
		}
	}
	return meaning + "."
}

// plainSetting is a setting's value in words: "constant, value 2".
func plainSetting(raw json.RawMessage) string {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return jsonText(raw)
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if text, ok := object[name].(string); ok {
			words = append([]string{text}, words...)
		} else {
			words = append(words, fmt.Sprintf("%s %v", name, object[name]))
		}
	}
	return strings.Join(words, ", ")
}

// showSettings fills the fields of the settings form from a definition.
func showSettings(values url.Values, algorithm design.Algorithm) {
	for _, setting := range view.Algorithm(algorithm.Name).Settings {
		raw, given := algorithm.Settings[setting.Name]
		if !given {
			continue
		}
		name := settingName(setting)
		word, _, numbers := partsOf(setting)
		var parts map[string]json.RawMessage
		if word == "" || json.Unmarshal(raw, &parts) != nil || parts[word] == nil {
			values.Set(name, jsonText(raw))
			continue
		}
		for _, part := range append([]string{word}, numbers...) {
			if value, there := parts[part]; there {
				values.Set(name+"."+part, jsonText(value))
			}
		}
	}
}

// settingsOf reads the settings of an algorithm. One whose fields stand as before showed them stays
// as it was.
func (t *typed) settingsOf(algorithm string, before design.Algorithm) map[string]json.RawMessage {
	if before.Name != algorithm {
		before = design.Algorithm{Name: algorithm}
	}
	shown, settings := url.Values{}, map[string]json.RawMessage{}
	showSettings(shown, before)
	for _, setting := range view.Algorithm(algorithm).Settings {
		raw := t.setting(setting)
		if same(shown, t.values, settingName(setting)) {
			raw = before.Settings[setting.Name]
		}
		if raw != nil {
			settings[setting.Name] = raw
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// same tells whether the fields of a setting hold what they were shown with.
func same(shown, values url.Values, name string) bool {
	for field := range values {
		if (field == name || strings.HasPrefix(field, name+".")) && strings.TrimSpace(values.Get(field)) != shown.Get(field) {
			return false
		}
	}
	return true
}

// setting reads one setting; nil leaves it at its default.
func (t *typed) setting(setting policy.Setting) json.RawMessage {
	name := settingName(setting)
	if word, _, numbers := partsOf(setting); word != "" && t.text(name) == "" {
		return t.objectSetting(name, word, numbers)
	}
	text := t.text(name)
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		if !json.Valid([]byte(text)) {
			t.fault(name, "this is not JSON")
			return nil
		}
		return json.RawMessage(text)
	case setting.Type == policy.Points:
		return t.points(name)
	case setting.Type == policy.Boolean:
		return json.RawMessage(text)
	case setting.Type == policy.Text:
		return asJSON(text)
	}
	x := t.number(name)
	if x == nil {
		return nil
	}
	return asJSON(*x)
}

func (t *typed) objectSetting(name, word string, numbers []string) json.RawMessage {
	kind := t.text(name + "." + word)
	object := map[string]any{word: kind}
	for _, part := range numbers {
		if x := t.number(name + "." + part); x != nil {
			object[part] = *x
			if kind == "" {
				t.fault(name+"."+word, "choose which "+word+" the values belong to")
			}
		}
	}
	if kind == "" {
		return nil
	}
	return asJSON(object)
}

func (t *typed) points(name string) json.RawMessage {
	pasted := t.sheet(name)
	if pasted == nil {
		return nil
	}
	return asJSON(pasted.candidates())
}

// asJSON writes numbers and texts that a form held.
func asJSON(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("server: a form's value has no JSON: %v", err)) // only finite numbers and texts get here
	}
	return raw
}
