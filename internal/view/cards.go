package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// mostCards is how many waiting trials have a card; the others are in the table only.
const mostCards = 50

// mostSaved is how many of the results saved just now are shown above the cards.
const mostSaved = 3

// Next is the section on what to do next.
func (v Facts) Next() templates.Next {
	d := v.Snap.Definition
	next := templates.Next{Study: v.Head, AskKey: v.Key, Any: len(v.Snap.Trials) > 0, Context: ContextInputs(d), Idle: howTrialsEnded(v.Snap.Trials), Candidate: sampled(d)}
	next.AskID = v.askID(next.Context)
	if !next.Any {
		next.First = v.Snap.Compiled().Config.Settings.InitialDesign()
	}
	waiting := v.Snap.WaitingTrials()
	next.Cards = v.withTyped(lists.Of(min(mostCards, len(waiting)), func(i int) templates.Card { return v.Of(&waiting[i]).card() }))
	if more := len(waiting) - lists.Count(next.Cards, func(c templates.Card) bool { return c.Ended == nil }); more > 0 {
		next.More = design.Count(more, "more is waiting; it is", "more are waiting; they are") + " in the study’s table of trials."
	}
	if v.Head.Operates {
		next.Saved = v.savedJustNow()
	}
	if v.Query.Get("typed") != "" && (!v.Head.Operates || v.Snap.State == ledger.Archived) {
		next.Kept = "What you typed here is not saved. This browser keeps it, and shows it again when you can save results."
	}
	feasible, known := v.Snap.Feasibility()
	if known > 0 && feasible == 0 && limited(d) {
		looks := "The algorithm is looking for where they can be met; each result helps, the bad ones too."
		next.Nothing = words.Either(v.Snap.Compiled().Algorithm.Heedless, "The algorithm takes no account of them; another one would look for where they can be met.", looks)
	}
	return next
}

// askID is the id of the fields for asking. It changes with the fields, and with each trial that
// the viewer asked for: then they start empty again.
func (v Facts) askID(context []templates.Input) string {
	asked := lists.Map(context, func(in templates.Input) string { return in.Name })
	made := lists.Pick(v.Snap.Trials, func(t *ledger.Trial) (string, bool) { return strconv.Itoa(t.Number), t.By == v.Who.By() })
	return "ask-" + shortHash(append(asked, made...))
}

// withTyped adds the cards of trials that no longer wait but in which the viewer has typed
// something: such a card does not disappear by itself.
func (v Facts) withTyped(cards []templates.Card) []templates.Card {
	for _, word := range strings.Split(v.Query.Get("typed"), ",") {
		number, _ := strconv.Atoi(word)
		t := v.Snap.Trial(number)
		if t == nil || !v.Head.Operates || len(cards) >= 2*mostCards {
			continue
		}
		at, there := slices.BinarySearchFunc(cards, number, func(c templates.Card, n int) int { return c.Number - n })
		if there {
			continue
		}
		card := v.Of(t).card()
		if !t.Waiting() {
			card.Ended = v.Of(t).ending()
		}
		cards = slices.Insert(cards, at, card)
	}
	return cards
}

// ContextInputs are the fields for the context that computed limits need at each trial.
func ContextInputs(d design.Definition) []templates.Input {
	var inputs []templates.Input
	seen := map[string]bool{}
	for _, c := range d.Constraints {
		for _, name := range c.Context {
			if !seen[name] {
				seen[name] = true
				inputs = append(inputs, templates.Input{Name: "context." + name, Label: name, Kind: "number", Required: true, Signed: true})
			}
		}
	}
	return inputs
}

// Tried is Facts about one trial.
type Tried struct {
	Facts
	Trial *ledger.Trial
}

// Of returns the facts about one trial.
func (v Facts) Of(t *ledger.Trial) Tried { return Tried{v, t} }

