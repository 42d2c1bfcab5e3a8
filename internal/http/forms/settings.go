package forms

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// allSettings is the prefix of the names of the fields of an algorithm's settings, which are drawn
// and read by the algorithm's own description.
const allSettings = "settings."

// partsOf returns the fields of a setting that is an object: the one that names its kind, the
// kinds, and the numbers. word is "" for other settings.
func partsOf(setting policy.Setting) (word string, kinds, numbers []string) {
	switch setting.Type {
	case policy.Schedule:
		return "schedule", setting.Choices, []string{"value", "B", "R", "p"}
	case policy.Form:
		return "form", []string{"exponential", "polynomial"}, []string{"rate", "power"}
	}
	return "", nil, nil
}

func settingField(path string, in templates.Input) Field {
	in.Name = allSettings + path
	return Field{Input: in, path: "algorithm." + allSettings + path}
}

// settingFields returns the fields of a setting as it is typed now.
func settingFields(setting policy.Setting, values url.Values) Fields {
	if text := values.Get(allSettings + setting.Name); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return Fields{settingField(setting.Name, templates.Input{Label: "value", Kind: "area", Help: "as JSON, by name"})}
	}
	if word, kinds, numbers := partsOf(setting); word != "" {
		kind := settingField(setting.Name+"."+word, templates.Input{Label: word, Kind: "select", Options: withDefault(kinds)})
		return append(Fields{kind.alsoShowing("algorithm." + allSettings + setting.Name)}, lists.Map(numbers, func(part string) Field {
			return settingField(setting.Name+"."+part, templates.Input{Label: part, Kind: "number"})
		})...)
	}
	in := templates.Input{Label: "value", Kind: "number", Placeholder: "default"}
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
	return Fields{settingField(setting.Name, in)}
}

func withDefault(names []string) []templates.Option {
	return append([]templates.Option{{Label: "default"}}, lists.Map(names, func(name string) templates.Option { return templates.Option{Value: name, Label: spaced(name)} })...)
}

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

func settingGroups(a policy.Description, values url.Values) []templates.SettingGroup {
	var groups []templates.SettingGroup
	for _, setting := range a.Settings {
		group := templates.SettingGroup{Title: design.Capitalised(spaced(setting.Name)), Meaning: settingMeaning(setting), Inputs: settingFields(setting, values).Inputs()}
		if setting.Name == "margin" {
			group.Title = "Stay clear of the limit (margin)"
		}
		if len(group.Inputs) == 1 {
			in := &group.Inputs[0]
			in.Label, in.Help = group.Title, strings.TrimSpace(group.Meaning+" "+in.Help)
		}
		groups = append(groups, group)
	}
	return groups
}

func settingMeaning(setting policy.Setting) string {
	meaning := design.Capitalised(setting.Meaning)
	switch {
	case setting.DefaultMeans != "":
		meaning += ". Default: " + setting.DefaultMeans
	case setting.Default != nil:
		meaning += ". Default: " + plainSetting(policy.AsJSON(setting.Default))
	}
	return meaning + "."
}

// plainSetting returns a setting's value in words, such as "constant, value 2".
func plainSetting(raw json.RawMessage) string {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return jsonText(raw)
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if text, ok := object[name].(string); ok {
			said = append([]string{text}, said...)
		} else {
			said = append(said, fmt.Sprintf("%s %v", name, object[name]))
		}
	}
	return strings.Join(said, ", ")
}

func showSettings(values url.Values, algorithm design.Algorithm) {
	for _, setting := range view.Algorithm(algorithm.Name).Settings {
		raw := algorithm.Settings[setting.Name]
		if policy.Absent(raw) {
			continue
		}
		word, _, numbers := partsOf(setting)
		parts := policy.AsObject(raw)
		if parts == nil && setting.Type == policy.Schedule { // a number is a constant schedule
			parts = map[string]json.RawMessage{word: policy.AsJSON("constant"), "value": raw}
		}
		if parts[word] == nil {
			values.Set(allSettings+setting.Name, jsonText(raw))
			continue
		}
		for _, part := range append([]string{word}, numbers...) {
			if value, there := parts[part]; there {
				values.Set(allSettings+setting.Name+"."+part, jsonText(value))
			}
		}
	}
}

// settingsOf reads the settings of an algorithm. A setting that the study had before keeps its
// value as long as its fields are as they were filled in.
func (t *Typed) settingsOf(algorithm string, before design.Algorithm) map[string]json.RawMessage {
	var settings map[string]json.RawMessage
	for _, setting := range view.Algorithm(algorithm).Settings {
		raw := t.setting(setting)
		if before.Name == algorithm && t.asFilledIn(allSettings+setting.Name) {
			raw = before.Settings[setting.Name]
		}
		if raw == nil {
			continue
		}
		if settings == nil {
			settings = map[string]json.RawMessage{}
		}
		settings[setting.Name] = raw
	}
	return settings
}

// asFilledIn reports whether the fields of a setting hold what they were filled in with.
func (t *Typed) asFilledIn(name string) bool {
	for field := range t.Values {
		if (field == name || strings.HasPrefix(field, name+".")) && t.Text(field) != t.filledIn.Get(field) {
			return false
		}
	}
	return true
}

// setting reads one setting; nil stands for its default.
func (t *Typed) setting(setting policy.Setting) json.RawMessage {
	name := allSettings + setting.Name
	text := t.Text(name)
	if word, _, numbers := partsOf(setting); word != "" && text == "" {
		return t.objectSetting(name, word, numbers)
	}
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return t.typedJSON(name)
	case setting.Type == policy.Points:
		if pasted := t.sheet(name); pasted != nil {
			return policy.AsJSON(pasted.candidates())
		}
	case setting.Type == policy.Boolean:
		return json.RawMessage(text)
	case setting.Type == policy.Text:
		return policy.AsJSON(text)
	default:
		if x := t.number(name); x != nil {
			return policy.AsJSON(*x)
		}
	}
	return nil
}

func (t *Typed) objectSetting(name, word string, numbers []string) json.RawMessage {
	kind := t.Text(name + "." + word)
	object := map[string]any{word: kind}
	for _, part := range numbers {
		if x := t.number(name + "." + part); x != nil {
			object[part] = *x
			if kind == "" {
				t.Fault(name+"."+word, "choose which "+word+" the values belong to")
			}
		}
	}
	if kind == "" {
		return nil
	}
	return policy.AsJSON(object)
}
