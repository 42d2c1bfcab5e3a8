package forms

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// way is an answer to the question how an experiment goes: the algorithm that suits it, with
// settings, and why.
type way struct {
	name, label string
	algorithm   string
	settings    map[string]string // that distinguish it from other answers with the same algorithm
	begin       map[string]string // initial settings
	asks        []templates.Input // settings that must be given, shown beside the choice in these words
	why         string
}

// DriftWay is the answer for processes that drift.
const DriftWay = "drift"

// ownWay stands for an algorithm that no answer leads to.
const ownWay = "own"

// ways lists the answers in the order to offer them, the default first.
var ways = []way{
	{name: "usual", label: "Results come before the next trial; a limit may be crossed while we learn where it lies", algorithm: "log-cei",
		why: "Weighs what a trial may gain with its chance to stay within every limit. In our rehearsals it needs the fewest trials to good settings; it may cross a limit on the way."},
	{name: "late", label: "Results come days later, several trials wait at a time", algorithm: "log-cei", settings: map[string]string{"pending": "variance"},
		why: "Trials that wait count as places already looked at, so that the next ones go elsewhere; ask for as many as you run at a time, results may come in any order. " +
			"With every result five trials late it found better settings in our rehearsals, with about half the crossings, than the algorithms published for late results."},
	{name: "each", label: "Hundreds of trials, as in production: each counts by what it brings, and every crossing of a limit counts", algorithm: "rpol-ucb",
		why: "Keeps the sum of all crossings small; a trial well within a limit does not make up for one beyond it. In our simulations of 200 trials each was far nearer to the best than with the usual answer, while the limit was crossed by somewhat more in sum. " +
			"Results may be late: trials that wait count as places already looked at."},
	{name: "censored", label: "The same, and results come late by chance: after a while we count them as lost", algorithm: "rpol-censored-ucb", begin: map[string]string{"response_bound": "0"}, asks: []templates.Input{{Name: "delay_window", Label: "Trials to wait for a result", Help: "The window: a result that comes after so many further trials counts as lost."}},
		why: "Made for random delays: a result counts as 0 until it comes, and stays 0 if it comes after the window. In our simulations of late results it crossed the limit in fewer trials than with the answer before this one, though by more in sum, and they brought far less. " +
			"Its theorem needs widths with B and R, and a response bound other than 0: set them under “Advanced”."},
	{name: DriftWay, label: "The process drifts: columns age, seasons change, batches differ", algorithm: "rpol-sw-ucb", begin: map[string]string{"window": "30"}, asks: []templates.Input{{Name: "window", Label: "Trials that still tell the truth", Help: "The window: older ones are forgotten."}},
		why: "Only the last trials count, so that old readings do not mislead it when the process has changed. Say how many trials still tell the truth."},
	{name: "safe", label: "Never cross a limit, and I know safe settings", algorithm: "stageopt", asks: []templates.Input{{Name: "safe_seeds", Label: "Safe settings",
		Help: "Paste from a spreadsheet: the parameters’ names in the first row, in each further row settings known to be within every limit. One row is enough to begin."}},
		why: "Starts from the settings that you know to be safe, widens the region that the model believes safe, and then looks for the best in it. It is slower, and only as safe as the model’s band is right."},
	{name: "average", label: "A limit holds on average: one trial may make up for another", algorithm: "ckb-ucb",
		why: "Keeps every limit on average, not in each trial: trials within a limit make up for those beyond it. Do not choose it where a single crossing does harm."},
	{name: "known", label: "How the limits stand is known before each trial, as with arrivals, orders or prices, and they hold on average", algorithm: "scgp-ucb",
		why: "Learns the objective alone. What was crossed waits in a queue that later trials work off, so that every limit holds on average, not in each trial. Under each limit open “It can be calculated, not measured” and write it as a formula, with the number that you bring to each trial."},
	{name: "many", label: "More than ten settings", algorithm: "scbo",
		why: "Looks in a region around the best settings so far, which moves and shrinks, since nobody can look everywhere in so many directions."},
}

// wayTo returns the answer that leads to the form's algorithm and settings: the default if no
// algorithm is chosen yet, ownWay if there is none.
func wayTo(values url.Values) string {
	name := values.Get(algorithmField)
	if name == "" {
		return ways[0].name
	}
	for _, w := range slices.Backward(ways) { // those with settings come after those without
		if w.algorithm == name && w.matches(values) {
			return w.name
		}
	}
	return ownWay
}

func (w way) matches(values url.Values) bool {
	for field, text := range w.settings {
		if values.Get(allSettings+field) != text {
			return false
		}
	}
	return true
}

// TakeWay puts the algorithm of the chosen answer into the form, unless the form was drawn with
// that answer.
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

// OtherAlgorithm reports whether the form is drawn again because another algorithm was chosen.
func (t *Typed) OtherAlgorithm() bool {
	return t.Pressed() == "refresh" && t.Values.Get("algorithm.drawn") != t.Values.Get(algorithmField)
}

// Drifting returns the algorithm for processes that drift, with a window of so many trials; 0 is
// the answer's own.
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

// drawWay draws the question with the answer that the form is at. A setting that the answer asks
// for is shown beside it, and not again below.
func drawWay(page *templates.DefinePage, values url.Values) {
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
				asked.Placeholder = "" // they have no default
			}
			page.Asked = append(page.Asked, asked)
			page.Settings = slices.Delete(page.Settings, at, at+1)
		}
	}
	if now == ownWay {
		page.Ways = append(page.Ways, templates.Option{Value: ownWay, Label: "As chosen below, under “Advanced”"})
	}
}
