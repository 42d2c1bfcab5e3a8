package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// mostCards is how many waiting trials have a card; the others are in the table.
const mostCards = 50

// next is what to do next.
func (v visit) next() templates.Next {
	d := v.snap.Definition
	next := templates.Next{Study: v.head, AskKey: keyOf(v.who), Any: len(v.snap.Trials) > 0, FirstLeft: v.snap.Compiled().Config.Settings.InitialDesign() - len(v.snap.Trials), Context: contextInputs(d)}
	next.Ask.Values, next.Idle = map[string][]string{}, v.idle()
	waiting := v.snap.WaitingTrials()
	for i := range waiting[:min(mostCards, len(waiting))] {
		next.Cards = append(next.Cards, v.card(&waiting[i]))
	}
	next.More = max(0, len(waiting)-mostCards)
	next.Cards = v.withTyped(next.Cards)
	if v.head.Operates {
		for _, t := range v.snap.Trials {
			next.Saved = append(next.Saved, v.savedJustNow(t)...)
		}
	}
	feasible, known := v.snap.Feasibility()
	next.Nothing = known > 0 && feasible == 0 && len(d.Constraints) > 0
	for _, c := range d.Constraints {
		next.Candidate = next.Candidate || c.Sampled
	}
	return next
}

// typedQuery keeps which trials the viewer has typed in what is not saved.
func (v visit) typedQuery() url.Values { return url.Values{"typed": v.query["typed"]} }

// withTyped adds the cards of trials that wait no more but have something typed in them: a card with typed text does not leave by itself.
func (v visit) withTyped(cards []templates.Card) []templates.Card {
	for _, word := range strings.Split(v.query.Get("typed"), ",") {
		number, _ := strconv.Atoi(word)
		t := v.snap.Trial(number)
		if t == nil || !v.head.Operates || len(cards) >= 2*mostCards {
			continue
		}
		at, there := slices.BinarySearchFunc(cards, number, func(c templates.Card, n int) int { return c.Number - n })
		if there {
			continue
		}
		card := v.card(t)
		if !t.Waiting() {
			card.Ended = v.endOf(t)
		}
		cards = slices.Insert(cards, at, card)
	}
	return cards
}

// endOf says how a trial came to wait no more.
func (v visit) endOf(t *ledger.Trial) *templates.Ended {
	if t.Status != ledger.StatusCompleted {
		return &templates.Ended{Mark: v.markOf(t), Words: cmp.Or(v.reasonLine(t), capitalised(v.stateWords(t))) + "."}
	}
	var last ledger.Measurement
	for _, m := range t.Metrics {
		if m.ToldSeq > last.ToldSeq {
			last = m
		}
	}
	return &templates.Ended{Mark: v.markOf(t), Words: "Completed by " + last.By, At: stamp(last.ToldAt, v.now)}
}

// idle says how the trials ended, for when none waits.
func (v visit) idle() string {
	if words := v.fruitless(); words != "" {
		return capitalised(words) + "."
	}
	read := len(v.snap.Trials)
	var others []string
	for _, status := range []ledger.Status{ledger.StatusFailed, ledger.StatusAbandoned} {
		if n := v.ended(status); n > 0 {
			others, read = append(others, strconv.Itoa(n)+" "+endWords(status, n)), read-n
		}
	}
	if len(others) == 0 {
		return "Every trial has its results."
	}
	return count(read, "trial has its", "trials have their") + " results, " + listed(others) + "."
}

// fruitless says how all trials ended when none brought a result, "" when some did or may still.
func (v visit) fruitless() string {
	trials, failed, abandoned := len(v.snap.Trials), v.ended(ledger.StatusFailed), v.ended(ledger.StatusAbandoned)
	switch {
	case trials == 0 || failed+abandoned < trials:
		return ""
	case trials == 1:
		return "the only trial " + endWords(v.snap.Trials[0].Status, 1)
	case failed > 0 && abandoned > 0:
		return fmt.Sprintf("of %d trials, %d %s and %d %s", trials, failed, endWords(ledger.StatusFailed, failed), abandoned, endWords(ledger.StatusAbandoned, abandoned))
	case failed > 0:
		return fmt.Sprintf("all %d trials failed", trials)
	}
	return fmt.Sprintf("none of the %d trials was run", trials)
}