// reasonLine says why a trial failed, was not run or was excluded, "" if no reason was given.
func (v Tried) reasonLine() string {
	if v.Trial.Reason == "" {
		return ""
	}
	said := words.Either(v.Trial.Cause == ledger.BySettings && !v.Trial.Excluded, "failed because of its settings", stateWords(v.Snap.Definition, v.Trial))
	return design.Capitalised(said) + ": " + v.Trial.Reason
}

// ending says how a trial stopped waiting.
func (v Tried) ending() *templates.Ended {
	if v.Trial.Status != ledger.StatusCompleted {
		return &templates.Ended{Mark: markOf(v.Snap.Definition, v.Trial), Words: cmp.Or(v.reasonLine(), design.Capitalised(stateWords(v.Snap.Definition, v.Trial))+".")}
	}
	last := slices.MaxFunc(slices.Collect(maps.Values(v.Trial.Metrics)), func(a, b ledger.Measurement) int { return cmp.Compare(a.ToldSeq, b.ToldSeq) })
	return &templates.Ended{Mark: markOf(v.Snap.Definition, v.Trial), Words: "Completed by " + last.By, At: v.stamp(last.ToldAt)}
}

// chosenInstead are the settings that were chosen where others were used.
func (v Tried) chosenInstead() design.Settings {
	instead := design.Settings{}
	if !v.Trial.SettingsChanged {
		return instead
	}
	for name, value := range v.Snap.Chosen(v.Trial.Number) {
		if value != v.Trial.Parameters[name] {
			instead[name] = value
		}
	}
	return instead
}

// longestReason is how many characters of a doubt become the reason for an exclusion.
const longestReason = 500

func (v Tried) inDoubt() templates.Doubtful {
	d := templates.Doubtful{Number: v.Trial.Number, URL: v.trialURL(v.Trial.Number), Means: v.Snap.DoubtMeans(v.Trial), Operates: v.Head.Operates && v.Snap.State != ledger.Archived}
	d.Says = lists.Map(v.Trial.Doubts, func(doubt ledger.Doubted) string { return doubt.Why })
	d.Sure = study.Doubted(study.Asked(v.Trial.Doubts))
	d.Reason = words.Shorten("In doubt: "+strings.Join(d.Says, " "), longestReason)
	return d
}

// savedJustNow is what the viewer saved last and can still undo. A table is taken back as a whole.
func (v Facts) savedJustNow() (saved []templates.Saved) {
	for _, t := range v.Snap.Trials {
		if now := v.Of(t).savedJustNow(); len(now) > 0 && t.Origin != ledger.Imported {
			seqs := v.Snap.EventsOf(t.Number)
			if _, _, together := v.Snap.Together(seqs[len(seqs)-1]); len(together) <= mostApart {
				saved = append(saved, now...)
			}
		}
	}
	slices.SortStableFunc(saved, func(a, b templates.Saved) int { return cmp.Or(b.Left-a.Left, b.Number-a.Number) })
	return saved[:min(mostSaved, len(saved))]
}

// savedJustNow is what the viewer saved of a trial within the last minute and can still undo.
func (v Tried) savedJustNow() []templates.Saved {
	metrics, left := study.Undoable(v.Snap, v.Trial, v.Who.Caller(), v.Now)
	if len(metrics) == 0 {
		return nil
	}
	values := lists.Map(metrics, func(metric string) string {
		return design.Name(metric) + " " + Measured(v.Snap, v.Trial, metric, v.Trial.Metrics[metric])
	})
	return []templates.Saved{{Number: v.Trial.Number, Text: strings.Join(values, ", "), Left: int(left.Seconds()) + 1, Key: v.Key}}
}

func optionsOf(names []string) []templates.Option {
	return lists.Map(names, func(name string) templates.Option { return templates.Option{Value: name, Label: name} })
}

