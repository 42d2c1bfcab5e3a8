package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// newStudyDraft names what a browser keeps of an unfinished form; forms filled in from something
// else keep theirs apart.
const newStudyDraft = "new-study"

// draftOf names the draft of a form.
func draftOf(values url.Values) string {
	if name := values.Get("draft"); strings.HasPrefix(name, newStudyDraft) {
		return name
	}
	return newStudyDraft
}

// NewStudyPage is the form of a new study, blank or filled in from another study.
func (s *Site) NewStudyPage(w http.ResponseWriter, r *http.Request) error {
	values := url.Values{"objective.direction": {"maximize"}}
	setRows(values, "parameters", []formRow{{"type": "real"}, {"type": "real"}})
	setRows(values, "constraints", []formRow{{"op": "<="}})
	if from := r.URL.Query().Get("from"); from != "" {
		original, err := s.Studies.Snapshot(r.Context(), from, 0)
		if err != nil {
			return err
		}
		values = definitionValues(chosen(original))
		values.Set("name", "Copy of "+original.Definition.Name)
		values.Set("draft", newStudyDraft+"-from-"+from)
	}
	for field, answers := range map[string]bool{"template": false, "simulated": true} {
		if name := r.URL.Query().Get(field); name != "" {
			var err error
			if values, err = simulationValues(name, answers); err != nil {
				return err
			}
			values.Set("draft", newStudyDraft+"-"+field+"-"+name)
		}
	}
	values.Set("key", newKey(r))
	return showDefine(w, r, http.StatusOK, templates.DefinePage{Form: templates.Form{Values: values}})
}

// showDefine draws the form, alone when htmx asks for it.
func showDefine(w http.ResponseWriter, r *http.Request, status int, page templates.DefinePage) error {
	title := "New study"
	if page.Reconfigure {
		title = "Change limits or algorithm"
	}
	page.Page = newPage(r, title, "medium")
	page.Key = page.Form.Value("key")
	fillDefine(&page)
	if isPart(r) {
		return show(w, r, status, templates.DefineForm(page))
	}
	return show(w, r, status, templates.DefineView(page))
}

// fillDefine works out what the form looks like from what it holds.
func fillDefine(page *templates.DefinePage) {
	values := url.Values(page.Form.Values)
	for _, row := range rowsOf(values, "parameters") {
		page.Parameters = append(page.Parameters, row["type"])
	}
	page.Scales = scalesOf(values)
	for _, row := range rowsOf(values, "constraints") {
		kind := "learned"
		if row["expression"] != "" || row["sampled"] != "" {
			kind = "known"
		}
		page.Constraints = append(page.Constraints, kind)
	}
	page.Recorded = len(rowsOf(values, "recorded_metrics"))
	page.Draft = draftOf(values)
	if problem := values.Get("lab"); problem != "" {
		page.Labs = []templates.Option{{Value: "", Label: "a laboratory"}, {Value: problem, Label: "a simulated lab: " + problem}}
	}
	for _, a := range policy.Descriptions() {
		page.Algorithms = append(page.Algorithms, templates.Option{Value: a.Name, Label: a.Title})
	}
	chosen := view.Algorithm(values.Get("algorithm.name"))
	page.Summary, page.Source = chosen.Advice(), chosen.Source
	page.Settings = settingGroups(chosen, values)
	if !page.Reconfigure {
		fillWay(page, values)
	}
	if !page.Reconfigure {
		page.Kernels = []templates.Option{{Value: "", Label: "as suits the parameters"}}
	}
	for _, kernel := range []string{"matern52", "mixed", "anova", "matern32", "matern12", "se", "linear"} {
		page.Kernels = append(page.Kernels, templates.Option{Value: kernel, Label: kernel})
	}
	if kernel := values.Get("model.kernel"); !slices.ContainsFunc(page.Kernels, func(o templates.Option) bool { return o.Value == kernel }) {
		page.Kernels = append(page.Kernels, templates.Option{Value: kernel, Label: "as it is"})
	}
	page.Advanced = page.Advanced || page.Reconfigure || advancedFault(page.Form)
}