// ended counts the trials of that status.
func (v visit) ended(status ledger.Status) int {
	n := 0
	for _, t := range v.snap.Trials {
		if t.Status == status {
			n++
		}
	}
	return n
}

func endWords(status ledger.Status, n int) string {
	switch {
	case status == ledger.StatusFailed:
		return "failed"
	case n == 1:
		return "was not run"
	}
	return "were not run"
}

// contextInputs are the values that limits of known form need with each trial.
func contextInputs(d design.Definition) []templates.Input {
	var inputs []templates.Input
	seen := map[string]bool{}
	for _, c := range d.Constraints {
		for _, name := range c.Context {
			if !seen[name] {
				seen[name] = true
				inputs = append(inputs, templates.Input{Name: "context." + name, Label: name, Kind: "number", Required: true})
			}
		}
	}
	return inputs
}

// card is one waiting trial, or any trial on its own page.
func (v visit) card(t *ledger.Trial) templates.Card {
	d := v.snap.Definition
	card := templates.Card{
		Study: v.head, Number: t.Number, Origin: originWords(t.Origin), Created: stamp(t.CreatedAt, v.now), By: t.By, Note: t.Note,
		ReplicateOf: t.ReplicateOf, Status: t.Status, Settings: settingsOf(d, t.Parameters), Why: whyOf(t),
	}
	for _, was := range settingsOf(d, v.chosenInstead(t)) {
		at := slices.IndexFunc(card.Settings, func(s templates.Setting) bool { return s.Name == was.Name })
		if at >= 0 && was.Value != card.Settings[at].Value {
			card.Settings[at].Was = design.WithUnit(was.Value, was.Unit, thin)
		}
	}
	card.Copy = copyText(d, t.Parameters)
	for _, metric := range tableMetrics(d) {
		if m, there := t.Metrics[metric]; there {
			card.Told = append(card.Told, v.toldValue(metric, m))
		}
	}
	card.Entry = v.entry(t, templates.Form{Values: map[string][]string{}})
	card.Entry.Keep = true
	return card
}

func whyOf(t *ledger.Trial) string {
	if t.Decision != nil && t.Decision.Because != "" {
		return t.Decision.Because
	}
	return fmt.Sprintf("Trial %d was chosen by %s.", t.Number, t.By)
}

func (v visit) toldValue(metric string, m ledger.Measurement) templates.ToldValue {
	shown := templates.ToldValue{Name: metric, Value: v.measured(metric, m), Mark: "unknown"}
	if m.Headroom != nil {
		shown.Mark = "feasible"
		if *m.Headroom < 0 {
			shown.Mark = "violated"
		}
	}
	if m.Corrected && m.Original != nil {
		shown.Original = number(*m.Original)
	}
	return shown
}

// measured is a reading with its unit, and its own standard deviation if one was told.
func (v visit) measured(metric string, m ledger.Measurement) string {
	unit := unitOf(v.snap.Definition, metric)
	if m.StdDev != nil {
		return uncertain(m.Value, *m.StdDev, unit)
	}
	return quantity(m.Value, unit)
}

// copyText is the settings as two rows of a spreadsheet.
func copyText(d design.Definition, values design.Settings) string {
	var names, cells []string
	for _, p := range d.Parameters {
		if value, there := values[p.Name]; there {
			names = append(names, axisName(p.Name, p.Unit))
			cells = append(cells, value.String())
		}
	}
	return strings.Join(names, "\t") + "\n" + strings.Join(cells, "\t")
}

