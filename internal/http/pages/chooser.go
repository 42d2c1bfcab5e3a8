package pages

import (
	"net/url"
	"slices"
	"strings"

	"headroom/web/templates"
)

// way is one answer to how an experiment goes: the algorithm that suits it, with settings, and why.
type way struct {
	name, label string
	algorithm   string
	settings    map[string]string // that tell it from other answers with the same algorithm
	begin       map[string]string // settings to begin with
	asks        []string          // settings that somebody has to give, shown beside the choice
	why         string
}

// driftWay is the answer for processes that move.
const driftWay = "drift"

// ownWay stands for an algorithm that no answer leads to.
const ownWay = "own"

// ways are in the order to offer them, the default first.
var ways = []way{
	{name: "usual", label: "Results come before the next trial; a limit may be crossed while we learn where it lies", algorithm: "log-cei",
		why: "Weighs what a trial may gain with its chance to stay within every limit. In our rehearsals it needs the fewest trials to good settings; it may cross a limit on the way."},
	{name: "late", label: "Results come days later, several trials wait at a time", algorithm: "log-cei", settings: map[string]string{"pending": "variance"},
		why: "Trials that wait count as places already looked at, so that the next ones go elsewhere; ask for as many as you run at a time, results may come in any order. " +
			"With every result five trials late it found better settings in our rehearsals, with a third of the crossings, than the algorithms published for late results."},
	{name: driftWay, label: "The process drifts: columns age, seasons change, batches differ", algorithm: "rpol-sw-ucb", begin: map[string]string{"window": "30"}, asks: []string{"window"},
		why: "Only the last trials count, so that old readings do not hold it back when the process has moved on. Say how many of them still tell the truth."},
	{name: "safe", label: "Never cross a limit, and I know safe settings", algorithm: "stageopt", asks: []string{"safe_seeds"},
		why: "Starts from the settings that you know to be safe, widens the region that the model believes safe, and then looks for the best in it. It is slower, and as safe as the model’s band is right."},
	{name: "average", label: "A limit holds on average: one trial may make up for another", algorithm: "ckb-ucb",
		why: "Keeps the average of every limit, not each trial: what is crossed today is paid back by distance tomorrow. Do not choose it where a single crossing does harm."},
	{name: "many", label: "More than ten settings", algorithm: "scbo",
		why: "Looks in a region around the best settings so far, which moves and shrinks, since nobody can look everywhere in so many directions."},
}

// wayTo is the answer that leads to the form's algorithm and settings, the default where none is chosen yet.
func wayTo(values url.Values) string {
	name := values.Get("algorithm.name")
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
		if values.Get("settings."+field) != text {
			return false
		}
	}
	return true
}

// takeWay puts the algorithm of the answer into the form, if the answer is another than the one that the form was drawn with.
func takeWay(values url.Values) {
	chosen := values.Get("way")
	at := slices.IndexFunc(ways, func(w way) bool { return w.name == chosen })
	if at < 0 || chosen == values.Get("way.was") {
		return
	}
	for name := range values {
		if strings.HasPrefix(name, "settings.") {
			values.Del(name)
		}
	}
	values.Set("algorithm.name", ways[at].algorithm)
	values.Del("algorithm.preset")
	for _, list := range []map[string]string{ways[at].settings, ways[at].begin} {
		for field, text := range list {
			values.Set("settings."+field, text)
		}
	}
}

// fillWay draws the question with the answer that the form stands at. What a way asks for stands beside it, and no second time below.
func fillWay(page *templates.DefinePage, values url.Values) {
	now := wayTo(values)
	values.Set("way", now)
	for _, w := range ways {
		page.Ways = append(page.Ways, templates.Option{Value: w.name, Label: w.label})
		if w.name != now {
			continue
		}
		page.Why = w.why
		for _, asked := range w.asks {
			at := slices.IndexFunc(page.Settings, func(g templates.SettingGroup) bool { return g.Name == asked })
			if at >= 0 {
				page.Asked = append(page.Asked, askedInput(page.Settings[at].Inputs[0]))
				page.Settings = slices.Delete(page.Settings, at, at+1)
			}
		}
	}
	if now == ownWay {
		page.Ways = append(page.Ways, templates.Option{Value: ownWay, Label: "As chosen below, under “Advanced”"})
	}
}

// askedInput is a setting in the words of the question.
func askedInput(in templates.Input) templates.Input {
	switch in.Name {
	case "settings.safe_seeds":
		in.Label, in.Placeholder = "Safe settings", "" // nothing stands for them
		in.Help = "Paste from a spreadsheet: the parameters’ names in the first row, in each further row settings known to be within every limit. One row is enough to begin."
	case "settings.window":
		in.Label, in.Help = "Trials that still tell the truth", "The window: older ones are forgotten."
	}
	return in
}
