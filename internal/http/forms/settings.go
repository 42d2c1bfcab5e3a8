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

// The fields of an algorithm's settings are drawn and read by the algorithm's own description.

// allSettings begins the names of their fields.
const allSettings = "settings."

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

// settingField is a field of a setting, or of a part of it.
func settingField(path string, in templates.Input) Field {
	in.Name = allSettings + path
	return Field{Input: in, path: "algorithm." + allSettings + path}
}

// settingFields are the fields of a setting, as it is typed now.
func settingFields(setting policy.Setting, values url.Values) Fields {
	if text := values.Get(allSettings + setting.Name); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return Fields{settingField(setting.Name, templates.Input{Label: "value", Kind: "area", Help: "as JSON, by name"})}
	}
	if word, kinds, numbers := partsOf(setting); word != "" {
		kind := settingField(setting.Name+"."+word, templates.Input{Label: word, Kind: "select", Options: withDefault(kinds)})
		fields := Fields{kind.of("algorithm." + allSettings + setting.Name)}
		for _, part := range numbers {
			fields = append(fields, settingField(setting.Name+"."+part, templates.Input{Label: part, Kind: "number"}))
		}
		return fields
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

// plainSetting is a setting's value in words: "constant, value 2".
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

// showSettings fills the fields of the settings from a definition.
func showSettings(values url.Values, algorithm design.Algorithm) {
	for _, setting := range view.Algorithm(algorithm.Name).Settings {
		raw := algorithm.Settings[setting.Name]
		if policy.Absent(raw) {
			continue
		}
		word, _, numbers := partsOf(setting)
		parts := policy.AsObject(raw)
		if parts == nil && setting.Type == policy.Schedule { // a number is one that stays
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

// settingsOf reads the settings of an algorithm. One of the algorithm that was there before stays as
// it was while its fields stand as they were filled in.
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

// asFilledIn tells whether the fields of a setting hold what they were filled in with.
func (t *Typed) asFilledIn(name string) bool {
	for field := range t.Values {
		if (field == name || strings.HasPrefix(field, name+".")) && t.Text(field) != t.kept.Get(field) {
			return false
		}
	}
	return true
}

// setting reads one setting; nil leaves it at its default.
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

// way is one answer to how an experiment goes: the algorithm that suits it, with settings, and why.
type way struct {
	name, label string
	algorithm   string
	settings    map[string]string // that tell it from other answers with the same algorithm
	begin       map[string]string // settings to begin with
	asks        []templates.Input // settings that somebody has to give, shown beside the choice in these words
	why         string
}

// DriftWay is the answer for processes that move.
const DriftWay = "drift"

// ownWay stands for an algorithm that no answer leads to.
const ownWay = "own"

// ways are in the order to offer them, the default first.
var ways = []way{
	{name: "usual", label: "Results come before the next trial; a limit may be crossed while we learn where it lies", algorithm: "log-cei",
		why: "Weighs what a trial may gain with its chance to stay within every limit. In our rehearsals it needs the fewest trials to good settings; it may cross a limit on the way."},
	{name: "late", label: "Results come days later, several trials wait at a time", algorithm: "log-cei", settings: map[string]string{"pending": "variance"},
		why: "Trials that wait count as places already looked at, so that the next ones go elsewhere; ask for as many as you run at a time, results may come in any order. " +
			"With every result five trials late it found better settings in our rehearsals, with a third of the crossings, than the algorithms published for late results."},
	{name: "each", label: "Hundreds of trials, as in production: each counts by what it brings, and every crossing of a limit counts", algorithm: "rpol-ucb",
		why: "Keeps all crossings small in sum, and no margin pays for them. In our simulations of 200 trials each was far nearer to the best than with the usual answer, while the limit was crossed by somewhat more in sum. " +
			"Results may be late: trials that wait count as places already looked at."},
	{name: "censored", label: "The same, and results come late by chance: after a while we count them as lost", algorithm: "rpol-censored-ucb", begin: map[string]string{"response_bound": "0"}, asks: []templates.Input{{Name: "delay_window", Label: "Trials to wait for a result", Help: "The window: a result that comes after so many further trials counts as lost."}},
		why: "Made for random delays: a result counts as nothing until it comes, and for good where it comes after the window. In our simulations of late results it crossed the limit in the fewest trials, but they brought far less than with the answer before this one. " +
			"Its theorem asks for widths with B and R, and for a response bound that is not 0, under “Advanced”."},
	{name: DriftWay, label: "The process drifts: columns age, seasons change, batches differ", algorithm: "rpol-sw-ucb", begin: map[string]string{"window": "30"}, asks: []templates.Input{{Name: "window", Label: "Trials that still tell the truth", Help: "The window: older ones are forgotten."}},
		why: "Only the last trials count, so that old readings do not hold it back when the process has moved on. Say how many of them still tell the truth."},
	{name: "safe", label: "Never cross a limit, and I know safe settings", algorithm: "stageopt", asks: []templates.Input{{Name: "safe_seeds", Label: "Safe settings",
		Help: "Paste from a spreadsheet: the parameters’ names in the first row, in each further row settings known to be within every limit. One row is enough to begin."}},
		why: "Starts from the settings that you know to be safe, widens the region that the model believes safe, and then looks for the best in it. It is slower, and as safe as the model’s band is right."},
	{name: "average", label: "A limit holds on average: one trial may make up for another", algorithm: "ckb-ucb",
		why: "Keeps the average of every limit, not each trial: what is crossed today is paid back by distance tomorrow. Do not choose it where a single crossing does harm."},
	{name: "known", label: "How the limits stand is known before each trial, as with arrivals, orders or prices, and they hold on average", algorithm: "scgp-ucb",
		why: "Learns the objective alone. What was crossed waits in a queue that later trials work off, so that every limit holds on average, not in each trial. Under each limit open “It can be calculated, not measured” and write it as a formula, with the number that you bring to each trial."},
	{name: "many", label: "More than ten settings", algorithm: "scbo",
		why: "Looks in a region around the best settings so far, which moves and shrinks, since nobody can look everywhere in so many directions."},
}

// wayTo is the answer that leads to the form's algorithm and settings, the default where none is
// chosen yet.
func wayTo(values url.Values) string {
	name := values.Get(algorithmField)
	if name == "" {
		return ways[0].name
	}
	for _, w := range slices.Backward(ways) { // those with settings stand behind those without
		if w.algorithm == name && w.shows(values) {
			return w.name
		}
	}
	return ownWay
}

// shows tells whether the form has the way's settings.
func (w way) shows(values url.Values) bool {
	for field, text := range w.settings {
		if values.Get(allSettings+field) != text {
			return false
		}
	}
	return true
}

// TakeWay puts the algorithm of the answer into the form, if the answer is another than the one that
// the form was drawn with.
func TakeWay(values url.Values) {
	chosen := values.Get("way")
	at := slices.IndexFunc(ways, func(w way) bool { return w.name == chosen })
	if at < 0 || chosen == values.Get("way.was") {
		return
	}
	for name := range values {
		if strings.HasPrefix(name, allSettings) {
			values.Del(name)
		}
	}
	values.Set(algorithmField, ways[at].algorithm)
	values.Del(presetField)
	for _, list := range []map[string]string{ways[at].settings, ways[at].begin} {
		for field, text := range list {
			values.Set(allSettings+field, text)
		}
	}
}

// OtherAlgorithm tells whether the form is drawn again since another algorithm was chosen than it was
// drawn with.
func (t *Typed) OtherAlgorithm() bool {
	return t.Pressed() == "refresh" && t.Values.Get("algorithm.drawn") != t.Values.Get(algorithmField)
}

// Drifting is the algorithm of the answer for processes that move, which looks at that many trials;
// 0 for as many as the answer begins with.
func Drifting(horizon, window int) design.Algorithm {
	drift := ways[slices.IndexFunc(ways, func(w way) bool { return w.name == DriftWay })]
	settings := map[string]json.RawMessage{}
	for name, text := range drift.begin {
		settings[name] = json.RawMessage(text)
	}
	if window > 0 {
		settings["window"] = policy.AsJSON(window)
	}
	return design.Algorithm{Name: drift.algorithm, Horizon: horizon, Settings: settings}
}

// fillWay draws the question with the answer that the form stands at. What a way asks for stands
// beside it, and no second time below.
func fillWay(page *templates.DefinePage, values url.Values) {
	now := wayTo(values)
	values.Set("way", now)
	for _, w := range ways {
		page.Ways = append(page.Ways, templates.Option{Value: w.name, Label: w.label})
		if w.name != now {
			continue
		}
		page.Why = strings.TrimSpace(w.why + " " + view.Algorithm(w.algorithm).Beware)
		for _, words := range w.asks {
			at := slices.IndexFunc(page.Settings, func(g templates.SettingGroup) bool { return g.Inputs[0].Name == allSettings+words.Name })
			asked := page.Settings[at].Inputs[0]
			asked.Label, asked.Help = words.Label, words.Help
			if asked.Kind == "area" {
				asked.Placeholder = "" // nothing stands for them
			}
			page.Asked = append(page.Asked, asked)
			page.Settings = slices.Delete(page.Settings, at, at+1)
		}
	}
	if now == ownWay {
		page.Ways = append(page.Ways, templates.Option{Value: ownWay, Label: "As chosen below, under “Advanced”"})
	}
}