// entry is the form for what is still to be told of a trial. Its id changes with what it asks for.
func (v visit) entry(t *ledger.Trial, form templates.Form) templates.Entry {
	d := v.snap.Definition
	entry := templates.Entry{Form: form, Key: form.Value("key")}
	if entry.Key == "" {
		entry.Key = keyOf(v.who)
	}
	entry.CorrectURL = v.head.URL(fmt.Sprintf("/trials/%d/correct", t.Number))
	asked := []string{string(v.snap.State)}
	for i, metric := range told(d) {
		if m, there := t.Metrics[metric]; there {
			told := templates.Meanwhile{Field: metricField(i), Name: metric, Theirs: v.measured(metric, m), By: m.By, At: stamp(m.ToldAt, v.now)}
			told.Mine = strings.TrimSpace(cmp.Or(form.Value(metricField(i)), form.Value("mine."+metricField(i))))
			if m.By == v.who.By() {
				told.Saved = design.NumberValue(m.Value).String()
			}
			entry.Meanwhile = append(entry.Meanwhile, told)
			asked = append(asked, metric, v.measured(metric, m))
			continue
		}
		known := metricOf(d, metric)
		field := templates.EntryField{Name: metricField(i), Label: metric, Unit: known.Unit, Recorded: !known.Modelled}
		for _, c := range known.Constraints {
			field.Limits = append(field.Limits, limitLine(c))
		}
		entry.Fields = append(entry.Fields, field)
		asked = append(asked, metric, field.Unit, strings.Join(field.Limits, "\n"))
	}
	entry.Used = usedInputs(d, t.Parameters, entry.Form.Values)
	for i := range entry.Used {
		entry.Used[i].Of = templates.EntryScope(t.Number)
	}
	for _, p := range d.Parameters {
		asked = append(asked, p.Name, p.Unit, t.Parameters[p.Name].String())
	}
	entry.ID = fmt.Sprintf("entry-%d-%s", t.Number, shortHash(asked))
	return entry
}

// savedJustNow is what the viewer saved of a trial within the last minute, to be undone.
func (v visit) savedJustNow(t *ledger.Trial) []templates.Saved {
	metrics, left := study.Undoable(v.snap, t, v.who.Caller(), v.now)
	if len(metrics) == 0 {
		return nil
	}
	var values []string
	for _, metric := range metrics {
		values = append(values, metric+" "+v.measured(metric, t.Metrics[metric]))
	}
	return []templates.Saved{{Number: t.Number, Text: strings.Join(values, ", "), Left: int(left.Seconds()) + 1, Key: keyOf(v.who)}}
}

func limitLine(c design.Constraint) string {
	if c.Name != c.Metric {
		return "limit " + limitText(c) + " (" + c.Name + ")"
	}
	return "limit " + limitText(c)
}

// metricField is the field for the metric at that place among the told ones; metrics may have any name, fields not.
func metricField(i int) string { return fmt.Sprintf("metric.%d", i) }

// settingField is the field for the parameter at that place.
func settingField(i int) string { return fmt.Sprintf("used.%d", i) }

// usedInputs are fields for the settings of a trial, filled in with those it has.
func usedInputs(d design.Definition, values design.Settings, filled map[string][]string) []templates.Input {
	inputs := make([]templates.Input, 0, len(d.Parameters))
	for i, p := range d.Parameters {
		in := settingInput(settingField(i), p)
		if _, typed := filled[in.Name]; !typed {
			if value, there := values[p.Name]; there {
				filled[in.Name] = []string{design.FormatSetting(p, value)}
			}
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// settingInput is a field for one parameter's value.
func settingInput(name string, p design.Parameter) templates.Input {
	in := templates.Input{Name: name, Label: p.Name, Unit: p.Unit, Kind: "number"}
	switch {
	case p.Type == design.Categorical:
		in.Kind = "select"
		for _, choice := range p.Choices {
			in.Options = append(in.Options, templates.Option{Value: choice, Label: choice})
		}
	case p.Type == design.Remainder && p.Total != nil:
		in.Help = fmt.Sprintf("what is left of %s", quantity(*p.Total, p.Unit))
	case p.Low != nil && p.High != nil:
		in.Help = number(*p.Low) + " to " + number(*p.High)
	}
	return in
}

func shortHash(words []string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:6])
}