// card is the card of a waiting trial, or what the page of any trial shows of it.
func (v Tried) card() templates.Card {
	card := templates.Card{
		Study: v.Head, Number: v.Trial.Number, Origin: words.Either(v.Trial.Origin == ledger.Manual, "a person’s choice", string(v.Trial.Origin)), Held: Holding(v.Trial.Held), Created: v.stamp(v.Trial.CreatedAt), By: v.Trial.By, Note: v.Trial.Note,
		ReplicateOf: v.Trial.ReplicateOf, Settings: v.settings(), Why: fmt.Sprintf(words.Either(v.Trial.Origin == ledger.Imported, "Trial %d was imported by %s, without a prediction.", "Trial %d was chosen by %s."), v.Trial.Number, v.Trial.By),
	}
	if decision := v.Trial.Decision; decision != nil {
		card.Why = v.whole(cmp.Or(decision.Because, card.Why))
	}
	for _, was := range settingsOf(*v.Snap.InUnitsOf(v.Trial.ChosenSeq), v.chosenInstead()) {
		at := slices.IndexFunc(card.Settings, func(s templates.Setting) bool { return s.Name == was.Name })
		if at >= 0 && was.Value != card.Settings[at].Value {
			card.Settings[at].Was = words.With(was.Value, was.Unit)
		}
	}
	card.Copy, card.Since = v.copyText(), v.changesSince()
	card.Told = v.metricFacts()
	card.Entry = v.Entry(templates.Form{Values: url.Values{}})
	card.Entry.Keep = true
	return card
}

// metricFacts are the trial's readings beside their predictions.
func (v Tried) metricFacts() []templates.MetricFact {
	d := v.Snap.Definition
	var facts []templates.MetricFact
	for _, metric := range inOrder(d, v.Trial.Metrics) {
		m, unit := v.Trial.Metrics[metric], d.Unit(metric)
		fact := templates.MetricFact{Name: metric, Value: Measured(v.Snap, v.Trial, metric, m), By: words.Either(m.Known, "", m.By), At: v.stamp(m.ToldAt),
			Predicted: v.predictedReading(metric), Limit: limitsText(d, metric)}
		if m.Corrected {
			fact.CorrectedBy = v.corrector(metric)
		}
		if was := firstTold(m); was != nil {
			fact.Original = v.withUnitThen(design.WriteNumber(*was), metric, m.ToldSeq)
		}
		if m.Headroom != nil {
			fact.Headroom, fact.Broken = words.Apart(design.WriteNumber(*m.Headroom), unit), *m.Headroom < 0
		}
		facts = append(facts, fact)
	}
	return facts
}

// corrector is who corrected a reading last, so that nobody's name stands alone beside somebody
// else's value. It is "" if that entry is older than those at hand.
func (v Tried) corrector(metric string) string {
	for _, event := range slices.Backward(v.Entries) {
		if event.Kind != ledger.Corrected {
			continue
		}
		data := read[ledger.CorrectedData](event.Data)
		if _, there := data.Metrics[metric]; there && data.Number == v.Trial.Number {
			return event.By
		}
	}
	return ""
}

// predictedReading is the reading that the trial's decision expected of a metric, "" without any.
func (v Tried) predictedReading(metric string) string {
	if !v.hadPrediction(v.Trial, metric) {
		return ""
	}
	expected := v.Trial.Decision.PredictedReading(metric)
	if expected == nil {
		return ""
	}
	return words.Uncertain(expected.Mean, expected.SD, v.unitThen(metric)) + words.Either(v.Trial.SettingsChanged, " at the settings chosen", "")
}

// unitThen is the unit of a metric when the trial was decided, which the decision's numbers are in.
func (v Tried) unitThen(metric string) string {
	return v.Snap.InUnitsOf(v.Trial.Decision.Seen).Unit(metric)
}