func advancedFault(form templates.Form) bool {
	for name := range form.Errors {
		for _, prefix := range []string{"algorithm.", "settings.", "model.", "seed", "input_constraints"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// formFields are the names of all fields that the form has.
func formFields(form templates.Form) map[string]bool {
	fields := map[string]bool{}
	for name := range form.Values {
		fields[name] = true
	}
	for _, f := range studyFields(&design.Definition{Stop: &design.Stop{}}) {
		fields[f.name] = true
	}
	for _, name := range []string{"candidates", "seed", "reason"} {
		fields[name] = true
	}
	for _, group := range settingGroups(view.Algorithm(form.Value("algorithm.name")), form.Values) {
		for _, in := range group.Inputs {
			fields[in.Name] = true
		}
	}
	return fields
}

// MakeStudy makes a study of the form, or does to the form what a button beside its lines asks.
func (s *Site) MakeStudy(w http.ResponseWriter, r *http.Request, form *typed) submission {
	pressed, before := form.pressed(), form.values.Get("algorithm.name")
	takeWay(form.values)
	if rearrange(form.values, pressed) {
		page := templates.DefinePage{Form: form.shown(), Advanced: pressed == "refresh" && form.values.Get("algorithm.drawn") != before}
		return submission{done: func() error { return showDefine(w, r, http.StatusOK, page) }}
	}
	dropBlank(form.values)
	d := form.definition()
	names := defineNames(formFields(form.shown()))
	if _, err := d.Check(); !form.ok() {
		form.place(err, names) // so that everything that is wrong is said at once
	}
	var made string
	return submission{
		do: func(cmd study.Command) error {
			after, err := s.Studies.Create(r.Context(), cmd, d)
			made = madeAt(after, err, "?done=made&saved="+url.QueryEscape(draftOf(form.values)))
			return err
		},
		done:  func() error { return GoTo(w, r, made) },
		names: names,
		again: func(form templates.Form) error {
			return showDefine(w, r, http.StatusUnprocessableEntity, templates.DefinePage{Form: form})
		},
	}
}

// candidatesText is the candidates as they could have been pasted.
func candidatesText(d design.Definition) string {
	if len(d.Candidates) == 0 {
		return ""
	}
	var text strings.Builder
	for i, p := range d.Parameters {
		if i > 0 {
			text.WriteByte('\t')
		}
		text.WriteString(p.Name)
	}
	for _, candidate := range d.Candidates {
		for i, p := range d.Parameters {
			text.WriteByte("\n\t"[min(i, 1)])
			text.WriteString(candidate[p.Name].String())
		}
	}
	return text.String()
}

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
	{name: "each", label: "Hundreds of trials, as in production: each counts by what it brings, and every crossing of a limit counts", algorithm: "rpol-ucb",
		why: "Keeps all crossings small in sum, and no margin pays for them. In our simulations of 200 trials each was far nearer to the best than with the usual answer, while the limit was crossed by somewhat more in sum. " +
			"Results may be late: trials that wait count as places already looked at."},
	{name: "censored", label: "The same, and results come late by chance: after a while we count them as lost", algorithm: "rpol-censored-ucb", begin: map[string]string{"response_bound": "0"}, asks: []string{"delay_window"},
		why: "Made for random delays: a result counts as nothing until it comes, and for good where it comes after the window. In our simulations of late results it crossed the limit in the fewest trials, but they brought far less than with the answer before this one. " +
			"Its theorem asks for widths with B and R, and for a response bound that is not 0, under “Advanced”."},
	{name: driftWay, label: "The process drifts: columns age, seasons change, batches differ", algorithm: "rpol-sw-ucb", begin: map[string]string{"window": "30"}, asks: []string{"window"},
		why: "Only the last trials count, so that old readings do not hold it back when the process has moved on. Say how many of them still tell the truth."},
	{name: "safe", label: "Never cross a limit, and I know safe settings", algorithm: "stageopt", asks: []string{"safe_seeds"},
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

// takeWay puts the algorithm of the answer into the form, if the answer is another than the one
// that the form was drawn with.
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
	case "settings.delay_window":
		in.Label, in.Help = "Trials to wait for a result", "The window: a result that comes after so many further trials counts as lost."
	case "settings.window":
		in.Label, in.Help = "Trials that still tell the truth", "The window: older ones are forgotten."
	}
	return in
}

// scalesOf says of each line of a form, as far as it is filled in, on which scale the number will
// be or should be.
func scalesOf(values url.Values) []templates.Scale {
	t := newTyped(cloned(values))
	d := t.definition()
	scales := make([]templates.Scale, len(rowsOf(values, "parameters")))
	for i := range scales {
		p := d.Parameters[i]
		why := d.WhyLog(p, d.LevelsOf(p.Name))
		switch {
		case why == "" || p.Scale == design.ScaleLog:
		case d.ScaleOf(p) == design.ScaleLog:
			scales[i] = templates.Scale{Says: "This will be on a logarithmic scale: " + why + ".", Offer: design.ScaleLinear, Label: "Keep it linear"}
		default:
			scales[i] = templates.Scale{Says: "This belongs on a logarithmic scale: " + why + ".", Offer: design.ScaleLog, Label: "Make it logarithmic"}
		}
	}
	return scales
}

func cloned(values url.Values) url.Values {
	copied := url.Values{}
	for name, list := range values {
		copied[name] = slices.Clone(list)
	}
	return copied
}

// rescale does what a button beside a scale asks, and tells whether one was pressed.
func rescale(values url.Values, do string) bool {
	scale, row, ok := strings.Cut(do, "-parameters.")
	field := "parameters." + row + ".scale"
	if !ok || scale != design.ScaleLinear && scale != design.ScaleLog || !values.Has(field) {
		return false
	}
	values.Set(field, scale)
	return true
}

// offerLog fills the form with a log scale for the parameter, and the reason. It says what was
// filled in, "" where nothing speaks for it.
func offerLog(values url.Values, snap *ledger.Snapshot, name string) string {
	at := slices.IndexFunc(study.Health(snap), func(f study.Finding) bool { return f.Kind == "scale" && f.Parameter == name })
	if at < 0 {
		return ""
	}
	i := slices.IndexFunc(snap.Definition.Parameters, func(p design.Parameter) bool { return p.Name == name })
	values.Set(fmt.Sprintf("parameters.%d.scale", i), design.ScaleLog)
	values.Set("reason", study.Health(snap)[at].Says)
	return fmt.Sprintf("Filled in below, and not changed yet: %s on a logarithmic scale. All trials stay, and the next decision sees them on it.", name)
}
