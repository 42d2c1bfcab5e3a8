package view

import (
	"fmt"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// reportVerdict is the answer that the page gives, for paper.
func (v reporting) reportVerdict() templates.ReportVerdict {
	shown := v.Verdict()
	verdict := templates.ReportVerdict{Heading: shown.Heading}
	add := func(format string, values ...any) {
		verdict.Words = append(verdict.Words, fmt.Sprintf(format, values...))
	}
	if answer := shown.Answer; answer != nil {
		verdict.Heading = "Recommended: the settings of trial " + strconv.Itoa(answer.Number)
		verdict.Settings, verdict.Expected = answer.Settings, v.expectedTable(*answer, shown.Limits)
		if answer.Chance != nil {
			add("Chance to stay within every limit, as far as the model knows: %s.", answer.Chance.Text)
		}
		if answer.Works != nil {
			add("Chance that a trial works there, as far as the model knows: %s.", answer.Works.Text)
		}
		if shown.Unsure != "" {
			add("%s", shown.Unsure)
		}
		if shown.Doubt != "" {
			add("%s", shown.Doubt)
		}
	} else {
		add("%s", shown.None)
	}
	for j, c := range v.Snap.Definition.Constraints {
		if risk := shown.Limits[j].Risk; risk != nil {
			add("%s: %s", design.Capitalised(c.Name), riskInWords(*risk))
		}
	}
	if shown.Risk != nil {
		add("%s", riskInWords(*shown.Risk))
	}
	if closest := shown.Closest; closest != nil {
		add("Closest to the limits: trial %d, with %s. %s", closest.Number, settingsInWords(closest.Settings), closest.Words)
	}
	if open := shown.Undecided; open != nil {
		add("Looks better: trial %d, with %s. Expected there: %s. %s", open.Number, settingsInWords(open.Settings), believedInWords(open.Expected, open.Chance), shown.More)
	}
	if gain := shown.Gain; gain.Best != nil {
		add("How much better it could get: the best within the limits lies at %s to %s with a chance of %s, without the noise of a reading. %s",
			gain.Best.Low.Text, words.With(gain.Best.High.Text, gain.Best.Unit), gain.Best.Level, gain.Words)
	} else if gain.Words != "" {
		add("%s", gain.Words)
	}
	if lucky := shown.Lucky; lucky != nil {
		add("%s, which may owe something to luck: %s at trial %d.", lucky.What, lucky.Value.Text, lucky.Number)
	}
	return verdict
}

func riskInWords(r templates.Risk) string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s allowed, %s expected so far, %s so far. %s", r.Words, r.Allowed.Text, r.Expected.Text, r.SoFar.Text, r.Next))
}

// expectedTable is what is expected of recommended settings, each metric beside the limits on it.
func (v reporting) expectedTable(answer templates.Answer, limits []templates.LimitLine) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Metric"}, {Name: "Expected", Number: true}, {Name: "Model’s 95" + words.Thin + "% band, without the noise of a reading", Number: true},
		{Name: "A reading there, ± one standard deviation, noise included", Number: true}}}
	if len(limits) > 0 {
		table.Head = append(table.Head, templates.Column{Name: "Limit"}, templates.Column{Name: "Distance to the limit"})
	}
	for _, e := range answer.Expected {
		one := func(value templates.Value) string { return words.With(value.Text, e.Unit) }
		var asks, rooms []string
		for j, c := range v.Snap.Definition.Constraints {
			if c.Metric == e.Metric && limits[j].Headroom != nil {
				asks, rooms = append(asks, words.Unbroken(words.Limit(c))), append(rooms, limits[j].Headroom.Text+" "+limits[j].Room)
			}
		}
		row := []string{e.Metric, one(e.Mean), e.Low.Text + " to " + one(e.High), "±" + words.Thin + one(e.ReadingSD), strings.Join(asks, "; "), strings.Join(rooms, "; ")}
		table.Rows = append(table.Rows, row[:len(table.Head)])
	}
	return table
}

// believedInWords is what the model says of some settings: each metric with its band, then the chance to stay within every limit where there are any.
func believedInWords(expected []templates.Expected, chance *templates.Value) string {
	var said []string
	band := "model’s 95" + words.Thin + "% band without the noise of a reading"
	for _, e := range expected {
		said = append(said, fmt.Sprintf("%s %s (%s %s to %s)", e.Metric, words.With(e.Mean.Text, e.Unit), band, e.Low.Text, words.With(e.High.Text, e.Unit)))
		band = "band"
	}
	text := strings.Join(said, ", ")
	if chance != nil {
		text += ", with a chance of " + chance.Text + " to stay within every limit"
	}
	return text
}