// changesSince says what has changed since a trial was chosen. For a waiting trial, it keeps people
// from running it for nothing, twice without knowing, for a prediction that no longer holds, or
// from telling it in an old unit; for others it explains why they break a limit that they once
// kept.
func (v Tried) changesSince() string {
	said := words.Either(v.gone(), "Its settings may no longer be chosen.", "")
	changed := unitChanges(*v.Snap.InUnitsOf(v.Trial.Seen), v.Snap.Definition)
	if limits := limitChanges(v.Snap.LimitsThrough()[v.Trial.Number-1], v.Snap.Definition.Constraints); limits != "" {
		changed = append(changed, limits)
	}
	if aims := v.aimChanges(); aims != "" {
		changed = append(changed, aims)
	}
	if len(changed) > 0 {
		said = "Since it was chosen: " + strings.Join(changed, ", ") + ". " + said
	}
	for _, t := range slices.Backward(v.Snap.Trials[:v.Trial.Number-1]) {
		if v.Trial.Waiting() && v.Trial.Origin == ledger.Suggested && t.Waiting() && t.Parameters.Equal(v.Trial.Parameters) {
			said += fmt.Sprintf(" Trial %d has the same settings, and waits, too.", t.Number)
			break
		}
	}
	if v.Trial.Waiting() && v.Trial.Excluded {
		said += " It is excluded, and need not be run: " + v.Trial.Reason
	}
	return strings.TrimSpace(said)
}

// gone reports whether a trial waits whose settings may no longer be chosen.
func (v Tried) gone() bool {
	again := v.Trial.ReplicateOf > 0 && study.WhyNotAgain(v.Snap, v.Trial) == "" // beyond the bounds, as what it repeats
	return v.Trial.Waiting() && v.Snap.Gone(v.Trial.Number) && !again
}

// aimChanges says whether the objective has another direction than when the trial was chosen and, of
// what the algorithm chose, whether the algorithm is another; "" if not.
func (v Tried) aimChanges() string {
	of := words.Either(v.Trial.Origin == ledger.Suggested, []string{"algorithm.name", "objective.direction"}, []string{"objective.direction"})
	return changesWords(v.Snap.Definition, lists.Pick(of, func(path string) (since design.Change, other bool) {
		for _, r := range v.Snap.Revisions {
			for _, c := range r.Changes {
				if c.Path == path && r.Seq > v.Trial.ChosenSeq {
					since = design.Change{Path: path, Before: words.Either(other, since.Before, c.Before), After: c.After}
					other = true
				}
			}
		}
		return since, string(since.Before) != string(since.After)
	}), "", "")
}

// settings are the trial's, each in the unit it was given in.
func (v Tried) settings() []templates.Setting {
	return withUnits(settingsOf(v.Snap.Definition, v.Trial.Parameters), func(name string) string { return v.Snap.UnitTold(v.Trial.Number, name) })
}

// copyText is the settings as two rows of a spreadsheet, "" on paper.
func (v Tried) copyText() string {
	if v.Paper {
		return ""
	}
	var names, cells []string
	for _, s := range v.settings() {
		names = append(names, study.EscapeFormula(words.AxisName(s.Name, s.Unit)))
		cells = append(cells, study.SettingCell(v.Trial.Parameters[s.Name]))
	}
	return strings.Join(names, "\t") + "\n" + strings.Join(cells, "\t")
}

// Entry is the form for the results still to be told. Its id changes with what it asks for.
func (v Tried) Entry(form templates.Form) templates.Entry {
	d, t := v.Snap.Definition, v.Trial
	entry := templates.Entry{Form: form, Key: cmp.Or(form.Value("key"), v.Key), Done: t.Status == ledger.StatusCompleted}
	asked := []string{string(v.Snap.State)}
	for i, metric := range Told(d) {
		if m, there := t.Metrics[metric]; there {
			told := templates.Meanwhile{Field: MetricField(i), Name: metric, Theirs: Measured(v.Snap, t, metric, m), By: m.By, At: v.stamp(m.ToldAt)}
			told.Mine = strings.TrimSpace(cmp.Or(form.Value(MetricField(i)), form.Value("mine."+MetricField(i))))
			if m.By == v.Who.By() {
				told.Saved = design.NumberValue(m.Value).String()
				if m.StdDev != nil {
					told.Saved += "±" + design.NumberValue(*m.StdDev).String()
				}
			}
			entry.Meanwhile = append(entry.Meanwhile, told)
			asked = append(asked, metric, Measured(v.Snap, t, metric, m))
			continue
		}
		field := ResultInput(d, i, metric)
		field.Kind, field.Of = "result", templates.EntryScope(t.Number)
		if field.Optional {
			field.Help = "kept, not modelled"
		}
		entry.Fields = append(entry.Fields, field)
		asked = append(asked, metric, field.Unit, field.Help)
	}
	entry.Used = UsedInputs(d, t.Parameters, entry.Form.Values)
	for i, p := range d.Parameters {
		entry.Used[i].Of = templates.EntryScope(t.Number)
		value, there := t.Parameters[p.Name]
		entry.Other = entry.Other || there && form.Value(SettingField(i)) != design.FormatSetting(p, value)
		asked = append(asked, p.Name, p.Unit, t.Parameters[p.Name].String())
	}
	entry.ID = fmt.Sprintf("entry-%d-%s", t.Number, shortHash(asked))
	return entry
}

// ResultInput is the field for told metric i, with its limits.
func ResultInput(d design.Definition, i int, metric string) templates.Input {
	known := d.Metric(metric)
	limits := lists.Map(known.Constraints, func(c design.Constraint) string {
		return "limit " + words.Limit(c) + words.Either(c.Name != c.Metric, " ("+c.Name+")", "")
	})
	help := strings.Join(limits, ", ")
	signed := len(known.Plausible) > 0 && known.Plausible[0] < 0 || slices.ContainsFunc(known.Constraints, func(c design.Constraint) bool { return c.Threshold < 0 })
	return templates.Input{Name: MetricField(i), Label: metric, Unit: known.Unit, Kind: "number", Help: help, Optional: !known.Modelled, Signed: signed, Uncertain: true}
}

// MetricField is the name of the field for told metric i. A metric can have any name, a field
// cannot.
func MetricField(i int) string { return fmt.Sprintf("metric.%d", i) }

// SettingField is the name of the field for parameter i.
func SettingField(i int) string { return fmt.Sprintf("used.%d", i) }

// UsedInputs are the fields for a trial's settings, filled in with its values except where somebody
// typed others.
func UsedInputs(d design.Definition, values design.Settings, filled url.Values) []templates.Input {
	inputs := make([]templates.Input, 0, len(d.Parameters))
	for i, p := range d.Parameters {
		in := SettingInput(SettingField(i), p)
		if value, there := values[p.Name]; there {
			FillIn(filled, in.Name, design.FormatSetting(p, value))
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// FillIn sets a field to the stored value, unless somebody has typed in it since it was last filled
// in.
func FillIn(values url.Values, field, kept string) {
	if !Typed(values, field) {
		values.Set(field, kept)
		values.Set(templates.WasOf(field), kept)
	}
}

// Typed tells whether somebody typed in a field, or emptied it, since it was filled in.
func Typed(values url.Values, field string) bool {
	was := templates.WasOf(field)
	return values.Has(field) && !(values.Has(was) && values.Get(field) == values.Get(was))
}

// SettingInput is the field for a parameter's value.
func SettingInput(name string, p design.Parameter) templates.Input {
	in := templates.Input{Name: name, Label: p.Name, Unit: p.Unit, Kind: "number", Signed: p.Low != nil && *p.Low < 0}
	switch {
	case p.Type == design.Categorical:
		in.Kind = "select"
		in.Options = optionsOf(p.Choices)
	case p.Type == design.Remainder && p.Total != nil:
		in.Help = fmt.Sprintf("what is left of %s", words.Quantity(*p.Total, p.Unit))
	case p.Low != nil && p.High != nil:
		in.Help = design.WriteNumber(*p.Low) + " to " + design.WriteNumber(*p.High)
	}
	return in
}

func shortHash(said []string) string {
	sum := sha256.Sum256([]byte(strings.Join(said, "\x00")))
	return hex.EncodeToString(sum[:6])
}
